//===- MovementRules.cpp - gradients of what moves elements ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

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
  Value rows = a.reshape(places->getResult(0), a.ints({-1, 1}));
  Value updates = a.reshape(gradients[0], a.ints({-1}));
  Value flat = a.op<BroadcastToOp>(a.number(updates, 0), size);
  Value sum = a.op<ScatterNdOp>(flat, rows, updates, "add", false, false);
  a.add(x, a.reshapeLike(sum, x));
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
  bool adds = scatter.getReduction() == "add";
  bool drops = scatter.getDropOutOfBounds();
  if (!adds && scatter.getReduction() != "none")
    return failure();
  Value dy = gradients[0], indices = scatter.getIndices();
  if (a.wants(scatter.getOperand()))
    a.add(scatter.getOperand(), adds ? dy
                                     : a.op<ScatterNdOp>(dy, indices, a.zeros(scatter.getUpdates()),
                                                         "none", scatter.getWrapNegative(), drops));
  if (!a.wants(scatter.getUpdates()))
    return success();
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

ArrayRef<Row> weir::gradient::movementRules() {
  static const Row rows[] = {
      {"reshape", reshape},
      {"broadcast_to", broadcast},
      {"transpose", transpose},
      {"reverse", reverse},
      {"pad", pad},
      {"concat", concat},
      {"scatter_nd", scatterNd},
      {"slice", moved},
      {"tile", moved},
      {"repeat", moved},
      {"gather", moved},
      {"gather_nd", moved},
      {"gather_elements", moved},
      {"top_k", topK},
      {"scatter_elements", scatterElements},
  };
  return rows;
}
