//===- CudaLineFold.cpp - what the elements of a line come to ---- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaLineFold.h"
#include "dialects/weir/Contraction.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/ShapeSupport.h"

using namespace mlir;
using namespace weir;
using namespace weir::shape;

using State = LineFold::State;

Operation *LineFold::find(plan::KernelOp kernel) {
  Operation *found = nullptr;
  Block &body = kernel.getBody().front();
  for (Operation &op : body.without_terminator()) {
    if (!isa<ReduceOp, ArgReduceOp, CumulativeOp>(op))
      continue;
    if (found)
      return nullptr;
    found = &op;
  }
  if (!found)
    return nullptr;
  Type wide = accumulatorType(getElementTypeOrSelf(found->getOperand(0).getType()));
  if (!isa<IntegerType, FloatType>(wide) || wide.getIntOrFloatBitWidth() > 64)
    return nullptr;
  // What follows reads the operation at the result's own index.
  auto own = cast<RankedTensorType>(found->getResult(0).getType());
  for (Value result : body.getTerminator()->getOperands())
    if (cast<RankedTensorType>(result.getType()).getShape() != own.getShape())
      return nullptr;
  return found;
}

static ReduceKind kindOf(Operation *op) {
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reduce.getKind();
  if (auto scan = dyn_cast<CumulativeOp>(op))
    return scan.getKind();
  return cast<ArgReduceOp>(op).getLargest() ? ReduceKind::Max : ReduceKind::Min;
}

SmallVector<int64_t> LineFold::axesOf(Operation *op) {
  if (auto arg = dyn_cast<ArgReduceOp>(op))
    return {int64_t(arg.getAxis())};
  if (auto scan = dyn_cast<CumulativeOp>(op))
    return {int64_t(scan.getAxis())};
  SmallVector<int64_t> axes(cast<ReduceOp>(op).getAxes());
  llvm::sort(axes);
  axes.erase(llvm::unique(axes), axes.end());
  return axes;
}

static RankedTensorType operandType(Operation *op) {
  return cast<RankedTensorType>(op->getOperand(0).getType());
}

LineFold::LineFold(const CudaKernel &k, Operation *op)
    : k(k), r(k.reader), operation(op), element(getElementTypeOrSelf(op->getOperand(0).getType())),
      wide(accumulatorType(element)), s(r, op, wide), kind(kindOf(op)), axes(axesOf(op)) {
  types.push_back(computeType(wide));
  if (isa<ArgReduceOp>(op))
    types.push_back(r.b.getI64Type());
  kept = freeDims(operandType(op).getRank(), {}, axes);
}

bool LineFold::liesAcross(Operation *op) {
  RankedTensorType type = operandType(op);
  SmallVector<int64_t> axes = axesOf(op);
  for (int64_t i = type.getRank() - 1; i >= 0; --i)
    if (type.getDimSize(i) != 1)
      return !llvm::is_contained(axes, i);
  return false;
}

int64_t LineFold::threadsOf(Operation *op) {
  int64_t length = knownLength(op);
  if (liesAcross(op) || (length >= 0 && length < warpThreads))
    return 1;
  return length < 0 || length > 1024 ? 256 : warpThreads;
}

int64_t LineFold::knownLength(Operation *op) {
  return weir::knownCount(operandType(op), axesOf(op));
}
int64_t LineFold::knownCount(Operation *op) {
  RankedTensorType type = operandType(op);
  return weir::knownCount(type, freeDims(type.getRank(), {}, axesOf(op)));
}

SmallVector<Value> LineFold::sizes(ArrayRef<int64_t> dims) {
  return llvm::map_to_vector(dims,
                             [&](int64_t dim) -> Value { return r.dim(operand(), unsigned(dim)); });
}
Value LineFold::length() { return product(r, sizes(axes)); }
Value LineFold::count() { return product(r, sizes(kept)); }

SmallVector<Value> LineFold::keptIndices(Value line) { return r.delinearize(line, sizes(kept)); }

SmallVector<Value> LineFold::keptOf(ValueRange indices) const {
  if (indices.size() == kept.size())
    return SmallVector<Value>(indices);
  return llvm::map_to_vector(kept, [&](int64_t dim) { return indices[dim]; });
}

SmallVector<Value> LineFold::operandIndices(ValueRange line, Value place) {
  SmallVector<Value> indices(kept.size() + axes.size());
  if (auto scan = dyn_cast<CumulativeOp>(operation); scan && scan.getReverse())
    place = r.sub(r.sub(length(), r.constant(1)), place);
  setIndices(indices, kept, line);
  setIndices(indices, axes, r.delinearize(place, sizes(axes)));
  return indices;
}

SmallVector<Value> LineFold::resultIndices(ValueRange line, Value place) {
  if (isScan())
    return operandIndices(line, place);
  int64_t rank = cast<RankedTensorType>(operation->getResult(0).getType()).getRank();
  if (rank == int64_t(kept.size()))
    return SmallVector<Value>(line);
  SmallVector<Value> indices(rank, r.constant(0));
  setIndices(indices, kept, line);
  return indices;
}

State LineFold::start() {
  State state{reductionStart(r, wide, kind)};
  // Any element's place goes before this one.
  if (auto arg = dyn_cast<ArgReduceOp>(operation))
    state.push_back(arith::ConstantIntOp::create(r.b, r.loc, r.b.getI64Type(),
                                                 arg.getSelectLast() ? -1 : INT64_MAX));
  return state;
}

State LineFold::read(ValueRange line, Value place) {
  State state{
      s.cast(r.element(operand(), operandIndices(line, place)), element, wide, /*saturate=*/false)};
  if (isa<ArgReduceOp>(operation))
    state.push_back(arith::IndexCastOp::create(r.b, r.loc, r.b.getI64Type(), place));
  return state;
}

State LineFold::combine(ArrayRef<Value> a, ArrayRef<Value> b) {
  auto arg = dyn_cast<ArgReduceOp>(operation);
  if (!arg)
    return {reductionStep(r, s, kind, a[0], b[0], /*reassociate=*/false)};
  // A NaN is beyond all numbers, and equal to any other.
  Value isBeyond = s.compare(kind == ReduceKind::Max ? "gt" : "lt", b[0], a[0]),
        isSame = s.compare("eq", b[0], a[0]);
  if (s.isFloat(a[0])) {
    Value first = s.isNan(a[0]), second = s.isNan(b[0]);
    isBeyond = s.op<arith::OrIOp>(
        isBeyond, s.op<arith::AndIOp>(
                      second, s.op<arith::XOrIOp>(first, arith::ConstantIntOp::create(
                                                             r.b, r.loc, r.b.getI1Type(), 1))));
    isSame = s.op<arith::OrIOp>(isSame, s.op<arith::AndIOp>(first, second));
  }
  auto order = arg.getSelectLast() ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::slt;
  Value goesFirst = s.op<arith::CmpIOp>(order, b[1], a[1]),
        takes = s.op<arith::OrIOp>(isBeyond, s.op<arith::AndIOp>(isSame, goesFirst));
  return {s.select(takes, b[0], a[0]), s.select(takes, b[1], a[1])};
}

Value LineFold::result(ArrayRef<Value> state) {
  if (auto arg = dyn_cast<ArgReduceOp>(operation)) {
    Value index = arith::IndexCastOp::create(r.b, r.loc, r.b.getIndexType(), state[1]);
    return indexTo(r, arg, index, arg.getIndexType());
  }
  Value value = state[0];
  if (kind == ReduceKind::Mean) {
    Value divisor = length();
    if (isa<IntegerType>(element)) // none: the sum is 0 whatever divides it
      divisor = r.maximum(divisor, r.constant(1));
    value = s.div(value, indexTo(r, operation, divisor, wide));
  }
  return s.cast(value, wide, element, /*saturate=*/false);
}

State LineFold::walk(ValueRange line, Value from, Value to, Value step, State init) {
  // Long operands are computed once an element; short ones several at a time.
  constexpr size_t mostOperations = 24;
  const int64_t atOnce = k.operations.size() > mostOperations ? 1 : 4;
  auto loop = [&](Value begin, Value end, Value by, int64_t elements, State carried) {
    auto body = scf::ForOp::create(r.b, r.loc, begin, end, by, ValueRange(carried));
    OpBuilder::InsertionGuard guard(r.b);
    r.b.setInsertionPointToStart(body.getBody());
    SmallVector<State> read;
    Value place = body.getInductionVar();
    for (int64_t i = 0; i < elements; ++i) {
      read.push_back(this->read(line, place));
      place = r.add(place, step);
    }
    State next(body.getRegionIterArgs().begin(), body.getRegionIterArgs().end());
    for (const State &one : read)
      next = combine(next, one);
    scf::YieldOp::create(r.b, r.loc, ValueRange(next));
    return State(body.getResults().begin(), body.getResults().end());
  };
  if (atOnce == 1)
    return loop(from, to, step, 1, std::move(init));
  // The last group's elements all lie before the end.
  Value group = r.mul(step, r.constant(atOnce)),
        last = r.maximum(from, r.sub(to, r.mul(step, r.constant(atOnce - 1))));
  State carried = loop(from, last, group, atOnce, std::move(init));
  Value groups = r.divide(r.add(r.sub(last, from), r.sub(group, r.constant(1))), group);
  return loop(r.add(from, r.mul(groups, group)), to, step, 1, std::move(carried));
}

void LineFold::storeState(ArrayRef<Value> state, Value memory, Value number) {
  Type i64 = r.b.getI64Type();
  for (auto [i, value] : llvm::enumerate(state)) {
    Value slot = r.add(r.mul(number, r.constant(int64_t(state.size()))), r.constant(int64_t(i)));
    Value bits = value;
    if (value.getType().isInteger(1))
      bits = arith::ExtUIOp::create(r.b, r.loc, i64, value);
    LLVM::StoreOp::create(r.b, r.loc, bits, BufferAccess::address(r, memory, i64, slot));
  }
}

State LineFold::loadState(Value memory, Value number) {
  Type i64 = r.b.getI64Type();
  State state;
  for (auto [i, type] : llvm::enumerate(types)) {
    Value slot = r.add(r.mul(number, r.constant(int64_t(types.size()))), r.constant(int64_t(i)));
    bool isBit = type.isInteger(1);
    Value bits = LLVM::LoadOp::create(r.b, r.loc, isBit ? i64 : type,
                                      BufferAccess::address(r, memory, i64, slot));
    state.push_back(isBit ? arith::TruncIOp::create(r.b, r.loc, type, bits).getResult() : bits);
  }
  return state;
}

//===----------------------------------------------------------------------===//
// arg_reduce
//===----------------------------------------------------------------------===//

bool weir::emitArgReduce(const CudaKernel &k) {
  Operation *op = LineFold::find(k.kernel);
  if (!isa_and_nonnull<ArgReduceOp>(op))
    return false;
  CudaReader &r = k.reader;
  r.loc = op->getLoc();
  LineFold fold(k, op);
  int64_t threads = std::min(LineFold::threadsOf(op), k.shape.mostThreads);
  bool byThread = threads == 1, byBlock = threads > warpThreads;
  auto [lane, exists, indices] = placeLines(k, threads, k.first().type.getRank());
  SmallVector<Value> kept = fold.keptOf(indices);
  State state = fold.walk(kept, byThread ? r.constant(0) : lane, fold.length(), r.constant(threads),
                          fold.start());
  if (!byThread)
    state = combineLine(k, fold, state, byBlock);
  Value value = fold.result(state),
        stores = byThread ? exists : r.logicalAnd(r.equal(lane, r.constant(0)), exists);
  SmallVector<Value> at(indices);
  r.onlyIf(stores, [&] { k.emitResults(at, op, value); });
  return true;
}
