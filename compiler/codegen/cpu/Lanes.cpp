//===- Lanes.cpp - windows and reductions along vectors ----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Depthwise convolutions, pools and reductions that keep the last dimension:
// each lane of a vector is one result, so sums need no order of their own and
// loads are contiguous. The range counts all result dimensions but the last.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/Tiles.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weir;

namespace {

/// The part of a window along one dimension that lies inside of the input.
struct Span {
  Value first, last; ///< window indices [first, last)
  Value origin;      ///< input index of window index 0, may be negative
};

Span spanOf(ElementReader &r, Value out, int64_t stride, int64_t dilation,
            int64_t before, Value window, Value size) {
  Span span;
  span.origin = r.sub(r.mul(out, r.constant(stride)), r.constant(before));
  // origin + k * dilation must lie in [0, size).
  auto ceilDivide = [&](Value value) {
    return r.divide(r.add(r.maximum(value, r.constant(0)), r.constant(dilation - 1)), r.constant(dilation));
  };
  span.first = r.minimum(ceilDivide(r.sub(r.constant(0), span.origin)), window);
  span.last = r.maximum(span.first, r.minimum(window, ceilDivide(r.sub(size, span.origin))));
  return span;
}

/// Loops over a window's inside; `body` gets window and input indices.
Value windowLoops(ElementReader &r, ArrayRef<Span> spans, ArrayRef<int64_t> dilations,
                  Value init, function_ref<Value(ArrayRef<Value>, ArrayRef<Value>, Value)> body) {
  SmallVector<Value> sizes;
  for (const Span &span : spans)
    sizes.push_back(r.sub(span.last, span.first));
  return emitReductionLoops(r, sizes, init, [&](ValueRange at, Value carried) {
    SmallVector<Value> window, input;
    for (auto [i, index] : llvm::enumerate(at)) {
      window.push_back(r.add(index, spans[i].first));
      input.push_back(r.add(spans[i].origin, r.mul(window.back(), r.constant(dilations[i]))));
    }
    return body(window, input, carried);
  });
}

Value emitConv(KernelReader &r, VectorReader &v, ConvOp conv, ValueRange at, Value channel) {
  const KernelReader::Buffer &filter = r.bufferOf(conv.getFilter());
  int64_t spatial = filter.type.getRank() - 2;
  SmallVector<Span> spans;
  for (int64_t i = 0; i < spatial; ++i)
    spans.push_back(spanOf(r, at[1 + i], conv.getStrides()[i], conv.getDilations()[i],
                           conv.getPads()[2 * i], filter.dims[i],
                           r.dim(conv.getInput(), 1 + i)));
  Value zero = v.broadcast(arith::ConstantOp::create(r.b, r.loc, r.b.getF32FloatAttr(0)));
  return windowLoops(r, spans, conv.getDilations(), zero,
                     [&](ArrayRef<Value> window, ArrayRef<Value> input, Value carried) {
    SmallVector<Value> from{at[0]}, weight(window);
    from.append(input.begin(), input.end());
    from.push_back(channel);
    weight.append({r.constant(0), channel});
    return vector::FMAOp::create(r.b, r.loc, v.element(conv.getInput(), from),
                                 v.element(conv.getFilter(), weight), carried).getResult();
  });
}

Value emitPool(KernelReader &r, VectorReader &v, PoolOp pool, ValueRange at, Value channel) {
  int64_t spatial = pool.getWindow().size();
  bool isMax = pool.getKind() == "max";
  SmallVector<Span> spans;
  for (int64_t i = 0; i < spatial; ++i)
    spans.push_back(spanOf(r, at[1 + i], pool.getStrides()[i], pool.getDilations()[i],
                           pool.getPads()[2 * i], r.constant(pool.getWindow()[i]),
                           r.dim(pool.getOperand(), 1 + i)));
  double start = isMax ? -std::numeric_limits<double>::infinity() : 0.0;
  Value init = v.broadcast(arith::ConstantOp::create(r.b, r.loc, r.b.getF32FloatAttr(start)));
  Value total = windowLoops(r, spans, pool.getDilations(), init,
                            [&](ArrayRef<Value>, ArrayRef<Value> input, Value carried) -> Value {
    SmallVector<Value> from{at[0]};
    from.append(input.begin(), input.end());
    from.push_back(channel);
    Value next = v.element(pool.getOperand(), from);
    if (isMax)
      return arith::MaximumFOp::create(r.b, r.loc, carried, next);
    return arith::AddFOp::create(r.b, r.loc, carried, next);
  });
  if (pool.getKind() != "average")
    return total;
  Value count = r.constant(1);
  for (int64_t i = 0; i < spatial; ++i) {
    if (!pool.getCountIncludePad()) {
      count = r.mul(count, r.sub(spans[i].last, spans[i].first));
      continue;
    }
    // Places of the window inside of the padded input.
    Value padded = r.add(r.dim(pool.getOperand(), 1 + i),
                         r.constant(pool.getPads()[2 * i] + pool.getPads()[2 * i + 1]));
    Span span = spanOf(r, at[1 + i], pool.getStrides()[i], pool.getDilations()[i], 0,
                       r.constant(pool.getWindow()[i]), padded);
    count = r.mul(count, r.sub(span.last, span.first));
  }
  Value wide = arith::IndexCastOp::create(r.b, r.loc, r.b.getI64Type(), count);
  Value divisor = arith::SIToFPOp::create(r.b, r.loc, r.b.getF32Type(), wide);
  return arith::DivFOp::create(r.b, r.loc, total, v.broadcast(divisor));
}

Value emitReduce(KernelReader &r, VectorReader &v, ReduceOp reduce, ValueRange at, Value channel) {
  auto type = cast<RankedTensorType>(reduce.getOperand().getType());
  StringRef kind = reduce.getKind();
  double infinity = std::numeric_limits<double>::infinity();
  double start = kind == "max" ? -infinity : kind == "min" ? infinity : 0.0;
  Value init = v.broadcast(arith::ConstantOp::create(r.b, r.loc, r.b.getF32FloatAttr(start)));
  SmallVector<int64_t> axes(reduce.getAxes());
  llvm::sort(axes);
  SmallVector<Value> sizes, from(type.getRank());
  unsigned next = 0;
  for (int64_t i = 0; i < type.getRank(); ++i) {
    if (llvm::is_contained(axes, i)) {
      sizes.push_back(r.dim(reduce.getOperand(), i));
      next += reduce.getKeepDims();
    } else if (i + 1 < type.getRank()) {
      from[i] = at[next++];
    }
  }
  from.back() = channel;
  Value total = emitReductionLoops(r, sizes, init, [&](ValueRange place, Value carried) -> Value {
    for (auto [axis, index] : llvm::zip(axes, place))
      from[axis] = index;
    Value value = v.element(reduce.getOperand(), from);
    if (kind == "max")
      return arith::MaximumFOp::create(r.b, r.loc, carried, value);
    if (kind == "min")
      return arith::MinimumFOp::create(r.b, r.loc, carried, value);
    return arith::AddFOp::create(r.b, r.loc, carried, value);
  });
  if (kind != "mean")
    return total;
  Value count = r.constant(1);
  for (Value size : sizes)
    count = r.mul(count, size);
  Value wide = arith::IndexCastOp::create(r.b, r.loc, r.b.getI64Type(), count);
  Value divisor = arith::SIToFPOp::create(r.b, r.loc, r.b.getF32Type(), wide);
  return arith::DivFOp::create(r.b, r.loc, total, v.broadcast(divisor));
}

} // namespace

LogicalResult weir::emitLanes(KernelReader &r, plan::KernelOp kernel, Value begin, Value end) {
  Block &body = kernel.getBody().front();
  Operation *hero = nullptr;
  for (Operation &op : body)
    if (isa<ConvOp, PoolOp, ReduceOp>(op))
      hero = &op;
  Value result = body.getTerminator()->getOperand(0);
  const KernelReader::Buffer target = r.bufferOf(result);
  int64_t columns = target.type.getShape().back();
  int64_t lanes = kernel->getAttrOfType<DenseI64ArrayAttr>("tile").asArrayRef()[2];

  emitStepLoop(r, begin, end, 1, [&](Value part) {
    SmallVector<Value> at = r.blockIndices(part, ArrayRef(target.dims).drop_back());
    auto emit = [&](Value channel, Value mask) {
      VectorReader v(r, lanes);
      v.setLanes(channel, mask);
      Value total = TypeSwitch<Operation *, Value>(hero)
                        .Case<ConvOp>([&](auto op) { return emitConv(r, v, op, at, channel); })
                        .Case<PoolOp>([&](auto op) { return emitPool(r, v, op, at, channel); })
                        .Default([&](Operation *op) { return emitReduce(r, v, cast<ReduceOp>(op), at, channel); });
      v.setHero(hero->getResult(0), total);
      SmallVector<Value> indices(at);
      indices.push_back(channel);
      Value value = v.element(result, indices);
      v.store(value, target.pointer, target.type.getElementType(),
              r.linearIndex(target, indices));
    };
    emitTiled(
        r, r.constant(0), r.constant(columns), lanes,
        [&](Value channel) { emit(channel, Value()); },
        [&](Value channel, int64_t left) {
          Value mask = vector::CreateMaskOp::create(
              r.b, r.loc, VectorType::get({lanes}, r.b.getI1Type()), r.constant(left));
          emit(channel, mask);
        });
  });
  return success();
}
