//===- IndexingImports.cpp - gathers and searches -------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/RuntimeAxes.h"
#include "compiler/frontend/tensorflow/Sparse.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

/// What lies before an axis that the program computes (scalar i64, behind the first `batch`
/// dimensions), the axis, and what lies behind it: three dimensions after those of the batch.
static Value seenAround(NodeImport &n, Value x, Value axis, int64_t batch = 0) {
  int64_t rank = n.rank(x);
  Value place = n.ints(axesFrom(batch, rank)), shape = n.shapeSlice(x, batch, rank);
  auto product = [&](StringRef predicate) {
    Value sizes = n.select(n.compare(predicate, place, axis), shape, n.intScalar(1));
    return n.reduce(sizes, "prod", {0}, true);
  };
  SmallVector<Value> sizes = {product("lt"), product("eq"), product("gt")};
  if (batch > 0)
    sizes.insert(sizes.begin(), n.shapeSlice(x, 0, batch));
  return n.reshapeTo(x, n.concat(sizes, 0));
}

/// Slices along an axis that the program computes, behind the first `batch` dimensions, which the
/// indices have, too.
static LogicalResult gatherAt(NodeImport &n, Value x, Value indices, Value given, int64_t batch) {
  int64_t rank = n.rank(x) - batch, added = n.rank(indices) - batch;
  if (batch < 0 || rank < 1 || added < 0)
    return n.invalid("found " + Twine(batch) + " batch dimensions, to gather from rank " +
                     Twine(n.rank(x)) + " by indices of rank " + Twine(n.rank(indices)));
  Value axis = runtimeAxis(n, given, n.rank(x)), shape = n.shapeSlice(x, batch, batch + rank);
  if (batch > 0)
    require(n, n.compare("ge", axis, static_cast<double>(batch)),
            "the axis is one of the batch's dimensions");
  Value picked = n.shapeSlice(indices, batch, batch + added);
  Value flat = n.reshapeTo(
      indices,
      n.concat({n.shapeSlice(indices, 0, batch), n.sizeProduct(indices, batch, batch + added)}, 0));
  Value rows = n.op<GatherOp>(seenAround(n, x, axis, batch), flat, n.number(batch + 1),
                              n.number(batch), n.flag(false));
  axis = n.sub(axis, static_cast<double>(batch));
  // Sizes of the result: the indices' in the place of the axis'.
  Value to = n.ints(axesFrom(0, rank - 1 + added));
  Value end = n.add(axis, static_cast<double>(added));
  Value source =
      n.select(n.compare("lt", to, axis), to,
               n.select(n.compare("lt", to, end), n.add(n.sub(to, axis), static_cast<double>(rank)),
                        n.sub(to, static_cast<double>(added - 1))));
  Value sizes = n.gather(n.concat({shape, picked}, 0), source, 0);
  return n.result(n.reshapeTo(rows, n.concat({n.shapeSlice(x, 0, batch), sizes}, 0)));
}

static LogicalResult gather(NodeImport &n) {
  Value x = n.in(0), indices = n.in(1);
  if (!x || !indices)
    return failure();
  int64_t axis = 0, batch = 0;
  if (n.node.op == "GatherV2") {
    batch = n.i("batch_dims");
    if (batch < 0)
      batch += n.rank(indices);
    if (n.in(2) && !n.knownInts(2))
      return gatherAt(n, x, indices, n.in(2), batch);
    std::optional<int64_t> given = n.constantAxis(2, n.rank(x));
    if (!given)
      return failure();
    axis = *given;
  }
  if (batch < 0 || batch > axis || batch > n.rank(indices))
    return n.invalid("found " + Twine(batch) + " batch dimensions");
  return n.result(n.op<GatherOp>(x, indices, n.number(axis), n.number(batch), n.flag(false)));
}

static LogicalResult gatherNd(NodeImport &n) {
  Value x = n.in(0), indices = n.in(1);
  if (x && indices && n.rank(indices) > 0 &&
      ShapedType::isDynamic(n.dim(indices, n.rank(indices) - 1)))
    return n.result(gatherNdOfOpenDepth(n, x, indices));
  if (n.s("bad_indices_policy") != "IGNORE") {
    requireReadable(n, x, indices);
    return n.result(n.op<GatherNdOp>(x, indices, n.number(0), n.flag(false)));
  }
  // What lies outside is zero.
  if (!x || !indices || n.rank(indices) < 1)
    return failure();
  int64_t last = n.rank(indices) - 1, depth = n.dim(indices, last);
  if (ShapedType::isDynamic(depth) || depth > n.rank(x))
    return n.unsupported("found index tuples of unknown length");
  Value sizes = n.cast(n.shapeSlice(x, 0, depth), n.element(indices));
  Value inside = n.op<AndOp>(n.compare("ge", indices, 0), n.compare("lt", indices, sizes));
  inside = n.reduce(inside, "all", {last}, true);
  // Elements that are there, if there are any, are read in their place.
  Value safe = n.select(inside, indices, n.like(indices, 0));
  Value padded = x;
  for (int64_t i = 0; i < depth; ++i) {
    SmallVector<int64_t> pads(2 * n.rank(x), 0);
    pads[n.rank(x) + i] = n.dim(x, i) > 0 ? 0 : 1;
    if (pads[n.rank(x) + i])
      padded = n.op<PadOp>(padded, n.ints(pads), n.like(x, 0), n.text("constant"));
  }
  Value found = n.op<GatherNdOp>(padded, safe, n.number(0), n.flag(false));
  if (!found)
    return failure();
  Value keep = n.squeeze(inside, {last});
  return n.result(n.select(n.unsqueeze(keep, axesFrom(last, n.rank(found))), found, n.like(x, 0)));
}

static LogicalResult oneHot(NodeImport &n) {
  Value indices = n.in(0), depth = n.in(1), on = n.in(2), off = n.in(3);
  if (!indices || !depth || !on || !off)
    return failure();
  int64_t rank = n.rank(indices) + 1;
  int64_t given = n.i("axis");
  std::optional<int64_t> axis = n.axis(given, rank);
  if (!axis)
    return failure();
  Value classes = n.op<IotaOp>(n.reshape(depth, {1}), n.number(0), n.typeAttr(n.element(indices)));
  classes = n.unsqueeze(classes, axesFrom(1, rank - *axis));
  Value hit = n.compare("eq", n.unsqueeze(indices, {*axis}), classes);
  return n.result(n.select(hit, on, off));
}

static LogicalResult where(NodeImport &n) {
  Value x = n.in(0);
  if (x && n.rank(x) == 0)
    return n.invalid("expected rank 1 or more, got a scalar");
  return n.result(n.op<NonZeroOp>(x));
}

static LogicalResult topK(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  Value k = n.node.op == "TopKV2" ? n.in(1) : n.ints({n.i("k")});
  Type index = n.attr("index_type") ? n.elementAttr("index_type") : Type(n.b.getI32Type());
  Operation *made =
      n.multi<TopKOp, 2>(x, n.reshape(n.toI64(k), {1}), n.number(n.rank(x) - 1), n.flag(true),
                         n.flag(n.isSet("sorted")), n.typeAttr(n.b.getI64Type()));
  return made ? n.results({made->getResult(0), n.cast(made->getResult(1), index)}) : failure();
}

/// What is approximate on other machines, and more results than k where they are not aggregated, is
/// exact here, as in TensorFlow on processors.
static LogicalResult approximateTopK(NodeImport &n) {
  Value x = n.in(0);
  auto axis = x ? n.axis(n.i("reduction_dimension"), n.rank(x)) : std::nullopt;
  if (!axis)
    return failure();
  Operation *made =
      n.multi<TopKOp, 2>(x, n.ints({n.i("k")}), n.number(*axis), n.flag(n.isSet("is_max_k")),
                         n.flag(true), n.typeAttr(n.b.getI64Type()));
  return made ? n.results({made->getResult(0), n.cast(made->getResult(1), n.b.getI32Type())})
              : failure();
}

/// The k centres nearest to each point, by squared distance.
static LogicalResult nearestNeighbors(NodeImport &n) {
  Value points = n.in(0), centres = n.in(1), k = n.in(2);
  if (!points || !centres || !k)
    return failure();
  if (n.rank(points) != 2 || n.rank(centres) != 2)
    return n.invalid("expected two matrices, got ranks " + Twine(n.rank(points)) + " and " +
                     Twine(n.rank(centres)));
  require(n, n.compare("gt", n.sizeOf(points, 0), 0), "there are no points");
  auto halfSquares = [&](Value v) { return n.mul(n.reduce(n.mul(v, v), "sum", {1}, false), 0.5); };
  Value products = n.matmul(points, n.transpose(centres, {1, 0}));
  // Ordered without the point's own square, in whose last bits small distances are lost.
  Value order = n.sub(halfSquares(centres), products);
  Value count = n.minimum(n.reshape(n.toI64(k), {1}), n.sizeOf(centres, 0));
  Operation *made = n.multi<TopKOp, 2>(order, count, n.number(1), n.flag(false), n.flag(true),
                                       n.typeAttr(n.b.getI64Type()));
  if (!made)
    return failure();
  Value halves = n.add(n.unsqueeze(halfSquares(points), {1}), made->getResult(0));
  return n.results({made->getResult(1), n.mul(halves, 2.0)});
}

/// Of each row, in f32 where the result is narrower.
static LogicalResult isotonicRegression(NodeImport &n) {
  Value x = n.in(0);
  Type type = n.elementAttr("output_dtype");
  if (!x || !type)
    return failure();
  if (n.rank(x) < 1)
    return n.invalid("expected rows of values, got a scalar");
  Type computed = type.isF64() ? type : Type(n.b.getF32Type());
  Value shape = n.shapeOf(x), last = n.sizeOf(x, n.rank(x) - 1);
  Value rows =
      n.reshapeTo(n.cast(x, computed), n.concat({n.sizeProduct(x, 0, n.rank(x) - 1), last}, 0));
  if (!rows)
    return failure();
  Type types[] = {rows.getType(), n.type(rows).clone(n.b.getI32Type())};
  auto call = CustomCallOp::create(n.b, n.loc, types, rows, "weir_kernel_isotonic_regression",
                                   ArrayRef<int64_t>{}, /*pure=*/true);
  return n.results(
      {n.cast(n.reshapeTo(call.getResult(0), shape), type), n.reshapeTo(call.getResult(1), shape)});
}

/// The n-th of each row's elements when sorted.
static LogicalResult nthElement(NodeImport &n) {
  Value x = n.in(0), which = n.in(1);
  if (!x || !which)
    return failure();
  Value count = n.add(n.reshape(n.toI64(which), {1}), 1.0);
  Operation *made =
      n.multi<TopKOp, 2>(x, count, n.number(n.rank(x) - 1), n.flag(n.isSet("reverse")),
                         n.flag(true), n.typeAttr(n.b.getI64Type()));
  return made ? n.result(n.pick(made->getResult(0), n.rank(x) - 1, -1)) : failure();
}

static bool isHalf(Type element) { return element.isF16() || element.isBF16(); }

static Value bitsOf(NodeImport &n, Value x) {
  Type bits = n.b.getIntegerType(n.element(x).getIntOrFloatBitWidth());
  return BitcastOp::create(n.b, n.loc, n.type(x).clone(bits), x);
}

/// Integers that are equal where TensorFlow's hash tables find floats equal: no NaN is another,
/// and the two zeros are one, unless `zerosDiffer`.
static Value hashedAs(NodeImport &n, Value x, bool zerosDiffer) {
  Type i64 = n.b.getI64Type();
  Value key = n.cast(bitsOf(n, x), i64);
  if (!zerosDiffer)
    key = n.select(n.compare("eq", x, 0), n.like(key, 0), key);
  // A number for each place, which is no other float's.
  constexpr int64_t nansOfDouble = 0x7ff0000000000001, beyondFloats = INT64_C(1) << 40;
  int64_t first = n.element(x).isF64() ? nansOfDouble : beyondFloats;
  Value place = n.op<IotaOp>(n.sizeProduct(x, 0, n.rank(x)), n.number(0), n.typeAttr(i64));
  place = n.reshapeTo(n.add(place, n.intScalar(first)), n.shapeOf(x));
  return n.select(n.op<IsNanOp>(x), place, key);
}

/// The axis of UniqueV2 that the program computes, a scalar; null after a report, and where slices
/// of a vector are its elements all the same.
static FailureOr<Value> axisOfUnique(NodeImport &n, int64_t rank) {
  Value given = n.in(1);
  if (n.rank(given) != 1 || n.dim(given, 0) > 1)
    return n.invalid("expected an axis in a vector of one element or none, got rank " +
                     Twine(n.rank(given)) +
                     (n.rank(given) == 1 ? " of " + Twine(n.dim(given, 0)) : Twine()));
  if (rank == 0)
    return n.invalid("expected a vector, or an axis that there is, got a scalar");
  Value count = n.sizeOf(given, 0);
  if (rank == 1) {
    require(n, n.compare("le", count, 1), "more than one axis");
    require(n, n.op<AndOp>(n.compare("ge", given, -1), n.compare("le", given, 0)),
            "an axis is out of range");
    return Value();
  }
  require(n, n.compare("eq", count, 1),
          "no axis, or more than one, for a tensor that is no vector");
  return runtimeAxis(n, given, rank);
}

static LogicalResult unique(NodeImport &n) {
  Value x = n.in(0), fed;
  Type index = n.elementAttr("out_idx");
  if (!x || !index)
    return failure();
  int64_t axis = -1, rank = n.rank(x);
  bool hasAxis = n.node.op == "UniqueV2" || n.node.op == "UniqueWithCountsV2";
  if (hasAxis && n.in(1) && !n.knownInts(1) && n.dim(n.in(1), 0) != 0) {
    FailureOr<Value> at = axisOfUnique(n, rank);
    if (failed(at))
      return failure();
    fed = *at;
  } else if (hasAxis) {
    auto given = n.constantInts(1);
    if (!given)
      return failure();
    if (n.rank(n.in(1)) != 1 || given->size() > 1)
      return n.invalid("expected an axis in a vector of one element or none, got " +
                       Twine(given->size()) + " in rank " + Twine(n.rank(n.in(1))));
    if (!given->empty()) {
      auto checked = n.axis(given->front(), rank);
      if (!checked)
        return failure();
      axis = rank > 1 ? *checked : -1;
    }
  }
  if (fed)
    axis = 1;
  if (axis < 0 && rank != 1)
    return n.invalid("expected a vector where there is no axis, got rank " + Twine(rank));
  Value seen = fed ? seenAround(n, x, fed) : x;
  // Halves are hashed by their bits; slices are compared.
  bool isHashed = n.isFloat(x);
  Value keys = isHashed ? hashedAs(n, seen, axis < 0 && isHalf(n.element(x))) : seen;
  Operation *made =
      keys ? n.multi<UniqueOp, 4>(keys, n.number(axis), n.flag(false), n.typeAttr(index)) : nullptr;
  if (!made)
    return failure();
  Value distinct = made->getResult(0);
  if (isHashed)
    distinct = n.gather(axis < 0 ? n.reshape(seen, {-1}) : seen, made->getResult(1),
                        std::max<int64_t>(axis, 0));
  if (fed) {
    Value isAxis = n.compare("eq", n.ints(axesFrom(0, rank)), fed);
    distinct = n.reshapeTo(distinct, n.select(isAxis, n.sizeOf(distinct, 1), n.shapeOf(x)));
  }
  SmallVector<Value> values = {distinct, made->getResult(2)};
  if (n.node.op.find("Counts") != std::string_view::npos)
    values.push_back(made->getResult(3));
  return n.results(values);
}

/// Elements of x that are not in y, and where they were.
static LogicalResult listDiff(NodeImport &n) {
  Value x = n.in(0), y = n.in(1);
  Type index = n.elementAttr("out_idx");
  if (!x || !y || !index)
    return failure();
  // Of axes, as tensordot has them; what follows wants constants.
  auto xs = n.knownInts(0), ys = n.knownInts(1);
  if (xs && ys) {
    IntVector values, places;
    for (auto [i, value] : llvm::enumerate(*xs))
      if (!llvm::is_contained(*ys, value)) {
        values.push_back(value);
        places.push_back(i);
      }
    return n.results({n.cast(n.ints(values), n.element(x)), n.cast(n.ints(places), index)});
  }
  Value column = n.unsqueeze(x, {1}), row = n.unsqueeze(y, {0}), differs;
  if (n.isString(x))
    differs = n.logicalNot(n.equalStrings(column, row));
  else if (isHalf(n.element(x))) // hashed by their bits
    differs = n.op<OrOp>(n.op<IsNanOp>(column), n.compare("ne", bitsOf(n, column), bitsOf(n, row)));
  else
    differs = n.compare("ne", column, row);
  Value keep = n.reduce(differs, "all", {1}, false);
  Value at = n.squeeze(n.op<NonZeroOp>(keep), {1});
  return n.results({n.gather(x, at, 0), n.cast(at, index)});
}

static LogicalResult dynamicPartition(NodeImport &n) {
  Value x = n.in(0), parts = n.in(1);
  if (!x || !parts)
    return failure();
  int64_t rank = n.rank(parts);
  if (n.rank(x) < rank)
    return n.invalid("expected data of rank " + Twine(rank) + " at least, got " + Twine(n.rank(x)));
  if (failed(requireShape(n, parts, n.shapeSlice(x, 0, rank), "partitions")))
    return failure();
  if (rank != 1) {
    // The partitioned dimensions become one.
    Value rest = n.shapeSlice(x, rank, n.rank(x));
    x = n.reshapeTo(x, n.concat({n.sizeProduct(x, 0, rank), rest}, 0));
    parts = n.reshape(parts, {-1});
  }
  double count = static_cast<double>(n.i("num_partitions"));
  require(n, n.op<AndOp>(n.compare("ge", parts, 0), n.compare("lt", n.toI64(parts), count)),
          "a partition is outside of [0, num_partitions)");
  for (int64_t i = 0; i < n.i("num_partitions"); ++i) {
    Value at = n.op<NonZeroOp>(n.compare("eq", parts, i));
    Value part = n.gather(x, n.squeeze(at, {1}), 0);
    if (!part)
      return failure();
    n.made.emplace_back(part);
  }
  return success();
}

/// What integers are below, where their computation says it: axes that count from
/// the end are brought into the rank by a remainder. Of one by 0, as of a scalar's rank, a run
/// that does not end there has none.
static std::optional<int64_t> boundOf(Value integers) {
  while (auto converted = integers.getDefiningOp<CastOp>())
    integers = converted->getOperand(0);
  auto remainder = integers.getDefiningOp<FloorModOp>();
  if (!remainder)
    return std::nullopt;
  auto divisor = constantIntegers(remainder->getOperand(1));
  if (!divisor || divisor->empty() || *llvm::min_element(*divisor) < 0)
    return std::nullopt;
  return *llvm::max_element(*divisor);
}

/// Rows of several tensors, put where their indices say; the last one wins.
static LogicalResult dynamicStitch(NodeImport &n) {
  size_t count = n.inputCount() / 2;
  Value size;
  int64_t known = 0;
  for (size_t i = 0; i < count; ++i)
    if (auto values = n.knownInts(i))
      for (int64_t value : *values)
        known = std::max(known, value + 1);
  for (size_t i = 0; i < count; ++i) {
    Value indices = n.in(i), data = n.in(count + i);
    if (!indices || !data)
      return failure();
    // There are as many rows as an index of 32 bits can count.
    require(n,
            n.op<AndOp>(n.compare("ge", indices, 0),
                        n.compare("lt", indices, double(std::numeric_limits<int32_t>::max()))),
            "an index is negative, or the largest integer");
    std::optional<int64_t> bound = boundOf(indices);
    if (n.knownInts(i) || (bound && *bound <= known))
      continue;
    if (n.isStatic(indices) && n.type(indices).getNumElements() == 0)
      continue;
    Value flat = n.reshape(n.toI64(indices), {-1});
    // A leading -1, so that the maximum of nothing is no rows.
    flat = n.concat({n.ints({-1}), flat}, 0);
    Value last = n.add(n.reduce(flat, "max", {0}, true), 1.0);
    size = size ? n.maximum(size, last) : last;
  }
  size = size ? n.maximum(size, n.ints({known})) : n.ints({known});
  Value data = n.in(count);
  int64_t indexRank = n.rank(n.in(0));
  Value shape = size;
  if (n.rank(data) > indexRank)
    shape = n.concat({size, n.shapeSlice(data, indexRank, n.rank(data))}, 0);
  Value result = n.expandTo(n.like(data, 0), shape);
  for (size_t i = 0; i < count; ++i) {
    Value indices = n.in(i);
    result = n.op<ScatterNdOp>(result, n.unsqueeze(indices, {n.rank(indices)}), n.in(count + i),
                               n.text("none"), n.flag(false), n.flag(false));
  }
  return n.result(result);
}

/// Whether the target's value is among the k largest of its row.
static LogicalResult inTopK(NodeImport &n) {
  Value x = n.in(0), targets = n.in(1);
  if (!x || !targets)
    return failure();
  if (!n.hasRank(x, 2) || failed(requireShape(n, targets, n.sizeOf(x, 0), "targets")))
    return failure();
  Value k = n.node.op == "InTopKV2" ? n.in(2) : n.intScalar(n.i("k"));
  // A class that does not exist is in no row's top.
  Value classes = n.op<IotaOp>(n.sizeOf(x, 1), n.number(0), n.typeAttr(n.b.getI64Type()));
  Value hot = n.compare("eq", n.unsqueeze(n.toI64(targets), {1}), classes);
  Value exists = n.reduce(hot, "any", {1}, false);
  Value value = n.reduce(n.select(hot, x, n.like(x, -std::numeric_limits<double>::infinity())),
                         "max", {1}, true);
  Value larger = n.cast(n.compare("gt", x, value), n.b.getI64Type());
  Value rank = n.reduce(larger, "sum", {1}, false);
  // A row that is not finite throughout has no order.
  Value finite = n.op<AndOp>(exists, n.reduce(n.op<IsFiniteOp>(x), "all", {1}, false));
  return n.result(n.op<AndOp>(finite, n.compare("lt", rank, n.toI64(n.toScalar(k)))));
}

/// Several classes, the best of all of them.
static LogicalResult combinedNonMaxSuppression(NodeImport &n) {
  SmallVector<Value> in = n.tensors(0, 6);
  if (in.size() != 6 || !n.hasRank(in[0], 4) || !n.hasRank(in[1], 3))
    return failure();
  Type f32 = n.b.getF32Type();
  auto perClass = n.knownInts(2), total = n.knownInts(3);
  bool pads = n.isSet("pad_per_class");
  int64_t rows = ShapedType::kDynamic, classes = n.dim(in[1], 2), batches = n.dim(in[1], 0);
  if (total && total->size() == 1 && !pads)
    rows = total->front();
  else if (total && perClass && total->size() == 1 && perClass->size() == 1 &&
           !ShapedType::isDynamic(classes) && n.isStep(perClass->front()) && classes < 1 << 20)
    rows = std::min(total->front(), perClass->front() * classes);
  if (!ShapedType::isDynamic(rows) && (rows < 0 || !frontend::canBe({rows})))
    return n.invalid("found " + Twine(rows) + " boxes in all");
  SmallVector<Type> types = {RankedTensorType::get({batches, rows, 4}, f32),
                             RankedTensorType::get({batches, rows}, f32),
                             RankedTensorType::get({batches, rows}, f32),
                             RankedTensorType::get({batches}, n.b.getI32Type())};
  Operation *call = n.kernelCall("weir_kernel_combined_non_max_suppression", types,
                                 {n.cast(in[0], f32), n.cast(in[1], f32),
                                  n.toScalar(n.toI64(in[2])), n.toScalar(n.toI64(in[3])),
                                  n.toScalar(n.cast(in[4], f32)), n.toScalar(n.cast(in[5], f32))},
                                 {pads, n.isSet("clip_boxes")});
  return call ? n.results(SmallVector<Value>(call->getResults())) : failure();
}

/// Boxes or their overlaps, of one image and one class. Results: indices, and,
/// by version, scores, and how many are valid.
static LogicalResult nonMaxSuppression(NodeImport &n) {
  Value boxes = n.in(0), scores = n.in(1), count = n.in(2);
  if (!boxes || !scores || !count)
    return failure();
  std::string_view op = n.node.op;
  Type f32 = n.b.getF32Type(), i32 = n.b.getI32Type();
  bool isNarrow = n.element(scores).isF16();
  if (!isNarrow) {
    boxes = n.cast(boxes, f32);
    scores = n.cast(scores, f32);
  }
  bool isFirst = op == "NonMaxSuppression", isLast = op.ends_with("V5");
  auto limit = [&](size_t i) { return n.toScalar(n.cast(n.in(i), f32)); };
  SmallVector<Value> operands = {boxes, scores, n.toScalar(n.toI64(count)),
                                 isFirst ? n.scalar(f32, n.f("iou_threshold")) : limit(3)};
  if (n.inputCount() > 4)
    operands.push_back(limit(4));
  if (isLast)
    operands.push_back(limit(5));
  if (llvm::is_contained(operands, Value()))
    return failure();
  constexpr int64_t open = ShapedType::kDynamic;
  SmallVector<Type> types = {RankedTensorType::get({open}, i32)};
  if (isLast)
    types.push_back(RankedTensorType::get({open}, n.element(scores)));
  if (isLast || op.ends_with("V4"))
    types.push_back(RankedTensorType::get({}, i32));
  // The kernel's second result are scores; version 4 has none of them.
  if (op.ends_with("V4"))
    types.insert(types.begin() + 1, RankedTensorType::get({open}, n.element(scores)));
  bool byOverlaps = op == "NonMaxSuppressionWithOverlaps";
  auto call =
      CustomCallOp::create(n.b, n.loc, types, operands,
                           byOverlaps ? "weir_kernel_non_max_suppression_overlaps"
                                      : "weir_kernel_non_max_suppression_tf",
                           ArrayRef<int64_t>{n.isSet("pad_to_max_output_size")}, /*pure=*/true);
  if (op.ends_with("V4"))
    return n.results({call.getResult(0), call.getResult(2)});
  return n.results(SmallVector<Value>(call.getResults()));
}

template <bool isUpper> static LogicalResult searchSorted(NodeImport &n) {
  Value sorted = n.in(0), values = n.in(1);
  Type type = n.elementAttr("out_type");
  if (!sorted || !values || !type)
    return failure();
  if (!n.hasRank(sorted, 2) || !n.hasRank(values, 2))
    return failure();
  Type i64 = n.b.getI64Type();
  auto wide = [&](Value v) {
    if (n.isFloat(v))
      return n.cast(v, n.b.getF64Type());
    v = n.cast(v, i64, false);
    // Numbers without a sign, the half of them lower by 2^63.
    bool isWhole = n.element(sorted).isUnsignedInteger(64);
    return isWhole ? n.op<XorOp>(v, n.intScalar(std::numeric_limits<int64_t>::min())) : v;
  };
  Operation *made =
      n.kernelCall("weir_kernel_search_sorted", RankedTensorType::get(n.sizes(values), type),
                   {wide(sorted), wide(values)}, {isUpper});
  return made ? n.result(made->getResult(0)) : failure();
}

ArrayRef<OpImport> weir::tf::indexingImports() {
  static const OpImport rows[] = {
      {"Gather", gather},
      {"GatherV2", gather},
      {"GatherNd", gatherNd},
      {"OneHot", oneHot},
      {"Where", where},
      {"TopK", topK},
      {"ApproxTopK", approximateTopK},
      {"TopKV2", topK},
      {"NthElement", nthElement},
      {"NearestNeighbors", nearestNeighbors},
      {"IsotonicRegression", isotonicRegression},
      {"Unique", unique},
      {"UniqueV2", unique},
      {"UniqueWithCounts", unique},
      {"UniqueWithCountsV2", unique},
      {"ListDiff", listDiff},
      {"DynamicPartition", dynamicPartition},
      {"DynamicStitch", dynamicStitch},
      {"ParallelDynamicStitch", dynamicStitch},
      {"InTopK", inTopK},
      {"InTopKV2", inTopK},
      {"CombinedNonMaxSuppression", combinedNonMaxSuppression},
      {"NonMaxSuppression", nonMaxSuppression},
      {"NonMaxSuppressionV2", nonMaxSuppression},
      {"NonMaxSuppressionV3", nonMaxSuppression},
      {"NonMaxSuppressionV4", nonMaxSuppression},
      {"NonMaxSuppressionV5", nonMaxSuppression},
      {"NonMaxSuppressionWithOverlaps", nonMaxSuppression},
      {"LowerBound", searchSorted<false>},
      {"UpperBound", searchSorted<true>},
  };
  return rows;
}
