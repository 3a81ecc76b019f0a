//===- GraphImporter.h - ONNX graphs to functions of weir -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_GRAPHIMPORTER_H
#define WEIR_COMPILER_FRONTEND_ONNX_GRAPHIMPORTER_H

#include "compiler/frontend/CustomCall.h"
#include "compiler/frontend/Diagnostic.h"
#include "compiler/frontend/onnx/ConstantHashes.h"
#include "compiler/frontend/onnx/ExternalFiles.h"
#include "compiler/frontend/onnx/NodeImport.h"
#include "dialects/weir/SizeOrigins.h"

#include <unordered_map>

namespace weir::onnx {

/// Imports the nodes of one function: walks graphs that verifyModel accepted,
/// keeps what each name stands for, inlines the model's own functions, and
/// hands each node to the importer of its operator. A node that cannot be
/// imported is reported; what depends on it is then skipped in silence, so that
/// every report is a finding of its own.
class GraphImporter {
public:
  GraphImporter(const Model &model, std::string_view bytes, const std::string &file,
                ExternalFiles &externals, const ConstantHashes &hashes, DiagnosticSink &sink,
                mlir::Block &entry);

  /// Operations of the user's, called where ONNX has none of that name.
  const std::vector<CustomOperation> *customOperations = nullptr;

  /// Whether the model is to be trained: marks are left for that
  /// (dialects/weir/Training.h).
  bool training = false;

  using Names = std::unordered_map<std::string_view, Imported>;

  /// The names of one graph, with those around it.
  struct Scope {
    Scope *outer = nullptr;
    const Graph *graph = nullptr; ///< null in a function's body
    Names names;
  };

  /// Imports a node at `b`; `scope` holds its operands, and gets its results.
  void node(const Node &node, Scope &scope, mlir::OpBuilder &b);

  /// What a name stands for, initializers included. Kind None: it could not be
  /// imported, which has been reported.
  Imported lookup(std::string_view name, Scope &scope);

  /// The same, seen from the node that is being imported.
  Imported visible(std::string_view name) { return lookup(name, *current); }

  /// The rank that the graph of the node that is being imported declares for a value.
  std::optional<int64_t> declaredRank(std::string_view name) const;

  /// The most dimensions that the value can have, so that what is computed from it has the ranks
  /// that the graph declares (RankBounds.h); none: they do not say.
  std::optional<int64_t> rankBound(std::string_view name);

  /// Imports a subgraph of the node that is being imported, with `inputs` for
  /// its inputs, at `b`; its outputs. Failure: a part could not be imported.
  mlir::FailureOr<std::vector<Imported>>
  subgraph(const Graph &graph, llvm::ArrayRef<Imported> inputs, mlir::OpBuilder &b);

  /// An attribute of a function's body that stands for one of the caller's is
  /// replaced by that; null where the caller gives none.
  const NodeAttribute *resolve(const NodeAttribute &attr) const;

  /// A tensor of the file as a constant of the function; null on failure,
  /// reported at `node`.
  Value constant(const Tensor &tensor, mlir::OpBuilder &b, mlir::Location loc, const Node *node);

  /// A sparse tensor, made dense when the program runs; likewise.
  Value sparseConstant(const SparseTensor &tensor, mlir::OpBuilder &b, mlir::Location loc,
                       const Node *node);

  /// Reports an error of a node; failure.
  mlir::LogicalResult report(const Node &node, int code, std::string text);
  /// Warns of a node.
  void warn(const Node &node, int code, std::string text);

  /// A node's name, with the names of the calls that led to it.
  std::string nameOf(const Node &node) const;
  /// That name as a location; within it, the operator's name.
  mlir::Location location(const Node &node);
  /// Keeps what MLIR says of an operation that could not be built, as the
  /// reason for the failure that follows.
  void noteReason(std::string text) { reason = std::move(text); }
  /// Which open sizes are known to be equal, feeds' by their names; what asks
  /// for more than types say looks here.
  SizeOrigins sizes;
  mlir::MLIRContext *context() { return entry.getParentOp()->getContext(); }

private:
  /// A call of one of the model's functions, while its body is imported.
  struct Call {
    const Function *function;
    const Node *node;
    Call *outer;
  };

  /// Reports what weir does not import in a node whose inputs could not be
  /// imported: subgraphs and functions included, so that one look at a model
  /// finds all that it lacks.
  void scan(const Node &node);
  /// The version of a node's operator, and what its signature says.
  int64_t versionOf(const Node &node, std::optional<OperatorSpec> &spec) const;
  void callCustom(const CustomOperation &custom, const Node &node, llvm::ArrayRef<Imported> inputs,
                  Scope &scope, mlir::OpBuilder &b);
  /// Whether the operands' types are those that the operator takes; reports.
  bool takesTypes(const Node &node, const std::optional<OperatorSpec> &spec,
                  llvm::ArrayRef<Imported> inputs);
  void reportMissing(const Node &node, int64_t version);

  void call(const Function &function, const Node &node, llvm::ArrayRef<Imported> inputs,
            Scope &scope, mlir::OpBuilder &b);
  Imported initializer(const Graph &graph, std::string_view name);
  int64_t opset(std::string_view domain) const;

  const Model &model;
  std::string_view bytes;
  const std::string &file;
  ExternalFiles &externals;
  const ConstantHashes &hashes;
  DiagnosticSink &sink;
  mlir::Block &entry;
  /// Where constants go: the head of the function, seen from everywhere.
  mlir::Operation *lastConstant = nullptr;
  Scope *current = nullptr;
  Call *calls = nullptr;
  /// Nodes imported so far; functions that call functions multiply.
  int64_t budget;
  std::string reason;
  llvm::DenseMap<Type, DataType> dataTypes; ///< elementType turned round
  /// A subgraph lacked a value whose node has been reported.
  bool skipped = false;
  std::unordered_map<const Graph *, std::unordered_map<std::string_view, const Tensor *>>
      initializers;
  std::unordered_map<const Graph *, std::unordered_map<std::string_view, int64_t>> bounds;
};

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_GRAPHIMPORTER_H
