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

/// Maximum over a window of value + filter, written out over the window.
/// The largest sum of an element and its weight, over those inside of the image that are larger
/// than the lowest number; else that, and NaN is not, as TensorFlow has it.
static LogicalResult dilation(NodeImport &n) {
  Value x = n.in(0), filter = n.in(1);
  if (!x || !filter)
    return failure();
  IntVector strides = n.is("strides"), rates = n.is("rates");
  if (!n.hasRank(x, 4) || !n.hasRank(filter, 3))
    return failure();
  if (strides.size() != 4 || rates.size() != 4)
    return n.invalid("found strides or rates that are no four numbers");
  Ints shape = n.sizes(x), window = n.sizes(filter);
  if (ShapedType::isDynamicShape(shape.slice(1, 2)) ||
      ShapedType::isDynamicShape(window.take_front(2)))
    return n.unsupported("expected heights and widths that are known when the model is compiled, "
                         "got open ones");
  if (window[0] * window[1] > 1024)
    return n.unsupported("found a window of more than 1024 elements");
  IntVector pads(8, 0), outputs;
  for (int i = 0; i < 2; ++i) {
    int64_t size = shape[1 + i], stride = strides[1 + i];
    if (!n.isStep(stride) || !n.isStep(rates[1 + i]))
      return n.invalid("found a stride or rate that is not in [1, 2^31)");
    int64_t reach = (window[i] - 1) * rates[1 + i] + 1;
    bool same = n.s("padding") == "SAME";
    int64_t steps = same ? (size + stride - 1) / stride : (size - reach + stride) / stride;
    int64_t total = same ? std::max<int64_t>((steps - 1) * stride + reach - size, 0) : 0;
    pads[1 + i] = total / 2;
    pads[5 + i] = total - total / 2;
    outputs.push_back(steps);
  }
  Type element = n.element(x);
  double lowest = 0;
  if (auto real = dyn_cast<FloatType>(element))
    lowest =
        llvm::APFloat::getLargest(real.getFloatSemantics(), /*Negative=*/true).convertToDouble();
  else
    lowest = frontend::IntegerLimits(cast<IntegerType>(element)).lowest;
  Value padded = n.op<PadOp>(x, n.ints(pads), n.like(x, 0), n.text("constant"));
  // Which of an axis' windows have their element `at` inside.
  auto inside = [&](int axis, int64_t at) {
    SmallVector<bool> is;
    for (int64_t i = 0; i < outputs[axis]; ++i) {
      int64_t place = i * strides[1 + axis] + at * rates[1 + axis] - pads[1 + axis];
      is.push_back(place >= 0 && place < shape[1 + axis]);
    }
    return is;
  };
  Value best;
  for (int64_t h = 0; h < window[0]; ++h)
    for (int64_t w = 0; w < window[1]; ++w) {
      int64_t top = h * rates[1], left = w * rates[2];
      Value part = n.op<SliceOp>(padded, n.ints({top, left}),
                                 n.ints({top + (outputs[0] - 1) * strides[1] + 1,
                                         left + (outputs[1] - 1) * strides[2] + 1}),
                                 n.ints({strides[1], strides[2]}), n.list({1, 2}), n.flag(false));
      Value weight = n.pick(n.pick(filter, 0, h), 0, w);
      Value sum = n.add(part, weight);
      Value before = best ? best : n.like(x, lowest), takes = n.compare("gt", sum, before);
      SmallVector<bool> rows = inside(0, h), columns = inside(1, w);
      if (!llvm::all_of(rows, [](bool is) { return is; }) ||
          !llvm::all_of(columns, [](bool is) { return is; })) {
        SmallVector<bool> both;
        for (bool row : rows)
          for (bool column : columns)
            both.push_back(row && column);
        auto type = RankedTensorType::get({1, outputs[0], outputs[1], 1}, n.b.getI1Type());
        takes = n.op<AndOp>(takes, n.constant(DenseElementsAttr::get(type, both)));
      }
      best = n.select(takes, sum, before);
    }
  return n.result(best);
}

/// Bounds that compiling does not know may be NaN, which is none.
static LogicalResult clip(NodeImport &n) {
  Value x = n.in(0), low = n.in(1), high = n.in(2);
  if (!x || !low || !high)
    return failure();
  if (isa<ComplexType>(n.element(x)))
    return n.unsupported("found complex elements, which have no order");
  for (Value bound : {low, high})
    if (n.rank(x) >= 0 && n.rank(bound) > 0 &&
        failed(requireSame(n, x, bound, "the operand and a bound")))
      return failure();
  auto isNumber = [](Value bound) {
    APFloat value(0.0);
    return matchPattern(bound, m_ConstantFloat(&value)) && !value.isNaN();
  };
  // Where the bounds are crossed, the lower one wins.
  if (!n.isFloat(x) || (isNumber(low) && isNumber(high)))
    return n.result(n.maximum(n.minimum(x, high), low));
  Value cut = n.select(n.compare("gt", x, high), high, x);
  return n.result(n.select(n.compare("lt", cut, low), low, cut));
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
