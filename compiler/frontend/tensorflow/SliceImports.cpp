//===- SliceImports.cpp - parts of tensors, borders -----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/RuntimeAxes.h"
#include "compiler/frontend/tensorflow/Sparse.h"

#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

static constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
static constexpr int64_t kBegin = std::numeric_limits<int64_t>::min();

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

static LogicalResult slice(NodeImport &n) {
  Value x = n.in(0), begin = n.in(1), size = n.in(2);
  if (!x || !begin || !size)
    return failure();
  int64_t rank = n.rank(x);
  auto knownBegin = n.knownInts(1), knownSize = n.knownInts(2);
  if (knownBegin && knownSize && static_cast<int64_t>(knownBegin->size()) == rank &&
      static_cast<int64_t>(knownSize->size()) == rank) {
    // Ends that only the run knows are cut apart, so that others stay constant and strict.
    IntVector begins, ends, axes, openBegins, openAxes;
    for (int64_t i = 0; i < rank; ++i) {
      int64_t dim = n.dim(x, i), from = (*knownBegin)[i], count = (*knownSize)[i];
      if (from < 0 || count < -1 || count > kEnd - from)
        return n.invalid("expected a begin from 0 and a size from -1 on, got " + Twine(from) +
                         " and " + Twine(count) + " in dimension " + Twine(i));
      if (!from && (count == -1 || count == dim))
        continue;
      if (count != -1 || !ShapedType::isDynamic(dim)) {
        begins.push_back(from);
        ends.push_back(count == -1 ? dim : from + count);
        axes.push_back(i);
      } else {
        require(n, n.compare("ge", n.sizeOf(x, i), n.ints({from})),
                "a slice begins beyond the end of dimension " + std::to_string(i));
        openBegins.push_back(from);
        openAxes.push_back(i);
      }
    }
    auto cut = [&](ArrayRef<int64_t> from, ArrayRef<int64_t> to, ArrayRef<int64_t> along,
                   bool strict) {
      if (!along.empty())
        x = n.op<SliceOp>(x, n.ints(from), n.ints(to), n.ints(IntVector(along.size(), 1)),
                          n.list(along), n.flag(strict));
    };
    cut(begins, ends, axes, true);
    cut(openBegins, IntVector(openAxes.size(), kEnd), openAxes, false);
    return n.result(x);
  }
  begin = n.toI64(begin);
  size = n.toI64(size);
  Value end = n.select(n.compare("eq", size, -1), n.shapeOf(x), n.add(begin, size));
  // No end is negative but one that is refused.
  end = n.select(n.compare("lt", size, -1), size, end);
  return n.result(n.op<SliceOp>(x, begin, end, n.ints(IntVector(rank, 1)),
                                n.list(axesFrom(0, rank)), n.flag(true)));
}

namespace {

/// One dimension of the operand in a strided slice.
struct SliceDim {
  int64_t axis;
  size_t entry;  ///< in begin, end, strides
  bool isPicked; ///< one index, the dimension goes
};

/// A strided slice taken apart: dimensions of the operand that are cut, and
/// where the result has new ones.
struct SliceSpec {
  SmallVector<SliceDim> dims;
  IntVector newAxes; ///< in the result
};

} // namespace

static std::optional<SliceSpec> parseSpec(NodeImport &n, int64_t rank, int64_t entries) {
  int64_t ellipsis = n.i("ellipsis_mask"), fresh = n.i("new_axis_mask"),
          shrink = n.i("shrink_axis_mask");
  auto isSet = [](int64_t mask, int64_t i) { return i < 64 && ((mask >> i) & 1); };
  // What no mask reaches is an index, however many a file claims.
  int64_t masked = std::min<int64_t>(entries, 64), consumed = entries - masked;
  for (int64_t i = 0; i < masked; ++i)
    if (!isSet(ellipsis, i) && !isSet(fresh, i))
      ++consumed;
  if (consumed > rank) {
    (void)n.invalid("found " + Twine(consumed) + " indices for a tensor of rank " + Twine(rank));
    return std::nullopt;
  }
  SliceSpec spec;
  int64_t axis = 0, resultAxis = 0;
  for (int64_t i = 0; i < entries; ++i) {
    if (isSet(ellipsis, i)) {
      axis += rank - consumed;
      resultAxis += rank - consumed;
    } else if (isSet(fresh, i)) {
      spec.newAxes.push_back(resultAxis++);
    } else {
      bool isPicked = isSet(shrink, i);
      spec.dims.push_back({axis++, static_cast<size_t>(i), isPicked});
      resultAxis += !isPicked;
    }
  }
  return spec;
}

/// Ends the run where dimension `axis` of `x` has no index `at`, which may count from the end.
static void requireIndex(NodeImport &n, Value x, int64_t axis, Value at) {
  Value size = n.toScalar(n.sizeOf(x, axis));
  Value isInside = n.op<AndOp>(n.compare("lt", at, size), n.compare("ge", n.add(at, size), 0));
  require(n, isInside, "an index is outside of dimension " + std::to_string(axis));
}

static LogicalResult stridedSlice(NodeImport &n) {
  Value x = n.in(0);
  SmallVector<Value> bounds = {n.in(1), n.in(2), n.in(3)};
  if (!x || !bounds[0] || !bounds[1] || !bounds[2])
    return failure();
  for (Value bound : bounds)
    if (!n.hasRank(bound, 1))
      return failure();
  int64_t entries = ShapedType::kDynamic;
  for (Value bound : bounds)
    if (ShapedType::isDynamic(entries))
      entries = n.dim(bound, 0);
  if (ShapedType::isDynamic(entries))
    return n.unsupported("found an unknown number of indices");
  for (Value bound : bounds)
    if (failed(requireSize(n, bound, 0, entries, "indices")))
      return failure();
  auto spec = parseSpec(n, n.rank(x), entries);
  if (!spec)
    return failure();
  SmallVector<std::optional<SmallVector<std::optional<int64_t>>>> known;
  for (Value &bound : bounds) {
    known.push_back(knownIntegers(bound));
    bound = n.toI64(bound);
  }
  auto entry = [&](size_t which, size_t i) -> std::optional<int64_t> {
    if (!known[which] || i >= known[which]->size())
      return std::nullopt;
    return (*known[which])[i];
  };
  auto valueOf = [&](size_t which, size_t i) -> Value {
    if (auto constant = entry(which, i))
      return n.ints({*constant});
    return n.slice(bounds[which], 0, i, i + 1);
  };
  // Bounds for the dimensions that stay; those picked follow.
  SmallVector<Value> starts, ends, steps;
  IntVector axes, dropped;
  SmallVector<std::pair<int64_t, Value>> picks;
  for (const SliceDim &dim : spec->dims) {
    auto isSet = [&](std::string_view mask) {
      return dim.entry < 64 && ((n.i(mask) >> dim.entry) & 1);
    };
    if (dim.isPicked) {
      auto step = entry(2, dim.entry);
      if (step && *step <= 0)
        return n.invalid("found a step of " + Twine(*step) + " at the index of dimension " +
                         Twine(dim.axis) + ", expected a positive one");
      if (!step)
        require(n, n.compare("gt", valueOf(2, dim.entry), 0), "an index has no positive step");
      auto at = entry(0, dim.entry);
      if (!at) {
        picks.emplace_back(dim.axis, n.toScalar(valueOf(0, dim.entry)));
        continue;
      }
      int64_t size = n.dim(x, dim.axis);
      if (!ShapedType::isDynamic(size) && (*at >= size || *at < -size))
        return n.invalid("found index " + Twine(*at) + " in dimension " + Twine(dim.axis) +
                         " of size " + Twine(size));
      // A slice is clamped.
      if (ShapedType::isDynamic(size))
        requireIndex(n, x, dim.axis, n.intScalar(*at));
      axes.push_back(dim.axis);
      dropped.push_back(dim.axis);
      starts.push_back(n.ints({*at}));
      ends.push_back(n.ints({*at == -1 ? kEnd : *at + 1}));
      steps.push_back(n.ints({1}));
      continue;
    }
    auto step = entry(2, dim.entry);
    if (step && *step == 0)
      return n.invalid("found a step of 0 in dimension " + Twine(dim.axis));
    bool fromStart = isSet("begin_mask"), toEnd = isSet("end_mask");
    if (fromStart && toEnd && step && *step == 1)
      continue;
    Value by = valueOf(2, dim.entry);
    if (!step)
      require(n, n.compare("ne", by, 0), "a step is 0");
    auto limit = [&](int64_t forwards, int64_t backwards) {
      if (step)
        return n.ints({*step > 0 ? forwards : backwards});
      return n.select(n.compare("gt", by, 0), n.ints({forwards}), n.ints({backwards}));
    };
    axes.push_back(dim.axis);
    starts.push_back(fromStart ? limit(0, kEnd) : valueOf(0, dim.entry));
    ends.push_back(toEnd ? limit(kEnd, kBegin) : valueOf(1, dim.entry));
    steps.push_back(by);
  }
  Value result = x;
  if (!axes.empty()) {
    // Constant bounds in one piece, which passes can look into.
    auto joined = [&](ArrayRef<Value> parts) -> Value {
      IntVector all;
      for (Value part : parts) {
        auto one = part ? constantIntegers(part) : std::nullopt;
        if (!one || one->size() != 1)
          return n.concat(parts, 0);
        all.push_back(one->front());
      }
      return n.ints(all);
    };
    result =
        n.op<SliceOp>(x, joined(starts), joined(ends), joined(steps), n.list(axes), n.flag(false));
  }
  for (auto &[axis, index] : llvm::reverse(picks)) {
    result = n.op<GatherOp>(result, index, n.number(axis), n.number(0), n.flag(true));
    for (int64_t &other : dropped)
      other -= other > axis;
  }
  llvm::sort(dropped);
  result = n.squeeze(result, dropped);
  // A gather of nothing looks at no index.
  if (result && (!n.isStatic(result) || n.type(result).getNumElements() == 0))
    for (auto &[axis, index] : picks)
      requireIndex(n, x, axis, index);
  return n.result(n.unsqueeze(result, spec->newAxes));
}

Value weir::tf::slicePlaces(NodeImport &n, Value shape, size_t first) {
  if (!shape || n.inputCount() < first + 3)
    return {};
  Value count = n.reduce(n.toI64(shape), "prod", {0}, true);
  Value numbers =
      n.reshapeTo(n.op<IotaOp>(count, n.number(0), n.typeAttr(n.b.getI64Type())), shape);
  if (!numbers)
    return {};
  NodeImport slice(n.g, n.node,
                   {Imported(numbers), n.inputs[first], n.inputs[first + 1], n.inputs[first + 2]},
                   n.b, n.loc);
  if (failed(stridedSlice(slice)))
    return {};
  n.noteAsked(slice); // of the same node
  return slice.made[0].value;
}

//===----------------------------------------------------------------------===//
// Splitting
//===----------------------------------------------------------------------===//

static LogicalResult splitInto(NodeImport &n, Value x, int64_t axis, ArrayRef<int64_t> sizes) {
  int64_t at = 0;
  for (int64_t size : sizes) {
    Value part = sizes.size() == 1 ? x : n.slice(x, axis, at, at + size);
    if (!part)
      return failure();
    n.made.emplace_back(part);
    at += size;
  }
  return success();
}

static LogicalResult split(NodeImport &n) {
  Value x = n.in(1);
  if (!x)
    return failure();
  int64_t parts = n.i("num_split");
  if (n.in(0) && !n.knownInts(0)) {
    // Of every dimension all, but of that one a part.
    Value flags = axisFlags(n, n.reshape(n.in(0), {1}), n.rank(x)), shape = n.shapeOf(x);
    if (parts <= 0 || !flags)
      return n.invalid("found " + Twine(parts) + " parts");
    Value each = n.div(shape, n.intScalar(parts));
    require(
        n, n.op<OrOp>(n.logicalNot(flags), n.compare("eq", n.mul(each, n.intScalar(parts)), shape)),
        "the size cannot be split into equal parts");
    for (int64_t i = 0; i < parts; ++i) {
      Value start = n.select(flags, n.mul(each, n.intScalar(i)), n.intScalar(0));
      Value end = n.select(flags, n.mul(each, n.intScalar(i + 1)), shape);
      Value part = n.op<SliceOp>(x, start, end, n.ints(IntVector(n.rank(x), 1)),
                                 n.list(axesFrom(0, n.rank(x))), n.flag(true));
      if (!part)
        return failure();
      n.made.emplace_back(part);
    }
    return success();
  }
  std::optional<int64_t> axis = n.constantAxis(0, n.rank(x));
  if (!axis)
    return failure();
  int64_t size = n.dim(x, *axis);
  if (!ShapedType::isDynamic(size)) {
    if (parts <= 0 || size % parts)
      return n.invalid("found size " + Twine(size) + " to split into " + Twine(parts) +
                       " equal parts");
    return splitInto(n, x, *axis, IntVector(parts, size / parts));
  }
  if (parts <= 0)
    return n.invalid("found " + Twine(parts) + " parts");
  Value whole = n.sizeOf(x, *axis), each = n.div(whole, n.ints({parts}));
  require(n, n.compare("eq", n.mul(each, n.ints({parts})), whole),
          "the size cannot be split into equal parts");
  for (int64_t i = 0; i < parts; ++i) {
    Value part = n.op<SliceOp>(x, n.mul(each, n.ints({i})), n.mul(each, n.ints({i + 1})),
                               n.ints({1}), n.list({*axis}), n.flag(true));
    if (!part)
      return failure();
    n.made.emplace_back(part);
  }
  return success();
}

/// Parts whose sizes the program computes, tensor<k x i64>; -1 is what is left. Without an axis
/// that is known, the run says which it is.
static LogicalResult splitAt(NodeImport &n, Value x, std::optional<int64_t> axis, Value sizes) {
  Value flags = axis ? Value() : axisFlags(n, n.reshape(n.in(2), {1}), n.rank(x)),
        shape = n.shapeOf(x);
  if (!axis && (!flags || n.rank(x) == 0))
    return n.invalid("found a tensor of rank " + Twine(n.rank(x)) + " to split");
  Value whole = axis ? n.sizeOf(x, *axis)
                     : n.reduce(n.select(flags, shape, n.intScalar(0)), "sum", {0}, true);
  Value isOpen = n.compare("eq", sizes, -1);
  Value known = n.select(isOpen, n.like(sizes, 0), sizes);
  Value left = n.sub(whole, n.reduce(known, "sum", {0}, true));
  require(n, n.compare("le", n.reduce(n.cast(isOpen, n.b.getI64Type()), "sum", {0}, true), 1),
          "one size may be what is left, not several");
  sizes = n.select(isOpen, left, sizes);
  require(n, n.compare("eq", n.sizeOf(sizes, 0), n.ints({n.i("num_split")})),
          "as many sizes as parts are wanted");
  require(n, n.compare("ge", sizes, 0), "a part has a negative size");
  require(n, n.compare("eq", n.reduce(sizes, "sum", {0}, true), whole),
          "the sizes of the parts are not that of the whole");
  Value ends = n.op<CumulativeOp>(sizes, n.text("sum"), n.number(0), n.flag(false), n.flag(false));
  Value starts = n.sub(ends, sizes);
  IntVector axes = axis ? IntVector{*axis} : axesFrom(0, n.rank(x));
  for (int64_t i = 0; i < n.i("num_split"); ++i) {
    Value start = n.slice(starts, 0, i, i + 1), end = n.slice(ends, 0, i, i + 1);
    if (flags) {
      start = n.select(flags, start, n.intScalar(0));
      end = n.select(flags, end, shape);
    }
    Value part =
        n.op<SliceOp>(x, start, end, n.ints(IntVector(axes.size(), 1)), n.list(axes), n.flag(true));
    if (!part)
      return failure();
    n.made.emplace_back(part);
  }
  return success();
}

static LogicalResult splitV(NodeImport &n) {
  Value x = n.in(0), given = n.in(1);
  if (!x || !given)
    return failure();
  if (n.in(2) && !n.knownInts(2))
    return splitAt(n, x, std::nullopt, n.toI64(given));
  std::optional<int64_t> axis = n.constantAxis(2, n.rank(x));
  std::optional<IntVector> sizes = n.knownInts(1);
  if (!axis)
    return failure();
  if (!sizes)
    return splitAt(n, x, *axis, n.toI64(given));
  int64_t whole = n.dim(x, *axis), sum = 0;
  if (static_cast<int64_t>(sizes->size()) != n.i("num_split"))
    return n.invalid("found " + Twine(sizes->size()) + " sizes for " + Twine(n.i("num_split")) +
                     " parts");
  // What is left of an open size, and whether there is as much, the run knows.
  if (ShapedType::isDynamic(whole))
    return splitAt(n, x, *axis, n.ints(*sizes));
  for (int64_t size : *sizes) {
    if (size > whole - sum)
      return n.invalid("found parts of more than a size of " + Twine(whole));
    sum += std::max<int64_t>(size, 0);
  }
  auto open = llvm::find(*sizes, -1);
  if (open != sizes->end()) {
    *open = whole - sum;
    sum = whole;
  }
  if (sum != whole || llvm::any_of(*sizes, [](int64_t s) { return s < 0; }))
    return n.invalid("found parts of " + Twine(sum) + " for a size of " + Twine(whole));
  return splitInto(n, x, *axis, *sizes);
}

static LogicalResult unpack(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  std::optional<int64_t> axis = n.axis(n.i("axis"), n.rank(x));
  if (!axis)
    return failure();
  int64_t size = n.dim(x, *axis), count = n.i("num");
  if (ShapedType::isDynamic(size))
    require(n, n.compare("eq", n.sizeOf(x, *axis), static_cast<double>(count)),
            "the size along the axis is not the number of outputs");
  else if (size != count)
    return n.invalid("expected " + Twine(count) + " along axis " + Twine(*axis) + ", got " +
                     Twine(size));
  for (int64_t i = 0; i < count; ++i) {
    Value part = n.squeeze(n.slice(x, *axis, i, i + 1), {*axis});
    if (!part)
      return failure();
    n.made.emplace_back(part);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Borders
//===----------------------------------------------------------------------===//

static LogicalResult padWith(NodeImport &n, Value value, StringRef mode) {
  Value x = n.in(0), paddings = n.in(1);
  if (!x || !paddings || !value)
    return failure();
  int64_t rank = n.rank(x);
  if (failed(requireShape(n, paddings, n.ints({rank, 2}), "paddings")))
    return failure();
  Value wide = n.toI64(paddings);
  // Negative ones that are known are an error of the operation that pads.
  if (!n.knownInts(1))
    require(n, n.compare("ge", wide, 0), "paddings must not be negative");
  // Where elements are mirrored, there must be as many, whether there are any or not.
  if (mode != "constant" && rank > 0)
    require(n, n.compare(mode == "reflect" ? "lt" : "le", wide, n.unsqueeze(n.shapeOf(x), {1})),
            "paddings must not be greater than the dimension size");
  Value pads = n.reshape(n.transpose(wide, {1, 0}), {2 * rank});
  return n.result(n.op<PadOp>(x, pads, value, n.text(mode)));
}

static LogicalResult pad(NodeImport &n) {
  Value x = n.in(0);
  return padWith(n, n.like(x, 0), "constant");
}

static LogicalResult padV2(NodeImport &n) { return padWith(n, n.in(2), "constant"); }

static LogicalResult mirrorPad(NodeImport &n) {
  return padWith(n, n.like(n.in(0), 0), n.s("mode") == "REFLECT" ? "reflect" : "symmetric");
}

Value weir::tf::updatedSlice(NodeImport &n, Value x, Value value) {
  Value places = slicePlaces(n, n.shapeOf(x), 1);
  if (!places || !value)
    return nullptr;
  IntVector extra;
  for (int64_t i = 0; i < n.rank(value) - n.rank(places); ++i) {
    if (ShapedType::isDynamic(n.dim(value, i)))
      require(n, n.compare("eq", n.sizeOf(value, i), 1),
              "the value has more dimensions than the slice, and they are not of size 1");
    extra.push_back(i);
  }
  if (!extra.empty() && !(value = n.squeeze(value, extra)))
    return nullptr;
  Value updates = n.reshape(n.expandTo(value, n.shapeOf(places)), {-1});
  Value after = n.op<ScatterNdOp>(n.reshape(x, {-1}), n.reshape(places, {-1, 1}), updates,
                                  n.text("none"), n.flag(false), n.flag(false));
  return n.reshapeTo(after, n.shapeOf(x));
}

/// The operand with a strided slice of it replaced.
static LogicalResult updateSlice(NodeImport &n) {
  Value x = n.in(0), value = n.in(4);
  if (!x || !value)
    return failure();
  return n.result(updatedSlice(n, x, value));
}

//===----------------------------------------------------------------------===//
// XLA's slices, which move into the operand where they reach beyond its border. Keras writes
// them for ops.slice_update.
//===----------------------------------------------------------------------===//

/// Where slices of `sizes` begin in `x`, of asked-for begins; null where it has reported.
static Value beginsInside(NodeImport &n, Value x, Value begins, Value sizes) {
  if (failed(requireShape(n, begins, n.ints({n.rank(x)}), "indices")))
    return nullptr;
  Value room = n.sub(n.shapeOf(x), sizes);
  require(n, n.compare("ge", room, 0), "a slice must not be larger than what it is cut from");
  return n.minimum(n.maximum(n.toI64(begins), 0.0), room);
}

static LogicalResult dynamicSlice(NodeImport &n) {
  Value x = n.in(0), begins = n.in(1), given = n.in(2);
  if (!x || !begins || !given ||
      failed(requireShape(n, given, n.ints({n.rank(x)}), "size_indices")))
    return failure();
  Value sizes = n.toI64(given);
  require(n, n.compare("ge", sizes, 0), "sizes of a slice must not be negative");
  if (!(begins = beginsInside(n, x, begins, sizes)))
    return failure();
  int64_t rank = n.rank(x);
  Value part = n.op<SliceOp>(x, begins, n.add(begins, sizes), n.ints(IntVector(rank, 1)),
                             n.list(axesFrom(0, rank)), n.flag(true));
  return n.result(n.reshapeTo(part, sizes));
}

static LogicalResult dynamicUpdateSlice(NodeImport &n) {
  Value x = n.in(0), update = n.in(1), begins = n.in(2);
  if (!x || !update || !begins)
    return failure();
  if (n.rank(update) != n.rank(x))
    return n.invalid("expected an update of rank " + Twine(n.rank(x)) + ", got " +
                     Twine(n.rank(update)));
  Value sizes = n.shapeOf(update);
  if (!(begins = beginsInside(n, x, begins, sizes)))
    return failure();
  // What lies around the update is the operand.
  Value after = n.sub(n.sub(n.shapeOf(x), sizes), begins);
  Value pads = n.concat({begins, after}, 0);
  Value inside = n.expandTo(n.scalar(n.b.getI1Type(), 1), sizes);
  Value mask = n.op<PadOp>(inside, pads, n.scalar(n.b.getI1Type(), 0), n.text("constant"));
  Value moved = n.op<PadOp>(update, pads, n.like(x, 0), n.text("constant"));
  return n.result(n.reshapeTo(n.select(mask, moved, x), n.shapeOf(x)));
}

ArrayRef<OpImport> weir::tf::sliceImports() {
  static const OpImport rows[] = {
      {"XlaDynamicSlice", dynamicSlice},
      {"XlaDynamicUpdateSlice", dynamicUpdateSlice},
      {"TensorStridedSliceUpdate", updateSlice},
      {"Slice", slice},
      {"StridedSlice", stridedSlice},
      {"Split", split},
      {"SplitV", splitV},
      {"Unpack", unpack},
      {"Pad", pad},
      {"PadV2", padV2},
      {"MirrorPad", mirrorPad},
  };
  return rows;
}
