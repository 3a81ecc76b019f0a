//===- ValueNumberingTest.cpp - value numbering against brute force -------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "test/unit/passes/RandomGraph.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace weir;
using namespace weir::test;

namespace {

struct ValueNumbering : testing::Test {
  ValueNumbering() { context.loadDialect<WeirDialect, func::FuncDialect>(); }

  void run(ModuleOp module, std::unique_ptr<Pass> pass) {
    PassManager passes(&context, ModuleOp::getOperationName());
    passes.addPass(std::move(pass));
    ASSERT_TRUE(succeeded(passes.run(module)));
  }

  static int64_t size(ModuleOp module) {
    int64_t count = 0;
    module.walk([&](Operation *op) { count += !isa<ConstantOp>(op); });
    return count;
  }

  SmallVector<Attribute> arguments(func::FuncOp function, std::mt19937 &random) {
    SmallVector<Attribute> result;
    for (Type type : function.getArgumentTypes()) {
      auto tensor = cast<RankedTensorType>(type);
      SmallVector<Attribute> elements;
      for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
        int value = int(random() % 7) - 3;
        if (isa<FloatType>(tensor.getElementType()))
          // -0 tells apart what only seems to be the same.
          elements.push_back(
              FloatAttr::get(tensor.getElementType(), value == 0 ? -0.0 : value * 0.75));
        else
          elements.push_back(IntegerAttr::get(tensor.getElementType(), value));
      }
      result.push_back(DenseElementsAttr::get(tensor, elements));
    }
    return result;
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
};

// Whatever is fed, results and variables are what they were.
TEST_F(ValueNumbering, RandomGraphsComputeTheSame) {
  int64_t before = 0, after = 0, simple = 0;
  for (unsigned seed = 0; seed < 1500; ++seed) {
    auto module = RandomGraph(context, seed).make(4 + seed % 23);
    ASSERT_TRUE(succeeded(verify(*module))) << "seed " << seed;
    OwningOpRef<ModuleOp> numbered = module->clone(), merged = module->clone();
    run(*numbered, createWeirValueNumberingPass());
    run(*merged, createCSEPass());
    before += size(*module);
    after += size(*numbered);
    simple += size(*merged);
    std::mt19937 random(seed);
    auto f = *module->getOps<func::FuncOp>().begin();
    auto g = *numbered->getOps<func::FuncOp>().begin();
    for (int trial = 0; trial < 3; ++trial) {
      auto values = arguments(f, random);
      auto wanted = interpret(f, values), got = interpret(g, values);
      // A variable that nothing reads or writes any more has kept its value.
      ASSERT_FALSE(wanted.empty()) << "seed " << seed;
      ASSERT_FALSE(got.empty()) << "seed " << seed;
      if (wanted.size() > got.size()) {
        for (const std::string &entry : wanted)
          if (entry[0] == 'v' || entry[0] == 'w')
            if (llvm::find(got, entry) == got.end())
              EXPECT_NE(entry.find("dense<7>"), std::string::npos) << "seed " << seed;
        wanted.resize(f.getNumResults());
        got.resize(f.getNumResults());
      }
      ASSERT_EQ(wanted, got) << "seed " << seed;
    }
  }
  // It removes more than equal texts.
  EXPECT_LT(after, simple);
  EXPECT_LT(simple, before);
  RecordProperty("operations", std::to_string(before) + " " + std::to_string(simple) + " " +
                                   std::to_string(after));
}

// What is computed a second time in other words is found, all of it.
TEST_F(ValueNumbering, KnownCongruencesAreFound) {
  int64_t planted = 0, found = 0, foundSimply = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::mt19937 random(seed);
    auto module = RandomGraph(context, seed + 10000).make(3 + seed % 12);
    auto function = *module->getOps<func::FuncOp>().begin();
    Operation *terminator = function.getBody().front().getTerminator();
    bool writes = false;
    function.walk([&](VariableAssignOp) { writes = true; });
    if (writes)
      continue; // computing again would read another value
    OpBuilder b(terminator);
    SmallVector<Value> results(terminator->getOperands());
    std::map<const void *, Value> done;
    size_t count = results.size();
    for (size_t i = 0; i < count; ++i)
      results.push_back(RandomGraph::again(b, results[i], random, done));
    terminator->setOperands(results);
    function.setType(
        b.getFunctionType(function.getArgumentTypes(), ValueRange(results).getTypes()));
    auto same = [&](ModuleOp m) {
      auto f = *m.getOps<func::FuncOp>().begin();
      ValueRange all = f.getBody().front().getTerminator()->getOperands();
      int64_t n = 0;
      for (size_t i = 0; i < count; ++i)
        n += all[i] == all[i + count];
      return n;
    };
    OwningOpRef<ModuleOp> merged = module->clone();
    run(*merged, createCSEPass());
    int64_t trivially = same(*module);
    run(*module, createWeirValueNumberingPass());
    planted += count - trivially;
    int64_t these = same(*module) - trivially;
    EXPECT_EQ(these, int64_t(count) - trivially) << "seed " << seed;
    found += these;
    foundSimply += same(*merged) - trivially;
  }
  EXPECT_GT(planted, 500);
  EXPECT_EQ(found, planted);
  EXPECT_LT(foundSimply, planted / 2);
  RecordProperty("planted", std::to_string(planted) + " " + std::to_string(foundSimply) + " " +
                                std::to_string(found));
}

// Running it again changes nothing.
TEST_F(ValueNumbering, IsIdempotent) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    auto module = RandomGraph(context, seed).make(4 + seed % 23);
    run(*module, createWeirValueNumberingPass());
    auto text = [&] {
      std::string out;
      llvm::raw_string_ostream os(out);
      (*module->getOps<func::FuncOp>().begin()).print(os);
      return out;
    };
    std::string once = text();
    run(*module, createWeirValueNumberingPass());
    EXPECT_EQ(once, text()) << "seed " << seed;
  }
}

} // namespace
