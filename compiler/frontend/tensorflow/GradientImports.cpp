//===- GradientImports.cpp - the operations that gradients are made of ----===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/lowering/GivenShape.h"
#include "compiler/frontend/tensorflow/Resampling.h"
#include "compiler/frontend/tensorflow/Sparse.h"
#include "dialects/weir/SizeOrigins.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

/// Input 0; of a complex function, what its gradient multiplies with.
static Value conjugate(NodeImport &n) {
  Value y = n.in(0);
  return y && isa<ComplexType>(n.element(y)) ? n.op<ConjOp>(y) : y;
}

/// Input 1 in the shape of input 0: TensorFlow pairs the elements of both in their order, and
/// refuses other numbers of elements.
static Value gradientOf(NodeImport &n) {
  Value y = n.in(0), dy = n.in(1);
  if (!y || !dy)
    return {};
  SizeOrigins origins;
  bool isSame = n.rank(y) == n.rank(dy);
  for (int64_t i = 0; isSame && i < n.rank(y); ++i)
    isSame = origins.areEqual(y, i, dy, i);
  if (isSame)
    return dy;
  if (n.isStatic(y) && n.isStatic(dy) &&
      n.type(y).getNumElements() != n.type(dy).getNumElements()) {
    (void)n.invalid("expected as many elements of the gradient as of the operand, " +
                    Twine(n.type(y).getNumElements()) + ", got " +
                    Twine(n.type(dy).getNumElements()));
    return {};
  }
  Value shape = n.shapeOf(y);
  return frontend::ofGivenShape(n, n.reshapeTo(dy, shape), shape, false,
                                [&](Value holds, StringRef text) { require(n, holds, text); });
}

/// dy (1 - y²), of y = tanh x
static LogicalResult tanhGrad(NodeImport &n) {
  Value y = n.in(0), dy = gradientOf(n);
  return n.result(n.mul(dy, n.sub(n.like(y, 1), n.mul(y, y))));
}

static LogicalResult sigmoidGrad(NodeImport &n) {
  Value y = n.in(0), dy = gradientOf(n);
  return n.result(n.mul(n.mul(dy, y), n.sub(n.like(y, 1), y)));
}

/// `value`, but 0 where dy is: whatever y is there, infinite or none, nothing flows back.
static Value wherePassed(NodeImport &n, Value dy, Value value) {
  return dy ? n.select(n.compare("eq", dy, n.like(dy, 0)), n.like(dy, 0), value) : Value();
}

static LogicalResult sqrtGrad(NodeImport &n) {
  Value y = conjugate(n), dy = gradientOf(n);
  return n.result(wherePassed(n, dy, n.div(n.mul(dy, 0.5), y)));
}

static LogicalResult rsqrtGrad(NodeImport &n) {
  Value y = conjugate(n), dy = gradientOf(n);
  // In the order that keeps halves from overflowing where the result does not.
  return n.result(wherePassed(n, dy, n.mul(n.mul(n.mul(dy, y), -0.5), n.mul(y, y))));
}

static LogicalResult reciprocalGrad(NodeImport &n) {
  Value y = conjugate(n), dy = gradientOf(n);
  return n.result(wherePassed(n, dy, n.mul(n.op<NegOp>(dy), n.mul(y, y))));
}

/// An import whose operands, a gradient and what it is of, must have one shape.
template <LogicalResult (*import)(NodeImport &)> static LogicalResult ofOneShape(NodeImport &n) {
  if (failed(requireSame(n, n.in(0), n.in(1), "operands")))
    return failure();
  return import(n);
}

/// dy times 1 where a predicate holds, times 0 elsewhere: infinities and NaN show.
static Value times(NodeImport &n, Value condition, Value dy) {
  return dy && condition ? n.mul(dy, n.cast(condition, n.element(dy))) : Value();
}

static LogicalResult reluGrad(NodeImport &n) {
  Value dy = n.in(0), x = n.in(1);
  return n.result(times(n, n.compare("gt", x, 0), dy));
}

static LogicalResult relu6Grad(NodeImport &n) {
  Value dy = n.in(0), x = n.in(1);
  Value inside = n.op<AndOp>(n.compare("gt", x, 0), n.compare("lt", x, 6));
  return n.result(times(n, inside, dy));
}

static LogicalResult leakyReluGrad(NodeImport &n) {
  Value dy = n.in(0), x = n.in(1);
  return n.result(n.select(n.compare("gt", x, 0), dy, n.mul(dy, n.f("alpha"))));
}

/// Of the output: elu'(x) = y + 1 where y < 0.
static LogicalResult eluGrad(NodeImport &n) {
  Value dy = n.in(0), y = n.in(1);
  return n.result(n.select(n.compare("lt", y, 0), n.mul(n.add(y, 1.0), dy), dy));
}

static LogicalResult seluGrad(NodeImport &n) {
  Value dy = n.in(0), y = n.in(1);
  constexpr double scale = 1.0507009873554804934193349852946;
  constexpr double scaleAlpha = 1.7580993408473768599402175208123;
  return n.result(
      n.select(n.compare("lt", y, 0), n.mul(dy, n.add(y, scaleAlpha)), n.mul(dy, scale)));
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

/// Fails, or ends the run, unless a gradient has as many entries along a dimension as its slice.
static LogicalResult requireSliceSize(NodeImport &n, Value count, Value expected) {
  auto known = constantIntegers(count), size = constantIntegers(expected);
  if (!known || !size) {
    require(n, n.compare("eq", count, expected), "the gradient is not as large as the slice");
    return success();
  }
  if (known->front() == size->front())
    return success();
  return n.invalid("expected a gradient of the slice's size " + Twine(size->front()) + ", got " +
                   Twine(known->front()));
}

/// A gradient of a strided slice: zeros of the operand's shape, with dy where
/// the slice was, dimension by dimension. Sizes and bounds may be computed.
static LogicalResult stridedSliceGrad(NodeImport &n) {
  Value shape = n.in(0), begin = n.in(1), end = n.in(2), dy = n.in(4);
  if (!shape || !begin || !end || !n.in(3) || !dy)
    return failure();
  int64_t rank = n.dim(shape, 0);
  if (ShapedType::isDynamic(rank))
    return n.unsupported("found a shape of unknown rank");
  shape = n.toI64(shape);
  if (!n.knownInts(3)) {
    Value places = slicePlaces(n, shape, 1);
    if (!places || failed(requireShape(n, dy, n.shapeOf(places), "the gradient")))
      return failure();
    return n.result(updatedSlice(n, n.expandTo(n.like(dy, 0), shape), dy));
  }
  auto strides = n.constantInts(3);
  if (!strides)
    return failure();
  int64_t entries = strides->size();
  begin = n.toI64(begin);
  end = n.toI64(end);
  auto isSet = [&](std::string_view mask, int64_t i) { return i < 64 && ((n.i(mask) >> i) & 1); };
  int64_t consumed = 0;
  for (int64_t i = 0; i < entries; ++i)
    consumed += !isSet("ellipsis_mask", i) && !isSet("new_axis_mask", i);
  // Of each dimension of the operand: the entry that slices it, if one does, and
  // how many of its positions are in the slice.
  IntVector entryOf;
  SmallVector<Value> counts;
  int64_t given = 0;
  auto take = [&](int64_t entry) {
    if (given >= n.rank(dy))
      return false;
    entryOf.push_back(entry);
    counts.push_back(n.sizeOf(dy, given++));
    return true;
  };
  auto wrongRank = [&] {
    return n.invalid("found a gradient of rank " + Twine(n.rank(dy)) + " for a slice of rank " +
                     Twine(rank));
  };
  for (int64_t i = 0; i < entries; ++i) {
    if (isSet("ellipsis_mask", i)) {
      for (int64_t k = 0; k < rank - consumed; ++k)
        if (!take(-1))
          return wrongRank();
    } else if (isSet("new_axis_mask", i)) {
      ++given;
    } else if ((*strides)[i] == 0) {
      return n.invalid("found a step of 0");
    } else if (isSet("shrink_axis_mask", i)) {
      entryOf.push_back(i);
      counts.push_back(n.ints({1}));
    } else if (!take(i)) {
      return wrongRank();
    }
  }
  while (static_cast<int64_t>(entryOf.size()) < rank)
    if (!take(-1))
      return wrongRank();
  if (static_cast<int64_t>(entryOf.size()) != rank)
    return n.invalid("found more indices than dimensions");
  Value result = rank ? n.reshapeTo(dy, n.concat(counts, 0)) : n.reshape(dy, {});
  for (int64_t d = 0; d < rank; ++d) {
    int64_t entry = entryOf[d];
    Value size = n.slice(shape, 0, d, d + 1);
    if (entry < 0) {
      if (failed(requireSliceSize(n, counts[d], size)))
        return failure();
      continue;
    }
    int64_t step = (*strides)[entry];
    bool isIndex = isSet("shrink_axis_mask", entry);
    auto fromStart = [&](Value given) {
      Value at = n.slice(given, 0, entry, entry + 1);
      return n.select(n.compare("lt", at, 0), n.add(at, size), at);
    };
    Value lowest = n.ints({step > 0 ? 0 : -1}), highest = step > 0 ? size : n.sub(size, 1.0);
    auto within = [&](Value at) { return n.minimum(n.maximum(at, lowest), highest); };
    Value first = fromStart(begin);
    if (!isIndex) {
      first = isSet("begin_mask", entry) ? (step > 0 ? lowest : highest) : within(first);
      Value last =
          isSet("end_mask", entry) ? (step > 0 ? highest : lowest) : within(fromStart(end));
      Value way = n.maximum(step > 0 ? n.sub(last, first) : n.sub(first, last), 0.0);
      auto by = static_cast<double>(std::abs(step));
      if (failed(requireSliceSize(n, counts[d], n.div(n.add(way, by - 1), by))))
        return failure();
      if (step == 1 && isSet("begin_mask", entry) && isSet("end_mask", entry))
        continue;
    }
    Value index = n.op<IotaOp>(counts[d], n.number(0), n.typeAttr(n.b.getI64Type()));
    index = n.add(n.mul(index, static_cast<double>(step)), first);
    result = scatterAlong(n, result, index, d, size);
  }
  return n.result(result);
}

/// Training gradients of batch normalisation; for inference the statistics are
/// constants.
static LogicalResult fusedBatchNormGrad(NodeImport &n) {
  Value dy = n.in(0), x = n.in(1), scale = n.in(2), mean = n.in(3), variance = n.in(4);
  if (!dy || !x || !scale || !mean || !variance)
    return failure();
  std::string_view format = n.s("data_format");
  bool first = format == "NCHW" || format == "NCDHW";
  int64_t rank = n.rank(x), axis = first ? 1 : rank - 1;
  if (rank < 3)
    return n.invalid("expected rank 4 or 5, got " + Twine(rank));
  if (failed(requireSame(n, dy, x, "the gradient and the operand")))
    return failure();
  for (auto [v, what] :
       {std::pair(scale, "scales"), std::pair(mean, "means"), std::pair(variance, "variances")})
    if (failed(requireShape(n, v, n.sizeOf(x, axis), what)))
      return failure();
  Type statistics = n.element(scale), result = n.element(x);
  IntVector axes;
  for (int64_t i = 0; i < rank; ++i)
    if (i != axis)
      axes.push_back(i);
  auto spread = [&](Value v) { return n.unsqueeze(v, axesFrom(1, rank - axis)); };
  Value wideX = n.cast(x, statistics), wideDy = n.cast(dy, statistics);
  double epsilon = n.f("epsilon");
  bool training = n.isSet("is_training");
  // In training, too, the statistics are those that the node is given: the forward
  // node's, which are the batch's own.
  Value rstd = n.op<RsqrtOp>(n.add(variance, epsilon));
  Value centred = n.sub(wideX, spread(mean));
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
      {"ReluGrad", ofOneShape<reluGrad>},
      {"Relu6Grad", ofOneShape<relu6Grad>},
      {"LeakyReluGrad", ofOneShape<leakyReluGrad>},
      {"EluGrad", ofOneShape<eluGrad>},
      {"SeluGrad", ofOneShape<seluGrad>},
      {"SoftplusGrad", ofOneShape<softplusGrad>},
      {"SoftsignGrad", ofOneShape<softsignGrad>},
      {"StridedSliceGrad", stridedSliceGrad},
      {"FusedBatchNormGrad", fusedBatchNormGrad},
      {"FusedBatchNormGradV2", fusedBatchNormGrad},
      {"FusedBatchNormGradV3", fusedBatchNormGrad},
  };
  return rows;
}
