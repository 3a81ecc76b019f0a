//===- MicrosoftImports.cpp - com.microsoft -------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators that exporters and optimisers of transformers write: activations,
// normalisations, products and convolutions with what follows them.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/Activations.h"
#include "compiler/frontend/onnx/Dropout.h"
#include "compiler/frontend/onnx/GraphImporter.h"
#include "compiler/frontend/onnx/Microsoft.h"
#include "compiler/frontend/onnx/RuntimeAxes.h"
#include "compiler/frontend/onnx/Window.h"

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

std::optional<OperatorSpec> weir::onnx::microsoftModel(std::string_view name) {
  struct Kin {
    std::string_view name, model;
    int64_t opset;
  };
  static constexpr Kin kin[] = {
      {"ConvTransposeWithDynamicPads", "ConvTranspose", 11},
      {"DynamicQuantizeLSTM", "LSTM", 7},
      {"FusedConv", "Conv", 11},
      {"FusedGemm", "Gemm", 13},
      {"GatherND", "GatherND", 12},
      {"GridSample", "GridSample", 16},
      {"NhwcConv", "Conv", 11},
      {"NhwcFusedConv", "Conv", 11},
      {"NhwcMaxPool", "MaxPool", 12},
      {"Pad", "Pad", 13},
      {"QLinearAveragePool", "AveragePool", 11},
      {"QLinearConv", "QLinearConv", 10},
      {"QLinearLeakyRelu", "LeakyRelu", 6},
      {"Range", "Range", 11},
      {"Trilu", "Trilu", 14},
  };
  for (const Kin &one : kin)
    if (one.name == name)
      return findOperator("", one.model, one.opset);
  return std::nullopt;
}

Value weir::onnx::upTo(TensorBuilder &t, Value count) {
  return t.op<IotaOp>(count, t.number(0), t.typeAttr(t.b.getI64Type()));
}

Value weir::onnx::firstEntries(TensorBuilder &t, Value x, int64_t axis, Value count) {
  return t.op<SliceOp>(x, t.ints({0}), t.reshape(count, {1}), t.ints({1}), t.list({axis}),
                       t.flag(true));
}

Value weir::onnx::entriesBefore(TensorBuilder &t, Value ends, Value total, Value length) {
  Value before = t.maximum(t.sub(ends, length), 0.0);
  return t.select(t.compare("eq", total, length), t.like(before, 0), before);
}

double weir::onnx::realOr(const NodeImport &n, std::string_view name, double fallback) {
  return n.hasAttr(name) ? n.f(name) : fallback;
}

int64_t weir::onnx::intOr(const NodeImport &n, std::string_view name, int64_t fallback) {
  return n.hasAttr(name) ? n.i(name) : fallback;
}

Value weir::onnx::simplifiedNorm(TensorBuilder &t, Value x, Value scale, double epsilon,
                                 int64_t axis) {
  if (!x || !scale)
    return {};
  Value wide = t.widen(x);
  Value square = t.reduce(t.mul(wide, wide), "mean", axesFrom(axis, t.rank(x)), true);
  Value y = t.mul(wide, t.op<RsqrtOp>(t.add(square, epsilon)));
  return t.mul(t.cast(y, t.element(scale)), scale);
}

namespace {

LogicalResult gelu(NodeImport &n) { return n.result(n.op<GeluOp>(n.in(0), n.flag(false))); }

LogicalResult biasGelu(NodeImport &n) {
  Value x = n.in(0), bias = n.in(1);
  if (!x || !n.hasOneEach(bias, x, n.rank(x) - 1, "bias"))
    return failure();
  return n.result(n.op<GeluOp>(n.add(x, bias), n.flag(false)));
}

LogicalResult fastGelu(NodeImport &n) {
  Value x = n.in(0);
  if (n.has(1)) {
    if (!x || !n.hasOneEach(n.in(1), x, n.rank(x) - 1, "bias"))
      return failure();
    x = n.add(x, n.in(1));
  }
  return n.result(n.op<GeluOp>(x, n.flag(true)));
}

LogicalResult quickGelu(NodeImport &n) {
  Value x = n.in(0);
  Value gate = n.op<LogisticOp>(n.mul(x, realOr(n, "alpha", 1.702)));
  return n.result(n.mul(x, gate));
}

/// alpha · A · B, either of which may be turned: its last two dimensions, or
/// with transBatch its first dimension behind all other batch dimensions.
Value scaledProduct(NodeImport &n) {
  Value x = n.in(0), y = n.in(1);
  if (!x || !y)
    return {};
  auto turned = [&](Value v, std::string_view matrix, std::string_view batch) -> Value {
    int64_t rank = n.rank(v);
    if (rank < 2)
      return v;
    SmallVector<int64_t> order = axesFrom(0, rank);
    if (n.i(batch)) // the batch's dimensions from 1 on come first, then 0
      std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
    if (n.i(matrix))
      std::swap(order[rank - 1], order[rank - 2]);
    return n.transpose(v, order);
  };
  Value product = n.matmul(turned(x, "transA", "transBatchA"), turned(y, "transB", "transBatchB"));
  double alpha = realOr(n, "alpha", 1);
  return alpha == 1 ? product : n.mul(product, alpha);
}

LogicalResult fusedMatMul(NodeImport &n) { return n.result(scaledProduct(n)); }

/// The activation that a node names, with up to two parameters; null where it
/// is none that is known. A null value, and no name, are taken through.
Value activated(NodeImport &n, Value x, double alpha, double beta, bool hasAlpha) {
  StringRef given(n.s("activation").data(), n.s("activation").size());
  for (const char *name : {"activation_gamma", "activation_axis"})
    if (n.f(name) != 0 || n.i(name) != 0) {
      (void)n.unsupported("found " + Twine(name) + ", which no activation that is possible takes");
      return {};
    }
  if (!x || given.empty())
    return x;
  std::string name = given.lower();
  if (!n.isFloat(x) && name != "relu" && name != "clip") {
    (void)n.unsupported("found activation \"" + given +
                        "\" of integers; relu and clip are possible");
    return {};
  }
  if (name == "clip")
    return n.minimum(n.maximum(x, alpha), beta);
  if (name == "gelu")
    return n.op<GeluOp>(x, n.flag(false));
  if (name == "hardswish")
    return n.mul(x, hardSigmoid(n, x, hasAlpha ? alpha : 1.0 / 6, hasAlpha ? beta : 0.5));
  if (!isActivation(name)) {
    (void)n.unsupported("found activation \"" + given + "\"");
    return {};
  }
  Activation f = activationOf(name);
  if (hasAlpha) {
    f.alpha = alpha;
    f.beta = beta;
  }
  return applyActivation(n, f, x);
}

/// The same where the parameters are attributes of their own.
Value activatedBy(NodeImport &n, Value x) {
  return activated(n, x, realOr(n, "activation_alpha", 0), realOr(n, "activation_beta", 0),
                   n.hasAttr("activation_alpha"));
}

LogicalResult fusedGemm(NodeImport &n) { return n.result(activatedBy(n, generalProduct(n))); }

LogicalResult fusedMatMulActivation(NodeImport &n) {
  return n.result(activatedBy(n, scaledProduct(n)));
}

LogicalResult gemmFastGelu(NodeImport &n) {
  Value y = n.matmul(n.in(0), n.in(1));
  if (n.has(2))
    y = n.add(y, n.in(2));
  return n.result(n.op<GeluOp>(y, n.flag(true)));
}

/// Channels last as N C S…, and back.
Value channelsFirst(NodeImport &n, Value x) {
  if (!x || n.rank(x) < 3)
    return x;
  SmallVector<int64_t> order = axesFrom(1, n.rank(x) - 1);
  order.insert(order.begin(), {0, n.rank(x) - 1});
  return n.transpose(x, order);
}
Value channelsLast(NodeImport &n, Value x) {
  if (!x || n.rank(x) < 3)
    return x;
  SmallVector<int64_t> order = axesFrom(2, n.rank(x));
  order.insert(order.begin(), 0);
  order.push_back(1);
  return n.transpose(x, order);
}

/// A convolution, what is added to it, and an activation.
template <bool last> LogicalResult fusedConv(NodeImport &n) {
  Value x = n.in(0);
  Value y = convolution(n, last ? channelsFirst(n, x) : x);
  if (last)
    y = channelsLast(n, y);
  if (n.has(3))
    y = n.add(y, n.in(3));
  SmallVector<double> parameters = n.fs("activation_params").value_or(SmallVector<double>());
  parameters.resize(2);
  return n.result(activated(n, y, parameters[0], parameters[1], n.hasAttr("activation_params")));
}

LogicalResult nhwcMaxPool(NodeImport &n) {
  return n.result(channelsLast(n, pooled(n, channelsFirst(n, n.in(0)), "max")));
}

LogicalResult simplifiedLayerNorm(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  std::optional<int64_t> axis = n.axis(n.hasAttr("axis") ? n.i("axis") : -1, n.rank(x));
  return axis ? n.result(simplifiedNorm(n, x, n.in(1), realOr(n, "epsilon", 1e-5), *axis))
              : failure();
}

/// The sum of operand and skip (and bias), as input `bias`, if any.
Value skipSum(NodeImport &n, size_t bias) {
  Value x = n.in(0), skip = n.in(1);
  if (!x || !skip)
    return {};
  // The skip may lack the batch, or have one for all.
  int64_t rank = n.rank(x);
  if ((rank != 2 && rank != 3) || n.rank(skip) < 2) {
    (void)n.invalid("expected two or three dimensions of input and skip, got " + Twine(rank) +
                    " and " + Twine(n.rank(skip)));
    return {};
  }
  if (!n.stretchesTo(skip, x, "skip"))
    return {};
  for (int64_t back = 1; back <= 2; ++back)
    if (!n.isAsLarge(skip, n.rank(skip) - back, x, rank - back, "input and its skip"))
      return {};
  for (size_t i = 2; i <= bias; ++i)
    if (n.has(i) && !n.hasOneEach(n.in(i), x, rank - 1, "scale or bias"))
      return {};
  Value sum = n.add(x, skip);
  return n.has(bias) ? n.add(sum, n.in(bias)) : sum;
}

/// The mean over the last dimension and what deviations from it are divided by;
/// null where nobody wants them.
std::pair<Value, Value> statistics(NodeImport &n, Value x, double epsilon) {
  if (!x || (!n.wants(1) && !n.wants(2)))
    return {};
  Value wide = n.widen(x);
  Value mean = n.reduce(wide, "mean", {n.rank(x) - 1}, true);
  Value centred = n.sub(wide, mean);
  Value variance = n.reduce(n.mul(centred, centred), "mean", {n.rank(x) - 1}, true);
  return {mean, n.op<RsqrtOp>(n.add(variance, epsilon))};
}

LogicalResult skipLayerNorm(NodeImport &n) {
  Value sum = skipSum(n, 4), scale = n.in(2);
  if (!sum || !scale)
    return failure();
  double epsilon = realOr(n, "epsilon", 1e-12);
  Value shift = n.has(3) ? n.in(3) : n.like(sum, 0);
  Value y = n.op<LayerNormOp>(sum, scale, shift, n.number(n.rank(sum) - 1), n.real(epsilon));
  auto [mean, inverse] = statistics(n, sum, epsilon);
  return n.results({y, mean, inverse, sum});
}

LogicalResult skipSimplifiedLayerNorm(NodeImport &n) {
  Value sum = skipSum(n, 3);
  if (!sum)
    return failure();
  if (n.wants(1) || n.wants(2))
    return n.unsupported("found mean or inverse deviation as output");
  Value y = simplifiedNorm(n, sum, n.in(2), realOr(n, "epsilon", 1e-12), n.rank(sum) - 1);
  return n.results({y, {}, {}, sum});
}

/// Words, places and segments looked up, summed and normalised.
LogicalResult embedLayerNorm(NodeImport &n) {
  Value ids = n.in(0), words = n.in(2), places = n.in(3), scale = n.in(5), shift = n.in(6);
  if (!ids || !words || !places || !scale || !shift)
    return failure();
  if (n.rank(ids) != 2)
    return n.invalid("expected words of rank 2, got " + Twine(n.rank(ids)));
  Value sum = n.gather(words, ids, 0);
  Value place =
      n.has(8)
          ? n.in(8)
          : n.unsqueeze(n.op<IotaOp>(n.sizeOf(ids, 1), n.number(0), n.typeAttr(n.b.getI64Type())),
                        {0});
  sum = n.add(sum, n.gather(places, place, 0));
  if (n.has(1))
    sum = n.add(sum, n.gather(n.in(4), n.in(1), 0));
  Value y = n.op<LayerNormOp>(sum, scale, shift, n.number(2), n.real(realOr(n, "epsilon", 1e-12)));
  Value lengths;
  if (n.wants(1)) // how many entries of each mask are 1
    lengths = n.has(7) ? n.reduce(n.in(7), "sum", {1}, false)
                       : n.expandTo(n.scalar(n.b.getI32Type(), 0), n.sizeOf(ids, 0));
  return n.results({y, lengths, sum});
}

/// Softmax of data + bias over the dimensions from `axis` on, as one.
LogicalResult biasSoftmax(NodeImport &n) {
  Value x = n.add(n.in(0), n.in(1));
  if (!x)
    return failure();
  std::optional<int64_t> axis = n.axis(intOr(n, "axis", 1), n.rank(x));
  if (!axis)
    return failure();
  if (*axis == n.rank(x) - 1)
    return n.result(n.softmax(x, *axis));
  Value flat =
      n.reshapeTo(x, n.concat({n.shapeSlice(x, 0, *axis), n.sizeProduct(x, *axis, n.rank(x))}, 0));
  return n.result(n.reshapeTo(n.softmax(flat, *axis), n.shapeOf(x)));
}

LogicalResult biasAdd(NodeImport &n) { return n.result(n.add(n.add(n.in(0), n.in(1)), n.in(2))); }

/// The first half of x + bias times Gelu of the second.
LogicalResult biasSplitGelu(NodeImport &n) {
  Value x = n.add(n.in(0), n.in(1));
  int64_t last = n.rank(x) - 1;
  if (!n.isMultiple(x, last, 2, "halves"))
    return failure();
  Value all = n.sizeOf(x, last), half = n.div(all, 2.0);
  auto part = [&](Value from, Value to) {
    return n.op<SliceOp>(x, from, to, n.ints({1}), n.list({last}), n.flag(true));
  };
  Value gate = n.op<GeluOp>(part(half, all), n.flag(false));
  return n.result(n.mul(part(n.ints({0}), half), gate));
}

/// Normalisation of groups of channels, with Swish where `activation` is 1.
Value groupNormalized(NodeImport &n, Value x) {
  Value scale = n.in(1), shift = n.in(2);
  if (!x || !scale || !shift)
    return {};
  bool last = intOr(n, "channels_last", 1) != 0;
  Value planar = last ? channelsFirst(n, x) : x;
  int64_t groups = n.i("groups");
  if (!n.isMultiple(planar, 1, groups, "groups"))
    return {};
  Value wide = n.widen(planar);
  Value inner = n.div(n.sizeProduct(wide, 1, n.rank(wide)), double(groups));
  Value grouped = n.reshapeTo(wide, n.concat({n.sizeOf(wide, 0), n.ints({groups}), inner}, 0));
  Value centred = n.sub(grouped, n.reduce(grouped, "mean", {2}, true));
  Value variance = n.reduce(n.mul(centred, centred), "mean", {2}, true);
  Value y = n.mul(centred, n.op<RsqrtOp>(n.add(variance, realOr(n, "epsilon", 1e-5))));
  y = n.reshapeTo(y, n.shapeOf(wide));
  auto channel = [&](Value v) { return perChannel(n, n.cast(v, n.element(wide)), n.rank(wide)); };
  y = n.add(n.mul(y, channel(scale)), channel(shift));
  if (n.i("activation") == 1)
    y = n.mul(y, n.op<LogisticOp>(y));
  y = n.cast(y, n.element(x));
  return last ? channelsLast(n, y) : y;
}

LogicalResult groupNorm(NodeImport &n) { return n.result(groupNormalized(n, n.in(0))); }

LogicalResult skipGroupNorm(NodeImport &n) {
  Value x = n.in(0), skip = n.in(3);
  if (!x || !skip)
    return failure();
  if (n.rank(skip) == 2) // one value a channel
    skip = n.unsqueeze(skip, intOr(n, "channels_last", 1) ? ArrayRef<int64_t>{1, 2}
                                                          : ArrayRef<int64_t>{2, 3});
  Value sum = n.add(x, skip);
  if (n.has(4))
    sum = n.add(sum, intOr(n, "channels_last", 1) ? n.in(4) : perChannel(n, n.in(4), n.rank(x)));
  return n.results({groupNormalized(n, sum), sum});
}

/// Pairwise distances of the rows of two matrices.
LogicalResult pairDistances(NodeImport &n) {
  Value a = n.in(0), b = n.in(1);
  if (!a || !b || n.rank(a) != 2 || n.rank(b) != 2)
    return n.invalid("found operands that are not matrices");
  if (!n.isAsLarge(b, 1, a, 1, "vectors"))
    return failure();
  Value apart = n.sub(n.unsqueeze(a, {1}), n.unsqueeze(b, {0}));
  Value squares = n.reduce(n.mul(apart, apart), "sum", {2}, false);
  return n.result(n.s("metric") == "euclidean" ? n.sqrt(squares) : squares);
}

/// The product of complex numbers whose parts are the last dimension.
template <bool conjugate> LogicalResult complexMul(NodeImport &n) {
  Value x = n.in(0), y = n.in(1);
  if (!x || !y)
    return failure();
  for (Value v : {x, y}) {
    if (n.rank(v) == 0)
      return n.invalid("found an operand that is a scalar");
    if (!n.hasSize(v, n.rank(v) - 1, 2, "operands"))
      return failure();
  }
  int64_t last = n.rank(x) - 1;
  Value a = n.pick(x, last, 0), b = n.pick(x, last, 1);
  Value c = n.pick(y, n.rank(y) - 1, 0), d = n.pick(y, n.rank(y) - 1, 1);
  if (conjugate)
    d = n.op<NegOp>(d);
  Value real = n.sub(n.mul(a, c), n.mul(b, d));
  Value imaginary = n.add(n.mul(a, d), n.mul(b, c));
  int64_t rank = n.rank(real);
  return n.result(n.concat({n.unsqueeze(real, {rank}), n.unsqueeze(imaginary, {rank})}, rank));
}

LogicalResult expandDims(NodeImport &n) {
  Value x = n.in(0);
  std::optional<SmallVector<int64_t>> given = n.knownInts(1);
  if (!given)
    return n.result(unsqueezeAt(n, x, n.reshape(n.in(1), {1})));
  if (!x || given->size() != 1)
    return failure();
  std::optional<int64_t> axis = n.axis((*given)[0], n.rank(x) + 1);
  return axis ? n.result(n.unsqueeze(x, {*axis})) : failure();
}

LogicalResult torchEmbedding(NodeImport &n) { return n.result(n.gather(n.in(0), n.in(1), 0)); }

LogicalResult isAllFinite(NodeImport &n) {
  Value all;
  for (Value x : n.tensors()) {
    Value good = n.i("isinf_only")   ? n.logicalNot(n.op<IsInfOp>(x))
                 : n.i("isnan_only") ? n.logicalNot(n.op<IsNanOp>(x))
                                     : n.op<IsFiniteOp>(x);
    good = n.reduce(good, "all", axesFrom(0, n.rank(x)), false);
    all = all ? n.op<AndOp>(all, good) : good;
  }
  return n.result(all);
}

/// x · scale / sqrt(mean of squares + epsilon) times an activation of the gate.
LogicalResult gatedRmsNorm(NodeImport &n) {
  Value x = n.in(0), scale = n.in(1), gate = n.widen(n.in(2));
  if (!x || !scale || !gate)
    return failure();
  // ONNX Runtime reads the scale's elements, whatever its shape.
  if (n.rank(scale) != 1)
    scale = n.reshape(scale, {-1});
  if (n.rank(x) < 1)
    return n.invalid("expected rows, got a scalar");
  if (!n.isSameShape(gate, x, "gate"))
    return failure();
  std::string_view name = n.hasAttr("activation") ? n.s("activation") : "silu";
  bool isSilu = name == "silu" || name == "swish";
  if (!isSilu && name != "sigmoid")
    return n.unsupported("found activation " + Twine(name));
  Value opened = n.op<LogisticOp>(gate);
  if (isSilu)
    opened = n.mul(gate, opened);
  // A row may be several groups, each as long as the scale.
  int64_t last = n.rank(x) - 1, size = n.dim(scale, 0);
  Value groups = n.widen(x), shape = n.shapeOf(x);
  if (ShapedType::isDynamic(size) || size != n.dim(x, last)) {
    if (!ShapedType::isDynamic(size) && !n.isMultiple(x, last, size, "elements of the scale"))
      return failure();
    Value count = n.div(n.sizeOf(x, last), n.sizeOf(scale, 0));
    groups =
        n.reshapeTo(groups, n.concat({n.shapeSlice(x, 0, last), count, n.sizeOf(scale, 0)}, 0));
    ++last;
  }
  Value y = simplifiedNorm(n, groups, n.widen(scale), realOr(n, "epsilon", 1e-5), last);
  y = n.reshapeTo(y, shape);
  return n.result(n.cast(n.mul(y, opened), n.element(x)));
}

/// What is dropped when a model trains stays where it is used.
LogicalResult biasDropout(NodeImport &n) {
  bool isTrained = n.graph.training;
  if (n.has(4) && !isTrained) {
    std::optional<SmallVector<int64_t>> training = n.knownInts(4);
    if (!training || training->size() != 1 || (*training)[0])
      return n.unsupported("expected training_mode to be false, got true");
  }
  Value y = n.add(n.in(0), n.in(1));
  if (isTrained && y)
    y = markDropout(n, y, 3);
  if (n.has(2) && y)
    y = n.add(y, n.in(2));
  Value mask;
  if (n.wants(1) && y)
    mask = n.expandTo(n.scalar(n.b.getI1Type(), 1), n.shapeOf(y));
  return n.results({y, mask});
}

constexpr std::string_view microsoft = "com.microsoft";

constexpr OperatorImport table[] = {
    {microsoft, "BiasAdd", 1, 0, biasAdd},
    {microsoft, "BiasDropout", 1, 0, biasDropout},
    {microsoft, "BiasGelu", 1, 0, biasGelu},
    {microsoft, "BiasSoftmax", 1, 0, biasSoftmax},
    {microsoft, "BiasSplitGelu", 1, 0, biasSplitGelu},
    {microsoft, "CDist", 1, 0, pairDistances},
    {microsoft, "ComplexMul", 1, 0, complexMul<false>},
    {microsoft, "ComplexMulConj", 1, 0, complexMul<true>},
    {microsoft, "EmbedLayerNormalization", 1, 0, embedLayerNorm},
    {microsoft, "ExpandDims", 1, 0, expandDims},
    {microsoft, "FastGelu", 1, 0, fastGelu},
    {microsoft, "FusedConv", 1, 0, fusedConv<false>},
    {microsoft, "FusedGemm", 1, 0, fusedGemm},
    {microsoft, "FusedMatMul", 1, 0, fusedMatMul},
    {microsoft, "FusedMatMulActivation", 1, 0, fusedMatMulActivation},
    {microsoft, "GatedRMSNorm", 1, 0, gatedRmsNorm},
    {microsoft, "Gelu", 1, 0, gelu},
    {microsoft, "GemmFastGelu", 1, 0, gemmFastGelu},
    {microsoft, "GroupNorm", 1, 0, groupNorm},
    {microsoft, "IsAllFinite", 1, 0, isAllFinite},
    {microsoft, "NhwcConv", 1, 0, fusedConv<true>},
    {microsoft, "NhwcFusedConv", 1, 0, fusedConv<true>},
    {microsoft, "NhwcMaxPool", 1, 0, nhwcMaxPool},
    {microsoft, "QuickGelu", 1, 0, quickGelu},
    {microsoft, "SimplifiedLayerNormalization", 1, 0, simplifiedLayerNorm},
    {microsoft, "SkipGroupNorm", 1, 0, skipGroupNorm},
    {microsoft, "SkipLayerNormalization", 1, 0, skipLayerNorm},
    {microsoft, "SkipSimplifiedLayerNormalization", 1, 0, skipSimplifiedLayerNorm},
    {microsoft, "TorchEmbedding", 1, 0, torchEmbedding},
    {microsoft, "TransposeMatMul", 1, 0, fusedMatMul},
    {"", "SimplifiedLayerNormalization", 1, 0, simplifiedLayerNorm},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::microsoftImports() { return table; }
