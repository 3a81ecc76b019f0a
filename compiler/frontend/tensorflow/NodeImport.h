//===- NodeImport.h - one TensorFlow node on its way to weir ----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_NODEIMPORT_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_NODEIMPORT_H

#include "compiler/frontend/TensorBuilder.h"
#include "compiler/frontend/tensorflow/Graph.h"
#include "compiler/frontend/tensorflow/Imported.h"

namespace weir::tf {

using frontend::axesFrom;
using frontend::Ints;
using frontend::TensorBuilder;
using mlir::LogicalResult;
using mlir::Type;
using mlir::Value;
using IntVector = llvm::SmallVector<int64_t>;

class GraphImporter;

/// weir's element type of a TensorFlow type; null where weir has none.
/// Quantised integers are the integers that hold them.
Type elementType(mlir::MLIRContext *context, DataType type);

/// What an operation's importer works with: the node's inputs as values, its
/// attributes (complete: defaults are filled in), and short ways to write weir
/// operations at the node's location. An importer sets the results, or reports
/// why it cannot, and fails.
class NodeImport : public TensorBuilder {
public:
  NodeImport(GraphImporter &g, const Node &node, std::vector<Imported> inputs, mlir::OpBuilder &b,
             mlir::Location loc)
      : TensorBuilder(b, loc), g(g), node(node), inputs(std::move(inputs)) {}

  GraphImporter &g;
  const Node &node;
  std::vector<Imported> inputs;
  std::vector<Imported> made;

  // Inputs.
  size_t inputCount() const { return inputs.size(); }
  /// Input `i` as a tensor, read if it is a version-one variable; null, with a
  /// report, where it is none.
  Value in(size_t i);
  /// Inputs [first, end) as tensors; empty, with a report, where one is none.
  llvm::SmallVector<Value> tensors(size_t first, size_t end);
  /// The value, through which no gradient flows. Null stays null.
  Value stopGradient(Value v);

  // Attributes, by name. A missing one (of an operation that the table does not
  // know) is zero or empty.
  const AttrValue *attr(std::string_view name) const;
  int64_t i(std::string_view name) const;
  double f(std::string_view name) const;
  bool isSet(std::string_view name) const;
  std::string_view s(std::string_view name) const;
  IntVector is(std::string_view name) const;
  Type elementAttr(std::string_view name) const;

  // Constants.
  std::optional<IntVector> knownInts(size_t i);
  /// The integers of an input, with a report where they are not known now.
  std::optional<IntVector> constantInts(size_t i);
  std::optional<int64_t> constantInt(size_t i);
  std::optional<llvm::SmallVector<double>> constantFloats(size_t i);
  /// The strings of an input, row by row; nothing, without a report, where they are
  /// not known now.
  std::optional<std::vector<std::string>> constantStrings(size_t i);
  /// An axis in [0, rank), from one that may count from the end; reports.
  std::optional<int64_t> axis(int64_t given, int64_t rank);
  std::optional<int64_t> constantAxis(size_t i, int64_t rank);
  /// Whether `x` is a tensor of `rank` dimensions; reports where it is another.
  bool hasRank(Value x, int64_t rank);

  // Results.
  LogicalResult result(Value value) { return results({value}); }
  LogicalResult results(llvm::ArrayRef<Value> values);
  LogicalResult result(Imported value) {
    made.push_back(std::move(value));
    return mlir::success();
  }

  /// Warns (W0256) of attributes that are not as they are by default and that the importer
  /// has not looked at: they change nothing. Those that attributes.txt has a reason for are
  /// left out.
  void warnOfUnused() const;

  /// Reports that the node cannot be imported (W0251); failure.
  LogicalResult unsupported(const llvm::Twine &what);
  /// Reports that the node says something that cannot be (W0224); failure.
  LogicalResult invalid(const llvm::Twine &what);

  // Shared shapes of computation.
  /// Integers of any width as i64, one-dimensional or scalar as they are.
  Value toI64(Value v) { return cast(v, b.getI64Type()); }
  /// A value with static information taken away, down to `type`.
  Value generalize(Value v, mlir::RankedTensorType type);
  Value stack(llvm::ArrayRef<Value> values, int64_t axis);
  /// The type of what is shaped by the integers of input `i`.
  mlir::RankedTensorType typeShapedBy(size_t i, Type element);

  /// Attributes that another importer of this node has looked at are looked at.
  void noteAsked(const NodeImport &other) { asked.append(other.asked.begin(), other.asked.end()); }

private:
  /// Names of attributes that were looked at.
  mutable llvm::SmallVector<std::string_view, 8> asked;
};

/// The numbers, in row-major order, of the elements that a strided slice takes
/// of a tensor of `shape`: the node's masks, its inputs `first`… as begin, end,
/// strides. Null after a report.
Value slicePlaces(NodeImport &n, Value shape, size_t first);

/// `x` with the strided slice of it that the node's inputs 1 to 3 and its masks name replaced by
/// `value`, which may have more leading dimensions than the slice, of size 1. Null after a report.
Value updatedSlice(NodeImport &n, Value x, Value value);

/// A row of the importer table.
struct OpImport {
  std::string_view op;
  LogicalResult (*import)(NodeImport &n);
};

/// The importer of an operation, or null.
const OpImport *findImport(std::string_view op);

// The families, each in a file of its name.
llvm::ArrayRef<OpImport> arrayImports();
llvm::ArrayRef<OpImport> sliceImports();
llvm::ArrayRef<OpImport> blockImports();
llvm::ArrayRef<OpImport> scatterImports();
llvm::ArrayRef<OpImport> checkpointImports();
llvm::ArrayRef<OpImport> collectiveImports();
llvm::ArrayRef<OpImport> controlImports();
llvm::ArrayRef<OpImport> convolutionImports();
llvm::ArrayRef<OpImport> convolutionGradientImports();
llvm::ArrayRef<OpImport> einsumImports();
llvm::ArrayRef<OpImport> elementwiseImports();
llvm::ArrayRef<OpImport> factorizationImports();
llvm::ArrayRef<OpImport> fourierImports();
llvm::ArrayRef<OpImport> imageImports();
llvm::ArrayRef<OpImport> indexingImports();
llvm::ArrayRef<OpImport> linalgImports();
llvm::ArrayRef<OpImport> listImports();
llvm::ArrayRef<OpImport> networkImports();
llvm::ArrayRef<OpImport> reductionImports();
llvm::ArrayRef<OpImport> gradientImports();
llvm::ArrayRef<OpImport> poolGradientImports();
llvm::ArrayRef<OpImport> quantizationImports();
llvm::ArrayRef<OpImport> quantizedImports();
llvm::ArrayRef<OpImport> uniformImports();
llvm::ArrayRef<OpImport> audioImports();
llvm::ArrayRef<OpImport> fusedImports();
llvm::ArrayRef<OpImport> imageGradientImports();
llvm::ArrayRef<OpImport> imageSamplingImports();
llvm::ArrayRef<OpImport> recurrentGradientImports();
llvm::ArrayRef<OpImport> windowGradientImports();
llvm::ArrayRef<OpImport> randomImports();
llvm::ArrayRef<OpImport> recurrentImports();
llvm::ArrayRef<OpImport> raggedImports();
llvm::ArrayRef<OpImport> samplingImports();
llvm::ArrayRef<OpImport> setImports();
llvm::ArrayRef<OpImport> sparseImports();
llvm::ArrayRef<OpImport> sparseMatrixImports();
llvm::ArrayRef<OpImport> sparseStructureImports();
llvm::ArrayRef<OpImport> specialImports();
llvm::ArrayRef<OpImport> optimizerImports();
llvm::ArrayRef<OpImport> stateImports();
llvm::ArrayRef<OpImport> tensorArrayImports();
llvm::ArrayRef<OpImport> stringImports();
llvm::ArrayRef<OpImport> queueImports();
llvm::ArrayRef<OpImport> tableImports();

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_NODEIMPORT_H
