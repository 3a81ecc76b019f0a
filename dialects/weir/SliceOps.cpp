//===- SliceOps.cpp - slice, pad, concat ----------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "dialects/weir/ShapeSupport.h"
#include "dialects/weir/SliceBounds.h"
#include "dialects/weir/SlicePlaces.h"
#include "weir/weir.h"

using namespace mlir;
using namespace weir;
using namespace weir::shape;

//===----------------------------------------------------------------------===//
// slice
//===----------------------------------------------------------------------===//

LogicalResult SliceOp::inferReturnTypes(MLIRContext *, OptionalLocation loc, Adaptor adaptor,
                                        Types &types) {
  auto type = ranked(adaptor.getOperand());
  Type element = elementOf(adaptor.getOperand());
  if (!type)
    return inferredUnranked(types, element);
  ArrayRef<int64_t> axes = adaptor.getAxes();
  Sizes shape(type.getShape());
  int64_t count = axes.size();
  auto parameter = [&](Value operand) { return entries(operand).value_or(Sizes(count, unknown)); };
  Sizes starts = parameter(adaptor.getStarts()), ends = parameter(adaptor.getEnds()),
        steps = parameter(adaptor.getSteps());
  for (const Sizes *list : {&starts, &ends, &steps})
    if ((int64_t)list->size() != count)
      return emitOptionalError(loc, "slice of ", count, " axes has ", list->size(),
                               " entries for bounds or steps");
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (axis < 0 || axis >= type.getRank())
      return emitOptionalError(loc, "axis ", axis, " of ", type.getRank(), " dimensions");
    int64_t size = shape[axis], start = starts[i], end = ends[i], step = steps[i];
    if (step == 0)
      return emitOptionalError(loc, "slice has step 0 along axis ", axis);
    bool known = isKnown(start) && isKnown(end) && isKnown(step);
    if (adaptor.getStrict() && isKnown(size))
      for (int64_t bound : {start, end})
        if (isKnown(bound) && (bound < 0 || bound > size))
          return emitOptionalError(loc, "slice bound ", bound, " is outside of [0, ", size,
                                   "] along axis ", axis);
    if (known && isKnown(size))
      shape[axis] = clampSlice(start, end, step, size).count;
    else if (known && adaptor.getStrict() && step > 0 && start >= 0 && end >= 0)
      shape[axis] = clampSlice(start, end, step, INT64_MAX).count;
    else if (known && step > 0 && end <= start && (end < 0) == (start < 0))
      shape[axis] = 0;
    else
      shape[axis] = unknown;
  }
  return inferred(types, shape, element);
}

/// A bound, counted from the end where it is negative, in [low, high].
static Value clampBound(ElementReader &r, Value bound, Value size, Value low, Value high) {
  APInt constant;
  Value shifted;
  if (matchPattern(bound, m_ConstantInt(&constant)))
    shifted = constant.isNegative() ? r.add(bound, size) : bound;
  else
    shifted = r.select(r.less(bound, r.constant(0)), r.add(bound, size), bound);
  return r.minimum(r.maximum(shifted, low), high);
}

/// First index and number of elements of a slice along its axis `i`.
static std::pair<Value, Value> sliceBounds(SliceOp op, ElementReader &r, int64_t i, bool check) {
  Value size = r.dim(op.getOperand(), op.getAxes()[i]);
  Value start = entry(r, op.getStarts(), i), end = entry(r, op.getEnds(), i),
        step = entry(r, op.getSteps(), i);
  Value zero = r.constant(0), one = r.constant(1), minusOne = r.constant(-1);
  APInt a, b, c, d;
  if (matchPattern(start, m_ConstantInt(&a)) && matchPattern(end, m_ConstantInt(&b)) &&
      matchPattern(step, m_ConstantInt(&c)) && matchPattern(size, m_ConstantInt(&d)) &&
      !c.isZero()) {
    SliceBounds bounds =
        clampSlice(a.getSExtValue(), b.getSExtValue(), c.getSExtValue(), d.getSExtValue());
    return {r.constant(bounds.start), r.constant(bounds.count)};
  }
  if (check && !matchPattern(step, m_ConstantInt(&c)))
    r.require(op, r.b.createOrFold<arith::CmpIOp>(r.loc, arith::CmpIPredicate::ne, step, zero),
              "slice has step 0", WEIR_INVALID_ARGUMENT);
  if (check && op.getStrict())
    for (Value bound : {start, end}) {
      Value ok = r.b.createOrFold<arith::CmpIOp>(r.loc, arith::CmpIPredicate::ule, bound, size);
      r.require(op, ok, "slice bound {0} is outside of [0, {1}]", WEIR_INVALID_ARGUMENT, bound,
                size);
    }
  Value forward = r.less(zero, step);
  Value low = r.select(forward, zero, minusOne);
  Value high = r.select(forward, size, r.sub(size, one));
  start = clampBound(r, start, size, low, high);
  end = clampBound(r, end, size, low, high);
  Value span = r.select(forward, r.sub(end, start), r.sub(start, end));
  span = r.maximum(span, zero);
  // A step of 0 was reported: any divisor will do.
  Value stride = r.maximum(r.select(forward, step, r.sub(zero, step)), one);
  Value count = ceilDivide(r, span, stride);
  return {start, count};
}

Value weir::sliceStart(SliceOp slice, ElementReader &r, int64_t i) {
  return sliceBounds(slice, r, i, /*check=*/false).first;
}

Value SliceOp::emitElement(ElementReader &r, unsigned, ValueRange indices) {
  SmallVector<Value> own(indices);
  for (auto [i, axis] : llvm::enumerate(getAxes())) {
    Value start = sliceStart(*this, r, i);
    own[axis] = r.add(start, r.mul(indices[axis], entry(r, getSteps(), i)));
  }
  return r.element(getOperand(), own);
}

LogicalResult SliceOp::reifyShape(ElementReader &r, unsigned, SmallVectorImpl<Value> &dims) {
  dims.assign(r.dims(getOperand()));
  for (auto [i, axis] : llvm::enumerate(getAxes()))
    dims[axis] = sliceBounds(*this, r, i, true).second;
  for (auto [dim, size] : llvm::zip(dims, ranked(getResult()).getShape()))
    if (isKnown(size))
      dim = r.constant(size);
  return success();
}

//===----------------------------------------------------------------------===//
// pad
//===----------------------------------------------------------------------===//

LogicalResult PadOp::inferReturnTypes(MLIRContext *, OptionalLocation loc, Adaptor adaptor,
                                      Types &types) {
  auto type = ranked(adaptor.getOperand());
  Type element = elementOf(adaptor.getOperand());
  if (!type)
    return inferredUnranked(types, element);
  int64_t rank = type.getRank();
  Sizes pads = entries(adaptor.getPads()).value_or(Sizes(2 * rank, unknown));
  if ((int64_t)pads.size() != 2 * rank)
    return emitOptionalError(loc, pads.size(), " pads for ", rank, " dimensions");
  PadMode mode = adaptor.getMode();
  Sizes shape;
  for (auto [i, size] : llvm::enumerate(type.getShape())) {
    int64_t before = pads[i], after = pads[rank + i];
    if (!isKnown(before) || !isKnown(after)) {
      shape.push_back(unknown);
      continue;
    }
    shape.push_back(isKnown(size) || (before == 0 && after == 0) ? size : unknown);
    if (!isKnown(size))
      continue;
    int64_t result = size + before + after;
    if (result < 0)
      return emitOptionalError(loc, "pads ", before, " and ", after, " crop dimension ", i,
                               " of size ", size, " to less than nothing");
    if (size == 0 && result > 0 && mode != PadMode::Constant)
      return emitOptionalError(loc, "dimension ", i, " is empty: nothing to pad with");
    shape.back() = result;
  }
  return inferred(types, shape, element);
}

Value shape::mirroredIndex(ElementReader &r, PadMode mode, Value index, Value size) {
  Value zero = r.constant(0), one = r.constant(1);
  if (mode == PadMode::Edge)
    return r.minimum(r.maximum(index, zero), r.sub(size, one));
  if (mode == PadMode::Wrap)
    return positiveRemainder(r, index, r.maximum(size, one));
  Value last = r.sub(size, one);
  if (mode == PadMode::Symmetric) {
    Value period = r.maximum(r.mul(size, r.constant(2)), one);
    Value place = positiveRemainder(r, index, period);
    return r.minimum(place, r.sub(r.sub(period, one), place));
  }
  // reflect; a single element is its own reflection
  Value period = r.maximum(r.mul(last, r.constant(2)), one);
  Value place = positiveRemainder(r, index, period);
  return r.minimum(place, r.sub(period, place));
}

Value PadOp::emitElement(ElementReader &r, unsigned, ValueRange indices) {
  auto type = ranked(getOperand());
  int64_t rank = type.getRank();
  Sizes pads = entries(getPads()).value_or(Sizes(2 * rank, unknown));
  bool isConstant = getMode() == PadMode::Constant;
  SmallVector<Value> own;
  Value inside;
  for (int64_t i = 0; i < rank; ++i) {
    Value index = indices[i];
    if (pads[i] != 0)
      index = r.sub(index, entry(r, getPads(), i));
    bool mayBeOutside =
        !isKnown(pads[i]) || !isKnown(pads[rank + i]) || pads[i] > 0 || pads[rank + i] > 0;
    if (mayBeOutside && !isConstant) {
      index = mirroredIndex(r, getMode(), index, r.dim(getOperand(), i));
    } else if (mayBeOutside) {
      // One unsigned comparison tests both ends.
      Value ok = r.b.createOrFold<arith::CmpIOp>(r.loc, arith::CmpIPredicate::ult, index,
                                                 r.dim(getOperand(), i));
      inside = inside ? r.logicalAnd(inside, ok) : ok;
    }
    own.push_back(index);
  }
  if (!inside)
    return r.element(getOperand(), own);
  auto fill = [&] {
    SmallVector<Value> zeros(ranked(getValue()).getRank(), r.constant(0));
    return r.element(getValue(), zeros);
  };
  return emitIf(r, inside, [&] { return r.element(getOperand(), own); }, fill);
}

LogicalResult PadOp::reifyShape(ElementReader &r, unsigned, SmallVectorImpl<Value> &dims) {
  auto resultType = ranked(getResult());
  int64_t rank = resultType.getRank();
  Value zero = r.constant(0);
  requireEntries(r, *this, getPads(), 2 * rank);
  for (int64_t i = 0; i < rank; ++i) {
    if (!resultType.isDynamicDim(i)) {
      dims.push_back(r.constant(resultType.getDimSize(i)));
      continue;
    }
    Value size = r.dim(getOperand(), i);
    // More than any memory holds, and so little that sums stay numbers.
    constexpr int64_t most = int64_t(1) << 60;
    Value result = size;
    for (int64_t k : {i, rank + i}) {
      Value pad = entry(r, getPads(), k);
      Value ok = r.logicalAnd(r.less(r.constant(-most), pad), r.less(pad, r.constant(most)));
      if (!matchPattern(ok, m_One()))
        r.require(*this, ok, "a dimension of size {0} is padded by {1}", WEIR_INVALID_ARGUMENT,
                  size, pad);
      result = r.add(result, pad);
    }
    r.require(*this, r.less(r.constant(-1), result), "pads crop a dimension of size {0} to {1}",
              WEIR_INVALID_ARGUMENT, size, result);
    result = r.maximum(result, zero);
    if (getMode() != PadMode::Constant) {
      Value ok = r.b.createOrFold<arith::OrIOp>(r.loc, r.less(zero, size), r.equal(result, zero));
      r.require(*this, ok, "an empty dimension cannot be padded to {0} out of itself",
                WEIR_INVALID_ARGUMENT, result);
      result = r.select(ok, result, zero);
    }
    dims.push_back(result);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// concat
//===----------------------------------------------------------------------===//

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *, OptionalLocation loc, Adaptor adaptor,
                                         Types &types) {
  if (adaptor.getInputs().empty())
    return emitOptionalError(loc, "concat of nothing");
  Type element = elementOf(adaptor.getInputs()[0]);
  int64_t axis = adaptor.getAxis();
  Sizes shape;
  int64_t sum = 0;
  bool first = true, open = false;
  for (Value input : adaptor.getInputs()) {
    if (elementOf(input) != element)
      return emitOptionalError(loc, "concat of element types ", element, " and ", elementOf(input));
    auto type = ranked(input);
    if (!type) {
      open = true;
      continue;
    }
    if (axis < 0 || axis >= type.getRank())
      return emitOptionalError(loc, "axis ", axis, " of ", type.getRank(), " dimensions");
    if (first) {
      shape.assign(type.getShape().begin(), type.getShape().end());
      first = false;
    }
    if (type.getRank() != (int64_t)shape.size())
      return emitOptionalError(loc, "concat of ", shape.size(), " and ", type.getRank(),
                               " dimensions");
    for (auto [i, size] : llvm::enumerate(type.getShape())) {
      if ((int64_t)i == axis)
        continue;
      auto merged = mergeSizes(shape[i], size);
      if (!merged)
        return emitOptionalError(loc, "concat along axis ", axis,
                                 " of sizes that differ in dimension ", i, ": ", shape[i], " and ",
                                 size);
      shape[i] = *merged;
    }
    int64_t size = type.getDimSize(axis);
    open |= !isKnown(size);
    if (isKnown(size) && llvm::AddOverflow(sum, size, sum))
      return emitOptionalError(loc, "concat along axis ", axis, " of more than 2^63 elements");
  }
  if (first)
    return inferredUnranked(types, element);
  shape[axis] = open ? unknown : sum;
  return inferred(types, shape, element);
}

Value ConcatOp::emitElement(ElementReader &r, unsigned, ValueRange indices) {
  int64_t axis = getAxis();
  SmallVector<Value> starts{r.constant(0)};
  for (Value input : getInputs().drop_back())
    starts.push_back(r.add(starts.back(), r.dim(input, axis)));
  auto read = [&](size_t i) {
    SmallVector<Value> own(indices);
    own[axis] = r.sub(indices[axis], starts[i]);
    return r.element(getInputs()[i], own);
  };
  std::function<Value(size_t)> from = [&](size_t i) -> Value {
    if (i + 1 == getInputs().size())
      return read(i);
    return emitIf(
        r, r.less(indices[axis], starts[i + 1]), [&] { return read(i); },
        [&] { return from(i + 1); });
  };
  return from(0);
}

LogicalResult ConcatOp::reifyShape(ElementReader &r, unsigned, SmallVectorImpl<Value> &dims) {
  dims = staticDims(r, getResult());
  for (int64_t i = 0; i < (int64_t)dims.size(); ++i) {
    if (i == (int64_t)getAxis()) {
      if (dims[i])
        continue;
      dims[i] = r.constant(0);
      for (Value input : getInputs())
        dims[i] = r.add(dims[i], r.dim(input, i));
      continue;
    }
    for (Value input : getInputs()) {
      if (!dims[i])
        dims[i] = r.dim(input, i);
      else if (ranked(input).isDynamicDim(i))
        requireEqual(r, *this, r.dim(input, i), dims[i], "concat of sizes {0} and {1}");
    }
  }
  return success();
}
