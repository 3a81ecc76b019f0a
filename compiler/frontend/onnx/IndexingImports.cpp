//===- IndexingImports.cpp - slices, gathers, scatters, orders ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/RuntimeAxes.h"
#include "dialects/weir/Arranged.h"

#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

/// Starts of slices whose steps go back are at least index 0, as ONNX clamps them: what begins
/// before the first element gives that one, and not nothing.
Value startsInside(NodeImport &n, Value x, ArrayRef<int64_t> axes, Value starts, Value steps) {
  std::optional<SmallVector<int64_t>> from = constantIntegers(starts), by = constantIntegers(steps);
  if (!starts || !steps || axes.empty() ||
      (by && llvm::all_of(*by, [](int64_t step) { return step > 0; })) ||
      (from && llvm::all_of(*from, [](int64_t start) { return start >= -1; })))
    return starts;
  Value least = n.op<NegOp>(n.gather(n.shapeOf(x), n.ints(axes), 0));
  Value wide = n.cast(starts, n.b.getI64Type());
  return n.select(n.compare("lt", n.cast(steps, n.b.getI64Type()), 0), n.maximum(wide, least),
                  wide);
}

/// Whether there are as many starts, ends and steps as axes: `count`, or as `all` has.
bool isBoundEach(NodeImport &n, int64_t count, Value all) {
  for (size_t input : {1, 2, 4})
    if (n.has(input) &&
        !(ShapedType::isDynamic(count) ? n.isAsLarge(n.in(input), 0, all, 0, "bounds and axes")
                                       : n.hasSize(n.in(input), 0, count, "bounds of axes")))
      return false;
  return true;
}

LogicalResult slice(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  Value starts, ends, steps;
  std::optional<SmallVector<int64_t>> given;
  int64_t count;
  bool byInput = n.version >= 10 || n.node.op == "DynamicSlice";
  if (byInput) {
    starts = n.in(1);
    ends = n.in(2);
    if (!starts || !ends)
      return failure();
    for (size_t i = 1; i <= 4; ++i)
      if (n.has(i) && !n.hasRank(n.in(i), 1, "starts, ends, axes and steps"))
        return failure();
    count = n.dim(starts, 0);
    steps = n.has(4) ? n.in(4) : Value();
    if (n.has(3))
      given = n.knownInts(3);
    if (!isBoundEach(n, given ? int64_t(given->size()) : n.dim(n.in(n.has(3) ? 3 : 1), 0),
                     n.in(n.has(3) ? 3 : 1)))
      return failure();
    if (n.has(3) ? !given : ShapedType::isDynamic(count)) {
      // Axes that only the run knows, or how many: bounds for all, moved to their places.
      Value axes = n.has(3)
                       ? n.in(3)
                       : n.op<IotaOp>(n.shapeOf(starts), n.number(0), n.typeAttr(n.b.getI64Type()));
      int64_t rank = n.rank(x);
      Value isAxis =
          n.op<AndOp>(n.compare("ge", axes, double(-rank)), n.compare("lt", axes, double(rank)));
      n.require(n.reduce(isAxis, "all", {0}, false),
                ("an axis is outside of the " + Twine(rank) + " dimensions").str());
      Value ones = n.expandTo(n.intScalar(1), n.shapeOf(axes));
      Value named = n.op<ScatterElementsOp>(n.ints(SmallVector<int64_t>(rank, 0)), axes, ones,
                                            n.number(0), n.text("add"), n.flag(true));
      n.require(n.reduce(n.compare("le", named, 1.0), "all", {0}, false), "an axis is there twice");
      Value by =
          steps ? scatterAxes(n, axes, steps, rank, 1) : n.ints(SmallVector<int64_t>(rank, 1));
      SmallVector<int64_t> all = axesFrom(0, rank);
      Value from = startsInside(n, x, all, scatterAxes(n, axes, starts, rank, 0), by);
      Value to = scatterAxes(n, axes, ends, rank, std::numeric_limits<int64_t>::max());
      return n.result(n.op<SliceOp>(x, from, to, by, n.list(all), n.flag(false)));
    }
  } else {
    std::optional<SmallVector<int64_t>> from = n.is("starts"), to = n.is("ends");
    if (!from || !to || from->size() != to->size())
      return n.invalid("found starts and ends that do not go together");
    given = n.is("axes");
    if (given && given->size() != from->size())
      return n.invalid("found " + Twine(from->size()) + " starts for " + Twine(given->size()) +
                       " axes");
    starts = n.ints(*from);
    ends = n.ints(*to);
    count = from->size();
  }
  if (given)
    count = given->size();
  if (count > n.rank(x))
    return n.invalid("found " + std::to_string(count) + " starts for " + std::to_string(n.rank(x)) +
                     " dimensions");
  SmallVector<int64_t> axes;
  for (int64_t one : given.value_or(axesFrom(0, count))) {
    std::optional<int64_t> axis = n.axis(one, n.rank(x));
    if (!axis)
      return failure();
    axes.push_back(*axis);
  }
  if (!steps)
    steps = n.ints(SmallVector<int64_t>(count, 1));
  starts = startsInside(n, x, axes, starts, steps);
  return n.result(n.op<SliceOp>(x, starts, ends, steps, n.list(axes), n.flag(false)));
}

LogicalResult splitAt(NodeImport &n, Value x, int64_t axis, Value sizes, size_t parts) {
  SmallVector<Value> results;
  std::optional<SmallVector<int64_t>> known = constantIntegers(sizes);
  auto outputs = static_cast<int64_t>(parts);
  int64_t count = known ? known->size() : n.dim(sizes, 0), whole = n.dim(x, axis);
  if (!ShapedType::isDynamic(count) && count != outputs)
    return n.invalid("found " + Twine(count) + " sizes for " + Twine(parts) + " outputs");
  constexpr StringLiteral differ = "the sizes of the parts are not those of the "
                                   "whole";
  if (known) {
    int64_t sum = 0;
    for (int64_t size : *known)
      if (size < 0 || llvm::AddOverflow(sum, size, sum))
        return n.invalid("found a part of size " + Twine(size));
    if (ShapedType::isDynamic(whole))
      n.require(n.compare("eq", n.toScalar(n.sizeOf(x, axis)), n.intScalar(sum)), differ);
    else if (sum != whole)
      return n.invalid("found parts of " + Twine(sum) + " in all for size " + Twine(whole));
  } else {
    sizes = n.cast(sizes, n.b.getI64Type());
    if (ShapedType::isDynamic(count))
      n.require(n.compare("eq", n.toScalar(n.sizeOf(sizes, 0)), n.intScalar(outputs)),
                "as many sizes as outputs are wanted");
    n.require(n.compare("eq", n.reduce(sizes, "sum", {0}, false), n.toScalar(n.sizeOf(x, axis))),
              differ);
  }
  int64_t at = 0;
  Value end;
  for (size_t i = 0; i < parts; ++i) {
    if (known) {
      results.push_back(n.slice(x, axis, at, at + (*known)[i]));
      at += (*known)[i];
      continue;
    }
    Value start = end ? end : n.ints({0});
    end = n.add(start, n.slice(sizes, 0, i, i + 1));
    results.push_back(n.op<SliceOp>(x, start, end, n.ints({1}), n.list({axis}), n.flag(true)));
  }
  return n.results(results);
}

LogicalResult split(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  std::optional<int64_t> axis = n.axis(n.i("axis"), n.rank(x));
  if (!axis)
    return failure();
  size_t parts = n.outputCount();
  if (n.version >= 13 || (n.version == 1 && n.has(1))) {
    if (n.has(1))
      return n.in(1) ? splitAt(n, x, *axis, n.in(1), parts) : failure();
  } else if (std::optional<SmallVector<int64_t>> sizes = n.is("split")) {
    return splitAt(n, x, *axis, n.ints(*sizes), parts);
  }
  auto count = static_cast<int64_t>(parts);
  if (n.version >= 18 && n.hasAttr("num_outputs") && n.i("num_outputs") != count)
    return n.invalid("found num_outputs " + Twine(n.i("num_outputs")) + " and " + Twine(count) +
                     " outputs");
  int64_t size = n.dim(x, *axis);
  // Parts were equal before their number could be said.
  if (n.version < 18 && !n.isMultiple(x, *axis, count, "parts"))
    return failure();
  if (!ShapedType::isDynamic(size)) {
    // The last part is smaller where the size does not divide.
    int64_t each = (size + count - 1) / count;
    SmallVector<int64_t> sizes(parts, each);
    sizes.back() = size - each * (count - 1);
    if (sizes.back() < 0)
      return n.invalid("found size " + Twine(size) + " for " + Twine(count) + " parts");
    return splitAt(n, x, *axis, n.ints(sizes), parts);
  }
  Value whole = n.sizeOf(x, *axis);
  Value each = n.div(n.add(whole, double(count - 1)), double(count));
  SmallVector<Value> results;
  for (int64_t i = 0; i < count; ++i)
    results.push_back(n.op<SliceOp>(x, n.mul(each, double(i)),
                                    i + 1 == count ? whole : n.mul(each, double(i + 1)),
                                    n.ints({1}), n.list({*axis}), n.flag(false)));
  return n.results(results);
}

/// Ends the run where a border is of elements of the operand and a dimension has none left, behind
/// what negative pads cut.
void requireElementsToCopy(NodeImport &n, Value x, Value pads) {
  int64_t rank = n.rank(x);
  pads = n.cast(pads, n.b.getI64Type());
  Value before = n.slice(pads, 0, 0, rank), after = n.slice(pads, 0, rank, 2 * rank);
  Value left = n.add(n.shapeOf(x), n.add(n.minimum(before, 0.0), n.minimum(after, 0.0)));
  Value hasBorder = n.compare("gt", n.maximum(before, after), 0);
  Value holds = n.op<OrOp>(n.logicalNot(hasBorder), n.compare("gt", left, 0));
  n.require(n.reduce(holds, "all", {0}, false),
            "a dimension of which negative pads leave nothing has no elements to be padded with");
}

LogicalResult pad(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  int64_t rank = n.rank(x);
  Value pads, value = n.like(x, 0);
  if (n.version < 11) {
    std::optional<SmallVector<int64_t>> given = n.is(n.version == 1 ? "paddings" : "pads");
    pads = n.ints(given.value_or(SmallVector<int64_t>()));
    value = n.like(x, n.f("value"));
  } else {
    pads = n.in(1);
    // ONNX Runtime's own takes a row, too.
    if (!n.node.domain.empty() && n.rank(pads) == 2 && n.hasSize(pads, 0, 1, "pads"))
      pads = n.reshape(pads, {-1});
    if (n.has(2) && n.in(2))
      value = n.toScalar(n.in(2));
  }
  if (!pads || !value)
    return failure();
  std::optional<SmallVector<int64_t>> axes = n.knownInts(3);
  int64_t padded = axes ? int64_t(axes->size()) : n.has(3) ? n.dim(n.in(3), 0) : rank;
  if (ShapedType::isDynamic(padded) ? !n.hasRank(pads, 1, "pads")
                                    : !n.hasEntries(pads, 2 * padded, "pads"))
    return failure();
  if (n.has(3) && !axes) {
    Value at = n.in(3);
    if (!n.hasRank(at, 1, "axes"))
      return failure();
    Value count = n.sizeOf(at, 0);
    if (ShapedType::isDynamic(padded))
      n.require(n.toScalar(n.compare("eq", n.sizeOf(pads, 0), n.mul(count, 2.0))),
                "there are not two pads for each axis");
    auto half = [&](Value begin, Value end) {
      Value part = n.op<SliceOp>(pads, begin, end, n.ints({1}), n.list({0}), n.flag(false));
      return scatterAxes(n, at, part, rank, 0);
    };
    pads = n.concat({half(n.ints({0}), count), half(count, n.mul(count, 2.0))}, 0);
  } else if (axes) {
    SmallVector<Value> all(2 * rank, n.ints({0}));
    auto count = static_cast<int64_t>(axes->size());
    pads = n.cast(pads, n.b.getI64Type());
    for (auto [i, one] : llvm::enumerate(*axes)) {
      std::optional<int64_t> axis = n.axis(one, rank);
      if (!axis)
        return failure();
      int64_t at = i;
      all[*axis] = n.slice(pads, 0, at, at + 1);
      all[rank + *axis] = n.slice(pads, 0, count + at, count + at + 1);
    }
    std::optional<SmallVector<int64_t>> known = constantIntegers(pads);
    if (known) {
      SmallVector<int64_t> flat(2 * rank, 0);
      for (auto [i, one] : llvm::enumerate(*axes)) {
        int64_t axis = *n.axis(one, rank);
        flat[axis] = (*known)[i];
        flat[rank + axis] = (*known)[count + i];
      }
      pads = n.ints(flat);
    } else {
      pads = n.concat(all, 0);
    }
  }
  std::string_view mode = n.s("mode");
  std::optional<SmallVector<int64_t>> known = constantIntegers(pads);
  bool mayCut = !known || llvm::any_of(*known, [](int64_t p) { return p < 0; });
  bool copies = !mode.empty() && mode != "constant";
  if (copies && (mayCut || !n.isStatic(x) || n.type(x).getNumElements() == 0))
    requireElementsToCopy(n, x, pads);
  if (mayCut && (mode == "wrap" || mode == "reflect")) {
    // Negative pads cut before what is left is repeated or mirrored.
    pads = n.cast(pads, n.b.getI64Type());
    Value cut = n.maximum(n.op<NegOp>(pads), 0.0), starts = n.slice(cut, 0, 0, rank);
    Value ends = n.sub(n.shapeOf(x), n.slice(cut, 0, rank, 2 * rank));
    n.require(n.reduce(n.compare("le", starts, ends), "all", {0}, false),
              "negative pads cut more than a dimension has");
    x = n.op<SliceOp>(x, starts, ends, n.ints(SmallVector<int64_t>(rank, 1)),
                      n.list(axesFrom(0, rank)), n.flag(false));
    pads = n.maximum(pads, 0.0);
  }
  return n.result(n.op<PadOp>(x, pads, value, n.text(StringRef(mode.data(), mode.size()))));
}

LogicalResult gather(NodeImport &n) {
  Value x = n.in(0), indices = n.in(1);
  if (!x || !indices)
    return failure();
  std::optional<int64_t> axis = n.axis(n.i("axis"), n.rank(x));
  if (!axis)
    return failure();
  // Of parts without elements none is read.
  if (n.isStatic(x) && n.type(x).getNumElements() == 0) {
    auto size = static_cast<double>(n.dim(x, *axis));
    Value isInside = n.op<AndOp>(n.compare("ge", indices, -size), n.compare("lt", indices, size));
    n.require(n.reduce(isInside, "all", axesFrom(0, n.rank(indices)), false),
              "an index is out of range");
  }
  return n.result(n.gather(x, indices, *axis));
}

LogicalResult gatherElements(NodeImport &n) {
  Value x = n.in(0), indices = n.in(1);
  if (!x || !indices)
    return failure();
  std::optional<int64_t> axis = n.axis(n.i("axis"), n.rank(x));
  return axis ? n.result(n.op<GatherElementsOp>(x, indices, n.number(*axis), n.flag(true)))
              : failure();
}

LogicalResult gatherNd(NodeImport &n) {
  Value x = n.in(0), indices = n.in(1);
  int64_t last = n.rank(indices) - 1, batch = n.i("batch_dims");
  // How long tuples are says the rank of the result, and the other way round.
  std::optional<int64_t> declared = n.declaredRank();
  if (declared && last >= 0 && n.type(indices).isDynamicDim(last)) {
    int64_t length = last + n.rank(x) - batch - *declared;
    if (length < 1 || length > n.rank(x) - batch)
      return n.invalid("found a result that is declared with rank " + Twine(*declared) +
                       ", of an operand of rank " + Twine(n.rank(x)) + " and indices of rank " +
                       Twine(last + 1));
    if (!n.hasSize(indices, last, length, "indices"))
      return failure();
    indices = n.reshapeTo(indices, n.concat({n.shapeSlice(indices, 0, last), n.ints({length})}, 0));
  }
  return n.result(n.op<GatherNdOp>(x, indices, n.number(batch), n.flag(true)));
}

/// How updates meet what is there; null, with a report, where the elements of `x` do
/// not meet that way.
StringAttr reduction(NodeImport &n, Value x) {
  std::string_view kind = n.s("reduction");
  if (!kind.empty() && kind != "none" && n.isString(x)) {
    (void)n.unsupported("expected no reduction of strings, got \"" + Twine(kind) + "\"");
    return {};
  }
  return n.text(kind.empty() ? StringRef("none") : StringRef(kind.data(), kind.size()));
}

/// Nothing is written where there is no room, `room` (tensor<1xi64>) being the number of places:
/// no index is right then.
void requireRoomFor(NodeImport &n, Value room, Value indices) {
  if (!room || !indices)
    return;
  auto known = constantIntegers(room);
  if (known && (*known)[0] != 0)
    return;
  Value fits = n.op<OrOp>(n.compare("ne", room, 0.0),
                          n.compare("eq", n.sizeProduct(indices, 0, n.rank(indices)), 0.0));
  n.require(n.toScalar(fits), "an index is outside of a tensor without elements");
}

LogicalResult scatterElements(NodeImport &n) {
  Value x = n.in(0), indices = n.in(1), updates = n.in(2);
  if (!x || !indices || !updates)
    return failure();
  std::optional<int64_t> axis = n.axis(n.i("axis"), n.rank(x));
  StringAttr how = reduction(n, x);
  if (!axis || !how)
    return failure();
  if (n.rank(x) > 0)
    requireRoomFor(n, n.sizeOf(x, *axis), indices);
  return n.result(n.op<ScatterElementsOp>(x, indices, updates, n.number(*axis), how, n.flag(true)));
}

LogicalResult scatterNd(NodeImport &n) {
  Value x = n.in(0), indices = n.in(1), updates = n.in(2);
  StringAttr how = reduction(n, x);
  if (!how)
    return failure();
  Value tuples = n.tuplesOfKnownLength(x, indices, updates);
  if (indices && !tuples)
    return n.invalid("found updates of rank " + Twine(n.rank(updates)) + " for a tensor of rank " +
                     Twine(n.rank(x)));
  if (tuples && n.rank(tuples) > 0) {
    int64_t last = n.rank(tuples) - 1, length = n.dim(tuples, last);
    if (ShapedType::isDynamic(length) || length > n.rank(x))
      return n.invalid("found tuples of " + sizeText(length) + " indices for a tensor of rank " +
                       Twine(n.rank(x)));
    if (!n.hasSize(indices, last, length, "indices"))
      return failure();
    requireRoomFor(n, n.sizeProduct(x, 0, length), indices);
  }
  return n.result(n.op<ScatterNdOp>(x, tuples, updates, how, n.flag(true), n.flag(false)));
}

/// Writes a run of entries, which begins at each batch entry's own index, into
/// a cache.
LogicalResult tensorScatter(NodeImport &n) {
  Value cache = n.in(0), update = n.in(1);
  if (!cache || !update)
    return failure();
  int64_t rank = n.rank(cache);
  std::optional<int64_t> axis = n.axis(n.i("axis"), rank);
  if (!axis || !n.hasRank(update, rank, "update"))
    return failure();
  for (int64_t i = 0; i < rank; ++i)
    if (i != *axis && !n.isAsLarge(update, i, cache, i, "update and the cache"))
      return failure();
  if (n.has(2) && !n.hasOneEach(n.in(2), cache, 0, "indices"))
    return failure();
  int64_t room = n.dim(cache, *axis), asked = n.dim(update, *axis);
  constexpr StringLiteral tooLong = "the update is longer than the cache";
  if (!ShapedType::isDynamic(room) && !ShapedType::isDynamic(asked)) {
    if (asked > room)
      return n.invalid("found an update of " + Twine(asked) + " entries for a cache of " +
                       Twine(room));
  } else {
    n.require(n.toScalar(n.compare("le", n.sizeOf(update, *axis), n.sizeOf(cache, *axis))),
              tooLong);
  }
  Value place = n.op<IotaOp>(n.shapeOf(update), n.number(*axis), n.typeAttr(n.b.getI64Type()));
  if (n.has(2))
    place = n.add(place, n.unsqueeze(n.cast(n.in(2), n.b.getI64Type()), axesFrom(1, rank)));
  if (n.s("mode") == "circular")
    place = n.op<FloorModOp>(place, n.toScalar(n.sizeOf(cache, *axis)));
  return n.result(n.op<ScatterElementsOp>(cache, place, update, n.number(*axis), n.text("none"),
                                          n.flag(false)));
}

LogicalResult nonZero(NodeImport &n) {
  Value places = n.op<NonZeroOp>(n.in(0));
  return n.result(n.transpose(places, {1, 0}));
}

LogicalResult compress(NodeImport &n) {
  Value x = n.in(0), condition = n.in(1);
  if (!x || !n.hasRank(condition, 1, "condition"))
    return failure();
  int64_t axis = 0;
  if (n.hasAttr("axis")) {
    std::optional<int64_t> given = n.axis(n.i("axis"), n.rank(x));
    if (!given)
      return failure();
    axis = *given;
  } else {
    x = n.reshape(x, {-1});
  }
  // What is known already is chosen from by numbers.
  auto constant = condition.getDefiningOp<ConstantOp>();
  if (DenseElementsAttr known =
          constant ? materializedConstant(cast<TypedAttr>(constant.getValue())) : nullptr) {
    SmallVector<int64_t> places;
    for (auto [i, isKept] : llvm::enumerate(known.getValues<bool>()))
      if (isKept)
        places.push_back(i);
    return n.result(n.gather(x, n.ints(places), axis));
  }
  Value places = n.squeeze(n.op<NonZeroOp>(condition), {1});
  return n.result(n.gather(x, places, axis));
}

LogicalResult unique(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  int64_t axis = -1;
  if (n.hasAttr("axis")) {
    std::optional<int64_t> given = n.axis(n.i("axis"), n.rank(x));
    if (!given)
      return failure();
    axis = *given;
  }
  Operation *made = n.multi<UniqueOp, 4>(x, n.number(axis), n.flag(n.i("sorted") != 0),
                                         n.typeAttr(n.b.getI64Type()));
  if (!made)
    return failure();
  return n.results(
      {made->getResult(0), made->getResult(1), made->getResult(2), made->getResult(3)});
}

LogicalResult topK(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  Value k = n.version < 10 ? n.ints({n.i("k")}) : n.in(1);
  std::optional<int64_t> axis = n.axis(n.i("axis"), n.rank(x));
  if (!k || !axis || !n.hasRank(k, 1, "k"))
    return failure();
  bool largest = n.version < 11 || n.i("largest") != 0;
  bool sorted = n.version < 11 || n.i("sorted") != 0;
  Operation *made = n.multi<TopKOp, 2>(x, n.reshape(k, {1}), n.number(*axis), n.flag(largest),
                                       n.flag(sorted), n.typeAttr(n.b.getI64Type()));
  if (!made)
    return failure();
  return n.results({made->getResult(0), made->getResult(1)});
}

template <bool largest> LogicalResult argReduce(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  // A scalar counts as a vector of one along the axes that a vector has, as in NumPy; the result is
  // a scalar. ONNX's schema has no axis for it, exporters write one.
  bool isScalar = n.rank(x) == 0;
  if (isScalar)
    x = n.reshape(x, {1});
  std::optional<int64_t> axis = n.axis(n.i("axis"), n.rank(x));
  if (!axis)
    return failure();
  bool last = n.version >= 12 && n.i("select_last_index") != 0;
  return n.result(n.op<ArgReduceOp>(x, n.flag(largest), n.number(*axis),
                                    n.flag(!isScalar && n.i("keepdims") != 0), n.flag(last),
                                    n.typeAttr(n.b.getI64Type())));
}

LogicalResult nonMaxSuppression(NodeImport &n) {
  Value boxes = n.in(0), scores = n.in(1);
  Type f32 = n.b.getF32Type();
  Value most = n.has(2) ? n.toScalar(n.in(2)) : n.intScalar(0);
  Value overlap = n.has(3) ? n.toScalar(n.in(3)) : n.scalar(f32, 0);
  Value least =
      n.has(4) ? n.toScalar(n.in(4)) : n.scalar(f32, -std::numeric_limits<double>::infinity());
  return n.result(n.op<NonMaxSuppressionOp>(boxes, scores, most, overlap, least,
                                            n.flag(n.i("center_point_box") != 0)));
}

constexpr OperatorImport table[] = {
    {"", "ArgMax", 1, 0, argReduce<true>},
    {"", "ArgMin", 1, 0, argReduce<false>},
    {"", "Compress", 9, 0, compress},
    {"", "DynamicSlice", 1, 0, slice},
    {"", "Gather", 1, 0, gather},
    {"", "GatherElements", 11, 0, gatherElements},
    {"", "GatherND", 11, 0, gatherNd},
    {"", "NonMaxSuppression", 10, 0, nonMaxSuppression},
    {"", "NonZero", 9, 0, nonZero},
    {"", "Pad", 1, 0, pad},
    {"", "Scatter", 9, 0, scatterElements},
    {"", "ScatterElements", 11, 0, scatterElements},
    {"", "ScatterND", 11, 0, scatterNd},
    {"", "Slice", 1, 0, slice},
    {"", "Split", 1, 0, split},
    {"", "TensorScatter", 24, 0, tensorScatter},
    {"", "TopK", 1, 0, topK},
    {"", "Unique", 11, 0, unique},
    {"com.microsoft", "GatherND", 1, 0, gatherNd},
    {"com.microsoft", "Pad", 1, 0, pad},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::indexingImports() { return table; }
