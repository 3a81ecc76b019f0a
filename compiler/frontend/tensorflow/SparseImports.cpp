//===- SparseImports.cpp - sums, products and maxima of sparse tensors ----===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/Loops.h"
#include "compiler/frontend/tensorflow/RuntimeAxes.h"
#include "compiler/frontend/tensorflow/Sparse.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

namespace {
struct Kind {
  static constexpr char sum[] = "sum", max[] = "max", min[] = "min", mean[] = "mean",
                        sqrtN[] = "sqrt_n", add[] = "add", mul[] = "mul", div[] = "div";
};
} // namespace

static LogicalResult sparseResult(NodeImport &n, const SparseTensor &x) {
  return n.results({x.indices, x.values, x.shape});
}

/// The operation says that the tensor is a matrix; its type need not.
static SparseTensor sparseMatrixInput(NodeImport &n, size_t indices, size_t values, size_t shape) {
  Value places = n.in(indices), sizes = n.in(shape);
  if (!places || !sizes)
    return {};
  if (n.rank(places) == 2 && ShapedType::isDynamic(n.dim(places, 1)))
    sizes = n.reshape(sizes, {2});
  SparseTensor x = makeSparse(n, places, n.in(values), sizes);
  if (x)
    requireValueEach(n, x);
  return x;
}

//===----------------------------------------------------------------------===//
// To and with dense tensors
//===----------------------------------------------------------------------===//

static LogicalResult sparseToDense(NodeImport &n) {
  Value indices = n.in(0), shape = n.in(1), values = n.in(2), fill = n.in(3);
  if (!indices || !shape || !values || !fill)
    return failure();
  indices = n.toI64(indices);
  shape = n.toI64(shape);
  int64_t rank = n.dim(shape, 0);
  if (n.rank(indices) < 2) {
    if (ShapedType::isDynamic(rank))
      return n.unsupported("found a shape of unknown rank");
    // A scalar is one place, a vector has places along one dimension.
    if (n.rank(indices) == 0)
      indices = n.reshape(indices, {1, 1});
    else
      indices = n.unsqueeze(indices, {1});
  }
  SparseTensor x = makeSparse(n, indices, values, shape);
  if (!x)
    return failure();
  if (n.isSet("validate_indices")) {
    requireInside(n, x);
    requireOrdered(n, x);
  }
  if (n.rank(values) == 0)
    values = n.expandTo(values, n.sizeOf(x.indices, 0));
  Value dense = n.expandTo(fill, x.shape);
  return n.result(
      n.op<ScatterNdOp>(dense, x.indices, values, n.text("none"), n.flag(false), n.flag(false)));
}

static LogicalResult sparseTensorDenseAdd(NodeImport &n) {
  SparseTensor a = sparseInput(n, 0, 1, 2);
  Value b = n.in(3);
  if (!a || !b)
    return failure();
  if (a.rank != n.rank(b))
    return n.invalid("found a sparse tensor of rank " + Twine(a.rank) +
                     " and a dense one of rank " + Twine(n.rank(b)));
  require(n, n.compare("eq", a.shape, n.shapeOf(b)), "the tensors have different shapes");
  return n.result(
      n.op<ScatterNdOp>(b, a.indices, a.values, n.text("add"), n.flag(false), n.flag(false)));
}

/// op(value, the dense tensor's at its place): `dense` broadcasts to the shape.
template <const char *kind> static LogicalResult sparseDenseCwise(NodeImport &n) {
  SparseTensor x = sparseInput(n, 0, 1, 2);
  Value dense = n.in(3);
  if (!x || !dense)
    return failure();
  int64_t rank = n.rank(dense);
  if (rank > x.rank)
    return n.invalid("found a dense tensor of rank " + Twine(rank) + " and a sparse one of rank " +
                     Twine(x.rank));
  Value picked;
  if (rank == 0) {
    picked = dense;
  } else {
    Value sizes = n.shapeOf(dense);
    Value own = n.slice(x.shape, 0, x.rank - rank, std::numeric_limits<int64_t>::max());
    Value single = n.compare("eq", sizes, 1);
    require(n, n.op<OrOp>(single, n.compare("eq", sizes, own)),
            "the dense tensor does not broadcast to the sparse one's shape");
    Value at = columns(n, x.indices, x.rank - rank, x.rank);
    at = n.select(single, n.intScalar(0), at);
    picked = n.op<GatherNdOp>(dense, at, n.number(0), n.flag(false));
  }
  StringRef name(kind);
  if (name == "add")
    return n.result(n.add(x.values, picked));
  if (name == "mul")
    return n.result(n.mul(x.values, picked));
  // Of floats, too, where a number is divided; a scalar divides none where there is none.
  Value divisors = rank == 0 ? n.expandTo(picked, n.shapeOf(x.values)) : picked;
  require(n, n.compare("ne", divisors, 0.0),
          "the dense tensor has a zero, which nothing is divided by");
  return n.result(n.div(x.values, picked));
}

/// Σ value * b[column] into row: both [.., k] after what adjoints ask for.
static LogicalResult sparseTensorDenseMatMul(NodeImport &n) {
  SparseTensor a = sparseMatrixInput(n, 0, 1, 2);
  Value b = n.in(3);
  if (!a || !b)
    return failure();
  if (a.rank != 2 || n.rank(b) != 2)
    return n.invalid("expected matrices, got operands of rank " + Twine(a.rank) + " and " +
                     Twine(n.rank(b)));
  Type element = n.element(b);
  bool isComplex = isa<ComplexType>(element);
  bool adjointA = n.isSet("adjoint_a");
  Value values = n.widen(a.values), dense = n.widen(b);
  if (n.isSet("adjoint_b"))
    dense = n.transpose(isComplex ? n.op<ConjOp>(dense) : dense, {1, 0});
  if (adjointA && isComplex)
    values = n.op<ConjOp>(values);
  Value inner = n.slice(a.shape, 0, adjointA ? 0 : 1, adjointA ? 1 : 2);
  require(n, n.compare("eq", inner, n.sizeOf(dense, 0)), "the matrices' inner sizes differ");
  Value rows = column(n, a.indices, adjointA ? 1 : 0);
  Value picked = take(n, dense, column(n, a.indices, adjointA ? 0 : 1));
  Value terms = n.mul(n.unsqueeze(values, {1}), picked);
  if (!terms)
    return failure();
  Value count = n.slice(a.shape, 0, adjointA ? 1 : 0, adjointA ? 2 : 1);
  Value zeros = n.expandTo(n.like(terms, 0), n.concat({count, n.sizeOf(dense, 1)}, 0));
  Value product = n.op<ScatterNdOp>(zeros, n.unsqueeze(rows, {1}), terms, n.text("add"),
                                    n.flag(false), n.flag(false));
  return n.result(n.cast(product, element));
}

/// Dense matrices that are said to have many zeros; the product is f32. A zero takes no part, not
/// even beside what is infinite: one of the left operand, or of the right where only that is said
/// to have many. A product of all says by a NaN whether that matters.
static LogicalResult sparseMatMul(NodeImport &n) {
  Value a = n.widen(n.in(0)), b = n.widen(n.in(1));
  if (!a || !b)
    return failure();
  if (n.isSet("transpose_a"))
    a = n.transpose(a, {1, 0});
  if (n.isSet("transpose_b"))
    b = n.transpose(b, {1, 0});
  Value product = n.matmul(a, b);
  bool ofLeft = n.isSet("a_is_sparse");
  if (!product || (!ofLeft && !n.isSet("b_is_sparse")))
    return n.result(product);
  auto withoutZeros = [&]() -> FailureOr<frontend::Values> {
    Value left = n.unsqueeze(a, {2}), right = n.unsqueeze(b, {0});
    Value isZero = n.compare("eq", ofLeft ? left : right, 0);
    Value terms = n.select(isZero, n.like(left, 0), n.mul(left, right));
    return frontend::Values{n.reduce(terms, "sum", {1}, false)};
  };
  Value isSpoilt = n.reduce(n.op<IsNanOp>(product), "any", {0, 1}, false);
  auto made = frontend::buildIf(n, isSpoilt, withoutZeros, [&]() -> FailureOr<frontend::Values> {
    return frontend::Values{product};
  });
  return failed(made) ? failure() : n.result(made->front());
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

namespace {
/// What stays of a sparse tensor's coordinates when axes are reduced.
struct Kept {
  int64_t rank;     ///< of coordinates
  Value indices;    ///< [n, rank]
  Value sizes;      ///< [rank]
  Value resultSize; ///< with ones for axes that are reduced where dimensions are kept
  Value dimensions; ///< those of the coordinates that the result has; null: all, or ones between
};
} // namespace

/// Axes that the program computes: coordinates have all dimensions, of size 1 where they are
/// reduced.
static std::optional<Kept> keptBesideFedAxes(NodeImport &n, const SparseTensor &x) {
  Value flags = axisFlags(n, n.in(3), x.rank);
  if (!flags)
    return std::nullopt;
  Kept kept;
  kept.rank = x.rank;
  kept.indices = n.select(flags, n.intScalar(0), x.indices);
  kept.sizes = n.select(flags, n.intScalar(1), x.shape);
  kept.resultSize = kept.sizes;
  if (!n.isSet("keep_dims")) {
    kept.dimensions = whereTrue(n, n.logicalNot(flags));
    kept.resultSize = take(n, x.shape, kept.dimensions);
  }
  return kept;
}

static std::optional<Kept> keptAxes(NodeImport &n, const SparseTensor &x) {
  if (n.in(3) && !n.knownInts(3))
    return keptBesideFedAxes(n, x);
  auto given = n.constantInts(3);
  if (!given)
    return std::nullopt;
  llvm::SmallDenseSet<int64_t> reduced;
  for (int64_t one : *given) {
    auto axis = n.axis(one, x.rank);
    if (!axis)
      return std::nullopt;
    reduced.insert(*axis);
  }
  Kept kept;
  SmallVector<Value> sizes, all, parts;
  for (int64_t i = 0; i < x.rank; ++i) {
    if (!reduced.contains(i)) {
      parts.push_back(columns(n, x.indices, i, i + 1));
      sizes.push_back(n.slice(x.shape, 0, i, i + 1));
      all.push_back(sizes.back());
    } else {
      all.push_back(n.ints({1}));
    }
  }
  kept.rank = static_cast<int64_t>(parts.size());
  kept.indices = kept.rank == x.rank ? x.indices
                 : parts.empty()     ? columns(n, x.indices, 0, 0)
                                     : n.concat(parts, 1);
  kept.sizes = sizes.empty() ? n.ints({}) : n.concat(sizes, 0);
  bool keepDims = n.isSet("keep_dims");
  kept.resultSize = keepDims ? (all.empty() ? n.ints({}) : n.concat(all, 0)) : kept.sizes;
  return kept;
}

template <const char *kind> static LogicalResult sparseReduce(NodeImport &n) {
  SparseTensor x = sparseInput(n, 0, 1, 2);
  if (!x)
    return failure();
  auto kept = keptAxes(n, x);
  if (!kept)
    return failure();
  require(n, n.op<AndOp>(n.compare("ge", x.indices, 0), n.compare("lt", x.indices, x.shape)),
          "indices are out of bounds");
  Value keys = linearKeys(n, kept->indices, kept->sizes, kept->rank);
  Value count = kept->rank == 0 ? n.ints({1}) : n.reduce(kept->sizes, "prod", {0}, true);
  Value dense = segmentValues(n, kind, x.values, keys, count);
  if (!kept->dimensions)
    return n.result(n.reshapeTo(dense, kept->resultSize));
  int64_t axes = n.rank(n.in(3)) == 0 ? 1 : n.dim(n.in(3), 0);
  if (ShapedType::isDynamic(axes) || axes > 1) // of two, both may be one
    return n.result(dense ? boxOf(n, dense, kept->resultSize) : Value());
  return n.result(n.reshapeTo(dense, n.reshape(kept->resultSize, {x.rank - axes})));
}

template <const char *kind> static LogicalResult sparseReduceSparse(NodeImport &n) {
  SparseTensor x = sparseInput(n, 0, 1, 2);
  if (!x)
    return failure();
  auto kept = keptAxes(n, x);
  if (!kept)
    return failure();
  Value keys = linearKeys(n, kept->indices, kept->sizes, kept->rank);
  Distinct groups = distinct(n, keys);
  if (!groups)
    return failure();
  Value count = n.sizeOf(groups.values, 0);
  Value values = segmentValues(n, kind, x.values, groups.inverse, count);
  Value sizes = kept->dimensions ? kept->sizes : kept->resultSize;
  Value indices = unravel(n, groups.values, sizes, n.dim(sizes, 0));
  if (kept->dimensions)
    indices = n.gather(indices, kept->dimensions, 1);
  return n.results({indices, values, kept->resultSize});
}

static LogicalResult sparseSoftmax(NodeImport &n) {
  SparseTensor x = sparseInput(n, 0, 1, 2);
  return x ? n.result(softmaxOfRows(n, x)) : failure();
}

//===----------------------------------------------------------------------===//
// Segments of picked rows
//===----------------------------------------------------------------------===//

/// What each segment's sum is divided by, in f32 or wider; null: nothing.
static Value divisors(NodeImport &n, StringRef kind, Value ids, Value count, Type element) {
  if (kind == "sum")
    return {};
  Value counts = n.cast(n.maximum(segmentCounts(n, ids, count), 1.0), element);
  return kind == "mean" ? counts : n.sqrt(counts);
}

/// As many segments as the last id says.
static Value lastSegment(NodeImport &n, Value ids, size_t input) {
  if (auto known = n.knownInts(input))
    return n.ints({known->empty() ? 0 : known->back() + 1});
  return n.add(lastSplit(n, n.concat({n.ints({-1}), n.toI64(ids)}, 0)), 1.0);
}

template <const char *kind> static LogicalResult sparseSegment(NodeImport &n) {
  Value data = n.in(0), indices = n.in(1), ids = n.in(2);
  if (!data || !indices || !ids)
    return failure();
  Value count;
  if (n.inputCount() > 3) {
    count = n.in(3);
    count = count ? n.reshape(n.toI64(count), {1}) : Value();
    require(n, n.compare("lt", ids, n.cast(count, n.element(ids))),
            "segment ids are not below the number of segments");
  } else {
    count = lastSegment(n, ids, 2);
  }
  if (!count)
    return failure();
  require(n,
          n.compare("le", n.slice(ids, 0, 0, -1),
                    n.slice(ids, 0, 1, std::numeric_limits<int64_t>::max())),
          "segment ids are not increasing");
  require(n, n.compare("ge", ids, 0), "segment ids must be >= 0");
  Value places = n.toI64(indices); // rows of no elements are not looked at
  require(n, n.op<AndOp>(n.compare("ge", places, 0), n.compare("lt", places, n.sizeOf(data, 0))),
          "indices are out of range for the data");
  Value rows = n.widen(take(n, data, indices));
  Value sums = segmentSums(n, rows, ids, count);
  if (!sums)
    return failure();
  if (Value by = divisors(n, kind, ids, count, n.element(rows)))
    sums = n.div(sums, n.unsqueeze(by, axesFrom(1, n.rank(data))));
  return n.result(n.cast(sums, n.element(data)));
}

/// The gradient's row of each picked row's segment, divided as its sum was.
template <const char *kind, bool distinctRows>
static LogicalResult sparseSegmentGrad(NodeImport &n) {
  Value grad = n.in(0), indices = n.in(1), ids = n.in(2), size = n.in(3);
  if (!grad || !indices || !ids || !size)
    return failure();
  Value wide = n.widen(grad);
  if (Value by = divisors(n, kind, ids, n.sizeOf(grad, 0), n.element(wide)))
    wide = n.div(wide, n.unsqueeze(by, axesFrom(1, n.rank(grad))));
  // Rows of no elements are not looked at.
  Value segments = n.toI64(ids);
  require(n,
          n.op<AndOp>(n.compare("ge", segments, 0), n.compare("lt", segments, n.sizeOf(grad, 0))),
          "segments are out of range for the gradient");
  Value rows = take(n, wide, segments);
  Value wideIndices = n.toI64(indices), limit = n.toScalar(n.toI64(size));
  require(n, n.op<AndOp>(n.compare("ge", wideIndices, 0), n.compare("lt", wideIndices, limit)),
          "indices are out of range for output_dim0");
  Type element = n.element(grad);
  if (!distinctRows)
    return n.result(n.cast(segmentSums(n, rows, wideIndices, limit), element));
  Distinct which = distinct(n, wideIndices);
  if (!which)
    return failure();
  Value sums = segmentSums(n, rows, which.inverse, n.sizeOf(which.values, 0));
  return n.results({n.cast(sums, element), n.cast(which.values, n.element(indices))});
}

//===----------------------------------------------------------------------===//
// Two sparse tensors
//===----------------------------------------------------------------------===//

namespace {
/// The places that either has, in order, and each side's values there.
struct Union {
  SparseTensor places; ///< values: those of a, then of b, unordered
  Distinct all;        ///< of the linear keys of both
};
} // namespace

static std::optional<Union> unite(NodeImport &n, const SparseTensor &a, const SparseTensor &b) {
  if (!a || !b)
    return std::nullopt;
  if (a.rank != b.rank) {
    (void)n.invalid("found tensors of rank " + Twine(a.rank) + " and " + Twine(b.rank));
    return std::nullopt;
  }
  require(n, n.compare("eq", a.shape, b.shape), "the shapes differ");
  Union both;
  both.places = a;
  both.places.values = n.concat({a.values, b.values}, 0);
  Value keys = n.concat(
      {linearKeys(n, a.indices, a.shape, a.rank), linearKeys(n, b.indices, a.shape, a.rank)}, 0);
  both.all = distinct(n, keys);
  both.places.indices = unravel(n, both.all.values, a.shape, a.rank);
  if (!both.places.values || !both.places.indices || !both.all)
    return std::nullopt;
  return both;
}

/// a + b; sums of both whose magnitude is below the threshold go.
static LogicalResult sparseAdd(NodeImport &n) {
  auto both = unite(n, sparseInput(n, 0, 1, 2), sparseInput(n, 3, 4, 5));
  Value threshold = n.in(6);
  if (!both || !threshold)
    return failure();
  SparseTensor &sum = both->places;
  sum.values = segmentSums(n, sum.values, both->all.inverse, n.sizeOf(both->all.values, 0));
  if (!sum.values)
    return failure();
  Value magnitude = isa<ComplexType>(n.element(sum.values)) ? n.op<ComplexAbsOp>(sum.values)
                                                            : n.op<AbsOp>(sum.values);
  Value large = n.compare("ge", magnitude, n.cast(threshold, n.element(magnitude)));
  Value single = n.compare("eq", both->all.counts, 1);
  Value keep = whereTrue(n, n.op<OrOp>(single, large));
  sum.indices = take(n, sum.indices, keep);
  sum.values = take(n, sum.values, keep);
  return sparseResult(n, sum);
}

/// Where one side only has a value, the other's is 0.
template <const char *kind> static LogicalResult sparseSparseExtreme(NodeImport &n) {
  SparseTensor a = sparseInput(n, 0, 1, 2), b = sparseInput(n, 3, 4, 5);
  auto both = unite(n, a, b);
  if (!both)
    return failure();
  requireInside(n, a);
  requireInside(n, b);
  Value values = both->places.values;
  Value best = segments(n, values, both->all.inverse, n.sizeOf(both->all.values, 0), kind,
                        extremeValue(n, n.element(values), StringRef(kind) == "max", true));
  Value zero = n.like(values, 0);
  Value withZero = StringRef(kind) == "max" ? n.maximum(best, zero) : n.minimum(best, zero);
  return n.results(
      {both->places.indices, n.select(n.compare("eq", both->all.counts, 1), withZero, best)});
}

ArrayRef<OpImport> weir::tf::sparseImports() {
  static const OpImport rows[] = {
      {"SparseToDense", sparseToDense},
      {"SparseTensorDenseAdd", sparseTensorDenseAdd},
      {"SparseDenseCwiseAdd", sparseDenseCwise<Kind::add>},
      {"SparseDenseCwiseMul", sparseDenseCwise<Kind::mul>},
      {"SparseDenseCwiseDiv", sparseDenseCwise<Kind::div>},
      {"SparseTensorDenseMatMul", sparseTensorDenseMatMul},
      {"SparseMatMul", sparseMatMul},
      {"SparseReduceSum", sparseReduce<Kind::sum>},
      {"SparseReduceMax", sparseReduce<Kind::max>},
      {"SparseReduceSumSparse", sparseReduceSparse<Kind::sum>},
      {"SparseReduceMaxSparse", sparseReduceSparse<Kind::max>},
      {"SparseSoftmax", sparseSoftmax},
      {"SparseSegmentSum", sparseSegment<Kind::sum>},
      {"SparseSegmentMean", sparseSegment<Kind::mean>},
      {"SparseSegmentSqrtN", sparseSegment<Kind::sqrtN>},
      {"SparseSegmentSumWithNumSegments", sparseSegment<Kind::sum>},
      {"SparseSegmentMeanWithNumSegments", sparseSegment<Kind::mean>},
      {"SparseSegmentSqrtNWithNumSegments", sparseSegment<Kind::sqrtN>},
      {"SparseSegmentSumGrad", sparseSegmentGrad<Kind::sum, false>},
      {"SparseSegmentMeanGrad", sparseSegmentGrad<Kind::mean, false>},
      {"SparseSegmentSqrtNGrad", sparseSegmentGrad<Kind::sqrtN, false>},
      {"SparseSegmentSumGradV2", sparseSegmentGrad<Kind::sum, true>},
      {"SparseSegmentMeanGradV2", sparseSegmentGrad<Kind::mean, true>},
      {"SparseSegmentSqrtNGradV2", sparseSegmentGrad<Kind::sqrtN, true>},
      {"SparseAdd", sparseAdd},
      {"SparseSparseMaximum", sparseSparseExtreme<Kind::max>},
      {"SparseSparseMinimum", sparseSparseExtreme<Kind::min>},
  };
  return rows;
}
