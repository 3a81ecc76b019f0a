//===- MovementRules.cpp - gradients of what moves elements ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/SliceBounds.h"
#include "passes/gradient/GradientRules.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace weir;
using namespace weir::gradient;

namespace {

/// The rule of everything that only moves elements of its first operand: the
/// same operation on their numbers says where each came from, and the gradient
/// is added there.
LogicalResult moved(Operation *op, ArrayRef<Value> gradients, Adjoint &a) {
  Value x = op->getOperand(0);
  for (Value other : op->getOperands().drop_front())
    if (a.wants(other))
      return failure();
  Value size = a.op<ReduceOp>(a.shapeOf(x), ReduceKind::Prod, Ints{0}, true);
  Value numbers = a.op<IotaOp>(size, 0, a.b.getI64Type());
  IRMapping mapping;
  mapping.map(x, a.reshapeLike(numbers, x));
  auto number = [&](Value v) { return Adjoint::type(v).clone(a.b.getI64Type()); };
  Operation *places = a.b.clone(*op, mapping);
  places->getResult(0).setType(number(op->getResult(0)));
  a.add(x, scatterFlat(a, places->getResult(0), gradients[0], x));
  return success();
}

/// The gradient of a slice of known sizes is put back by padding: behind each element that a
/// step has passed over, and around all.
LogicalResult slice(Operation *op, ArrayRef<Value> gradients, Adjoint &a) {
  auto slice = cast<SliceOp>(op);
  Value x = slice.getOperand(), dx = gradients[0];
  auto starts = constantIntegers(slice.getStarts()), ends = constantIntegers(slice.getEnds()),
       steps = constantIntegers(slice.getSteps());
  if (!starts || !ends || !steps)
    return moved(op, gradients, a);
  int64_t rank = Adjoint::rank(x);
  IntVector pads(2 * rank, 0);
  for (auto [i, axis] : llvm::enumerate(slice.getAxes())) {
    int64_t size = Adjoint::type(x).getDimSize(axis), step = (*steps)[i];
    if (ShapedType::isDynamic(size) || step == 0)
      return moved(op, gradients, a);
    SliceBounds bounds = clampSlice((*starts)[i], (*ends)[i], step, size);
    if (bounds.count == 0)
      return moved(op, gradients, a);
    if (step < 0) {
      dx = a.op<ReverseOp>(dx, Ints{axis});
      bounds.start += (bounds.count - 1) * step;
      step = -step;
    }
    if (step > 1 && bounds.count > 1) {
      // Each element becomes a row of `step`, of which it is the first.
      SmallVector<Value> apart = {a.sizes(dx, 0, axis + 1), a.ints({1}),
                                  a.sizes(dx, axis + 1, rank)},
                         joined = {a.sizes(dx, 0, axis), a.ints({bounds.count * step}),
                                   a.sizes(dx, axis + 1, rank)};
      IntVector behind(2 * (rank + 1), 0);
      behind[rank + 1 + axis + 1] = step - 1;
      dx = a.op<PadOp>(a.reshape(dx, a.concat(apart, 0)), a.ints(behind), a.number(dx, 0),
                       PadMode::Constant);
      dx = a.reshape(dx, a.concat(joined, 0));
      bounds.count *= step;
    }
    pads[axis] = bounds.start;
    pads[rank + axis] = size - bounds.start - bounds.count;
  }
  a.add(x, a.op<PadOp>(dx, a.ints(pads), a.number(dx, 0), PadMode::Constant));
  return success();
}

/// Rows of the gradient are added where the forward pass read them.
LogicalResult gather(Operation *op, ArrayRef<Value> gradients, Adjoint &a) {
  auto gather = cast<GatherOp>(op);
  Value x = gather.getOperand(), indices = gather.getIndices(), dy = gradients[0];
  if (gather.getBatchDims() != 0)
    return moved(op, gradients, a);
  int64_t rank = Adjoint::rank(x), axis = gather.getAxis(), picked = Adjoint::rank(indices);
  // The axis goes to the front, and back.
  IntVector rows, order, back;
  for (int64_t i = 0; i < picked; ++i)
    rows.push_back(axis + i);
  for (int64_t i = 0; i < picked + rank - 1; ++i)
    if (i < axis || i >= axis + picked)
      rows.push_back(i);
  SmallVector<Value> sizes = {a.sizes(x, axis, axis + 1), a.sizes(x, 0, axis),
                              a.sizes(x, axis + 1, rank)};
  for (int64_t i = 0; i < rank; ++i)
    back.push_back(i < axis ? i + 1 : i == axis ? 0 : i);
  Value zeros = a.op<BroadcastToOp>(a.number(dy, 0), a.concat(sizes, 0));
  Value tuples = a.reshape(indices, a.concat({a.shapeOf(indices), a.ints({1})}, 0));
  Value sum = a.op<ScatterNdOp>(zeros, tuples, a.transpose(dy, rows), "add",
                                gather.getWrapNegative(), false);
  a.add(x, a.transpose(sum, back));
  return success();
}

LogicalResult gatherNd(Operation *op, ArrayRef<Value> gradients, Adjoint &a) {
  auto gather = cast<GatherNdOp>(op);
  if (gather.getBatchDims() != 0)
    return moved(op, gradients, a);
  a.add(gather.getOperand(),
        a.op<ScatterNdOp>(a.zeros(gather.getOperand()), gather.getIndices(), gradients[0], "add",
                          gather.getWrapNegative(), false));
  return success();
}

LogicalResult gatherElements(Operation *op, ArrayRef<Value> gradients, Adjoint &a) {
  auto gather = cast<GatherElementsOp>(op);
  a.add(gather.getOperand(),
        a.op<ScatterElementsOp>(a.zeros(gather.getOperand()), gather.getIndices(), gradients[0],
                                gather.getAxis(), "add", gather.getWrapNegative()));
  return success();
}

/// Copies lie along an axis of their own, and are summed.
LogicalResult tile(Operation *op, ArrayRef<Value> gradients, Adjoint &a) {
  auto tile = cast<TileOp>(op);
  Value x = tile.getOperand();
  auto repeats = constantIntegers(tile.getRepeats());
  if (!repeats || !Adjoint::type(x).hasStaticShape())
    return moved(op, gradients, a);
  IntVector shape, axes;
  for (auto [count, size] : llvm::zip(*repeats, Adjoint::type(x).getShape())) {
    if (count != 1) {
      axes.push_back(static_cast<int64_t>(shape.size()));
      shape.push_back(count);
    }
    shape.push_back(size);
  }
  Value dx = a.reshape(gradients[0], a.ints(shape));
  a.add(x, axes.empty() ? dx : a.reduce(dx, ReduceKind::Sum, axes, false));
  return success();
}

LogicalResult repeat(Operation *op, ArrayRef<Value> gradients, Adjoint &a) {
  auto repeat = cast<RepeatOp>(op);
  Value x = repeat.getOperand();
  int64_t axis = repeat.getAxis();
  Value apart = a.reshape(gradients[0],
                          a.concat({a.sizes(x, 0, axis + 1), a.ints({int64_t(repeat.getTimes())}),
                                    a.sizes(x, axis + 1, Adjoint::rank(x))},
                                   0));
  a.add(x, a.reduce(apart, ReduceKind::Sum, {axis + 1}, false));
  return success();
}

LogicalResult reshape(Operation *op, ArrayRef<Value> gradients, Adjoint &a) {
  a.add(op->getOperand(0), a.reshapeLike(gradients[0], op->getOperand(0)));
  return success();
}

LogicalResult broadcast(Operation *op, ArrayRef<Value> gradients, Adjoint &a) {
  a.add(op->getOperand(0), gradients[0]); // which sums
  return success();
}

LogicalResult transpose(Operation *op, ArrayRef<Value> gradients, Adjoint &a) {
  Ints permutation = cast<TransposeOp>(op).getPermutation();
  IntVector inverse(permutation.size());
  for (auto [to, from] : llvm::enumerate(permutation))
    inverse[from] = to;
  a.add(op->getOperand(0), a.transpose(gradients[0], inverse));
  return success();
}

LogicalResult reverse(Operation *op, ArrayRef<Value> gradients, Adjoint &a) {
  a.add(op->getOperand(0), a.op<ReverseOp>(gradients[0], cast<ReverseOp>(op).getAxes()));
  return success();
}

/// Padding with a constant is undone by cropping.
LogicalResult pad(Operation *op, ArrayRef<Value> gradients, Adjoint &a) {
  auto pad = cast<PadOp>(op);
  if (pad.getMode() != PadMode::Constant) {
    if (a.wants(pad.getValue()))
      return failure();
    return moved(op, gradients, a);
  }
  if (a.wants(pad.getValue()))
    return failure();
  Value crop = a.op<NegOp>(a.cast(pad.getPads(), a.b.getI64Type()));
  a.add(pad.getOperand(),
        a.op<PadOp>(gradients[0], crop, a.number(gradients[0], 0), PadMode::Constant));
  return success();
}

LogicalResult concat(Operation *op, ArrayRef<Value> gradients, Adjoint &a) {
  auto concat = cast<ConcatOp>(op);
  int64_t axis = concat.getAxis();
  Value begin = a.ints({0});
  for (Value input : concat.getInputs()) {
    Value end = a.plus(begin, a.sizes(input, axis, axis + 1));
    if (a.wants(input))
      a.add(input, a.op<SliceOp>(gradients[0], begin, end, a.ints({1}), Ints{axis}, false));
    begin = end;
  }
  return success();
}

LogicalResult scatterNd(Operation *op, ArrayRef<Value> gradients, Adjoint &a) {
  auto scatter = cast<ScatterNdOp>(op);
  bool subtracts = scatter.getReduction() == "sub";
  bool keeps = subtracts || scatter.getReduction() == "add"; // what is below the updates
  bool drops = scatter.getDropOutOfBounds();
  if (!keeps && scatter.getReduction() != "none")
    return failure();
  Value dy = gradients[0], indices = scatter.getIndices();
  if (a.wants(scatter.getOperand()))
    a.add(scatter.getOperand(), keeps
                                    ? dy
                                    : a.op<ScatterNdOp>(dy, indices, a.zeros(scatter.getUpdates()),
                                                        "none", scatter.getWrapNegative(), drops));
  if (!a.wants(scatter.getUpdates()))
    return success();
  if (subtracts)
    dy = a.op<NegOp>(dy);
  if (!drops) {
    a.add(scatter.getUpdates(), a.op<GatherNdOp>(dy, indices, 0, scatter.getWrapNegative()));
    return success();
  }
  // What was dropped has no gradient: it reads element 0, and is cleared.
  int64_t last = Adjoint::rank(indices) - 1, depth = Adjoint::type(indices).getDimSize(last);
  if (ShapedType::isDynamic(depth) || scatter.getWrapNegative())
    return failure();
  Value sizes = a.cast(a.sizes(dy, 0, depth), Adjoint::type(indices).getElementType());
  Value isInside =
      a.op<AndOp>(a.compare("ge", indices, a.number(indices, 0)), a.compare("lt", indices, sizes));
  Value isKept = a.reduce(isInside, ReduceKind::All, {last}, true);
  Value found = a.op<GatherNdOp>(dy, a.where(isKept, indices), 0, false);
  SmallVector<Value> shape = {a.sizes(isKept, 0, last)};
  shape.push_back(a.ints(IntVector(Adjoint::rank(found) - last, 1)));
  a.add(scatter.getUpdates(), a.where(a.reshape(isKept, a.concat(shape, 0)), found));
  return success();
}

LogicalResult scatterElements(Operation *op, ArrayRef<Value> gradients, Adjoint &a) {
  auto scatter = cast<ScatterElementsOp>(op);
  bool adds = scatter.getReduction() == "add";
  if (!adds && scatter.getReduction() != "none")
    return failure();
  Value dy = gradients[0], indices = scatter.getIndices();
  int64_t axis = scatter.getAxis();
  bool wraps = scatter.getWrapNegative();
  if (a.wants(scatter.getOperand()))
    a.add(scatter.getOperand(),
          adds ? dy
               : a.op<ScatterElementsOp>(dy, indices, a.zeros(scatter.getUpdates()), axis, "none",
                                         wraps));
  if (a.wants(scatter.getUpdates()))
    a.add(scatter.getUpdates(), a.op<GatherElementsOp>(dy, indices, axis, wraps));
  return success();
}

/// The largest k go back to where their indices say.
LogicalResult topK(Operation *op, ArrayRef<Value> gradients, Adjoint &a) {
  auto top = cast<TopKOp>(op);
  if (gradients[0])
    a.add(top.getOperand(), a.op<ScatterElementsOp>(a.zeros(top.getOperand()), top.getIndices(),
                                                    gradients[0], top.getAxis(), "add", false));
  return success();
}

} // namespace

Value gradient::scatterFlat(Adjoint &a, Value indices, Value updates, Value like) {
  Value size = a.op<ReduceOp>(a.shapeOf(like), ReduceKind::Prod, Ints{0}, true);
  Value flat = a.op<BroadcastToOp>(a.number(updates, 0), size);
  Value sum = a.op<ScatterNdOp>(flat, a.reshape(indices, a.ints({-1, 1})),
                                a.reshape(updates, a.ints({-1})), "add", false, false);
  return a.reshapeLike(sum, like);
}

ArrayRef<Row> weir::gradient::movementRules() {
  static const Row rows[] = {
      {"reshape", reshape},
      {"broadcast_to", broadcast},
      {"transpose", transpose},
      {"reverse", reverse},
      {"pad", pad},
      {"concat", concat},
      {"scatter_nd", scatterNd},
      {"slice", slice},
      {"tile", tile},
      {"repeat", repeat},
      {"gather", gather},
      {"gather_nd", gatherNd},
      {"gather_elements", gatherElements},
      {"top_k", topK},
      {"scatter_elements", scatterElements},
  };
  return rows;
}
