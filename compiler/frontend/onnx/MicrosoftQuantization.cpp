//===- MicrosoftQuantization.cpp - com.microsoft on quantised operands ----===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators whose operands are integers with a scale: those that compute on the
// reals behind them and round once at the end, products of integers, and
// products with weights of a few bits, of which blocks share a scale.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/Activations.h"
#include "compiler/frontend/onnx/BlockQuantized.h"
#include "compiler/frontend/onnx/Microsoft.h"
#include "compiler/frontend/onnx/Quantization.h"
#include "compiler/frontend/onnx/Window.h"

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

/// A scale or zero point that is one number, as a scalar.
Value single(NodeImport &n, size_t input) {
  return n.has(input) ? n.toScalar(n.in(input)) : Value();
}

/// The reals of input `i`, whose scale and zero point are the inputs after it.
Value reals(NodeImport &n, size_t i) {
  return dequantize(n, n.in(i), single(n, i + 1), single(n, i + 2));
}

/// The integers of y, of the type of `like`, by the scale and zero point that
/// are inputs `scale` and the one after it.
LogicalResult rounded(NodeImport &n, Value y, size_t scale, Value like) {
  if (!y || !like)
    return failure();
  return n.result(quantize(n, n.div(y, single(n, scale)), single(n, scale + 1), n.element(like)));
}

/// Operand `i` without its zero point, as f32.
Value withoutZero(NodeImport &n, size_t i) {
  Type i32 = n.b.getI32Type();
  Value q = n.cast(n.in(i), i32);
  if (n.has(i + 2))
    q = n.sub(q, n.cast(single(n, i + 2), i32));
  return n.cast(q, n.b.getF32Type());
}

/// The integers of y, to which ONNX Runtime's sums and products add the zero point before they
/// round: of two that are as near the even one is another then.
LogicalResult roundedWithZero(NodeImport &n, Value y, size_t zeroPoint, Value like) {
  if (!y || !like)
    return failure();
  if (n.has(zeroPoint))
    y = n.add(y, n.cast(single(n, zeroPoint), n.element(y)));
  return n.result(quantize(n, y, {}, n.element(like)));
}

/// As ONNX Runtime's kernels for processors with FMA have it, so that what lies between two
/// integers goes to the same one: what zero points give is one number, and each step rounds once.
LogicalResult qAdd(NodeImport &n) {
  Type f32 = n.b.getF32Type();
  auto zero = [&](size_t i) {
    return n.has(i) ? n.cast(single(n, i), f32) : n.like(single(n, 6), 0);
  };
  Value a = n.cast(n.in(0), f32), b = n.cast(n.in(3), f32);
  Value byA = n.div(single(n, 1), single(n, 6)), byB = n.div(single(n, 4), single(n, 6));
  Value zeros = n.op<FmaOp>(byA, zero(2), n.mul(byB, zero(5)));
  Value sum = n.op<FmaOp>(a, byA, n.op<FmaOp>(b, byB, n.sub(zero(7), zeros)));
  return n.result(quantize(n, sum, {}, n.element(n.in(0))));
}

/// The scales are one factor, so that ties stay ties.
LogicalResult qMul(NodeImport &n) {
  Value factor = n.div(n.mul(single(n, 1), single(n, 4)), single(n, 6));
  return roundedWithZero(n, n.mul(n.mul(withoutZero(n, 0), withoutZero(n, 3)), factor), 7, n.in(0));
}

LogicalResult qLeakyRelu(NodeImport &n) {
  return rounded(n, leakyRelu(n, reals(n, 0), n.f("alpha")), 3, n.in(0));
}

LogicalResult qSigmoid(NodeImport &n) {
  return rounded(n, n.op<LogisticOp>(reals(n, 0)), 3, n.in(0));
}

LogicalResult qSoftmax(NodeImport &n) {
  Value x = reals(n, 0);
  if (!x)
    return failure();
  std::optional<int64_t> axis = n.axis(intOr(n, "axis", -1), n.rank(x));
  if (!axis)
    return failure();
  // ONNX Runtime multiplies by a whole number, which 1/256 has and other scales have not.
  auto round = [&](Value y) {
    Value steps = n.op<FloorOp>(n.div(n.like(y, 1), single(n, 3)));
    return roundedWithZero(n, n.mul(y, steps), 4, n.in(0));
  };
  if (n.i("opset") >= 13)
    return round(n.softmax(x, *axis));
  // Before opset 13 the dimensions from the axis on are one.
  Value flat =
      n.reshapeTo(x, n.concat({n.shapeSlice(x, 0, *axis), n.sizeProduct(x, *axis, n.rank(x))}, 0));
  Value y = n.softmax(flat, *axis);
  return round(n.reshapeTo(y, n.shapeOf(x)));
}

/// `compute` on operands N C S…, whichever order the node has them in.
Value planar(NodeImport &n, Value x, llvm::function_ref<Value(Value)> compute) {
  if (!x || !n.i("channels_last") || n.rank(x) < 3)
    return compute(x);
  int64_t rank = n.rank(x);
  SmallVector<int64_t> first = {0, rank - 1}, last = {0};
  llvm::append_range(first, axesFrom(1, rank - 1));
  llvm::append_range(last, axesFrom(2, rank));
  last.push_back(1);
  return n.transpose(compute(n.transpose(x, first)), last);
}

LogicalResult qAveragePool(NodeImport &n) {
  Value y = planar(n, reals(n, 0), [&](Value x) { return pooled(n, x, "average"); });
  return roundedWithZero(n, n.div(y, single(n, 3)), 4, n.in(0));
}

LogicalResult qGlobalAveragePool(NodeImport &n) {
  Value x = withoutZero(n, 0);
  if (!x)
    return failure();
  if (n.rank(x) < 3)
    return n.invalid("expected three dimensions or more, got " + Twine(n.rank(x)));
  // The sum is exact; scales and the count of elements are one factor. The count is that of the
  // bytes: who reads sizes of what they become has it made as a whole.
  const bool isLast = n.i("channels_last") != 0;
  int64_t first = isLast ? 1 : 2, end = n.rank(x) - isLast;
  Value count = n.cast(n.toScalar(n.sizeProduct(n.in(0), first, end)), n.element(x));
  Value factor = n.div(single(n, 1), n.mul(single(n, 3), count));
  Value y = n.mul(n.reduce(x, "sum", axesFrom(first, end), true), factor);
  return n.result(quantize(n, y, single(n, 4), n.element(n.in(0))));
}

LogicalResult qReduceMean(NodeImport &n) {
  Value x = reals(n, 0);
  if (!x)
    return failure();
  std::optional<SmallVector<int64_t>> axes = n.axes(n.is("axes"), n.rank(x));
  if (!axes)
    return failure();
  return rounded(n, n.reduce(x, "mean", *axes, n.i("keepdims") != 0), 3, n.in(0));
}

LogicalResult qConcat(NodeImport &n) {
  SmallVector<Value> parts;
  for (size_t i = 2; i + 2 < n.inputCount(); i += 3)
    parts.push_back(reals(n, i));
  if (parts.empty() || !parts[0])
    return n.invalid("found no operands, or not each with scale and zero point");
  std::optional<int64_t> axis = n.axis(n.i("axis"), n.rank(parts[0]));
  return axis ? rounded(n, n.concat(parts, *axis), 0, n.in(1)) : failure();
}

LogicalResult qWhere(NodeImport &n) {
  return rounded(n, n.select(n.in(0), reals(n, 1), reals(n, 4)), 7, n.in(1));
}

LogicalResult qConv(NodeImport &n) {
  return n.result(planar(n, n.in(0), [&](Value x) { return quantizedConv(n, x); }));
}

/// A vector of one entry a row of the second operand, or one number.
Value perColumn(NodeImport &n, size_t input) {
  Value v = n.in(input);
  return v && n.rank(v) == 1 && n.dim(v, 0) == 1 ? n.toScalar(v) : v;
}

/// alpha · A · B + C of integers, as reals or, with a scale of the result, as
/// integers. C counts in units of both scales and alpha.
LogicalResult qGemm(NodeImport &n) {
  auto turned = [&](Value v, std::string_view name) {
    return n.i(name) ? n.transpose(v, {1, 0}) : v;
  };
  Type i32 = n.b.getI32Type();
  Value a = n.in(0), b = n.in(3), aZero = single(n, 2), bZero = n.in(5);
  if (!a || !b || !aZero || !bZero || n.rank(a) != 2 || n.rank(b) != 2)
    return n.invalid("found operands that are not matrices");
  bZero = n.cast(perColumn(n, 5), i32);
  a = n.sub(n.cast(turned(a, "transA"), i32), n.cast(aZero, i32));
  b = n.sub(n.cast(turned(b, "transB"), i32), bZero);
  Value sum = n.matmul(a, b, i32);
  if (n.has(6))
    sum = n.add(sum, n.in(6));
  Value scale = n.mul(n.mul(single(n, 1), perColumn(n, 4)), realOr(n, "alpha", 1));
  Value real = n.cast(sum, n.b.getF32Type());
  Value y = n.mul(real, n.has(7) ? n.div(scale, single(n, 7)) : scale);
  // The zero point decides whether the result is rounded.
  return n.result(n.has(8) ? quantize(n, y, single(n, 8), n.element(n.in(8))) : y);
}

LogicalResult matMulIntegerToFloat(NodeImport &n) {
  Value a = centred(n, n.in(0), 4, true), b = centred(n, n.in(1), 5, false);
  Value product = n.matmul(a, b, n.b.getI32Type());
  // A sum may be beyond what halves hold, whatever its scale makes of it.
  Value scale = n.mul(n.widen(n.in(2)), n.widen(perColumn(n, 3)));
  if (!product || !scale)
    return failure();
  if (n.has(6) && !n.hasOneEach(n.in(6), product, n.rank(product) - 1, "bias"))
    return failure();
  Value y = n.mul(n.cast(product, n.element(scale)), scale);
  return n.result(n.cast(n.has(6) ? n.add(y, n.widen(n.in(6))) : y, n.element(n.in(2))));
}

LogicalResult dynamicQuantizeMatMul(NodeImport &n) {
  Type i32 = n.b.getI32Type();
  Quantized a = quantizeByRange(n, n.in(0));
  Value x = n.sub(n.cast(a.values, i32), n.cast(a.zero, i32));
  Value product = n.matmul(x, centred(n, n.in(1), 3, false), i32);
  Value scale = n.mul(a.scale, perColumn(n, 2));
  if (!product || !scale)
    return failure();
  if (n.has(4) && !n.hasOneEach(n.in(4), product, n.rank(product) - 1, "bias"))
    return failure();
  Value y = n.mul(n.cast(product, n.element(scale)), scale);
  return n.result(n.has(4) ? n.add(y, n.in(4)) : y);
}

LogicalResult matMulInteger16(NodeImport &n) {
  Type i32 = n.b.getI32Type();
  return n.result(n.matmul(n.cast(n.in(0), i32), n.cast(n.in(1), i32), i32));
}

LogicalResult mulInteger(NodeImport &n) {
  Type i32 = n.b.getI32Type();
  auto wide = [&](size_t i) {
    Value v = n.cast(n.in(i), i32);
    return n.has(i + 1) ? n.sub(v, n.cast(single(n, i + 1), i32)) : v;
  };
  return n.result(n.mul(wide(0), wide(2)));
}

LogicalResult reduceSumInteger(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  Type wide = n.isUnsigned(x) ? IntegerType::get(n.b.getContext(), 32, IntegerType::Unsigned)
                              : n.b.getI32Type();
  std::optional<SmallVector<int64_t>> axes = n.axes(n.is("axes"), n.rank(x));
  return axes ? n.result(n.reduce(n.cast(x, wide), "sum", *axes, n.i("keepdims") != 0)) : failure();
}

/// QuantizeLinear and DequantizeLinear with one scale, or one an entry of
/// `axis`, which is 1 where the node does not say.
template <bool back> LogicalResult quantizeAlong(NodeImport &n) {
  Value x = n.in(0), scale = n.in(1);
  if (!x || !scale)
    return failure();
  bool hasZero = n.has(2);
  Value zero = hasZero ? n.in(2) : Value();
  std::optional<int64_t> axis = axisOfScales(n, scale, x, intOr(n, "axis", 1));
  if (!axis)
    return failure();
  scale = spread(n, scale, x, *axis, 0);
  zero = spread(n, zero, x, *axis, 0);
  if (!scale || (hasZero && !zero))
    return failure();
  Type ui8 = IntegerType::get(n.b.getContext(), 8, IntegerType::Unsigned);
  if (back)
    return n.result(n.cast(dequantize(n, x, n.widen(scale), zero), n.element(scale)));
  return n.result(
      quantize(n, n.div(n.widen(x), n.widen(scale)), zero, zero ? n.element(zero) : ui8));
}

LogicalResult qAttention(NodeImport &n) {
  Type i32 = n.b.getI32Type();
  Value x = n.cast(n.in(0), i32), w = n.cast(n.in(1), i32);
  if (n.has(6))
    x = n.sub(x, n.cast(single(n, 6), i32));
  if (n.has(7))
    w = n.sub(w, n.cast(perColumn(n, 7), i32));
  Value scale = n.mul(single(n, 3), perColumn(n, 4));
  Value product = n.matmul(x, w, i32);
  if (!product || !scale)
    return failure();
  Value joined = n.add(n.mul(n.cast(product, n.element(scale)), scale), n.in(2));
  return projectedAttention(n, joined, 5, 8, std::nullopt);
}

//===----------------------------------------------------------------------===//
// Weights of a few bits
//===----------------------------------------------------------------------===//

/// Whether the block of each column is the one that it lies in.
bool isInOrder(NodeImport &n, size_t input, int64_t block) {
  auto groups = n.knownInts(input);
  return groups && llvm::all_of(llvm::enumerate(*groups), [&](auto group) {
           return group.value() == int64_t(group.index()) / block;
         });
}

/// Weights [K, N] of MatMulNBits whose columns say themselves which block they are of.
Value scatteredBlocks(NodeImport &n, int64_t rows, int64_t columns, int64_t bits, int64_t block) {
  Type f32 = n.b.getF32Type();
  int64_t blocks = llvm::divideCeil(columns, block);
  if (n.has(3) && !hasZeroPoints(n, n.in(3), rows, blocks, bits))
    return {};
  Value group = n.in(4);
  Value q = unpackBits(n, n.reshape(n.in(1), {rows, -1}), bits);
  q = n.transpose(n.cast(n.slice(q, 1, 0, columns), f32), {1, 0});
  Value scales = n.transpose(n.cast(n.reshape(n.in(2), {rows, blocks}), f32), {1, 0});
  Value zeros = n.scalar(f32, double(1 << (bits - 1)));
  if (n.has(3)) {
    Value given = n.reshape(n.in(3), {rows, -1});
    if (!n.isFloat(given))
      given = n.slice(unpackBits(n, given, bits), 1, 0, blocks);
    zeros = n.gather(n.transpose(n.cast(given, f32), {1, 0}), group, 0);
  }
  return n.mul(n.sub(q, zeros), n.gather(scales, group, 0));
}

/// Whether bytes are of numbers of 2, 4 or 8 bits, and blocks of `block` numbers of whole bytes;
/// reports.
bool isWhole(NodeImport &n, int64_t bits, int64_t block) {
  if (bits != 2 && bits != 4 && bits != 8) {
    (void)n.unsupported("expected 2, 4 or 8 bits, got " + Twine(bits));
    return false;
  }
  if (!n.isCount("block_size", block))
    return false;
  if (block % (8 / bits))
    (void)n.invalid("expected a block_size that is a multiple of " + Twine(8 / bits) + ", got " +
                    Twine(block));
  return block % (8 / bits) == 0;
}

/// A · Bᵀ, where B [N, K] has a scale for every block of a row.
LogicalResult matMulNBits(NodeImport &n) {
  int64_t rows = n.i("N"), columns = n.i("K"), block = n.i("block_size");
  int64_t bits = intOr(n, "bits", 4);
  Value a = n.in(0);
  if (!a || !n.in(1) || !n.in(2))
    return failure();
  if (intOr(n, "weight_prepacked", 0))
    return n.unsupported("expected weight_prepacked to be 0, got weights packed for one kernel");
  if (!n.isCount("N", rows) || !n.isCount("K", columns) || !isWhole(n, bits, block))
    return failure();
  if (n.has(3) && !n.in(3))
    return failure();
  BlockOperands operands{n.in(1), n.in(2), n.has(3) ? n.in(3) : Value()};
  int64_t blocks = llvm::divideCeil(columns, block), each = 8 / bits;
  if (!hasCount(n, operands.numbers, rows * blocks * (block / each), "bytes of weights") ||
      !hasCount(n, operands.scales, rows * blocks, "scales"))
    return failure();
  Value weights = !n.has(4) || isInOrder(n, 4, block)
                      ? blockWeights(n, operands, rows, columns, bits, block)
                      : scatteredBlocks(n, rows, columns, bits, block);
  if (!weights)
    return failure();
  markByteRows(n, weights);
  Value y = n.matmul(n.widen(a), weights);
  if (n.has(5))
    y = n.add(y, n.widen(n.in(5)));
  return n.result(n.cast(y, n.element(a)));
}

/// A · Bᵀ, where B's entries are 4-bit indices into one of two tables of
/// numbers in [-1, 1], and blocks of them share their largest magnitude.
LogicalResult matMulBnb4(NodeImport &n) {
  int64_t rows = n.i("N"), columns = n.i("K"), block = n.i("block_size");
  Value a = n.in(0), b = n.in(1), largest = n.in(2);
  if (!a || !b || !largest)
    return failure();
  if (!n.isCount("N", rows) || !n.isCount("K", columns) || !n.isCount("block_size", block))
    return failure();
  if (intOr(n, "transB", 1) != 1 || n.i("training_mode"))
    return n.unsupported("expected transB to be 1 and training_mode 0, got another value");
  int64_t count = rows * columns; // fits, for both are below 2^31
  if (count % 2 || count % block)
    return n.unsupported("expected an even number of weights that blocks of " + Twine(block) +
                         " divide, got " + Twine(count));
  if (!hasCount(n, b, count / 2, "bytes of weights") ||
      !hasCount(n, largest, count / block, "magnitudes"))
    return failure();
  // Four-bit floats of one sign, two exponent and one mantissa bit over 12, and
  // quantiles of the normal distribution (Dettmers et al., "QLoRA", 2023).
  static const double floats[] = {
      0,    5.208333333e-03,  0.66666667,  1,  0.33333333,  0.5,  0.16666667,  0.25,
      -0.0, -5.208333333e-03, -0.66666667, -1, -0.33333333, -0.5, -0.16666667, -0.25};
  static const double quantiles[] = {-1.0,
                                     -0.6961928009986877,
                                     -0.5250730514526367,
                                     -0.39491748809814453,
                                     -0.28444138169288635,
                                     -0.18477343022823334,
                                     -0.09105003625154495,
                                     0.0,
                                     0.07958029955625534,
                                     0.16093020141124725,
                                     0.24611230194568634,
                                     0.33791524171829224,
                                     0.44070982933044434,
                                     0.5626170039176941,
                                     0.7229568362236023,
                                     1.0};
  Type f32 = n.b.getF32Type(), i32 = n.b.getI32Type();
  Value table = n.floats(n.i("quant_type") == 0 ? ArrayRef(floats) : ArrayRef(quantiles), f32);
  // The high half of a byte comes first.
  Value bytes = n.cast(n.reshape(b, {-1}), i32);
  Value high = n.op<ShrOp>(bytes, n.scalar(i32, 4.0));
  Value low = n.op<AndOp>(bytes, n.scalar(i32, 15.0));
  Value both = n.concat({n.unsqueeze(high, {1}), n.unsqueeze(low, {1})}, 1);
  Value numbers = n.gather(table, n.reshape(both, {count / block, block}), 0);
  Value scale = n.unsqueeze(n.cast(n.reshape(largest, {-1}), f32), {1});
  Value weights = n.reshape(n.mul(numbers, scale), {rows, columns});
  Value y = n.matmul(n.widen(a), n.transpose(weights, {1, 0}));
  return n.result(n.cast(y, n.element(a)));
}

/// Rows of a table whose rows are quantised in blocks.
LogicalResult gatherBlockQuantized(NodeImport &n) {
  Value data = n.in(0), indices = n.in(1), scales = n.in(2);
  if (!data || !indices || !scales)
    return failure();
  int64_t rank = n.rank(data), bits = intOr(n, "bits", 4);
  int64_t block = intOr(n, "block_size", 128);
  std::optional<int64_t> gathered = n.axis(intOr(n, "gather_axis", 0), rank);
  std::optional<int64_t> blocked = n.axis(intOr(n, "quantize_axis", 1), rank);
  if (!gathered || !blocked)
    return failure();
  if (!isWhole(n, bits, block))
    return failure();
  if (*gathered != 0 || *blocked != rank - 1 || rank < 2)
    return n.unsupported(
        "expected the first axis to gather and the last to quantize, got gather_axis " +
        Twine(*gathered) + " and quantize_axis " + Twine(*blocked));
  Type f32 = n.b.getF32Type();
  bool packed = n.element(data).isUnsignedInteger(8) && bits < 8;
  if (!n.hasRank(scales, rank, "scales") || (n.has(3) && !n.hasRank(n.in(3), rank, "zero points")))
    return failure();
  for (int64_t i = 0; i < rank - 1; ++i)
    if (!n.isAsLarge(scales, i, data, i, "data and scales") ||
        (n.has(3) && !n.isAsLarge(n.in(3), i, data, i, "data and zero points")))
      return failure();
  auto rows = [&](Value v) { return n.gather(v, indices, 0); };
  Value q = rows(data);
  q = packed ? unpackBits(n, q, bits) : q;
  q = n.cast(q, f32);
  Value scale = rows(scales);
  if (!q || !scale)
    return failure();
  int64_t blocks = n.dim(scales, rank - 1), size = n.dim(q, n.rank(q) - 1);
  Value whole = n.sizeOf(q, n.rank(q) - 1);
  Value blocksOf = n.sizeOf(scales, rank - 1);
  auto blocksIn = [&](Value count, int64_t each) {
    return n.div(n.add(count, double(each - 1)), double(each));
  };
  if (ShapedType::isDynamic(size) || ShapedType::isDynamic(blocks))
    n.require(n.toScalar(n.compare("eq", blocksIn(whole, block), blocksOf)),
              "rows have another number of blocks than their scales");
  else if (llvm::divideCeil(size, block) != static_cast<uint64_t>(blocks))
    return n.invalid("expected a scale for each block of " + Twine(block) + " of " + Twine(size) +
                     " numbers, got " + Twine(blocks));
  Value zero;
  if (n.has(3)) {
    zero = rows(n.in(3));
    int64_t each = packed ? 8 / bits : 1;
    int64_t last = n.rank(zero) - 1;
    if (ShapedType::isDynamic(blocks))
      n.require(n.toScalar(n.compare("eq", n.sizeOf(zero, last), blocksIn(blocksOf, each))),
                "blocks have another number of zero points than scales");
    else if (!n.hasSize(zero, last, llvm::divideCeil(blocks, each), "zero points"))
      return failure();
    if (packed)
      zero = n.op<SliceOp>(unpackBits(n, zero, bits), n.ints({0}), blocksOf, n.ints({1}),
                           n.list({last}), n.flag(false));
    zero = n.cast(zero, f32);
  } else if (packed || n.element(data).isUnsignedInteger(8)) {
    zero = n.scalar(f32, double(1 << (bits - 1)));
  }
  // One number an entry: each block's, `block` times, cut at the row's end.
  auto spread = [&](Value v) -> Value {
    if (!v || n.rank(v) == 0)
      return v;
    int64_t last = n.rank(v) - 1;
    Value wide = n.unsqueeze(v, {last + 1});
    SmallVector<int64_t> repeats(last + 2, 1);
    repeats.back() = block;
    wide = n.op<TileOp>(wide, n.ints(repeats));
    wide =
        n.reshapeTo(wide, n.concat({n.shapeSlice(v, 0, last), n.mul(blocksOf, double(block))}, 0));
    return n.op<SliceOp>(wide, n.ints({0}), whole, n.ints({1}), n.list({last}), n.flag(false));
  };
  Value centre = zero ? n.sub(q, spread(zero)) : q;
  Value y = n.mul(centre, spread(n.cast(scale, f32)));
  return n.result(n.cast(y, n.element(scales)));
}

constexpr std::string_view microsoft = "com.microsoft";

constexpr OperatorImport table[] = {
    {microsoft, "DequantizeLinear", 1, 0, quantizeAlong<true>},
    {microsoft, "DynamicQuantizeMatMul", 1, 0, dynamicQuantizeMatMul},
    {microsoft, "GatherBlockQuantized", 1, 0, gatherBlockQuantized},
    {microsoft, "MatMulBnb4", 1, 0, matMulBnb4},
    {microsoft, "MatMulInteger16", 1, 0, matMulInteger16},
    {microsoft, "MatMulIntegerToFloat", 1, 0, matMulIntegerToFloat},
    {microsoft, "MatMulNBits", 1, 0, matMulNBits},
    {microsoft, "MulInteger", 1, 0, mulInteger},
    {microsoft, "QAttention", 1, 0, qAttention},
    {microsoft, "QGemm", 1, 0, qGemm},
    {microsoft, "QLinearAdd", 1, 0, qAdd},
    {microsoft, "QLinearAveragePool", 1, 0, qAveragePool},
    {microsoft, "QLinearConcat", 1, 0, qConcat},
    {microsoft, "QLinearConv", 1, 0, qConv},
    {microsoft, "QLinearGlobalAveragePool", 1, 0, qGlobalAveragePool},
    {microsoft, "QLinearLeakyRelu", 1, 0, qLeakyRelu},
    {microsoft, "QLinearMul", 1, 0, qMul},
    {microsoft, "QLinearReduceMean", 1, 0, qReduceMean},
    {microsoft, "QLinearSigmoid", 1, 0, qSigmoid},
    {microsoft, "QLinearSoftmax", 1, 0, qSoftmax},
    {microsoft, "QLinearWhere", 1, 0, qWhere},
    {microsoft, "QuantizeLinear", 1, 0, quantizeAlong<false>},
    {microsoft, "ReduceSumInteger", 1, 0, reduceSumInteger},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::microsoftQuantizationImports() { return table; }
