//===- SequenceOps.cpp - iota, range, bitcast, data-dependent sizes -------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/ConstantEvaluator.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/ShapeSupport.h"
#include "weir/weir.h"

using namespace mlir;
using namespace weir;
using namespace weir::shape;

//===----------------------------------------------------------------------===//
// iota
//===----------------------------------------------------------------------===//

LogicalResult IotaOp::inferReturnTypes(MLIRContext *, OptionalLocation loc, Adaptor adaptor,
                                       Types &types) {
  auto shape = entries(adaptor.getShape());
  if (!shape)
    return inferredUnranked(types, adaptor.getElementType());
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= (int64_t)shape->size())
    return emitOptionalError(loc, "axis ", axis, " of ", shape->size(), " dimensions");
  for (auto [i, size] : llvm::enumerate(*shape))
    if (isKnown(size) && size < 0)
      return emitOptionalError(loc, "shape has a negative size ", size, " for dimension ", i);
  return inferred(types, *shape, adaptor.getElementType());
}

Value IotaOp::emitElement(ElementReader &r, unsigned, ValueRange indices) {
  return indexTo(r, *this, indices[getAxis()], getElementType());
}

LogicalResult IotaOp::reifyShape(ElementReader &r, unsigned, SmallVectorImpl<Value> &dims) {
  dims = staticDims(r, getResult());
  requireEntries(r, *this, getShape(), dims.size());
  for (auto [i, dim] : llvm::enumerate(dims)) {
    if (dim)
      continue;
    dim = entry(r, getShape(), i);
    r.require(*this, r.less(r.constant(-1), dim), "shape has a negative size {0}",
              WEIR_INVALID_ARGUMENT, dim);
    dim = r.maximum(dim, r.constant(0));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// range
//===----------------------------------------------------------------------===//

/// The value of a constant with one floating-point element.
static std::optional<APFloat> constantFloat(Value scalar) {
  auto constant = scalar.getDefiningOp<ConstantOp>();
  auto elements =
      constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue()) : DenseFPElementsAttr();
  if (!elements || elements.getNumElements() != 1)
    return std::nullopt;
  return *elements.value_begin<APFloat>();
}

LogicalResult RangeOp::inferReturnTypes(MLIRContext *, OptionalLocation loc, Adaptor adaptor,
                                        Types &types) {
  Type element = elementOf(adaptor.getStart());
  if (elementOf(adaptor.getLimit()) != element || elementOf(adaptor.getDelta()) != element)
    return emitOptionalError(loc, "range of different element types: ", element, ", ",
                             elementOf(adaptor.getLimit()), ", ", elementOf(adaptor.getDelta()));
  int64_t count = unknown;
  if (isa<IntegerType>(element)) {
    auto single = [](Value v) {
      auto list = entries(v);
      return list && list->size() == 1 ? list->front() : unknown;
    };
    int64_t start = single(adaptor.getStart()), limit = single(adaptor.getLimit()),
            delta = single(adaptor.getDelta());
    if (delta == 0)
      return emitOptionalError(loc, "range with step 0");
    if (isKnown(start) && isKnown(limit) && isKnown(delta)) {
      int64_t span;
      if (!__builtin_sub_overflow(limit, start, &span))
        count =
            std::max<int64_t>(0, span / delta + (span % delta != 0 && (span < 0) == (delta < 0)));
    }
  } else if (auto floatType = dyn_cast<FloatType>(element)) {
    auto start = constantFloat(adaptor.getStart()), limit = constantFloat(adaptor.getLimit()),
         delta = constantFloat(adaptor.getDelta());
    if (delta && delta->isZero())
      return emitOptionalError(loc, "range with step 0");
    if (start && limit && delta) {
      // As the code does: in the type itself, narrow ones in f32.
      bool lost;
      for (auto *value : {&*start, &*limit, &*delta})
        if (floatType.getWidth() < 32)
          value->convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &lost);
      APFloat steps = *limit;
      steps.subtract(*start, APFloat::rmNearestTiesToEven);
      steps.divide(*delta, APFloat::rmNearestTiesToEven);
      steps.roundToIntegral(APFloat::rmTowardPositive);
      APSInt integer(64, /*isUnsigned=*/false);
      bool exact;
      if (steps.convertToInteger(integer, APFloat::rmTowardZero, &exact) != APFloat::opInvalidOp)
        count = std::max<int64_t>(0, integer.getExtValue());
    }
  } else {
    return emitOptionalError(loc, "range of element type ", element);
  }
  return inferred(types, {count}, element);
}

/// The single element of a scalar operand, floats in f32 or wider.
static Value scalarOperand(ElementReader &r, ScalarBuilder &s, Value operand) {
  SmallVector<Value> zeros(ranked(operand).getRank(), r.constant(0));
  Type element = elementOf(operand);
  return s.cast(r.element(operand, zeros), element, accumulatorType(element), false);
}

Value RangeOp::emitElement(ElementReader &r, unsigned, ValueRange indices) {
  Type element = elementOf(getStart()), wide = accumulatorType(element);
  ScalarBuilder s(r, *this, element);
  Value index = indexTo(r, *this, indices[0], wide);
  Value value =
      s.add(scalarOperand(r, s, getStart()), s.mul(index, scalarOperand(r, s, getDelta())));
  return s.cast(value, wide, element, false);
}

LogicalResult RangeOp::reifyShape(ElementReader &r, unsigned, SmallVectorImpl<Value> &dims) {
  auto type = ranked(getResult());
  if (type.hasStaticShape())
    return dimsOf(r, getResult(), dims);
  Type element = elementOf(getStart());
  ScalarBuilder s(r, *this, element);
  if (auto floatType = dyn_cast<FloatType>(element)) {
    Value start = scalarOperand(r, s, getStart()), limit = scalarOperand(r, s, getLimit()),
          delta = scalarOperand(r, s, getDelta());
    Value ok = s.compare("ne", delta, s.zero(delta));
    r.require(*this, ok, "range with step 0", WEIR_INVALID_ARGUMENT);
    Value steps = s.op<math::CeilOp>(s.div(s.sub(limit, start), s.select(ok, delta, s.one(delta))));
    // NaN counts as none; what no memory holds is cut where it still is a
    // number.
    Value some = s.compare("gt", steps, s.zero(steps));
    Value limitless = s.constant(steps, 0x1p62);
    Value bounded = s.select(s.compare("lt", steps, limitless), steps, limitless);
    Value count = arith::FPToSIOp::create(r.b, r.loc, r.b.getI64Type(),
                                          s.select(some, bounded, s.zero(steps)));
    dims.push_back(r.b.createOrFold<arith::IndexCastOp>(r.loc, r.b.getIndexType(), count));
    return success();
  }
  auto single = [&](Value v) { return entry(r, v, 0); };
  Value start = single(getStart()), limit = single(getLimit()), delta = single(getDelta());
  Value zero = r.constant(0), one = r.constant(1);
  Value ok = r.b.createOrFold<arith::CmpIOp>(r.loc, arith::CmpIPredicate::ne, delta, zero);
  if (!matchPattern(ok, m_One()))
    r.require(*this, ok, "range with step 0", WEIR_INVALID_ARGUMENT);
  Value forward = r.less(zero, delta);
  Value span = r.select(forward, r.sub(limit, start), r.sub(start, limit));
  // Far apart, the ends' difference is no number of 64 bits any more.
  Value isEmpty = r.select(forward, r.less(limit, start), r.less(start, limit));
  Value isSpan = r.b.createOrFold<arith::OrIOp>(r.loc, isEmpty, r.less(r.constant(-1), span));
  if (!matchPattern(isSpan, m_One()))
    r.require(*this, isSpan, "range from {0} to {1}: too many elements", WEIR_INVALID_ARGUMENT,
              start, limit);
  span = r.select(isEmpty, zero, span);
  Value stride = r.maximum(r.select(forward, delta, r.sub(zero, delta)), one);
  dims.push_back(ceilDivide(r, r.maximum(span, zero), stride));
  return success();
}

//===----------------------------------------------------------------------===//
// bitcast
//===----------------------------------------------------------------------===//

static unsigned bitWidth(Type element) {
  if (auto complexType = dyn_cast<ComplexType>(element))
    return 2 * complexType.getElementType().getIntOrFloatBitWidth();
  return element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
}

LogicalResult BitcastOp::verify() {
  Type from = elementOf(getOperand()), to = elementOf(getResult());
  unsigned a = bitWidth(from), b = bitWidth(to);
  if (!a || !b || (a != b && (a < 8 || b < 8 || (a % b && b % a))))
    return emitOpError("cannot turn elements of ") << from << " into " << to;
  auto type = ranked(getOperand()), resultType = ranked(getResult());
  if (!type || !resultType)
    return success();
  Sizes shape(type.getShape());
  if (a > b) {
    shape.push_back(a / b);
  } else if (a < b) {
    if (shape.empty() || (isKnown(shape.back()) && shape.back() != b / a))
      return emitOpError("the last dimension must hold ") << b / a << " elements";
    shape.pop_back();
  }
  if (failed(verifyCompatibleShape(shape, resultType.getShape())))
    return emitOpError("result must have shape ") << shapeText(shape);
  return success();
}

/// The bits of a scalar as an integer, and back.
static Value toBits(ElementReader &r, Value value, Type element) {
  if (isa<ComplexType>(element)) {
    Value re = complex::ReOp::create(r.b, r.loc, value),
          im = complex::ImOp::create(r.b, r.loc, value);
    unsigned half = re.getType().getIntOrFloatBitWidth();
    Type wide = r.b.getIntegerType(2 * half);
    Value low = toBits(r, re, re.getType()), high = toBits(r, im, im.getType());
    low = arith::ExtUIOp::create(r.b, r.loc, wide, low);
    high = arith::ExtUIOp::create(r.b, r.loc, wide, high);
    Value shift = arith::ConstantIntOp::create(r.b, r.loc, wide, half);
    return arith::OrIOp::create(r.b, r.loc, low, arith::ShLIOp::create(r.b, r.loc, high, shift));
  }
  if (!isa<FloatType>(element))
    return value;
  return arith::BitcastOp::create(r.b, r.loc, r.b.getIntegerType(bitWidth(element)), value);
}

static Value fromBits(ElementReader &r, Value bits, Type element) {
  if (auto complexType = dyn_cast<ComplexType>(element)) {
    Type part = complexType.getElementType();
    unsigned half = part.getIntOrFloatBitWidth();
    Type narrow = r.b.getIntegerType(half);
    Value shift = arith::ConstantIntOp::create(r.b, r.loc, bits.getType(), half);
    Value low = arith::TruncIOp::create(r.b, r.loc, narrow, bits);
    Value high = arith::TruncIOp::create(r.b, r.loc, narrow,
                                         arith::ShRUIOp::create(r.b, r.loc, bits, shift));
    return complex::CreateOp::create(r.b, r.loc, complexType, fromBits(r, low, part),
                                     fromBits(r, high, part));
  }
  if (!isa<FloatType>(element))
    return bits;
  return arith::BitcastOp::create(r.b, r.loc, element, bits);
}

Value BitcastOp::emitElement(ElementReader &r, unsigned, ValueRange indices) {
  Type from = elementOf(getOperand()), to = elementOf(getResult());
  unsigned a = bitWidth(from), b = bitWidth(to);
  auto read = [&](ValueRange own) { return toBits(r, r.element(getOperand(), own), from); };
  if (a == b) {
    if (computeType(from) == computeType(to))
      return r.element(getOperand(), indices);
    return fromBits(r, read(indices), to);
  }
  if (a > b) {
    Value bits = read(indices.drop_back());
    Value place = r.b.createOrFold<arith::IndexCastOp>(r.loc, bits.getType(),
                                                       r.mul(indices.back(), r.constant(b)));
    bits = arith::ShRUIOp::create(r.b, r.loc, bits, place);
    return fromBits(r, arith::TruncIOp::create(r.b, r.loc, r.b.getIntegerType(b), bits), to);
  }
  Type wide = r.b.getIntegerType(b);
  Value bits;
  for (unsigned k = 0; k < b / a; ++k) {
    SmallVector<Value> own(indices);
    own.push_back(r.constant(k));
    Value part = arith::ExtUIOp::create(r.b, r.loc, wide, read(own));
    if (k)
      part = arith::ShLIOp::create(r.b, r.loc, part,
                                   arith::ConstantIntOp::create(r.b, r.loc, wide, k * a));
    bits = bits ? Value(arith::OrIOp::create(r.b, r.loc, bits, part)) : part;
  }
  return fromBits(r, bits, to);
}

LogicalResult BitcastOp::reifyShape(ElementReader &r, unsigned, SmallVectorImpl<Value> &dims) {
  unsigned a = bitWidth(elementOf(getOperand())), b = bitWidth(elementOf(getResult()));
  dims.assign(r.dims(getOperand()));
  if (a > b)
    dims.push_back(r.constant(a / b));
  if (a < b) {
    requireEqual(r, *this, dims.back(), r.constant(b / a),
                 "the last dimension has size {0} where {1} elements make one");
    dims.pop_back();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Orders, and results whose size depends on data
//===----------------------------------------------------------------------===//

LogicalResult TopKOp::inferReturnTypes(MLIRContext *, OptionalLocation loc, Adaptor adaptor,
                                       Types &types) {
  auto type = ranked(adaptor.getOperand());
  Type element = elementOf(adaptor.getOperand()), index = adaptor.getIndexType();
  if (!type)
    return success(succeeded(inferredUnranked(types, element)) &&
                   succeeded(inferredUnranked(types, index)));
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= type.getRank())
    return emitOptionalError(loc, "axis ", axis, " of ", type.getRank(), " dimensions");
  auto k = entries(adaptor.getK());
  if (k && k->size() != 1)
    return emitOptionalError(loc, "k must be one number, found ", k->size());
  Sizes shape(type.getShape());
  int64_t count = k ? k->front() : unknown;
  if (isKnown(count) && (count < 0 || (isKnown(shape[axis]) && count > shape[axis])))
    return emitOptionalError(loc, "k is ", count, " along axis ", axis, " of size ",
                             shapeText(type.getShape().slice(axis, 1)));
  shape[axis] = count;
  (void)inferred(types, shape, element);
  return inferred(types, shape, index);
}

LogicalResult TopKOp::reifyShape(ElementReader &r, unsigned, SmallVectorImpl<Value> &dims) {
  dims.assign(r.dims(getOperand()));
  Value &size = dims[getAxis()];
  Value k = entry(r, getK(), 0);
  Value ok = r.b.createOrFold<arith::CmpIOp>(r.loc, arith::CmpIPredicate::ule, k, size);
  if (!matchPattern(ok, m_One()))
    r.require(*this, ok, "k is {0} along an axis of size {1}", WEIR_INVALID_ARGUMENT, k, size);
  size = matchPattern(ok, m_One()) ? k : r.maximum(r.minimum(k, size), r.constant(0));
  return success();
}

LogicalResult NonZeroOp::inferReturnTypes(MLIRContext *context, OptionalLocation, Adaptor adaptor,
                                          Types &types) {
  auto type = ranked(adaptor.getOperand());
  return inferred(types, {unknown, type ? type.getRank() : unknown}, IntegerType::get(context, 64));
}

LogicalResult UniqueOp::inferReturnTypes(MLIRContext *, OptionalLocation loc, Adaptor adaptor,
                                         Types &types) {
  auto type = ranked(adaptor.getOperand());
  Type element = elementOf(adaptor.getOperand()), index = adaptor.getIndexType();
  int64_t axis = adaptor.getAxis();
  int64_t count = unknown;
  if (axis < 0) {
    (void)inferred(types, {unknown}, element);
    if (type)
      count = sizeProduct(type.getShape());
  } else if (!type) {
    (void)inferredUnranked(types, element);
  } else {
    if (axis >= type.getRank())
      return emitOptionalError(loc, "axis ", axis, " of ", type.getRank(), " dimensions");
    Sizes shape(type.getShape());
    count = shape[axis];
    shape[axis] = unknown;
    (void)inferred(types, shape, element);
  }
  (void)inferred(types, {unknown}, index);
  (void)inferred(types, {count}, index);
  return inferred(types, {unknown}, index);
}

LogicalResult NonMaxSuppressionOp::inferReturnTypes(MLIRContext *context, OptionalLocation loc,
                                                    Adaptor adaptor, Types &types) {
  auto boxes = ranked(adaptor.getBoxes()), scores = ranked(adaptor.getScores());
  if (boxes && (boxes.getRank() != 3 || (boxes.getDimSize(2) != 4 && !boxes.isDynamicDim(2))))
    return emitOptionalError(loc, "boxes must have shape [batches, boxes, 4], found ",
                             shapeText(boxes.getShape()));
  if (scores && scores.getRank() != 3)
    return emitOptionalError(loc, "scores must have shape [batches, classes, boxes], found ",
                             shapeText(scores.getShape()));
  if (boxes && scores &&
      (!mergeSizes(boxes.getDimSize(0), scores.getDimSize(0)) ||
       !mergeSizes(boxes.getDimSize(1), scores.getDimSize(2))))
    return emitOptionalError(loc, "boxes ", shapeText(boxes.getShape()), " and scores ",
                             shapeText(scores.getShape()), " do not belong together");
  return inferred(types, {unknown, 3}, IntegerType::get(context, 64));
}
