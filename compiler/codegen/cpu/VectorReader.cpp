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
  return broadcast(RecursiveReader::element(tensor, indices));
}

Value VectorReader::leafElement(Value tensor, ValueRange indices) {
  const KernelReader::Buffer &buffer = scalars.bufferOf(tensor);
  Type element = buffer.type.getElementType();
  scalars.loc = loc;
  Value linear = scalars.linearIndex(buffer, indices);
  if (!indices.empty() && indices.back() == firstLane)
    return load(buffer.pointer, element, linear);
  return BufferAccess::load(scalars, buffer.pointer, element, linear);
}

Value VectorReader::constantElement(Value tensor, ElementsAttr value,
                                    ValueRange indices) {
  llvm_unreachable("epilogues have no constants but splats: isVectorEpilogue");
}
