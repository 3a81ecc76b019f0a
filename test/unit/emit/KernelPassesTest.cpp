//===- KernelPassesTest.cpp - LLVM passes for kernels ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/KernelPasses.h"

#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SourceMgr.h"

#include <gtest/gtest.h>

using namespace weir;

namespace {

/// A function that stores what a loop of `turns` turns makes of an accumulator, of `products` an
/// iteration. `chooses`: from the third turn on another line is read.
std::string loopOf(int turns, int products, bool chooses = false) {
  std::string text = R"(
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
define void @kernel(ptr noalias %from, ptr noalias %to) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %sum = phi <8 x float> [ zeroinitializer, %entry ], [ %last, %body ]
  %more = icmp slt i64 %i, )" +
                     std::to_string(turns) + R"(
  br i1 %more, label %body, label %end
body:
  %early = icmp slt i64 %i, 2
  %step = select i1 %early, i64 1000, i64 8
)" + (chooses ? "  %at = mul i64 %i, %step\n" : "  %at = mul i64 %i, 8\n") +
                     "  %line = getelementptr float, ptr %from, i64 %at\n";
  std::string sum = "%sum";
  for (int i = 0; i < products; ++i) {
    std::string n = std::to_string(i), made = i + 1 == products ? "%last" : "%s" + n;
    text += "  %p" + n + " = getelementptr float, ptr %line, i64 " + std::to_string(i * 64) +
            "\n  %v" + n + " = load <8 x float>, ptr %p" + n + ", align 4\n  " + made +
            " = call <8 x float> @llvm.fma.v8f32(<8 x float> %v" + n + ", <8 x float> %v" + n +
            ", <8 x float> " + sum + ")\n";
    sum = made;
  }
  return text + R"(
  %next = add i64 %i, 1
  br label %head
end:
  store <8 x float> %sum, ptr %to, align 4
  ret void
}
)";
}

/// The same of three turns, of which each is a loop of `turns` turns. `chooses`: the first of the
/// three reads other lines.
std::string nestOf(int turns, int products, bool chooses = false) {
  std::string text =
      R"(
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
define void @kernel(ptr noalias %from, ptr noalias %to) {
entry:
  br label %outer
outer:
  %o = phi i64 [ 0, %entry ], [ %after, %latch ]
  %carried = phi <8 x float> [ zeroinitializer, %entry ], [ %last, %latch ]
  %first = icmp eq i64 %o, 0
  %pitch = select i1 %first, i64 64000, i64 128000
)" +
      std::string(chooses ? "  %row = mul i64 %o, %pitch\n  %plane = add i64 %row, %pitch\n"
                          : "  %plane = mul i64 %o, 128000\n") +
      R"(
  br label %inner
inner:
  %i = phi i64 [ 0, %outer ], [ %next, %inner ]
  %sum = phi <8 x float> [ %carried, %outer ], [ %last, %inner ]
  %step = mul i64 %i, 8
  %at = add i64 %plane, %step
  %line = getelementptr float, ptr %from, i64 %at
)";
  std::string sum = "%sum";
  for (int i = 0; i < products; ++i) {
    std::string n = std::to_string(i), made = i + 1 == products ? "%last" : "%s" + n;
    text += "  %p" + n + " = getelementptr float, ptr %line, i64 " + std::to_string(i * 64) +
            "\n  %v" + n + " = load <8 x float>, ptr %p" + n + ", align 4\n  " + made +
            " = call <8 x float> @llvm.fma.v8f32(<8 x float> %v" + n + ", <8 x float> %v" + n +
            ", <8 x float> " + sum + ")\n";
    sum = made;
  }
  return text + R"(
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, )" +
         std::to_string(turns) + R"(
  br i1 %more, label %inner, label %latch
latch:
  %after = add i64 %o, 1
  %again = icmp slt i64 %after, 3
  br i1 %again, label %outer, label %end
end:
  store <8 x float> %last, ptr %to, align 4
  ret void
}
)";
}

/// How many loops and products the list for kernels in vectors leaves of the function.
std::pair<size_t, size_t> leftOf(const std::string &text) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, problem, context);
  EXPECT_TRUE(module) << problem.getMessage().str();
  if (!module)
    return {};
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::Function &kernel = *module->getFunction("kernel");
  vectorKernelPasses().run(kernel, functions);
  llvm::DominatorTree dominators(kernel);
  size_t products = 0;
  for (llvm::BasicBlock &block : kernel)
    for (llvm::Instruction &instruction : block)
      products += llvm::isa<llvm::CallInst>(instruction);
  return {llvm::LoopInfo(dominators).getLoopsInPreorder().size(), products};
}

TEST(KernelPasses, ShortLoopsAreWrittenOut) {
  EXPECT_EQ(leftOf(loopOf(3, 8)), std::pair(size_t(0), size_t(24)));
  EXPECT_EQ(leftOf(loopOf(10, 8)), std::pair(size_t(0), size_t(80)));
}

TEST(KernelPasses, LoopsThatBecomeTooLongAreKept) {
  EXPECT_EQ(leftOf(loopOf(4, 100)), std::pair(size_t(1), size_t(100)));
  EXPECT_EQ(leftOf(loopOf(512, 30)), std::pair(size_t(1), size_t(30)));
  // Few turns of little, of which addresses alone would fall away.
  EXPECT_EQ(leftOf(loopOf(7, 60)), std::pair(size_t(1), size_t(60)));
}

TEST(KernelPasses, TurnsThatAreLongLoopsAreKept) {
  EXPECT_EQ(leftOf(nestOf(512, 16)), std::pair(size_t(2), size_t(16)));
  // What is known of each turn may make its loop another one.
  EXPECT_EQ(leftOf(nestOf(512, 16, /*chooses=*/true)), std::pair(size_t(3), size_t(48)));
  // Loops that are written out are no loops.
  EXPECT_EQ(leftOf(nestOf(2, 16)), std::pair(size_t(0), size_t(96)));
}

TEST(KernelPasses, TurnsThatDifferAreWrittenOutBesideTheLoop) {
  auto [loops, products] = leftOf(loopOf(512, 8, /*chooses=*/true));
  EXPECT_EQ(loops, size_t(1));
  EXPECT_EQ(products, size_t(8 * 3)); // two turns before it
}

} // namespace
