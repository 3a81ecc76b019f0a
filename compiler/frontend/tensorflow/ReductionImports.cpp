//===- ReductionImports.cpp - sums, products, scans, segments -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/lowering/AxisSets.h"
#include "compiler/frontend/tensorflow/GraphImporter.h"
#include "compiler/frontend/tensorflow/RuntimeAxes.h"
#include "compiler/frontend/tensorflow/Sparse.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

namespace {
struct Kind {
  static constexpr char sum[] = "sum", prod[] = "prod", max[] = "max", min[] = "min",
                        mean[] = "mean", any[] = "any", all[] = "all";
};
} // namespace

/// The axes that input `i` names, sorted; reports one that is there twice.
static std::optional<IntVector> reductionAxes(NodeImport &n, size_t i, int64_t rank) {
  std::optional<IntVector> given = n.constantInts(i);
  if (!given)
    return std::nullopt;
  IntVector axes;
  for (int64_t one : *given) {
    std::optional<int64_t> axis = n.axis(one, rank);
    if (!axis)
      return std::nullopt;
    axes.push_back(*axis);
  }
  llvm::sort(axes);
  if (auto twice = std::adjacent_find(axes.begin(), axes.end()); twice != axes.end()) {
    (void)n.invalid("expected each axis once, got " + Twine(*twice) + " twice");
    return std::nullopt;
  }
  return axes;
}

/// `x` reduced over axes that only the run knows, which stay with size 1: one
/// branch for each dimension, so that there may be many.
static Value reduceByFlags(NodeImport &n, Value x, StringRef kind, Value axes) {
  int64_t rank = n.rank(x);
  Value flags = distinctAxisFlags(n, axes, rank), count;
  bool isMean = kind == "mean";
  for (int64_t dim = 0; dim < rank && x && flags; ++dim) {
    Value isReduced = n.pick(flags, 0, dim);
    if (isMean) {
      Value size = n.select(isReduced, n.toScalar(n.sizeOf(x, dim)), n.intScalar(1));
      count = count ? n.mul(count, size) : size;
    }
    auto side = [&](bool reduces) {
      return [&, reduces](OpBuilder &b) -> FailureOr<std::vector<Imported>> {
        TensorBuilder t(b, n.loc);
        Value value = reduces ? t.reduce(x, isMean ? "sum" : kind, {dim}, true) : x;
        if (!value)
          return failure();
        return std::vector<Imported>{Imported(value)};
      };
    };
    auto made = n.g.buildIf(isReduced, side(true), side(false), n.node, n.b, n.loc);
    if (failed(made))
      return {};
    x = made->front().value;
  }
  return isMean && count ? n.div(x, n.cast(count, n.element(x))) : x;
}

/// `x` reduced over the axes in input 1, known now or not.
static Value reduceInput(NodeImport &n, Value x, StringRef kind) {
  bool keep = n.isSet("keep_dims");
  if (x && n.in(1) && !n.knownInts(1) && n.rank(x) > 5) {
    Value axes = n.reshape(n.in(1), {-1});
    int64_t dropped = n.dim(axes, 0);
    if (keep)
      return reduceByFlags(n, x, kind, axes);
    if (!ShapedType::isDynamic(dropped)) {
      Value kept = n.op<NonZeroOp>(n.logicalNot(axisFlags(n, axes, n.rank(x))));
      kept = n.reshape(kept, {n.rank(x) - dropped});
      return n.reshapeTo(reduceByFlags(n, x, kind, axes), n.gather(n.shapeOf(x), kept, 0));
    }
  }
  // A scalar has no axis, however many may be given.
  if (x && n.in(1) && !n.knownInts(1))
    return chooseAxes(n, n.in(1), n.rank(x), keep || n.rank(x) == 0,
                      [&](TensorBuilder &t, Ints axes) {
                        return axes.empty() ? x : t.reduce(x, kind, axes, keep);
                      });
  std::optional<IntVector> axes = x ? reductionAxes(n, 1, n.rank(x)) : std::nullopt;
  if (!axes)
    return {};
  return axes->empty() ? x : n.reduce(x, kind, *axes, keep);
}

/// Whether only the run knows how many axes are reduced, and so the rank of the result.
static bool hasOpenRank(NodeImport &n, Value x) {
  Value axes = n.in(1);
  return axes && !n.knownInts(1) && !n.isSet("keep_dims") && n.rank(x) > 0 && n.rank(axes) == 1 &&
         n.type(axes).isDynamicDim(0);
}

/// Of an open rank: the axes that are reduced stay, with size 1.
static Value reduceAnyNumber(NodeImport &n, Value x, StringRef kind) {
  if (!hasOpenRank(n, x))
    return reduceInput(n, x, kind);
  if (n.rank(x) > 5)
    return reduceByFlags(n, x, kind, n.in(1));
  return chooseAxes(n, n.in(1), n.rank(x), true, [&](TensorBuilder &t, Ints axes) {
    return axes.empty() ? x : t.reduce(x, kind, axes, true);
  });
}

/// `mean`, of the elements of x, as it is of complex numbers: zero of none, where it is NaN of
/// real ones, and itself of a single one, where a quotient by 1 is NaN in both parts if one part
/// is not finite.
static Value complexMean(NodeImport &n, Value x, Value mean) {
  RankedTensorType of = n.type(x), to = n.type(mean);
  if (of.hasStaticShape() && to.hasStaticShape() && of.getNumElements() != 0)
    return of.getNumElements() == to.getNumElements() ? reduceAnyNumber(n, x, "sum") : mean;
  auto count = [&](Value v) { return n.reduce(n.shapeOf(v), "prod", {0}, false); };
  Value elements = count(x);
  Value single = n.compare("eq", elements, count(mean));
  return n.select(n.compare("eq", elements, 0), n.like(mean, 0),
                  n.select(single, reduceAnyNumber(n, x, "sum"), mean));
}

/// `y` as the result, whose rank may be open.
static LogicalResult reduced(NodeImport &n, Value x, Value y) {
  if (!hasOpenRank(n, x))
    return n.result(y);
  // That axes are there was asked where they are reduced.
  Value axes = frontend::axesFromStart(n, n.in(1), n.rank(x), [](Value, StringRef) {});
  Value stays = n.logicalNot(frontend::isAmongAxes(n, axes, n.rank(x)));
  return openRankResult(n, y, take(n, n.shapeOf(x), whereTrue(n, stays)));
}

template <const char *kind> static LogicalResult reduce(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  // Narrow integers are added up in 64 bits: their sum may be beyond their type, their mean is not.
  auto narrow = dyn_cast<IntegerType>(n.element(x));
  if (StringRef(kind) != "mean" || (narrow && narrow.getWidth() >= 64))
    narrow = {};
  if (narrow)
    x = n.cast(x, IntegerType::get(n.b.getContext(), 64, narrow.getSignedness()));
  auto narrowed = [&](Value v) { return narrow ? n.cast(v, narrow) : v; };
  Value y = reduceAnyNumber(n, x, kind);
  if (y && StringRef(kind) == "mean" && isa<ComplexType>(n.element(x)))
    y = complexMean(n, x, y);
  return reduced(n, x, narrowed(y));
}

static LogicalResult euclideanNorm(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  Type type = n.element(x);
  Value squares = isa<ComplexType>(type) ? n.mul(x, n.op<ConjOp>(x)) : n.mul(x, x);
  Value sum = reduceAnyNumber(n, squares, "sum");
  // The root of integers is cut to one.
  if (isa<IntegerType>(type))
    return reduced(n, x, n.cast(n.sqrt(n.cast(sum, n.b.getF64Type())), type, /*saturate=*/false));
  return reduced(n, x, n.sqrt(sum));
}

template <bool largest> static LogicalResult argReduce(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  Type index = n.elementAttr("output_type");
  if (!index)
    return failure();
  return n.result(atAxis(n, 1, n.rank(x), [&](TensorBuilder &t, int64_t axis) {
    // Even where there is no result; in a branch that is not taken it is no fault.
    if (n.dim(x, axis) == 0 && n.knownInts(1))
      require(n, n.scalar(n.b.getI1Type(), 0), "there are no elements along the axis");
    return t.op<ArgReduceOp>(x, t.flag(largest), t.number(axis), t.flag(false), t.flag(false),
                             t.typeAttr(index));
  }));
}

template <const char *kind> static LogicalResult scan(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  return n.result(atAxis(n, 1, n.rank(x), [&](TensorBuilder &t, int64_t axis) {
    return t.op<CumulativeOp>(x, t.text(kind), t.number(axis), t.flag(n.isSet("exclusive")),
                              t.flag(n.isSet("reverse")));
  }));
}

/// In f32 where the type is narrower.
static LogicalResult cumulativeLogsumexp(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  Value wide = n.widen(x);
  Operation *made = n.kernelCall("weir_kernel_cumulative_logsumexp", wide.getType(),
                                 {wide, runtimeAxis(n, n.in(1), n.rank(x))},
                                 {n.isSet("exclusive"), n.isSet("reverse")});
  return made ? n.result(n.cast(made->getResult(0), n.element(x))) : failure();
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

/// Each id has a row, or an element: the ids' sizes are the data's first.
static LogicalResult requireAnId(NodeImport &n, Value data, Value ids) {
  if (n.rank(data) < n.rank(ids))
    return n.invalid("expected data of rank " + Twine(n.rank(ids)) + " at least, got " +
                     Twine(n.rank(data)));
  return requireShape(n, ids, n.shapeSlice(data, 0, n.rank(ids)), "segment ids");
}

template <const char *kind> static LogicalResult unsortedSegment(NodeImport &n) {
  Value data = n.in(0), ids = n.in(1), count = n.in(2);
  if (!data || !ids || !count || failed(requireAnId(n, data, ids)))
    return failure();
  StringRef name(kind);
  Value fill = name == "sum"    ? n.like(data, 0)
               : name == "prod" ? n.like(data, 1)
                                : extremeValue(n, n.element(data), name == "max", false);
  // Of two numbers without an order TensorFlow takes the later one.
  StringRef reduction = name == "sum"    ? "add"
                        : name == "prod" ? "mul"
                        : name == "max"  ? "max_or_new"
                                         : "min_or_new";
  // A negative id drops its row: out of bounds, so that it wraps nowhere. One beyond
  // the segments is an error.
  require(n, n.compare("lt", n.toI64(ids), n.toI64(n.toScalar(count))),
          "a segment id is not below the number of segments");
  // TensorFlow counts segments in the ids' type.
  unsigned width = n.element(ids).getIntOrFloatBitWidth();
  if (width < n.element(count).getIntOrFloatBitWidth())
    require(n, n.compare("lt", n.toI64(n.toScalar(count)), std::ldexp(1.0, width - 1)),
            "there are more segments than ids of that type can number");
  return n.result(segments(n, data, ids, count, reduction, fill));
}

/// Sorted ids: as many segments as the last id says; gaps are `0` (1 for
/// products).
template <const char *kind> static LogicalResult segment(NodeImport &n) {
  Value data = n.in(0), ids = n.in(1);
  if (!data || !n.hasRank(ids, 1) || failed(requireAnId(n, data, ids)))
    return failure();
  Value wide = n.toI64(ids);
  int64_t size = n.dim(ids, 0);
  Value count;
  auto known = n.knownInts(1);
  if (known)
    count = n.intScalar(known->empty() ? 0 : known->back() + 1);
  else if (size == 0)
    count = n.intScalar(0);
  else
    // Of the last, if there is one.
    count = n.add(n.maximum(n.reduce(n.slice(wide, 0, -1, std::numeric_limits<int64_t>::max()),
                                     "max", {0}, false),
                            -1.0),
                  1.0);
  bool isSorted = known && llvm::is_sorted(*known) && (known->empty() || known->front() >= 0);
  if (!isSorted && size != 0) {
    int64_t last = std::numeric_limits<int64_t>::max();
    require(n, n.compare("ge", n.slice(wide, 0, 1, last), n.slice(wide, 0, 0, -1)),
            "segment ids are not increasing");
    require(n, n.compare("ge", n.slice(wide, 0, 0, 1), 0), "segment ids must be >= 0");
  }
  StringRef name(kind);
  Value ones = n.expandTo(n.intScalar(1), n.shapeOf(ids));
  Value counts = segments(n, ones, ids, count, "add", n.intScalar(0));
  if (name == "sum" || name == "mean") {
    Value sum = segments(n, data, ids, count, "add", n.like(data, 0));
    if (!sum || !counts || name == "sum")
      return n.result(sum);
    Value rows = n.unsqueeze(n.maximum(counts, 1.0), axesFrom(1, n.rank(data)));
    Value mean = n.div(sum, n.cast(rows, n.element(data)));
    // A complex quotient by 1 is NaN in both parts where one part is not finite.
    if (isa<ComplexType>(n.element(data)))
      mean = n.select(n.compare("eq", rows, 1.0), sum, mean);
    return n.result(mean);
  }
  if (name == "prod")
    return n.result(segments(n, data, ids, count, "mul", n.like(data, 1)));
  Value best = segments(n, data, ids, count, name == "max" ? "max_or_new" : "min_or_new",
                        extremeValue(n, n.element(data), name == "max", true));
  if (!best || !counts)
    return failure();
  Value empty = n.unsqueeze(n.compare("eq", counts, 0), axesFrom(1, n.rank(data)));
  return n.result(n.select(empty, n.like(data, 0), best));
}

/// Counts (or sums weights) of values below `size`.
static LogicalResult bincount(NodeImport &n) {
  Value values = n.in(0), size = n.in(1);
  if (!values || !size)
    return failure();
  Type type = n.elementAttr("T");
  values = n.reshape(values, {-1});
  require(n, n.compare("ge", values, 0), "a value is negative");
  Value weights = weightsOr1(n, 2, values, type);
  return n.result(segments(n, weights, values, n.toScalar(size), "add", n.scalar(type, 0)));
}

/// Bins of equal width; what lies outside falls into the outermost ones.
static LogicalResult histogramFixedWidth(NodeImport &n) {
  Value values = n.in(0), range = n.in(1), bins = n.in(2);
  Type type = n.elementAttr("dtype");
  if (!values || !range || !bins || !type)
    return failure();
  values = n.reshape(values, {-1});
  Value low = n.pick(range, 0, 0), high = n.pick(range, 0, 1);
  require(n, n.compare("lt", low, high), "the range's end is not above its start");
  require(n, n.compare("gt", bins, 0), "the number of bins is not positive");
  Type element = n.element(values);
  if (isa<FloatType>(element)) { // a single bin counts NaN, too
    Value isNumber = n.compare("eq", values, values);
    require(n, n.op<OrOp>(isNumber, n.compare("eq", n.toScalar(bins), 1)), "a value is no number");
    values = n.select(isNumber, values, low);
  }
  Type wide = isa<FloatType>(element) ? element : Type(n.b.getF64Type());
  values = n.cast(values, wide);
  low = n.cast(low, wide);
  high = n.cast(high, wide);
  Value count = n.cast(n.toScalar(bins), wide);
  Value step = n.div(n.sub(high, low), count);
  Value index = n.op<FloorOp>(n.div(n.sub(values, low), step));
  index = n.minimum(n.maximum(index, 0.0), n.sub(count, 1.0));
  Value ids = n.toI64(index);
  if (!ids)
    return failure();
  Value ones = n.expandTo(n.scalar(type, 1), n.shapeOf(ids));
  return n.result(segments(n, ones, ids, n.toScalar(bins), "add", n.scalar(type, 0)));
}

/// The number of the first boundary, of f32, above each element; all of them for what is no number.
static LogicalResult bucketize(NodeImport &n) {
  Value x = n.in(0);
  const AttrValue *bounds = n.attr("boundaries");
  if (!x || !bounds || !bounds->list)
    return failure();
  // As C++ compares: with a float of 64 bits in those, with all else in 32.
  Type type = n.element(x).isF64() ? n.element(x) : Type(n.b.getF32Type());
  SmallVector<double> values(bounds->list->floats.begin(), bounds->list->floats.end());
  Value wide = n.cast(n.unsqueeze(x, {n.rank(x)}), type);
  Value isBelow = n.compare("lt", wide, n.floats(values, type));
  Value passed = n.cast(n.op<NotOp>(isBelow), n.b.getI32Type());
  return n.result(n.reduce(passed, "sum", {n.rank(x)}, false));
}

ArrayRef<OpImport> weir::tf::reductionImports() {
  static const OpImport rows[] = {
      {"Sum", reduce<Kind::sum>},
      {"Prod", reduce<Kind::prod>},
      {"Max", reduce<Kind::max>},
      {"Min", reduce<Kind::min>},
      {"Mean", reduce<Kind::mean>},
      {"Any", reduce<Kind::any>},
      {"All", reduce<Kind::all>},
      {"EuclideanNorm", euclideanNorm},
      {"ArgMax", argReduce<true>},
      {"ArgMin", argReduce<false>},
      {"Cumsum", scan<Kind::sum>},
      {"Cumprod", scan<Kind::prod>},
      {"CumulativeLogsumexp", cumulativeLogsumexp},
      {"UnsortedSegmentSum", unsortedSegment<Kind::sum>},
      {"UnsortedSegmentProd", unsortedSegment<Kind::prod>},
      {"UnsortedSegmentMax", unsortedSegment<Kind::max>},
      {"UnsortedSegmentMin", unsortedSegment<Kind::min>},
      {"SegmentSumV2", unsortedSegment<Kind::sum>},
      {"SegmentProdV2", unsortedSegment<Kind::prod>},
      {"SegmentMaxV2", unsortedSegment<Kind::max>},
      {"SegmentMinV2", unsortedSegment<Kind::min>},
      {"SegmentSum", segment<Kind::sum>},
      {"SegmentMean", segment<Kind::mean>},
      {"SegmentProd", segment<Kind::prod>},
      {"SegmentMax", segment<Kind::max>},
      {"SegmentMin", segment<Kind::min>},
      {"Bincount", bincount},
      {"HistogramFixedWidth", histogramFixedWidth},
      {"Bucketize", bucketize},
  };
  return rows;
}
