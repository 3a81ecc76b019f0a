//===- VectorReader.cpp - elementwise operations on vectors ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/VectorReader.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weir;

Value VectorReader::broadcast(Value scalar) {
  if (isa<VectorType>(scalar.getType()))
    return scalar;
  return vector::BroadcastOp::create(
      b, loc, VectorType::get({lanes}, scalar.getType()), scalar);
}

Value VectorReader::load(Value pointer, Type element, Value linear) {
  Value where = BufferAccess::address(scalars, pointer, element, linear);
  auto type = VectorType::get({lanes}, element);
  unsigned alignment = element.getIntOrFloatBitWidth() / 8;
  if (!laneMask)
    return LLVM::LoadOp::create(b, loc, type, where, alignment);
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  return LLVM::MaskedLoadOp::create(b, loc, type, where, laneMask,
                                    zero, b.getI32IntegerAttr(alignment),
                                    UnitAttr());
}

Value VectorReader::loadElements(Value pointer, Type element, Value linear) {
  Value value = load(pointer, BufferAccess::storageType(element), linear);
  if (!element.isInteger(1))
    return value;
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(value.getType()));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value, zero);
}

void VectorReader::store(Value value, Value pointer, Type element, Value linear) {
  Value where = BufferAccess::address(scalars, pointer, element, linear);
  unsigned alignment = element.getIntOrFloatBitWidth() / 8;
  if (laneMask)
    LLVM::MaskedStoreOp::create(b, loc, value, where, laneMask,
                                b.getI32IntegerAttr(alignment));
  else
    LLVM::StoreOp::create(b, loc, value, where, alignment);
}

Value VectorReader::element(Value tensor, ValueRange indices) {
  if (tensor == hero)
    return heroVector;
  if (auto conversion = tensor.getDefiningOp<CastOp>()) {
    // Between f32 and bf16: Tiling lets no other in.
    Value value = element(conversion.getOperand(), indices);
    auto type = VectorType::get({lanes}, getElementTypeOrSelf(tensor.getType()));
    if (value.getType() == type)
      return value;
    bool widens = type.getElementTypeBitWidth() == 32;
    return widens ? arith::ExtFOp::create(b, loc, type, value).getResult()
                  : arith::TruncFOp::create(b, loc, type, value).getResult();
  }
  if (auto iota = tensor.getDefiningOp<IotaOp>())
    if (!indices.empty() && indices[iota.getAxis()] == firstLane)
      return positions(iota.getElementType());
  return broadcast(RecursiveReader::element(tensor, indices));
}

Value VectorReader::positions(Type element) {
  Value steps = vector::StepOp::create(b, loc, VectorType::get({lanes}, b.getIndexType()));
  Value from = vector::BroadcastOp::create(b, loc, steps.getType(), firstLane);
  Value index = arith::AddIOp::create(b, loc, from, steps);
  Type compute = computeType(element);
  Type type = VectorType::get({lanes}, isa<FloatType>(compute) ? b.getI64Type() : compute);
  Value number = arith::IndexCastOp::create(b, loc, type, index);
  return type == VectorType::get({lanes}, compute)
             ? number
             : arith::SIToFPOp::create(b, loc, VectorType::get({lanes}, compute), number);
}

Value VectorReader::leafElement(Value tensor, ValueRange indices) {
  const KernelReader::Buffer &buffer = scalars.bufferOf(tensor);
  Type element = buffer.type.getElementType();
  scalars.loc = loc;
  auto read = [&](ValueRange indices) {
    Value linear = scalars.linearIndex(buffer, indices);
    return indices.back() == firstLane
               ? loadElements(buffer.pointer, element, linear)
               : broadcast(BufferAccess::load(scalars, buffer.pointer, element, linear));
  };
  if (indices.empty())
    return BufferAccess::load(scalars, buffer.pointer, element, scalars.constant(0));
  if (!buffer.type.isDynamicDim(buffer.type.getRank() - 1) || !firstLane)
    return read(indices);
  // Whether there is an element a lane, or one for all, shows when the program runs.
  SmallVector<Value> first(indices), own(indices);
  first.back() = scalars.constant(0);
  own.back() = firstLane;
  return emitIf(
      *this, scalars.equal(buffer.dims.back(), scalars.constant(1)), [&] { return read(first); },
      [&] { return read(own); });
}

Value VectorReader::constantElement(Value tensor, ElementsAttr value,
                                    ValueRange indices) {
  llvm_unreachable("epilogues have no constants but splats: isVectorEpilogue");
}
