//===- Lines.cpp - passes along lines ------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A line is short enough to stay in the first caches while several passes go along
// it: each ends in a reduction, the last one writes the results. What takes long to
// make, and later passes need, too, waits on the stack.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/Tiles.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/kernelize/Lines.h"

using namespace mlir;
using namespace weir;

namespace {

/// Reads what earlier passes found or kept.
class LineReader : public VectorReader {
public:
  using Map = llvm::DenseMap<Value, Value>;
  LineReader(KernelReader &r, int64_t lanes, const Map &reduced, const Map &kept, Value first,
             Value mask)
      : VectorReader(r, lanes), reduced(reduced), kept(kept), first(first) {
    setLanes(first, mask);
  }

  Value element(Value tensor, ValueRange indices) override {
    if (auto it = reduced.find(tensor); it != reduced.end())
      return broadcast(it->second);
    if (auto it = kept.find(tensor); it != kept.end())
      return load(it->second, b.getF32Type(), first);
    return VectorReader::element(tensor, indices);
  }

private:
  const Map &reduced; ///< a scalar for each reduction
  const Map &kept;    ///< where values of the line lie
  Value first;
};

class LinesEmitter {
public:
  LinesEmitter(KernelReader &r, plan::KernelOp kernel)
      : r(r), passes(linePasses(kernel)),
        lanes(kernel->getAttrOfType<IntegerAttr>("lanes").getInt()),
        target(r.bufferOf(passes.back().end)), length(target.type.getShape().back()),
        tiles(kernel->getAttrOfType<DenseI64ArrayAttr>("tiles").asArrayRef()) {}

  void emit(Value begin, Value end) {
    llvm::DenseMap<Value, Value> places;
    for (const LinePass &pass : passes)
      for (Value value : pass.kept)
        places[value] = stackFloats(r, llvm::alignTo(length, lanes));
    emitStepLoop(r, begin, end, 1, [&](Value part) {
      at = r.blockIndices(part, target.dims, tiles);
      reduced.clear();
      kept.clear();
      for (const LinePass &pass : passes) {
        auto reduce = pass.end.getDefiningOp<ReduceOp>();
        if (!reduce) {
          emitResults(pass.end);
          continue;
        }
        reduced[pass.end] = emitReduction(reduce, pass, places);
        for (Value value : pass.kept)
          kept[value] = places[value];
      }
    });
  }

private:
  /// So many sums run side by side as an addition takes cycles.
  static constexpr int64_t together = 4;

  SmallVector<Value> indicesAt(Value first) {
    SmallVector<Value> indices(at);
    indices.back() = first;
    return indices;
  }

  /// Null: all lanes are inside.
  Value maskAt(int64_t first) {
    if (first + lanes <= length)
      return {};
    return laneMasks(r, {1, 1, lanes}, r.constant(first), r.constant(length))[0];
  }

  Value emitReduction(ReduceOp reduce, const LinePass &pass,
                      const llvm::DenseMap<Value, Value> &places) {
    r.loc = reduce.getLoc();
    StringRef kind = reduce.getKind();
    Value start = startOfLanes(r, kind, lanes);
    auto step = [&](Value sum, Value first, Value mask) {
      LineReader v(r, lanes, reduced, kept, first, mask);
      SmallVector<Value> indices = indicesAt(first);
      Value value = v.element(reduce.getOperand(), indices);
      for (Value each : pass.kept)
        v.store(v.element(each, indices), places.lookup(each), r.b.getF32Type(), first);
      if (mask)
        value = arith::SelectOp::create(r.b, r.loc, mask, value, start);
      return reduceLanes(r, kind, sum, value);
    };
    SmallVector<Value> sums(together, start);
    int64_t block = together * lanes, whole = length / block * block;
    if (whole) {
      auto loop = scf::ForOp::create(r.b, r.loc, r.constant(0), r.constant(whole),
                                     r.constant(block), sums);
      OpBuilder::InsertionGuard guard(r.b);
      r.b.setInsertionPointToStart(loop.getBody());
      SmallVector<Value> next;
      for (auto [i, sum] : llvm::enumerate(loop.getRegionIterArgs()))
        next.push_back(step(sum, r.add(loop.getInductionVar(), r.constant(i * lanes)), {}));
      scf::YieldOp::create(r.b, r.loc, next);
      sums = llvm::to_vector(ValueRange(loop.getResults()));
    }
    int64_t used = whole ? together : 0;
    for (int64_t first = whole, i = 0; first < length; first += lanes, ++i) {
      sums[i] = step(sums[i], r.constant(first), maskAt(first));
      used = std::max(used, i + 1);
    }
    Value sum = sums[0];
    for (int64_t i = 1; i < used; ++i)
      sum = reduceLanes(r, kind, sum, sums[i]);
    // In pairs, not one lane behind the other: the definition leaves the order open.
    auto horizontal = kind == "max"   ? vector::CombiningKind::MAXIMUMF
                      : kind == "min" ? vector::CombiningKind::MINIMUMF
                                      : vector::CombiningKind::ADD;
    auto flags = horizontal == vector::CombiningKind::ADD ? arith::FastMathFlags::reassoc
                                                          : arith::FastMathFlags::none;
    Value scalar = vector::ReductionOp::create(r.b, r.loc, horizontal, sum, flags);
    if (kind != "mean")
      return scalar;
    Value count = arith::ConstantOp::create(r.b, r.loc, r.b.getF32FloatAttr(length));
    return arith::DivFOp::create(r.b, r.loc, scalar, count);
  }

  void emitResults(Value result) {
    r.loc = result.getLoc();
    auto step = [&](Value first, Value mask) {
      LineReader v(r, lanes, reduced, kept, first, mask);
      SmallVector<Value> indices = indicesAt(first);
      v.store(v.element(result, indices), target.pointer, target.type.getElementType(),
              r.linearIndex(target, indices));
    };
    int64_t whole = length / lanes * lanes;
    if (whole)
      emitStepLoop(r, r.constant(0), r.constant(whole), lanes,
                   [&](Value first) { step(first, {}); });
    if (whole < length)
      step(r.constant(whole), maskAt(whole));
  }

  KernelReader &r;
  SmallVector<LinePass> passes;
  int64_t lanes;
  const KernelReader::Buffer target;
  int64_t length;
  ArrayRef<int64_t> tiles;
  SmallVector<Value> at; ///< of the line
  llvm::DenseMap<Value, Value> reduced, kept;
};

} // namespace

LogicalResult weir::emitLines(KernelReader &r, plan::KernelOp kernel, Value begin, Value end) {
  LinesEmitter(r, kernel).emit(begin, end);
  return success();
}
