//===- RaisePicks.cpp - one element of each line, by its number -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loss of classes adds up what is left of each line where all but the label's element are 0:
//
//   sum(select(labels == 0, 1, 2 …, x, 0))
//
// That is the label's element, which a gather reads, and nothing else of the line.
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "dialects/weir/Rearrange.h"
#include "passes/raise/Passes.h"

namespace weir {
#define GEN_PASS_DEF_WEIRRAISEPICKSPASS
#include "passes/raise/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// Whether `value` has a size of 1 along `axis` alone, and elsewhere the other's sizes.
static bool isLineOf(Value value, Value other, int64_t axis) {
  SmallVector<int64_t> shape(shapeOf(other));
  shape[axis] = 1;
  return shapeOf(value) == ArrayRef(shape);
}

/// Whether `value` is 0, 1, 2 … along `axis` of tensors of that rank.
static bool isNumbering(Value value, int64_t axis, int64_t rank) {
  auto iota = value.getDefiningOp<IotaOp>();
  if (!iota || int64_t(iota.getAxis()) != axis || int64_t(shapeOf(value).size()) != rank)
    return false;
  SmallVector<int64_t> shape(rank, 1);
  shape[axis] = shapeOf(value)[axis];
  return shapeOf(value) == ArrayRef(shape) &&
         isa<IntegerType>(getElementTypeOrSelf(value.getType()));
}

static void raise(ReduceOp sum) {
  auto select = sum.getOperand().getDefiningOp<SelectOp>();
  auto compare = select ? select.getCondition().getDefiningOp<CompareOp>() : CompareOp();
  if (!compare || sum.getKind() != ReduceKind::Sum || sum.getAxes().size() != 1 ||
      compare.getPredicate() != "eq" || !select->hasOneUse() ||
      !matchPattern(select.getOnFalse(), m_PosZeroFloat()))
    return;
  Value value = select.getOnTrue(), labels = compare.getLhs(), numbers = compare.getRhs();
  auto type = dyn_cast<RankedTensorType>(value.getType());
  int64_t axis = sum.getAxes()[0];
  if (!type || !type.hasStaticShape() || type != select.getType())
    return;
  if (isNumbering(labels, axis, type.getRank()))
    std::swap(labels, numbers);
  if (!isNumbering(numbers, axis, type.getRank()) || !isLineOf(labels, value, axis) ||
      shapeOf(numbers)[axis] != type.getDimSize(axis) || type.getDimSize(axis) == 0)
    return;
  OpBuilder b(sum);
  Location loc = sum.getLoc();
  Type element = getElementTypeOrSelf(labels.getType());
  auto number = [&](int64_t n) -> Value {
    return ConstantOp::create(
        b, loc,
        DenseElementsAttr::get(RankedTensorType::get({}, element),
                               ArrayRef<Attribute>(b.getIntegerAttr(element, n))));
  };
  Value first = number(0), last = number(type.getDimSize(axis) - 1);
  Value exists = AndOp::create(b, loc, CompareOp::create(b, loc, labels, first, "ge"),
                               CompareOp::create(b, loc, labels, last, "le"));
  Value inside = MinimumOp::create(b, loc, MaximumOp::create(b, loc, labels, first), last);
  Value picked = GatherElementsOp::create(b, loc, value, inside, axis, false);
  // The sum of one element is 0 for -0, as it was beside zeros.
  sum.getOperandMutable().assign(
      SelectOp::create(b, loc, exists, picked, select.getOnFalse()).getResult());
  select.erase();
}

namespace {
struct RaisePicksPass : weir::impl::WeirRaisePicksPassBase<RaisePicksPass> {
  void runOnOperation() override {
    SmallVector<ReduceOp> sums;
    getOperation().walk([&](ReduceOp sum) { sums.push_back(sum); });
    for (ReduceOp sum : sums)
      raise(sum);
  }
};
} // namespace
