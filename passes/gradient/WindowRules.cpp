//===- WindowRules.cpp - gradients of convolutions and pools --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Convolutions have gradients of their input and of their filter that are convolutions,
// for which spatial sizes must be known; filters of several groups go over the places of the
// window: at each, the elements that it meets are one strided slice, which a product or, where a
// group has one channel, a sum over positions takes.
//
//===----------------------------------------------------------------------===//

#include "passes/gradient/PoolGradients.h"

using namespace mlir;
using namespace weir;
using namespace weir::gradient;

namespace {

/// A window over the spatial dimensions of `x`, with results of y's sizes.
struct Windows {
  Adjoint &a;
  Value x, y;
  Ints window, strides, pads, dilations;
  bool channelsLast;

  int64_t spatial() const { return window.size(); }
  int64_t first() const { return channelsLast ? 1 : 2; }
  int64_t steps(int64_t i) const { return Adjoint::type(y).getDimSize(first() + i); }
  int64_t size(int64_t i) const { return Adjoint::type(x).getDimSize(first() + i); }
  bool isKnown() const {
    for (int64_t i = 0; i < spatial(); ++i)
      if (ShapedType::isDynamic(steps(i)) || ShapedType::isDynamic(size(i)) ||
          ShapedType::isDynamic(window[i]))
        return false;
    return true;
  }
  /// Behind the end: what the last step's last place needs, negative crops.
  int64_t behind(int64_t i) const {
    return (steps(i) - 1) * strides[i] + (window[i] - 1) * dilations[i] + 1 - size(i) - pads[2 * i];
  }
  Value padsOf(int64_t rank) const {
    IntVector before(rank, 0), after(rank, 0);
    for (int64_t i = 0; i < spatial(); ++i) {
      before[first() + i] = pads[2 * i];
      after[first() + i] = behind(i);
    }
    before.append(after);
    return a.ints(before);
  }
  Value padded(Value v, double value) const {
    return a.op<PadOp>(v, padsOf(Adjoint::rank(v)), a.number(v, value), PadMode::Constant);
  }
  int64_t places() const {
    int64_t count = 1;
    for (int64_t size : window)
      count *= size;
    return count;
  }
  /// What place `at` of the window meets, one element a step, of a padded
  /// tensor.
  Value meet(Value padded, int64_t at) const {
    IntVector starts(spatial()), ends(spatial()), steps, axes;
    for (int64_t i = spatial() - 1; i >= 0; --i) {
      starts[i] = at % window[i] * dilations[i];
      at /= window[i];
      ends[i] = starts[i] + (this->steps(i) - 1) * strides[i] + 1;
    }
    for (int64_t i = 0; i < spatial(); ++i) {
      steps.push_back(strides[i]);
      axes.push_back(first() + i);
    }
    return a.op<SliceOp>(padded, a.ints(starts), a.ints(ends), a.ints(steps), Ints(axes), false);
  }
};

LogicalResult pool(Operation *op, ArrayRef<Value> gradients, Adjoint &a) {
  auto pool = cast<PoolOp>(op);
  Value x = pool.getOperand(), dy = gradients[0];
  PoolWindows windows{pool.getWindow(),    pool.getStrides(),  pool.getPads(),
                      pool.getDilations(), pool.getCeilMode(), pool.getChannelsLast()};
  PoolKind kind = pool.getKind();
  if (kind == PoolKind::Lp)
    return failure();
  Value dx = kind == PoolKind::Max ? maxPoolGradient(a, x, dy, windows)
                                   : meanPoolGradient(a, x, dy, windows, kind == PoolKind::Average,
                                                      pool.getCountIncludePad());
  if (!dx)
    return failure();
  a.add(x, dx);
  return success();
}

/// Convolutions, channels last, of one group: the filter's gradient is the convolution whose
/// batch and channels, strides and dilations have changed places. How that is computed best
/// is the layout's concern (passes/layout/FilterGradients.h).
Value filterGradient(const Windows &w, Value dy) {
  Adjoint &a = w.a;
  int64_t spatial = w.spatial(), last = spatial + 1;
  IntVector image = {last}, kernel, result, pads;
  for (int64_t i = 0; i < spatial; ++i) {
    image.push_back(1 + i);
    kernel.push_back(1 + i);
    result.push_back(1 + i);
    pads.append({w.pads[2 * i], w.behind(i)});
  }
  image.push_back(0);
  kernel.append({0, last});
  result.append({0, last});
  Value made =
      a.op<ConvOp>(a.transpose(w.x, image), a.transpose(dy, kernel), w.dilations, Ints(pads),
                   w.strides, int64_t(1), true, Adjoint::type(w.x).getElementType());
  return a.transpose(made, result); // C S… O to S… C O
}

/// The same of several groups: a product for each place of the window.
Value placewiseFilterGradient(const Windows &w, Value dy, int64_t groups) {
  Adjoint &a = w.a;
  int64_t spatial = w.spatial(), last = spatial + 1;
  int64_t channels = Adjoint::type(w.x).getDimSize(last) / groups,
          outputs = Adjoint::type(dy).getDimSize(last) / groups;
  auto grouped = [&](Value v, int64_t each) { return a.reshape(v, a.ints({-1, groups, each})); };
  // What all places share goes to the left, where it is turned round once.
  Value all = w.padded(w.x, 0), left = grouped(dy, outputs);
  SmallVector<Value> places;
  // One dimension of all positions: columns are summed several at a time.
  Value rows = channels == 1 ? a.reshape(dy, a.ints({-1, groups * outputs})) : Value();
  for (int64_t at = 0; at < w.places(); ++at) {
    if (channels == 1) {
      Value met = w.meet(all, at);
      if (outputs > 1)
        met = a.op<RepeatOp>(met, last, outputs);
      met = a.reshape(met, a.ints({-1, groups * outputs}));
      Value sum = a.reduce(a.times(met, rows), ReduceKind::Sum, {0}, false);
      places.push_back(a.reshape(sum, a.ints({1, 1, groups * outputs})));
      continue;
    }
    Value product =
        a.op<DotGeneralOp>(left, grouped(w.meet(all, at), channels), Ints{1}, Ints{1}, Ints{0},
                           Ints{0}, Adjoint::type(w.x).getElementType()); // groups, O, I
    places.push_back(
        a.reshape(a.transpose(product, {2, 0, 1}), a.ints({1, channels, groups * outputs})));
  }
  IntVector shape(w.window);
  shape.append({channels, groups * outputs});
  return a.reshape(a.concat(places, 0), a.ints(shape));
}

LogicalResult conv(Operation *op, ArrayRef<Value> gradients, Adjoint &a) {
  auto conv = cast<ConvOp>(op);
  Value x = conv.getInput(), filter = conv.getFilter(), dy = gradients[0];
  int64_t spatial = Adjoint::rank(x) - 2, groups = conv.getGroups();
  bool channelsLast = conv.getChannelsLast();
  if (a.wants(x))
    a.add(x, a.op<ConvTransposeOp>(
                 dy, filter, channelsLast ? a.sizes(x, 1, spatial + 1) : a.sizes(x, 2, spatial + 2),
                 conv.getStrides(), conv.getPads(), conv.getDilations(), groups, channelsLast));
  if (!a.wants(filter))
    return success();
  // Channels last, and back.
  IntVector data = {0}, weights, back = {spatial + 1, spatial};
  for (int64_t i = 0; i < spatial; ++i) {
    data.push_back(2 + i);
    weights.push_back(2 + i);
    back.push_back(i);
  }
  data.push_back(1);
  weights.append({1, 0});
  Value y = conv.getResult();
  if (!channelsLast) {
    x = a.transpose(x, data);
    dy = a.transpose(dy, data);
    y = dy;
  }
  Ints shape = Adjoint::type(filter).getShape();
  Ints window = channelsLast ? shape.take_front(spatial) : shape.take_back(spatial);
  Windows w{a, x, y, window, conv.getStrides(), conv.getPads(), conv.getDilations(), true};
  int64_t channels = Adjoint::type(x).getDimSize(spatial + 1),
          outputs = Adjoint::type(dy).getDimSize(spatial + 1);
  if (!w.isKnown() || ShapedType::isDynamic(channels) || ShapedType::isDynamic(outputs))
    return failure();
  Value made = groups == 1 ? filterGradient(w, dy) : placewiseFilterGradient(w, dy, groups);
  a.add(filter, channelsLast ? made : a.transpose(made, back));
  return success();
}

/// Resampling is a product with a matrix along each axis, which is what it
/// makes of the unit matrix; its gradient is that with the matrices transposed.
LogicalResult resize(Operation *op, ArrayRef<Value> gradients, Adjoint &a) {
  auto resize = cast<ResizeOp>(op);
  Value x = resize.getOperand(), dx = gradients[0];
  if (resize.getCoordinates() == "tf_crop_and_resize")
    return failure();
  for (auto [at, axis] : llvm::enumerate(resize.getAxes())) {
    int64_t from = Adjoint::type(x).getDimSize(axis),
            to = Adjoint::type(resize.getResult()).getDimSize(axis);
    if (ShapedType::isDynamic(from) || ShapedType::isDynamic(to))
      return failure();
    auto numbers = [&](int64_t dim) {
      return a.op<IotaOp>(a.ints({from, from}), dim, a.b.getI64Type());
    };
    Value unit = a.cast(a.compare("eq", numbers(0), numbers(1)), Adjoint::type(x).getElementType());
    Value scale = resize.getScales();
    if (Adjoint::rank(scale) == 1 && Adjoint::type(scale).getDimSize(0) > 0)
      scale = a.op<SliceOp>(scale, a.ints({int64_t(at)}), a.ints({int64_t(at) + 1}), a.ints({1}),
                            Ints{0}, false);
    Value matrix = a.op<ResizeOp>(unit, a.ints({to}), scale, resize.getRoi(), Ints{0},
                                  resize.getMode(), resize.getCoordinates(), resize.getNearest(),
                                  resize.getCubicCoefficient(), resize.getExcludeOutside(),
                                  resize.getExtrapolationValue(), resize.getAntialias());
    // Contract dy's axis with the matrix's rows, and put the axis back.
    int64_t rank = Adjoint::rank(dx), own = axis;
    Value product = a.op<DotGeneralOp>(dx, matrix, Ints{}, Ints{}, Ints{own}, Ints{0},
                                       Adjoint::type(x).getElementType());
    IntVector permutation;
    for (int64_t i = 0; i < rank; ++i)
      permutation.push_back(i < own ? i : i == own ? rank - 1 : i - 1);
    dx = a.transpose(product, permutation);
  }
  a.add(x, dx);
  return success();
}

} // namespace

ArrayRef<Row> weir::gradient::windowRules() {
  static const Row rows[] = {
      {"conv", conv},
      {"pool", pool},
      {"resize", resize},
  };
  return rows;
}
