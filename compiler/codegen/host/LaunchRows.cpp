//===- LaunchRows.cpp - launches as rows of a table -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/host/LaunchRows.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

#include <algorithm>

using namespace weir;

/// A word holds the number of an address in its low bits, and above them the
/// bytes behind it.
static constexpr unsigned baseBits = 16;

bool LaunchRows::fits(size_t base, int64_t offset) {
  return base < (size_t(1) << baseBits) && offset >= 0 && offset < (int64_t(1) << (63 - baseBits));
}

uint64_t LaunchRows::word(size_t base, int64_t offset) {
  return uint64_t(offset) << baseBits | base;
}

size_t LaunchRows::add(size_t kernel, const std::string &symbol, int64_t range, int64_t grain,
                       llvm::ArrayRef<uint64_t> words) {
  kernels.resize(std::max(kernels.size(), kernel + 1));
  kernels[kernel] = symbol;
  rows.push_back({range, grain, int32_t(kernel), int32_t(words.size())});
  buffers.insert(buffers.end(), words.begin(), words.end());
  mostBuffers = std::max<int64_t>(mostBuffers, words.size());
  return rows.size() - 1;
}

/// Written out, the loop that ends in `branch` would be what the table stands for.
static void keepLoop(llvm::BranchInst *branch) {
  llvm::LLVMContext &context = branch->getContext();
  auto word = [&](const char *text) {
    return llvm::MDNode::get(context, llvm::MDString::get(context, text));
  };
  auto *said = llvm::MDNode::getDistinct(context, {nullptr, word("llvm.loop.unroll.disable")});
  said->replaceOperandWith(0, said);
  branch->setMetadata(llvm::LLVMContext::MD_loop, said);
}

void LaunchRows::fill(llvm::Module &module) const {
  if (rows.empty())
    return;
  llvm::LLVMContext &context = module.getContext();
  llvm::IRBuilder<> b(context);
  auto *pointer = b.getPtrTy();
  auto *rowType = llvm::StructType::get(
      context, {b.getInt64Ty(), b.getInt64Ty(), b.getInt32Ty(), b.getInt32Ty()});
  auto global = [&](llvm::Constant *contents, llvm::StringRef suffix) {
    auto *made =
        new llvm::GlobalVariable(module, contents->getType(), /*isConstant=*/true,
                                 llvm::GlobalValue::InternalLinkage, contents, function() + suffix);
    made->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
    return made;
  };
  std::vector<llvm::Constant *> elements;
  for (const Row &row : rows)
    elements.push_back(
        llvm::ConstantStruct::get(rowType, {b.getInt64(row.range), b.getInt64(row.grain),
                                            b.getInt32(row.kernel), b.getInt32(row.count)}));
  auto *rowTable = global(
      llvm::ConstantArray::get(llvm::ArrayType::get(rowType, rows.size()), elements), ".rows");
  auto *wordTable = global(llvm::ConstantDataArray::get(context, buffers), ".buffers");
  elements.clear();
  for (const std::string &kernel : kernels) {
    llvm::Function *callee = kernel.empty() ? nullptr : module.getFunction(kernel);
    elements.push_back(callee ? static_cast<llvm::Constant *>(callee)
                              : llvm::ConstantPointerNull::get(pointer));
  }
  auto *kernelTable =
      global(llvm::ConstantArray::get(llvm::ArrayType::get(pointer, kernels.size()), elements),
             ".kernels");

  llvm::Function *made = module.getFunction(function());
  llvm::Value *run = made->getArg(0), *addresses = made->getArg(1), *end = made->getArg(3);
  made->addFnAttr(llvm::Attribute::NoInline);
  auto block = [&](const char *name) { return llvm::BasicBlock::Create(context, name, made); };
  auto *entry = block("entry"), *head = block("row"), *body = block("buffer"),
       *launch = block("launch"), *next = block("next"), *done = block("done");
  b.SetInsertPoint(entry);
  llvm::Value *pointers = b.CreateAlloca(pointer, b.getInt64(mostBuffers));
  b.CreateBr(head);

  b.SetInsertPoint(head);
  auto *row = b.CreatePHI(b.getInt64Ty(), 2), *first = b.CreatePHI(b.getInt64Ty(), 2);
  row->addIncoming(made->getArg(2), entry);
  first->addIncoming(made->getArg(4), entry);
  llvm::Value *place = b.CreateInBoundsGEP(rowType, rowTable, row);
  auto field = [&](unsigned number) {
    return b.CreateLoad(rowType->getElementType(number), b.CreateStructGEP(rowType, place, number));
  };
  llvm::Value *range = field(0), *grain = field(1), *kernel = field(2);
  llvm::Value *count = b.CreateZExt(field(3), b.getInt64Ty());
  b.CreateCondBr(b.CreateIsNull(count), launch, body);

  b.SetInsertPoint(body);
  auto *index = b.CreatePHI(b.getInt64Ty(), 2);
  index->addIncoming(b.getInt64(0), head);
  llvm::Value *wanted = b.CreateLoad(
      b.getInt64Ty(), b.CreateInBoundsGEP(b.getInt64Ty(), wordTable, b.CreateAdd(first, index)));
  llvm::Value *base = b.CreateLoad(
      pointer,
      b.CreateInBoundsGEP(pointer, addresses, b.CreateAnd(wanted, (uint64_t(1) << baseBits) - 1)));
  b.CreateStore(b.CreateGEP(b.getInt8Ty(), base, b.CreateLShr(wanted, baseBits)),
                b.CreateInBoundsGEP(pointer, pointers, index));
  llvm::Value *following = b.CreateAdd(index, b.getInt64(1));
  index->addIncoming(following, body);
  keepLoop(b.CreateCondBr(b.CreateICmpULT(following, count), body, launch));

  b.SetInsertPoint(launch);
  llvm::Value *callee = b.CreateLoad(
      pointer, b.CreateInBoundsGEP(pointer, kernelTable, b.CreateZExt(kernel, b.getInt64Ty())));
  llvm::Value *code = b.CreateCall(
      module.getFunction("weir_rt_parallel"),
      {run, callee, pointers, llvm::ConstantPointerNull::get(pointer), range, grain, kernel});
  llvm::Value *nextRow = b.CreateAdd(row, b.getInt64(1));
  llvm::Value *nextFirst = b.CreateAdd(first, count);
  b.CreateCondBr(b.CreateIsNull(code), next, done);

  b.SetInsertPoint(next);
  row->addIncoming(nextRow, next);
  first->addIncoming(nextFirst, next);
  keepLoop(b.CreateCondBr(b.CreateICmpULT(nextRow, end), head, done));

  b.SetInsertPoint(done);
  auto *result = b.CreatePHI(b.getInt32Ty(), 2);
  result->addIncoming(code, launch);
  result->addIncoming(b.getInt32(0), next);
  b.CreateRet(result);
}
