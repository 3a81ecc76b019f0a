//===- ReduceOps.cpp - reduce, arg_reduce, cumulative ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/BlockedSums.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/ShapeSupport.h"
#include "weir/weir.h"

using namespace mlir;
using namespace weir;
using namespace weir::shape;

/// The shape with `axes` reduced; nothing when one is outside.
static LogicalResult reducedShape(OptionalLocation loc, RankedTensorType type,
                                  ArrayRef<int64_t> axes, bool keepDims, Sizes &shape) {
  for (int64_t axis : axes)
    if (axis < 0 || axis >= type.getRank())
      return emitOptionalError(loc, "axis ", axis, " of ", type.getRank(), " dimensions");
  for (auto [i, size] : llvm::enumerate(type.getShape())) {
    if (!llvm::is_contained(axes, (int64_t)i))
      shape.push_back(size);
    else if (keepDims)
      shape.push_back(1);
  }
  return success();
}

static LogicalResult reifyReduced(ElementReader &r, Value operand, ArrayRef<int64_t> axes,
                                  bool keepDims, SmallVectorImpl<Value> &dims) {
  for (int64_t i = 0; i < ranked(operand).getRank(); ++i) {
    if (!llvm::is_contained(axes, i))
      dims.push_back(r.dim(operand, i));
    else if (keepDims)
      dims.push_back(r.constant(1));
  }
  return success();
}

/// Operand indices of a reduction, those of `axes` still null.
static SmallVector<Value> outerIndices(Value operand, ArrayRef<int64_t> axes, bool keepDims,
                                       ValueRange indices) {
  SmallVector<Value> own;
  size_t next = 0;
  for (int64_t i = 0; i < ranked(operand).getRank(); ++i) {
    bool isReduced = llvm::is_contained(axes, i);
    own.push_back(isReduced ? Value() : indices[next]);
    if (!isReduced || keepDims)
      ++next;
  }
  return own;
}

//===----------------------------------------------------------------------===//
// reduce
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *, OptionalLocation loc, Adaptor adaptor,
                                         Types &types) {
  Type element = elementOf(adaptor.getOperand());
  if (!symbolizeReduceKind(adaptor.getKindAttr().getValue()))
    return emitOptionalError(loc, "unknown kind of reduction '", adaptor.getKindAttr().getValue(),
                             "'");
  auto type = ranked(adaptor.getOperand());
  if (!type)
    return inferredUnranked(types, element);
  Sizes shape;
  if (failed(reducedShape(loc, type, adaptor.getAxes(), adaptor.getKeepDims(), shape)))
    return failure();
  return inferred(types, shape, element);
}

Value ReduceOp::emitElement(ElementReader &r, unsigned, ValueRange indices) {
  Type element = elementOf(getOperand()), wide = accumulatorType(element);
  ScalarBuilder s(r, *this, wide);
  SmallVector<int64_t> axes(getAxes());
  llvm::sort(axes);
  axes.erase(llvm::unique(axes), axes.end());
  SmallVector<Value> own = outerIndices(getOperand(), axes, getKeepDims(), indices);
  SmallVector<Value> sizes;
  for (int64_t axis : axes)
    sizes.push_back(r.dim(getOperand(), axis));
  Value total = emitSums(r, sizes, reductionStart(r, wide, getKind()), isFloatSum(wide, getKind()),
                         [&](ValueRange place, Value carried) {
                           SmallVector<Value> at = own;
                           for (auto [axis, index] : llvm::zip(axes, place))
                             at[axis] = index;
                           Value next = s.cast(r.element(getOperand(), at), element, wide, false);
                           return reductionStep(r, s, getKind(), carried, next);
                         });
  if (getKind() == ReduceKind::Mean) {
    Value count = product(r, sizes);
    if (isa<IntegerType>(element)) // none: the sum is 0 whatever divides it
      count = r.maximum(count, r.constant(1));
    total = s.div(total, indexTo(r, *this, count, wide));
  }
  return s.cast(total, wide, element, false);
}

LogicalResult ReduceOp::reifyShape(ElementReader &r, unsigned, SmallVectorImpl<Value> &dims) {
  return reifyReduced(r, getOperand(), getAxes(), getKeepDims(), dims);
}

int64_t ReduceOp::getFlops() {
  auto type = ranked(getOperand());
  return type && type.hasStaticShape() ? type.getNumElements() : -1;
}

//===----------------------------------------------------------------------===//
// arg_reduce
//===----------------------------------------------------------------------===//

LogicalResult ArgReduceOp::inferReturnTypes(MLIRContext *, OptionalLocation loc, Adaptor adaptor,
                                            Types &types) {
  auto type = ranked(adaptor.getOperand());
  if (!type)
    return inferredUnranked(types, adaptor.getIndexType());
  Sizes shape;
  int64_t axis = adaptor.getAxis();
  if (failed(reducedShape(loc, type, axis, adaptor.getKeepDims(), shape)))
    return failure();
  return inferred(types, shape, adaptor.getIndexType());
}

/// Has the run refuse an empty axis, and not the compiler: in a branch that is not taken it is no
/// fault.
static void requireExtreme(ElementReader &r, ArgReduceOp op) {
  r.require(op, r.less(r.constant(0), r.dim(op.getOperand(), op.getAxis())),
            "the axis is empty: no element is the extreme", WEIR_INVALID_ARGUMENT);
}

Value ArgReduceOp::emitElement(ElementReader &r, unsigned, ValueRange indices) {
  Type element = elementOf(getOperand()), wide = accumulatorType(element);
  ScalarBuilder s(r, *this, wide);
  int64_t axis = getAxis();
  if (ranked(getOperand()).getDimSize(axis) == 0)
    requireExtreme(r, *this);
  SmallVector<Value> own = outerIndices(getOperand(), axis, getKeepDims(), indices);
  // First the extreme, then where it lies: two reductions that vectorise, where
  // one that carries both does not. NaN is beyond every number, and equal to NaN.
  Value size = r.dim(getOperand(), axis);
  ReduceKind kind = getLargest() ? ReduceKind::Max : ReduceKind::Min;
  auto read = [&](ValueRange place) {
    SmallVector<Value> at = own;
    at[axis] = place[0];
    return s.cast(r.element(getOperand(), at), element, wide, false);
  };
  Value best = emitReductionLoops(r, {size}, reductionStart(r, wide, kind),
                                  [&](ValueRange place, Value carried) {
                                    return reductionStep(r, s, kind, carried, read(place));
                                  });
  bool last = getSelectLast();
  Value start = last ? r.constant(0) : r.sub(size, r.constant(1));
  Value index = emitReductionLoops(r, {size}, start, [&](ValueRange place, Value carried) {
    Value next = read(place), same = s.compare("eq", next, best);
    if (s.isFloat(next))
      same = s.op<arith::OrIOp>(same, s.op<arith::AndIOp>(s.isNan(next), s.isNan(best)));
    Value found = r.select(same, place[0], start);
    return last ? r.maximum(carried, found) : r.minimum(carried, found);
  });
  return indexTo(r, *this, index, getIndexType());
}

LogicalResult ArgReduceOp::reifyShape(ElementReader &r, unsigned, SmallVectorImpl<Value> &dims) {
  int64_t axis = getAxis();
  if (ranked(getOperand()).isDynamicDim(axis))
    requireExtreme(r, *this);
  return reifyReduced(r, getOperand(), axis, getKeepDims(), dims);
}

int64_t ArgReduceOp::getFlops() {
  auto type = ranked(getOperand());
  return type && type.hasStaticShape() ? type.getNumElements() : -1;
}

//===----------------------------------------------------------------------===//
// cumulative
//===----------------------------------------------------------------------===//

LogicalResult CumulativeOp::inferReturnTypes(MLIRContext *, OptionalLocation loc, Adaptor adaptor,
                                             Types &types) {
  StringRef kind = adaptor.getKindAttr().getValue();
  if (std::optional<ReduceKind> known = symbolizeReduceKind(kind); !known || !combines(*known))
    return emitOptionalError(loc, "unknown kind of running reduction '", kind, "'");
  auto type = ranked(adaptor.getOperand());
  int64_t axis = adaptor.getAxis();
  if (type && (axis < 0 || axis >= type.getRank()))
    return emitOptionalError(loc, "axis ", axis, " of ", type.getRank(), " dimensions");
  types.push_back(adaptor.getOperand().getType());
  return success();
}

Value CumulativeOp::emitElement(ElementReader &r, unsigned, ValueRange indices) {
  Type element = elementOf(getOperand()), wide = accumulatorType(element);
  ScalarBuilder s(r, *this, wide);
  int64_t axis = getAxis();
  Value index = indices[axis];
  Value last = r.sub(r.dim(getOperand(), axis), r.constant(1));
  Value count = getReverse() ? r.sub(last, index) : index;
  if (!getExclusive())
    count = r.add(count, r.constant(1));
  // Not reassociated: a kernel that carries the sum along gives the same bits.
  Value total = emitReductionLoops(
      r, {count}, reductionStart(r, wide, getKind()), [&](ValueRange place, Value carried) {
        SmallVector<Value> at(indices);
        at[axis] = getReverse() ? r.sub(last, place[0]) : place[0];
        Value next = s.cast(r.element(getOperand(), at), element, wide, false);
        return reductionStep(r, s, getKind(), carried, next,
                             /*reassociate=*/false);
      });
  return s.cast(total, wide, element, false);
}

LogicalResult CumulativeOp::reifyShape(ElementReader &r, unsigned, SmallVectorImpl<Value> &dims) {
  return dimsOf(r, getOperand(), dims);
}

int64_t CumulativeOp::getFlops() { return weir::detail::elementCountOfResults(*this); }
