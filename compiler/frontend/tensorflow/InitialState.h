//===- InitialState.h - what a loader leaves in a session -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Before the first run, a loader of a SavedModel runs the graph's restore operation
// and then its init operation: nothing else says what variables and tables hold.
// Both are imported like entries here and followed operation by operation, with
// stored tensors named but not read: only what an entry asks for is. What they do
// that cannot be told now is remembered with its reason, and is an error where an
// entry needs it.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_INITIALSTATE_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_INITIALSTATE_H

#include "compiler/frontend/Import.h"
#include "compiler/frontend/tensorflow/GraphImporter.h"
#include "compiler/frontend/tensorflow/ObjectGraph.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace weir::tf {

/// Not thread-safe. What it is constructed from must outlive it.
class InitialState {
public:
  InitialState(mlir::MLIRContext &context, const SavedModel &model, const Graph &graph,
               const Library &library, const std::string &file)
      : context(context), model(model), graph(graph), library(library), file(file) {}

  /// Follows the two operations, in functions that it makes in `module` and removes
  /// again. `sink` gets a warning for each node that could not be imported, errors
  /// where a loader would fail, too (a vocabulary that is missing, W0218).
  void read(mlir::ModuleOp module, const ImportOptions &options, DiagnosticSink &sink);

  /// The value of the variable that `node` names so; null where it has none.
  /// Reports to `into` where it has one that is not known (W0214, W0219, W0251).
  InitialValue variable(const std::string &name, const Node &node, DiagnosticSink &into);
  /// Whether training changes it, as the file says.
  bool isTrained(const Node &node);
  /// What a table holds, by its handle's name; null where nothing fills it. The same
  /// reports. Valid until the next call of read().
  const TableEntries *table(const std::string &name, const Node &node, DiagnosticSink &into);

private:
  /// A tensor of a bundle, with what is known of it before it is read.
  struct Stored {
    Bundle *bundle = nullptr;
    std::string key, part;
    DataType type = DataType::Invalid;
    std::string missing; ///< why there is no bundle
    InitialValue value;  ///< once it was read
  };
  /// A value: one of the three, or none.
  struct Content {
    mlir::TypedAttr value;
    int64_t stored = -1; ///< in `stored`
    std::string problem; ///< why it is not known
  };
  struct Table {
    Content keys, values;
    TableEntries entries; ///< once they were asked for
  };
  /// Why a value cannot be had, and the number of that error.
  struct Problem {
    const char *code = nullptr;
    std::string text;
  };

  void follow(const std::string &op, mlir::ModuleOp module, const char *what,
              const ImportOptions &options, const std::map<std::string, std::string> &strings,
              DiagnosticSink &sink);
  std::optional<LogicalResult> importNode(NodeImport &n);
  LogicalResult restore(NodeImport &n);
  Bundle *bundleAt(const std::string &prefix, std::string &error);

  void interpret(mlir::Block &block);
  void interpret(mlir::Operation *op);
  void call(CustomCallOp op);
  void insert(CustomCallOp op);
  void evaluate(mlir::Operation *op);
  void lose(mlir::Operation *region);
  Content contentOf(Value value);
  std::optional<Problem> materialize(const Content &content, InitialValue &value);
  std::optional<std::string> stringOf(Value value);
  const ObjectGraph &objectGraph();

  mlir::MLIRContext &context;
  const SavedModel &model;
  const Graph &graph;
  const Library &library;
  const std::string &file;
  std::vector<Stored> stored;
  std::map<std::string, std::unique_ptr<Bundle>> bundles; ///< others than the model's
  std::map<std::string, Content> variables;               ///< by container and name
  std::map<std::string, Table> tables;                    ///< by their handles' names
  llvm::DenseMap<Value, Content> known;                   ///< of the function that is followed
  DiagnosticSink *problems = nullptr;
  std::unique_ptr<ObjectGraph> objects; ///< once it was needed
};

/// What tells variables apart in a session: container and name.
std::string variableKey(VariableOp variable);

/// The operation of the node that `op` was imported from; "" where it is not known.
llvm::StringRef operationOf(mlir::Operation *op);

/// What `entry` reads that nothing gives a value: neither the model (its initial
/// value, an insertion) nor any function of the module. An error each (W0219).
std::vector<Diagnostic> readsWithoutValue(mlir::func::FuncOp entry, const std::string &file);

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_INITIALSTATE_H
