//===- RuntimeAxes.cpp - axes that the program computes -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/RuntimeAxes.h"
#include "compiler/frontend/lowering/AxisSets.h"
#include "compiler/frontend/tensorflow/GraphImporter.h"
#include "compiler/frontend/tensorflow/Sparse.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

/// Axes from 0 on, of integers that may count from the end; others end the run.
static Value fromStart(NodeImport &n, Value axes, int64_t rank) {
  return frontend::axesFromStart(
      n, axes, rank, [&](Value holds, StringRef message) { require(n, holds, message); });
}

Value weir::tf::runtimeAxis(NodeImport &n, Value given, int64_t rank) {
  if (!given)
    return {};
  return fromStart(n, n.toScalar(given), rank);
}

namespace {
struct Chooser {
  NodeImport &n;
  Value mask; ///< a bit an axis
  function_ref<Value(TensorBuilder &t, Ints axes)> build;

  FailureOr<std::vector<Imported>> one(int64_t choice, OpBuilder &b) {
    TensorBuilder t(b, n.loc);
    Value value = build(t, frontend::axesOfSet(choice));
    if (!value)
      return failure();
    return std::vector<Imported>{Imported(value)};
  }

  FailureOr<std::vector<Imported>> among(ArrayRef<int64_t> choices, OpBuilder &b) {
    if (choices.size() == 1)
      return one(choices[0], b);
    TensorBuilder t(b, n.loc);
    Value is = t.compare("eq", mask, t.intScalar(choices[0]));
    return n.g.buildIf(
        is, [&](OpBuilder &in) { return one(choices[0], in); },
        [&](OpBuilder &in) { return among(choices.drop_front(), in); }, n.node, b, n.loc);
  }
};
} // namespace

Value weir::tf::chooseAxes(NodeImport &n, Value axes, int64_t rank, bool anyNumber,
                           function_ref<Value(TensorBuilder &t, Ints axes)> build,
                           function_ref<bool(Ints axes)> isPossible) {
  axes = n.reshape(n.toI64(axes), {-1});
  if (!axes)
    return {};
  if (rank < 0) {
    (void)n.unsupported("expected a tensor of known rank, got one whose rank only the run knows, "
                        "with axes computed from the program's inputs");
    return {};
  }
  int64_t count = n.dim(axes, 0);
  bool isOpen = ShapedType::isDynamic(count);
  if (count > rank) {
    (void)n.invalid("expected at most " + Twine(rank) + " axes, of a tensor of rank " +
                    Twine(rank) + ", got " + Twine(count));
    return {};
  }
  SmallVector<int64_t> choices;
  if (!isOpen || anyNumber)
    choices = frontend::axisSets(rank, count, isPossible);
  if (choices.empty()) {
    (void)n.unsupported("expected constant axes, got axes computed from the program's inputs, of "
                        "unknown number or with more than " +
                        Twine(frontend::mostAxisSets) + " choices");
    return {};
  }
  Value mask = frontend::axisSetOf(n, fromStart(n, axes, rank), rank);
  if (!mask)
    return {};
  require(n, n.compare("eq", n.op<PopulationCountOp>(mask), n.toScalar(n.sizeOf(axes, 0))),
          "an axis is there twice");
  if (isPossible) {
    Value isChoice = n.compare("eq", n.unsqueeze(mask, {0}), n.ints(choices));
    require(n, n.reduce(isChoice, "any", {0}, false), "an axis does not fit the operands' sizes");
  }
  Chooser chooser{n, mask, build};
  auto made = chooser.among(choices, n.b);
  return failed(made) ? Value() : made->front().value;
}

Value weir::tf::atAxis(NodeImport &n, size_t i, int64_t rank,
                       function_ref<Value(TensorBuilder &t, int64_t axis)> build,
                       function_ref<bool(int64_t axis)> isPossible) {
  Value given = n.in(i);
  if (!given)
    return {};
  if (!n.knownInts(i)) {
    auto first = [&](Ints axes) { return isPossible(axes[0]); };
    return chooseAxes(
        n, n.reshape(given, {1}), rank, false,
        [&](TensorBuilder &t, Ints axes) { return build(t, axes[0]); },
        isPossible ? function_ref<bool(Ints)>(first) : nullptr);
  }
  std::optional<int64_t> axis = n.constantAxis(i, rank);
  return axis ? build(n, *axis) : Value();
}

Value weir::tf::axisFlags(NodeImport &n, Value axes, int64_t rank) {
  axes = n.reshape(n.toI64(axes), {-1});
  if (!axes || rank < 0)
    return {};
  return frontend::isAmongAxes(n, fromStart(n, axes, rank), rank);
}

Value weir::tf::distinctAxisFlags(NodeImport &n, Value axes, int64_t rank) {
  Value flags = axisFlags(n, axes, rank);
  Value count = flags ? n.reduce(n.cast(flags, n.b.getI64Type()), "sum", {0}, true) : Value();
  require(n, n.compare("eq", count, n.sizeOf(n.reshape(axes, {-1}), 0)), "an axis is there twice");
  return flags;
}

Value weir::tf::transposeAt(NodeImport &n, Value x, Value permutation) {
  if (!x || !permutation)
    return {};
  int64_t rank = n.rank(x);
  permutation = n.toI64(permutation);
  permutation = n.select(n.compare("lt", permutation, 0),
                         n.add(permutation, static_cast<double>(rank)), permutation);
  Value there = frontend::isAmongAxes(n, permutation, rank);
  require(n,
          n.op<AndOp>(n.reduce(there, "all", {0}, true),
                      n.compare("eq", n.sizeOf(permutation, 0), n.ints({rank}))),
          "the permutation is none of the tensor's dimensions");
  // An element's place: its coordinates times the steps of the dimensions that they
  // are of.
  Value shape = n.shapeOf(x);
  Value steps = n.op<CumulativeOp>(shape, n.text("prod"), n.number(0), n.flag(true), n.flag(true));
  permutation = n.reshape(permutation, {rank});
  permutation = n.minimum(n.maximum(permutation, 0.0), static_cast<double>(rank - 1));
  Value sizes = n.gather(shape, permutation, 0);
  steps = n.gather(steps, permutation, 0);
  Value place = n.reshape(n.ints({0}), IntVector(rank, 1));
  for (int64_t i = 0; i < rank; ++i) {
    Value along =
        n.op<IotaOp>(n.slice(sizes, 0, i, i + 1), n.number(0), n.typeAttr(n.b.getI64Type()));
    Value part = n.mul(along, n.slice(steps, 0, i, i + 1));
    place = n.add(place, part ? n.unsqueeze(part, axesFrom(1, rank - i)) : Value());
  }
  return n.gather(n.reshape(x, {-1}), place, 0);
}

// A group, of one tensor and its shape: no operation takes a group for a tensor.
LogicalResult weir::tf::openRankResult(NodeImport &n, Value elements, Value shape) {
  if (!elements || !shape)
    return failure();
  return n.result(Imported::makeOpenRank(elements, shape));
}

static bool isElementsAndShape(const NodeImport &n, size_t i) {
  return i < n.inputs.size() && n.inputs[i].isOpenRank();
}

bool weir::tf::isOpenRank(const NodeImport &n, size_t i) {
  return isElementsAndShape(n, i) || boxedInput(n, i);
}

Value weir::tf::openRankInput(NodeImport &n, size_t i) {
  if (Value box = boxedInput(n, i))
    return openElements(n, box, n.elementAttr("T"));
  return isElementsAndShape(n, i) ? n.inputs[i].group->front() : Value();
}

Value weir::tf::asBox(NodeImport &n, size_t i) {
  if (isElementsAndShape(n, i))
    return boxOf(n, n.inputs[i].group->front(), n.inputs[i].value);
  return boxedInput(n, i);
}

Value weir::tf::boxedInput(const NodeImport &n, size_t i) {
  if (i >= n.inputs.size() || n.inputs[i].kind != Imported::Kind::Tensor ||
      !isa<BoxType>(n.element(n.inputs[i].value)))
    return {};
  return n.inputs[i].value;
}

Value weir::tf::boxOf(NodeImport &n, Value elements, Value shape) {
  auto type = RankedTensorType::get({1}, BoxType::get(n.b.getContext()));
  Operation *made = n.kernelCall("weir_kernel_box_tensor", {type}, {elements, n.toI64(shape)});
  return made ? made->getResult(0) : Value();
}

Value weir::tf::gatherNdOfOpenDepth(NodeImport &n, Value x, Value indices) {
  int64_t rank = n.rank(x), last = n.rank(indices) - 1;
  if (rank < 0 || last < 0)
    return {};
  Value depth = n.toScalar(n.sizeOf(indices, last));
  require(n, n.compare("le", depth, static_cast<double>(rank)),
          "indices of more dimensions than the tensor has");
  std::function<FailureOr<std::vector<Imported>>(int64_t, OpBuilder &)> from =
      [&](int64_t count, OpBuilder &b) -> FailureOr<std::vector<Imported>> {
    auto own = [&](OpBuilder &in) -> FailureOr<std::vector<Imported>> {
      NodeImport t(n.g, n.node, {}, in, n.loc);
      Value shape = t.ints({count});
      if (last > 0)
        shape = t.concat({t.shapeSlice(indices, 0, last), shape}, 0);
      Value box =
          boxOf(t, t.op<GatherNdOp>(x, t.reshapeTo(indices, shape), t.number(0), t.flag(false)));
      if (!box)
        return failure();
      return std::vector<Imported>{Imported(box)};
    };
    if (count == rank)
      return own(b);
    TensorBuilder t(b, n.loc);
    return n.g.buildIf(
        t.compare("eq", depth, static_cast<double>(count)), own,
        [&](OpBuilder &in) { return from(count + 1, in); }, n.node, b, n.loc);
  };
  auto made = from(0, n.b);
  return failed(made) ? Value() : made->front().value;
}

Value weir::tf::openBox(NodeImport &n, Value box, RankedTensorType type) {
  SmallVector<int64_t> attributes{type.getRank()};
  for (int64_t size : type.getShape())
    attributes.push_back(ShapedType::isDynamic(size) ? -1 : size);
  return n.kernelCall("weir_kernel_open_tensor", {type}, {box}, attributes)->getResult(0);
}

Value weir::tf::openElements(NodeImport &n, Value box, Type element) {
  if (!element)
    return {};
  auto type = RankedTensorType::get({ShapedType::kDynamic}, element);
  return n.kernelCall("weir_kernel_open_tensor", {type}, {box}, {-1})->getResult(0);
}

Value weir::tf::openShape(NodeImport &n, Value box) {
  auto type = RankedTensorType::get({ShapedType::kDynamic}, n.b.getI64Type());
  return n.kernelCall("weir_kernel_open_shape", {type}, {box})->getResult(0);
}
