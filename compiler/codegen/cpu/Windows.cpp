//===- Windows.cpp - depthwise convolutions and pools ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A vector holds channels of one position. Results next to each other along the
// last spatial dimension are computed together (`positions`): what their windows
// share is read once, and so is the filter. Which elements of a window are inside of
// the input there is known while compiling: blocks at the ends of a line have code of
// their own. Of an open line these ask once for each element of the input, for all windows that
// have it. Along other dimensions it shows when the program runs.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/Tiles.h"
#include "compiler/codegen/cpu/schedule/LaneWindows.h"
#include "dialects/weir/BlockedSums.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <map>

using namespace mlir;
using namespace weir;

namespace {

/// The part of a window along one dimension that lies inside of the input.
struct Span {
  Value first, last; ///< window indices [first, last)
  Value origin;      ///< input index of window index 0, may be negative
};

/// Results that are computed together.
struct Positions {
  Value first; ///< the first one's index in its line
  int64_t count = 1;
  /// Blocks whose place in the line is known; none: all windows are whole.
  std::optional<int64_t> place;
  /// Only running tells which of them are in the line, and what of their windows is in the input.
  bool isAsked = false;
};

class WindowEmitter {
public:
  WindowEmitter(KernelBuilder &r, plan::KernelOp kernel, Operation *anchor)
      : r(r), anchor(anchor), conv(dyn_cast<ConvOp>(anchor)), pool(dyn_cast<PoolOp>(anchor)),
        result(kernel.getBody().front().getTerminator()->getOperand(0)), target(r.bufferOf(result)),
        parts(kernel.getSchedule()[plan::schedule::parts]),
        lanes(kernel.getSchedule()[plan::schedule::tile][2]), axes(windowLinesOf(anchor)) {
    if (conv) {
      group = groupOf(conv);
      span = lanes / group.outputs * group.inputs;
    }
    if (auto together = kernel.getSchedule().find(plan::schedule::positions)) {
      positions = *together;
      line = axes.back();
    }
  }

  void emit(Value begin, Value end) {
    emitStepLoop(r, begin, end, 1, [&](Value part) {
      SmallVector<Value> at = r.blockIndices(part, target.dims, parts);
      at.pop_back();
      if (line && !line->isKnown())
        emitInOpenLine(at);
      else if (line)
        emitInLine(at);
      else
        emitChannels(at, {at.back(), 1, std::nullopt});
    });
  }

private:
  /// The blocks at the line's ends by their own code.
  void emitInLine(MutableArrayRef<Value> at) {
    Value block = at.back();
    int64_t blocks = llvm::divideCeil(line->output, positions);
    WindowLine::Ends ends = line->endsFor(positions);
    auto emitEnd = [&](int64_t number) {
      int64_t first = number * positions;
      emitChannels(at, {r.constant(first), std::min(positions, line->output - first), first});
    };
    auto emitWhole = [&] {
      emitChannels(at, {r.mul(block, r.constant(positions)), positions, std::nullopt});
    };
    bool hasWhole = blocks > int64_t(ends.first) + ends.last;
    auto emitBehindFirst = [&] {
      if (!ends.last)
        return emitWhole();
      if (!hasWhole)
        return emitEnd(blocks - 1);
      emitEither(
          r, r.equal(block, r.constant(blocks - 1)), [&] { emitEnd(blocks - 1); }, emitWhole);
    };
    if (!ends.first)
      return emitBehindFirst();
    if (blocks == 1)
      return emitEnd(0);
    emitEither(r, r.equal(block, r.constant(0)), [&] { emitEnd(0); }, emitBehindFirst);
  }

  /// Blocks whose windows lie inside of the input together, and those at a line's ends.
  void emitInOpenLine(MutableArrayRef<Value> at) {
    int64_t along = axes.size();
    Value length = r.dim(anchor->getOperand(0), along), output = target.dims[along];
    Value first = r.mul(at.back(), r.constant(positions));
    Value behind = r.add(first, r.constant(positions));
    Value origin = r.sub(r.mul(first, r.constant(line->stride)), r.constant(line->before));
    int64_t reach = (positions - 1) * line->stride + (line->window - 1) * line->dilation;
    auto isAtMost = [&](Value x, Value y) {
      return arith::CmpIOp::create(r.b, r.loc, arith::CmpIPredicate::sle, x, y).getResult();
    };
    Value isWhole = r.logicalAnd(isAtMost(r.constant(0), origin),
                                 r.less(r.add(origin, r.constant(reach)), length));
    isWhole = r.logicalAnd(isWhole, isAtMost(behind, output));
    emitEither(
        r, isWhole, [&] { emitChannels(at, {first, positions, std::nullopt}); },
        [&] { emitChannels(at, {first, positions, std::nullopt, /*isAsked=*/true}); });
  }

  void emitChannels(ValueRange at, const Positions &own) {
    int64_t columns = target.type.getShape().back();
    emitTiled(
        r, columns, lanes, [&](Value channel) { emitResults(at, own, channel); },
        [&](Value channel, int64_t left) { emitResults(at, own, channel, left); });
  }

  /// One vector of each position: windows, then what follows them in the kernel.
  /// `left`: so many lanes exist, where not all do.
  void emitResults(ValueRange at, const Positions &own, Value channel,
                   std::optional<int64_t> left = std::nullopt) {
    auto maskOf = [&](int64_t lanes, int64_t present) -> Value {
      return vector::CreateMaskOp::create(r.b, r.loc, VectorType::get({lanes}, r.b.getI1Type()),
                                          r.constant(present));
    };
    Value mask = left ? maskOf(lanes, *left) : Value();
    VectorReader v(r, lanes), input(r, conv ? span : lanes);
    v.setLanes(channel, mask);
    Value first = channel;
    if (isSpread()) {
      first = r.mul(r.divide(channel, r.constant(group.outputs)), r.constant(group.inputs));
      input.setLanes(first, left ? maskOf(span, *left / group.outputs * group.inputs) : Value());
    } else {
      input.setLanes(channel, mask);
    }
    SmallVector<Value> totals = emitWindows({v, input, channel, first}, at, own);
    SmallVector<Value> indices(at);
    indices.push_back(channel);
    auto emitResult = [&](int64_t i, Value total) {
      indices[indices.size() - 2] = r.add(own.first, r.constant(i));
      if (pool && pool.getKind() == PoolKind::Average)
        total = average(v, total, indices, own, i);
      v.setLanes(channel, mask);
      // Of bytes the floats are whole numbers.
      if (getElementTypeOrSelf(anchor->getResult(0).getType()).isInteger(32))
        total =
            arith::FPToSIOp::create(r.b, r.loc, VectorType::get({lanes}, r.b.getI32Type()), total);
      v.setAnchor(anchor->getResult(0), total);
      Value value = v.element(result, indices);
      v.store(value, target.pointer, target.type.getElementType(), r.linearIndex(target, indices));
    };
    for (auto [i, total] : llvm::enumerate(totals)) {
      if (!own.isAsked || i == 0) {
        emitResult(i, total);
        continue;
      }
      Value isThere = r.less(r.add(own.first, r.constant(i)), target.dims[axes.size()]);
      emitEither(r, isThere, [&] { emitResult(i, total); }, [] {});
    }
  }

  /// A vector of channels: of results, and of the input that these take.
  struct Channels {
    VectorReader &v, &input;
    Value first, firstOfInput;
  };

  /// Whether lanes of results are others than those of the input.
  bool isSpread() const { return conv && (group.inputs != 1 || group.outputs != 1); }

  /// What sums and maxima begin with.
  TypedAttr startOf(Type element) {
    if (pool && element.getIntOrFloatBitWidth() == 8)
      return r.b.getI8IntegerAttr(element.isUnsignedInteger() ? 0 : -128);
    bool isMax = pool && pool.getKind() == PoolKind::Max;
    return r.b.getFloatAttr(element.isF64() ? element : r.b.getF32Type(),
                            isMax ? -std::numeric_limits<double>::infinity() : 0.0);
  }

  SmallVector<Value> emitWindows(const Channels &channels, ValueRange at, const Positions &own) {
    size_t looped = axes.size() - (line ? 1 : 0);
    SmallVector<Span> spans;
    SmallVector<Value> sizes;
    for (size_t i = 0; i < looped; ++i) {
      spans.push_back(insideOf(i, at));
      sizes.push_back(r.sub(spans[i].last, spans[i].first));
    }
    bool isMax = pool && pool.getKind() == PoolKind::Max;
    Type element = getElementTypeOrSelf(anchor->getOperand(0).getType());
    Value init = channels.v.broadcast(arith::ConstantOp::create(r.b, r.loc, startOf(element)));
    SmallVector<Value> inits(own.count, init);
    auto addWindow = [&](ValueRange loops, ValueRange carried) {
      SmallVector<Value> next(carried), from{at[0]}, weight;
      for (size_t i = 0; i < looped; ++i) {
        weight.push_back(r.add(loops[i], spans[i].first));
        from.push_back(r.add(spans[i].origin, r.mul(weight[i], r.constant(axes[i].dilation))));
      }
      if (line) {
        addLine(channels, own, from, weight, next);
      } else {
        from.push_back(channels.firstOfInput);
        Value element = floats(channels.input, anchor->getOperand(0), from);
        for (int64_t depth = 0; depth < group.inputs; ++depth) {
          Value picked, filter = conv ? filterAt(channels, weight, depth) : Value();
          next[0] = step(next[0], element, picked, depth, filter);
        }
      }
      return next;
    };
    int64_t elements = 1;
    for (const WindowLine &axis : axes)
      elements *= axis.window;
    if (isMax || elements <= SumBlocks().most)
      return emitReductionLoops(r, sizes, inits, addWindow);
    return emitBlockedSums(r, sizes, inits, SumBlocks(), addWindow);
  }

  /// What windows have on one line of the input, element by element in their order.
  void addLine(const Channels &channels, const Positions &own, SmallVector<Value> from,
               SmallVector<Value> weight, SmallVector<Value> &sums) {
    Value origin = r.sub(r.mul(own.first, r.constant(line->stride)), r.constant(line->before));
    llvm::SmallDenseMap<int64_t, Value> read;
    llvm::SmallDenseMap<std::pair<int64_t, int64_t>, Value> picked; // by place and channel
    from.append({origin, channels.firstOfInput});
    weight.push_back(Value());
    // One address for all: of an open line LLVM would multiply for each element.
    Value first = r.linearIndex(r.bufferOf(anchor->getOperand(0)), from);
    if (own.isAsked)
      return addAskedLine(channels, origin, first, weight, sums);
    // A result's products of several channels wait for each other, so those of all results by one
    // channel follow each other.
    for (int64_t k = 0; k < line->window; ++k) {
      weight.back() = r.constant(k);
      for (int64_t depth = 0; depth < group.inputs; ++depth) {
        Value filter;
        for (int64_t i = 0; i < own.count; ++i) {
          if (own.place && !line->isInside(*own.place + i, k))
            continue;
          int64_t offset = i * line->stride + k * line->dilation;
          Value &element = read[offset];
          if (!element)
            element = floatsBehind(channels, first, offset);
          if (conv && !filter)
            filter = filterAt(channels, weight, depth);
          sums[i] = step(sums[i], element, picked[{offset, depth}], depth, filter);
        }
      }
    }
  }

  /// The same, element by element of the input that any of the windows may have, if it is there:
  /// each window still adds its own in their order.
  void addAskedLine(const Channels &channels, Value origin, Value first, SmallVector<Value> weight,
                    SmallVector<Value> &sums) {
    // The filter is read before anything is asked, once for all windows.
    SmallVector<SmallVector<Value>> filter(line->window);
    for (int64_t k = 0; conv && k < line->window; ++k) {
      weight.back() = r.constant(k);
      for (int64_t depth = 0; depth < group.inputs; ++depth)
        filter[k].push_back(filterAt(channels, weight, depth));
    }
    std::map<int64_t, SmallVector<std::pair<size_t, int64_t>>> steps; // by place behind `origin`
    for (size_t i = 0; i < sums.size(); ++i)
      for (int64_t k = 0; k < line->window; ++k)
        steps[int64_t(i) * line->stride + k * line->dilation].push_back({i, k});
    Value length = r.dim(anchor->getOperand(0), axes.size());
    for (auto &[offset, own] : steps) {
      Value isInside = r.b.createOrFold<arith::CmpIOp>(r.loc, arith::CmpIPredicate::ult,
                                                       r.add(origin, r.constant(offset)), length);
      SmallVector<Value> before;
      for (auto [i, k] : own)
        before.push_back(sums[i]);
      auto branch = scf::IfOp::create(r.b, r.loc, ValueRange(before).getTypes(), isInside,
                                      /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(r.b);
      r.b.setInsertionPointToStart(&branch.getThenRegion().front());
      Value element = floatsBehind(channels, first, offset);
      SmallVector<Value> picked(group.inputs), after;
      for (auto [i, k] : own) {
        Value sum = sums[i];
        for (int64_t depth = 0; depth < group.inputs; ++depth)
          sum = step(sum, element, picked[depth], depth, conv ? filter[k][depth] : Value());
        after.push_back(sum);
      }
      scf::YieldOp::create(r.b, r.loc, after);
      r.b.setInsertionPointToStart(&branch.getElseRegion().front());
      scf::YieldOp::create(r.b, r.loc, before);
      for (auto [at, pair] : llvm::enumerate(own))
        sums[pair.first] = branch.getResult(at);
    }
  }

  Value filterAt(const Channels &channels, ArrayRef<Value> window, int64_t depth) {
    SmallVector<Value> indices(window);
    indices.append({r.constant(depth), channels.first});
    return floats(channels.v, conv.getFilter(), indices);
  }

  /// Elements of an operand, those that are bytes of a sum as floats.
  Value floats(VectorReader &v, Value tensor, ValueRange indices) {
    return asFloats(v.element(tensor, indices), getElementTypeOrSelf(tensor.getType()));
  }
  /// Those of the input's element `offset` behind the one of the line at linear index `first`.
  Value floatsBehind(const Channels &channels, Value first, int64_t offset) {
    const KernelBuilder::Buffer input = r.bufferOf(anchor->getOperand(0));
    Type element = input.type.getElementType();
    Value pitch = input.extent(r, input.dims.size() - 1);
    Value linear = r.add(first, r.mul(pitch, r.constant(offset)));
    return asFloats(channels.input.load(input.pointer, element, linear), element);
  }
  Value asFloats(Value value, Type element) {
    if (pool || (!element.isInteger(8) && !element.isUnsignedInteger(8)))
      return value;
    auto own = cast<VectorType>(value.getType());
    VectorType words = own.clone(r.b.getI32Type());
    Value word = element.isUnsignedInteger()
                     ? Value(arith::ExtUIOp::create(r.b, r.loc, words, value))
                     : Value(arith::ExtSIOp::create(r.b, r.loc, words, value));
    return arith::SIToFPOp::create(r.b, r.loc, own.clone(r.b.getF32Type()), word);
  }

  /// Adds input channel `depth` of `element` by `filter`, or pools the element. `picked`: the
  /// channel for each lane; null: not taken out of `element` yet.
  Value step(Value sum, Value element, Value &picked, int64_t depth, Value filter) {
    if (!conv)
      return reduceLanes(r, pool.getKind() == PoolKind::Max ? ReduceKind::Max : ReduceKind::Sum,
                         getElementTypeOrSelf(anchor->getOperand(0).getType()), sum, element);
    if (!picked)
      picked = isSpread() ? spread(element, depth) : element;
    return vector::FMAOp::create(r.b, r.loc, picked, filter, sum);
  }

  /// Input channel `depth` of its group for each lane.
  Value spread(Value element, int64_t depth) {
    SmallVector<int64_t> lane;
    for (int64_t i = 0; i < lanes; ++i)
      lane.push_back(i / group.outputs * group.inputs + depth);
    return vector::ShuffleOp::create(r.b, r.loc, element, element, lane);
  }

  Span insideOf(size_t i, ValueRange at) {
    return spanOf(axes[i], at[1 + i], axes[i].before, r.dim(anchor->getOperand(0), 1 + i));
  }

  Span spanOf(const WindowLine &axis, Value out, int64_t before, Value size) {
    Span span;
    Value window = r.constant(axis.window);
    span.origin = r.sub(r.mul(out, r.constant(axis.stride)), r.constant(before));
    // origin + k * dilation must lie in [0, size).
    auto ceilDivide = [&](Value value) {
      return r.divide(r.add(r.maximum(value, r.constant(0)), r.constant(axis.dilation - 1)),
                      r.constant(axis.dilation));
    };
    span.first = r.minimum(ceilDivide(r.sub(r.constant(0), span.origin)), window);
    span.last = r.maximum(span.first, r.minimum(window, ceilDivide(r.sub(size, span.origin))));
    return span;
  }

  /// The sum by how many elements it has, or places of the padded input.
  Value average(VectorReader &v, Value total, ValueRange at, const Positions &own, int64_t index) {
    Value count = r.constant(1);
    for (size_t i = 0; i < axes.size(); ++i)
      count = r.mul(count, line && !own.isAsked && i + 1 == axes.size() ? countInLine(own, index)
                                                                        : countOf(i, at));
    return meanOf(r, v, total, count);
  }

  Value countOf(size_t i, ValueRange at) {
    const WindowLine &axis = axes[i];
    Span span = insideOf(i, at);
    if (pool.getCountIncludePad()) {
      Value padded = r.add(r.dim(pool.getOperand(), 1 + i), r.constant(axis.before + axis.after));
      span = spanOf(axis, at[1 + i], 0, padded);
    }
    return r.sub(span.last, span.first);
  }

  Value countInLine(const Positions &own, int64_t index) {
    if (!own.place)
      return r.constant(line->window);
    int64_t low = 0, high = line->input, count = 0;
    if (pool.getCountIncludePad()) {
      low -= line->before;
      high += line->after;
    }
    for (int64_t k = 0; k < line->window; ++k) {
      int64_t place = line->place(*own.place + index, k);
      count += place >= low && place < high;
    }
    return r.constant(count);
  }

  KernelBuilder &r;
  Operation *anchor;
  ConvOp conv;
  PoolOp pool;
  Value result;
  const KernelBuilder::Buffer target;
  ArrayRef<int64_t> parts;
  int64_t lanes, positions = 1;
  Group group;                    ///< of a convolution
  int64_t span = 0;               ///< channels of the input for a vector of results
  SmallVector<WindowLine> axes;   ///< by spatial dimension
  std::optional<WindowLine> line; ///< of the last spatial dimension, where it is written out
};

} // namespace

void weir::emitWindows(KernelBuilder &r, plan::KernelOp kernel, Operation *anchor, Value begin,
                       Value end) {
  WindowEmitter(r, kernel, anchor).emit(begin, end);
}
