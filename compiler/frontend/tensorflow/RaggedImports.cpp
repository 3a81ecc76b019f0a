//===- RaggedImports.cpp - tensors whose rows differ in length ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A ragged tensor is its values, one row behind the other, and splits: where
// each row begins and the last one ends. Splits of an outer dimension count
// rows of the next one.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Sparse.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

static LogicalResult raggedRange(NodeImport &n) {
  Value starts = n.in(0), limits = n.in(1), deltas = n.in(2);
  Type type = n.elementAttr("Tsplits");
  if (!starts || !limits || !deltas || !type)
    return failure();
  Value span = n.sub(limits, starts);
  require(n, n.compare("ne", deltas, 0), "delta must not be 0");
  Value steps;
  if (n.isFloat(span)) {
    steps = n.op<CeilOp>(n.div(n.widen(span), n.widen(deltas)));
  } else {
    // Rounded away from zero.
    Value size = n.op<AbsOp>(deltas);
    Value up = n.div(n.sub(n.add(n.op<AbsOp>(span), size), 1.0), size);
    Value same = n.op<XorOp>(n.compare("lt", span, 0), n.compare("lt", deltas, 0));
    steps = n.select(same, n.like(up, 0), up);
  }
  Value lengths = n.toI64(n.maximum(steps, 0.0));
  if (!lengths)
    return failure();
  if (n.rank(lengths) == 0)
    lengths = n.reshape(lengths, {1});
  Value splits = splitsOf(n, lengths);
  Value total = lastSplit(n, splits);
  Value rows = rowIds(n, splits, total);
  Value within = n.sub(countUp(n, total), take(n, splits, rows));
  auto each = [&](Value v) {
    if (n.rank(v) == 1 && n.dim(v, 0) != 1)
      return take(n, n.expandTo(v, n.shapeOf(lengths)), rows);
    return n.rank(v) == 1 ? n.toScalar(v) : v;
  };
  Value values = n.add(each(starts), n.mul(n.cast(within, n.element(starts)), each(deltas)));
  return n.results({n.cast(splits, type), values});
}

/// Inputs [first, end) as splits of i64.
static SmallVector<Value> splitsInput(NodeImport &n, size_t first, size_t end) {
  SmallVector<Value> splits = n.tensors(first, end);
  for (Value &one : splits)
    one = n.toI64(one);
  return splits;
}

/// Rows of the outermost ragged dimension by index.
static LogicalResult raggedGather(NodeImport &n) {
  size_t depth = n.i("PARAMS_RAGGED_RANK");
  SmallVector<Value> params = splitsInput(n, 0, depth);
  Value values = n.in(depth), indices = n.in(depth + 1);
  Type type = n.elementAttr("Tsplits");
  if (params.size() != depth || depth == 0 || !values || !indices || !type)
    return failure();
  SmallVector<Value> results;
  // The indices' own dimensions but the first are rows of equal length.
  for (int64_t i = 1; i < n.rank(indices); ++i) {
    Value rows = n.sizeProduct(indices, 0, i);
    Value counts = countUp(n, n.add(rows, 1.0));
    results.push_back(n.mul(counts, n.toScalar(n.sizeOf(indices, i))));
  }
  Value at = n.toI64(n.reshape(indices, {-1}));
  for (Value splits : params) {
    require(
        n,
        n.op<AndOp>(n.compare("ge", at, 0), n.compare("lt", at, n.toScalar(rowCount(n, splits)))),
        "indices are out of range");
    Value first = take(n, splits, at);
    Value lengths = n.sub(take(n, splits, n.add(at, 1.0)), first);
    require(n, n.compare("ge", lengths, 0), "row splits must not decrease");
    Value own = splitsOf(n, lengths);
    results.push_back(own);
    at = rangesOf(n, first, own);
  }
  for (Value &splits : results)
    splits = n.cast(splits, type);
  results.push_back(take(n, values, at));
  return n.results(results);
}

namespace {
/// For each element of a ragged tensor's values, where it is in each dimension.
struct Places {
  SmallVector<Value> at;   ///< [count] each, one more than ragged dimensions
  SmallVector<Value> most; ///< the longest row of each, [1]
};
} // namespace

static Value longest(NodeImport &n, Value lengths) {
  return n.reduce(n.concat({n.ints({0}), lengths}, 0), "max", {0}, true);
}

/// `count` ([1]) elements under `splits`, outermost first.
static Places placesOf(NodeImport &n, ArrayRef<Value> splits, Value count) {
  Places places;
  SmallVector<Value> inner;
  Value at = countUp(n, count);
  Value outer; // of each element: which row of the dimension at hand it is in
  for (size_t i = splits.size(); i-- > 0;) {
    Value size = i + 1 < splits.size() ? rowCount(n, splits[i + 1]) : count;
    requireSplits(n, splits[i], size);
    Value rows = rowIds(n, splits[i], size);
    rows = outer ? take(n, rows, outer) : rows;
    Value begin = take(n, splits[i], rows);
    inner.push_back(n.sub(outer ? outer : at, begin));
    places.most.push_back(longest(n, rowLengths(n, splits[i])));
    outer = rows;
  }
  places.at.push_back(outer);
  places.at.append(inner.rbegin(), inner.rend());
  places.most.push_back(rowCount(n, splits.front()));
  std::reverse(places.most.begin(), places.most.end());
  return places;
}

static LogicalResult raggedToSparse(NodeImport &n) {
  size_t depth = n.i("RAGGED_RANK");
  SmallVector<Value> splits = splitsInput(n, 0, depth);
  Value values = n.in(depth);
  if (splits.size() != depth || depth == 0 || !values)
    return failure();
  Places places = placesOf(n, splits, n.sizeOf(values, 0));
  if (llvm::is_contained(places.at, Value()))
    return failure();
  Value indices = n.stack(places.at, 1);
  Value shape = n.concat(places.most, 0);
  int64_t rank = n.rank(values);
  if (rank > 1) {
    // Each element of the rows' own dimensions becomes one of its own.
    Value inner = n.sizeProduct(values, 1, rank), sizes = n.shapeSlice(values, 1, rank);
    Value total = n.sizeProduct(values, 0, rank);
    Value number = countUp(n, total);
    Value divisor = n.toScalar(n.maximum(inner, 1.0));
    indices = n.concat({take(n, indices, n.div(number, divisor)),
                        unravel(n, n.op<RemOp>(number, divisor), sizes, rank - 1)},
                       1);
    shape = n.concat({shape, sizes}, 0);
    values = n.reshape(values, {-1});
  }
  return n.results({indices, values, shape});
}

/// Pads rows to one length. Partitions: the splits, or the row of each value,
/// of one dimension after the other; with the latter the number of rows comes
/// first.
static LogicalResult raggedToTensor(NodeImport &n) {
  Value shape = n.in(0), values = n.in(1), fill = n.in(2);
  const AttrValue *kinds = n.attr("row_partition_types");
  size_t count = n.inputCount() - 3;
  if (!shape || !values || !fill || !kinds || !kinds->list || kinds->list->strings.size() != count)
    return failure();
  SmallVector<Value> splits;
  Value rows;
  // Splits of every dimension, from the outermost in.
  for (size_t i = 0; i < count; ++i) {
    Value part = n.toI64(n.in(3 + i));
    if (!part)
      return failure();
    std::string_view kind = kinds->list->strings[i];
    if (kind == "FIRST_DIM_SIZE") {
      rows = n.reshape(part, {1});
      continue;
    }
    if (kind == "VALUE_ROWIDS") {
      if (!rows)
        return n.invalid("found row numbers without the number of rows");
      part = splitsOf(n, segmentCounts(n, part, rows));
    } else if (kind != "ROW_SPLITS") {
      return n.unsupported("found row partition " + Twine(StringRef(kind.data(), kind.size())));
    }
    splits.push_back(part);
    rows = lastSplit(n, part);
  }
  if (splits.empty())
    return n.invalid("found no row partition");
  Places places = placesOf(n, splits, n.sizeOf(values, 0));
  if (llvm::is_contained(places.at, Value()))
    return failure();
  Value sizes = n.concat(places.most, 0);
  int64_t rank = n.rank(values), ragged = places.at.size();
  if (rank > 1)
    sizes = n.concat({sizes, n.shapeSlice(values, 1, rank)}, 0);
  if (n.rank(shape) == 1) {
    // Sizes that the node asks for; -1 leaves one open.
    int64_t entries = n.dim(shape, 0), wanted = ragged + rank - 1;
    if (ShapedType::isDynamic(entries))
      require(n, n.compare("eq", n.sizeOf(shape, 0), static_cast<double>(wanted)),
              "found a shape of another rank than the values'");
    else if (entries != wanted)
      return n.unsupported("found a shape of another rank than the values'");
    Value asked = n.reshape(n.toI64(shape), {wanted});
    sizes = n.select(n.compare("lt", asked, 0), sizes, asked);
  }
  Value result = n.expandTo(fill, sizes);
  // What lies past a size that was asked for is dropped.
  return n.result(n.op<ScatterNdOp>(result, n.stack(places.at, 1), values, n.text("none"),
                                    n.flag(false), n.flag(true)));
}

//===----------------------------------------------------------------------===//
// Variants
//===----------------------------------------------------------------------===//

static LogicalResult raggedToVariant(NodeImport &n) {
  SmallVector<Value> parts = n.tensors(0, n.inputCount());
  if (parts.empty())
    return failure();
  return n.result(Imported::makeGroup(std::vector<Value>(parts.begin(), parts.end())));
}

/// Batched or not: the pieces come back as they went in.
static LogicalResult raggedFromVariant(NodeImport &n) {
  size_t depth = n.i("output_ragged_rank");
  if (n.inputs[0].kind != Imported::Kind::Group || n.inputs[0].group->size() != depth + 1)
    return n.unsupported("found a variant that is no ragged tensor of as many "
                         "dimensions from this graph");
  // One variant holds all dimensions, a vector of them all but the outermost; -1 asks for none.
  int64_t inner = n.i("input_ragged_rank"), all = static_cast<int64_t>(depth);
  if (inner != -1 && inner != all && inner + 1 != all)
    return n.invalid("found input_ragged_rank " + Twine(inner) + "; expected -1, " +
                     Twine(all - 1) + " or " + Twine(all) + ", got output_ragged_rank " +
                     Twine(all));
  return n.results(*n.inputs[0].group);
}

ArrayRef<OpImport> weir::tf::raggedImports() {
  static const OpImport rows[] = {
      {"RaggedRange", raggedRange},
      {"RaggedGather", raggedGather},
      {"RaggedTensorToSparse", raggedToSparse},
      {"RaggedTensorToTensor", raggedToTensor},
      {"RaggedTensorToVariant", raggedToVariant},
      {"RaggedTensorFromVariant", raggedFromVariant},
  };
  return rows;
}
