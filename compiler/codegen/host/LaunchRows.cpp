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

void LaunchRows::note(size_t kernel, const std::string &symbol) {
  kernels.resize(std::max(kernels.size(), kernel + 1));
  kernels[kernel] = symbol;
}

size_t LaunchRows::add(size_t kernel, const std::string &symbol, int64_t range, int64_t grain,
                       llvm::ArrayRef<uint64_t> words) {
  note(kernel, symbol);
  rows.push_back({range, grain, int32_t(kernel), int32_t(words.size())});
  buffers.insert(buffers.end(), words.begin(), words.end());
  mostBuffers = std::max<int64_t>(mostBuffers, words.size());
  return rows.size() - 1;
}

//===----------------------------------------------------------------------===//
// Open rows: a word of kind and number, one of two slots, then buffers and sizes
//===----------------------------------------------------------------------===//

namespace {
enum OpenKind { openLaunch, openAllocation, openFree };
} // namespace
static constexpr unsigned kindBits = 8, numberBits = 24, countBits = 16, slotBits = 32;

static uint64_t headOf(uint64_t kind, uint64_t number, uint64_t buffers = 0, uint64_t sizes = 0) {
  return kind | number << kindBits | buffers << (kindBits + numberBits) |
         sizes << (kindBits + numberBits + countBits);
}

void LaunchRows::addOpen(size_t kernel, const std::string &symbol, size_t rangeSlot,
                         size_t grainSlot, llvm::ArrayRef<uint64_t> buffers,
                         llvm::ArrayRef<size_t> sizes) {
  note(kernel, symbol);
  words.push_back(headOf(openLaunch, kernel, buffers.size(), sizes.size()));
  words.push_back(uint64_t(grainSlot) << slotBits | rangeSlot);
  words.insert(words.end(), buffers.begin(), buffers.end());
  words.insert(words.end(), sizes.begin(), sizes.end());
  mostOpenBuffers = std::max<int64_t>(mostOpenBuffers, buffers.size());
  mostSizes = std::max<int64_t>(mostSizes, sizes.size());
}

void LaunchRows::addAllocation(size_t addressSlot, size_t bytesSlot, size_t site) {
  words.push_back(headOf(openAllocation, site));
  words.push_back(uint64_t(bytesSlot) << slotBits | addressSlot);
}

void LaunchRows::addFree(size_t addressSlot) {
  words.push_back(headOf(openFree, 0));
  words.push_back(addressSlot);
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

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

/// `contents` as an internal constant of the module.
static llvm::GlobalVariable *tableOf(llvm::Module &module, llvm::Constant *contents,
                                     const llvm::Twine &name) {
  auto *made = new llvm::GlobalVariable(module, contents->getType(), /*isConstant=*/true,
                                        llvm::GlobalValue::InternalLinkage, contents, name);
  made->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  return made;
}

/// Kernels by number; null: in no row.
llvm::Constant *LaunchRows::kernelTable(llvm::Module &module) const {
  auto *pointer = llvm::PointerType::getUnqual(module.getContext());
  std::vector<llvm::Constant *> elements;
  for (const std::string &kernel : kernels) {
    llvm::Function *callee = kernel.empty() ? nullptr : module.getFunction(kernel);
    elements.push_back(callee ? static_cast<llvm::Constant *>(callee)
                              : llvm::ConstantPointerNull::get(pointer));
  }
  auto *type = llvm::ArrayType::get(pointer, kernels.size());
  return tableOf(module, llvm::ConstantArray::get(type, elements), function() + ".kernels");
}

void LaunchRows::fill(llvm::Module &module) const {
  if (rows.empty() && words.empty())
    return;
  llvm::Constant *kernelsByNumber = kernelTable(module);
  fillKnown(module, kernelsByNumber);
  fillOpen(module, kernelsByNumber);
}

namespace {

/// The function that goes through a table of words: launches with the sizes that types leave open,
/// and what the step allocates and frees for them.
class OpenRows {
public:
  OpenRows(llvm::Module &module, llvm::Function *made, llvm::Value *table,
           llvm::Constant *kernelsByNumber)
      : module(module), made(made), table(table), kernelsByNumber(kernelsByNumber),
        b(module.getContext()) {}

  void emit(int64_t mostBuffers, int64_t mostSizes) {
    llvm::Value *end = made->getArg(3);
    auto *entry = block("entry"), *head = block("row"), *launch = block("launch"),
         *buffer = block("buffer"), *sizes = block("sizes"), *size = block("size"),
         *ready = block("ready"), *allocation = block("allocation"), *release = block("free");
    next = block("next"), done = block("done");

    b.SetInsertPoint(entry);
    pointers = b.CreateAlloca(pointer, b.getInt64(mostBuffers));
    lengths = b.CreateAlloca(word, b.getInt64(mostSizes));
    b.CreateBr(head);

    b.SetInsertPoint(head);
    auto *at = b.CreatePHI(word, 2);
    at->addIncoming(made->getArg(2), entry);
    llvm::Value *first = wordAt(at), *both = wordAt(plus(at, 1)), *behind = plus(at, 2);
    low = bits(both, 0, slotBits), high = b.CreateLShr(both, slotBits);
    number = b.CreateTrunc(bits(first, kindBits, numberBits), b.getInt32Ty());
    auto *kind = b.CreateSwitch(bits(first, 0, kindBits), release, 2);
    kind->addCase(b.getInt64(openLaunch), launch);
    kind->addCase(b.getInt64(openAllocation), allocation);

    b.SetInsertPoint(launch);
    llvm::Value *count = bits(first, kindBits + numberBits, countBits);
    llvm::Value *sizeCount = b.CreateLShr(first, kindBits + numberBits + countBits);
    llvm::Value *firstSize = b.CreateAdd(behind, count);
    llvm::Value *endOfLaunch = b.CreateAdd(firstSize, sizeCount);
    b.CreateBr(buffer);
    readBuffers(launch, buffer, behind, count, sizes);
    b.SetInsertPoint(sizes);
    b.CreateCondBr(b.CreateIsNull(sizeCount), ready, size);
    readSizes(sizes, size, firstSize, sizeCount, ready);
    llvm::Value *code = emitLaunch(ready);
    emitAllocation(allocation);
    emitFree(release);

    b.SetInsertPoint(next);
    auto *nextRow = b.CreatePHI(word, 3);
    nextRow->addIncoming(endOfLaunch, ready);
    nextRow->addIncoming(behind, allocation);
    nextRow->addIncoming(behind, release);
    at->addIncoming(nextRow, next);
    keepLoop(b.CreateCondBr(b.CreateICmpULT(nextRow, end), head, done));

    b.SetInsertPoint(done);
    auto *result = b.CreatePHI(b.getInt32Ty(), 3);
    result->addIncoming(code, ready);
    result->addIncoming(b.getInt32(1), allocation);
    result->addIncoming(b.getInt32(0), next);
    b.CreateRet(result);
  }

private:
  llvm::BasicBlock *block(const char *name) {
    return llvm::BasicBlock::Create(module.getContext(), name, made);
  }
  llvm::Value *wordAt(llvm::Value *number) {
    return b.CreateLoad(word, b.CreateInBoundsGEP(word, table, number));
  }
  llvm::Value *slot(llvm::Value *number) {
    return b.CreateInBoundsGEP(word, made->getArg(1), number);
  }
  llvm::Value *bits(llvm::Value *value, unsigned from, unsigned count) {
    return b.CreateAnd(b.CreateLShr(value, from), (uint64_t(1) << count) - 1);
  }
  llvm::Value *plus(llvm::Value *x, uint64_t y) { return b.CreateAdd(x, b.getInt64(y)); }

  /// The addresses of a launch's buffers: in `body` again and again, then to `after`.
  void readBuffers(llvm::BasicBlock *before, llvm::BasicBlock *body, llvm::Value *first,
                   llvm::Value *count, llvm::BasicBlock *after) {
    b.SetInsertPoint(body);
    auto *index = b.CreatePHI(word, 2);
    index->addIncoming(b.getInt64(0), before);
    llvm::Value *wanted = wordAt(b.CreateAdd(first, index));
    llvm::Value *base = b.CreateLoad(pointer, slot(bits(wanted, 0, baseBits)));
    b.CreateStore(b.CreateGEP(b.getInt8Ty(), base, b.CreateLShr(wanted, baseBits)),
                  b.CreateInBoundsGEP(pointer, pointers, index));
    llvm::Value *following = plus(index, 1);
    index->addIncoming(following, body);
    keepLoop(b.CreateCondBr(b.CreateICmpULT(following, count), body, after));
  }

  /// Its sizes, as readBuffers.
  void readSizes(llvm::BasicBlock *before, llvm::BasicBlock *body, llvm::Value *first,
                 llvm::Value *count, llvm::BasicBlock *after) {
    b.SetInsertPoint(body);
    auto *index = b.CreatePHI(word, 2);
    index->addIncoming(b.getInt64(0), before);
    b.CreateStore(b.CreateLoad(word, slot(wordAt(b.CreateAdd(first, index)))),
                  b.CreateInBoundsGEP(word, lengths, index));
    llvm::Value *following = plus(index, 1);
    index->addIncoming(following, body);
    keepLoop(b.CreateCondBr(b.CreateICmpULT(following, count), body, after));
  }

  /// Returns the launch's code, which is 0 where the table goes on.
  llvm::Value *emitLaunch(llvm::BasicBlock *at) {
    b.SetInsertPoint(at);
    llvm::Value *callee = b.CreateLoad(
        pointer, b.CreateInBoundsGEP(pointer, kernelsByNumber, b.CreateZExt(number, word)));
    llvm::Value *range = b.CreateLoad(word, slot(low)), *grain = b.CreateLoad(word, slot(high));
    llvm::Value *code =
        b.CreateCall(module.getFunction("weir_rt_parallel"),
                     {made->getArg(0), callee, pointers, lengths, range, grain, number});
    b.CreateCondBr(b.CreateIsNull(code), next, done);
    return code;
  }

  void emitAllocation(llvm::BasicBlock *at) {
    b.SetInsertPoint(at);
    llvm::Value *memory = b.CreateCall(module.getFunction("weir_rt_alloc"),
                                       {made->getArg(0), b.CreateLoad(word, slot(high)), number});
    b.CreateStore(memory, slot(low));
    b.CreateCondBr(b.CreateIsNull(memory), done, next);
  }

  void emitFree(llvm::BasicBlock *at) {
    b.SetInsertPoint(at);
    b.CreateCall(module.getFunction("weir_rt_free"),
                 {made->getArg(0), b.CreateLoad(pointer, slot(low))});
    b.CreateBr(next);
  }

  llvm::Module &module;
  llvm::Function *made;
  llvm::Value *table;
  llvm::Constant *kernelsByNumber;
  llvm::IRBuilder<> b;
  llvm::PointerType *pointer = b.getPtrTy();
  llvm::IntegerType *word = b.getInt64Ty();
  llvm::BasicBlock *next = nullptr, *done = nullptr;
  llvm::Value *pointers = nullptr, *lengths = nullptr; ///< of the launch's buffers, and its sizes
  /// Of the row: its two slots, and which kernel or error site it names.
  llvm::Value *low = nullptr, *high = nullptr, *number = nullptr;
};

} // namespace

void LaunchRows::fillOpen(llvm::Module &module, llvm::Constant *kernelsByNumber) const {
  if (words.empty())
    return;
  auto *table = tableOf(module, llvm::ConstantDataArray::get(module.getContext(), words),
                        openFunction() + ".rows");
  llvm::Function *made = module.getFunction(openFunction());
  made->addFnAttr(llvm::Attribute::NoInline);
  OpenRows(module, made, table, kernelsByNumber).emit(mostOpenBuffers, mostSizes);
}

void LaunchRows::fillKnown(llvm::Module &module, llvm::Constant *kernelsByNumber) const {
  if (rows.empty())
    return;
  llvm::LLVMContext &context = module.getContext();
  llvm::IRBuilder<> b(context);
  auto *pointer = b.getPtrTy();
  auto *rowType = llvm::StructType::get(
      context, {b.getInt64Ty(), b.getInt64Ty(), b.getInt32Ty(), b.getInt32Ty()});
  std::vector<llvm::Constant *> elements;
  for (const Row &row : rows)
    elements.push_back(
        llvm::ConstantStruct::get(rowType, {b.getInt64(row.range), b.getInt64(row.grain),
                                            b.getInt32(row.kernel), b.getInt32(row.count)}));
  auto *rowTable = tableOf(
      module, llvm::ConstantArray::get(llvm::ArrayType::get(rowType, rows.size()), elements),
      function() + ".rows");
  auto *wordTable =
      tableOf(module, llvm::ConstantDataArray::get(context, buffers), function() + ".buffers");

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
      pointer, b.CreateInBoundsGEP(pointer, kernelsByNumber, b.CreateZExt(kernel, b.getInt64Ty())));
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
