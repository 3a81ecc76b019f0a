//===- SharedBodiesTest.cpp - one body for kernels that differ in numbers -===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/SharedBodies.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

using namespace weir;

namespace {

/// What a kernel differs in from its like.
struct Form {
  int turns = 64;                        ///< of the loop over products
  int panel = 2048;                      ///< elements between what the outer loop's turns read
  int stride = 64;                       ///< elements between a tile's rows
  std::string factor = "2.0";            ///< of all sums
  std::string last = "fmul";             ///< what is done with it
  std::vector<std::string> factors = {}; ///< of that, one by one
  int divisor = 0; ///< of the position, in the inner loop; 0: it is not divided
  int rows = 70;   ///< that are summed
};

/// A kernel of that form, which hands all on to a function of its own: sums of rows.
std::string kernel(const std::string &name, const Form &form) {
  std::string turns = std::to_string(form.turns), panel = std::to_string(form.panel), text;
  text = "define internal i32 @" + name + "(ptr %b, i64 %n) nounwind {\n  %r = call i32 @" + name +
         ".body(ptr %b, i64 %n)\n  ret i32 %r\n}\ndefine internal i32 @" + name +
         R"(.body(ptr noalias %b, i64 %n) alwaysinline nounwind {
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %inext, %store ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %start, label %end
start:
  %from = mul i64 %i, )" +
         panel + R"(
  br label %head
head:
  %k = phi i64 [ 0, %start ], [ %knext, %body ]
  %sum = phi <8 x float> [ zeroinitializer, %start ], [ %s)" +
         std::to_string(form.rows - 1) + R"(, %body ]
  %again = icmp slt i64 %k, )" +
         turns + R"(
  br i1 %again, label %body, label %store
body:
  %first = add i64 %from, %k
)";
  text += form.divisor ? "  %at = udiv i64 %first, " + std::to_string(form.divisor) + "\n"
                       : "  %at = add i64 %first, %n\n";
  for (int row = 0; row < form.rows; ++row) {
    std::string r = std::to_string(row), before = row ? "%s" + std::to_string(row - 1) : "%sum";
    text += "  %a" + r + " = add i64 %at, " + std::to_string(row * form.stride) + "\n  %p" + r +
            " = getelementptr float, ptr %b, i64 %a" + r + "\n  %v" + r +
            " = load <8 x float>, ptr %p" + r + ", align 4\n  %s" + r + " = fadd <8 x float> " +
            before + ", %v" + r + "\n";
  }
  text += R"(  %knext = add i64 %k, 1
  br label %head
store:
  %w = )" +
          form.last + " <8 x float> %sum, splat (float " + form.factor + ")\n";
  std::string result = "%w";
  for (const std::string &factor : form.factors) {
    std::string next = "%w" + std::to_string(&factor - form.factors.data());
    text += "  " + next + " = fmul <8 x float> " + result + ", splat (float " + factor + ")\n";
    result = next;
  }
  return text + "  store <8 x float> " + result + R"(, ptr %b, align 4
  %inext = add i64 %i, 1
  br label %outer
end:
  ret i32 0
}
)";
}

class SharedBodies : public ::testing::Test {
protected:
  std::vector<SharedBody> share(const std::vector<Form> &forms) {
    std::string text;
    std::vector<std::string> names;
    for (const Form &form : forms) {
      names.push_back("k" + std::to_string(names.size()));
      text += kernel(names.back(), form);
    }
    return shareText(text, names);
  }

  std::vector<SharedBody> shareText(const std::string &text,
                                    const std::vector<std::string> &names) {
    llvm::SMDiagnostic problem;
    module = llvm::parseAssemblyString(text, problem, context);
    EXPECT_TRUE(module) << problem.getMessage().str() << problem.getLineContents().str();
    if (!module)
      return {};
    std::vector<SharedBody> bodies = shareBodies(*module, names);
    std::string wrong;
    llvm::raw_string_ostream os(wrong);
    EXPECT_FALSE(llvm::verifyModule(*module, &os)) << wrong;
    return bodies;
  }

  /// The words that a kernel hands to its body.
  std::vector<uint64_t> words(const std::string &name) {
    for (llvm::Instruction &i : llvm::instructions(*module->getFunction(name)))
      if (auto *call = llvm::dyn_cast<llvm::CallInst>(&i)) {
        auto *table = llvm::cast<llvm::GlobalVariable>(call->getArgOperand(call->arg_size() - 1));
        llvm::Constant *data = table->getInitializer();
        std::vector<uint64_t> found;
        while (llvm::Constant *word = data->getAggregateElement(unsigned(found.size())))
          found.push_back(llvm::cast<llvm::ConstantInt>(word)->getZExtValue());
        return found;
      }
    return {};
  }

  using Names = std::vector<std::string>;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
};

TEST_F(SharedBodies, ADepthAndItsMultiplesAreOneWord) {
  std::vector<SharedBody> bodies = share({{64, 2048}, {96, 3072}, {160, 5120}});
  ASSERT_EQ(bodies.size(), 1u);
  EXPECT_EQ(bodies[0].symbol, "k0.shared");
  EXPECT_EQ(bodies[0].kernels, (Names{"k0", "k1", "k2"}));
  // Steps of 32, and of 1024.
  EXPECT_EQ(words("k0"), std::vector<uint64_t>{0});
  EXPECT_EQ(words("k1"), std::vector<uint64_t>{1});
  EXPECT_EQ(words("k2"), std::vector<uint64_t>{3});
  EXPECT_EQ(module->getFunction("k1")->getInstructionCount(), 2u);
  // Functions that only the kernels called are gone.
  EXPECT_EQ(module->getFunction("k1.body"), nullptr);
}

TEST_F(SharedBodies, NumbersThatGrowApartAreWords) {
  ASSERT_EQ(share({{64, 2048}, {96, 2048}, {160, 5120}}).size(), 1u);
  EXPECT_EQ(words("k0"), (std::vector<uint64_t>{0, 0}));
  // The panels come first in the body.
  EXPECT_EQ(words("k1"), (std::vector<uint64_t>{0, 1}));
  EXPECT_EQ(words("k2"), (std::vector<uint64_t>{1, 3}));
}

TEST_F(SharedBodies, FactorsAreBits) {
  Form other;
  other.factor = "3.0";
  ASSERT_EQ(share({Form(), other}).size(), 1u);
  EXPECT_EQ(words("k0"), std::vector<uint64_t>{0x40000000});
  EXPECT_EQ(words("k1"), std::vector<uint64_t>{0x40400000});
}

TEST_F(SharedBodies, ScalesOfAResidualSumAreEightAtMost) {
  Form one, other;
  auto scales = [](int from, int count) {
    std::vector<std::string> made;
    for (int i = 0; i < count; ++i)
      made.push_back(std::to_string(from + i) + ".0");
    return made;
  };
  one.factors = scales(10, 8), other.factors = scales(20, 8);
  ASSERT_EQ(share({one, other}).size(), 1u);
  EXPECT_EQ(words("k1").size(), 8u);
  EXPECT_EQ(words("k1")[2], 0x41b00000u); // 22
  one.factors = scales(10, 9), other.factors = scales(20, 9);
  EXPECT_TRUE(share({one, other}).empty());
}

TEST_F(SharedBodies, EqualKernelsAreLeftAlone) { EXPECT_TRUE(share({Form(), Form()}).empty()); }

TEST_F(SharedBodies, AStrideOfRowsStaysANumber) {
  Form wider;
  wider.stride = 128;
  EXPECT_TRUE(share({Form(), wider}).empty());
}

TEST_F(SharedBodies, WhatCodeIsShorterForStaysANumber) {
  Form shorter, one, divided, other;
  shorter.turns = 8;
  one.factor = "1.0";
  EXPECT_TRUE(share({Form(), shorter}).empty());
  EXPECT_TRUE(share({Form(), one}).empty());
  // A division in a loop in a loop.
  divided.divisor = 12;
  other.divisor = 20;
  EXPECT_TRUE(share({divided, other}).empty());
}

TEST_F(SharedBodies, ShortKernelsShareReals) {
  // Of a processor's own tiles little code is left; what loops over it, LLVM writes out.
  Form one, other, deeper;
  one.rows = other.rows = deeper.rows = 25;
  other.factor = "3.0";
  deeper.turns = 96;
  EXPECT_EQ(share({one, other}).size(), 1u);
  EXPECT_TRUE(share({one, deeper}).empty());
  one.rows = other.rows = 10;
  EXPECT_TRUE(share({one, other}).empty());
}

TEST_F(SharedBodies, KernelsWithoutLoopsShareReals) {
  auto scale = [](const std::string &name, const std::string &factor, int offset) {
    return "define internal i32 @" + name +
           "(ptr %a, i64 %n) nounwind {\n  %p = getelementptr i8, " + "ptr %a, i64 " +
           std::to_string(offset) + "\n  %v = load float, ptr %p\n  %w = fmul " + "float %v, " +
           factor + "\n  store float %w, ptr %a\n  ret i32 0\n}\n";
  };
  std::vector<SharedBody> bodies = shareText(scale("k0", "2.0", 8) + scale("k1", "3.0", 8) +
                                                 scale("k2", "1.0", 8) + scale("k3", "5.0", 16),
                                             {"k0", "k1", "k2", "k3"});
  ASSERT_EQ(bodies.size(), 1u);
  EXPECT_EQ(bodies[0].kernels, (Names{"k0", "k1"}));
  EXPECT_EQ(words("k1"), std::vector<uint64_t>{0x40400000});
}

TEST_F(SharedBodies, KernelsOfOneFormFindEachOther) {
  Form sum, more, wide;
  sum.last = more.last = "fadd";
  more.turns = 96;
  wide.stride = 128;
  std::vector<SharedBody> bodies = share({Form(), sum, wide, {96, 2048}, more});
  ASSERT_EQ(bodies.size(), 2u);
  EXPECT_EQ(bodies[0].kernels, (Names{"k0", "k3"}));
  EXPECT_EQ(bodies[1].kernels, (Names{"k1", "k4"}));
  // The third has no like.
  EXPECT_NE(module->getFunction("k2.body"), nullptr);
}

} // namespace
