//===- ImageSamplingImports.cpp - other places of images, and boxes -------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Columns.h"
#include "compiler/frontend/tensorflow/GraphImporter.h"
#include "compiler/frontend/tensorflow/Sparse.h"
#include "compiler/frontend/tensorflow/Windows.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

/// 0, 1, … along dimension `dim` of `rank` ones, `size` (tensor<1xi64>) of them.
static Value ramp(NodeImport &n, Value size, int64_t dim, int64_t rank, Type type) {
  Value index = n.op<IotaOp>(size, n.number(0), n.typeAttr(type));
  IntVector axes = axesFrom(0, dim);
  axes.append(axesFrom(dim + 1, rank));
  return n.unsqueeze(index, axes);
}

/// The pixels at rows and columns, i64 of [batch, height, width]; `fill` where
/// they lie outside of the image, which is everywhere if it `isEmpty`.
static Value pixels(NodeImport &n, Value image, Value row, Value column, Value fill,
                    bool isEmpty = false) {
  if (isEmpty)
    return n.expandTo(fill,
                      n.concat({n.shapeOf(n.compare("eq", row, column)), n.sizeOf(image, 3)}, 0));
  Value height = n.sizeOf(image, 1), width = n.sizeOf(image, 2), one = n.ints({1});
  auto clamp = [&](Value v, Value size) { return n.minimum(n.maximum(v, 0.0), n.sub(size, one)); };
  Value y = clamp(row, height), x = clamp(column, width);
  Value inside = n.op<AndOp>(n.compare("eq", y, row), n.compare("eq", x, column));
  Value batch = ramp(n, n.sizeOf(image, 0), 0, 3, n.b.getI64Type());
  Value index = n.add(n.mul(n.add(n.mul(batch, height), y), width), x);
  Value flat = n.reshapeTo(image, n.concat({n.sizeProduct(image, 0, 3), n.sizeOf(image, 3)}, 0));
  return n.select(n.unsqueeze(inside, {3}), n.gather(flat, index, 0), fill);
}

/// `sample(n, isEmpty)` for images that have pixels, and for those that have none, where the run
/// alone may know it.
template <LogicalResult (*sample)(NodeImport &, bool)>
static LogicalResult sampleImages(NodeImport &n) {
  Value image = n.in(0);
  if (!n.hasRank(image, 4))
    return failure();
  int64_t height = n.dim(image, 1), width = n.dim(image, 2);
  if (!ShapedType::isDynamic(height) && !ShapedType::isDynamic(width))
    return sample(n, height == 0 || width == 0);
  auto branch = [&](bool isEmpty, OpBuilder &b) -> FailureOr<std::vector<Imported>> {
    NodeImport inner(n.g, n.node, n.inputs, b, n.loc);
    if (failed(sample(inner, isEmpty)))
      return failure();
    return inner.made;
  };
  Value isEmpty = n.compare("eq", n.toScalar(n.sizeProduct(image, 1, 3)), 0);
  auto made = n.g.buildIf(
      isEmpty, [&](OpBuilder &b) { return branch(true, b); },
      [&](OpBuilder &b) { return branch(false, b); }, n.node, n.b, n.loc);
  if (failed(made))
    return failure();
  n.made = *made;
  return success();
}

//===----------------------------------------------------------------------===//
// Projective transformations
//===----------------------------------------------------------------------===//

/// A coordinate, f32, brought into an axis of `size` samples as `mode` says.
static Value mapCoordinate(NodeImport &n, Value at, Value size, std::string_view mode) {
  if (mode == "CONSTANT" || !at)
    return at;
  Type f32 = n.b.getF32Type();
  Value length = n.cast(size, f32), last = n.sub(length, 1.0);
  auto clamp = [&](Value v) { return n.minimum(n.maximum(v, 0.0), last); };
  if (mode == "NEAREST")
    return clamp(at);
  // At most so many times that an infinite coordinate is no NaN: it ends at a border.
  auto whole = [&](Value v) { return n.op<TruncOp>(n.minimum(v, 0x1p63)); };
  Value below, above, minus = n.op<NegOp>(at);
  if (mode == "REFLECT") { // dcba|abcd|dcba
    Value period = n.mul(length, 2.0);
    Value moved = n.add(n.mul(period, whole(n.div(minus, period))), at);
    below = n.select(n.compare("lt", moved, n.op<NegOp>(length)), n.add(moved, period),
                     n.sub(n.op<NegOp>(moved), 1.0));
    Value back = n.sub(at, n.mul(period, whole(n.div(at, period))));
    above = n.select(n.compare("ge", back, length), n.sub(n.sub(period, back), 1.0), back);
  } else { // abcd|abcd|abcd
    Value between = n.maximum(last, 1.0);
    below = n.add(at, n.mul(length, n.add(whole(n.div(minus, between)), 1.0)));
    above = n.sub(at, n.mul(length, whole(n.div(at, between))));
  }
  Value mapped =
      n.select(n.compare("lt", at, 0), below, n.select(n.compare("gt", at, last), above, at));
  Value isOne = n.compare("le", length, 1);
  return clamp(n.select(isOne, n.like(at, 0), mapped));
}

/// `isEmpty`: there are no pixels to read.
static LogicalResult transformImages(NodeImport &n, bool isEmpty) {
  Value image = n.in(0), transforms = n.in(1), shape = n.in(2);
  if (!n.hasRank(image, 4) || !n.hasRank(transforms, 2) || !shape ||
      failed(requireSize(n, transforms, 1, 8, "transforms")))
    return failure();
  Value rows = n.sizeOf(transforms, 0);
  require(n, n.op<OrOp>(n.compare("eq", rows, 1), n.compare("eq", rows, n.sizeOf(image, 0))),
          "there is neither one transform nor one for each image");
  Type f32 = n.b.getF32Type(), type = n.element(image);
  std::string_view mode = n.s("fill_mode");
  if (mode.empty())
    mode = "CONSTANT";
  if (mode != "CONSTANT" && mode != "NEAREST" && mode != "REFLECT" && mode != "WRAP")
    return n.invalid("found fill_mode " + Twine(std::string(mode)));
  Value fill = n.inputCount() > 3 ? n.toScalar(n.in(3)) : n.scalar(type, 0);
  fill = n.cast(fill, type, /*saturate=*/false);
  shape = n.toI64(shape);
  Value y = ramp(n, n.slice(shape, 0, 0, 1), 1, 3, f32),
        x = ramp(n, n.slice(shape, 0, 1, 2), 2, 3, f32);
  auto entry = [&](int64_t i) { return n.unsqueeze(n.slice(transforms, 1, i, i + 1), {2}); };
  auto plane = [&](int64_t i) { return n.add(n.mul(entry(i), x), n.mul(entry(i + 1), y)); };
  Value depth = n.add(plane(6), 1.0);
  auto place = [&](int64_t i, int64_t dim) {
    Value at = n.div(n.add(plane(i), entry(i + 2)), depth);
    return mapCoordinate(n, at, n.sizeOf(image, dim), mode);
  };
  Value column = place(0, 2), row = place(3, 1);
  Value result;
  if (n.s("interpolation") == "NEAREST") {
    // What is nowhere is not within the image.
    auto nearest = [&](Value at) {
      return n.toI64(n.select(n.op<IsNanOp>(at), n.like(at, -1), n.op<RoundOp>(at)));
    };
    result = pixels(n, image, nearest(row), nearest(column), fill, isEmpty);
  } else {
    Value top = n.op<FloorOp>(row), left = n.op<FloorOp>(column);
    Value bottom = n.add(top, 1.0), right = n.add(left, 1.0);
    auto share = [&](Value to, Value from) { return n.unsqueeze(n.sub(to, from), {3}); };
    auto at = [&](Value r, Value c) {
      return n.cast(pixels(n, image, n.toI64(r), n.toI64(c), fill, isEmpty), f32);
    };
    auto line = [&](Value r) {
      return n.add(n.mul(share(right, column), at(r, left)),
                   n.mul(share(column, left), at(r, right)));
    };
    Value mixed = n.add(n.mul(share(bottom, row), line(top)), n.mul(share(row, top), line(bottom)));
    result = n.cast(mixed, type);
  }
  Value isFar = n.unsqueeze(n.compare("eq", depth, 0), {3});
  return n.result(n.select(isFar, fill, result));
}

//===----------------------------------------------------------------------===//
// Glimpses
//===----------------------------------------------------------------------===//

/// A window of each image; zeros outside of it.
static LogicalResult extractGlimpse(NodeImport &n, bool isEmpty) {
  Value image = n.in(0), sizes = n.in(1), offsets = n.in(2);
  if (!n.hasRank(image, 4) || !sizes || !n.hasRank(offsets, 2) ||
      failed(requireShape(n, offsets, n.concat({n.sizeOf(image, 0), n.ints({2})}, 0), "offsets")))
    return failure();
  if (n.s("noise") != "zero")
    return n.unsupported("expected noise \"zero\", got random noise outside of the image");
  Type f32 = n.b.getF32Type(), i64 = n.b.getI64Type();
  bool isFirst = n.node.op == "ExtractGlimpse";
  bool normalized = n.isSet("normalized"), centred = n.isSet("centered");
  sizes = n.toI64(sizes);
  auto start = [&](int64_t dim) {
    Value at = n.slice(offsets, 1, dim, dim + 1); // [batch, 1]
    Value whole = n.cast(n.sizeOf(image, 1 + dim), f32);
    Value window = n.cast(n.slice(sizes, 0, dim, dim + 1), f32);
    if (normalized)
      at = n.mul(at, whole);
    // The first version's coordinates run from -1 to 1 from the centre and name
    // the window's centre; the second's do so only if normalised.
    if (centred && (isFirst || normalized))
      at = n.mul(at, 0.5);
    if (centred)
      at = n.add(at, n.mul(whole, 0.5));
    if (isFirst || (centred && normalized))
      at = n.sub(at, n.mul(window, 0.5));
    return n.unsqueeze(n.toI64(at), {2}); // [batch, 1, 1]
  };
  Value y = n.add(start(0), ramp(n, n.slice(sizes, 0, 0, 1), 1, 3, i64));
  Value x = n.add(start(1), ramp(n, n.slice(sizes, 0, 1, 2), 2, 3, i64));
  return n.result(pixels(n, image, y, x, n.like(image, 0), isEmpty));
}

//===----------------------------------------------------------------------===//
// Bounding boxes
//===----------------------------------------------------------------------===//

/// Yellow, blue, red, lime, purple, olive, maroon, navy, aqua, fuchsia; white
/// for grey images. As many channels as `image` has.
static Value boxColors(NodeImport &n, Value image) {
  const double table[10][4] = {{1, 1, 0, 1},     {0, 0, 1, 1},     {1, 0, 0, 1},   {0, 1, 0, 1},
                               {0.5, 0, 0.5, 1}, {0.5, 0.5, 0, 1}, {0.5, 0, 0, 1}, {0, 0, 0.5, 1},
                               {0, 1, 1, 1},     {1, 0, 1, 1}};
  auto colors = [&](bool isGrey) {
    SmallVector<double> values;
    for (const auto &color : table) {
      values.append(color, color + 4);
      if (isGrey)
        values[values.size() - 4] = 1;
    }
    return n.reshape(n.floats(values, n.b.getF32Type()), {10, 4});
  };
  int64_t depth = n.dim(image, 3);
  Value count = n.sizeOf(image, 3);
  Value all = ShapedType::isDynamic(depth)
                  ? n.select(n.compare("eq", count, 1), colors(true), colors(false))
                  : colors(depth == 1);
  return columns(n, all, n.ints({0}), count);
}

/// The colours of boxes, [colours, channels of the image]: those that are given, where there are
/// any.
static Value paints(NodeImport &n, Value given, Value image) {
  Value own = boxColors(n, image);
  if (!given)
    return own;
  int64_t channels = n.dim(given, 1), depth = n.dim(image, 3);
  bool isOpen = ShapedType::isDynamic(channels) || ShapedType::isDynamic(depth);
  if (!isOpen && channels < depth) {
    (void)n.invalid("found colours of fewer channels than the image");
    return {};
  }
  if (isOpen)
    require(n, n.compare("ge", n.sizeOf(given, 1), n.sizeOf(image, 3)),
            "colours have fewer channels than the image");
  if (n.dim(given, 0) == 0)
    return own;
  given = columns(n, given, n.ints({0}), n.sizeOf(image, 3));
  if (!n.type(given).isDynamicDim(0))
    return given;
  // The run sees how many there are; of none the first of both lists are weir's.
  Value count = n.sizeOf(given, 0);
  count = n.select(n.compare("eq", count, 0), n.sizeOf(own, 0), count);
  return n.op<SliceOp>(n.concat({given, own}, 0), n.ints({0}), count, n.ints({1}), n.list({0}),
                       n.flag(false));
}

/// Frames one pixel wide. A pixel has the colour of the last box over it.
static LogicalResult drawBoxes(NodeImport &n) {
  Value image = n.in(0), boxes = n.in(1);
  if (!n.hasRank(image, 4) || !n.hasRank(boxes, 3))
    return failure();
  Type f32 = n.b.getF32Type(), i64 = n.b.getI64Type();
  int64_t depth = n.dim(image, 3);
  if (failed(requireSame(n, image, boxes, "batches", 0, 1)) ||
      failed(requireSize(n, boxes, 2, 4, "boxes")))
    return failure();
  Value colors;
  if (n.inputCount() > 2) {
    colors = n.in(2);
    if (!n.hasRank(colors, 2))
      return failure();
  }
  if (ShapedType::isDynamic(depth))
    require(n, n.reduce(n.compare("eq", n.ints({1, 3, 4}), n.sizeOf(image, 3)), "any", {0}, false),
            "an image has not 1, 3 or 4 channels");
  else if (depth != 1 && depth != 3 && depth != 4)
    return n.invalid("expected an image of 1, 3 or 4 channels, got " + Twine(depth));
  colors = paints(n, colors, image);
  if (!colors)
    return failure();
  boxes = n.cast(boxes, f32);
  // Coordinates of all boxes, [batch, boxes, 1, 1].
  auto edge = [&](int64_t which) {
    Value size = n.cast(n.sizeOf(image, 1 + which % 2), f32);
    Value at = n.mul(n.slice(boxes, 2, which, which + 1), n.sub(size, 1.0));
    return n.unsqueeze(n.toI64(at), {3});
  };
  Value top = edge(0), left = edge(1), bottom = edge(2), right = edge(3);
  Value y = ramp(n, n.sizeOf(image, 1), 2, 4, i64), x = ramp(n, n.sizeOf(image, 2), 3, 4, i64);
  auto both = [&](Value a, Value b) { return n.op<AndOp>(a, b); };
  auto within = [&](Value v, Value low, Value high) {
    return both(n.compare("ge", v, low), n.compare("le", v, high));
  };
  auto isEdge = [&](Value v, Value low, Value high) {
    return n.op<OrOp>(n.compare("eq", v, low), n.compare("eq", v, high));
  };
  Value frame = n.op<OrOp>(both(isEdge(y, top, bottom), within(x, left, right)),
                           both(isEdge(x, left, right), within(y, top, bottom)));
  // A box whose ends are swapped is not drawn.
  frame = both(frame, both(n.compare("le", top, bottom), n.compare("le", left, right)));
  Value index = ramp(n, n.sizeOf(boxes, 1), 1, 4, i64);
  Value drawn = n.select(frame, index, n.intScalar(-1));
  Value last = n.reduce(drawn, "max", {1}, false); // [batch, height, width]
  Value count = n.toScalar(n.sizeOf(colors, 0));
  Value color = n.op<FloorModOp>(n.maximum(last, 0.0), count);
  Value paint = n.gather(colors, color, 0);
  Value isDrawn = n.unsqueeze(n.compare("ge", last, 0), {3});
  return n.result(n.select(isDrawn, n.cast(paint, n.element(image)), image));
}

//===----------------------------------------------------------------------===//
// Patches
//===----------------------------------------------------------------------===//

/// Windows of an image or a volume, laid out along the channels.
template <int64_t spatial> static LogicalResult extractPatches(NodeImport &n) {
  Value x = n.in(0);
  IntVector sizes = n.is("ksizes"), strides = n.is("strides"), rates = n.is("rates");
  constexpr size_t rank = spatial + 2;
  if (rates.empty())
    rates.assign(rank, 1);
  if (!n.hasRank(x, rank))
    return failure();
  if (sizes.size() != rank || strides.size() != rank || rates.size() != rank)
    return n.invalid("found sizes, strides or rates that are not " + Twine(rank));
  int64_t count = 1;
  for (int64_t i = 1; i <= spatial; ++i) {
    if (!n.isStep(sizes[i]) || !n.isStep(strides[i]) || !n.isStep(rates[i]))
      return n.invalid("found sizes, strides or rates that are not in [1, 2^31)");
    if (llvm::MulOverflow(count, sizes[i], count) || count > 4096)
      return n.unsupported("found a window of more than 4096 elements");
  }
  auto inner = [](const IntVector &all) { return Ints(all).slice(1, spatial); };
  Windows windows;
  windows.spatial = spatial;
  windows.strides = IntVector(inner(strides));
  windows.dilations = IntVector(inner(rates));
  windows.padding = n.s("padding") == "SAME" ? Windows::Same : Windows::Valid;
  IntVector window(inner(sizes)), known = spatialSizes(windows, n.type(x));
  requireRoom(n, x, windows, window);
  // The border, and how many windows there are: known, or computed.
  Value padded, steps;
  if (auto pads = padsFor(windows, known, window);
      pads && !llvm::is_contained(known, ShapedType::kDynamic)) {
    IntVector all(2 * rank, 0), counts;
    for (int64_t i = 0; i < spatial; ++i) {
      all[1 + i] = (*pads)[2 * i];
      all[rank + 1 + i] = (*pads)[2 * i + 1];
      int64_t reach = (window[i] - 1) * windows.dilations[i] + 1;
      int64_t room = known[i] + (*pads)[2 * i] + (*pads)[2 * i + 1] - reach;
      if (room <= -2 * windows.strides[i])
        return n.invalid("found a window of " + Twine(reach) + " elements over an image of " +
                         Twine(known[i]));
      counts.push_back(room < 0 ? 0 : room / windows.strides[i] + 1);
    }
    padded = n.op<PadOp>(x, n.ints(all), n.like(x, 0), n.text("constant"));
    steps = n.ints(counts);
  } else {
    RunTimePads border = runTimePads(n, windows, spatialSizesOf(n, windows, x), window);
    padded = padAtRunTime(n, x, windows, border, n.like(x, 0));
    SmallVector<Value> counts;
    for (int64_t i = 0; i < spatial; ++i) {
      int64_t reach = (window[i] - 1) * windows.dilations[i] + 1, stride = windows.strides[i];
      Value room = n.sub(n.sizeOf(padded, 1 + i), n.ints({reach - stride}));
      require(n, n.compare("gt", room, double(-stride)), "a window is larger than the image");
      counts.push_back(n.div(n.maximum(room, n.ints({0})), n.ints({stride})));
    }
    steps = n.concat(counts, 0);
  }
  // Known numbers stay known.
  auto knownSteps = steps ? constantIntegers(steps) : std::nullopt;
  SmallVector<Value> parts;
  for (int64_t k = 0; k < count; ++k) {
    IntVector starts(spatial), ends(spatial);
    int64_t rest = k;
    for (int64_t i = spatial; i-- > 0;) {
      starts[i] = rest % sizes[1 + i] * rates[1 + i];
      rest /= sizes[1 + i];
      // No window at all: nothing from there on.
      if (knownSteps)
        ends[i] = std::max(starts[i], starts[i] + ((*knownSteps)[i] - 1) * strides[1 + i] + 1);
    }
    Value end = n.ints(ends);
    if (!knownSteps) {
      IntVector beyond;
      for (int64_t start : starts)
        beyond.push_back(start + 1);
      Value last = n.mul(n.sub(steps, 1.0), n.ints(inner(strides)));
      end = n.maximum(n.add(last, n.ints(beyond)), n.ints(starts));
    }
    parts.push_back(n.op<SliceOp>(padded, n.ints(starts), end, n.ints(inner(strides)),
                                  n.list(axesFrom(1, spatial + 1)), n.flag(false)));
  }
  return n.result(n.concat(parts, spatial + 1));
}

ArrayRef<OpImport> weir::tf::imageSamplingImports() {
  static const OpImport rows[] = {
      {"ImageProjectiveTransformV2", sampleImages<transformImages>},
      {"ImageProjectiveTransformV3", sampleImages<transformImages>},
      {"ExtractGlimpse", sampleImages<extractGlimpse>},
      {"ExtractGlimpseV2", sampleImages<extractGlimpse>},
      {"DrawBoundingBoxes", drawBoxes},
      {"DrawBoundingBoxesV2", drawBoxes},
      {"ExtractImagePatches", extractPatches<2>},
      {"ExtractVolumePatches", extractPatches<3>},
  };
  return rows;
}
