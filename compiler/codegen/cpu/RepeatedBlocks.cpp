//===- RepeatedBlocks.cpp - copies of blocks again and again ----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first block comes from the operand, the others from the result: two of them, then four,
// as far as the nearest cache holds what is read again.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/RepeatedBlocks.h"
#include "compiler/codegen/cpu/Tiles.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

namespace {

/// Fewer bytes, of blocks or of single lines, are better moved element by element.
constexpr int64_t fewestOfBlocks = 64, fewestOfLines = 256;

class Finder {
public:
  Finder(KernelBuilder &r, Value tensor)
      : r(r), type(cast<RankedTensorType>(tensor.getType())), dims(r.bufferOf(tensor).dims) {}

  std::optional<RepeatedBlocks> find(Operation *op) {
    int64_t rank = type.getRank();
    Value source = op ? op->getOperand(0) : Value();
    if (rank < 2 || !isa_and_nonnull<TileOp, BroadcastToOp>(op) || !isWholeBuffer(r, source))
      return std::nullopt;
    auto tile = dyn_cast<TileOp>(op);
    if (!(tile ? isTile(tile) : isBroadcast(source)) || first > last)
      return std::nullopt;
    blocks.isOfLine = last + 1 == rank;
    if (blocks.isOfLine && !tile)
      return std::nullopt;
    Value one = r.constant(1);
    blocks.source = source;
    blocks.lines = one;
    // The operand may lack dimensions of size 1 behind the repeated ones, too.
    for (int64_t i = std::max(tile ? first : last + 1, missing); i + 1 < rank; ++i)
      blocks.lines = r.mul(blocks.lines, r.bufferOf(source).dims[i - missing]);
    if (!tile) {
      blocks.times = one;
      for (int64_t i = first; i <= last; ++i)
        blocks.times = r.mul(blocks.times, dims[i]);
    }
    Value line = blocks.isOfLine ? r.bufferOf(source).dims.back() : dims.back();
    Value bytes = r.mul(r.mul(blocks.times, r.mul(blocks.lines, line)),
                        r.constant(elementBytes(type.getElementType())));
    if (!isWorthIt(bytes))
      return std::nullopt;
    return blocks;
  }

private:
  void require(Value condition) {
    blocks.holds = blocks.holds ? r.logicalAnd(blocks.holds, condition) : condition;
  }

  bool isWorthIt(Value bytes) {
    int64_t fewestBytes = blocks.isOfLine ? fewestOfLines : fewestOfBlocks;
    if (std::optional<int64_t> known = getConstantIntValue(bytes))
      return *known >= fewestBytes;
    require(r.less(r.constant(fewestBytes - 1), bytes));
    return true;
  }

  /// A tile along one dimension, a number of times that is known.
  bool isTile(TileOp tile) {
    auto repeats = constantIntegers(tile.getRepeats());
    if (!repeats)
      return false;
    for (auto [i, count] : llvm::enumerate(*repeats)) {
      if (count == 1)
        continue;
      if (count < 1 || first <= last)
        return false;
      first = last = i;
      blocks.times = r.constant(count);
    }
    return true;
  }

  /// A broadcast along neighbouring dimensions. Sizes that types do not tell are asked when it
  /// runs.
  bool isBroadcast(Value source) {
    auto own = cast<RankedTensorType>(source.getType());
    const KernelBuilder::Buffer &buffer = r.bufferOf(source);
    missing = type.getRank() - own.getRank();
    for (int64_t i = 0; i < type.getRank(); ++i) {
      int64_t size = i < missing ? 1 : own.getDimSize(i - missing), wanted = type.getDimSize(i);
      if (size == wanted && !ShapedType::isDynamic(size))
        continue;
      if (size != 1) {
        require(r.equal(buffer.dims[i - missing], dims[i]));
        continue;
      }
      // Dimensions of size 1 between them do not matter.
      for (int64_t j = last + 1; first <= last && j < i; ++j)
        if (type.getDimSize(j) != 1)
          return false;
      first = first <= last ? first : i;
      last = i;
    }
    return true;
  }

  KernelBuilder &r;
  RankedTensorType type;
  ArrayRef<Value> dims;
  RepeatedBlocks blocks;
  int64_t first = 0, last = -1, missing = 0; ///< repeated dimensions; those only the result has
};

} // namespace

bool weir::isStretchedByBlocks(Value tensor) {
  auto broadcast = tensor.getDefiningOp<BroadcastToOp>();
  if (!broadcast || !isa<BlockArgument>(broadcast.getOperand()))
    return false;
  auto type = cast<RankedTensorType>(broadcast.getType());
  auto own = cast<RankedTensorType>(broadcast.getOperand().getType());
  int64_t missing = type.getRank() - own.getRank(), last = type.getRank() - 1;
  auto isStretched = [&](int64_t i) {
    return (i < missing || own.getDimSize(i - missing) == 1) && type.getDimSize(i) != 1;
  };
  return last > 0 && own.getRank() > 0 && !isStretched(last) &&
         llvm::any_of(llvm::seq<int64_t>(0, last), isStretched);
}

std::optional<RepeatedBlocks> weir::repeatedBlocksOf(KernelBuilder &r, Value tensor) {
  return Finder(r, tensor).find(tensor.getDefiningOp());
}

void weir::emitRepeatedBlocks(KernelBuilder &r, const RepeatedBlocks &blocks,
                              const KernelBuilder::Buffer &target, Value begin, Value end) {
  const KernelBuilder::Buffer &source = r.bufferOf(blocks.source);
  int64_t bytes = elementBytes(target.type.getElementType());
  Value zero = r.constant(0), one = r.constant(1);
  Value line = blocks.isOfLine ? source.dims.back() : target.dims.back();
  if (blocks.isOfLine) {
    begin = r.mul(begin, blocks.times);
    end = r.mul(end, blocks.times);
  }
  // None is copied of what has no lines, whose range is empty.
  Value own = arith::MaxSIOp::create(r.b, r.loc, blocks.lines, one);
  Value all = r.mul(own, arith::MaxSIOp::create(r.b, r.loc, blocks.times, one));
  // Places are lines here.
  auto copy = [&](Value to, const KernelBuilder::Buffer &buffer, Value from, Value count) {
    copyElements(r, buffer, r.mul(from, line), target, r.mul(to, line), r.mul(count, line));
  };
  // So many lines are read again and again: whole blocks.
  constexpr int64_t nearestCache = 1 << 14;
  Value blockBytes = r.mul(r.mul(own, line), r.constant(bytes));
  Value most =
      r.divide(r.constant(nearestCache), arith::MaxSIOp::create(r.b, r.loc, blockBytes, one));
  most = r.mul(own, arith::MaxSIOp::create(r.b, r.loc, most, one));

  scf::ForOp outer = createBlockLoop(r, begin, end, all);
  OpBuilder::InsertionGuard guard(r.b);
  r.b.setInsertionPointToStart(outer.getBody());
  Value number = outer.getInductionVar(), base = r.mul(number, all), block = r.mul(number, own);
  Value from = arith::MaxSIOp::create(r.b, r.loc, r.sub(begin, base), zero);
  Value to = arith::MinSIOp::create(r.b, r.loc, r.sub(end, base), all);
  // A part may begin within a block.
  Value phase = r.sub(from, r.mul(r.divide(from, own), own));
  Value rest = arith::MinSIOp::create(r.b, r.loc, r.sub(own, phase), r.sub(to, from));
  Value isInside = r.less(zero, phase);
  emitEither(
      r, isInside, [&] { copy(r.add(base, from), source, r.add(block, phase), rest); }, [] {});
  Value start = r.select(isInside, r.add(from, rest), from);
  Value left = r.sub(to, start);
  Value count = arith::MinSIOp::create(r.b, r.loc, own, left);
  start = r.add(base, start);
  copy(start, source, block, count);
  auto again = scf::WhileOp::create(
      r.b, r.loc, TypeRange{count.getType()}, ValueRange{count},
      [&](OpBuilder &, Location, ValueRange done) {
        scf::ConditionOp::create(r.b, r.loc, r.less(done[0], left), done);
      },
      [&](OpBuilder &, Location, ValueRange done) {
        Value next = arith::MinSIOp::create(r.b, r.loc, done[0], most);
        next = arith::MinSIOp::create(r.b, r.loc, next, r.sub(left, done[0]));
        copy(r.add(start, done[0]), target, start, next);
        scf::YieldOp::create(r.b, r.loc, ValueRange{r.add(done[0], next)});
      });
  r.b.setInsertionPointAfter(again);
}
