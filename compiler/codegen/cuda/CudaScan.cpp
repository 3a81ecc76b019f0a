//===- CudaScan.cpp - running sums and their kin --------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The threads of a warp (of a block, for long lines) take a tile of a line at a time: each
// combines a few neighbours, then what those before it have is found by shuffles and, among
// warps, in shared memory (Blelloch 1990; Harris, Sengupta and Owens 2007). What the
// tile comes to goes on to the next one. Where lines lie side by side, a thread has one, or a
// part of one.
//
// Which elements are combined in which order depends on sizes alone.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaLineFold.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

using State = LineFold::State;

namespace {

/// Neighbours that a thread combines by itself.
constexpr int64_t ownElements = 4;

class TileScan {
public:
  TileScan(const CudaKernel &k, LineFold &fold, ValueRange kept, Value lane, bool byBlock)
      : k(k), r(k.reader), fold(fold), scan(cast<CumulativeOp>(fold.op())), kept(kept), lane(lane),
        byBlock(byBlock), threads(byBlock ? k.shape.threads : warpThreads) {
    if (byBlock)
      for (Value value : fold.start())
        totals.emplace_back(r, value.getType(), threads / warpThreads);
  }

  void run(Value from, Value to, State carried, Value exists) {
    auto loop = scf::ForOp::create(r.b, r.loc, from, to, r.constant(threads * ownElements),
                                   ValueRange(carried));
    OpBuilder::InsertionGuard guard(r.b);
    r.b.setInsertionPointToStart(loop.getBody());
    State before(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
    Value first = r.add(loop.getInductionVar(),
                        r.mul(r.remainder(lane, r.constant(threads)), r.constant(ownElements)));
    // All are read before any is written: results may lie where elements did.
    SmallVector<State> elements, upTo;
    SmallVector<Value> inside, places;
    State none = fold.start();
    for (int64_t i = 0; i < ownElements; ++i) {
      places.push_back(r.add(first, r.constant(i)));
      inside.push_back(r.less(places.back(), to));
      State element = fold.read(kept, r.minimum(places.back(), r.sub(to, r.constant(1))));
      for (auto [value, neutral] : llvm::zip(element, none))
        value = arith::SelectOp::create(r.b, r.loc, inside.back(), value, neutral);
      elements.push_back(element);
      upTo.push_back(i ? fold.combine(upTo.back(), element) : element);
    }
    auto [ahead, total] = byBlock ? aheadInBlock(upTo.back()) : aheadInWarp(upTo.back());
    State left = fold.combine(before, ahead);
    SmallVector<State> running{left};
    for (const State &own : upTo)
      running.push_back(fold.combine(left, own));
    for (int64_t i = 0; i < ownElements; ++i) {
      SmallVector<Value> at = fold.resultIndices(kept, places[i]);
      Value value = fold.result(running[i + (scan.getExclusive() ? 0 : 1)]);
      r.onlyIf(r.logicalAnd(exists, inside[i]), [&] { k.emitResults(at, scan, value); });
    }
    scf::YieldOp::create(r.b, r.loc, ValueRange(fold.combine(before, total)));
  }

private:
  State shifted(const State &state, int64_t distance) {
    State moved;
    for (Value value : state)
      moved.push_back(shuffle(r, value, distance, gpu::ShuffleMode::UP));
    return moved;
  }
  State choose(Value condition, const State &a, const State &b) {
    State chosen;
    for (auto [x, y] : llvm::zip(a, b))
      chosen.push_back(arith::SelectOp::create(r.b, r.loc, condition, x, y));
    return chosen;
  }

  /// What the lanes before have, and all of the warp's.
  std::pair<State, State> aheadInWarp(State own) {
    Value inWarp = r.remainder(lane, r.constant(warpThreads));
    for (int64_t distance = 1; distance < warpThreads; distance *= 2) {
      State other = shifted(own, distance);
      own = choose(r.less(inWarp, r.constant(distance)), own, fold.combine(other, own));
    }
    State ahead = choose(r.equal(inWarp, r.constant(0)), fold.start(), shifted(own, 1)), total;
    for (Value value : own)
      total.push_back(shuffle(r, value, warpThreads - 1, gpu::ShuffleMode::IDX));
    return {ahead, total};
  }

  /// The same of the block's threads.
  std::pair<State, State> aheadInBlock(State own) {
    auto [ahead, ofWarp] = aheadInWarp(std::move(own));
    Value inWarp = r.remainder(lane, r.constant(warpThreads)),
          warp = r.divide(lane, r.constant(warpThreads));
    r.onlyIf(r.equal(inWarp, r.constant(0)), [&] {
      for (auto [memory, value] : llvm::zip(totals, ofWarp))
        memory.store(warp, value);
    });
    r.barrier();
    State total = fold.start(), before = total;
    for (int64_t i = 0; i < threads / warpThreads; ++i) {
      State other;
      for (const SharedNumbers &memory : totals)
        other.push_back(memory.load(r.constant(i)));
      before = choose(r.equal(warp, r.constant(i)), total, before);
      total = fold.combine(total, other);
    }
    // The next tile's are not written before all have read these.
    r.barrier();
    return {fold.combine(before, ahead), total};
  }

  const CudaKernel &k;
  CudaReader &r;
  LineFold &fold;
  CumulativeOp scan;
  SmallVector<Value> kept;
  Value lane;
  bool byBlock;
  int64_t threads;
  SmallVector<SharedNumbers> totals; ///< of the warps
};

} // namespace

void weir::emitScanTiles(const CudaKernel &k, LineFold &fold, ValueRange kept, Value lane,
                         Value from, Value to, State carried, bool byBlock, Value exists) {
  TileScan(k, fold, kept, lane, byBlock).run(from, to, std::move(carried), exists);
}

void weir::emitScanWalk(const CudaKernel &k, LineFold &fold, ValueRange kept, Value from, Value to,
                        State carried) {
  CudaReader &r = k.reader;
  auto scan = cast<CumulativeOp>(fold.op());
  auto loop = scf::ForOp::create(r.b, r.loc, from, to, r.constant(1), ValueRange(carried));
  OpBuilder::InsertionGuard guard(r.b);
  r.b.setInsertionPointToStart(loop.getBody());
  State before(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
  Value place = loop.getInductionVar();
  State behind = fold.combine(before, fold.read(kept, place));
  k.emitResults(fold.resultIndices(kept, place), scan,
                fold.result(scan.getExclusive() ? before : behind));
  r.loc = scan.getLoc();
  scf::YieldOp::create(r.b, r.loc, ValueRange(behind));
}

/// Shapes the launch: `threads` a line, a warp's or a block's, or one; gives a thread its
/// line's number, which is the last one's beyond the end.
static std::pair<Value, Value> placeScan(const CudaKernel &k, LineFold &fold, int64_t threads) {
  CudaReader &r = k.reader;
  k.shape.threads = threads > warpThreads ? threads : 128;
  int64_t lines = k.shape.threads / threads;
  LaunchShape::Axis all;
  for (int64_t i = 0; i < k.first().type.getRank(); ++i)
    if (i != int64_t(cast<CumulativeOp>(fold.op()).getAxis()))
      all.dims.push_back(i);
  all.divisor = lines;
  k.shape.axes = {all};
  Value line =
      r.add(r.mul(r.blockId(), r.constant(lines)), r.divide(r.threadId(), r.constant(threads)));
  return {r.minimum(line, r.sub(fold.count(), r.constant(1))), r.less(line, fold.count())};
}

bool weir::emitScan(const CudaKernel &k) {
  auto scans = k.body().getOps<CumulativeOp>();
  if (scans.empty() || !LineFold::find(k.kernel))
    return false;
  CudaReader &r = k.reader;
  CumulativeOp scan = *scans.begin();
  r.loc = scan.getLoc();
  LineFold fold(k, scan);
  int64_t threads = LineFold::threadsOf(scan);
  bool byThread = threads == 1, byBlock = threads > warpThreads;
  auto [line, exists] = placeScan(k, fold, threads);
  SmallVector<Value> kept = fold.keptIndices(line);
  Value none = r.constant(0);
  if (!byThread) {
    emitScanTiles(k, fold, kept, r.threadId(), none, fold.length(), fold.start(), byBlock, exists);
    return true;
  }
  Value mine = exists; // structured bindings are not captured
  r.onlyIf(mine, [&] { emitScanWalk(k, fold, kept, none, fold.length(), fold.start()); });
  return true;
}
