//===- PoolGradients.cpp - gradients of pools -----------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Along an axis position p lies in windows (p + pad) / stride and the ones before it that reach so
// far. What a window has, spread out by its stride and shifted by so many windows, is an
// elementwise operand: gradients are read, never scattered, so that one kernel computes them with
// all threads, and with what follows.
//
//===----------------------------------------------------------------------===//

#include "passes/gradient/PoolGradients.h"

using namespace mlir;
using namespace weir;
using namespace weir::gradient;

/// Up to so many windows that an element lies in are asked one by one.
static constexpr int64_t mostAsked = 16;

static bool isKnownBeyondBatch(Value v) {
  return llvm::none_of(Adjoint::type(v).getShape().drop_front(), ShapedType::isDynamic);
}

/// `v`, an element a window, for each position of x's images: that of the window `back[i]`
/// before the last one that begins at or before it. `fill` where there is none.
static Value spreadOver(Adjoint &a, Value v, Value x, const PoolWindows &w, Ints back,
                        double fill) {
  int64_t rank = Adjoint::rank(x);
  IntVector amounts(2 * rank, 0);
  bool pads = false;
  for (int64_t i = 0; i < w.spatial(); ++i) {
    int64_t dim = w.dim(i), stride = w.strides[i];
    int64_t before = back[i] * stride - w.pads[2 * i];
    int64_t after =
        Adjoint::type(x).getDimSize(dim) - before - Adjoint::type(v).getDimSize(dim) * stride;
    if (stride != 1)
      v = a.op<RepeatOp>(v, dim, stride);
    amounts[dim] = before;
    amounts[rank + dim] = after;
    pads |= before != 0 || after != 0;
  }
  return pads ? a.op<PadOp>(v, a.ints(amounts), a.number(v, fill), PadMode::Constant) : v;
}

/// Each element's place in a flat tensor of x's shape.
static Value places(Adjoint &a, Value x, Type element) {
  Value shape = a.shapeOf(x), sum;
  int64_t stride = 1;
  for (int64_t i = Adjoint::rank(x) - 1; i >= 0; --i) {
    Value part = a.op<IotaOp>(shape, i, element);
    if (stride != 1)
      part = a.times(part, static_cast<double>(stride));
    sum = sum ? a.plus(part, sum) : part;
    stride *= Adjoint::type(x).getDimSize(i); // that of a batch is not used
  }
  return sum;
}

Value gradient::maxPoolGradient(Adjoint &a, Value x, Value dy, const PoolWindows &w) {
  auto type = Adjoint::type(x);
  int64_t asked = 1;
  IntVector counts;
  for (int64_t i = 0; i < w.spatial(); ++i) {
    counts.push_back((w.extent(i) + w.strides[i] - 1) / w.strides[i]);
    asked *= counts.back();
  }
  bool isSmall = type.hasStaticShape() && type.getNumElements() <= INT32_MAX;
  Type index = isSmall ? a.b.getI32Type() : a.b.getI64Type();
  Value maxima = a.op<MaxPoolIndexOp>(x, w.window, w.strides, w.pads, w.dilations, w.ceilMode,
                                      w.channelsLast, false, false, index);
  if (asked > mostAsked || !isKnownBeyondBatch(x) || !isKnownBeyondBatch(dy))
    return scatterFlat(a, maxima, dy, x);
  Value own = places(a, x, index), sum;
  for (int64_t at = 0; at < asked; ++at) {
    // In the order of the windows, the last axis fastest.
    IntVector back(w.spatial());
    int64_t rest = at;
    for (int64_t i = w.spatial() - 1; i >= 0; --i) {
      back[i] = counts[i] - 1 - rest % counts[i];
      rest /= counts[i];
    }
    Value isMaximum = a.compare("eq", spreadOver(a, maxima, x, w, back, -1), own);
    Value part = a.where(isMaximum, spreadOver(a, dy, x, w, back, 0));
    sum = sum ? a.plus(sum, part) : part;
  }
  return sum;
}

/// How many elements each window has, where that is not the same number for all.
static Value windowCounts(Adjoint &a, Value x, const PoolWindows &w, bool countIncludePad) {
  SmallVector<Value> sizes(w.spatial() + 2, a.ints({1}));
  for (int64_t i = 0; i < w.spatial(); ++i)
    sizes[w.dim(i)] = a.sizes(x, w.dim(i), w.dim(i) + 1);
  Value ones = a.op<BroadcastToOp>(a.number(x, 1), a.concat(sizes, 0));
  auto pooled = [&](PoolKind kind) {
    return a.op<PoolOp>(ones, kind, w.window, w.strides, w.pads, w.dilations, w.ceilMode,
                        countIncludePad, int64_t(1), w.channelsLast);
  };
  return a.op<RoundOp>(a.over(pooled(PoolKind::Sum), pooled(PoolKind::Average)));
}

static Value ones(Adjoint &a, Ints shape, Type element) {
  auto type = RankedTensorType::get(shape, element);
  return ConstantOp::create(a.b, a.loc, DenseElementsAttr::get(type, a.b.getFloatAttr(element, 1)));
}

Value gradient::meanPoolGradient(Adjoint &a, Value x, Value dy, const PoolWindows &w, bool isMean,
                                 bool countIncludePad) {
  auto type = Adjoint::type(x), windows = Adjoint::type(dy);
  bool isKnown = isKnownBeyondBatch(x) && isKnownBeyondBatch(dy), isPartition = isKnown;
  IntVector pads(w.pads);
  double elements = 1;
  for (int64_t i = 0; i < w.spatial(); ++i) {
    int64_t size = type.getDimSize(w.dim(i)), count = windows.getDimSize(w.dim(i));
    isPartition &= w.window[i] == w.strides[i] && w.dilations[i] == 1;
    elements *= static_cast<double>(w.window[i]);
    // What the last window needs behind the end.
    if (isKnown)
      pads[2 * i + 1] = (count - 1) * w.strides[i] + w.extent(i) - size - w.pads[2 * i];
  }
  if (!isKnown && w.ceilMode)
    return {};
  if (isMean) {
    // In ceilMode windows end in the padding, and do not count what lies behind it.
    bool isEach = !w.ceilMode &&
                  (countIncludePad || llvm::all_of(w.pads, [](int64_t pad) { return pad == 0; }));
    dy = a.over(dy, isEach ? a.number(dy, elements) : windowCounts(a, x, w, countIncludePad));
  }
  if (isPartition)
    return spreadOver(a, dy, x, w, IntVector(w.spatial(), 0), 0);
  // A transposed convolution with ones, channel by channel.
  SmallVector<Value> sizes;
  for (int64_t i = 0; i < w.spatial(); ++i)
    sizes.push_back(a.sizes(x, w.dim(i), w.dim(i) + 1));
  int64_t channels = type.getDimSize(w.channelDim());
  bool isApart = ShapedType::isDynamic(channels);
  IntVector order(type.getRank());
  for (int64_t i = 0; i < type.getRank(); ++i)
    order[i] = i;
  if (isApart) {
    // Each channel is an image of its own: N C S… to (N C) S… 1.
    if (w.channelsLast) {
      order.assign({0, w.channelDim()});
      for (int64_t i = 0; i < w.spatial(); ++i)
        order.push_back(w.dim(i));
    }
    dy = a.transpose(dy, order);
    dy = a.reshape(dy, a.concat({a.ints({-1}), a.sizes(dy, 2, type.getRank()), a.ints({1})}, 0));
    channels = 1;
  }
  bool isLast = w.channelsLast || isApart;
  IntVector filter(w.window);
  if (isLast)
    filter.append({1, channels});
  else
    filter.insert(filter.begin(), {channels, 1});
  Value dx = a.op<ConvTransposeOp>(dy, ones(a, filter, type.getElementType()), a.concat(sizes, 0),
                                   w.strides, Ints(pads), w.dilations, channels, isLast);
  if (!isApart)
    return dx;
  SmallVector<Value> shape = {a.sizes(x, 0, 1), a.sizes(x, w.channelDim(), w.channelDim() + 1)};
  shape.append(sizes);
  IntVector back(type.getRank());
  for (int64_t i = 0; i < type.getRank(); ++i)
    back[order[i]] = i;
  return a.transpose(a.reshape(dx, a.concat(shape, 0)), back);
}
