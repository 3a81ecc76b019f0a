//===- BlockedSums.cpp - long sums by blocks ------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/BlockedSums.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

/// Of an open axis: blocks, and blocks of blocks.
static constexpr int64_t openCuts = 2;

SmallVector<BlockedLoop> weir::blockedLoops(ArrayRef<int64_t> sizes, const SumBlocks &blocks) {
  SmallVector<BlockedLoop> loops; // innermost first
  int64_t inner = 1;              // so many are added where the present loop has one trip
  for (size_t axis = sizes.size(); axis-- > 0;) {
    int64_t trips = sizes[axis], step = 1, cuts = 0;
    bool isOpen = ShapedType::isDynamic(trips);
    auto isLong = [&] {
      return isOpen ? blocks.cutsOpen && cuts < openCuts : inner * trips > blocks.most;
    };
    while (isLong()) {
      // What lies inside is a block by itself, or trips of this loop make one.
      if (4 * inner > blocks.most) {
        loops.back().begins = true;
      } else {
        int64_t own = blocks.most / inner;
        loops.push_back({axis, step, true});
        step *= own;
        trips = isOpen ? trips : int64_t(llvm::divideCeil(trips, own));
        ++cuts;
      }
      inner = 1;
    }
    loops.push_back({axis, step, false});
    inner = isOpen ? blocks.most : std::max<int64_t>(inner * trips, 1);
  }
  std::reverse(loops.begin(), loops.end());
  return loops;
}

SmallVector<BlockedLoop> weir::blockedLoops(ArrayRef<Value> sizes, const SumBlocks &blocks) {
  SmallVector<int64_t> known;
  for (Value size : sizes) {
    APInt number;
    known.push_back(matchPattern(size, m_ConstantInt(&number)) ? number.getSExtValue()
                                                               : ShapedType::kDynamic);
  }
  return blockedLoops(known, blocks);
}

AxisRange AxisRange::trip(ElementReader &r, Value place, int64_t step) const {
  APInt number;
  Value own = r.constant(step);
  if (!matchPattern(count, m_ConstantInt(&number)) || number.getSExtValue() % step)
    own = r.minimum(own, r.sub(r.add(first, count), place));
  return {place, own};
}

namespace {

class NestEmitter {
public:
  NestEmitter(ElementReader &r, ArrayRef<Value> sizes, ValueRange zeros, const SumBlocks &blocks,
              function_ref<SmallVector<Value>(ValueRange, ValueRange)> body, const NestForm &form)
      : r(r), zeros(zeros), body(body), form(form), loops(blockedLoops(sizes, blocks)),
        place(sizes.size()) {
    for (Value size : sizes)
      ranges.push_back({r.constant(0), size});
    if (form.outermost)
      ranges.front() = *form.outermost;
  }

  SmallVector<Value> emit(size_t number, ValueRange carried) {
    if (number == loops.size())
      return body(place, carried);
    BlockedLoop own = loops[number];
    AxisRange range = ranges[own.axis];
    if (form.writtenOut == own.axis)
      return emitTrips(number, carried);
    auto loop = scf::ForOp::create(r.b, r.loc, range.first, r.add(range.first, range.count),
                                   r.constant(own.step), own.begins ? zeros : carried);
    {
      OpBuilder::InsertionGuard guard(r.b);
      r.b.setInsertionPointToStart(loop.getBody());
      place[own.axis] = loop.getInductionVar();
      if (own.step > 1)
        ranges[own.axis] = range.trip(r, loop.getInductionVar(), own.step);
      SmallVector<Value> next = emit(number + 1, loop.getRegionIterArgs());
      scf::YieldOp::create(r.b, r.loc, next);
    }
    ranges[own.axis] = range;
    return ended(own, SmallVector<Value>(loop.getResults()), carried);
  }

private:
  /// The trips of a loop of known range, one behind the other.
  SmallVector<Value> emitTrips(size_t number, ValueRange carried) {
    BlockedLoop own = loops[number];
    AxisRange range = ranges[own.axis];
    int64_t first = *getConstantIntValue(range.first), count = *getConstantIntValue(range.count);
    SmallVector<Value> sums(own.begins ? zeros : carried);
    for (int64_t at = first; at < first + count; at += own.step) {
      place[own.axis] = r.constant(at);
      ranges[own.axis] = {place[own.axis], r.constant(std::min(own.step, first + count - at))};
      sums = emit(number + 1, sums);
    }
    ranges[own.axis] = range;
    return ended(own, std::move(sums), carried);
  }

  /// Sums behind a loop, which those outside of a block are added to.
  SmallVector<Value> ended(BlockedLoop own, SmallVector<Value> sums, ValueRange carried) {
    if (own.begins)
      for (auto [sum, outside] : llvm::zip(sums, carried))
        sum = arith::AddFOp::create(r.b, r.loc, outside, sum);
    return sums;
  }

  ElementReader &r;
  ValueRange zeros;
  function_ref<SmallVector<Value>(ValueRange, ValueRange)> body;
  NestForm form;
  SmallVector<BlockedLoop> loops;
  SmallVector<Value> place;
  SmallVector<AxisRange> ranges;
};

} // namespace

SmallVector<Value>
weir::emitBlockedSums(ElementReader &r, ArrayRef<Value> sizes, ValueRange start, ValueRange zeros,
                      const SumBlocks &blocks,
                      function_ref<SmallVector<Value>(ValueRange, ValueRange)> body,
                      const NestForm &form) {
  return NestEmitter(r, sizes, zeros, blocks, body, form).emit(0, start);
}

SmallVector<Value>
weir::emitBlockedSums(ElementReader &r, ArrayRef<Value> sizes, ValueRange zeros,
                      const SumBlocks &blocks,
                      function_ref<SmallVector<Value>(ValueRange, ValueRange)> body) {
  return emitBlockedSums(r, sizes, zeros, zeros, blocks, body);
}

Value weir::emitSums(ElementReader &r, ArrayRef<Value> sizes, Value start, bool isBlocked,
                     function_ref<Value(ValueRange, Value)> body) {
  if (!isBlocked)
    return emitReductionLoops(r, sizes, start, body);
  return emitBlockedSums(r, sizes, start, SumBlocks(),
                         [&](ValueRange place, ValueRange carried) -> SmallVector<Value> {
                           return {body(place, carried[0])};
                         })[0];
}
