//===- ArrayImports.cpp - constants, shapes, rearrangement ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/lowering/GivenShape.h"
#include "compiler/frontend/onnx/GraphImporter.h"
#include "compiler/frontend/onnx/RuntimeAxes.h"
#include "dialects/weir/KnownIntegers.h"

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

Value weir::onnx::reversedSequences(TensorBuilder &t, Value x, Value lengths, int64_t time,
                                    int64_t batch) {
  if (!x || !lengths)
    return {};
  // Whole lines behind both axes change places.
  Type i64 = t.b.getI64Type();
  Value sizes = t.shapeSlice(x, 0, 2);
  Value place = t.op<IotaOp>(sizes, t.number(time), t.typeAttr(i64));
  Value entry = t.op<IotaOp>(sizes, t.number(batch), t.typeAttr(i64));
  Value mirrored = t.sub(t.sub(t.unsqueeze(t.cast(lengths, i64), {time}), 1.0), place);
  Value source = t.select(t.compare("ge", mirrored, 0.0), mirrored, place);
  Value line = time == 0 ? t.add(t.mul(source, t.toScalar(t.sizeOf(x, batch))), entry)
                         : t.add(t.mul(entry, t.toScalar(t.sizeOf(x, time))), source);
  Value lines =
      t.reshapeTo(x, t.concat({t.sizeProduct(x, 0, 2), t.shapeSlice(x, 2, t.rank(x))}, 0));
  return t.gather(lines, line, 0);
}

namespace {

LogicalResult constantNode(NodeImport &n) {
  MLIRContext *context = n.b.getContext();
  if (const NodeAttribute *attr = n.attr("value"))
    return n.result(n.tensorConstant(attr->tensors[0]));
  if (const NodeAttribute *attr = n.attr("sparse_value"))
    return n.result(n.graph.sparseConstant(attr->sparseTensors[0], n.b, n.loc, &n.node));
  if (const NodeAttribute *attr = n.attr("value_float"))
    return n.result(n.scalar(n.b.getF32Type(), attr->f));
  if (const NodeAttribute *attr = n.attr("value_int"))
    return n.result(
        n.constant(DenseElementsAttr::get(RankedTensorType::get({}, n.b.getI64Type()), attr->i)));
  if (std::optional<SmallVector<double>> values = n.fs("value_floats"))
    return n.result(n.floats(*values, n.b.getF32Type()));
  if (std::optional<SmallVector<int64_t>> values = n.is("value_ints"))
    return n.result(n.ints(*values));
  SmallVector<StringRef> strings;
  SmallVector<int64_t> shape;
  if (n.attr("value_strings")) {
    for (std::string_view text : n.ss("value_strings"))
      strings.push_back(StringRef(text.data(), text.size()));
    shape.push_back(strings.size());
  } else if (n.attr("value_string")) {
    std::string_view text = n.s("value_string");
    strings.push_back(StringRef(text.data(), text.size()));
  } else {
    return n.invalid("found no value");
  }
  return n.result(n.constant(
      DenseElementsAttr::get(RankedTensorType::get(shape, StringType::get(context)), strings)));
}

LogicalResult shapeNode(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  int64_t rank = n.rank(x), start = 0, end = rank;
  if (n.version >= 15) {
    auto clamp = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
    start = clamp(n.i("start"));
    end = n.hasAttr("end") ? clamp(n.i("end")) : rank;
  }
  return n.result(n.shapeSlice(x, start, std::max(start, end)));
}

LogicalResult sizeNode(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  return n.result(n.toScalar(n.sizeProduct(x, 0, n.rank(x))));
}

/// How many sizes an operand for a shape has; reports. Where their number is open it is as many
/// as the result is declared to have dimensions, and `shape` becomes one of so many.
std::optional<int64_t> lengthOf(NodeImport &n, Value &shape) {
  if (!n.hasRank(shape, 1, "shape"))
    return std::nullopt;
  if (std::optional<int64_t> declared = n.declaredRank(); declared && !n.isStatic(shape))
    shape = n.ofLength(shape, *declared, "shape");
  int64_t length = n.dim(shape, 0);
  // Far more than any tensor has; a file may claim what no step could read.
  constexpr int64_t mostDims = 1024;
  if (length > mostDims) {
    (void)n.invalid("found a shape of " + Twine(length) + " dimensions");
    return std::nullopt;
  }
  if (!ShapedType::isDynamic(length))
    return length;
  (void)n.unsupported("expected a known rank, got a shape of unknown length, so that the rank of "
                      "the result is open; where the graph declares it, the shape may have any");
  return std::nullopt;
}

LogicalResult constantOfShape(NodeImport &n) {
  Value shape = n.in(0);
  if (!lengthOf(n, shape))
    return failure();
  Value value = n.scalar(n.b.getF32Type(), 0);
  if (const NodeAttribute *attr = n.attr("value"))
    value = n.toScalar(n.tensorConstant(attr->tensors[0]));
  return n.result(n.expandTo(value, shape));
}

/// The one open size that is kept (`sizes`), where the others are known and do not have one
/// product: only an operand without elements has that shape.
std::optional<int64_t> keptOfNothing(NodeImport &n, Value x, ArrayRef<int64_t> sizes) {
  std::optional<int64_t> kept;
  int64_t given = 1, asked = 1;
  for (int64_t i = 0; i < n.rank(x); ++i)
    if (!ShapedType::isDynamic(n.dim(x, i)))
      given *= n.dim(x, i);
    else if (std::exchange(kept, i))
      return std::nullopt;
  for (int64_t size : sizes) {
    if (size == -1)
      return std::nullopt;
    asked *= ShapedType::isDynamic(size) ? 1 : size;
  }
  return given != asked ? kept : std::nullopt;
}

/// A constant or computed shape with ONNX's convention that 0 keeps the
/// operand's size.
Value keepZeros(NodeImport &n, Value x, Value shape) {
  int64_t length = n.dim(shape, 0);
  std::optional<SmallVector<int64_t>> known = constantIntegers(shape);
  if (known) {
    SmallVector<Value> parts;
    SmallVector<int64_t> sizes = *known;
    bool open = false;
    for (auto [i, size] : llvm::enumerate(sizes))
      if (size == 0) {
        if (static_cast<int64_t>(i) >= n.rank(x)) {
          (void)n.invalid("found 0 for a dimension that the operand does not "
                          "have");
          return {};
        }
        size = n.dim(x, i);
        open |= ShapedType::isDynamic(size);
      }
    if (!open)
      return n.ints(sizes);
    if (std::optional<int64_t> kept = keptOfNothing(n, x, sizes)) {
      n.require(n.toScalar(n.compare("eq", n.sizeOf(x, *kept), 0.0)),
                "the shape that is asked for has another number of elements than there are");
      sizes[*kept] = 0;
      return n.ints(sizes);
    }
    for (auto [i, size] : llvm::enumerate(sizes))
      parts.push_back(ShapedType::isDynamic(size) ? n.sizeOf(x, i) : n.ints({size}));
    return n.concat(parts, 0);
  }
  // Sizes of other tensors stay what they are; any other entry may be zero.
  auto entries = followIntegers(shape);
  bool maybeZero = !entries;
  if (entries)
    for (const KnownInteger &entry : *entries)
      maybeZero |= entry.value ? *entry.value == 0 : !entry.isSymbol();
  if (!maybeZero)
    return shape;
  SmallVector<Value> parts;
  for (int64_t i = 0; i < length; ++i) {
    Value entry = n.slice(shape, 0, i, i + 1);
    if (i < n.rank(x))
      entry = n.select(n.compare("eq", entry, 0.0), n.sizeOf(x, i), entry);
    else if (!entries || (!(*entries)[i].value && !(*entries)[i].isSymbol()))
      n.require(n.toScalar(n.compare("ne", entry, 0.0)),
                "the shape that is asked for keeps the size of a dimension that is not there");
    parts.push_back(entry);
  }
  return n.concat(parts, 0);
}

/// Two sizes of -1 are refused, for which 1 and 1 would serve where there is one element, and one
/// beside a size of 0 (`allowsZero`), beside which any would. Where neither may be nothing is
/// computed.
void requireDerivable(NodeImport &n, Value shape, bool allowsZero) {
  auto entries = followIntegers(shape);
  int64_t mayDerive = 0, mayBeZero = 0;
  if (entries)
    for (const KnownInteger &entry : *entries) {
      mayDerive += entry.value ? *entry.value < 0 : !entry.isSymbol();
      mayBeZero += !entry.value || *entry.value == 0;
    }
  if (!shape)
    return;
  if (!entries || mayDerive > 1) {
    Value derived = n.cast(n.compare("lt", shape, 0.0), n.b.getI64Type());
    n.require(n.compare("le", n.reduce(derived, "sum", {0}, false), 1.0),
              "more than one size of the shape that is asked for is -1");
  }
  if (allowsZero && (!entries || (mayDerive && mayBeZero)))
    n.require(n.op<OrOp>(n.reduce(n.compare("ge", shape, 0.0), "all", {0}, false),
                         n.reduce(n.compare("ne", shape, 0.0), "all", {0}, false)),
              "the shape that is asked for has a size of -1 beside one of 0");
}

LogicalResult reshape(NodeImport &n) {
  Value x = n.in(0);
  Value shape;
  if (n.version < 5)
    shape = n.ints(n.is("shape").value_or(SmallVector<int64_t>()));
  else
    shape = n.in(1);
  if (!x || !lengthOf(n, shape))
    return failure();
  shape = n.cast(shape, n.b.getI64Type());
  bool allowsZero = n.version >= 14 && n.i("allowzero") != 0;
  requireDerivable(n, shape, allowsZero);
  if (!allowsZero)
    shape = keepZeros(n, x, shape);
  return n.result(frontend::ofGivenShape(
      n, n.reshapeTo(x, shape), shape, true,
      [&](Value holds, StringRef text) { n.require(n.reduce(holds, "all", {0}, false), text); }));
}

LogicalResult flatten(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  int64_t axis = n.i("axis"), rank = n.rank(x);
  axis = axis < 0 ? axis + rank : axis;
  if (axis < 0 || axis > rank)
    return n.axis(n.i("axis"), rank), failure();
  return n.result(
      n.reshapeTo(x, n.concat({n.sizeProduct(x, 0, axis), n.sizeProduct(x, axis, rank)}, 0)));
}

/// Axes that are an attribute before `sinceInput`, an input from then on.
/// Nothing where neither is given; `failed` where they cannot be read.
std::optional<SmallVector<int64_t>> givenAxes(NodeImport &n, size_t input, int64_t sinceInput,
                                              bool &failed) {
  failed = false;
  if (n.version < sinceInput)
    return n.is("axes");
  if (!n.has(input))
    return std::nullopt;
  if (n.in(input) && n.rank(n.in(input)) > 1) {
    failed = !n.hasRank(n.in(input), 1, "axes");
    return std::nullopt;
  }
  std::optional<SmallVector<int64_t>> axes = n.constantInts(input);
  failed = !axes;
  return axes;
}

/// Whether axes are an input that only the run knows.
bool computedAxes(NodeImport &n) {
  return n.version >= 13 && n.has(1) && !n.knownInts(1) && n.in(1) && n.rank(n.in(1)) == 1;
}

/// Such axes, which are `dropped` from dimensions of an operand of rank `rank` or put between
/// them: where their number is open, as many as leave the rank that the graph declares. Null,
/// with a report, where it declares none, or one that cannot be.
Value countedAxes(NodeImport &n, int64_t rank, bool dropped) {
  Value axes = n.in(1);
  if (n.isStatic(axes))
    return axes;
  std::optional<int64_t> declared = n.declaredRank();
  if (!declared) {
    (void)n.unsupported("expected a known rank, got axes of unknown number, so that the rank of "
                        "the result is open; where the graph declares it, there may be any number");
    return {};
  }
  int64_t count = dropped ? rank - *declared : *declared - rank;
  if (count < 0) {
    (void)n.invalid("found a result that is declared with rank " + Twine(*declared) +
                    ", of an operand of rank " + Twine(rank));
    return {};
  }
  return n.ofLength(axes, count, "axes");
}

LogicalResult squeeze(NodeImport &n) {
  Value x = n.in(0);
  if (computedAxes(n))
    return n.result(squeezeAt(n, x, countedAxes(n, n.rank(x), true)));
  bool failed;
  std::optional<SmallVector<int64_t>> given = givenAxes(n, 1, 13, failed);
  if (!x || failed)
    return failure();
  // A vector is squeezed to be a scalar: the run says whether it was one.
  if (!given && n.rank(x) == 1 && !n.isStatic(x))
    return n.result(n.toScalar(x));
  if (!given) {
    // The rank must be known: what is open is taken for more than 1, but for as many as the ranks
    // that the graph declares for what follows have no room for. They are the first: batches.
    SmallVector<int64_t> sizes(n.sizes(x));
    int64_t most = sizes.size() - llvm::count(sizes, 1);
    int64_t ones = most - std::min(most, n.rankBound().value_or(most));
    given.emplace();
    for (auto [i, size] : llvm::enumerate(sizes)) {
      const bool isOpen = ShapedType::isDynamic(size), isOne = isOpen && ones-- > 0;
      if (isOpen)
        n.require(n.compare(isOne ? "eq" : "ne", n.toScalar(n.sizeOf(x, i)), 1.0),
                  isOne ? "the program was compiled for size 1 here, as the ranks have it that the "
                          "graph declares; give others with --shape"
                        : "the program was compiled for a size other than 1 here; give "
                          "it with --shape",
                  unimplemented);
      if (size == 1 || isOne)
        given->push_back(i);
    }
  }
  std::optional<SmallVector<int64_t>> axes = n.axes(given, n.rank(x));
  if (!axes)
    return failure();
  for (int64_t axis : *axes)
    if (!n.hasSize(x, axis, 1, "operand"))
      return failure();
  return n.result(n.squeeze(x, *axes));
}

LogicalResult unsqueeze(NodeImport &n) {
  Value x = n.in(0);
  if (computedAxes(n))
    return n.result(unsqueezeAt(n, x, countedAxes(n, n.rank(x), false)));
  bool failed;
  std::optional<SmallVector<int64_t>> given = givenAxes(n, 1, 13, failed);
  if (!x || failed || !given)
    return failure();
  int64_t rank = n.rank(x) + static_cast<int64_t>(given->size());
  std::optional<SmallVector<int64_t>> axes = n.axes(given, rank);
  return axes ? n.result(n.unsqueeze(x, *axes)) : failure();
}

LogicalResult transpose(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  int64_t rank = n.rank(x);
  SmallVector<int64_t> permutation = axesFrom(0, rank);
  if (std::optional<SmallVector<int64_t>> given = n.is("perm")) {
    std::optional<SmallVector<int64_t>> all = n.axes(given, rank);
    if (!all)
      return failure();
    if (static_cast<int64_t>(all->size()) != rank)
      return n.invalid("found a permutation of " + Twine(all->size()) + " axes for rank " +
                       Twine(rank));
    for (auto [axis, one] : llvm::zip(permutation, *given))
      axis = one < 0 ? one + rank : one;
  } else {
    std::reverse(permutation.begin(), permutation.end());
  }
  return n.result(n.transpose(x, permutation));
}

LogicalResult concat(NodeImport &n) {
  SmallVector<Value> values = n.tensors();
  if (values.empty())
    return failure();
  // Version 1 defaults to axis 1, later ones require it.
  int64_t given = n.version < 4 && !n.hasAttr("axis") ? 1 : n.i("axis");
  std::optional<int64_t> axis = n.axis(given, n.rank(values[0]));
  return axis ? n.result(n.concat(values, *axis)) : failure();
}

/// A shape of an open number of entries as one of `rank`, with ones in front; more end the run.
Value withOnesInFront(NodeImport &n, Value shape, int64_t rank) {
  Value ones = n.cast(n.ints(SmallVector<int64_t>(rank, 1)), n.element(shape));
  Value length = n.sizeOf(shape, 0);
  n.require(n.toScalar(n.compare("le", length, static_cast<double>(rank))),
            "the shape that is asked for has more sizes than the graph declares");
  return n.gather(n.concat({ones, shape}, 0), n.add(n.ints(axesFrom(0, rank)), length), 0);
}

LogicalResult expand(NodeImport &n) {
  // Both ways: a 1 in the shape leaves the operand's size.
  Value x = n.in(0), shape = n.in(1);
  if (!x || !shape)
    return failure();
  // A shape of fewer entries leaves the operand's rank.
  if (std::optional<int64_t> declared = n.declaredRank();
      declared && !n.isStatic(shape) && *declared == n.rank(x) && n.hasRank(shape, 1, "shape"))
    shape = withOnesInFront(n, shape, *declared);
  std::optional<int64_t> given = lengthOf(n, shape);
  if (!given)
    return failure();
  int64_t length = *given, rank = std::max(length, n.rank(x));
  auto known = knownIntegers(shape);
  if (known && (int64_t)known->size() != length)
    known.reset();
  SmallVector<Value> sizes;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t own = i - (rank - n.rank(x)), asked = i - (rank - length);
    int64_t ownSize = own < 0 ? 1 : n.dim(x, own);
    Value askedSize = asked < 0 ? n.ints({1}) : n.slice(shape, 0, asked, asked + 1);
    std::optional<int64_t> askedKnown =
        asked < 0 ? std::optional<int64_t>(1) : (known ? (*known)[asked] : std::nullopt);
    if (askedKnown && *askedKnown == 1)
      sizes.push_back(own < 0 ? n.ints({1}) : n.sizeOf(x, own));
    else if (ownSize == 1)
      sizes.push_back(askedKnown ? n.ints({*askedKnown}) : n.cast(askedSize, n.b.getI64Type()));
    else if (!ShapedType::isDynamic(ownSize)) {
      Value fits = n.op<OrOp>(n.compare("eq", askedSize, 1.0),
                              n.compare("eq", askedSize, static_cast<double>(ownSize)));
      n.require(n.toScalar(fits), "a size of the shape that is asked for is not the operand's");
      sizes.push_back(n.ints({ownSize}));
    } else if (askedKnown)
      sizes.push_back(n.ints({*askedKnown}));
    else {
      // Not the larger one: 1 becomes nothing, too, where nothing is asked for.
      Value wanted = n.cast(askedSize, n.b.getI64Type());
      sizes.push_back(n.select(n.compare("eq", wanted, 1.0), n.sizeOf(x, own), wanted));
    }
  }
  return n.result(n.expandTo(x, n.concat(sizes, 0)));
}

LogicalResult tile(NodeImport &n) {
  Value x = n.in(0), repeats = n.in(1);
  if (!x || !repeats)
    return failure();
  if (n.version >= 6)
    return n.hasRank(repeats, 1, "repeats") && n.hasSize(repeats, 0, n.rank(x), "repeats")
               ? n.result(n.op<TileOp>(x, repeats))
               : failure();
  // Version 1: `tiles` times along `axis`, both scalars.
  std::optional<SmallVector<int64_t>> tiles = n.constantInts(1), at = n.constantInts(2);
  if (!tiles || !at)
    return failure();
  if (tiles->size() != 1 || at->size() != 1)
    return n.invalid("found tiles or an axis that are not one number");
  std::optional<int64_t> axis = n.axis((*at)[0], n.rank(x));
  if (!axis)
    return failure();
  SmallVector<int64_t> all(n.rank(x), 1);
  all[*axis] = (*tiles)[0];
  return n.result(n.op<TileOp>(x, n.ints(all)));
}

LogicalResult eyeLike(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  if (n.rank(x) != 2)
    return n.invalid("expected rank 2, got " + Twine(n.rank(x)));
  Type type = n.element(x);
  if (n.hasAttr("dtype"))
    type = elementType(n.b.getContext(), static_cast<DataType>(n.i("dtype")));
  Value shape = n.shapeOf(x);
  auto index = n.typeAttr(n.b.getI64Type());
  Value row = n.op<IotaOp>(shape, n.number(0), index);
  Value column = n.op<IotaOp>(shape, n.number(1), index);
  Value diagonal = n.add(row, static_cast<double>(n.i("k")));
  return n.result(n.cast(n.compare("eq", column, diagonal), type));
}

LogicalResult range(NodeImport &n) {
  Value start = n.in(0), limit = n.in(1);
  Value delta = n.has(2) ? n.in(2) : n.like(start, 1);
  return n.result(n.op<RangeOp>(n.toScalar(start), n.toScalar(limit), n.toScalar(delta)));
}

LogicalResult trilu(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  int64_t rank = n.rank(x);
  if (rank < 2)
    return n.invalid("expected rank 2 or more, got " + Twine(rank));
  Value k = n.has(1) ? n.toScalar(n.in(1)) : n.intScalar(0);
  Value matrix = n.shapeSlice(x, rank - 2, rank);
  auto index = n.typeAttr(n.b.getI64Type());
  Value row = n.op<IotaOp>(matrix, n.number(0), index);
  Value column = n.op<IotaOp>(matrix, n.number(1), index);
  Value diagonal = n.add(row, k);
  Value kept = n.compare(n.i("upper") ? "ge" : "le", column, diagonal);
  return n.result(n.select(kept, x, n.like(x, 0)));
}

LogicalResult oneHot(NodeImport &n) {
  Value indices = n.in(0), depth = n.in(1), values = n.in(2);
  if (!indices || !depth || !n.hasEntries(values, 2, "values"))
    return failure();
  std::optional<int64_t> axis = n.axis(n.i("axis"), n.rank(indices) + 1);
  if (!axis)
    return failure();
  // Indices of any numeric type; those outside [-depth, depth) give only "off".
  Type i64 = n.b.getI64Type();
  depth = n.cast(n.reshape(depth, {1}), i64);
  Value wide = n.unsqueeze(n.cast(indices, i64), {*axis});
  Value size = n.toScalar(depth);
  wide = n.select(n.compare("lt", wide, 0.0), n.add(wide, size), wide);
  Value places = n.op<IotaOp>(depth, n.number(0), n.typeAttr(i64));
  places = n.unsqueeze(places, axesFrom(1, n.rank(indices) - *axis + 1));
  Value on = n.pick(values, 0, 1), off = n.pick(values, 0, 0);
  return n.result(n.select(n.compare("eq", wide, places), on, off));
}

LogicalResult reverseSequence(NodeImport &n) {
  Value x = n.in(0), lengths = n.in(1);
  if (!x || !lengths)
    return failure();
  int64_t batch = n.i("batch_axis"), time = n.i("time_axis");
  if (n.rank(x) < 2 || batch + time != 1 || batch * time != 0)
    return n.invalid("found axes that are not 0 and 1");
  if (n.rank(lengths) != 1)
    return n.invalid("expected lengths of one dimension, got " + Twine(n.rank(lengths)));
  if (!n.isAsLarge(lengths, 0, x, batch, "lengths and the batch"))
    return failure();
  n.require(n.reduce(n.compare("ge", lengths, 0.0), "all", {0}, false), "a length is negative");
  Value most = n.cast(n.toScalar(n.sizeOf(x, time)), n.element(lengths));
  n.require(n.reduce(n.compare("le", lengths, most), "all", {0}, false),
            "a length is beyond the time axis");
  return n.result(reversedSequences(n, x, lengths, time, batch));
}

/// Splits dimensions into factors, permutes, and joins: depth to space and
/// back. Sizes may be open.
LogicalResult depthToSpace(NodeImport &n) {
  Value x = n.in(0);
  int64_t block = n.i("blocksize");
  if (!x || !n.isStep(block) || n.rank(x) != 4)
    return n.invalid("found a tensor that is not of rank 4, or a blocksize "
                     "that is not in [1, 2^31)");
  if (!n.isMultiple(x, 1, block * block, "places of a block"))
    return failure();
  bool columns = n.version >= 11 && n.s("mode") == "CRD";
  Value channels = n.div(n.sizeOf(x, 1), double(block * block));
  Value side = n.ints({block});
  Value split = columns
                    ? n.concat({n.sizeOf(x, 0), channels, side, side, n.shapeSlice(x, 2, 4)}, 0)
                    : n.concat({n.sizeOf(x, 0), side, side, channels, n.shapeSlice(x, 2, 4)}, 0);
  Value parts = n.reshapeTo(x, split);
  SmallVector<int64_t> order =
      columns ? SmallVector<int64_t>{0, 1, 4, 2, 5, 3} : SmallVector<int64_t>{0, 3, 4, 1, 5, 2};
  Value moved = n.transpose(parts, order);
  Value result =
      n.concat({n.sizeOf(x, 0), channels, n.mul(n.shapeSlice(x, 2, 4), double(block))}, 0);
  return n.result(n.reshapeTo(moved, result));
}

LogicalResult spaceToDepth(NodeImport &n) {
  Value x = n.in(0);
  int64_t block = n.i("blocksize");
  if (!x || !n.isStep(block) || n.rank(x) != 4)
    return n.invalid("found a tensor that is not of rank 4, or a blocksize "
                     "that is not in [1, 2^31)");
  if (!n.isMultiple(x, 2, block, "rows of a block") ||
      !n.isMultiple(x, 3, block, "columns of a block"))
    return failure();
  Value side = n.ints({block});
  Value height = n.div(n.sizeOf(x, 2), double(block));
  Value width = n.div(n.sizeOf(x, 3), double(block));
  Value parts = n.reshapeTo(x, n.concat({n.shapeSlice(x, 0, 2), height, side, width, side}, 0));
  Value moved = n.transpose(parts, {0, 3, 5, 1, 2, 4});
  return n.result(n.reshapeTo(
      moved,
      n.concat({n.sizeOf(x, 0), n.mul(n.sizeOf(x, 1), double(block * block)), height, width}, 0)));
}

constexpr OperatorImport table[] = {
    {"", "Concat", 1, 0, concat},
    {"", "Constant", 1, 0, constantNode},
    {"", "ConstantOfShape", 9, 0, constantOfShape},
    {"", "DepthToSpace", 1, 0, depthToSpace},
    {"", "Expand", 8, 0, expand},
    {"", "EyeLike", 9, 0, eyeLike},
    {"", "Flatten", 1, 0, flatten},
    {"", "OneHot", 9, 0, oneHot},
    {"", "Range", 11, 0, range},
    {"", "Reshape", 1, 0, reshape},
    {"", "ReverseSequence", 10, 0, reverseSequence},
    {"", "Shape", 1, 0, shapeNode},
    {"", "Size", 1, 0, sizeNode},
    {"", "SpaceToDepth", 1, 0, spaceToDepth},
    {"", "Squeeze", 1, 0, squeeze},
    {"", "Tile", 1, 0, tile},
    {"", "Transpose", 1, 0, transpose},
    {"", "Trilu", 14, 0, trilu},
    {"", "Unsqueeze", 1, 0, unsqueeze},
    {"com.microsoft", "Range", 1, 0, range},
    {"com.microsoft", "Trilu", 1, 0, trilu},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::arrayImports() { return table; }
