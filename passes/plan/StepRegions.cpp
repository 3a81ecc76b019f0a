//===- StepRegions.cpp - conditionals and loops of a step --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value that crosses a region's border is carried in one of three forms:
//   few integers   as scalars of scf;
//   fixed size     in one buffer outside, which every path copies into;
//   dynamic size   as a memref that the path allocates: the region hands its
//                  ownership over, so it is always a fresh copy.
//
// Where a device decides itself, few integers go as what has a fixed size does, and the
// condition is read from the buffer that a kernel leaves it in.
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/plan/StepBuilder.h"
#include "passes/plan/StepTimes.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

namespace {
enum class Form { Nothing, Scalars, Fixed, Dynamic };

Form formOf(Type type, bool isDecided) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return Form::Nothing; // tokens and resources
  if (isScalarForm(type) && !isDecided)
    return Form::Scalars;
  return tensor.hasStaticShape() ? Form::Fixed : Form::Dynamic;
}

void appendTypes(Type type, bool isDecided, SmallVectorImpl<Type> &types) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (formOf(type, isDecided) == Form::Scalars)
    types.append(tensor.getNumElements(), computeType(tensor.getElementType()));
  else if (formOf(type, isDecided) == Form::Dynamic)
    types.push_back(bufferType(type));
}
} // namespace

Value StepBuilder::conditionOf(Operation *control, Value condition) {
  if (!isDecidedOnDevice(control))
    return element(condition, {});
  auto load = LoadOp::create(b, loc, b.getI1Type(), bufferOf(condition), ValueRange());
  load->setAttr(conditionAttribute, b.getUnitAttr());
  return load;
}

void StepBuilder::appendCarried(Value tensor, Type type, bool isDecided,
                                SmallVectorImpl<Value> &to) {
  switch (formOf(type, isDecided)) {
  case Form::Scalars: {
    auto scalars = scalarsOf(tensor);
    to.append(scalars.begin(), scalars.end());
    break;
  }
  case Form::Dynamic: {
    Value buffer = bufferOf(tensor);
    SmallVector<Value> dims = dimsOfBuffer(buffer);
    Value copy = allocate(type, dims);
    CopyOp::create(b, loc, buffer, copy);
    to.push_back(copy);
    break;
  }
  case Form::Fixed:
  case Form::Nothing:
    break;
  }
}

/// Takes the state of `tensor` from the values that carry it.
static TensorState takeCarried(ElementReader &reader, Type type, ValueRange &values) {
  TensorState state;
  auto tensor = cast<RankedTensorType>(type);
  // Where a device decides nothing of this size is carried.
  if (formOf(type, /*isDecided=*/false) == Form::Scalars) {
    state.hasScalars = true;
    int64_t count = tensor.getNumElements();
    state.scalars.assign(values.begin(), values.begin() + count);
    values = values.drop_front(count);
    for (int64_t size : tensor.getShape())
      state.dims.push_back(reader.constant(size));
    return state;
  }
  state.buffer = values.front();
  values = values.drop_front();
  return state;
}

LogicalResult StepBuilder::visitIf(IfOp op) {
  SmallVector<Type> types;
  SmallVector<Value> fixed; // one a result, null unless of fixed size
  bool isDecided = isDecidedOnDevice(op);
  for (Type type : op.getResultTypes()) {
    appendTypes(type, isDecided, types);
    fixed.push_back(formOf(type, isDecided) == Form::Fixed ? allocate(type, {}) : Value());
  }
  Value condition = conditionOf(op, op.getCondition());
  Location opLoc = loc;
  auto made = scf::IfOp::create(b, loc, types, condition, /*withElse=*/true);
  auto emit = [&](Region &source, Region &target) -> LogicalResult {
    OpBuilder::InsertionGuard guard(b);
    if (!target.front().empty())
      target.front().back().erase(); // the terminator scf made without results
    b.setInsertionPointToEnd(&target.front());
    if (failed(visitBlock(source.front())))
      return failure();
    loc = opLoc;
    SmallVector<Value> yields;
    for (auto [value, buffer, result] :
         llvm::zip(source.front().getTerminator()->getOperands(), fixed, op.getResults())) {
      appendCarried(value, result.getType(), isDecided, yields);
      if (buffer)
        CopyOp::create(b, loc, bufferOf(value), buffer);
    }
    scf::YieldOp::create(b, loc, yields);
    return success();
  };
  if (failed(emit(op.getThenRegion(), made.getThenRegion())) ||
      failed(emit(op.getElseRegion(), made.getElseRegion())))
    return failure();
  loc = opLoc;
  ValueRange results = made.getResults();
  for (auto [result, buffer] : llvm::zip(op.getResults(), fixed)) {
    if (formOf(result.getType(), isDecided) == Form::Nothing)
      continue;
    if (buffer) {
      setBuffer(result, buffer);
      continue;
    }
    TensorState state = takeCarried(*this, result.getType(), results);
    if (state.buffer)
      state.dims = dimsOfBuffer(state.buffer);
    states[result] = state;
  }
  return success();
}

LogicalResult StepBuilder::visitWhile(WhileOp op) {
  SmallVector<Type> types;
  SmallVector<Value> carried, fixed;
  bool isDecided = isDecidedOnDevice(op);
  for (auto [init, result] : llvm::zip(op.getInits(), op.getResults())) {
    Type type = result.getType();
    appendTypes(type, isDecided, types);
    appendCarried(init, type, isDecided, carried);
    fixed.push_back(Value());
    if (formOf(type, isDecided) == Form::Fixed) {
      fixed.back() = allocate(type, {});
      CopyOp::create(b, loc, bufferOf(init), fixed.back());
    }
  }
  Location opLoc = loc;
  auto made = scf::WhileOp::create(b, loc, types, carried);
  SmallVector<Location> locations(types.size(), loc);

  // The states of a region's block arguments, or of the loop's results.
  auto bind = [&](ValueRange targets, ValueRange values) {
    for (auto [argument, init, buffer] : llvm::zip(targets, op.getInits(), fixed)) {
      if (formOf(argument.getType(), isDecided) == Form::Nothing) {
        if (resources.count(init))
          resources[argument] = resources.lookup(init);
        continue;
      }
      if (buffer) {
        setBuffer(argument, buffer);
        continue;
      }
      TensorState state = takeCarried(*this, argument.getType(), values);
      if (state.buffer)
        state.dims = dimsOfBuffer(state.buffer);
      states[argument] = state;
    }
  };

  {
    OpBuilder::InsertionGuard guard(b);
    Block *before = b.createBlock(&made.getBefore(), {}, types, locations);
    Block &source = op.getCondition().front();
    bind(source.getArguments(), before->getArguments());
    if (failed(visitBlock(source)))
      return failure();
    loc = opLoc;
    Value condition = conditionOf(op, source.getTerminator()->getOperand(0));
    scf::ConditionOp::create(b, loc, condition, before->getArguments());
  }
  {
    OpBuilder::InsertionGuard guard(b);
    Block *after = b.createBlock(&made.getAfter(), {}, types, locations);
    Block &source = op.getBody().front();
    bind(source.getArguments(), after->getArguments());
    if (failed(visitBlock(source)))
      return failure();
    loc = opLoc;
    SmallVector<Value> yields;
    auto outputs = source.getTerminator()->getOperands();
    // All next values are read before any carried buffer is overwritten: one
    // that lies in another's buffer goes by way of a copy.
    SmallVector<Value> next;
    for (auto [value, buffer, result] : llvm::zip(outputs, fixed, op.getResults())) {
      appendCarried(value, result.getType(), isDecided, yields);
      next.push_back(Value());
      if (!buffer)
        continue;
      next.back() = bufferOf(value);
      Value root = rootOf(next.back());
      if (root != buffer && llvm::is_contained(fixed, root)) {
        Value copy = allocate(result.getType(), {});
        CopyOp::create(b, loc, next.back(), copy);
        next.back() = copy;
      }
    }
    for (auto [value, buffer] : llvm::zip(next, fixed))
      if (buffer && rootOf(value) != buffer)
        CopyOp::create(b, loc, value, buffer);
    // The iteration's own dynamic values are replaced by the next ones.
    for (BlockArgument argument : after->getArguments())
      if (isa<MemRefType>(argument.getType()))
        FreeOp::create(b, loc, argument);
    scf::YieldOp::create(b, loc, yields);
  }

  loc = opLoc;
  bind(op.getResults(), made.getResults());
  return success();
}
