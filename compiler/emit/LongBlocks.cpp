//===- LongBlocks.cpp - blocks that selection takes too long for ----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/LongBlocks.h"
#include "compiler/emit/KernelPasses.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"

using namespace llvm;

/// Instructions up to which a block stays as it is, and those that a part of a longer one gets.
static constexpr unsigned longest = 384, length = 256;

static bool isOfIntegers(const Function &function) {
  return weir::hasNoFloats(function) &&
         none_of(instructions(function), [](const Instruction &instruction) {
           return instruction.getType()->isVectorTy();
         });
}

/// The first pointer that the function is called with, which of a step is its run, of a part of one
/// that waits its frame, and never null; null: it has none.
static Argument *pointerOf(Function &function) {
  for (Argument &argument : function.args())
    if (argument.getType()->isPointerTy())
      return &argument;
  return nullptr;
}

/// Where a function returns that is called without a run.
static BasicBlock *returnOf(Function &function) {
  auto *block = BasicBlock::Create(function.getContext(), "", &function);
  IRBuilder<> b(block);
  Type *type = function.getReturnType();
  if (type->isVoidTy())
    b.CreateRetVoid();
  else
    b.CreateRet(Constant::getNullValue(type));
  return block;
}

static void divide(Function &function) {
  SmallVector<BasicBlock *> blocks;
  for (BasicBlock &block : function)
    if (block.size() > longest)
      blocks.push_back(&block);
  Argument *pointer = blocks.empty() ? nullptr : pointerOf(function);
  if (!pointer || !isOfIntegers(function))
    return;
  BasicBlock *otherwise = returnOf(function);
  for (BasicBlock *block : blocks)
    while (block->size() > longest) {
      auto from = std::next(block->begin(), length);
      // Space of the function's frame is asked for in its first block, and what a block is entered
      // with stands at its begin.
      while (isa<AllocaInst, PHINode>(*from))
        ++from;
      if (from->isTerminator())
        break;
      BasicBlock *rest = block->splitBasicBlock(from);
      // A plain branch would be joined again, so the branch has a condition.
      Instruction *branch = block->getTerminator();
      IRBuilder<> b(branch);
      b.CreateCondBr(b.CreateIsNull(pointer), otherwise, rest);
      branch->eraseFromParent();
      block = rest;
    }
}

void weir::divideLongBlocks(Module &module) {
  for (Function &function : module)
    if (!function.isDeclaration())
      divide(function);
}
