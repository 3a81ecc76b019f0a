//===- LongBlocksTest.cpp - long blocks of steps are cut ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/LongBlocks.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

namespace {

/// A function that adds `count` times to its second argument.
std::string sums(const std::string &name, const std::string &first, const std::string &type,
                 const std::string &operation, int count) {
  std::string text = "define " + type + " @" + name + "(" + first + " %run, " + type + " %v0) {\n";
  for (int i = 0; i < count; ++i)
    text += "  %v" + std::to_string(i + 1) + " = " + operation + " " + type + " %v" +
            std::to_string(i) + ", %v0\n";
  return text + "  ret " + type + " %v" + std::to_string(count) + "\n}\n";
}

std::unique_ptr<llvm::Module> divided(llvm::LLVMContext &context, const std::string &text) {
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, error, context);
  EXPECT_TRUE(module) << error.getMessage().str();
  if (module) {
    weir::divideLongBlocks(*module);
    EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  }
  return module;
}

size_t longestBlock(const llvm::Function &function) {
  size_t longest = 0;
  for (const llvm::BasicBlock &block : function)
    longest = std::max(longest, block.size());
  return longest;
}

TEST(LongBlocks, AreCutInOrder) {
  llvm::LLVMContext context;
  auto module = divided(context, sums("step", "ptr", "i64", "add", 3000));
  ASSERT_TRUE(module);
  const llvm::Function &step = *module->getFunction("step");
  EXPECT_LE(longestBlock(step), 384u);
  EXPECT_GT(step.size(), 8u);
  EXPECT_LT(step.size(), 16u);
  // Where there is a run, all sums are made, one after the other.
  const llvm::BasicBlock *block = &step.getEntryBlock();
  int at = 0;
  while (block) {
    for (const llvm::Instruction &instruction : *block)
      if (instruction.getOpcode() == llvm::Instruction::Add)
        EXPECT_EQ(instruction.getName(), "v" + std::to_string(++at));
    const llvm::Instruction *last = block->getTerminator();
    block = last->getNumSuccessors() ? last->getSuccessor(1) : nullptr;
    if (!block)
      EXPECT_EQ(last->getOperand(0)->getName(), "v3000");
  }
  EXPECT_EQ(at, 3000);
}

TEST(LongBlocks, OthersStay) {
  llvm::LLVMContext context;
  auto module = divided(context, sums("short", "ptr", "i64", "add", 380) +
                                     sums("floats", "ptr", "float", "fadd", 3000) +
                                     sums("vectors", "ptr", "<8 x i8>", "add", 3000) +
                                     sums("numbers", "i64", "i64", "add", 3000));
  ASSERT_TRUE(module);
  for (const llvm::Function &function : *module)
    EXPECT_EQ(function.size(), 1u) << function.getName().str();
}

} // namespace
