//===- Buffers.cpp - the buffers that a step names ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/Buffers.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

Value plan::rootOf(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewOp>())
    buffer = view.getSource();
  return buffer;
}

bool plan::isWritten(OpOperand &operand) {
  Operation *op = operand.getOwner();
  if (auto run = dyn_cast<RunOp>(op))
    return operand.getOperandNumber() >= op->getNumOperands() - run.getOutputs().size();
  if (auto copy = dyn_cast<CopyOp>(op))
    return operand.get() == copy.getTarget();
  if (auto reduce = dyn_cast<plan::AllReduceOp>(op))
    return operand.get() == reduce.getTarget();
  return !isa<memref::DimOp>(op) && !op->hasTrait<plan::traits::OnlyReads>();
}

int64_t plan::elementSize(Type type) {
  if (auto complexType = dyn_cast<ComplexType>(type))
    return 2 * elementSize(complexType.getElementType());
  if (isa<StringType>(type))
    return 16; // weir_string
  if (isa<LLVM::LLVMPointerType>(type))
    return 8; // weir_tensor_ref
  return llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
}

int64_t plan::arenaBytes(MemRefType type) {
  int64_t bytes = std::max<int64_t>(type.getNumElements(), 0) * elementSize(type.getElementType());
  return llvm::alignTo(std::max<int64_t>(bytes, 1), arenaAlignment);
}

int64_t plan::knownBytes(MemRefType type) {
  int64_t bytes = elementSize(type.getElementType());
  for (int64_t size : type.getShape())
    if (!ShapedType::isDynamic(size) && __builtin_mul_overflow(bytes, size, &bytes))
      bytes = INT64_MAX;
  return bytes;
}

OpFoldResult plan::PaddedBytesOp::fold(FoldAdaptor adaptor) {
  int64_t bytes = knownBytes(cast<MemRefType>(getBuffer()));
  for (Attribute size : adaptor.getSizes()) {
    auto known = dyn_cast_if_present<IntegerAttr>(size);
    if (!known)
      return {};
    if (__builtin_mul_overflow(bytes, known.getInt(), &bytes))
      bytes = INT64_MAX;
  }
  bytes = llvm::alignTo(std::clamp<int64_t>(bytes, 1, mostPooled), arenaAlignment);
  return IntegerAttr::get(IndexType::get(getContext()), bytes);
}
