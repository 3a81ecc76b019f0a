//===- Scatter.cpp - kernels that write where data says ----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/kernel/ScatterParts.h"
#include "dialects/weir/Pch.h"
#include "weir/weir.h"

using namespace mlir;
using namespace weir;

/// Runs `body` for all indices below `sizes`, in row-major order.
static void forAll(KernelBuilder &r, ArrayRef<Value> sizes, function_ref<void(ValueRange)> body) {
  OpBuilder::InsertionGuard guard(r.b);
  SmallVector<Value> indices;
  for (Value size : sizes) {
    auto loop = scf::ForOp::create(r.b, r.loc, r.constant(0), size, r.constant(1));
    indices.push_back(loop.getInductionVar());
    r.b.setInsertionPointToStart(loop.getBody());
  }
  body(indices);
}

Value weir::scatterCombined(KernelBuilder &r, Operation *op, StringRef reduction, Type element,
                            Value old, Value update) {
  if (reduction == "none")
    return update;
  ScalarBuilder s(r, op, element);
  auto floatType = dyn_cast<FloatType>(element);
  bool narrow = floatType && floatType.getWidth() < 32;
  if (narrow) {
    old = s.cast(old, element, r.b.getF32Type(), false);
    update = s.cast(update, element, r.b.getF32Type(), false);
  }
  // Of two that have no order, NaN, some formats keep what is there, others take the update.
  StringRef order = reduction.starts_with("max") ? "gt" : "lt";
  Value result = reduction == "add"   ? s.add(old, update)
                 : reduction == "sub" ? s.sub(old, update)
                 : reduction == "mul" ? s.mul(old, update)
                 : reduction == "div" ? s.div(old, update)
                 : reduction == "min" ? s.minimum(old, update)
                 : reduction == "max" ? s.maximum(old, update)
                 : reduction.ends_with("_or_old")
                     ? s.select(s.compare(order, update, old), update, old)
                     : s.select(s.compare(order, old, update), old, update); // _or_new
  return narrow ? s.cast(result, r.b.getF32Type(), element, false) : result;
}

Value weir::scatterIndex(KernelBuilder &r, Operation *op, Value indexTensor, ValueRange at,
                         Value size, bool wrap, bool drop, Value &inside) {
  Value index = r.elementAsIndex(indexTensor, at);
  if (wrap)
    index = r.select(r.less(index, r.constant(0)), r.add(index, size), index);
  if (!drop)
    return r.safeIndex(op, index, size);
  Value ok = r.b.createOrFold<arith::CmpIOp>(r.loc, arith::CmpIPredicate::ult, index, size);
  inside = inside ? r.logicalAnd(inside, ok) : ok;
  return r.select(ok, index, r.constant(0));
}

LogicalResult weir::emitScatter(KernelBuilder &r, plan::KernelOp kernel) {
  Block &body = kernel.getBody().front();
  Value result = body.getTerminator()->getOperand(0);
  Operation *op = result.getDefiningOp();
  r.loc = op->getLoc();
  const KernelBuilder::Buffer target = r.bufferOf(result);
  Type element = target.type.getElementType();
  Value operand = op->getOperand(0), indices = op->getOperand(1), updates = op->getOperand(2);
  // Updates run one after the other, on one thread: equal indices have an order.
  // In place everything else is there already.
  if (!kernel.getInPlaceAttr())
    forAll(r, target.dims, [&](ValueRange at) { r.store(r.element(operand, at), target, at); });
  StringRef reduction;
  auto apply = [&](ValueRange updateIndices, ValueRange at, Value inside) {
    auto write = [&] {
      Value update = r.element(updates, updateIndices);
      Value old;
      if (reduction != "none")
        old = BufferAccess::load(r, target.pointer, element, r.linearIndex(target, at));
      r.store(scatterCombined(r, op, reduction, element, old, update), target, at);
    };
    if (!inside) {
      write();
      return;
    }
    OpBuilder::InsertionGuard guard(r.b);
    auto branch = scf::IfOp::create(r.b, r.loc, inside, false);
    r.b.setInsertionPointToStart(&branch.getThenRegion().front());
    write();
  };
  if (auto scatter = dyn_cast<ScatterElementsOp>(op)) {
    reduction = scatter.getReduction();
    int64_t axis = scatter.getAxis();
    forAll(r, r.dims(indices), [&](ValueRange at) {
      SmallVector<Value> where(at);
      Value inside;
      where[axis] = scatterIndex(r, op, indices, at, target.dims[axis], scatter.getWrapNegative(),
                                 false, inside);
      apply(at, where, inside);
    });
    return success();
  }
  auto scatter = cast<ScatterNdOp>(op);
  reduction = scatter.getReduction();
  auto indexType = cast<RankedTensorType>(indices.getType());
  int64_t depth = indexType.getShape().back();
  assert(!ShapedType::isDynamic(depth) && "verify-kernels sees to it");
  SmallVector<Value> tuples = r.dims(indices);
  tuples.pop_back();
  SmallVector<Value> slice(target.dims.begin() + depth, target.dims.end());
  forAll(r, tuples, [&](ValueRange tuple) {
    SmallVector<Value> where;
    Value inside;
    for (int64_t i = 0; i < depth; ++i) {
      SmallVector<Value> at(tuple);
      at.push_back(r.constant(i));
      where.push_back(scatterIndex(r, op, indices, at, target.dims[i], scatter.getWrapNegative(),
                                   scatter.getDropOutOfBounds(), inside));
    }
    forAll(r, slice, [&](ValueRange rest) {
      SmallVector<Value> at(where), from(tuple);
      at.append(rest.begin(), rest.end());
      from.append(rest.begin(), rest.end());
      apply(from, at, inside);
    });
  });
  return success();
}
