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
// A reduction's sums are in registers, as wide as they are many. Where caches do not
// hold the operand, they wait in memory instead (`streams`): a few rows pass by at a
// time, each read in its own order. Either way elements are added one after the other.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/Tiles.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weir;

namespace {

class ReductionEmitter {
public:
  ReductionEmitter(KernelBuilder &r, plan::KernelOp kernel, ReduceOp reduce)
      : r(r), kernel(kernel), reduce(reduce), kind(reduce.getKind()), axes(reduce.getAxes()),
        lanes(kernel->getAttrOfType<DenseI64ArrayAttr>("tile").asArrayRef()[2]),
        result(kernel.getBody().front().getTerminator()->getOperand(0)),
        target(r.bufferOf(result)) {
    llvm::sort(axes);
    for (int64_t axis : axes)
      sizes.push_back(r.dim(reduce.getOperand(), axis));
  }

  void emit(Value begin, Value end) {
    ArrayRef<int64_t> tiles = kernel->getAttrOfType<DenseI64ArrayAttr>("tiles").asArrayRef();
    Value block = r.constant(tiles.back()), sums;
    bool streams = kernel->hasAttr("streams");
    if (streams)
      sums = stackFloats(r, tiles.back());
    emitStepLoop(r, begin, end, 1, [&](Value part) {
      SmallVector<Value> at = r.blockIndices(part, target.dims, tiles);
      Value first = r.mul(at.back(), block);
      from = operandIndices(at);
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
      emitPanel(r, target.type.getShape().back(), target.dims.back(), first, {1, 1, lanes},
                [&](int64_t, Value limit) { emitInRegisters(at, limit); });
    });
  }

private:
  /// Indices into the operand, but those along its axes and the last.
  SmallVector<Value> operandIndices(ArrayRef<Value> at) {
    int64_t rank = cast<RankedTensorType>(reduce.getOperand().getType()).getRank();
    SmallVector<Value> indices(rank);
    unsigned next = 0;
    for (int64_t i = 0; i + 1 < rank; ++i) {
      if (!llvm::is_contained(axes, i))
        indices[i] = at[next++];
      else
        next += reduce.getKeepDims();
    }
    return indices;
  }

  void emitInRegisters(ArrayRef<Value> at, Value limit) {
    VectorReader v(r, lanes);
    Value mask = limit ? laneMasks(r, {1, 1, lanes}, at.back(), limit)[0] : Value();
    v.setLanes(at.back(), mask);
    from.back() = at.back();
    Value start = startOfLanes(r, kind, lanes);
    Value sum = emitReductionLoops(r, sizes, start, [&](ValueRange place, Value carried) {
      for (auto [axis, index] : llvm::zip(axes, place))
        from[axis] = index;
      return reduceLanes(r, kind, carried, v.element(reduce.getOperand(), from));
    });
    finish(at, mask, sum);
  }

  Value load(Value pointer, Value linear) {
    return VectorReader(r, lanes).load(pointer, r.b.getF32Type(), linear);
  }
  void store(Value vector, Value pointer, Value linear) {
    VectorReader(r, lanes).store(vector, pointer, r.b.getF32Type(), linear);
  }

  /// Sums of `count` columns from `first` on.
  void stream(Value first, Value count, Value sums) {
    // So many streams processors follow, with a sum and rows in registers.
    constexpr int64_t together = 4;
    VectorReader v(r, lanes);
    Value start = startOfLanes(r, kind, lanes), zero = r.constant(0);
    emitStepLoop(r, zero, count, lanes, [&](Value at) { store(start, sums, at); });
    auto pass = [&](Value row, int64_t rows) {
      emitStepLoop(r, zero, count, lanes, [&](Value offset) {
        from.back() = r.add(first, offset);
        v.setLanes(from.back(), Value());
        Value sum = load(sums, offset);
        for (int64_t i = 0; i < rows; ++i) {
          from[axes.back()] = r.add(row, r.constant(i));
          sum = reduceLanes(r, kind, sum, v.element(reduce.getOperand(), from));
        }
        store(sum, sums, offset);
      });
    };
    eachOuter(0, [&] { emitRowTiles(r, sizes.back(), together, pass); });
  }

  /// Loops over all axes but the last.
  void eachOuter(size_t i, function_ref<void()> body) {
    if (i + 1 == axes.size())
      return body();
    emitStepLoop(r, r.constant(0), sizes[i], 1, [&](Value index) {
      from[axes[i]] = index;
      eachOuter(i + 1, body);
    });
  }

  /// What follows the reduction.
  void finish(ArrayRef<Value> at, Value mask, Value sum) {
    VectorReader v(r, lanes);
    if (kind == "mean") {
      Value count = r.constant(1);
      for (Value size : sizes)
        count = r.mul(count, size);
      sum = meanOf(r, v, sum, count);
    }
    v.setLanes(at.back(), mask);
    v.setAnchor(reduce.getResult(), sum);
    Value value = v.element(result, at);
    v.store(value, target.pointer, target.type.getElementType(), r.linearIndex(target, at));
  }

  KernelBuilder &r;
  plan::KernelOp kernel;
  ReduceOp reduce;
  StringRef kind;
  SmallVector<int64_t> axes;
  int64_t lanes;
  Value result;
  const KernelBuilder::Buffer target;
  SmallVector<Value> sizes, from;
};

} // namespace

LogicalResult weir::emitLanes(KernelBuilder &r, plan::KernelOp kernel, Value begin, Value end) {
  for (Operation &op : kernel.getBody().front()) {
    if (auto reduce = dyn_cast<ReduceOp>(op))
      ReductionEmitter(r, kernel, reduce).emit(begin, end);
    else if (isa<ConvOp, PoolOp>(op))
      emitWindows(r, kernel, &op, begin, end);
  }
  return success();
}
