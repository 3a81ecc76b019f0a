//===- PoolOps.cpp - reductions of sliding windows ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/BlockedSums.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Windows.h"
#include "weir/weir.h"

#include <numeric>

using namespace mlir;
using namespace weir;
using namespace weir::shape;

/// Shapes of pool and max_pool_index alike.
template <typename AdaptorT>
static LogicalResult inferPool(OptionalLocation loc, AdaptorT adaptor, Type element, Types &types) {
  auto type = ranked(adaptor.getOperand());
  if (!type)
    return inferredUnranked(types, element);
  ImageLayout image{type.getRank(), adaptor.getChannelsLast()};
  ArrayRef<int64_t> window = adaptor.getWindow();
  if (type.getRank() < 2 || (int64_t)window.size() != image.spatial())
    return emitOptionalError(loc, "window of ", window.size(), " dimensions for an operand of ",
                             type.getRank());
  if (failed(checkWindows(loc, image.spatial(), adaptor.getStrides(), adaptor.getPads(),
                          adaptor.getDilations())))
    return failure();
  Sizes shape(type.getShape());
  for (auto [i, size] : llvm::enumerate(window)) {
    if (size < 1)
      return emitOptionalError(loc, "window ", shapeText(window), " must have positive sizes");
    int64_t &dim = shape[image.spatialDim(i)];
    dim = windowCount(windowAt(adaptor.getStrides(), adaptor.getPads(), adaptor.getDilations(), i),
                      dim, size, adaptor.getCeilMode());
  }
  return inferred(types, shape, element);
}

template <typename OpT>
static LogicalResult reifyPool(OpT op, ElementReader &r, SmallVectorImpl<Value> &dims) {
  ImageLayout image{ranked(op.getOperand()).getRank(), op.getChannelsLast()};
  dims.assign(r.dims(op.getOperand()));
  for (auto [i, size] : llvm::enumerate(op.getWindow())) {
    Value &dim = dims[image.spatialDim(i)];
    dim = windowCount(r, windowAt(op.getStrides(), op.getPads(), op.getDilations(), i), dim,
                      r.constant(size), op.getCeilMode());
  }
  return success();
}

/// The ranges of an element's window, and how to reach the operand from them.
template <typename OpT>
static SmallVector<WindowRange> poolRanges(OpT op, ElementReader &r, ValueRange indices) {
  ImageLayout image{ranked(op.getOperand()).getRank(), op.getChannelsLast()};
  SmallVector<WindowRange> ranges;
  for (auto [i, size] : llvm::enumerate(op.getWindow()))
    ranges.push_back(windowRange(r, windowAt(op.getStrides(), op.getPads(), op.getDilations(), i),
                                 indices[image.spatialDim(i)],
                                 r.dim(op.getOperand(), image.spatialDim(i)), r.constant(size),
                                 op.getCeilMode()));
  return ranges;
}

template <typename OpT>
static SmallVector<Value> poolPlace(OpT op, ElementReader &r, ValueRange indices,
                                    ArrayRef<WindowRange> ranges, ValueRange window) {
  ImageLayout image{ranked(op.getOperand()).getRank(), op.getChannelsLast()};
  SmallVector<Value> at(indices);
  for (auto [i, range] : llvm::enumerate(ranges)) {
    Value k = r.add(range.low, window[i]);
    at[image.spatialDim(i)] = r.add(range.origin, r.mul(k, r.constant(op.getDilations()[i])));
  }
  return at;
}

static SmallVector<Value> counts(ArrayRef<WindowRange> ranges) {
  SmallVector<Value> sizes;
  for (const WindowRange &range : ranges)
    sizes.push_back(range.count);
  return sizes;
}

//===----------------------------------------------------------------------===//
// pool
//===----------------------------------------------------------------------===//

LogicalResult PoolOp::inferReturnTypes(MLIRContext *, OptionalLocation loc, Adaptor adaptor,
                                       Types &types) {
  if (!symbolizePoolKind(adaptor.getKindAttr().getValue()))
    return emitOptionalError(loc, "unknown kind of pool '", adaptor.getKindAttr().getValue(), "'");
  if (adaptor.getKind() == PoolKind::Lp && adaptor.getP() < 1)
    return emitOptionalError(loc, "lp pool with p ", (int64_t)adaptor.getP());
  return inferPool(loc, adaptor, elementOf(adaptor.getOperand()), types);
}

Value PoolOp::emitElement(ElementReader &r, unsigned, ValueRange indices) {
  Type element = elementOf(getOperand()), wide = accumulatorType(element);
  ScalarBuilder s(r, *this, wide);
  SmallVector<WindowRange> ranges = poolRanges(*this, r, indices);
  PoolKind kind = getKind();
  ReduceKind own = kind == PoolKind::Max ? ReduceKind::Max : ReduceKind::Sum;
  int64_t p = getP();
  int64_t elements = std::accumulate(getWindow().begin(), getWindow().end(), int64_t(1),
                                     std::multiplies<int64_t>());
  bool isLong = elements > SumBlocks().most && isFloatSum(wide, own);
  Value total = emitSums(r, counts(ranges), reductionStart(r, wide, own), isLong,
                         [&](ValueRange window, Value carried) {
                           SmallVector<Value> at = poolPlace(*this, r, indices, ranges, window);
                           Value next = s.cast(r.element(getOperand(), at), element, wide, false);
                           if (kind == PoolKind::Lp) {
                             Value factor = s.abs(next);
                             next = factor;
                             if (p == 2)
                               next = s.mul(factor, factor);
                             else if (p > 2)
                               next = s.pow(factor, s.constant(factor, p));
                           }
                           return reductionStep(r, s, own, carried, next);
                         });
  if (kind == PoolKind::Lp && p == 2)
    total = s.op<math::SqrtOp>(total);
  else if (kind == PoolKind::Lp && p > 2)
    total = s.pow(total, s.constant(total, 1.0 / p));
  if (kind == PoolKind::Average) {
    Value count = r.constant(1);
    ImageLayout image{ranked(getOperand()).getRank(), getChannelsLast()};
    for (auto [i, range] : llvm::enumerate(ranges)) {
      Value own = range.count;
      if (getCountIncludePad()) {
        // All of the window, but for what lies beyond the end padding.
        Window w = windowAt(getStrides(), getPads(), getDilations(), i);
        own = r.constant(getWindow()[i]);
        if (getCeilMode()) {
          Value end = r.add(r.dim(getOperand(), image.spatialDim(i)), r.constant(w.padAfter));
          own = r.minimum(own, ceilDivide(r, r.sub(end, range.origin), r.constant(w.dilation)));
        }
      }
      count = r.mul(count, own);
    }
    total = s.div(total, indexTo(r, *this, count, wide));
  }
  return s.cast(total, wide, element, false);
}

LogicalResult PoolOp::reifyShape(ElementReader &r, unsigned, SmallVectorImpl<Value> &dims) {
  return reifyPool(*this, r, dims);
}

int64_t PoolOp::getFlops() {
  int64_t count = weir::detail::elementCountOfResults(*this);
  return count < 0 ? -1 : count * sizeProduct(getWindow());
}

//===----------------------------------------------------------------------===//
// max_pool_index
//===----------------------------------------------------------------------===//

LogicalResult MaxPoolIndexOp::inferReturnTypes(MLIRContext *, OptionalLocation loc, Adaptor adaptor,
                                               Types &types) {
  return inferPool(loc, adaptor, adaptor.getIndexType(), types);
}

Value MaxPoolIndexOp::emitElement(ElementReader &r, unsigned, ValueRange indices) {
  Type element = elementOf(getOperand()), wide = accumulatorType(element);
  ScalarBuilder s(r, *this, wide);
  ImageLayout image{ranked(getOperand()).getRank(), getChannelsLast()};
  SmallVector<WindowRange> ranges = poolRanges(*this, r, indices);
  // The dimensions in the order in which the flat index counts them.
  SmallVector<int64_t> order;
  for (int64_t i = 0; i < image.spatial(); ++i)
    order.push_back(image.spatialDim(i));
  if (getColumnMajor())
    std::reverse(order.begin(), order.end());
  if (getChannelsLast())
    order.push_back(image.channel());
  else if (!getWithinImage())
    order.insert(order.begin(), image.channel());
  if (!getWithinImage())
    order.insert(order.begin(), 0);

  auto flatIndex = [&](ValueRange at) {
    Value linear;
    for (int64_t i : order)
      linear = linear ? r.add(r.mul(linear, r.dim(getOperand(), i)), at[i]) : Value(at[i]);
    return linear ? linear : r.constant(0);
  };
  SmallVector<Value> best = emitReductionLoops(
      r, counts(ranges), ValueRange{reductionStart(r, wide, ReduceKind::Max), r.constant(-1)},
      [&](ValueRange window, ValueRange carried) -> SmallVector<Value> {
        SmallVector<Value> at = poolPlace(*this, r, indices, ranges, window);
        Value next = s.cast(r.element(getOperand(), at), element, wide, false);
        // The first element always counts, also where it equals the start.
        Value better = s.op<arith::OrIOp>(s.compare("gt", next, carried[0]),
                                          r.less(carried[1], r.constant(0)));
        if (s.isFloat(next))
          better = s.op<arith::OrIOp>(
              better, s.op<arith::AndIOp>(s.isNan(next), s.compare("eq", carried[0], carried[0])));
        return {s.select(better, next, carried[0]), r.select(better, flatIndex(at), carried[1])};
      });
  return indexTo(r, *this, r.maximum(best[1], r.constant(0)), getIndexType());
}

LogicalResult MaxPoolIndexOp::reifyShape(ElementReader &r, unsigned, SmallVectorImpl<Value> &dims) {
  return reifyPool(*this, r, dims);
}

int64_t MaxPoolIndexOp::getFlops() {
  int64_t count = weir::detail::elementCountOfResults(*this);
  return count < 0 ? -1 : count * sizeProduct(getWindow());
}
