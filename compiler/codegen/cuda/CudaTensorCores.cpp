//===- CudaTensorCores.cpp - products by tensor cores ----------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/Assemble.h"
#include "compiler/codegen/cuda/CudaKernel.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace weir;

Value weir::packWord(CudaReader &r, ArrayRef<Value> numbers) {
  OpBuilder &b = r.b;
  constexpr unsigned wordBits = 32;
  unsigned width = wordBits / unsigned(numbers.size());
  Type word = b.getI32Type(), bits = b.getIntegerType(width);
  Value all;
  for (auto [i, number] : llvm::enumerate(numbers)) {
    Value own = isa<IntegerType>(number.getType())
                    ? number
                    : arith::BitcastOp::create(b, r.loc, bits, number).getResult();
    own = arith::ExtUIOp::create(b, r.loc, word, own);
    Value shift = arith::ConstantIntOp::create(b, r.loc, word, int64_t(i) * width);
    own = i == 0 ? own : arith::ShLIOp::create(b, r.loc, own, shift).getResult();
    all = all ? arith::OrIOp::create(b, r.loc, all, own).getResult() : own;
  }
  return all;
}

/// What mma calls an operand, and how deep its products are.
static std::pair<NVVM::MMATypes, int64_t> coreType(Type operand) {
  if (auto integer = dyn_cast<IntegerType>(operand))
    return {integer.isUnsigned() ? NVVM::MMATypes::u8 : NVVM::MMATypes::s8, 32};
  return {operand.isBF16() ? NVVM::MMATypes::bf16 : NVVM::MMATypes::f16, 16};
}

/// 8-bit floats: by a function that each architecture has of its own (Assemble.cpp).
static void multiplyNarrow(CudaReader &r, Type leftType, Type rightType, ArrayRef<Value> left,
                           ArrayRef<Value> right, MutableArrayRef<Value> sums) {
  OpBuilder &b = r.b;
  auto nameOf = [](Type type) { return isa<Float8E5M2Type>(type) ? "e5m2" : "e4m3"; };
  std::string name = narrowProduct(nameOf(leftType), nameOf(rightType));
  Type sum = sums.front().getType(), word = b.getI32Type();
  auto result = LLVM::LLVMStructType::getLiteral(b.getContext(), {sum, sum, sum, sum});
  auto module = r.function->getParentOfType<gpu::GPUModuleOp>();
  if (!module.lookupSymbol(name)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    SmallVector<Type> types(left.size() + right.size(), word);
    types.append(sums.size(), sum);
    LLVM::LLVMFuncOp::create(b, r.loc, name, LLVM::LLVMFunctionType::get(result, types));
  }
  SmallVector<Value> operands(left);
  llvm::append_range(operands, right);
  llvm::append_range(operands, sums);
  Value all = LLVM::CallOp::create(b, r.loc, TypeRange{result}, name, operands).getResult();
  for (auto [i, own] : llvm::enumerate(sums))
    own = LLVM::ExtractValueOp::create(b, r.loc, all, ArrayRef<int64_t>{int64_t(i)});
}

void weir::multiplyOnTensorCores(CudaReader &r, Type leftType, Type rightType, ArrayRef<Value> left,
                                 ArrayRef<Value> right, MutableArrayRef<Value> sums) {
  if (isa<FloatType>(leftType) && leftType.getIntOrFloatBitWidth() == 8)
    return multiplyNarrow(r, leftType, rightType, left, right, sums);
  OpBuilder &b = r.b;
  // f16 comes as vectors of two, all else as words.
  auto form = [&](ArrayRef<Value> words) {
    SmallVector<Value> values(words);
    if (leftType.isF16())
      for (Value &value : values)
        value = LLVM::BitcastOp::create(b, r.loc, VectorType::get({2}, b.getF16Type()), value);
    return values;
  };
  Type sum = sums.front().getType();
  auto result = LLVM::LLVMStructType::getLiteral(b.getContext(), {sum, sum, sum, sum});
  auto [type, depth] = coreType(leftType);
  auto overflow =
      isa<IntegerType>(leftType) ? std::optional(NVVM::MMAIntOverflow::wrapped) : std::nullopt;
  Value all = NVVM::MmaOp::create(
      b, r.loc, result, form(left), form(right), ValueRange(sums),
      ArrayRef<int64_t>{tensorCoreRows, tensorCoreColumns, depth}, std::nullopt, overflow,
      std::array<NVVM::MMATypes, 2>{type, coreType(rightType).first},
      std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row, NVVM::MMALayout::col});
  for (auto [i, own] : llvm::enumerate(sums))
    own = LLVM::ExtractValueOp::create(b, r.loc, all, ArrayRef<int64_t>{int64_t(i)});
}
