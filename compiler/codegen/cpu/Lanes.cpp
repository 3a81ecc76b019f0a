//===- Lanes.cpp - windows and reductions along vectors ----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Depthwise convolutions, pools (Windows.cpp) and reductions that keep the last
// dimension: each lane of a vector is one result, so sums need no order of their own
// and loads are contiguous.
//
// A reduction's sums are in registers, as wide as they are many; where they are few, a
// vector holds several rows. Where caches do not hold the operand, they wait in memory
// instead (`streams`): a few rows pass by at a time, each read in its own order. Either
// way long sums are made by the same blocks.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/Tiles.h"
#include "compiler/codegen/cpu/schedule/LaneWindows.h"
#include "dialects/weir/BlockedSums.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <numeric>

using namespace mlir;
using namespace weir;

namespace {

class ReductionEmitter {
public:
  ReductionEmitter(KernelBuilder &r, plan::KernelOp kernel, ReduceOp reduce)
      : ReductionEmitter(r, kernel, reduce, reduce.getKind(), llvm::to_vector(reduce.getAxes()),
                         reduce.getKeepDims()) {}
  ReductionEmitter(KernelBuilder &r, plan::KernelOp kernel, ArgReduceOp arg)
      : ReductionEmitter(r, kernel, arg, arg.getLargest() ? ReduceKind::Max : ReduceKind::Min,
                         {int64_t(arg.getAxis())}, arg.getKeepDims()) {
    this->arg = arg;
  }

private:
  ReductionEmitter(KernelBuilder &r, plan::KernelOp kernel, Operation *anchor, ReduceKind kind,
                   SmallVector<int64_t> reduced, bool keepsDims)
      : r(r), kernel(kernel), anchor(anchor), operand(anchor->getOperand(0)), kind(kind),
        axes(std::move(reduced)), keepsDims(keepsDims),
        lanes(kernel.getSchedule()[plan::schedule::tile][2]),
        element(getElementTypeOrSelf(operand.getType())),
        result(kernel.getBody().front().getTerminator()->getOperand(0)),
        target(r.bufferOf(result)) {
    llvm::sort(axes);
    for (int64_t axis : axes)
      sizes.push_back(r.dim(operand, axis));
    togetherRows = rowsTogether();
  }

public:
  void emit(Value begin, Value end) {
    ArrayRef<int64_t> tiles = kernel.getSchedule()[plan::schedule::parts];
    Value block = r.constant(tiles.back()), sums;
    bool streams = kernel.getSchedule()[plan::schedule::streams],
         isOpen = target.type.getShape().back() < 0;
    if (streams || isOpen)
      sums = stackElements(r, element, tiles.back());
    emitStepLoop(r, begin, end, 1, [&](Value part) {
      SmallVector<Value> at = r.blockIndices(part, target.dims, tiles);
      Value first = r.mul(at.back(), block);
      from = operandIndices(at);
      if (isOpen)
        return emitOpen(at, first, r.minimum(block, r.sub(target.dims.back(), first)), sums);
      if (streams) {
        Value count = r.minimum(block, r.sub(target.dims.back(), first));
        stream(first, count, sums);
        emitStepLoop(r, r.constant(0), count, lanes, [&](Value offset) {
          Value sum = load(sums, offset);
          at.back() = r.add(first, offset);
          finish(at, Value(), sum);
        });
        return;
      }
      at.back() = first;
      if (togetherRows > 1)
        return emitNarrow(at);
      emitPanel(r, target.type.getShape().back(), target.dims.back(), first, {1, 1, lanes},
                [&](int64_t, Value limit) {
                  if (!limit)
                    return emitInRegisters(at, Value());
                  emitLast(at);
                });
    });
  }

private:
  /// Rows of a few columns that whole vectors hold, where rows that are reduced follow each other
  /// in memory; else 1.
  int64_t rowsTogether() const {
    auto type = cast<RankedTensorType>(operand.getType());
    int64_t columns = type.getShape().back(), rank = type.getRank();
    bool followEachOther =
        axes.back() == rank - 2 && axes.front() == rank - 1 - static_cast<int64_t>(axes.size());
    int64_t single = vectorUnitOf(kernel->getParentOfType<ModuleOp>()).bytes * 8 /
                     element.getIntOrFloatBitWidth();
    if (isa<ArgReduceOp>(anchor) || !isa<BlockArgument>(operand) || !followEachOther ||
        ShapedType::isDynamic(columns) || columns < 1 || 2 * columns > single)
      return 1;
    // Several vectors: of one each step would wait for the one before.
    constexpr int64_t mostVectors = 4, manyRows = 1 << 10;
    int64_t rows = std::lcm(single, columns) / columns, count = 1;
    for (int64_t axis : axes)
      count *= type.isDynamicDim(axis) ? manyRows : type.getDimSize(axis);
    while (2 * rows * columns <= mostVectors * single && 4 * rows <= count)
      rows *= 2;
    return 2 * rows <= count ? rows : 1;
  }

  /// All of a few columns: `togetherRows` rows a step, what these leave, and the last rows.
  void emitNarrow(ArrayRef<Value> at) {
    int64_t columns = target.type.getShape().back(), wide = togetherRows * columns;
    Value count = r.constant(1), rows = r.constant(togetherRows);
    for (auto [axis, size] : llvm::zip_equal(axes, sizes)) {
      count = r.mul(count, size);
      from[axis] = r.constant(0);
    }
    from.back() = r.constant(0);
    const KernelBuilder::Buffer source = r.bufferOf(operand);
    Value base = r.linearIndex(source, from);
    VectorReader vectors(r, wide);
    Value steps = r.divide(count, rows);
    Value sums = emitSums(r, steps, startOfLanes(r, kind, element, wide), isFloatSum(element, kind),
                          [&](ValueRange place, Value carried) {
                            Value linear = r.add(base, r.mul(place[0], r.constant(wide)));
                            return reduceLanes(r, kind, element, carried,
                                               vectors.load(source.pointer, element, linear));
                          });
    Value room = stackElements(r, element, wide);
    vectors.store(sums, room, element, r.constant(0));
    Value mask = laneMasks(r, {1, 1, lanes}, at.back(), target.dims.back())[0];
    VectorReader narrow(r, lanes);
    narrow.setLanes(r.constant(0), mask);
    auto reduceRows = [&](Value start, Value pointer, Value first, Value end) {
      return emitReductionLoops(
          r, r.sub(end, first), start, [&](ValueRange place, ValueRange carried) {
            Value linear = r.mul(r.add(first, place[0]), r.constant(columns));
            if (pointer == source.pointer)
              linear = r.add(base, linear);
            return SmallVector<Value>{
                reduceLanes(r, kind, element, carried[0], narrow.load(pointer, element, linear))};
          })[0];
    };
    // Of few rows no step leaves anything.
    Value held =
        arith::SelectOp::create(r.b, r.loc, r.less(r.constant(0), steps), rows, r.constant(0));
    Value sum = reduceRows(startOfLanes(r, kind, element, lanes), room, r.constant(0), held);
    finish(at, mask, reduceRows(sum, source.pointer, r.mul(steps, rows), count));
  }

  /// What a known number of columns leaves for a last panel, from `at` on: as many vectors together
  /// as there are, and lanes that whole ones leave. A panel is one vector, or 2, 4, 8, … of them.
  void emitLast(SmallVector<Value> at) {
    const int64_t panel = lanes;
    int64_t single = lanesFor(anchor, vectorUnitOf(kernel->getParentOfType<ModuleOp>()));
    int64_t rest = target.type.getShape().back() % panel, done = 0;
    Value first = at.back();
    for (lanes = panel / 2; lanes >= single; lanes /= 2) {
      if (rest - done < lanes)
        continue;
      at.back() = r.add(first, r.constant(done));
      emitInRegisters(at, Value());
      done += lanes;
    }
    lanes = std::min(single, panel);
    if (done < rest) {
      at.back() = r.add(first, r.constant(done));
      emitInRegisters(at, target.dims.back());
    }
    lanes = panel;
  }

  /// `count` columns from `first` on out of an open number: through memory where the operand
  /// is large, else several vectors at once, then one, whatever is left of it. A column's
  /// elements are added in one order.
  void emitOpen(SmallVector<Value> at, Value first, Value count, Value sums) {
    constexpr int64_t together = 4;
    Value elements = r.constant(1), done = r.constant(0);
    for (int64_t i = 0; i < cast<RankedTensorType>(operand.getType()).getRank(); ++i)
      elements = r.mul(elements, r.dim(operand, i));
    int64_t single = lanes;
    auto whole = [&](int64_t width) {
      return r.mul(r.divide(count, r.constant(width)), r.constant(width));
    };
    auto registers = [&](Value from, Value to, bool isMasked) {
      emitStepLoop(r, from, to, lanes, [&](Value offset) {
        at.back() = r.add(first, offset);
        emitInRegisters(at, isMasked ? target.dims.back() : Value());
      });
    };
    Value vectors = whole(single);
    if (arg) {
      registers(done, vectors, false);
      return registers(vectors, count, true);
    }
    emitEither(
        r, r.less(r.constant(streamedElements), elements),
        [&] {
          stream(first, vectors, sums);
          emitStepLoop(r, done, vectors, lanes, [&](Value offset) {
            at.back() = r.add(first, offset);
            finish(at, Value(), load(sums, offset));
          });
        },
        [&] {
          Value wide = whole(together * single);
          lanes = together * single;
          registers(done, wide, false);
          lanes = single;
          registers(wide, vectors, false);
        });
    registers(vectors, count, true);
  }

  /// Indices into the operand, but those along its axes and the last.
  SmallVector<Value> operandIndices(ArrayRef<Value> at) {
    int64_t rank = cast<RankedTensorType>(operand.getType()).getRank();
    SmallVector<Value> indices(rank);
    unsigned next = 0;
    for (int64_t i = 0; i + 1 < rank; ++i) {
      if (!llvm::is_contained(axes, i))
        indices[i] = at[next++];
      else
        next += keepsDims;
    }
    return indices;
  }

  void emitInRegisters(ArrayRef<Value> at, Value limit) {
    VectorReader v(r, lanes);
    v.shareSingles();
    Value mask = limit ? laneMasks(r, {1, 1, lanes}, at.back(), limit)[0] : Value();
    v.setLanes(at.back(), mask);
    from.back() = at.back();
    if (arg)
      return finish(at, mask, positionOfExtreme(v));
    Value sum = emitSums(r, sizes, startOfLanes(r, kind, element, lanes), isFloatSum(element, kind),
                         [&](ValueRange place, Value carried) {
                           for (auto [axis, index] : llvm::zip(axes, place))
                             from[axis] = index;
                           return reduceLanes(r, kind, element, carried, v.element(operand, from));
                         });
    finish(at, mask, sum);
  }

  /// i1 for each lane: whether `next` takes the place of `best`, which comes before it.
  Value isBeyond(Value next, Value best) {
    const bool isLast = arg.getSelectLast(), isMax = kind == ReduceKind::Max;
    if (isa<IntegerType>(element)) {
      using How = arith::CmpIPredicate;
      How how = element.isUnsignedInteger()
                    ? (isMax ? (isLast ? How::uge : How::ugt) : (isLast ? How::ule : How::ult))
                    : (isMax ? (isLast ? How::sge : How::sgt) : (isLast ? How::sle : How::slt));
      return arith::CmpIOp::create(r.b, r.loc, how, next, best);
    }
    using How = arith::CmpFPredicate;
    auto compare = [&](How how, Value x, Value y) -> Value {
      return arith::CmpFOp::create(r.b, r.loc, how, x, y);
    };
    Value isFarther = compare(
        isMax ? (isLast ? How::OGE : How::UGT) : (isLast ? How::OLE : How::ULT), next, best);
    if (isLast)
      return arith::OrIOp::create(r.b, r.loc, isFarther, compare(How::UNO, next, next));
    return arith::AndIOp::create(r.b, r.loc, isFarther, compare(How::ORD, best, best));
  }

  /// Where the greatest or smallest elements lie: the first of equal ones, or the last. NaN
  /// is beyond every number, and equal to NaN.
  Value positionOfExtreme(VectorReader &v) {
    // As many lanes as elements have, where positions are no longer than those.
    int64_t size = cast<RankedTensorType>(operand.getType()).getDimSize(axes[0]);
    bool isShort = !ShapedType::isDynamic(size) && size <= std::numeric_limits<int32_t>::max();
    Type index = isShort ? r.b.getI32Type() : r.b.getI64Type();
    auto indices = VectorType::get({lanes}, index);
    Value start = startOfLanes(r, kind, element, lanes);
    Value none = arith::ConstantOp::create(r.b, r.loc, r.b.getZeroAttr(indices));
    // What is carried, or what comes behind it.
    auto choose = [&](ValueRange carried, Value next, Value place) {
      Value best = carried[0], takes = isBeyond(next, best);
      return SmallVector<Value>{arith::SelectOp::create(r.b, r.loc, takes, next, best),
                                arith::SelectOp::create(r.b, r.loc, takes, place, carried[1])};
    };
    auto chooseAt = [&](ValueRange carried, Value place) {
      from[axes[0]] = place;
      Value at = arith::IndexCastOp::create(r.b, r.loc, index, place);
      return choose(carried, v.element(operand, from), v.broadcast(at));
    };
    // Of a single vector each step would wait for the one before: parts of the axis go side by
    // side, and what is left over comes behind them.
    constexpr int64_t together = 4;
    VectorUnit unit = vectorUnitOf(kernel->getParentOfType<ModuleOp>());
    auto registersOf = [&](Type type) {
      return llvm::divideCeil(lanes * type.getIntOrFloatBitWidth(), 8 * unit.bytes);
    };
    // Positions of narrow elements are independent of each other, too, and want registers.
    bool isSingle = registersOf(element) == 1 && registersOf(index) <= together;
    int64_t chains = isSingle ? together : 1;
    Value part = r.divide(sizes[0], r.constant(chains));
    SmallVector<Value> starts;
    for (int64_t chain = 0; chain < chains; ++chain)
      llvm::append_values(starts, start, none);
    SmallVector<Value> found =
        emitReductionLoops(r, part, starts, [&](ValueRange place, ValueRange carried) {
          SmallVector<Value> all;
          for (int64_t chain = 0; chain < chains; ++chain)
            llvm::append_range(all, chooseAt(carried.slice(2 * chain, 2),
                                             r.add(place[0], r.mul(part, r.constant(chain)))));
          return all;
        });
    SmallVector<Value> best(ArrayRef(found).take_front(2));
    for (int64_t chain = 1; chain < chains; ++chain)
      best = choose(best, found[2 * chain], found[2 * chain + 1]);
    if (chains > 1) {
      Value done = r.mul(part, r.constant(chains));
      best = emitReductionLoops(r, r.sub(sizes[0], done), best,
                                [&](ValueRange place, ValueRange carried) {
                                  return chooseAt(carried, r.add(done, place[0]));
                                });
    }
    Type stored = BufferAccess::storageType(arg.getIndexType());
    auto results = VectorType::get({lanes}, stored);
    if (stored.getIntOrFloatBitWidth() > index.getIntOrFloatBitWidth())
      return arith::ExtUIOp::create(r.b, r.loc, results, best[1]);
    if (stored == index)
      return best[1];
    return arith::TruncIOp::create(r.b, r.loc, results, best[1]);
  }

  Value load(Value pointer, Value linear) {
    return VectorReader(r, lanes).load(pointer, element, linear);
  }
  void store(Value vector, Value pointer, Value linear) {
    VectorReader(r, lanes).store(vector, pointer, element, linear);
  }

  /// Reduces `count` columns from `first` on, into `sums`.
  void stream(Value first, Value count, Value sums) {
    SumBlocks blocks;
    if (!isFloatSum(element, kind))
      blocks = {std::numeric_limits<int64_t>::max(), /*cutsOpen=*/false};
    SmallVector<BlockedLoop> loops = blockedLoops(sizes, blocks);
    SmallVector<AxisRange> ranges;
    for (Value size : sizes)
      ranges.push_back({r.constant(0), size});
    Columns columns{first, count, {sums}};
    for (const BlockedLoop &loop : loops)
      if (loop.begins)
        columns.sums.push_back(
            stackElements(r, element, kernel.getSchedule()[plan::schedule::parts].back()));
    eachVector(columns, [&](Value at) { store(startOfLanes(r, kind, element, lanes), sums, at); });
    streamLoops(columns, loops, ranges, 0);
  }

  /// Columns that are reduced in memory: what a block begins with lies behind what waits
  /// for it to end.
  struct Columns {
    Value first, count;
    SmallVector<Value> sums;
  };

  void eachVector(const Columns &columns, function_ref<void(Value at)> body) {
    emitStepLoop(r, r.constant(0), columns.count, lanes, body);
  }

  /// The nest of `loops` over `ranges` of the axes; sums are those at `depth`.
  void streamLoops(const Columns &columns, ArrayRef<BlockedLoop> loops,
                   MutableArrayRef<AxisRange> ranges, size_t depth) {
    BlockedLoop own = loops.front();
    AxisRange range = ranges[own.axis];
    depth += own.begins;
    Value sums = columns.sums[depth];
    if (own.begins)
      eachVector(columns,
                 [&](Value at) { store(startOfLanes(r, kind, element, lanes), sums, at); });
    if (loops.size() == 1) {
      streamRows(columns, range, sums);
    } else {
      Value end = r.add(range.first, range.count);
      emitStepLoop(r, range.first, end, own.step, [&](Value place) {
        from[axes[own.axis]] = place;
        if (own.step > 1)
          ranges[own.axis] = range.trip(r, place, own.step);
        streamLoops(columns, loops.drop_front(), ranges, depth);
      });
      ranges[own.axis] = range;
    }
    if (own.begins)
      eachVector(columns, [&](Value at) {
        Value outside = columns.sums[depth - 1];
        store(reduceLanes(r, kind, element, load(outside, at), load(sums, at)), outside, at);
      });
  }

  /// Rows of the last axis, a few at a time.
  void streamRows(const Columns &columns, AxisRange rows, Value sums) {
    // So many streams processors follow, with a sum and rows in registers.
    constexpr int64_t together = 4;
    emitRowTiles(r, rows.count, together, [&](Value row, int64_t height) {
      eachVector(columns, [&](Value offset) {
        VectorReader v(r, lanes);
        v.shareSingles();
        from.back() = r.add(columns.first, offset);
        v.setLanes(from.back(), Value());
        Value sum = load(sums, offset);
        for (int64_t i = 0; i < height; ++i) {
          from[axes.back()] = r.add(rows.first, r.add(row, r.constant(i)));
          sum = reduceLanes(r, kind, element, sum, v.element(operand, from));
        }
        store(sum, sums, offset);
      });
    });
  }

  /// What follows the reduction.
  void finish(ArrayRef<Value> at, Value mask, Value sum) {
    VectorReader v(r, lanes);
    if (kind == ReduceKind::Mean) {
      Value count = r.constant(1);
      for (Value size : sizes)
        count = r.mul(count, size);
      sum = meanOf(r, v, sum, count);
    }
    v.setLanes(at.back(), mask);
    v.setAnchor(anchor->getResult(0), sum);
    Value value = v.element(result, at);
    v.store(value, target.pointer, target.type.getElementType(), r.linearIndex(target, at));
  }

  KernelBuilder &r;
  plan::KernelOp kernel;
  Operation *anchor;
  Value operand;
  ArgReduceOp arg; ///< null: of a plain reduction
  ReduceKind kind;
  SmallVector<int64_t> axes;
  bool keepsDims;
  int64_t lanes, togetherRows = 1;
  Type element; ///< of what is reduced: f32, f64 or integers
  Value result;
  const KernelBuilder::Buffer target;
  SmallVector<Value> sizes, from;
};

} // namespace

LogicalResult weir::emitLanes(KernelBuilder &r, plan::KernelOp kernel, Value begin, Value end) {
  for (Operation &op : kernel.getBody().front()) {
    if (auto reduce = dyn_cast<ReduceOp>(op))
      ReductionEmitter(r, kernel, reduce).emit(begin, end);
    else if (auto arg = dyn_cast<ArgReduceOp>(op))
      ReductionEmitter(r, kernel, arg).emit(begin, end);
    else if (auto conv = dyn_cast<ConvOp>(op); conv && !isa<BlockArgument>(conv.getFilter()))
      emitByteWindows(r, kernel, conv, begin, end);
    else if (isa<ConvOp, PoolOp>(op))
      emitWindows(r, kernel, &op, begin, end);
  }
  return success();
}
