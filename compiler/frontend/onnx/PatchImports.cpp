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

/// A vector of `count` entries in i64; of an open one the run sees that it has them. Null: it has
/// not.
Value entriesOf(NodeImport &n, Value v, int64_t count) {
  int64_t entries = n.rank(v) == 1 ? n.dim(v, 0) : -1;
  v = n.cast(v, n.b.getI64Type());
  if (!ShapedType::isDynamic(entries))
    return entries == count ? v : Value();
  n.require(n.compare("eq", n.toScalar(n.sizeOf(v, 0)), static_cast<double>(count)),
            "found a list of another number of sizes than of dimensions");
  return n.reshape(v, {count});
}

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
  shape = entriesOf(n, shape, axes.size());
  if (!shape)
    return n.invalid("found a shape that does not go with " + Twine(axes.size()) + " axes");
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
  bool areLists = n.rank(image) == 1 && n.rank(block) == 1;
  int64_t dims = areLists ? n.dim(n.isStatic(image) ? image : block, 0) : 0;
  if (ShapedType::isDynamic(dims))
    return n.unsupported("found an unknown number of spatial dimensions");
  image = entriesOf(n, image, dims);
  block = entriesOf(n, block, dims);
  if (n.rank(x) != 3 || dims < 1 || !image || !block)
    return n.invalid("found an image_shape and a block_shape of different "
                     "lengths, or an input that is not of rank 3");
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
  Type i64 = n.b.getI64Type();
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

/// A convolution whose taps are read at places that are computed, between
/// pixels.
LogicalResult deformConv(NodeImport &n) {
  Value x = n.in(0), filter = n.in(1), offset = n.in(2);
  if (!x || !filter || !offset)
    return failure();
  if (n.rank(x) != 4 || !n.isStatic(x) || !n.isStatic(filter) || !n.isStatic(offset))
    return n.unsupported("found operands of open shape, or not of two spatial "
                         "dimensions");
  if (n.rank(filter) != 4 || n.rank(offset) != 4)
    return n.invalid("found a filter or an offset that is not of rank 4");
  ArrayRef<int64_t> xs = n.sizes(x), fs = n.sizes(filter), os = n.sizes(offset);
  std::optional<SmallVector<int64_t>> asked = n.is("kernel_shape");
  if (asked && !asked->empty() && ArrayRef<int64_t>(*asked) != fs.drop_front(2))
    return n.invalid("found a kernel_shape that is not the filter's");
  std::optional<Window> w = window(n, x, {fs[2], fs[3]});
  if (!w)
    return failure();
  int64_t groups = n.i("group"), offsetGroups = n.i("offset_group");
  int64_t taps = fs[2] * fs[3], height = os[2], width = os[3];
  // Their places are constants.
  constexpr int64_t mostPlaces = 1 << 24;
  if (auto places = frontend::productOf({taps, height, width}); !places || *places > mostPlaces)
    return n.unsupported("found more than 2^24 taps of all pixels");
  if (!n.isStep(offsetGroups) || groups < 1 || xs[1] % offsetGroups || xs[1] % groups ||
      fs[0] % groups || os[1] != 2 * offsetGroups * taps)
    return n.invalid("found groups that do not divide the channels, or an "
                     "offset of another size");
  std::optional<int64_t> groupsOfAll = frontend::productOf({xs[0], offsetGroups});
  if (!groupsOfAll)
    return n.invalid("found more groups of images than 64 bits count");
  int64_t images = *groupsOfAll;
  offset = n.widen(offset); // places beyond 2048 are none of a half's
  Type type = n.element(offset);
  // Where each tap lies before it is moved: [taps, height, width].
  Value base[2];
  for (int d = 0; d < 2; ++d) {
    SmallVector<double> places;
    for (int64_t t = 0; t < taps; ++t)
      for (int64_t i = 0; i < height; ++i)
        for (int64_t j = 0; j < width; ++j) {
          int64_t tap = d == 0 ? t / fs[3] : t % fs[3];
          places.push_back((d == 0 ? i : j) * w->strides[d] - w->pads[2 * d] +
                           tap * w->dilations[d]);
        }
    base[d] = n.reshape(n.floats(places, type), {taps, height, width});
  }
  Value moved = n.reshape(offset, {images, taps, 2, height, width});
  Value grouped = n.reshape(x, {images, xs[1] / offsetGroups, xs[2], xs[3]});
  // A tap that is far outside reads nothing, also one that an infinite offset moves there.
  auto placeOf = [&](int64_t d) {
    Value place = n.add(n.pick(moved, 2, d), base[d]);
    return n.maximum(n.minimum(place, double(xs[2 + d]) + 1), -2.0);
  };
  Value values = samplePlaces(n, grouped, {placeOf(0), placeOf(1)}, Interpolation::Linear,
                              Border::Zero, false);
  if (n.has(4))
    values = n.mul(values, n.reshape(n.in(4), {images, 1, taps, height, width}));
  int64_t depth = xs[1] / groups * taps;
  Value columns = n.reshape(values, {xs[0], groups, depth, height * width});
  Value rows = n.reshape(filter, {1, groups, fs[0] / groups, depth});
  Value y = n.reshape(n.matmul(rows, columns), {xs[0], fs[0], height, width});
  if (n.has(3))
    y = n.add(y, perChannel(n, n.in(3), 4));
  return n.result(y);
}

constexpr OperatorImport table[] = {
    {"", "CenterCropPad", 18, 0, centerCropPad},
    {"", "Col2Im", 18, 0, col2Im},
    {"", "DeformConv", 19, 0, deformConv},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::patchImports() { return table; }
