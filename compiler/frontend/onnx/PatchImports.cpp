//===- PatchImports.cpp - patches of images -------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/Sampling.h"
#include "compiler/frontend/onnx/Window.h"

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

LogicalResult centerCropPad(NodeImport &n) {
  Value x = n.in(0), shape = n.in(1);
  if (!x || !shape)
    return failure();
  int64_t rank = n.rank(x);
  SmallVector<int64_t> axes;
  for (int64_t one : n.is("axes").value_or(axesFrom(0, rank))) {
    std::optional<int64_t> axis = n.axis(one, rank);
    if (!axis)
      return failure();
    axes.push_back(*axis);
  }
  shape = n.ofLength(n.cast(shape, n.b.getI64Type()), axes.size(), "shape");
  if (!shape)
    return failure();
  if (axes.empty()) // a scalar, or no axis named
    return n.result(x);
  // Division truncates: the odd entry is cut from, or added to, the end.
  SmallVector<Value> pads(2 * rank, n.ints({0}));
  for (auto [i, axis] : llvm::enumerate(axes)) {
    int64_t at = i;
    Value more = n.sub(n.slice(shape, 0, at, at + 1), n.sizeOf(x, axis));
    Value before = n.div(more, 2.0);
    pads[axis] = before;
    pads[rank + axis] = n.sub(more, before);
  }
  return n.result(n.op<PadOp>(x, n.concat(pads, 0), n.like(x, 0), n.text("constant")));
}

/// Adds the columns of a matrix of patches back where they were taken from.
LogicalResult col2Im(NodeImport &n) {
  Value x = n.in(0), image = n.in(1), block = n.in(2);
  if (!x || !image || !block)
    return failure();
  int64_t dims = n.dim(n.isStatic(image) ? image : block, 0);
  if (std::optional<int64_t> declared = n.declaredRank(); declared && ShapedType::isDynamic(dims))
    dims = std::max<int64_t>(*declared - 2, 0);
  if (ShapedType::isDynamic(dims) && n.rank(image) == 1 && n.rank(block) == 1)
    return n.unsupported("expected a known number of spatial dimensions, got an image_shape and a "
                         "block_shape of unknown length; where the graph declares the rank of the "
                         "result, they may have any");
  Type i64 = n.b.getI64Type();
  image = n.ofLength(n.cast(image, i64), dims, "image_shape");
  block = n.ofLength(n.cast(block, i64), dims, "block_shape");
  if (!image || !block || !n.hasRank(x, 3, "input"))
    return failure();
  if (dims < 1)
    return n.invalid("found an image without spatial dimensions");
  auto list = [&](std::string_view name, int64_t count, int64_t fill) {
    return n.is(name).value_or(SmallVector<int64_t>(count, fill));
  };
  SmallVector<int64_t> strides = list("strides", dims, 1);
  SmallVector<int64_t> dilations = list("dilations", dims, 1);
  SmallVector<int64_t> pads = list("pads", 2 * dims, 0);
  if (static_cast<int64_t>(strides.size()) != dims ||
      static_cast<int64_t>(dilations.size()) != dims ||
      static_cast<int64_t>(pads.size()) != 2 * dims || !llvm::all_of(strides, NodeImport::isStep) ||
      !llvm::all_of(dilations, NodeImport::isStep))
    return n.invalid("found strides, dilations or pads that do not go with " + Twine(dims) +
                     " dimensions");
  // The place of entry (b…, l…) in the padded image, row-major.
  SmallVector<Value> padded, blocks, steps;
  Value place;
  for (int64_t i = 0; i < dims; ++i) {
    Value size = n.slice(image, 0, i, i + 1), taps = n.slice(block, 0, i, i + 1);
    padded.push_back(n.add(size, double(pads[i] + pads[dims + i])));
    Value reach = n.add(n.mul(n.sub(taps, 1.0), double(dilations[i])), 1.0);
    steps.push_back(n.add(n.div(n.sub(padded[i], reach), double(strides[i])), 1.0));
    blocks.push_back(taps);
  }
  for (int64_t i = 0; i < dims; ++i) {
    auto index = n.typeAttr(i64);
    Value tap = n.mul(n.op<IotaOp>(blocks[i], n.number(0), index), double(dilations[i]));
    Value step = n.mul(n.op<IotaOp>(steps[i], n.number(0), index), double(strides[i]));
    // b_i is dimension i of 2·dims, l_i dimension dims + i.
    tap = n.unsqueeze(tap, axesFrom(1, 2 * dims - i));
    step = n.unsqueeze(step, axesFrom(1, dims - i));
    Value along = n.add(tap, step);
    place = place ? n.add(n.mul(place, n.toScalar(padded[i])), along) : along;
  }
  Value lead = n.shapeSlice(x, 0, 1);
  Value entries = n.reduce(n.concat(blocks, 0), "prod", {0}, true);
  Value channels = n.div(n.sizeOf(x, 1), entries);
  n.require(n.toScalar(n.compare("eq", n.mul(channels, entries), n.sizeOf(x, 1))),
            "entries of blocks do not divide dimension 1");
  Value count = n.reduce(n.concat(steps, 0), "prod", {0}, true);
  n.require(n.toScalar(n.compare("eq", count, n.sizeOf(x, 2))),
            "dimension 2 has not one entry for each place of the block");
  Value maps = n.mul(lead, channels);
  Value places = n.mul(entries, count);
  Value columns = n.reshapeTo(x, n.concat({maps, places}, 0));
  Value pixels = n.reduce(n.concat(padded, 0), "prod", {0}, true);
  Value flat = n.expandTo(n.like(x, 0), n.concat({pixels, maps}, 0));
  Value sum = n.op<ScatterNdOp>(flat, n.reshape(place, {-1, 1}), n.transpose(columns, {1, 0}),
                                n.text("add"), n.flag(false), n.flag(false));
  SmallVector<Value> shape = {lead, channels};
  llvm::append_range(shape, padded);
  Value whole = n.reshapeTo(n.transpose(sum, {1, 0}), n.concat(shape, 0));
  SmallVector<int64_t> before(pads.begin(), pads.begin() + dims);
  Value starts = n.ints(before);
  return n.result(n.op<SliceOp>(whole, starts, n.add(starts, image),
                                n.ints(SmallVector<int64_t>(dims, 1)),
                                n.list(axesFrom(2, 2 + dims)), n.flag(false)));
}

/// Where each tap of the windows of a filter lies along dimension `d` before it is moved: [taps,
/// height, 1] of the rows, [taps, 1, width] of the columns, of `count` windows.
Value tapsAlong(NodeImport &n, const Window &w, Value filter, int64_t d, Value count) {
  auto ramp = [&](Value length) {
    return n.op<IotaOp>(length, n.number(0), n.typeAttr(n.b.getI64Type()));
  };
  Value tap = ramp(n.sizeProduct(filter, 2, 4)), columns = n.toScalar(n.sizeOf(filter, 3));
  Value at = d == 0 ? n.div(tap, columns) : n.op<RemOp>(tap, columns);
  Value within = n.settled(n.sub(n.mul(at, double(w.dilations[d])), double(w.pads[2 * d])));
  Value steps = n.unsqueeze(n.mul(ramp(count), double(w.strides[d])), {0, 2 - d});
  return n.add(n.unsqueeze(within, {1, 2}), steps);
}

/// Whether the offset of a deformable convolution has an entry for each window.
bool hasEachWindow(NodeImport &n, Value offset, Value x, Value filter, const Window &w) {
  for (int64_t d = 0; d < 2; ++d) {
    Value reach = n.mul(n.sub(n.sizeOf(filter, d + 2), 1.0), double(w.dilations[d]));
    Value room =
        n.add(n.sub(n.sizeOf(x, d + 2), reach), double(w.pads[2 * d] + w.pads[2 * d + 1] - 1));
    Value count = n.add(n.div(room, double(w.strides[d])), 1.0);
    Value fits = n.toScalar(n.compare("eq", n.sizeOf(offset, d + 2), count));
    if (auto known = fits ? constantIntegers(fits) : std::nullopt; known && !known->front()) {
      (void)n.invalid("expected an offset of " + Twine(constantIntegers(count)->front()) +
                      " windows along dimension " + Twine(d + 2) + ", got " +
                      Twine(n.dim(offset, d + 2)));
      return false;
    }
    n.require(fits, "the offset has another number of windows than the image");
  }
  return true;
}

/// A convolution whose taps are read at places that are computed, between
/// pixels.
LogicalResult deformConv(NodeImport &n) {
  Value x = n.in(0), filter = n.in(1), offset = n.in(2);
  if (!x || !filter || !offset)
    return failure();
  if (n.rank(x) != 4)
    return n.unsupported("expected two spatial dimensions, got " + Twine(n.rank(x) - 2));
  if (!n.hasRank(filter, 4, "filter") || !n.hasRank(offset, 4, "offset"))
    return failure();
  std::optional<SmallVector<int64_t>> size = kernelSize(n, filter);
  std::optional<Window> w = size ? window(n, x, *size, nullptr, filter) : std::nullopt;
  if (!w)
    return failure();
  int64_t groups = n.i("group"), offsetGroups = n.i("offset_group");
  if (!n.isStep(offsetGroups) || !n.isStep(groups))
    return n.invalid("found groups that do not divide the channels");
  Value taps = n.settled(n.sizeProduct(filter, 2, 4));
  Value channels = n.settled(n.mul(n.sizeOf(filter, 1), double(groups)));
  Value parts = n.settled(n.mul(taps, double(offsetGroups)));
  if (!n.isMultiple(filter, 0, groups, "groups") || !n.hasSize(x, 1, channels, "image") ||
      !n.isMultiple(x, 1, offsetGroups, "groups of offsets") ||
      !n.hasSize(offset, 1, n.settled(n.mul(parts, 2.0)), "offset") ||
      !n.isAsLarge(offset, 0, x, 0, "offset") || !hasEachWindow(n, offset, x, filter, *w))
    return failure();
  Value height = n.sizeOf(offset, 2), width = n.sizeOf(offset, 3), batch = n.sizeOf(x, 0);
  Value images = n.mul(batch, double(offsetGroups));
  auto shaped = [&](Value v, ArrayRef<Value> sizes) { return n.reshapeTo(v, n.concat(sizes, 0)); };
  offset = n.widen(offset); // places beyond 2048 are none of a half's
  Type type = n.element(offset);
  Value moved = shaped(offset, {images, taps, n.ints({2}), height, width});
  Value grouped =
      shaped(x, {images, n.settled(n.div(channels, double(offsetGroups))), n.shapeSlice(x, 2, 4)});
  // A tap that is far outside reads nothing, also one that an infinite offset moves there.
  auto placeOf = [&](int64_t d) {
    Value base = n.cast(tapsAlong(n, *w, filter, d, d == 0 ? height : width), type);
    Value beyond = n.cast(n.toScalar(n.add(n.sizeOf(x, d + 2), 1.0)), type);
    return n.maximum(n.minimum(n.add(n.pick(moved, 2, d), base), beyond), -2.0);
  };
  Value values = samplePlaces(n, grouped, {placeOf(0), placeOf(1)}, Interpolation::Linear,
                              Border::Zero, false);
  if (n.has(4)) {
    Value mask = n.in(4);
    if (!mask || !n.hasRank(mask, 4, "mask") || !n.hasSize(mask, 1, parts, "mask"))
      return failure();
    for (int64_t axis : {0, 2, 3})
      if (!n.isAsLarge(mask, axis, offset, axis, "mask"))
        return failure();
    values = n.mul(values, shaped(mask, {images, n.ints({1}), taps, height, width}));
  }
  Value depth = n.settled(n.sizeProduct(filter, 1, 4)), maps = n.sizeOf(filter, 0);
  Value columns = shaped(values, {batch, n.ints({groups}), depth, n.mul(height, width)});
  Value rows = shaped(filter, {n.ints({1, groups}), n.settled(n.div(maps, double(groups))), depth});
  Value y = shaped(n.matmul(rows, columns), {batch, maps, height, width});
  if (n.has(3)) {
    if (!n.hasOneEach(n.in(3), filter, 0, "bias"))
      return failure();
    y = n.add(y, perChannel(n, n.in(3), 4));
  }
  return n.result(y);
}

constexpr OperatorImport table[] = {
    {"", "CenterCropPad", 18, 0, centerCropPad},
    {"", "Col2Im", 18, 0, col2Im},
    {"", "DeformConv", 19, 0, deformConv},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::patchImports() { return table; }
