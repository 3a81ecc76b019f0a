//===- EntryImporter.h - one entry becomes a function ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_ENTRYIMPORTER_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_ENTRYIMPORTER_H

#include "compiler/frontend/tensorflow/Entry.h"
#include "compiler/frontend/tensorflow/GraphImporter.h"
#include "compiler/frontend/tensorflow/InitialState.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace weir::tf {

/// What the entries of a module share.
struct EntryContext {
  mlir::MLIRContext &context;
  const std::string &file;
  const ImportOptions &options;
  mlir::ModuleOp module;
  const SavedModel *model; ///< null: a GraphDef
  InitialState *state;     ///< of a SavedModel, or null
  /// Of variables, where assignments may still change them, or null.
  std::map<std::string, mlir::RankedTensorType> *variableTypes;
};

/// Imports one entry: its feeds become arguments, its fetches results, and only what the
/// fetches need is imported. For one entry; all that it is given outlives it.
class EntryImporter {
public:
  EntryImporter(const EntryContext &shared, const Source &source, const Graph &graph,
                const Library &library, const EntryPlan &plan, DiagnosticSink &into);

  /// Adds the function to the module. False, with nothing added, after errors in the sink.
  bool import();
  /// Whether types of variables were learned that were not known before.
  bool hasLearned() const { return importer.hasLearned; }

private:
  bool makeFunction();
  bool isDifferentiated() const;
  void prepare();
  void bindFeeds();
  void collectGoals();
  void checkFrames();
  void requireTaken(llvm::ArrayRef<Branches> taken);
  mlir::Value gradientOf(const PlannedFetch &fetch, const Imported &value, NodeImport &reader);
  mlir::Value fetched(const PlannedFetch &fetch);
  void addResults();
  void finish();
  bool hasErrors() const { return into.errorCount() > errors; }

  EntryContext shared;
  const Graph &graph;
  const EntryPlan &plan;
  DiagnosticSink &into;
  const size_t errors; ///< that there were before
  mlir::OpBuilder b;
  GraphImporter importer;
  Structure structure;
  GraphImporter::Body body;
  GraphImporter::Scope scope;
  mlir::func::FuncOp function;
  llvm::SmallVector<mlir::Type> types;                        ///< of feeds
  std::map<std::pair<uint32_t, uint32_t>, mlir::Value> seeds; ///< by y
  std::vector<Edge> goals;
  std::vector<uint32_t> targets;
  llvm::SmallVector<mlir::Value> results;
  llvm::SmallVector<mlir::Attribute> names; ///< of results
  llvm::SmallVector<size_t> further;        ///< results that training adds
};

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_ENTRYIMPORTER_H
