//===- MicrosoftArrays.cpp - com.microsoft on images, texts and tokens ----===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators that cut, hash and look for: parts of images, words of texts,
// repetitions of tokens.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/Microsoft.h"
#include "compiler/frontend/onnx/Quantization.h"

#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

/// 0, 1, … of `count` (tensor<1xi64>), in type `type`.
Value iota(NodeImport &n, Value count, Type type) {
  return n.op<IotaOp>(count, n.number(0), n.typeAttr(type));
}

/// All windows of `size` along a dimension, `step` apart; the places in them
/// become the last dimension.
LogicalResult unfold(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  int64_t size = n.i("size"), step = intOr(n, "step", 1), rank = n.rank(x);
  std::optional<int64_t> axis = n.axis(intOr(n, "dim", -1), rank);
  if (!axis)
    return failure();
  int64_t own = n.dim(x, *axis);
  if (!n.isStep(size) || !n.isStep(step) || (!ShapedType::isDynamic(own) && own < size))
    return n.invalid("found windows of " + Twine(size) + ", " + Twine(step) +
                     " apart, along a dimension of size " + sizeText(own));
  Type i64 = n.b.getI64Type();
  Value count = n.add(n.div(n.sub(n.sizeOf(x, *axis), double(size)), double(step)), 1.0);
  Value places = n.add(n.unsqueeze(n.mul(iota(n, count, i64), double(step)), {1}),
                       iota(n, n.ints({size}), i64));
  SmallVector<int64_t> order;
  for (int64_t i = 0; i <= rank; ++i)
    if (i != *axis + 1)
      order.push_back(i);
  order.push_back(*axis + 1);
  return n.result(n.transpose(n.gather(x, places, *axis), order));
}

/// Regions [y1, x1, y2, x2] of images N C H W, in parts of their size, sampled at
/// equal distances from corner to corner.
class Crop {
public:
  explicit Crop(NodeImport &n) : n(n) {}
  LogicalResult run();

private:
  /// Where the samples along a dimension of the image lie, [regions, samples].
  Value places(int64_t dimension, Value count);
  Value size(int64_t dimension) { return n.cast(n.toScalar(n.sizeOf(x, dimension)), type); }
  /// Samples at whole `rows` and `columns`.
  Value picked(Value rows, Value columns);

  NodeImport &n;
  Value x, regions;
  Type type;
};

Value Crop::places(int64_t dimension, Value count) {
  Value last = n.sub(size(dimension), 1.0);
  auto edge = [&](int64_t i) { return n.unsqueeze(n.pick(regions, 1, i), {1}); };
  Value from = edge(dimension - 2), to = edge(dimension);
  Value steps = n.maximum(n.sub(n.cast(n.toScalar(count), type), 1.0), 1.0);
  Value step = n.div(n.mul(n.sub(to, from), last), steps);
  Value many = n.add(n.mul(from, last), n.mul(iota(n, count, type), step));
  Value middle = n.mul(n.mul(n.add(from, to), 0.5), last);
  return n.select(n.compare("gt", n.toScalar(count), 1.0), many, middle);
}

Value Crop::picked(Value rows, Value columns) {
  Type i64 = n.b.getI64Type();
  auto within = [&](Value at, int64_t dimension) {
    return n.cast(n.minimum(n.maximum(at, 0.0), n.sub(size(dimension), 1.0)), i64);
  };
  Value image = n.unsqueeze(n.cast(n.in(2), i64), {1, 2});
  // [regions, rows, columns, channels] of the images, channels last.
  Value y = n.unsqueeze(within(rows, 2), {2}), across = n.unsqueeze(within(columns, 3), {1});
  Value height = n.toScalar(n.sizeOf(x, 2)), width = n.toScalar(n.sizeOf(x, 3));
  Value flat =
      n.reshapeTo(n.transpose(x, {0, 2, 3, 1}),
                  n.concat({n.mul(n.sizeOf(x, 0), n.sizeProduct(x, 2, 4)), n.sizeOf(x, 1)}, 0));
  Value at = n.add(n.mul(n.add(n.mul(image, height), y), width), across);
  return n.gather(flat, at, 0);
}

LogicalResult Crop::run() {
  x = n.in(0);
  regions = n.in(1);
  Value given = n.cast(n.in(3), n.b.getI64Type());
  if (!x || !regions || !given)
    return failure();
  bool nearest = n.hasAttr("mode") && n.s("mode") == "nearest";
  if (n.rank(x) != 4 || n.rank(regions) != 2 ||
      (n.hasAttr("mode") && !nearest && n.s("mode") != "bilinear"))
    return n.invalid("found images that are not of rank 4, regions that are not of rank 2, or "
                     "another mode than bilinear and nearest");
  type = n.element(x);
  Value ys = places(2, n.slice(given, 0, 0, 1)), xs = places(3, n.slice(given, 0, 1, 2));
  if (!ys || !xs)
    return failure();
  auto inside = [&](Value at, int64_t dimension) {
    return n.op<AndOp>(n.compare("ge", at, 0.0), n.compare("le", at, n.sub(size(dimension), 1.0)));
  };
  Value isInside = n.op<AndOp>(n.unsqueeze(inside(ys, 2), {2}), n.unsqueeze(inside(xs, 3), {1}));
  Value y;
  if (nearest) {
    auto rounded = [&](Value v) { return n.op<RoundOp>(v); };
    y = picked(rounded(ys), rounded(xs));
  } else {
    Value top = n.op<FloorOp>(ys), left = n.op<FloorOp>(xs);
    Value bottom = n.op<CeilOp>(ys), right = n.op<CeilOp>(xs);
    Value down = n.unsqueeze(n.sub(ys, top), {2, 3}), over = n.unsqueeze(n.sub(xs, left), {1, 3});
    auto between = [&](Value a, Value b, Value f) { return n.add(a, n.mul(n.sub(b, a), f)); };
    y = between(between(picked(top, left), picked(top, right), over),
                between(picked(bottom, left), picked(bottom, right), over), down);
  }
  Value outside = n.like(x, realOr(n, "extrapolation_value", 0));
  y = n.select(n.unsqueeze(isInside, {3}), y, outside);
  return n.result(n.transpose(y, {0, 3, 1, 2}));
}

LogicalResult cropAndResize(NodeImport &n) { return Crop(n).run(); }

LogicalResult tokenizer(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  SmallVector<StringRef> patterns;
  for (std::string_view text : n.ss("separators"))
    patterns.emplace_back(text.data(), text.size());
  std::string_view expression = n.s("tokenexp");
  int64_t fewest = n.i("mincharnum");
  bool hasSeparators = n.hasAttr("separators"), hasExpression = n.hasAttr("tokenexp");
  if (hasSeparators == hasExpression || (hasExpression ? expression.empty() : patterns.empty()))
    return n.invalid("expected one of separators and tokenexp, not empty, got both or neither");
  bool characters = hasExpression ? expression == "." : patterns.size() == 1 && patterns[0].empty();
  if (fewest < 1 || (characters && fewest > 1))
    return n.invalid("expected mincharnum 1 or more, and 1 for characters as tokens, got " +
                     Twine(fewest));
  if (n.rank(x) != 1 && n.rank(x) != 2)
    return n.invalid("expected strings of rank 1 or 2, got " + Twine(n.rank(x)));
  if (hasExpression)
    patterns = {StringRef(expression.data(), expression.size())};
  std::string_view pad = n.s("pad_value");
  SmallVector<int64_t> shape(n.sizes(x));
  shape.push_back(ShapedType::kDynamic);
  Value padding = n.stringScalar(StringRef(pad.data(), pad.size()));
  Operation *made =
      n.kernelCall("weir_kernel_string_tokenize", {RankedTensorType::get(shape, n.element(x))},
                   {x, n.strings(patterns), padding},
                   {characters      ? 2
                    : hasExpression ? 1
                                    : 0,
                    fewest, n.i("mark") != 0});
  return made ? n.result(made->getResult(0)) : failure();
}

LogicalResult murmurHash(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  Type type = intOr(n, "positive", 1)
                  ? IntegerType::get(n.b.getContext(), 32, IntegerType::Unsigned)
                  : n.b.getI32Type();
  Operation *made = n.kernelCall("weir_kernel_murmur3", {RankedTensorType::get(n.sizes(x), type)},
                                 {x}, {n.i("seed")});
  return made ? n.result(made->getResult(0)) : failure();
}

/// Scores of tokens that would repeat an n-gram of the row become -inf.
LogicalResult ngramRepeatBlock(NodeImport &n) {
  Value ids = n.in(0), scores = n.in(1);
  int64_t size = n.i("ngram_size");
  if (!ids || !scores)
    return failure();
  if (n.rank(ids) != 2 || n.rank(scores) != 2 || size < 1 || size > 64)
    return n.invalid("expected tokens and scores of rank 2, and an ngram_size of 1 to 64, got "
                     "another rank, or " +
                     Twine(size));
  Type i64 = n.b.getI64Type();
  // How many n-grams a row has, each by the place of its first token.
  Value count = n.maximum(n.sub(n.sizeOf(ids, 1), double(size - 1)), 0.0);
  auto run = [&](int64_t from) {
    Value begin = n.ints({from});
    return n.op<SliceOp>(ids, begin, n.add(begin, count), n.ints({1}), n.list({1}), n.flag(false));
  };
  Value repeats = n.expandTo(n.scalar(n.b.getI1Type(), 1), n.concat({n.sizeOf(ids, 0), count}, 0));
  for (int64_t k = 0; k + 1 < size; ++k) {
    Value at = n.maximum(n.sub(n.sizeOf(ids, 1), double(size - 1 - k)), 0.0);
    repeats = n.op<AndOp>(repeats, n.compare("eq", run(k), n.gather(ids, at, 1)));
  }
  Value token = iota(n, n.sizeOf(scores, 1), i64);
  Value isBlocked =
      n.op<AndOp>(n.compare("eq", n.unsqueeze(n.cast(run(size - 1), i64), {2}), token),
                  n.unsqueeze(repeats, {2}));
  Value none = n.like(scores, -std::numeric_limits<double>::infinity());
  return n.result(n.select(n.reduce(isBlocked, "any", {1}, false), none, scores));
}

/// EmbedLayerNormalization of tables that are bytes with a scale.
LogicalResult quantizedEmbedding(NodeImport &n) {
  auto table = [&](size_t input, size_t scale, size_t zero) {
    return dequantize(n, n.in(input), n.toScalar(n.in(scale)), n.toScalar(n.in(zero)));
  };
  Value ids = n.in(0);
  if (!ids || n.rank(ids) != 2)
    return n.invalid("expected words of rank 2, got " + Twine(n.rank(ids)));
  Value places = table(3, 9, 14);
  Value sum = n.add(
      n.gather(table(2, 8, 13), ids, 0),
      n.op<SliceOp>(places, n.ints({0}), n.sizeOf(ids, 1), n.ints({1}), n.list({0}), n.flag(true)));
  if (n.has(1))
    sum = n.add(sum, n.gather(table(4, 10, 15), n.in(1), 0));
  Value y = n.op<LayerNormOp>(sum, table(5, 11, 16), table(6, 12, 17), n.number(2),
                              n.real(realOr(n, "epsilon", 1e-12)));
  Value lengths;
  if (n.wants(1))
    lengths = n.has(7) ? n.reduce(n.in(7), "sum", {1}, false)
                       : n.expandTo(n.scalar(n.b.getI32Type(), 0), n.sizeOf(ids, 0));
  return n.results({y, lengths});
}

/// G · sigmoid(alpha · G) · (L + beta) of a gate and a linear half, clamped.
LogicalResult swiGlu(NodeImport &n) {
  Value gate = n.in(0), up;
  if (!gate)
    return failure();
  Type type = n.element(gate);
  if (n.has(1)) {
    up = n.in(1);
  } else {
    int64_t last = n.rank(gate) - 1;
    if (!n.isMultiple(gate, last, 2, "halves"))
      return failure();
    Value all = n.sizeOf(gate, last), half = n.div(all, 2.0), both = gate;
    auto part = [&](Value from, Value to) {
      return n.op<SliceOp>(both, from, to, n.ints({1}), n.list({last}), n.flag(true));
    };
    gate = part(n.ints({0}), half);
    up = part(half, all);
  }
  Value g = n.widen(gate), l = n.widen(up);
  if (double limit = realOr(n, "limit", 0); limit > 0) {
    g = n.minimum(g, limit);
    l = n.minimum(n.maximum(l, -limit), limit);
  }
  Value opened = n.mul(g, n.op<LogisticOp>(n.mul(g, realOr(n, "activation_alpha", 1))));
  if (n.i("round_activation"))
    opened = n.widen(n.cast(opened, type));
  if (double beta = realOr(n, "activation_beta", 0); beta != 0)
    l = n.add(l, beta);
  return n.result(n.cast(n.mul(opened, l), type));
}

/// SiLU of scale · x, rounded to the operand's type after each step.
LogicalResult scaledSilu(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  Type type = n.element(x);
  Value wide = n.widen(x);
  Value scale =
      n.has(1) ? n.cast(n.toScalar(n.in(1)), n.element(wide)) : n.like(wide, realOr(n, "alpha", 1));
  Value z = n.cast(n.mul(wide, scale), type);
  Value s = n.cast(n.op<LogisticOp>(n.widen(z)), type);
  return n.result(n.cast(n.mul(n.widen(z), n.widen(s)), type));
}

LogicalResult same(NodeImport &n) { return n.result(n.in(0)); }

constexpr std::string_view microsoft = "com.microsoft";

constexpr OperatorImport table[] = {
    {microsoft, "CropAndResize", 1, 0, cropAndResize},
    {microsoft, "MurmurHash3", 1, 0, murmurHash},
    {microsoft, "NGramRepeatBlock", 1, 0, ngramRepeatBlock},
    {microsoft, "QEmbedLayerNormalization", 1, 0, quantizedEmbedding},
    {microsoft, "SampleOp", 1, 0, same},
    {microsoft, "ScaledSiLU", 1, 0, scaledSilu},
    {microsoft, "SwiGLU", 1, 0, swiGlu},
    {microsoft, "Tokenizer", 1, 0, tokenizer},
    {microsoft, "UnfoldTensor", 1, 0, unfold},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::microsoftArrayImports() { return table; }
