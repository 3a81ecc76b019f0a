//===- Composites.cpp - softmax, normalisations, attention ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Exponentials.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/ShapeSupport.h"

using namespace mlir;
using namespace weir;
using namespace weir::shape;

namespace {

/// Short ways to write operations at a location; constants fold on the way.
struct Writer {
  OpBuilder &b;
  Location loc;

  template <typename OpT, typename... Args> Value op(Args &&...args) {
    return b.createOrFold<OpT>(loc, std::forward<Args>(args)...);
  }
  Value constant(TypedAttr value) { return ConstantOp::create(b, loc, value); }
  Value ints(ArrayRef<int64_t> values) {
    return constant(DenseElementsAttr::get(
        RankedTensorType::get({(int64_t)values.size()}, b.getI64Type()), values));
  }
  Value scalar(Type element, double value) {
    return constant(DenseElementsAttr::get(RankedTensorType::get({}, element),
                                           Attribute(b.getFloatAttr(element, value))));
  }
  Value cast(Value v, Type element) {
    if (elementOf(v) == element)
      return v;
    Type type = cast_type(v, element);
    return op<CastOp>(type, v, b.getBoolAttr(false));
  }
  static Type cast_type(Value v, Type element) {
    if (auto type = ranked(v))
      return type.clone(element);
    return UnrankedTensorType::get(element);
  }
  Value reduce(Value v, ReduceKind kind, ArrayRef<int64_t> axes, bool keep = true) {
    return op<ReduceOp>(v, kind, axes, keep);
  }
  Value reshape(Value v, Value shape) { return op<ReshapeOp>(v, shape); }
  /// Sizes [begin, end) of a tensor's dimensions.
  Value sizes(Value v, int64_t begin, int64_t end) {
    ArrayRef<int64_t> shape = ranked(v).getShape().slice(begin, end - begin);
    if (llvm::none_of(shape, ShapedType::isDynamic))
      return ints(shape);
    Value all = op<ShapeOfOp>(v, TypeAttr::get(b.getI64Type()));
    return op<SliceOp>(all, ints({begin}), ints({end}), ints({1}), ArrayRef<int64_t>{0}, false);
  }
  /// Their product, one element.
  Value sizeOf(Value v, int64_t begin, int64_t end) {
    return reduce(sizes(v, begin, end), ReduceKind::Prod, {0});
  }
  Value concat(ArrayRef<Value> parts) { return op<ConcatOp>(ValueRange(parts), 0); }
};

/// f32 for narrower floats: what statistics are made in.
Type wideType(Value v) { return accumulatorType(elementOf(v)); }

Value softmax(Writer &w, Value x, int64_t axis, bool log) {
  Value shifted = w.op<SubOp>(x, w.reduce(x, ReduceKind::Max, axis));
  Value exponentials = w.op<ExpOp>(shifted);
  if (Operation *made = exponentials.getDefiningOp())
    made->setAttr(ofSoftmaxAttribute, w.b.getUnitAttr());
  Value sum = w.reduce(exponentials, ReduceKind::Sum, axis);
  if (log)
    return w.op<SubOp>(shifted, w.op<LogOp>(sum));
  // One quotient for each sum, which is neither zero nor large: none is an infinity, or
  // lost, that would not be so in quotients of each element.
  Value inverse = w.op<DivOp>(w.scalar(elementOf(x), 1), sum);
  return w.op<MulOp>(exponentials, inverse);
}

LogicalResult checkAxis(OptionalLocation loc, Value operand, int64_t axis) {
  auto type = ranked(operand);
  if (type && (axis < 0 || axis >= type.getRank()))
    return emitOptionalError(loc, "axis ", axis, " of ", type.getRank(), " dimensions");
  return success();
}

int64_t elementCount(Value v) {
  auto type = ranked(v);
  return type && type.hasStaticShape() ? type.getNumElements() : -1;
}
int64_t flopsOf(Value v, int64_t each) {
  int64_t count = elementCount(v);
  return count < 0 ? -1 : each * count;
}

} // namespace

//===----------------------------------------------------------------------===//
// softmax
//===----------------------------------------------------------------------===//

LogicalResult SoftmaxOp::inferReturnTypes(MLIRContext *, OptionalLocation loc, Adaptor adaptor,
                                          Types &types) {
  types.push_back(adaptor.getOperand().getType());
  return checkAxis(loc, adaptor.getOperand(), adaptor.getAxis());
}
FailureOr<SmallVector<Value>> SoftmaxOp::decompose(OpBuilder &builder) {
  Writer w{builder, getLoc()};
  Value x = w.cast(getOperand(), wideType(getOperand()));
  return SmallVector<Value>{w.cast(softmax(w, x, getAxis(), getLog()), elementOf(getOperand()))};
}
LogicalResult SoftmaxOp::reifyShape(ElementReader &r, unsigned, SmallVectorImpl<Value> &dims) {
  return dimsOf(r, getOperand(), dims);
}
int64_t SoftmaxOp::getFlops() { return flopsOf(getResult(), 5); }

//===----------------------------------------------------------------------===//
// layer_norm
//===----------------------------------------------------------------------===//

LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *, OptionalLocation loc, Adaptor adaptor,
                                            Types &types) {
  types.push_back(adaptor.getOperand().getType());
  SmallVector<Type> broadcast;
  if (failed(weir::detail::inferBroadcast(
          loc, {adaptor.getOperand(), adaptor.getScale(), adaptor.getBias()}, Type(), broadcast)))
    return failure();
  return checkAxis(loc, adaptor.getOperand(), adaptor.getAxis());
}
FailureOr<SmallVector<Value>> LayerNormOp::decompose(OpBuilder &builder) {
  auto type = ranked(getOperand());
  if (!type)
    return failure();
  Writer w{builder, getLoc()};
  Type wide = wideType(getOperand());
  Value x = w.cast(getOperand(), wide);
  auto axes = llvm::to_vector(llvm::seq<int64_t>(getAxis(), type.getRank()));
  Value centred = w.op<SubOp>(x, w.reduce(x, ReduceKind::Mean, axes));
  Value variance = w.reduce(w.op<MulOp>(centred, centred), ReduceKind::Mean, axes);
  Value deviation =
      w.op<SqrtOp>(w.op<AddOp>(variance, w.scalar(wide, getEpsilon().convertToDouble())));
  // One quotient a line, as ONNX defines it (LayerNormalization).
  Value inverse = w.op<DivOp>(w.scalar(wide, 1), deviation);
  Value y = w.op<MulOp>(w.op<MulOp>(centred, inverse), w.cast(getScale(), wide));
  y = w.op<AddOp>(y, w.cast(getBias(), wide));
  return SmallVector<Value>{w.cast(y, type.getElementType())};
}
LogicalResult LayerNormOp::reifyShape(ElementReader &r, unsigned, SmallVectorImpl<Value> &dims) {
  return dimsOf(r, getOperand(), dims);
}
int64_t LayerNormOp::getFlops() { return flopsOf(getResult(), 8); }

//===----------------------------------------------------------------------===//
// batch_norm
//===----------------------------------------------------------------------===//

LogicalResult BatchNormOp::inferReturnTypes(MLIRContext *, OptionalLocation loc, Adaptor adaptor,
                                            Types &types) {
  Value operand = adaptor.getOperand();
  auto type = ranked(operand);
  if (failed(checkAxis(loc, operand, adaptor.getAxis())))
    return failure();
  Sizes shape;
  if (type)
    shape.assign(type.getShape().begin(), type.getShape().end());
  for (Value vector :
       {adaptor.getScale(), adaptor.getBias(), adaptor.getMean(), adaptor.getVariance()}) {
    auto vectorType = ranked(vector);
    if (!vectorType || !type)
      continue;
    if (vectorType.getRank() != 1)
      return emitOptionalError(loc, "statistics must have one dimension, found ",
                               shapeText(vectorType.getShape()));
    auto merged = mergeSizes(shape[adaptor.getAxis()], vectorType.getDimSize(0));
    if (!merged)
      return emitOptionalError(loc, "statistics of ", vectorType.getDimSize(0),
                               " channels for an operand with ", shape[adaptor.getAxis()]);
    shape[adaptor.getAxis()] = *merged;
  }
  if (!type)
    return inferredUnranked(types, elementOf(operand));
  return inferred(types, shape, type.getElementType());
}
FailureOr<SmallVector<Value>> BatchNormOp::decompose(OpBuilder &builder) {
  auto type = ranked(getOperand());
  if (!type)
    return failure();
  Writer w{builder, getLoc()};
  Type wide = wideType(getOperand());
  // [channels, 1, …]: broadcasts against the operand.
  SmallVector<int64_t> column(type.getRank() - getAxis(), 1);
  column[0] = -1;
  auto vector = [&](Value v) {
    if (column.size() == 1)
      return v;
    if (ranked(v).hasStaticShape())
      column[0] = ranked(v).getDimSize(0);
    return w.reshape(v, w.ints(column));
  };
  // On the vectors, so that constants fold before they are spread.
  Value deviation = w.op<SqrtOp>(
      w.op<AddOp>(w.cast(getVariance(), wide), w.scalar(wide, getEpsilon().convertToDouble())));
  Value factor = w.op<DivOp>(w.cast(getScale(), wide), deviation);
  Value x = w.op<SubOp>(w.cast(getOperand(), wide), vector(w.cast(getMean(), wide)));
  Value y = w.op<AddOp>(w.op<MulOp>(x, vector(factor)), vector(w.cast(getBias(), wide)));
  return SmallVector<Value>{w.cast(y, type.getElementType())};
}
LogicalResult BatchNormOp::reifyShape(ElementReader &r, unsigned, SmallVectorImpl<Value> &dims) {
  for (int64_t i = 0; i < ranked(getOperand()).getRank(); ++i)
    dims.push_back(r.dim(getOperand(), i));
  int64_t axis = getAxis();
  if (isKnown(ranked(getResult()).getDimSize(axis)))
    dims[axis] = r.constant(ranked(getResult()).getDimSize(axis));
  return success();
}
int64_t BatchNormOp::getFlops() { return flopsOf(getResult(), 3); }

//===----------------------------------------------------------------------===//
// lrn
//===----------------------------------------------------------------------===//

LogicalResult LrnOp::inferReturnTypes(MLIRContext *, OptionalLocation loc, Adaptor adaptor,
                                      Types &types) {
  types.push_back(adaptor.getOperand().getType());
  int64_t size = adaptor.getSize(), before = adaptor.getBefore();
  if (size < 1 || before < 0 || before >= size)
    return emitOptionalError(loc, "window of ", size, " neighbours, ", before, " of them before");
  return checkAxis(loc, adaptor.getOperand(), adaptor.getAxis());
}
FailureOr<SmallVector<Value>> LrnOp::decompose(OpBuilder &builder) {
  auto type = ranked(getOperand());
  if (!type)
    return failure();
  Writer w{builder, getLoc()};
  Type wide = wideType(getOperand());
  Value x = w.cast(getOperand(), wide);
  int64_t axis = getAxis(), rank = type.getRank();
  auto result = [&](Value sums) {
    Value base = w.op<AddOp>(w.op<MulOp>(sums, w.scalar(wide, getAlpha().convertToDouble())),
                             w.scalar(wide, getBias().convertToDouble()));
    Value power;
    // The exponent of the networks that have this, of positive numbers: as roots.
    if (getBeta().convertToDouble() == 0.75 && !getBias().isNegative() &&
        !getAlpha().isNegative()) {
      Value root = w.op<SqrtOp>(base);
      power = w.op<MulOp>(root, w.op<SqrtOp>(root));
    } else {
      power = w.op<PowOp>(base, w.scalar(wide, getBeta().convertToDouble()));
    }
    return SmallVector<Value>{w.cast(w.op<DivOp>(x, power), type.getElementType())};
  };
  int64_t before = getBefore(), after = getSize() - 1 - before;
  // Few neighbours are slices of the padded operand: one elementwise kernel, in
  // whatever order dimensions lie.
  constexpr int64_t fewNeighbours = 8;
  if (int64_t channels = type.getDimSize(axis); isKnown(channels) && getSize() <= fewNeighbours) {
    SmallVector<int64_t> pads(2 * rank);
    pads[axis] = before;
    pads[rank + axis] = after;
    Value padded = w.op<PadOp>(x, w.ints(pads), w.scalar(wide, 0), PadMode::Constant), sums;
    for (int64_t i = 0; i < (int64_t)getSize(); ++i) {
      Value own = w.op<SliceOp>(padded, w.ints({i}), w.ints({i + channels}), w.ints({1}),
                                ArrayRef<int64_t>{axis}, false);
      Value square = w.op<MulOp>(own, own);
      sums = sums ? w.op<AddOp>(sums, square) : square;
    }
    return result(sums);
  }
  // A sum pool over [dimensions before, 1, axis, dimensions after].
  Value view = w.concat({w.sizeOf(x, 0, axis), w.ints({1}), w.sizeOf(x, axis, axis + 1),
                         w.sizeOf(x, axis + 1, rank)});
  Value squares = w.reshape(w.op<MulOp>(x, x), view);
  Value sums = w.op<PoolOp>(squares, PoolKind::Sum, ArrayRef<int64_t>{(int64_t)getSize(), 1},
                            ArrayRef<int64_t>{1, 1}, ArrayRef<int64_t>{before, after, 0, 0},
                            ArrayRef<int64_t>{1, 1}, false, false, 1, false);
  return result(w.reshape(sums, w.sizes(x, 0, rank)));
}
LogicalResult LrnOp::reifyShape(ElementReader &r, unsigned, SmallVectorImpl<Value> &dims) {
  return dimsOf(r, getOperand(), dims);
}
int64_t LrnOp::getFlops() { return flopsOf(getResult(), 2 * getSize() + 12); }

//===----------------------------------------------------------------------===//
// attention
//===----------------------------------------------------------------------===//

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *, OptionalLocation loc, Adaptor adaptor,
                                            Types &types) {
  auto q = ranked(adaptor.getQuery()), k = ranked(adaptor.getKey()), v = ranked(adaptor.getValue());
  Type element = elementOf(adaptor.getQuery());
  if (!q || !k || !v)
    return inferredUnranked(types, element);
  if (q.getRank() != 4 || k.getRank() != 4 || v.getRank() != 4)
    return emitOptionalError(loc, "attention wants four dimensions, found ",
                             shapeText(q.getShape()), ", ", shapeText(k.getShape()), " and ",
                             shapeText(v.getShape()));
  auto heads = mergeSizes(k.getDimSize(1), v.getDimSize(1));
  auto batch = mergeSizes(q.getDimSize(0), k.getDimSize(0));
  if (!heads || !batch || !mergeSizes(*batch, v.getDimSize(0)) ||
      !mergeSizes(q.getDimSize(3), k.getDimSize(3)) ||
      !mergeSizes(k.getDimSize(2), v.getDimSize(2)))
    return emitOptionalError(loc, "attention of ", shapeText(q.getShape()), ", ",
                             shapeText(k.getShape()), " and ", shapeText(v.getShape()),
                             ": sizes do not fit");
  if (isKnown(*heads) && isKnown(q.getDimSize(1)) && (*heads == 0 || q.getDimSize(1) % *heads))
    return emitOptionalError(loc, q.getDimSize(1), " heads of queries cannot share ", *heads,
                             " of keys");
  return inferred(types, {*batch, q.getDimSize(1), q.getDimSize(2), v.getDimSize(3)}, element);
}
FailureOr<SmallVector<Value>> AttentionOp::decompose(OpBuilder &builder) {
  auto q = ranked(getQuery()), k = ranked(getKey()), v = ranked(getValue());
  if (!q || !k || !v)
    return failure();
  Writer w{builder, getLoc()};
  Type wide = wideType(getQuery());
  Value query = w.op<MulOp>(w.cast(getQuery(), wide), w.scalar(wide, getScale().convertToDouble()));
  // Query heads that share a key head are more queries of it.
  bool shared = q.getDimSize(1) != k.getDimSize(1) || !isKnown(q.getDimSize(1));
  Value lengths = w.sizes(getQuery(), 2, 3), keys = w.sizes(getKey(), 2, 3);
  Value scoresShape = w.concat({w.sizes(getQuery(), 0, 3), keys});
  if (shared)
    query = w.reshape(query,
                      w.concat({w.sizes(getKey(), 0, 2), w.ints({-1}), w.sizes(getQuery(), 3, 4)}));
  const int64_t batch[] = {0, 1};
  Value scores =
      w.op<DotGeneralOp>(query, getKey(), ArrayRef<int64_t>(batch), ArrayRef<int64_t>(batch),
                         ArrayRef<int64_t>{3}, ArrayRef<int64_t>{3}, wide);
  if (shared)
    scores = w.reshape(scores, scoresShape);
  Value lowest = w.scalar(wide, -std::numeric_limits<double>::infinity());
  if (Value mask = getMask()) {
    if (elementOf(mask).isInteger(1))
      scores = w.op<SelectOp>(mask, scores, lowest);
    else
      scores = w.op<AddOp>(scores, w.cast(mask, wide));
  }
  if (getCausal()) {
    Value shape = w.concat({lengths, keys});
    Type index = builder.getI64Type();
    Value row = w.op<IotaOp>(shape, 0, index), column = w.op<IotaOp>(shape, 1, index);
    scores = w.op<SelectOp>(w.op<CompareOp>(column, row, "le"), scores, lowest);
  }
  Value weights = softmax(w, scores, 3, false);
  if (shared)
    weights = w.reshape(weights, w.concat({w.sizes(getKey(), 0, 2), w.ints({-1}), keys}));
  Value y =
      w.op<DotGeneralOp>(weights, getValue(), ArrayRef<int64_t>(batch), ArrayRef<int64_t>(batch),
                         ArrayRef<int64_t>{3}, ArrayRef<int64_t>{2}, wide);
  if (shared)
    y = w.reshape(y, w.concat({w.sizes(getQuery(), 0, 3), w.sizes(getValue(), 3, 4)}));
  return SmallVector<Value>{w.cast(y, q.getElementType())};
}
LogicalResult AttentionOp::reifyShape(ElementReader &r, unsigned, SmallVectorImpl<Value> &dims) {
  for (int64_t i = 0; i < 3; ++i)
    dims.push_back(r.dim(getQuery(), i));
  dims.push_back(r.dim(getValue(), 3));
  return success();
}
int64_t AttentionOp::getFlops() {
  auto key = ranked(getKey());
  int64_t queries = elementCount(getQuery()), results = elementCount(getResult());
  if (!key || queries < 0 || results < 0 || key.isDynamicDim(2))
    return -1;
  return 2 * key.getDimSize(2) * (queries + results);
}
