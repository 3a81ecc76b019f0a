//===- ConvOps.cpp - convolutions and their gradients ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "dialects/weir/Windows.h"
#include "weir/weir.h"

using namespace mlir;
using namespace weir;
using namespace weir::shape;

namespace {
/// Where the dimensions of a filter lie. For a convolution `outer` are the
/// result's channels and `inner` the input's; for a transposed one the reverse.
struct FilterLayout {
  int64_t rank;
  bool channelsLast;

  int64_t outer() const { return channelsLast ? rank - 1 : 0; }
  int64_t inner() const { return channelsLast ? rank - 2 : 1; }
  int64_t spatialDim(int64_t i) const { return i + (channelsLast ? 0 : 2); }
};
} // namespace

//===----------------------------------------------------------------------===//
// conv
//===----------------------------------------------------------------------===//

LogicalResult ConvOp::inferReturnTypes(MLIRContext *, OptionalLocation loc, Adaptor adaptor,
                                       Types &types) {
  auto input = ranked(adaptor.getInput()), filter = ranked(adaptor.getFilter());
  Type element = adaptor.getAccumulator();
  if (!input && !filter)
    return inferredUnranked(types, element);
  int64_t rank = input ? input.getRank() : filter.getRank();
  if (rank < 2 || (filter && filter.getRank() != rank))
    return emitOptionalError(loc, "convolution of ", rank, " dimensions with a filter of ",
                             filter ? filter.getRank() : rank);
  ImageLayout image{rank, adaptor.getChannelsLast()};
  FilterLayout kernel{rank, adaptor.getChannelsLast()};
  if (failed(checkWindows(loc, image.spatial(), adaptor.getStrides(), adaptor.getPads(),
                          adaptor.getDilations())))
    return failure();
  int64_t groups = adaptor.getGroups();
  if (groups < 1)
    return emitOptionalError(loc, "convolution with ", groups, " groups");
  Sizes shape(rank, unknown);
  int64_t channels = input ? input.getDimSize(image.channel()) : unknown;
  int64_t own = filter ? filter.getDimSize(kernel.inner()) : unknown;
  int64_t outputs = filter ? filter.getDimSize(kernel.outer()) : unknown;
  if (isKnown(channels) && isKnown(own) && channels != own * groups)
    return emitOptionalError(loc, "input ", shapeText(input.getShape()), " has ", channels,
                             " channels, filter ", shapeText(filter.getShape()), " wants ", own,
                             " in each of ", groups, " groups");
  if (isKnown(outputs) && outputs % groups)
    return emitOptionalError(loc, outputs, " filters do not divide into ", groups, " groups");
  shape[0] = input ? input.getDimSize(0) : unknown;
  shape[image.channel()] = outputs;
  for (int64_t i = 0; i < image.spatial(); ++i)
    if (input && filter)
      shape[image.spatialDim(i)] = windowCount(
          windowAt(adaptor.getStrides(), adaptor.getPads(), adaptor.getDilations(), i),
          input.getDimSize(image.spatialDim(i)), filter.getDimSize(kernel.spatialDim(i)), false);
  return inferred(types, shape, element);
}

Value ConvOp::emitElement(ElementReader &r, unsigned, ValueRange indices) {
  Type inputElement = elementOf(getInput()), filterElement = elementOf(getFilter()),
       wide = accumulatorType(getAccumulator());
  ScalarBuilder s(r, *this, wide);
  int64_t rank = ranked(getInput()).getRank();
  ImageLayout image{rank, getChannelsLast()};
  FilterLayout kernel{rank, getChannelsLast()};
  int64_t spatial = image.spatial(), groups = getGroups();

  Value output = indices[image.channel()];
  Value perGroup = r.dim(getFilter(), kernel.inner()), firstChannel = r.constant(0);
  if (groups > 1) {
    Value outputsPerGroup = r.divide(r.dim(getFilter(), kernel.outer()), r.constant(groups));
    firstChannel = r.mul(r.divide(output, r.maximum(outputsPerGroup, r.constant(1))), perGroup);
  }
  // Loop ranges are clamped to the input, so that the innermost loop is free of
  // tests. Channels run innermost where they lie together in memory.
  SmallVector<WindowRange> ranges;
  SmallVector<Value> sizes;
  for (int64_t i = 0; i < spatial; ++i) {
    ranges.push_back(windowRange(
        r, windowAt(getStrides(), getPads(), getDilations(), i), indices[image.spatialDim(i)],
        r.dim(getInput(), image.spatialDim(i)), r.dim(getFilter(), kernel.spatialDim(i)), false));
    sizes.push_back(ranges.back().count);
  }
  sizes.insert(getChannelsLast() ? sizes.end() : sizes.begin(), perGroup);
  Value total = emitReductionLoops(
      r, sizes, reductionStart(r, wide, ReduceKind::Sum), [&](ValueRange place, Value carried) {
        Value channel = getChannelsLast() ? place.back() : place.front();
        ValueRange window = getChannelsLast() ? place.drop_back() : place.drop_front();
        SmallVector<Value> in(rank), filter(rank);
        in[0] = indices[0];
        in[image.channel()] = r.add(firstChannel, channel);
        filter[kernel.outer()] = output;
        filter[kernel.inner()] = channel;
        for (int64_t i = 0; i < spatial; ++i) {
          Value k = r.add(ranges[i].low, window[i]);
          filter[kernel.spatialDim(i)] = k;
          in[image.spatialDim(i)] =
              r.add(ranges[i].origin, r.mul(k, r.constant(getDilations()[i])));
        }
        Value x = s.cast(r.element(getInput(), in), inputElement, wide, false);
        Value y = s.cast(r.element(getFilter(), filter), filterElement, wide, false);
        return multiplyAdd(r, s, carried, x, y);
      });
  return s.cast(total, wide, getAccumulator(), false);
}

LogicalResult ConvOp::reifyShape(ElementReader &r, unsigned, SmallVectorImpl<Value> &dims) {
  auto input = ranked(getInput()), filter = ranked(getFilter());
  ImageLayout image{input.getRank(), getChannelsLast()};
  FilterLayout kernel{input.getRank(), getChannelsLast()};
  dims = staticDims(r, getResult());
  if (!dims[0])
    dims[0] = r.dim(getInput(), 0);
  if (!dims[image.channel()])
    dims[image.channel()] = r.dim(getFilter(), kernel.outer());
  for (int64_t i = 0; i < image.spatial(); ++i)
    if (Value &dim = dims[image.spatialDim(i)]; !dim)
      dim = windowCount(r, windowAt(getStrides(), getPads(), getDilations(), i),
                        r.dim(getInput(), image.spatialDim(i)),
                        r.dim(getFilter(), kernel.spatialDim(i)), false);
  if (input.isDynamicDim(image.channel()) || filter.isDynamicDim(kernel.inner())) {
    Value have = r.dim(getInput(), image.channel());
    Value want = r.mul(r.dim(getFilter(), kernel.inner()), r.constant(getGroups()));
    requireEqual(r, *this, have, want, "input has {0} channels, the filter wants {1}");
    for (auto [dim, size] : llvm::zip(dims, ranked(getResult()).getShape()))
      if (!isKnown(size))
        dim = r.select(r.equal(have, want), dim, r.constant(0));
  }
  return success();
}

/// Two operations for each product over channels and window of every element.
static int64_t productFlops(Operation *op, RankedTensorType elements, RankedTensorType filter,
                            int64_t outer) {
  if (!elements || !filter || !elements.hasStaticShape() || !filter.hasStaticShape())
    return -1;
  int64_t outputs = std::max<int64_t>(filter.getDimSize(outer), 1);
  return 2 * elements.getNumElements() * (filter.getNumElements() / outputs);
}

int64_t ConvOp::getFlops() {
  auto filter = ranked(getFilter());
  int64_t rank = filter ? filter.getRank() : 0;
  return productFlops(*this, ranked(getResult()), filter,
                      FilterLayout{rank, getChannelsLast()}.outer());
}

//===----------------------------------------------------------------------===//
// conv_transpose
//===----------------------------------------------------------------------===//

LogicalResult ConvTransposeOp::inferReturnTypes(MLIRContext *, OptionalLocation loc,
                                                Adaptor adaptor, Types &types) {
  auto input = ranked(adaptor.getInput()), filter = ranked(adaptor.getFilter());
  Type element = elementOf(adaptor.getInput());
  if (!input && !filter)
    return inferredUnranked(types, element);
  int64_t rank = input ? input.getRank() : filter.getRank();
  if (rank < 2 || (filter && filter.getRank() != rank))
    return emitOptionalError(loc, "transposed convolution of ", rank,
                             " dimensions with a filter of ", filter ? filter.getRank() : rank);
  ImageLayout image{rank, adaptor.getChannelsLast()};
  FilterLayout kernel{rank, adaptor.getChannelsLast()};
  if (failed(checkWindows(loc, image.spatial(), adaptor.getStrides(), adaptor.getPads(),
                          adaptor.getDilations())))
    return failure();
  int64_t groups = adaptor.getGroups();
  if (groups < 1)
    return emitOptionalError(loc, "transposed convolution with ", groups, " groups");
  int64_t channels = input ? input.getDimSize(image.channel()) : unknown;
  int64_t own = filter ? filter.getDimSize(kernel.outer()) : unknown;
  int64_t outputs = filter ? filter.getDimSize(kernel.inner()) : unknown;
  if (isKnown(channels) && isKnown(own) && channels != own)
    return emitOptionalError(loc, "input ", shapeText(input.getShape()), " has ", channels,
                             " channels, filter ", shapeText(filter.getShape()), " wants ", own);
  if (isKnown(channels) && channels % groups)
    return emitOptionalError(loc, channels, " channels do not divide into ", groups, " groups");
  auto sizes = entries(adaptor.getOutputSizes());
  if (sizes && (int64_t)sizes->size() != image.spatial())
    return emitOptionalError(loc, sizes->size(), " output sizes for ", image.spatial(),
                             " spatial dimensions");
  Sizes shape(rank, unknown);
  shape[0] = input ? input.getDimSize(0) : unknown;
  shape[image.channel()] = isKnown(outputs) ? outputs * groups : unknown;
  for (int64_t i = 0; sizes && i < image.spatial(); ++i) {
    if (isKnown((*sizes)[i]) && (*sizes)[i] < 0)
      return emitOptionalError(loc, "negative output size ", (*sizes)[i]);
    shape[image.spatialDim(i)] = (*sizes)[i];
  }
  return inferred(types, shape, element);
}

Value ConvTransposeOp::emitElement(ElementReader &r, unsigned, ValueRange indices) {
  Type inputElement = elementOf(getInput()), filterElement = elementOf(getFilter()),
       wide = accumulatorType(inputElement);
  ScalarBuilder s(r, *this, wide);
  int64_t rank = ranked(getInput()).getRank();
  ImageLayout image{rank, getChannelsLast()};
  FilterLayout kernel{rank, getChannelsLast()};
  int64_t spatial = image.spatial(), groups = getGroups();
  Value zero = r.constant(0), one = r.constant(1);

  Value output = indices[image.channel()], outputInGroup = output;
  Value perGroup = r.dim(getInput(), image.channel()), firstChannel = zero;
  if (groups > 1) {
    perGroup = r.divide(perGroup, r.constant(groups));
    Value outputsPerGroup = r.maximum(r.dim(getFilter(), kernel.inner()), one);
    firstChannel = r.mul(r.divide(output, outputsPerGroup), perGroup);
    outputInGroup = r.remainder(output, outputsPerGroup);
  }
  // The input elements whose windows cover this one: place * stride + k *
  // dilation = index + pad for a k in [0, kernel). They are a range, of which
  // dilation leaves out some.
  SmallVector<Value> lows, sizes, targets;
  for (int64_t i = 0; i < spatial; ++i) {
    Window w = windowAt(getStrides(), getPads(), getDilations(), i);
    Value target = r.add(indices[image.spatialDim(i)], r.constant(w.padBefore));
    Value reach =
        r.mul(r.sub(r.dim(getFilter(), kernel.spatialDim(i)), one), r.constant(w.dilation));
    Value stride = r.constant(w.stride);
    Value low = r.maximum(zero, ceilDivide(r, r.sub(target, reach), stride));
    Value high = r.divide(r.maximum(r.add(target, stride), zero), stride);
    high = r.minimum(high, r.dim(getInput(), image.spatialDim(i)));
    targets.push_back(target);
    lows.push_back(low);
    sizes.push_back(r.maximum(r.sub(high, low), zero));
  }
  sizes.insert(getChannelsLast() ? sizes.end() : sizes.begin(), perGroup);
  Value total = emitReductionLoops(
      r, sizes, reductionStart(r, wide, ReduceKind::Sum), [&](ValueRange place, Value carried) {
        Value channel = r.add(firstChannel, getChannelsLast() ? place.back() : place.front());
        ValueRange window = getChannelsLast() ? place.drop_back() : place.drop_front();
        SmallVector<Value> in(rank), filter(rank);
        in[0] = indices[0];
        in[image.channel()] = channel;
        filter[kernel.outer()] = channel;
        filter[kernel.inner()] = outputInGroup;
        Value meets;
        for (int64_t i = 0; i < spatial; ++i) {
          Value at = r.add(lows[i], window[i]);
          in[image.spatialDim(i)] = at;
          Value offset = r.sub(targets[i], r.mul(at, r.constant(getStrides()[i])));
          Value dilation = r.constant(getDilations()[i]);
          if (getDilations()[i] != 1) {
            Value ok = r.equal(r.remainder(offset, dilation), zero);
            meets = meets ? r.logicalAnd(meets, ok) : ok;
          }
          filter[kernel.spatialDim(i)] = r.divide(offset, dilation);
        }
        auto step = [&] {
          Value x = s.cast(r.element(getInput(), in), inputElement, wide, false);
          Value y = s.cast(r.element(getFilter(), filter), filterElement, wide, false);
          return multiplyAdd(r, s, carried, x, y);
        };
        return meets ? emitIf(r, meets, step, [&] { return carried; }) : step();
      });
  return s.cast(total, wide, inputElement, false);
}

LogicalResult ConvTransposeOp::reifyShape(ElementReader &r, unsigned,
                                          SmallVectorImpl<Value> &dims) {
  auto input = ranked(getInput());
  ImageLayout image{input.getRank(), getChannelsLast()};
  FilterLayout kernel{input.getRank(), getChannelsLast()};
  dims = staticDims(r, getResult());
  if (!dims[0])
    dims[0] = r.dim(getInput(), 0);
  if (!dims[image.channel()])
    dims[image.channel()] = r.mul(r.dim(getFilter(), kernel.inner()), r.constant(getGroups()));
  for (int64_t i = 0; i < image.spatial(); ++i) {
    Value &dim = dims[image.spatialDim(i)];
    if (dim)
      continue;
    dim = entry(r, getOutputSizes(), i);
    r.require(*this, r.less(r.constant(-1), dim), "negative output size {0}", WEIR_INVALID_ARGUMENT,
              dim);
    dim = r.maximum(dim, r.constant(0));
  }
  Value have = r.dim(getInput(), image.channel()), want = r.dim(getFilter(), kernel.outer());
  requireEqual(r, *this, have, want, "input has {0} channels, the filter wants {1}");
  if (input.isDynamicDim(image.channel()) || ranked(getFilter()).isDynamicDim(kernel.outer()))
    for (auto [dim, size] : llvm::zip(dims, ranked(getResult()).getShape()))
      if (!isKnown(size))
        dim = r.select(r.equal(have, want), dim, r.constant(0));
  return success();
}

int64_t ConvTransposeOp::getFlops() {
  auto filter = ranked(getFilter());
  int64_t rank = filter ? filter.getRank() : 0;
  return productFlops(*this, ranked(getInput()), filter,
                      FilterLayout{rank, getChannelsLast()}.outer());
}
