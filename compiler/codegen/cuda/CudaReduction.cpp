//===- CudaReduction.cpp - reductions along lines -------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A line's elements lie next to each other, so the threads of a warp (or, for
// long lines, of a block) take turns along it and meet by shuffles. What each
// adds up, and in which order sums meet, depends on the shape alone.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaLineFold.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/ShapeSupport.h"

using namespace mlir;
using namespace weir;
using namespace weir::shape;

/// Whether the last dimensions are reduced, and no others.
static bool reducesLines(ReduceOp reduce) {
  int64_t rank = cast<RankedTensorType>(reduce.getOperand().getType()).getRank();
  SmallVector<int64_t> axes = LineFold::axesOf(reduce);
  for (auto [i, axis] : llvm::enumerate(axes))
    if (axis != rank - int64_t(axes.size()) + int64_t(i))
      return false;
  return !axes.empty();
}

Value weir::shuffle(CudaReader &r, Value value, int64_t distance, gpu::ShuffleMode mode) {
  OpBuilder &b = r.b;
  Location loc = r.loc;
  Type type = value.getType(), i32 = b.getI32Type(), i64 = b.getI64Type();
  auto move = [&](Value word) -> Value {
    return gpu::ShuffleOp::create(b, loc, word, int32_t(distance), int32_t(warpThreads), mode)
        .getShuffleResult();
  };
  unsigned width = type.getIntOrFloatBitWidth();
  if (width == 32)
    return move(value);
  Value bits = isa<FloatType>(type)
                   ? arith::BitcastOp::create(b, loc, b.getIntegerType(width), value).getResult()
                   : value;
  Value moved;
  if (width < 32) {
    moved = arith::TruncIOp::create(b, loc, bits.getType(),
                                    move(arith::ExtUIOp::create(b, loc, i32, bits)));
  } else {
    Value half = arith::ConstantIntOp::create(b, loc, i64, 32);
    Value low = move(arith::TruncIOp::create(b, loc, i32, bits));
    Value high =
        move(arith::TruncIOp::create(b, loc, i32, arith::ShRUIOp::create(b, loc, bits, half)));
    Value upper = arith::ShLIOp::create(b, loc, arith::ExtUIOp::create(b, loc, i64, high), half);
    moved = arith::OrIOp::create(b, loc, upper, arith::ExtUIOp::create(b, loc, i64, low));
  }
  return isa<FloatType>(type) ? arith::BitcastOp::create(b, loc, type, moved).getResult() : moved;
}

ThreadLine weir::placeLines(const CudaKernel &k, int64_t threads, int64_t rank) {
  CudaReader &r = k.reader;
  bool byBlock = threads > warpThreads;
  // Few lines, a warp's each, are spread over more blocks.
  constexpr int64_t fewLines = 132 * 8;
  int64_t known = 1;
  for (int64_t size : k.first().type.getShape().take_front(rank))
    known = known < 0 || ShapedType::isDynamic(size) ? -1 : known * size;
  bool areFew = threads == warpThreads && known >= 0 && known <= fewLines;
  k.shape.threads = byBlock || areFew ? threads : 128;
  int64_t lines = k.shape.threads / threads;
  LaunchShape::Axis all;
  for (int64_t i = 0; i < rank; ++i)
    all.dims.push_back(i);
  all.divisor = lines;
  k.shape.axes = {all};

  const KernelBuilder::Buffer first = k.first();
  auto dims = ArrayRef(first.dims).take_front(rank);
  Value thread = r.threadId(), block = r.blockId();
  ThreadLine own;
  own.lane = byBlock ? thread : r.remainder(thread, r.constant(threads));
  Value line = byBlock
                   ? block
                   : r.add(r.mul(block, r.constant(lines)), r.divide(thread, r.constant(threads)));
  Value count = r.constant(1);
  for (Value dim : dims)
    count = r.mul(count, dim);
  own.exists = r.less(line, count);
  Value last = r.sub(count, r.constant(1));
  own.indices = r.delinearize(byBlock ? line : r.minimum(line, last), dims);
  return own;
}

SharedNumbers::SharedNumbers(CudaReader &reader, Type type, int64_t count)
    : r(&reader), type(type),
      memory(reader.shared(type.isInteger(1) ? reader.b.getI8Type() : type, {count})) {}

void SharedNumbers::store(Value place, Value number) const {
  if (type.isInteger(1))
    number = arith::ExtUIOp::create(r->b, r->loc, r->b.getI8Type(), number);
  memref::StoreOp::create(r->b, r->loc, number, memory, ValueRange{place});
}

Value SharedNumbers::load(Value place) const {
  Value number = memref::LoadOp::create(r->b, r->loc, memory, ValueRange{place});
  return type.isInteger(1) ? arith::TruncIOp::create(r->b, r->loc, type, number).getResult()
                           : number;
}

LineState weir::combineLine(const CudaKernel &k, LineState state,
                            function_ref<LineState(ArrayRef<Value>, ArrayRef<Value>)> combine,
                            bool byBlock) {
  CudaReader &r = k.reader;
  auto amongLanes = [&](int64_t lanes) {
    for (int64_t distance = lanes / 2; distance > 0; distance /= 2) {
      LineState other;
      for (Value value : state)
        other.push_back(shuffle(r, value, distance));
      state = combine(state, other);
    }
  };
  amongLanes(warpThreads);
  if (!byBlock)
    return state;
  // One state a warp, then once more among these.
  int64_t warps = k.shape.threads / warpThreads;
  SmallVector<SharedNumbers> partial;
  for (Value value : state)
    partial.emplace_back(r, value.getType(), warps);
  Value thread = r.threadId();
  Value inWarp = r.remainder(thread, r.constant(warpThreads));
  Value warpId = r.divide(thread, r.constant(warpThreads));
  r.onlyIf(r.equal(inWarp, r.constant(0)), [&] {
    for (auto [memory, value] : llvm::zip(partial, state))
      memory.store(warpId, value);
  });
  r.barrier();
  Value mine = r.remainder(inWarp, r.constant(warps));
  for (auto [memory, value] : llvm::zip(partial, state))
    value = memory.load(mine);
  amongLanes(warps);
  return state;
}

Value weir::combineLine(const CudaKernel &k, ScalarBuilder &s, ReduceKind kind, Value value,
                        bool byBlock) {
  auto combine = [&](ArrayRef<Value> a, ArrayRef<Value> b) {
    return LineState{reductionStep(k.reader, s, kind, a[0], b[0], /*reassociate=*/false)};
  };
  return combineLine(k, LineState{value}, combine, byBlock)[0];
}

bool weir::emitRowReductions(const CudaKernel &k) {
  auto reduce = dyn_cast_or_null<ReduceOp>(LineFold::find(k.kernel));
  if (!reduce || !reducesLines(reduce))
    return false;
  int64_t length = LineFold::knownLength(reduce),
          lineThreads = std::min(LineFold::threadsOf(reduce), k.shape.mostThreads);
  if (lineThreads == 1)
    return false; // a thread a line
  CudaReader &r = k.reader;
  r.loc = reduce.getLoc();
  LineFold fold(k, reduce);
  auto [lane, exists, indices] =
      placeLines(k, lineThreads, cast<RankedTensorType>(reduce.getType()).getRank());
  SmallVector<Value> line = fold.keptOf(indices);
  // Neighbours in one thread, where lines are made of whole vectors.
  Type element = getElementTypeOrSelf(reduce.getOperand().getType());
  int64_t lanes = std::clamp<int64_t>(16 / std::max<int64_t>(1, elementBytes(element)), 1, 4);
  while (lanes > 1 && (length < 0 || length % (lanes * lineThreads)))
    lanes /= 2;
  Value from = r.mul(lane, r.constant(lanes));
  auto loop = scf::ForOp::create(r.b, r.loc, from, fold.length(), r.constant(lineThreads * lanes),
                                 ValueRange(fold.start()));
  {
    OpBuilder::InsertionGuard guard(r.b);
    r.b.setInsertionPointToStart(loop.getBody());
    SmallVector<LineState> read;
    for (int64_t i = 0; i < lanes; ++i)
      read.push_back(fold.read(line, r.add(loop.getInductionVar(), r.constant(i))));
    LineState carried{loop.getRegionIterArg(0)};
    for (const LineState &one : read)
      carried = fold.combine(carried, one);
    scf::YieldOp::create(r.b, r.loc, ValueRange(carried));
  }
  Value value =
      fold.result(combineLine(k, fold, LineState{loop.getResult(0)}, lineThreads > warpThreads));
  Value stores = r.logicalAnd(r.equal(lane, r.constant(0)), exists);
  SmallVector<Value> at(indices); // structured bindings are not captured
  r.onlyIf(stores, [&] { k.emitResults(at, reduce, value); });
  return true;
}
