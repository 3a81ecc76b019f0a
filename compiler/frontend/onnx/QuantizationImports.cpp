//===- QuantizationImports.cpp - quantised operators ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Quantisation is arithmetic on plain integers: x = (q - zero point) · scale.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/lowering/IntegerLimits.h"
#include "compiler/frontend/onnx/BlockQuantized.h"
#include "compiler/frontend/onnx/Quantization.h"
#include "compiler/frontend/onnx/Window.h"

#include <cmath>

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

Value weir::onnx::quantize(TensorBuilder &t, Value scaled, Value zero, Type type, bool saturate) {
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer) {
    // The formula is the same for all types, but of f8 no implementation adds a zero point.
    if (zero && isa<Float4E2M1FNType>(type))
      scaled = t.add(scaled, t.cast(zero, t.element(scaled)));
    return t.cast(scaled, type, saturate);
  }
  Value rounded = t.op<RoundEvenOp>(scaled);
  if (zero)
    rounded = t.add(rounded, t.cast(zero, t.element(scaled)));
  frontend::IntegerLimits limits(integer);
  return t.cast(t.minimum(t.maximum(rounded, limits.lowest), limits.highest), type);
}

Value weir::onnx::dequantize(TensorBuilder &t, Value q, Value scale, Value zero) {
  Value x = t.cast(q, t.element(scale));
  if (zero) {
    // Integers are subtracted exactly before they become floats.
    if (isa<IntegerType>(t.element(q))) {
      Type wide = t.b.getI32Type();
      x = t.cast(t.sub(t.cast(q, wide), t.cast(zero, wide)), t.element(scale));
    } else {
      x = t.sub(x, t.cast(zero, t.element(scale)));
    }
  }
  return t.mul(x, scale);
}

Value weir::onnx::centred(NodeImport &n, Value q, size_t zeroInput, bool rows) {
  Type i32 = n.b.getI32Type();
  Value wide = n.cast(q, i32);
  if (!wide || !n.has(zeroInput))
    return wide;
  Value zero = n.cast(n.in(zeroInput), i32);
  if (zero && n.rank(zero) == 1)
    zero = n.dim(zero, 0) == 1 ? n.toScalar(zero) : rows ? n.unsqueeze(zero, {1}) : zero;
  return n.sub(wide, zero);
}

Value weir::onnx::integerConv(NodeImport &n, Value x, Value filter, Value xZero, Value filterZero) {
  if (!x || n.rank(filter) < 2)
    return {};
  Type i32 = n.b.getI32Type();
  std::optional<SmallVector<int64_t>> size = kernelSize(n, filter);
  Value border;
  std::optional<Window> w = size ? window(n, x, *size, &border, filter) : std::nullopt;
  if (!w || !n.isMultiple(filter, 0, n.i("group"), "groups"))
    return {};
  for (Value zero : {xZero, filterZero})
    if (zero && n.rank(zero) > 1 && !n.hasRank(zero, 1, "zero points"))
      return {};
  Value wideX = n.cast(x, i32), wideFilter = n.cast(filter, i32);
  if (xZero)
    wideX = n.sub(wideX, n.cast(n.toScalar(xZero), i32));
  if (filterZero) {
    Value zero = n.cast(filterZero, i32);
    if (n.rank(zero) == 1)
      zero =
          n.dim(zero, 0) == 1 ? n.toScalar(zero) : n.unsqueeze(zero, axesFrom(1, n.rank(filter)));
    wideFilter = n.sub(wideFilter, zero);
  }
  wideX = bordered(n, wideX, border, 0);
  return n.op<ConvOp>(wideX, wideFilter, n.list(w->strides), n.list(w->pads), n.list(w->dilations),
                      n.number(n.i("group")), n.flag(false), n.typeAttr(i32));
}

Value weir::onnx::quantizedConv(NodeImport &n, Value x) {
  for (size_t input : {1, 4, 6, 7})
    if (n.in(input) && n.rank(n.in(input)) > 1 &&
        !n.hasRank(n.in(input), 1, "scales and zero points"))
      return {};
  Value sum = integerConv(n, x, n.in(3), n.in(2), n.in(5));
  if (n.has(8))
    sum = withBias(n, sum, n.in(8));
  if (!sum)
    return {};
  Type f32 = n.b.getF32Type();
  auto scaleOf = [&](size_t input) -> Value {
    Value v = n.cast(n.in(input), f32);
    if (v && n.rank(v) == 1)
      return n.dim(v, 0) == 1 ? n.toScalar(v) : perChannel(n, v, n.rank(x));
    return v;
  };
  // One factor, as ONNX Runtime has it: rounding twice would move ties.
  Value factor = n.div(n.mul(scaleOf(1), scaleOf(4)), scaleOf(6));
  Value y = n.mul(n.cast(sum, f32), factor);
  Value zero = n.in(7);
  return y && zero ? quantize(n, y, n.toScalar(zero), n.element(zero)) : Value();
}

Quantized weir::onnx::quantizeByRange(TensorBuilder &t, Value x) {
  if (!x)
    return {};
  SmallVector<int64_t> all = axesFrom(0, t.rank(x));
  Value most = t.maximum(t.reduce(x, "max", all, false), 0.0);
  Value least = t.minimum(t.reduce(x, "min", all, false), 0.0);
  // Where all is zero there is no range: any scale will do, and 1 is ONNX Runtime's.
  Value isFlat = t.compare("eq", most, least);
  Value scale = t.select(isFlat, t.like(x, 1), t.div(t.sub(most, least), 255.0));
  Type ui8 = IntegerType::get(t.b.getContext(), 8, IntegerType::Unsigned);
  Value zero = quantize(t, t.div(t.sub(t.like(x, 0), least), scale), {}, ui8);
  return {quantize(t, t.div(x, scale), zero, ui8), scale, zero};
}

namespace {

/// Whether `v` has an entry for each block of `block` entries of dimension `axis` of `x`, and is as
/// large as it elsewhere: an entry that stood for several, where `v` is of size 1, is none of a
/// block's.
bool isOneABlock(NodeImport &n, Value v, Value x, int64_t axis, int64_t block) {
  constexpr StringLiteral what = "blocks' scales or zero points";
  if (!n.hasRank(v, n.rank(x), what))
    return false;
  for (int64_t dim = 0; dim < n.rank(x); ++dim)
    if (dim != axis && !n.isAsLarge(v, dim, x, dim, what))
      return false;
  int64_t size = n.dim(x, axis);
  if (!ShapedType::isDynamic(size))
    return n.hasSize(v, axis, size / block + (size % block != 0), what);
  Value blocks = n.div(n.add(n.sizeOf(x, axis), double(block - 1)), double(block));
  n.require(n.toScalar(n.compare("eq", n.sizeOf(v, axis), blocks)),
            "there is not a scale or zero point for each block");
  return true;
}

} // namespace

Value weir::onnx::spread(NodeImport &n, Value v, Value x, int64_t axis, int64_t block) {
  if (!v || n.rank(v) == 0)
    return v;
  bool isScalar = n.rank(x) == 0;
  if (isScalar && (!n.hasRank(v, 1, "scale or zero point") ||
                   !n.hasSize(v, 0, 1, "scale or zero point of a scalar")))
    return {};
  if (isScalar || (n.rank(v) == 1 && n.dim(v, 0) == 1 && n.rank(x) != 1))
    return n.toScalar(v);
  if (block == 0) {
    if (!n.hasRank(v, 1, "scale or zero point"))
      return {};
    v = n.unsqueeze(v, axesFrom(1, n.rank(x) - axis));
    return n.stretchesTo(v, x, "scale or zero point") ? v : Value();
  }
  if (!isOneABlock(n, v, x, axis, block))
    return {};
  // Each value `block` times along the axis, cut to the operand's size.
  Value wide = n.unsqueeze(v, {axis + 1});
  SmallVector<int64_t> repeats(n.rank(v) + 1, 1);
  repeats[axis + 1] = block;
  wide = n.op<TileOp>(wide, n.ints(repeats));
  SmallVector<Value> sizes;
  for (int64_t i = 0; i < n.rank(v); ++i)
    sizes.push_back(i == axis ? n.mul(n.sizeOf(v, i), double(block)) : n.sizeOf(v, i));
  Value whole = n.reshapeTo(wide, n.concat(sizes, 0));
  int64_t size = n.dim(x, axis);
  return ShapedType::isDynamic(size) ? whole : n.slice(whole, axis, 0, size);
}

std::optional<int64_t> weir::onnx::axisOfScales(NodeImport &n, Value scale, Value x, int64_t axis) {
  int64_t rank = n.rank(x);
  if (n.rank(scale) <= 0 || rank <= 0 || (n.rank(scale) == 1 && n.dim(scale, 0) == 1))
    return 0;
  if (n.rank(scale) == 1 && ShapedType::isDynamic(n.dim(scale, 0)) &&
      (axis >= rank || axis < -rank)) {
    n.require(n.compare("eq", n.toScalar(n.sizeOf(scale, 0)), 1),
              "several scales for a tensor without their axis");
    return 0;
  }
  return n.axis(axis, rank);
}

namespace {

std::optional<int64_t> axisOfScales(NodeImport &n, Value scale, Value x) {
  return axisOfScales(n, scale, x, n.version >= 13 ? n.i("axis") : 1);
}

LogicalResult quantizeLinear(NodeImport &n) {
  Value x = n.in(0), scale = n.in(1);
  if (!x || !scale)
    return failure();
  Type type = IntegerType::get(n.b.getContext(), 8, IntegerType::Unsigned);
  if (n.version >= 21 && n.i("output_dtype"))
    type = elementType(n.b.getContext(), static_cast<DataType>(n.i("output_dtype")));
  Value zero = n.has(2) ? n.in(2) : Value();
  if (n.has(2) && !zero)
    return failure();
  if (zero)
    type = n.element(zero);
  int64_t block = n.version >= 21 ? n.i("block_size") : 0;
  std::optional<int64_t> axis = axisOfScales(n, scale, x);
  if (!axis)
    return failure();
  bool hasZero = static_cast<bool>(zero);
  scale = spread(n, scale, x, *axis, block);
  zero = spread(n, zero, x, *axis, block);
  if (!scale || (hasZero && !zero))
    return failure();
  // Operands meet in the precision asked for, else in the wider type.
  Type compute = n.element(x);
  if (n.version >= 23 && n.i("precision"))
    compute = elementType(n.b.getContext(), static_cast<DataType>(n.i("precision")));
  else if (!n.isFloat(x))
    compute = n.isFloat(scale) ? n.element(scale) : n.b.getF64Type();
  else if (n.isFloat(scale) &&
           n.element(scale).getIntOrFloatBitWidth() > compute.getIntOrFloatBitWidth())
    compute = n.element(scale);
  else if (n.isFloat(scale) && n.element(scale) != compute &&
           n.element(scale).getIntOrFloatBitWidth() == compute.getIntOrFloatBitWidth())
    compute = n.b.getF32Type(); // f16 and bf16: neither holds the other
  if (!isa_and_nonnull<FloatType>(compute))
    return failure();
  Value scaled = n.div(n.cast(x, compute), n.cast(scale, compute));
  if (!scaled)
    return failure();
  // The zero point is added in at least f32: it need not fit a narrow float.
  bool saturate = n.version < 19 || n.i("saturate") != 0;
  return n.result(quantize(n, n.widen(scaled), zero, type, saturate));
}

LogicalResult dequantizeLinear(NodeImport &n) {
  Value q = n.in(0), scale = n.in(1);
  if (!q || !scale)
    return failure();
  Value zero = n.has(2) ? n.in(2) : Value();
  if (n.has(2) && !zero)
    return failure();
  int64_t block = n.version >= 21 ? n.i("block_size") : 0;
  std::optional<int64_t> axis = axisOfScales(n, scale, q);
  if (!axis)
    return failure();
  Type type = n.element(scale);
  if (n.version >= 23 && n.i("output_dtype"))
    type = elementType(n.b.getContext(), static_cast<DataType>(n.i("output_dtype")));
  if (block > 0)
    if (Value weights = dequantizedBlocks(n, q, scale, zero, *axis, block))
      return n.result(n.cast(weights, type));
  Value scales = spread(n, n.widen(scale), q, *axis, block),
        zeros = spread(n, zero, q, *axis, block);
  if (!scales || (zero && !zeros))
    return failure();
  Value x = dequantize(n, q, scales, zeros);
  return n.result(n.cast(x, type));
}

LogicalResult dynamicQuantizeLinear(NodeImport &n) {
  Quantized q = quantizeByRange(n, n.in(0));
  return n.results({q.values, q.scale, q.zero});
}

LogicalResult matMulInteger(NodeImport &n) {
  Value a = centred(n, n.in(0), 2, true), b = centred(n, n.in(1), 3, false);
  return n.result(n.matmul(a, b, n.b.getI32Type()));
}

/// The product times scale_a · scale_b / scale_y, one factor of f32, rounded.
LogicalResult qLinearMatMul(NodeImport &n) {
  Value a = centred(n, n.in(0), 2, true), b = centred(n, n.in(3), 5, false);
  Value aScale = n.in(1), bScale = n.in(4), yScale = n.in(6), yZero = n.in(7);
  if (!a || !b || !aScale || !bScale || !yScale || !yZero)
    return failure();
  Type f32 = n.b.getF32Type();
  auto one = [&](Value v, bool rows) -> Value {
    v = n.cast(v, f32);
    if (v && n.rank(v) == 1)
      return n.dim(v, 0) == 1 ? n.toScalar(v) : rows ? n.unsqueeze(v, {1}) : v;
    return v;
  };
  Value product = n.cast(n.matmul(a, b, n.b.getI32Type()), f32);
  Value factor = n.div(n.mul(one(aScale, true), one(bScale, false)), one(yScale, true));
  Value y = n.mul(product, factor);
  Value zero = n.rank(yZero) == 1 && n.dim(yZero, 0) == 1 ? n.toScalar(yZero) : yZero;
  return n.result(quantize(n, y, zero, n.element(yZero)));
}

LogicalResult convInteger(NodeImport &n) {
  return n.result(
      integerConv(n, n.in(0), n.in(1), n.has(2) ? n.in(2) : Value(), n.has(3) ? n.in(3) : Value()));
}

LogicalResult qLinearConv(NodeImport &n) { return n.result(quantizedConv(n, n.in(0))); }

constexpr OperatorImport table[] = {
    {"", "ConvInteger", 10, 0, convInteger},
    {"", "DequantizeLinear", 10, 0, dequantizeLinear},
    {"", "DynamicQuantizeLinear", 11, 0, dynamicQuantizeLinear},
    {"", "MatMulInteger", 10, 0, matMulInteger},
    {"", "QLinearConv", 10, 0, qLinearConv},
    {"", "QLinearMatMul", 10, 0, qLinearMatMul},
    {"", "QuantizeLinear", 10, 0, quantizeLinear},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::quantizationImports() { return table; }
