//===- GraphImporter.h - TensorFlow graphs to regions of weir ---*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks a graph from what is wanted, region by region: the nodes of a frame in
// an order that runs, its inner loops as one item each, nodes that run on one
// branch only inside a weir.if. Order of effects is the order of operations:
// control edges are part of the walk, so nothing more is needed for them.
//
// A node that cannot be imported is reported; what depends on it is skipped in
// silence, so that every report is a finding of its own.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_GRAPHIMPORTER_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_GRAPHIMPORTER_H

#include "compiler/frontend/CustomOperation.h"
#include "compiler/frontend/tensorflow/NodeImport.h"
#include "compiler/frontend/tensorflow/Source.h"
#include "compiler/frontend/tensorflow/Structure.h"
#include "compiler/frontend/tensorflow/Tables.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

#include <functional>
#include <optional>

namespace weir {
struct ImportOptions;
} // namespace weir

namespace weir::tf {

/// Initial values of variables: by name, an attribute and its type.
struct InitialValue {
  mlir::TypedAttr value;
  mlir::RankedTensorType type;
  bool isTrained = true; ///< asked for where the model is to be trained
};

/// A lookup table, by its handle's name.
struct TableInfo {
  mlir::Type key, value;
  llvm::SmallVector<int64_t> shape; ///< of one value
  /// Of a dense table: keys that mark free places and cannot be used.
  mlir::TypedAttr emptyKey, deletedKey;
};

/// A queue, by its handle's name.
struct QueueInfo {
  llvm::SmallVector<mlir::Type> types; ///< of an element's components
  /// Of each; none: any rank. -1: any size.
  llvm::SmallVector<std::optional<llvm::SmallVector<int64_t>>> shapes;
  llvm::SmallVector<int64_t> attributes; ///< of its kernels, behind the mode
};

/// The string that a value is known to hold. Of a variable that is the one it
/// was last given before, in straight code.
std::optional<std::string> knownString(Value v);

class GraphImporter {
public:
  GraphImporter(const Source &source, const Library &library, const std::string &file,
                DiagnosticSink &sink, mlir::MLIRContext *context);
  ~GraphImporter();

  /// Where functions that are kept go; null: all are inlined.
  mlir::ModuleOp module;
  /// Whether what is imported is differentiated: nodes keep the gradients that
  /// TensorFlow has for them (RegisteredGradients.h).
  bool isDifferentiated = false;
  /// Whether constants of floats are weights to train (dialects/weir/Training.h).
  bool marksWeights = false;
  /// What the user asked for; null: nothing.
  const ImportOptions *options = nullptr;
  /// Shapes that the user says of fetches, by node and port of the main graph.
  std::map<std::pair<uint32_t, uint32_t>, Shape> fetchShapes;
  /// Operations of the user's, called where TensorFlow has none of that name.
  const std::vector<CustomOperation> *customOperations = nullptr;

  /// Values of edges and nodes that ran, in one region; outer regions around.
  struct Scope {
    Scope *outer = nullptr;
    llvm::DenseMap<uint64_t, Imported> values;
    llvm::DenseSet<uint32_t> ran;

    explicit Scope(Scope *outer = nullptr) : outer(outer) {}
    const Imported *find(Edge edge) const;
    bool hasRun(uint32_t node) const;
    void set(Edge edge, Imported value);
  };

  /// What the objects behind handles (arrays, stacks) hold at this place of
  /// the region that is being imported. A region that changes an object of an
  /// outer one hands it on as a further result.
  struct RegionState {
    RegionState *outer = nullptr;
    llvm::MapVector<ArrayInfo *, Imported> objects;

    explicit RegionState(RegionState *outer = nullptr) : outer(outer) {}
    /// Null where the object is not of this program's.
    const Imported *find(ArrayInfo *info) const;
    /// The objects of outer regions that this one has changed.
    std::vector<std::shared_ptr<ArrayInfo>> changed() const;
  };
  RegionState rootState;
  RegionState *state = &rootState;

  /// A graph that is being imported: the main one, or a function's body.
  struct Body {
    const Structure &structure;
    Body *outer = nullptr;
    std::string prefix; ///< before node names: the calls that led here
    const FunctionDef *function = nullptr;
    const Graph &graph() const { return structure.graph; }
  };

  /// Imports what `edges` and `controls` need at frame `frame`, at `b`. With
  /// `taken`, edges may lie on branches: it says on which, one entry an edge,
  /// and where they are not taken the edge's value means nothing.
  void import(Body &body, uint32_t frame, llvm::ArrayRef<Edge> edges,
              llvm::ArrayRef<uint32_t> controls, Scope &scope, mlir::OpBuilder &b,
              std::vector<Branches> *taken = nullptr);
  Imported lookup(Edge edge, const Scope &scope) const;

  /// Imports a library function's body at `b`; its results. Failure: a part
  /// could not be imported.
  mlir::FailureOr<std::vector<Imported>> inlineFunction(const AttrValue &function,
                                                        std::vector<Imported> args,
                                                        const Node &call, mlir::OpBuilder &b);
  mlir::FailureOr<std::vector<Imported>> inlineFunction(const FunctionDef &function,
                                                        const std::vector<Attr> &attrs,
                                                        std::vector<Imported> args,
                                                        const Node &call, mlir::OpBuilder &b);

  /// The same for a call node: a function that is marked `_noinline` becomes one
  /// of the module (`module`), which all calls with arguments of the same types
  /// share, where it is made of tensors alone and has no effects.
  mlir::FailureOr<std::vector<Imported>> callFunction(const FunctionDef &function,
                                                      const std::vector<Attr> &attrs,
                                                      std::vector<Imported> args, const Node &call,
                                                      mlir::OpBuilder &b);

  mlir::FailureOr<std::vector<Imported>> callFunction(const AttrValue &function,
                                                      std::vector<Imported> args, const Node &call,
                                                      mlir::OpBuilder &b);

  using Part = llvm::function_ref<mlir::FailureOr<std::vector<Imported>>(mlir::OpBuilder &)>;
  using LoopPart = llvm::function_ref<mlir::FailureOr<std::vector<Imported>>(std::vector<Imported>,
                                                                             mlir::OpBuilder &)>;

  /// A weir.if whose regions are what the two parts build; a condition known
  /// now picks one part. Reports at `node` where the parts do not agree.
  mlir::FailureOr<std::vector<Imported>> buildIf(Value condition, Part thenPart, Part elsePart,
                                                 const Node &node, mlir::OpBuilder &b,
                                                 mlir::Location loc);

  /// A weir.while. `condition` returns one value. Types of carried values are
  /// widened until the body keeps them.
  mlir::FailureOr<std::vector<Imported>> buildWhile(std::vector<Imported> inits, LoopPart condition,
                                                    LoopPart body, const Node &node,
                                                    mlir::OpBuilder &b, mlir::Location loc);

  /// What a part of a loop gives, with the objects behind `declared` arguments as they are at its
  /// begin.
  mlir::FailureOr<std::vector<Imported>> runPart(LoopPart part, std::vector<Imported> arguments,
                                                 size_t declared, RegionState &inside,
                                                 mlir::OpBuilder &b);
  /// Adds to `inits` the objects that a loop's body has changed and that are not among them;
  /// returns whether there were any.
  bool carryChanged(std::vector<Imported> &inits, size_t declared, const RegionState &inside,
                    NodeImport &t);
  /// Widens `inits` to what they become; returns whether any is. Reports at `node` what cannot be.
  mlir::FailureOr<bool> widenCarried(std::vector<Imported> &inits, std::vector<Imported> &next,
                                     const Node &node, NodeImport &t, mlir::OpBuilder &b,
                                     bool mayWiden);

  /// A tensor of the file as an attribute: small ones by value, large ones as a
  /// blob. Null on failure, reported at `node`.
  mlir::TypedAttr tensorAttr(const Tensor &tensor, const Node &node);

  /// Gradients of an array, at their begin: zeros like the elements that the
  /// array holds where `n` is.
  Imported unwrittenGradients(const std::shared_ptr<ArrayInfo> &info, NodeImport &n);

  LogicalResult report(const Node &node, const char *code, std::string text,
                       std::vector<std::string> notes = {});
  std::string nameOf(const Node &node) const;
  mlir::Location location(const Node &node) const;
  void noteReason(std::string text) { reason = std::move(text); }
  bool failedSince(size_t errors) const { return sink->errorCount() > errors; }

  const Source &source;
  const Library &library;
  const std::string &file;
  DiagnosticSink *sink;
  mlir::MLIRContext *context;
  /// The value of a variable, by its name, in a new session; a null attribute
  /// where it has none. Set by whoever knows a SavedModel.
  std::function<InitialValue(const std::string &, const Node &)> initialValue;
  /// What a table holds in a new session, by its handle's name; null where a
  /// run initializes it. Set by whoever knows a SavedModel.
  std::function<const TableEntries *(const std::string &, const Node &)> initialEntries;
  /// Imports a node otherwise than its row of the table says; nothing: as it says.
  std::function<std::optional<LogicalResult>(NodeImport &)> instead;
  /// Whether a handle that cannot be imported (which is reported) stands for an
  /// object of no variable, so that calls it is handed to do what else they do.
  bool keepsGoing = false;
  std::map<std::string, TableInfo> tables;
  std::map<std::string, QueueInfo> queues;
  /// By node, in the model's words: devices asked for, and the nodes that it
  /// is to share a device with.
  std::map<std::string, std::string> deviceRequests;
  std::map<std::string, std::vector<std::string>> colocations;
  /// Types of variables, by name, that assignments ask for where the graph
  /// leaves them open or says otherwise. What is learned here after a variable
  /// was imported makes the whole program void: it is to be imported again.
  std::map<std::string, mlir::RankedTensorType> *variableTypes = nullptr;
  bool hasLearned = false;
  /// The graph that is being imported.
  Body *current = nullptr;
  /// Types of handles by container and shared name, as a graph's first says.
  std::map<const Graph *, std::map<std::pair<std::string_view, std::string_view>, DataType>>
      handleTypes;

private:
  struct Item;
  struct Region;

  void collect(Region &region, llvm::ArrayRef<Edge> edges, llvm::ArrayRef<uint32_t> controls);
  Branches branchesOf(const Region &region, Edge edge);
  std::pair<Edge, uint32_t> decisionOf(const Region &region, Edge predicate);
  void decideMerge(Region &region, uint32_t index, llvm::ArrayRef<uint32_t> inputs,
                   std::vector<uint32_t> &order);
  void computeBranches(Region &region);
  void emit(Region &region, llvm::ArrayRef<uint32_t> items, const Branches &base, Scope &scope,
            mlir::OpBuilder &b);
  struct Choice;
  /// The first predicate that is known in the scope and that some pending item is on.
  std::optional<Edge> choosePredicate(const Region &region, llvm::ArrayRef<uint32_t> pending,
                                      const Branches &base, const Scope &scope);
  Choice sortOut(const Region &region, llvm::ArrayRef<uint32_t> pending, const Branches &base,
                 std::pair<uint32_t, uint32_t> predicate);
  /// What is on one side: its merges' values, each with the number of who arrived, and what
  /// escapes.
  mlir::FailureOr<std::vector<Imported>> emitSide(Region &region, const Choice &choice,
                                                  uint32_t side, const Branches &base, Scope &scope,
                                                  mlir::OpBuilder &b);
  void emitBranch(Region &region, std::vector<uint32_t> &pending, const Branches &base,
                  Scope &scope, mlir::OpBuilder &b);
  void emitItem(Region &region, Item &item, Scope &scope, mlir::OpBuilder &b);
  void noteDevice(const Node &node);
  void emitNode(Body &body, uint32_t at, Scope &scope, mlir::OpBuilder &b);
  /// What imports a node: the table's row, or a custom operation; both may be null where
  /// `instead` knows the node.
  struct NodeMeaning {
    const Node &node;
    const OpImport *row;
    const CustomOperation *custom;
  };
  mlir::FailureOr<std::vector<Imported>>
  importNode(const NodeMeaning &meaning, std::vector<Imported> inputs, mlir::OpBuilder &b);
  /// Where the input at `position` is one of several variables: the node, for each of them.
  mlir::FailureOr<std::vector<Imported>> importForEach(const NodeMeaning &meaning,
                                                       std::vector<Imported> inputs,
                                                       size_t position, mlir::OpBuilder &b);
  mlir::FailureOr<std::vector<Imported>>
  importPlainNode(const NodeMeaning &meaning, std::vector<Imported> inputs, mlir::OpBuilder &b);
  LogicalResult callCustom(const CustomOperation &custom, NodeImport &n);
  void reportUnknown(const Node &node);
  void emitLoop(Body &body, uint32_t frame, Scope &scope, mlir::OpBuilder &b);
  /// What a loop's variables begin with; nothing, with a diagnostic, where they are no merges
  /// of one Enter and one NextIteration.
  std::optional<std::vector<Imported>> loopInits(const Structure &structure, const Frame &frame,
                                                 const Node &face, Scope &scope);
  mlir::RankedTensorType join(mlir::RankedTensorType x, mlir::RankedTensorType y) const;
  /// Makes two values agree in kind and type, each at its own place; says
  /// whether the first became another type. Failure where they cannot.
  mlir::FailureOr<bool> unify(Imported &x, Imported &y, NodeImport &tx, NodeImport &ty);
  bool agree(std::vector<Imported> &x, std::vector<Imported> &y, const Node &node,
             mlir::OpBuilder &bx, mlir::OpBuilder &by, mlir::Location loc);

  mlir::func::FuncOp outline(const FunctionDef &function, const std::vector<Attr> &attrs,
                             llvm::ArrayRef<Imported> args, const Node &call);

  /// By function and types of arguments; null where it could not be kept.
  std::map<std::pair<const FunctionDef *, std::vector<const void *>>, mlir::func::FuncOp> outlined;
  /// Nodes imported so far; functions that call functions multiply.
  int64_t imported = 0;
  int depth = 0;
  std::string reason;
};

/// Truth as If, While and ToBool take it: numbers other than zero, strings that
/// are not empty, and tensors that are no scalars and have elements are true.
Value truth(NodeImport &t, Value condition);

/// The gradients of the sum of `ys` with respect to `xs`, one for each x: zeros
/// where no path leads. `seeds`: what the elements of each y count, null: 1.
/// Failure after a report at `node`.
mlir::FailureOr<llvm::SmallVector<Value>> buildGradients(llvm::ArrayRef<Value> ys,
                                                         llvm::ArrayRef<Value> seeds,
                                                         llvm::ArrayRef<Imported> xs,
                                                         NodeImport &n);

/// The type of values of a shape; null where the rank is unknown.
mlir::RankedTensorType tensorType(mlir::MLIRContext *context, DataType type, const Shape &shape);

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_GRAPHIMPORTER_H
