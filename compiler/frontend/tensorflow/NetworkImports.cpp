//===- NetworkImports.cpp - layers of networks ----------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/Import.h"
#include "compiler/frontend/lowering/IntegerLimits.h"
#include "compiler/frontend/tensorflow/GraphImporter.h"
#include "compiler/frontend/tensorflow/NodeImport.h"
#include "compiler/frontend/tensorflow/Sparse.h"
#include "compiler/frontend/tensorflow/Windows.h"
#include "dialects/weir/Training.h"

#include <cmath>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The matrix product of the last two dimensions; flags say which operand is
/// transposed, `conjugate` whether that is the adjoint.
static Value product(NodeImport &n, Value x, Value y, bool transposeX, bool transposeY,
                     bool conjugate) {
  auto flip = [&](Value v) -> Value {
    if (!v || n.rank(v) < 2)
      return {};
    IntVector order = axesFrom(0, n.rank(v));
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    v = n.transpose(v, order);
    if (v && conjugate && isa<ComplexType>(n.element(v)))
      v = n.op<ConjOp>(v);
    return v;
  };
  if (transposeX)
    x = flip(x);
  if (transposeY)
    y = flip(y);
  return n.matmul(x, y);
}

static LogicalResult matMul(NodeImport &n) {
  Value x = n.in(0), y = n.in(1);
  if (!x || !y)
    return failure();
  if (n.rank(x) != 2 || n.rank(y) != 2)
    return n.invalid("expected two matrices, got ranks " + Twine(n.rank(x)) + " and " +
                     Twine(n.rank(y)));
  return n.result(product(n, x, y, n.isSet("transpose_a"), n.isSet("transpose_b"), false));
}

static LogicalResult batchMatMul(NodeImport &n) {
  Value x = n.in(0), y = n.in(1);
  if (!x || !y)
    return failure();
  if (n.rank(x) < 2 || n.rank(y) < 2)
    return n.invalid("found a tensor of rank below 2");
  // The first version does not broadcast.
  if (n.node.op == "BatchMatMul" &&
      (n.rank(x) != n.rank(y) ? failed(n.invalid("expected operands of one rank, got " +
                                                 Twine(n.rank(x)) + " and " + Twine(n.rank(y))))
                              : failed(requireSame(n, x, y, "batches", 0, n.rank(x) - 2))))
    return failure();
  if (n.node.op == "BatchMatMulV3") {
    Type type = n.elementAttr("Tout");
    x = n.cast(x, type);
    y = n.cast(y, type);
  }
  return n.result(product(n, x, y, n.isSet("adj_x"), n.isSet("adj_y"), true));
}

static LogicalResult biasAdd(NodeImport &n) {
  Value x = n.in(0), bias = n.in(1);
  if (!x || !bias)
    return failure();
  if (n.rank(x) < 2)
    return n.invalid("expected rank 2 or more, got " + Twine(n.rank(x)));
  bool isFirst = n.node.op == "BiasAdd" && n.s("data_format") == "NCHW";
  if (failed(requireShape(n, bias, n.sizeOf(x, isFirst ? 1 : n.rank(x) - 1), "biases")))
    return failure();
  if (isFirst)
    bias = n.unsqueeze(bias, axesFrom(1, n.rank(x) - 1));
  return n.result(n.add(x, bias));
}

static LogicalResult biasAddGrad(NodeImport &n) {
  Value g = n.in(0);
  if (!g)
    return failure();
  int64_t channel = n.s("data_format") == "NCHW" ? 1 : n.rank(g) - 1;
  IntVector axes;
  for (int64_t i = 0; i < n.rank(g); ++i)
    if (i != channel)
      axes.push_back(i);
  return n.result(n.reduce(g, "sum", axes, false));
}

//===----------------------------------------------------------------------===//
// Normalisation
//===----------------------------------------------------------------------===//

static LogicalResult fusedBatchNorm(NodeImport &n) {
  Value x = n.in(0), scale = n.in(1), offset = n.in(2), mean = n.in(3), variance = n.in(4);
  if (!x || !scale || !offset || !mean || !variance)
    return failure();
  std::string_view format = n.s("data_format");
  bool first = format == "NCHW" || format == "NCDHW";
  int64_t rank = n.rank(x), axis = first ? 1 : rank - 1;
  if (rank < 3)
    return n.invalid("expected rank 4 or 5, got " + Twine(rank));
  Value channels = n.sizeOf(x, axis);
  bool isTraining = n.isSet("is_training");
  for (auto [v, what] : {std::pair(scale, "scales"), std::pair(offset, "offsets"),
                         std::pair(isTraining ? Value() : mean, "means"),
                         std::pair(isTraining ? Value() : variance, "variances")})
    if (v && failed(requireShape(n, v, channels, what)))
      return failure();
  Type result = n.element(x), statistics = n.element(scale);
  Value wide = n.cast(x, statistics);
  Value outMean = mean, outVariance = variance;
  if (n.isSet("is_training")) {
    IntVector axes, others;
    for (int64_t i = 0; i < rank; ++i)
      if (i != axis)
        axes.push_back(i);
    Value batchMean = n.reduce(wide, "mean", axes, false);
    Value centred = n.sub(wide, n.unsqueeze(batchMean, axesFrom(1, rank - axis)));
    Value batchVariance = n.reduce(n.mul(centred, centred), "mean", axes, false);
    // What goes out is the unbiased variance, blended with what came in.
    Value count = n.ints({1});
    for (int64_t i : axes)
      count = n.mul(count, n.sizeOf(x, i));
    count = n.toScalar(n.cast(count, statistics));
    Value unbiased = n.mul(batchVariance, n.div(count, n.maximum(n.sub(count, 1.0), 1.0)));
    double factor = n.attr("exponential_avg_factor") ? n.f("exponential_avg_factor") : 1.0;
    auto blend = [&](Value now, Value before) {
      return factor == 1.0 ? now : n.add(n.mul(now, factor), n.mul(before, 1.0 - factor));
    };
    outMean = blend(batchMean, mean);
    outVariance = blend(unbiased, variance);
    mean = batchMean;
    variance = batchVariance;
  }
  Value savedMean = mean, savedVariance = variance;
  if (n.isSet("is_training"))
    // TensorFlow's gradient is that of y alone.
    for (Value *statistic : {&outMean, &outVariance, &savedMean, &savedVariance})
      *statistic = n.stopGradient(*statistic);
  Value y = n.op<BatchNormOp>(wide, scale, offset, mean, variance, n.number(axis),
                              n.real(n.f("epsilon")));
  // A graph that infers does not say how fast its statistics move: as Keras's do.
  if (y && !n.isSet("is_training") && n.g.options && n.g.options->training) {
    y.getDefiningOp()->setAttr(momentumAttr, n.real(0.99));
    y.getDefiningOp()->setAttr(unbiasedAttr, n.b.getUnitAttr());
  }
  y = n.cast(y, result);
  SmallVector<Value> all = {y, outMean, outVariance, savedMean, savedVariance};
  if (n.node.op == "FusedBatchNormV3")
    all.push_back(n.scalar(statistics, 0));
  return n.results(all);
}

static LogicalResult globalNorm(NodeImport &n) {
  Value x = n.in(0), mean = n.in(1), variance = n.in(2), beta = n.in(3), gamma = n.in(4);
  if (!x || !gamma)
    return failure();
  if (!n.isSet("scale_after_normalization"))
    gamma = n.expandTo(n.like(gamma, 1), n.shapeOf(gamma));
  return n.result(n.op<BatchNormOp>(x, gamma, beta, mean, variance, n.number(n.rank(x) - 1),
                                    n.real(n.f("variance_epsilon"))));
}

static LogicalResult lrn(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  int64_t radius = n.i("depth_radius");
  if (radius != 0 && !n.isStep(radius))
    return n.invalid("expected depth_radius 0 to 2^31 - 1, got " + Twine(radius));
  return n.result(n.op<LrnOp>(x, n.number(n.rank(x) - 1), n.number(2 * radius + 1),
                              n.number(radius), n.real(n.f("alpha")), n.real(n.f("beta")),
                              n.real(n.f("bias"))));
}

//===----------------------------------------------------------------------===//
// Softmax and its losses
//===----------------------------------------------------------------------===//

template <bool log> static LogicalResult softmax(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  if (n.rank(x) < 1)
    return n.invalid("found a scalar");
  return n.result(n.softmax(x, n.rank(x) - 1, log));
}

static LogicalResult crossEntropy(NodeImport &n) {
  Value features = n.in(0), labels = n.in(1);
  if (!features || !labels)
    return failure();
  // Both broadcast.
  Value x = features;
  if (!n.isStatic(features) || features.getType() != labels.getType())
    x = n.expandTo(features, n.shapeOf(n.compare("eq", features, labels)));
  Value logs = n.softmax(x, 1, true);
  Value products = n.mul(labels, logs);
  Value loss = n.op<NegOp>(n.reduce(products, "sum", {1}, false));
  return n.results({loss, n.sub(n.softmax(x, 1), labels)});
}

/// indices == 0, 1, … along a new last dimension.
static Value oneHot(NodeImport &n, Value indices, Value depth) {
  Value classes = n.op<IotaOp>(n.reshape(depth, {1}), n.number(0), n.typeAttr(n.element(indices)));
  return n.compare("eq", n.unsqueeze(indices, {n.rank(indices)}), classes);
}

static LogicalResult sparseCrossEntropy(NodeImport &n) {
  Value x = n.in(0), labels = n.in(1);
  if (!n.hasRank(x, 2) || failed(requireShape(n, labels, n.sizeOf(x, 0), "labels")))
    return failure();
  Value wide = n.toI64(labels);
  if (n.dim(x, 1) == 0)
    return n.invalid("expected a class at least, got none");
  if (ShapedType::isDynamic(n.dim(x, 1)))
    require(n, n.compare("gt", n.sizeOf(x, 1), 0), "there are no classes");
  require(n,
          n.op<AndOp>(n.compare("ge", wide, 0), n.compare("lt", wide, n.toScalar(n.sizeOf(x, 1)))),
          "a label is outside of the classes");
  Value logs = n.softmax(x, 1, true);
  Value hot = oneHot(n, labels, n.sizeOf(x, 1));
  // Of the class itself; others are left out, not multiplied by zero.
  Value picked = n.reduce(n.select(hot, logs, n.like(x, 0)), "sum", {1}, false);
  Value gradient = n.sub(n.softmax(x, 1), n.cast(hot, n.element(x)));
  return n.results({n.op<NegOp>(picked), gradient});
}

//===----------------------------------------------------------------------===//
// Dilation
//===----------------------------------------------------------------------===//

/// Which of the windows along dimension `i` have their element `at` inside of an image of `size`
/// elements, along dimension 1 + i of four; null where all have.
static Value insideOf(NodeImport &n, const DilationSpec &spec, int64_t i, int64_t at, Value size) {
  if (spec.windows.padding != Windows::Same)
    return {};
  Type i64 = n.b.getI64Type();
  Value step = n.op<IotaOp>(spec.steps[i], n.number(0), n.typeAttr(i64));
  Value place = n.add(n.mul(step, static_cast<double>(spec.windows.strides[i])),
                      static_cast<double>(at * spec.windows.dilations[i]));
  place = n.sub(place, spec.border.before[i]);
  Value inside = n.op<AndOp>(n.compare("ge", place, 0), n.compare("lt", place, size));
  if (auto known = constantIntegers(inside)) {
    if (!llvm::is_contained(*known, 0))
      return {};
    SmallVector<bool> each(known->begin(), known->end());
    auto type = RankedTensorType::get({static_cast<int64_t>(each.size())}, n.b.getI1Type());
    inside = n.constant(DenseElementsAttr::get(type, each));
  }
  return n.unsqueeze(inside, i == 0 ? IntVector{0, 2, 3} : IntVector{0, 1, 3});
}

/// The largest sum of an element and its weight in windows of any size, as `dilation` has it.
static Value dilationOf(NodeImport &n, Value padded, Value filter, const DilationSpec &spec,
                        ArrayRef<Value> sizes, double lowest) {
  Value sum = n.add(dilatedWindows(n, padded, spec), filter);
  Value takes = n.compare("gt", sum, n.like(padded, lowest));
  for (int64_t i = 0; i < 2 && spec.windows.padding == Windows::Same; ++i) {
    Value place = n.sub(dilatedPlaces(n, spec, i), spec.border.before[i]);
    Value inside = n.op<AndOp>(n.compare("ge", place, 0), n.compare("lt", place, sizes[i]));
    takes = n.op<AndOp>(
        takes, n.unsqueeze(inside, i == 0 ? IntVector{0, 2, 4, 5} : IntVector{0, 1, 3, 5}));
  }
  return n.reduce(n.select(takes, sum, n.like(padded, lowest)), "max", {3, 4}, false);
}

/// The largest sum of an element and its weight, over those inside of the image that are larger
/// than the lowest number; else that, and NaN is not, as TensorFlow has it.
static LogicalResult dilation(NodeImport &n) {
  Value x = n.in(0), filter = n.in(1);
  auto spec = readDilation(n, x, filter);
  if (!spec)
    return failure();
  Type element = n.element(x);
  double lowest = 0;
  if (auto real = dyn_cast<FloatType>(element))
    lowest =
        llvm::APFloat::getLargest(real.getFloatSemantics(), /*Negative=*/true).convertToDouble();
  else
    lowest = frontend::IntegerLimits(cast<IntegerType>(element)).lowest;
  Value padded = padAtRunTime(n, x, spec->windows, spec->border, n.like(x, 0));
  SmallVector<Value> sizes = spatialSizesOf(n, spec->windows, x);
  if (!spec->isUnrolled)
    return n.result(dilationOf(n, padded, filter, *spec, sizes, lowest));
  Value best;
  for (int64_t h = 0; h < spec->window.known[0]; ++h)
    for (int64_t w = 0; w < spec->window.known[1]; ++w) {
      Value weight = n.pick(n.pick(filter, 0, h), 0, w);
      Value sum = n.add(dilatedPart(n, padded, *spec, h, w), weight);
      Value before = best ? best : n.like(x, lowest), takes = n.compare("gt", sum, before);
      for (Value inside : {insideOf(n, *spec, 0, h, sizes[0]), insideOf(n, *spec, 1, w, sizes[1])})
        if (inside)
          takes = n.op<AndOp>(takes, inside);
      best = n.select(takes, sum, before);
    }
  return n.result(best);
}

/// Bounds that compiling does not know may be NaN, which is none.
/// Real elements between two bounds; where these are crossed, the lower one wins.
static Value between(NodeImport &n, Value x, Value low, Value high) {
  auto isNumber = [](Value bound) {
    APFloat value(0.0);
    return matchPattern(bound, m_ConstantFloat(&value)) && !value.isNaN();
  };
  if (!n.isFloat(x) || (isNumber(low) && isNumber(high)))
    return n.maximum(n.minimum(x, high), low);
  Value cut = n.select(n.compare("gt", x, high), high, x);
  return n.select(n.compare("lt", cut, low), low, cut);
}

/// Real and imaginary parts of complex elements lie each between those of the bounds.
static LogicalResult clip(NodeImport &n) {
  Value x = n.in(0), low = n.in(1), high = n.in(2);
  if (!x || !low || !high)
    return failure();
  for (Value bound : {low, high})
    if (n.rank(x) >= 0 && n.rank(bound) > 0 &&
        failed(requireSame(n, x, bound, "the operand and a bound")))
      return failure();
  if (!isa<ComplexType>(n.element(x)))
    return n.result(between(n, x, low, high));
  auto part = [&]<typename Part>() {
    return between(n, n.op<Part>(x), n.op<Part>(low), n.op<Part>(high));
  };
  Value real = part.operator()<RealOp>(), imag = part.operator()<ImagOp>();
  return n.result(n.op<ComplexOp>(real, imag));
}

ArrayRef<OpImport> weir::tf::networkImports() {
  static const OpImport rows[] = {
      {"MatMul", matMul},
      {"BatchMatMul", batchMatMul},
      {"BatchMatMulV2", batchMatMul},
      {"BatchMatMulV3", batchMatMul},
      {"BiasAdd", biasAdd},
      {"BiasAddV1", biasAdd},
      {"BiasAddGrad", biasAddGrad},
      {"FusedBatchNorm", fusedBatchNorm},
      {"FusedBatchNormV2", fusedBatchNorm},
      {"FusedBatchNormV3", fusedBatchNorm},
      {"BatchNormWithGlobalNormalization", globalNorm},
      {"LRN", lrn},
      {"Softmax", softmax<false>},
      {"LogSoftmax", softmax<true>},
      {"ClipByValue", clip},
      {"SoftmaxCrossEntropyWithLogits", crossEntropy},
      {"SparseSoftmaxCrossEntropyWithLogits", sparseCrossEntropy},
      {"Dilation2D", dilation},
  };
  return rows;
}
