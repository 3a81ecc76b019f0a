//===- CudaTensorCores.cpp - products by tensor cores ----------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaKernel.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace weir;

Value weir::packHalves(CudaReader &r, Value low, Value high) {
  OpBuilder &b = r.b;
  Type word = b.getI32Type(), half = b.getIntegerType(16);
  auto bits = [&](Value value) {
    return arith::ExtUIOp::create(b, r.loc, word, arith::BitcastOp::create(b, r.loc, half, value))
        .getResult();
  };
  Value shift = arith::ConstantIntOp::create(b, r.loc, word, 16);
  return arith::OrIOp::create(b, r.loc, bits(low),
                              arith::ShLIOp::create(b, r.loc, bits(high), shift));
}

void weir::multiplyOnTensorCores(CudaReader &r, Type operand, ArrayRef<Value> left,
                                 ArrayRef<Value> right, MutableArrayRef<Value> sums) {
  OpBuilder &b = r.b;
  bool isBrain = operand.isBF16();
  // f16 comes as vectors of two, bf16 as words.
  auto form = [&](ArrayRef<Value> words) {
    SmallVector<Value> values(words);
    if (!isBrain)
      for (Value &value : values)
        value = LLVM::BitcastOp::create(b, r.loc, VectorType::get({2}, b.getF16Type()), value);
    return values;
  };
  Type f32 = b.getF32Type();
  auto result = LLVM::LLVMStructType::getLiteral(b.getContext(), {f32, f32, f32, f32});
  NVVM::MMATypes type = isBrain ? NVVM::MMATypes::bf16 : NVVM::MMATypes::f16;
  Value all = NVVM::MmaOp::create(
      b, r.loc, result, form(left), form(right), ValueRange(sums),
      ArrayRef<int64_t>{tensorCoreRows, tensorCoreColumns, 16}, std::nullopt, std::nullopt,
      std::array<NVVM::MMATypes, 2>{type, type},
      std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row, NVVM::MMALayout::col});
  for (auto [i, sum] : llvm::enumerate(sums))
    sum = LLVM::ExtractValueOp::create(b, r.loc, all, ArrayRef<int64_t>{int64_t(i)});
}
