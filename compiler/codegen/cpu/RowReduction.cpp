//===- RowReduction.cpp - passes along lines ------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A line is short enough to stay in the first caches while several passes go along
// it: each ends in a reduction, the last one writes the result. What takes long to
// make, and later passes need, too, waits on the stack. Results of one element a line
// are written last, when the line has been read.
//
// Sums are made in one order, whatever else a kernel has, and whether a line's length is
// known or shows when the program runs: four vectors take turns along the line, by blocks
// where it is long, are added, and then lanes half a vector apart, until one is left.
//
// Of an open line that turns out too long for the stack nothing is kept: later passes make
// it again.
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/RowReduction.h"
#include "compiler/codegen/cpu/Tiles.h"
#include "dialects/weir/BlockedSums.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weir;

namespace {

/// Reads what earlier passes found or kept.
class LineReader : public VectorReader {
public:
  using Map = llvm::DenseMap<Value, Value>;
  LineReader(KernelBuilder &r, int64_t lanes, const Map &reduced, const Map &kept, bool isOpen,
             Value first, Value mask)
      : VectorReader(r, lanes), reduced(reduced), kept(kept), buffers(r), isOpen(isOpen),
        first(first), vector(VectorType::get({lanes}, r.b.getF32Type())) {
    setLanes(first, mask);
  }

  Value element(Value tensor, ValueRange indices) override {
    if (auto it = reduced.find(tensor); it != reduced.end())
      return broadcast(it->second);
    if (auto it = kept.find(tensor); it != kept.end())
      return LLVM::LoadOp::create(b, loc, vector, keptAddress(it->second), alignment);
    return VectorReader::element(tensor, indices);
  }
  /// Keeps a whole vector, whatever is inside the line: there is room, and a load behind a masked
  /// store waits until that is in the cache.
  void keep(Value value, Value place) {
    LLVM::StoreOp::create(b, loc, value, keptAddress(place), alignment);
  }

protected:
  /// What is read along an open line has its length.
  Value leafElement(Value tensor, ValueRange indices) override {
    const KernelBuilder::Buffer &buffer = buffers.bufferOf(tensor);
    int64_t rank = buffer.type.getRank();
    if (!isOpen || !first || rank == 0 || !buffer.type.isDynamicDim(rank - 1))
      return VectorReader::leafElement(tensor, indices);
    SmallVector<Value> own(indices);
    own.back() = first;
    return loadElements(buffer.pointer, buffer.type.getElementType(),
                        buffers.linearIndex(buffer, own));
  }

private:
  static constexpr unsigned alignment = 4;
  Value keptAddress(Value place) {
    return BufferAccess::address(buffers, place, b.getF32Type(), first);
  }

  const Map &reduced; ///< a scalar for each reduction
  const Map &kept;    ///< where values of the line lie
  KernelBuilder &buffers;
  bool isOpen; ///< the line's length
  Value first;
  VectorType vector;
};

/// Reads scalars, and what reductions found.
class ShortReader : public RecursiveReader {
public:
  ShortReader(KernelBuilder &r, const LineReader::Map &reduced)
      : RecursiveReader(r.b, r.loc), scalars(r), reduced(reduced) {}
  using RecursiveReader::forgetElements;

  Value element(Value tensor, ValueRange indices) override {
    Value found = reduced.lookup(tensor);
    return found ? found : RecursiveReader::element(tensor, indices);
  }
  Value dim(Value tensor, unsigned i) override { return scalars.dim(tensor, i); }
  void require(Operation *op, Value ok, StringRef message, int code, Value a, Value b) override {
    scalars.require(op, ok, message, code, a, b);
  }

protected:
  bool isLeaf(Value tensor) override { return isa<BlockArgument>(tensor); }
  Value leafElement(Value tensor, ValueRange indices) override {
    return scalars.element(tensor, indices);
  }
  Value leafDim(Value tensor, unsigned i) override { return scalars.dim(tensor, i); }
  Value constantElement(Value tensor, ElementsAttr, ValueRange indices) override {
    return scalars.element(tensor, indices);
  }

private:
  KernelBuilder &scalars;
  const LineReader::Map &reduced;
};

class RowReductionEmitter {
public:
  RowReductionEmitter(KernelBuilder &r, plan::KernelOp kernel)
      : r(r), passes(linePasses(kernel)), lanes(kernel.getSchedule()[plan::schedule::lanes]),
        results(kernel.getBody().front().getTerminator()->getOperands()),
        target(r.bufferOf(results.front())), axis(lineAxis(kernel)),
        length(lineType(kernel).getDimSize(axis)), isOpen(ShapedType::isDynamic(length)),
        tiles(kernel.getSchedule()[plan::schedule::parts]) {
    ReduceOp first = *kernel.getBody().front().getOps<ReduceOp>().begin();
    r.quiet = true;
    size = r.dim(first.getOperand(), axis);
    r.quiet = false;
  }

  void emit(Value begin, Value end) {
    if (axis + 1 < target.type.getRank()) {
      emitStepLoop(r, begin, end, 1, [&](Value part) {
        at = r.blockIndices(part, target.dims, tiles);
        // Neighbours are lanes of a vector.
        emitStepLoop(r, r.constant(0), target.dims.back(), 1, [&](Value last) {
          at.back() = last;
          emitShort();
        });
      });
      return;
    }
    if (isWrittenOut()) {
      OpBuilder::InsertionGuard guard(r.b);
      at = emitLineLoops(r, ArrayRef(target.dims).drop_back(), begin, end);
      at.push_back(r.constant(0));
      emitShort();
      return;
    }
    int64_t most = isOpen ? longestKeptLine : length;
    llvm::DenseMap<Value, Value> places;
    for (const LinePass &pass : passes)
      for (Value value : pass.kept)
        places[value] = stackFloats(r, llvm::alignTo(most, lanes));
    if (!isOpen || places.empty())
      return emitPasses(begin, end, places);
    Value fits =
        r.b.createOrFold<arith::CmpIOp>(r.loc, arith::CmpIPredicate::sle, size, r.constant(most));
    emitEither(
        r, fits, [&] { emitPasses(begin, end, places); },
        [&] {
          for (LinePass &pass : passes)
            pass.kept.clear();
          emitPasses(begin, end, llvm::DenseMap<Value, Value>());
        });
  }

private:
  void emitPasses(Value begin, Value end, const llvm::DenseMap<Value, Value> &places) {
    emitStepLoop(r, begin, end, 1, [&](Value part) {
      at = r.blockIndices(part, target.dims, tiles);
      reduced.clear();
      kept.clear();
      bool hasLine = false;
      for (const LinePass &pass : passes) {
        auto reduce = pass.end.getDefiningOp<ReduceOp>();
        if (!reduce) {
          emitLine(pass.end);
          hasLine = true;
          continue;
        }
        reduced[pass.end] = emitReduction(reduce, pass, places);
        for (Value value : pass.kept)
          kept[value] = places.lookup(value);
      }
      for (Value result : results.drop_front(hasLine))
        emitOne(result);
    });
  }

  /// Whether lines are so short that a vector for each would be mostly empty. LLVM makes vectors of
  /// elements that lie up to eight apart; a line of results takes code for each of its elements.
  bool isWrittenOut() const {
    constexpr int64_t shortResults = 8, most = 96;
    if (isOpen || length >= shortLength)
      return false;
    int64_t operations = 0;
    for (Operation &op : *results.front().getParentBlock())
      operations += isa<ElementwiseOpInterface, ReduceOp>(op);
    return target.type.getShape().back() == 1 ||
           (length <= shortResults && length * operations <= most);
  }

  /// So many sums run side by side as an addition takes cycles.
  static constexpr int64_t together = 4;
  /// What few elements lead to is written out, so that LLVM makes vectors of lines.
  static constexpr int64_t shortLength = 16;

  SmallVector<Value> indicesAt(Value first) {
    SmallVector<Value> indices(at);
    indices[axis] = first;
    return indices;
  }

  /// Null: all lanes are inside.
  Value maskAt(int64_t first) {
    if (first + lanes <= length)
      return {};
    return laneMasks(r, {1, 1, lanes}, r.constant(first), size)[0];
  }
  Value openMaskAt(Value first) {
    Value left = r.sub(size, first);
    return vector::CreateMaskOp::create(r.b, r.loc, VectorType::get({lanes}, r.b.getI1Type()),
                                        left);
  }
  /// As much of the line as fills steps of `step`.
  Value wholeSteps(int64_t step) {
    return isOpen ? r.mul(r.divide(size, r.constant(step)), r.constant(step))
                  : r.constant(length / step * step);
  }

  Value emitReduction(ReduceOp reduce, const LinePass &pass,
                      const llvm::DenseMap<Value, Value> &places) {
    r.loc = reduce.getLoc();
    ReduceKind kind = reduce.getKind();
    Value start = startOfLanes(r, kind, r.b.getF32Type(), lanes);
    auto valueAt = [&](Value first, Value mask) {
      LineReader v(r, lanes, reduced, kept, isOpen, first, mask);
      SmallVector<Value> indices = indicesAt(first);
      Value value = v.element(reduce.getOperand(), indices);
      for (Value each : pass.kept)
        v.keep(v.element(each, indices), places.lookup(each));
      if (mask)
        value = arith::SelectOp::create(r.b, r.loc, mask, value, start);
      return value;
    };
    SmallVector<Value> carried(together, start);
    if (isExtreme(kind))
      carried.push_back(noNan(lanes));
    int64_t block = together * lanes, whole = isOpen ? 0 : length / block * block;
    if (isOpen || whole) {
      auto addBlock = [&](ValueRange number, ValueRange sums) {
        SmallVector<Value> next(sums), values;
        Value first = r.mul(number[0], r.constant(block));
        for (int64_t i = 0; i < together; ++i)
          values.push_back(valueAt(r.add(first, r.constant(i * lanes)), {}));
        add(kind, values, next);
        return next;
      };
      Value blocks = r.divide(wholeSteps(block), r.constant(block));
      carried = kind == ReduceKind::Sum || kind == ReduceKind::Mean
                    ? emitBlockedSums(r, blocks, carried, SumBlocks(), addBlock)
                    : emitReductionLoops(r, blocks, carried, addBlock);
    }
    SmallVector<Value> rest;
    for (int64_t first = whole; !isOpen && first < length; first += lanes)
      rest.push_back(valueAt(r.constant(first), maskAt(first)));
    if (isOpen)
      addOpenRest(kind, wholeSteps(block), carried, valueAt);
    add(kind, rest, carried);
    Value sum = carried[0];
    for (int64_t i = 1, used = isOpen || whole ? together : rest.size(); i < used; ++i)
      sum = combine(kind, sum, carried[i]);
    for (int64_t apart = lanes / 2; apart > 0; apart /= 2) {
      auto half = [&](int64_t from) -> Value {
        return vector::ExtractStridedSliceOp::create(r.b, r.loc, sum, {from}, {apart}, {1});
      };
      sum = combine(kind, half(0), half(apart));
    }
    Value isNan;
    if (isExtreme(kind))
      isNan = vector::ReductionOp::create(r.b, r.loc, vector::CombiningKind::OR, carried.back());
    return finish(kind, vector::ExtractOp::create(r.b, r.loc, sum, int64_t(0)), isNan);
  }

  /// Adds what whole blocks leave of an open line, which ends at `from`, to the sums whose
  /// turn it is.
  void addOpenRest(ReduceKind kind, Value from, SmallVectorImpl<Value> &carried,
                   function_ref<Value(Value first, Value mask)> valueAt) {
    for (int64_t i = 0; i < together; ++i) {
      Value first = r.add(from, r.constant(i * lanes));
      SmallVector<Value> own{carried[i]};
      if (isExtreme(kind))
        own.push_back(carried.back());
      auto branch = scf::IfOp::create(r.b, r.loc, ValueRange(own).getTypes(), r.less(first, size),
                                      /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(r.b);
      r.b.setInsertionPointToStart(&branch.getElseRegion().front());
      scf::YieldOp::create(r.b, r.loc, own);
      r.b.setInsertionPointToStart(&branch.getThenRegion().front());
      add(kind, valueAt(first, openMaskAt(first)), own);
      scf::YieldOp::create(r.b, r.loc, own);
      carried[i] = branch.getResult(0);
      if (isExtreme(kind))
        carried.back() = branch.getResult(1);
    }
  }

  static bool isExtreme(ReduceKind kind) {
    return kind == ReduceKind::Max || kind == ReduceKind::Min;
  }

  Value noNan(int64_t lanes) {
    return arith::ConstantOp::create(r.b, r.loc,
                                     r.b.getZeroAttr(VectorType::get({lanes}, r.b.getI1Type())));
  }

  /// A sum, or the greater or smaller of two: an instruction on x86. Whether there was a
  /// NaN is known apart; of two zeros it is either.
  Value combine(ReduceKind kind, Value x, Value y) {
    if (kind == ReduceKind::Prod)
      return arith::MulFOp::create(r.b, r.loc, x, y);
    if (!isExtreme(kind))
      return arith::AddFOp::create(r.b, r.loc, x, y);
    auto isFirst = kind == ReduceKind::Max ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT;
    Value first = arith::CmpFOp::create(r.b, r.loc, isFirst, x, y);
    return arith::SelectOp::create(r.b, r.loc, first, x, y);
  }

  /// Adds each of `values` to its sum in `carried`, whose last, for an extreme, is whether
  /// any of them was NaN.
  void add(ReduceKind kind, ArrayRef<Value> values, MutableArrayRef<Value> carried) {
    for (size_t i = 0; i < values.size(); ++i) {
      carried[i] = combine(kind, carried[i], values[i]);
      if (!isExtreme(kind) || i % 2)
        continue;
      Value other = values[std::min(i + 1, values.size() - 1)];
      Value either = arith::CmpFOp::create(r.b, r.loc, arith::CmpFPredicate::UNO, values[i], other);
      carried.back() = arith::OrIOp::create(r.b, r.loc, carried.back(), either);
    }
  }

  Value finish(ReduceKind kind, Value reduction, Value isNan) {
    if (isNan) {
      Value nan = arith::ConstantOp::create(
          r.b, r.loc, r.b.getF32FloatAttr(std::numeric_limits<float>::quiet_NaN()));
      return arith::SelectOp::create(r.b, r.loc, isNan, nan, reduction);
    }
    if (kind != ReduceKind::Mean)
      return reduction;
    Value count;
    if (isOpen) {
      Value wide = arith::IndexCastOp::create(r.b, r.loc, r.b.getI64Type(), size);
      count = arith::SIToFPOp::create(r.b, r.loc, r.b.getF32Type(), wide);
    } else {
      count = arith::ConstantOp::create(r.b, r.loc, r.b.getF32FloatAttr(length));
    }
    return arith::DivFOp::create(r.b, r.loc, reduction, count);
  }

  /// A short line's reductions and results, scalar by scalar, in the order of vectors.
  void emitShort() {
    reduced.clear();
    ShortReader v(r, reduced);
    for (const LinePass &pass : passes) {
      auto reduce = pass.end.getDefiningOp<ReduceOp>();
      if (!reduce)
        continue; // the line of results
      r.loc = v.loc = reduce.getLoc();
      ReduceKind kind = reduce.getKind();
      Value start = vector::ExtractOp::create(
          r.b, r.loc, startOfLanes(r, kind, r.b.getF32Type(), 1), int64_t(0));
      SmallVector<Value> values, sums(length, start);
      for (int64_t i = 0; i < length; ++i)
        values.push_back(v.element(reduce.getOperand(), indicesAt(r.constant(i))));
      Value isNan;
      if (isExtreme(kind)) {
        isNan = arith::ConstantOp::create(r.b, r.loc, r.b.getBoolAttr(false));
        sums.push_back(isNan);
      }
      add(kind, values, sums);
      if (isNan)
        isNan = sums.back();
      for (int64_t i = lanes; i < length; ++i)
        sums[i % lanes] = combine(kind, sums[i % lanes], sums[i]);
      for (int64_t apart = lanes / 2; apart > 0; apart /= 2)
        for (int64_t i = 0; i < apart && i + apart < length; ++i)
          sums[i] = combine(kind, sums[i], sums[i + apart]);
      reduced[pass.end] = finish(kind, sums[0], isNan);
      v.forgetElements();
    }
    // All are read before one is written over them.
    SmallVector<std::tuple<Value, Value, SmallVector<Value>>> stores;
    for (Value result : results) {
      r.loc = v.loc = result.getLoc();
      for (int64_t i = 0; i < r.bufferOf(result).type.getDimSize(axis); ++i) {
        SmallVector<Value> indices = indicesAt(r.constant(i));
        stores.emplace_back(result, v.element(result, indices), indices);
      }
    }
    for (auto &[result, value, indices] : stores)
      r.store(value, r.bufferOf(result), indices);
  }

  void emitLine(Value result) {
    r.loc = result.getLoc();
    auto step = [&](Value first, Value mask) {
      LineReader v(r, lanes, reduced, kept, isOpen, first, mask);
      SmallVector<Value> indices = indicesAt(first);
      v.store(v.element(result, indices), target.pointer, target.type.getElementType(),
              r.linearIndex(target, indices));
    };
    if (isOpen) {
      Value whole = wholeSteps(lanes);
      emitStepLoop(r, r.constant(0), whole, lanes, [&](Value first) { step(first, {}); });
      emitEither(r, r.less(whole, size), [&] { step(whole, openMaskAt(whole)); }, [] {});
      return;
    }
    int64_t whole = length / lanes * lanes;
    if (whole)
      emitStepLoop(r, r.constant(0), r.constant(whole), lanes,
                   [&](Value first) { step(first, {}); });
    if (whole < length)
      step(r.constant(whole), maskAt(whole));
  }

  /// A result of one element, computed as the line's are.
  void emitOne(Value result) {
    r.loc = result.getLoc();
    LineReader v(r, lanes, reduced, kept, isOpen, Value(), Value());
    SmallVector<Value> indices = indicesAt(r.constant(0));
    Value one = vector::ExtractOp::create(r.b, r.loc, v.element(result, indices), int64_t(0));
    const KernelBuilder::Buffer to = r.bufferOf(result);
    Type element = to.type.getElementType();
    Value where = BufferAccess::address(r, to.pointer, element, r.linearIndex(to, indices));
    LLVM::StoreOp::create(r.b, r.loc, one, where, element.getIntOrFloatBitWidth() / 8);
  }

  KernelBuilder &r;
  SmallVector<LinePass> passes;
  int64_t lanes;
  ValueRange results;
  const KernelBuilder::Buffer target;
  int64_t axis, length;
  bool isOpen;
  Value size; ///< of a line
  ArrayRef<int64_t> tiles;
  SmallVector<Value> at; ///< of the line
  llvm::DenseMap<Value, Value> reduced, kept;
};

} // namespace

LogicalResult weir::emitRowReduction(KernelBuilder &r, plan::KernelOp kernel, Value begin,
                                     Value end) {
  RowReductionEmitter(r, kernel).emit(begin, end);
  return success();
}
