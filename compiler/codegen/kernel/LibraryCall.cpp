//===- LibraryCall.cpp - what calls of library functions share --*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/kernel/LibraryCall.h"
#include "compiler/emit/Program.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "weir/weir.h"
#include <cstddef>

using namespace mlir;
using namespace weir;

void weir::declareLibraryFunction(ModuleOp module, Location loc, StringRef name) {
  if (module.lookupSymbol(name))
    return;
  OpBuilder b(module.getContext());
  b.setInsertionPointToStart(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(b.getContext()), i32 = b.getI32Type();
  LLVM::LLVMFuncOp::create(
      b, loc, name,
      LLVM::LLVMFunctionType::get(i32, {pointer, pointer, i32, pointer, i32, pointer}));
}

void weir::storeTensor(OpBuilder &b, Location loc, Value tensor, Value data, Type element,
                       ValueRange dims) {
  auto store = [&](Value value, size_t bytes) {
    Value place = LLVM::GEPOp::create(b, loc, tensor.getType(), b.getI8Type(), tensor,
                                      ArrayRef<LLVM::GEPArg>{int32_t(bytes)});
    LLVM::StoreOp::create(b, loc, value, place);
  };
  auto number = [&](Type type, int64_t value) {
    return LLVM::ConstantOp::create(b, loc, type, b.getIntegerAttr(type, value));
  };
  store(data, offsetof(weir_tensor, data));
  Value bytes = number(b.getI64Type(), elementBytes(element));
  for (Value dim : dims)
    bytes = LLVM::MulOp::create(b, loc, bytes, dim);
  store(bytes, offsetof(weir_tensor, bytes));
  store(number(b.getI32Type(), dtypeOf(element)), offsetof(weir_tensor, dtype));
  store(number(b.getI32Type(), int64_t(dims.size())), offsetof(weir_tensor, rank));
  for (auto [i, dim] : llvm::enumerate(dims))
    store(dim, offsetof(weir_tensor, dims) + 8 * i);
}
