//===- GradientImports.cpp - the operations that gradients are made of ----===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/NodeImport.h"

#include <algorithm>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

/// Input 0; of a complex function, what its gradient multiplies with.
static Value conjugate(NodeImport &n) {
  Value y = n.in(0);
  return y && isa<ComplexType>(n.element(y)) ? n.op<ConjOp>(y) : y;
}

/// dy (1 - y²), of y = tanh x
static LogicalResult tanhGrad(NodeImport &n) {
  Value y = n.in(0), dy = n.in(1);
  return n.result(n.mul(dy, n.sub(n.like(y, 1), n.mul(y, y))));
}

static LogicalResult sigmoidGrad(NodeImport &n) {
  Value y = n.in(0), dy = n.in(1);
  return n.result(n.mul(n.mul(dy, y), n.sub(n.like(y, 1), y)));
}

static LogicalResult sqrtGrad(NodeImport &n) {
  Value y = conjugate(n), dy = n.in(1);
  return n.result(n.div(n.mul(dy, 0.5), y));
}

static LogicalResult rsqrtGrad(NodeImport &n) {
  Value y = conjugate(n), dy = n.in(1);
  return n.result(n.mul(n.mul(dy, -0.5), n.mul(n.mul(y, y), y)));
}

static LogicalResult reciprocalGrad(NodeImport &n) {
  Value y = conjugate(n), dy = n.in(1);
  return n.result(n.mul(n.op<NegOp>(dy), n.mul(y, y)));
}

/// dy where a predicate holds, zero elsewhere.
static Value where(NodeImport &n, Value condition, Value dy) {
  return n.select(condition, dy, n.like(dy, 0));
}

static LogicalResult reluGrad(NodeImport &n) {
  Value dy = n.in(0), x = n.in(1);
  return n.result(where(n, n.compare("gt", x, 0), dy));
}

static LogicalResult relu6Grad(NodeImport &n) {
  Value dy = n.in(0), x = n.in(1);
  Value inside = n.op<AndOp>(n.compare("gt", x, 0), n.compare("lt", x, 6));
  return n.result(where(n, inside, dy));
}

static LogicalResult leakyReluGrad(NodeImport &n) {
  Value dy = n.in(0), x = n.in(1);
  return n.result(n.select(n.compare("gt", x, 0), dy,
                           n.mul(dy, n.f("alpha"))));
}

/// Of the output: elu'(x) = y + 1 where y < 0.
static LogicalResult eluGrad(NodeImport &n) {
  Value dy = n.in(0), y = n.in(1);
  return n.result(n.select(n.compare("lt", y, 0),
                           n.mul(n.add(y, 1.0), dy), dy));
}

static LogicalResult seluGrad(NodeImport &n) {
  Value dy = n.in(0), y = n.in(1);
  constexpr double scale = 1.0507009873554804934193349852946;
  constexpr double scaleAlpha = 1.7580993408473768599402175208123;
  return n.result(n.select(n.compare("lt", y, 0),
                           n.mul(dy, n.add(y, scaleAlpha)),
                           n.mul(dy, scale)));
}

static LogicalResult softplusGrad(NodeImport &n) {
  Value dy = n.in(0), x = n.in(1);
  return n.result(n.div(dy, n.add(n.exp(n.op<NegOp>(x)), 1.0)));
}

static LogicalResult softsignGrad(NodeImport &n) {
  Value dy = n.in(0), x = n.in(1);
  Value d = n.add(n.op<AbsOp>(x), 1.0);
  return n.result(n.div(dy, n.mul(d, d)));
}

/// A gradient of a strided slice: zeros of the operand's shape, with dy where
/// the slice was. Written with the slice of the operand's positions.
static LogicalResult stridedSliceGrad(NodeImport &n) {
  auto shape = n.constantInts(0), begin = n.constantInts(1),
       end = n.constantInts(2), strides = n.constantInts(3);
  Value dy = n.in(4);
  if (!shape || !begin || !end || !strides || !dy)
    return failure();
  int64_t rank = shape->size(), entries = begin->size();
  auto isSet = [&](std::string_view mask, int64_t i) {
    return i < 64 && ((n.i(mask) >> i) & 1);
  };
  int64_t consumed = 0;
  for (int64_t i = 0; i < entries; ++i)
    consumed += !isSet("ellipsis_mask", i) && !isSet("new_axis_mask", i);
  // For each dimension of the operand, its positions in the slice.
  std::vector<IntVector> positions;
  auto all = [&](int64_t size) { return axesFrom(0, size); };
  int64_t axis = 0;
  for (int64_t i = 0; i < entries; ++i) {
    if (isSet("ellipsis_mask", i)) {
      for (int64_t k = 0; k < rank - consumed; ++k)
        positions.push_back(all((*shape)[axis++]));
      continue;
    }
    if (isSet("new_axis_mask", i))
      continue;
    if (axis >= rank)
      return n.invalid("found more indices than dimensions");
    int64_t size = (*shape)[axis++], step = (*strides)[i];
    if (step == 0)
      return n.invalid("found a step of 0");
    auto clamp = [&](int64_t bound) {
      bound = bound < 0 ? bound + size : bound;
      return step > 0 ? std::clamp<int64_t>(bound, 0, size)
                      : std::clamp<int64_t>(bound, -1, size - 1);
    };
    IntVector list;
    if (isSet("shrink_axis_mask", i)) {
      int64_t at = (*begin)[i];
      list.push_back(at < 0 ? at + size : at);
    } else {
      int64_t from = isSet("begin_mask", i) ? (step > 0 ? 0 : size - 1)
                                            : clamp((*begin)[i]);
      int64_t to = isSet("end_mask", i) ? (step > 0 ? size : -1)
                                        : clamp((*end)[i]);
      for (int64_t at = from; step > 0 ? at < to : at > to; at += step)
        list.push_back(at);
    }
    positions.push_back(std::move(list));
  }
  while (axis < rank)
    positions.push_back(all((*shape)[axis++]));
  IntVector sizes;
  for (const IntVector &list : positions)
    sizes.push_back(list.size());
  Value updates = n.reshape(dy, sizes);
  // Dimension by dimension, from the last: rows into zeros.
  for (int64_t d = rank; d-- > 0;) {
    if (!updates)
      return failure();
    if (positions[d] == all((*shape)[d]))
      continue;
    IntVector order = {d};
    for (int64_t k = 0; k < rank; ++k)
      if (k != d)
        order.push_back(k);
    IntVector back(rank), target;
    for (int64_t k = 0; k < rank; ++k)
      back[order[k]] = k;
    for (int64_t k : order)
      target.push_back(k == d ? (*shape)[d] : sizes[k]);
    Value rows = n.transpose(updates, order);
    Value zeros = n.expandTo(n.like(dy, 0), n.ints(target));
    Value index = n.unsqueeze(n.ints(positions[d]), {1});
    updates = n.transpose(n.op<ScatterNdOp>(zeros, index, rows, n.text("none"),
                                            n.flag(false), n.flag(false)),
                          back);
    sizes[d] = (*shape)[d];
  }
  return n.result(updates);
}

/// Training gradients of batch normalisation; for inference the statistics are
/// constants.
static LogicalResult fusedBatchNormGrad(NodeImport &n) {
  Value dy = n.in(0), x = n.in(1), scale = n.in(2), mean = n.in(3),
        variance = n.in(4);
  if (!dy || !x || !scale || !mean || !variance)
    return failure();
  std::string_view format = n.s("data_format");
  bool first = format == "NCHW" || format == "NCDHW";
  int64_t rank = n.rank(x), axis = first ? 1 : rank - 1;
  Type statistics = n.element(scale), result = n.element(x);
  IntVector axes;
  for (int64_t i = 0; i < rank; ++i)
    if (i != axis)
      axes.push_back(i);
  auto spread = [&](Value v) {
    return n.unsqueeze(v, axesFrom(1, rank - axis));
  };
  Value wideX = n.cast(x, statistics), wideDy = n.cast(dy, statistics);
  double epsilon = n.f("epsilon");
  bool training = n.isSet("is_training");
  Value centre = mean, rstd;
  if (training) {
    centre = n.reduce(wideX, "mean", axes, false);
    Value d = n.sub(wideX, spread(centre));
    Value spreadOut = n.reduce(n.mul(d, d), "mean", axes, false);
    rstd = n.op<RsqrtOp>(n.add(spreadOut, epsilon));
  } else {
    rstd = n.op<RsqrtOp>(n.add(variance, epsilon));
  }
  Value centred = n.sub(wideX, spread(centre));
  Value dOffset = n.reduce(wideDy, "sum", axes, false);
  Value normal = n.mul(centred, spread(rstd));
  Value dScale = n.reduce(n.mul(wideDy, normal), "sum", axes, false);
  Value dx;
  if (training) {
    Value count = n.ints({1});
    for (int64_t i : axes)
      count = n.mul(count, n.sizeOf(x, i));
    count = n.toScalar(n.cast(count, statistics));
    Value inner = n.sub(n.sub(wideDy, spread(n.div(dOffset, count))),
                        n.mul(normal, spread(n.div(dScale, count))));
    dx = n.mul(inner, spread(n.mul(scale, rstd)));
  } else {
    dx = n.mul(wideDy, spread(n.mul(scale, rstd)));
  }
  Value none = n.splat(statistics, {0}, 0);
  return n.results({n.cast(dx, result), dScale, dOffset, none, none});
}

ArrayRef<OpImport> weir::tf::gradientImports() {
  static const OpImport rows[] = {
      {"TanhGrad", tanhGrad},
      {"SigmoidGrad", sigmoidGrad},
      {"SqrtGrad", sqrtGrad},
      {"RsqrtGrad", rsqrtGrad},
      {"ReciprocalGrad", reciprocalGrad},
      {"InvGrad", reciprocalGrad},
      {"ReluGrad", reluGrad},
      {"Relu6Grad", relu6Grad},
      {"LeakyReluGrad", leakyReluGrad},
      {"EluGrad", eluGrad},
      {"SeluGrad", seluGrad},
      {"SoftplusGrad", softplusGrad},
      {"SoftsignGrad", softsignGrad},
      {"StridedSliceGrad", stridedSliceGrad},
      {"FusedBatchNormGrad", fusedBatchNormGrad},
      {"FusedBatchNormGradV2", fusedBatchNormGrad},
      {"FusedBatchNormGradV3", fusedBatchNormGrad},
  };
  return rows;
}
