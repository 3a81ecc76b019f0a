//===- NodeImport.h - one ONNX node on its way to weir ----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_NODEIMPORT_H
#define WEIR_COMPILER_FRONTEND_ONNX_NODEIMPORT_H

#include "compiler/frontend/TensorBuilder.h"
#include "compiler/frontend/onnx/OperatorTable.h"

#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringSet.h"

#include <memory>
#include <optional>

namespace weir::onnx {

using frontend::axesFrom;
using frontend::Ints;
using frontend::TensorBuilder;
using mlir::Type;
using mlir::Value;

class GraphImporter;

struct ElementInfo;

/// Codes of weir/weir.h's statuses.
constexpr int64_t invalidArgument = 3, unimplemented = 12;

/// What a name of the model stands for while it is imported. Sequences and
/// optionals whose lengths are known are followed as lists of the values they
/// hold, and cost nothing; others are values of the program (`boxes`).
struct Imported {
  enum class Kind : uint8_t { None, Tensor, Sequence, Optional };
  Kind kind = Kind::None;
  Value tensor;
  /// Of a sequence; of an optional, empty or one.
  std::vector<Imported> elements;
  /// A sequence or optional that the program computes, tensor<?x!weir.box>;
  /// then `elements` is empty.
  Value boxes;
  /// What is known of the elements of `boxes`; null: nothing.
  std::shared_ptr<const ElementInfo> info;

  Imported() = default;
  Imported(Value tensor) : kind(Kind::Tensor), tensor(tensor) {}
  static Imported sequence(std::vector<Imported> elements) {
    Imported result;
    result.kind = Kind::Sequence;
    result.elements = std::move(elements);
    return result;
  }
  /// `kind` is Sequence or Optional.
  static Imported computed(Kind kind, Value boxes, std::shared_ptr<const ElementInfo> info) {
    Imported result;
    result.kind = boxes ? kind : Kind::None;
    result.boxes = boxes;
    result.info = std::move(info);
    return result;
  }
  static Imported optional(std::vector<Imported> elements) {
    Imported result = sequence(std::move(elements));
    result.kind = Kind::Optional;
    return result;
  }
};

/// What an operator's importer works with: the node's inputs as values, its
/// attributes with defaults, and a TensorBuilder at the node's location. An
/// importer sets the results, or reports why it cannot, and says which.
class NodeImport : public TensorBuilder {
public:
  NodeImport(GraphImporter &graph, const Node &node, int64_t version,
             std::optional<OperatorSpec> spec, mlir::OpBuilder &b, mlir::Location loc);

  GraphImporter &graph;
  const Node &node;
  /// The operator's own version (Softmax of opset 15 is version 13).
  int64_t version;
  std::optional<OperatorSpec> spec;

  // Inputs.
  size_t inputCount() const { return inputs.size(); }
  bool has(size_t i) const { return i < inputs.size() && inputs[i].kind != Imported::Kind::None; }
  /// Input `i` as a tensor; null, with a report, where it is none.
  Value in(size_t i);
  const Imported &imported(size_t i) const {
    look(i);
    return inputs[i];
  }
  /// All inputs as tensors; reports and empty where one is none.
  llvm::SmallVector<Value> tensors();

  // Results.
  size_t outputCount() const { return node.outputs.size(); }
  bool wants(size_t i) const { return i < node.outputs.size() && !node.outputs[i].empty(); }
  void set(size_t i, Imported value);
  /// The importer's end: sets output 0, or fails where `value` is null.
  mlir::LogicalResult result(Value value) { return results({value}); }
  /// The same for several outputs; those that nobody wants may be null.
  mlir::LogicalResult results(llvm::ArrayRef<Value> values);
  std::vector<Imported> &outputs() { return made; }
  /// The rank that the graph declares for output `i`; none: it declares nothing.
  std::optional<int64_t> declaredRank(size_t i = 0) const;
  /// The most dimensions that the graph's declarations leave output 0; none: any number.
  std::optional<int64_t> rankBound() const;

  // Attributes, by name; where the node has none, the default of its version.
  const NodeAttribute *attr(std::string_view name) const;
  /// A graph among them, which the operator must have.
  const Graph &graphAttr(std::string_view name) const { return *attr(name)->graphs[0]; }
  bool hasAttr(std::string_view name) const { return attr(name); }
  int64_t i(std::string_view name) const;
  double f(std::string_view name) const;
  std::string_view s(std::string_view name) const;
  std::optional<llvm::SmallVector<int64_t>> is(std::string_view name) const;
  std::optional<llvm::SmallVector<double>> fs(std::string_view name) const;
  std::vector<std::string_view> ss(std::string_view name) const;

  // Constants.
  /// The integers that an input holds, where they are known now.
  std::optional<llvm::SmallVector<int64_t>> knownInts(size_t i);
  /// The same, with a report where they are not: `what` cannot be computed.
  std::optional<llvm::SmallVector<int64_t>> constantInts(size_t i);
  /// The floats of an input that is a constant.
  std::optional<llvm::SmallVector<double>> constantFloats(size_t i);
  /// An axis in [0, rank), from one that may count from the end; reports.
  std::optional<int64_t> axis(int64_t given, int64_t rank);
  /// Sorted axes, likewise; none given: all of [0, rank).
  std::optional<llvm::SmallVector<int64_t>> axes(std::optional<llvm::SmallVector<int64_t>> given,
                                                 int64_t rank);
  /// The numbers of a tensor attribute; empty, with a report, where it has
  /// none.
  llvm::SmallVector<double> tensorNumbers(const Tensor &tensor);
  /// A tensor attribute, or one in the file at large, as a constant.
  Value tensorConstant(const Tensor &tensor);

  /// Ends a run in which `condition` (tensor<i1>) does not hold, with `code` and `text`:
  /// INVALID_ARGUMENT, or UNIMPLEMENTED where the operands are right, but not compiled for.
  void require(Value condition, llvm::StringRef text, int64_t code = invalidArgument);
  /// Whether `value`, what the node says of `name`, is from 1 to `most`, so that arithmetic on
  /// sizes bears it; reports.
  bool isCount(llvm::StringRef name, int64_t value, int64_t most = (int64_t(1) << 31) - 1);
  /// Whether dimension `axis` of `x` is a multiple of `divisor`; reports where it
  /// is none, and has the run refuse it where it is open. `parts` says what of.
  bool isMultiple(Value x, int64_t axis, int64_t divisor, llvm::StringRef parts);
  /// Whether dimension `axis` of `x` is `size`, likewise: `what` is the tensor's name.
  bool hasSize(Value x, int64_t axis, int64_t size, llvm::StringRef what);
  /// Whether it is a size that may be computed, tensor<1xi64>, likewise.
  bool hasSize(Value x, int64_t axis, Value size, llvm::StringRef what);
  /// Sizes that are computed as a constant where they are known.
  Value settled(Value sizes);
  /// Whether dimension `axis` of `x` is as large as `other` of `y`, likewise.
  bool isAsLarge(Value x, int64_t axis, Value y, int64_t other, llvm::StringRef what);
  /// The same, or of size 1.
  bool isOneOrAsLarge(Value x, int64_t axis, Value y, int64_t other, llvm::StringRef what);
  /// Whether `v` has that many dimensions; reports where it has not.
  bool hasRank(Value v, int64_t rank, llvm::StringRef what);
  /// Whether `v` is a vector of `count` entries, likewise.
  bool hasEntries(Value v, int64_t count, llvm::StringRef what);
  /// Whether `v` is a vector of an entry for each of dimension `axis` of `x`, likewise.
  bool hasOneEach(Value v, Value x, int64_t axis, llvm::StringRef what);
  /// Whether dimensions [begin, rank) of `x` are as large as those of `y` of the same rank.
  bool isSameShape(Value x, Value y, llvm::StringRef what, int64_t begin = 0);
  /// A vector with `count` entries, which the run sees to where their number is open; null, with
  /// a report, where there are others.
  Value ofLength(Value v, int64_t count, llvm::StringRef what);
  /// Whether `v` broadcasts to the shape of `x`, which is stretched to no other.
  bool stretchesTo(Value v, Value x, llvm::StringRef what);

  /// Warns of attributes and inputs that the node has and its importer has not looked
  /// at: they change nothing. Attributes that say what holds anyway are left out.
  void warnOfUnused() const;

  /// Reports that the node cannot be imported; always a failure.
  mlir::LogicalResult unsupported(const llvm::Twine &what);
  /// Reports that the node says something that cannot be.
  mlir::LogicalResult invalid(const llvm::Twine &what);

private:
  friend class GraphImporter;
  std::vector<Imported> inputs;
  std::vector<Imported> made;
  void look(size_t i) const {
    used.resize(std::max<size_t>(used.size(), i + 1));
    used.set(i);
  }
  /// Inputs and attributes that the importer has looked at.
  mutable llvm::SmallBitVector used;
  mutable llvm::StringSet<> asked;
};

/// A size as messages say it.
inline std::string sizeText(int64_t size) {
  return mlir::ShapedType::isDynamic(size) ? "open" : std::to_string(size);
}

/// Gemm's result: alpha · A · B + beta · C of inputs 0 to 2, either turned; null,
/// with a report, where they are not matrices.
Value generalProduct(NodeImport &n);

/// `x` with the first `lengths[i]` entries of dimension `time` of batch entry `i` in
/// reverse; `lengths` is a vector.
Value reversedSequences(TensorBuilder &t, Value x, Value lengths, int64_t time = 0,
                        int64_t batch = 1);

/// `x` in another type, as Cast converts, to and from strings too; null where `x`
/// is, or where there is no such conversion.
Value castElements(NodeImport &n, Value x, Type to);

/// The attribute `seed`, or a number that depends on the name of the node's first output.
int64_t seedOf(const NodeImport &n);

/// weir's element type of an ONNX type; null where weir has none.
Type elementType(mlir::MLIRContext *context, DataType type);

/// A row of the importer table: `import` takes the operator's versions `first`
/// to `last` (0: to the newest).
struct OperatorImport {
  std::string_view domain, name;
  int64_t first, last;
  mlir::LogicalResult (*import)(NodeImport &n);
};

/// The row for an operator's version; null where weir has none.
const OperatorImport *findImport(std::string_view domain, std::string_view name, int64_t version);

// The families, each in the file of its name.
llvm::ArrayRef<OperatorImport> mathImports();
llvm::ArrayRef<OperatorImport> activationImports();
llvm::ArrayRef<OperatorImport> arrayImports();
llvm::ArrayRef<OperatorImport> indexingImports();
llvm::ArrayRef<OperatorImport> reductionImports();
llvm::ArrayRef<OperatorImport> convolutionImports();
llvm::ArrayRef<OperatorImport> normalizationImports();
llvm::ArrayRef<OperatorImport> controlImports();
llvm::ArrayRef<OperatorImport> ifImports();
llvm::ArrayRef<OperatorImport> recurrentImports();
llvm::ArrayRef<OperatorImport> quantizationImports();
llvm::ArrayRef<OperatorImport> imageImports();
llvm::ArrayRef<OperatorImport> regionImports();
llvm::ArrayRef<OperatorImport> randomImports();
llvm::ArrayRef<OperatorImport> attentionImports();
llvm::ArrayRef<OperatorImport> sequenceImports();
llvm::ArrayRef<OperatorImport> lossImports();
llvm::ArrayRef<OperatorImport> signalImports();
llvm::ArrayRef<OperatorImport> streamingImports();
llvm::ArrayRef<OperatorImport> patchImports();
llvm::ArrayRef<OperatorImport> treeImports();
llvm::ArrayRef<OperatorImport> gradientImports();
llvm::ArrayRef<OperatorImport> matrixImports();
llvm::ArrayRef<OperatorImport> mapImports();
llvm::ArrayRef<OperatorImport> mlImports();
llvm::ArrayRef<OperatorImport> supportVectorImports();
llvm::ArrayRef<OperatorImport> stringImports();
llvm::ArrayRef<OperatorImport> microsoftImports();
llvm::ArrayRef<OperatorImport> microsoftArrayImports();
llvm::ArrayRef<OperatorImport> microsoftAttentionImports();
llvm::ArrayRef<OperatorImport> microsoftDecoderImports();
llvm::ArrayRef<OperatorImport> microsoftQuantizationImports();
llvm::ArrayRef<OperatorImport> microsoftModelImports();
llvm::ArrayRef<OperatorImport> searchImports();
llvm::ArrayRef<OperatorImport> beamSearchImports();
llvm::ArrayRef<OperatorImport> decoderAttentionImports();
llvm::ArrayRef<OperatorImport> microsoftTokenImports();
llvm::ArrayRef<OperatorImport> packedRowImports();
llvm::ArrayRef<OperatorImport> qonnxImports();

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_NODEIMPORT_H
