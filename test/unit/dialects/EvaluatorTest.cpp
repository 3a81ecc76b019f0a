//===- EvaluatorTest.cpp - the constant evaluator, blobs, folds -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/BlobStore.h"
#include "dialects/weir/ConstantEvaluator.h"
#include "dialects/weir/KnownIntegers.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "test/unit/dialects/ElementMachine.h"
#include "gtest/gtest.h"
#include <fstream>
#include <unistd.h>

using namespace mlir;
using namespace weir;
using namespace weir::test;

namespace {

/// `body` as a function of `arguments`, canonicalised; in text.
std::string canonical(const std::string &arguments, const std::string &body,
                      const std::string &result) {
  Machine machine;
  auto module =
      machine.parse("func.func @f(" + arguments + ") -> " + result + " {\n" + body + "\n}");
  if (!module)
    return machine.diagnostics;
  RewritePatternSet patterns(&machine.context);
  for (Dialect *dialect : machine.context.getLoadedDialects())
    dialect->getCanonicalizationPatterns(patterns);
  for (RegisteredOperationName name : machine.context.getRegisteredOperations())
    name.getCanonicalizationPatterns(patterns, &machine.context);
  EXPECT_TRUE(succeeded(applyPatternsGreedily(*module, std::move(patterns))));
  std::string text;
  llvm::raw_string_ostream os(text);
  module->walk([&](func::FuncOp func) {
    for (Operation &op : func.getBody().front())
      os << op << '\n';
  });
  return text;
}

/// Folds `body` of constants down to one: its value in text.
std::string folded(const std::string &body, const std::string &type) {
  std::string text = canonical("", body + "\nreturn %r : " + type, type);
  size_t begin = text.find("weir.constant "), end = text.find('\n');
  if (begin == std::string::npos || text.find("weir.", begin + 5) != std::string::npos)
    return "not folded: " + text;
  return text.substr(begin + 14, text.rfind(" : ", end) - begin - 14);
}

std::string foldedBinary(const std::string &op, const std::string &a, const std::string &b,
                         const std::string &type) {
  return folded("%a = weir.constant dense<" + a + "> : tensor<" + type +
                    ">\n%b = weir.constant dense<" + b + "> : tensor<" + type + ">\n%r = weir." +
                    op + " %a, %b : (tensor<" + type + ">, tensor<" + type + ">) -> tensor<" +
                    type + ">",
                "tensor<" + type + ">");
}

TEST(Evaluator, Integers) {
  EXPECT_EQ(foldedBinary("div", "-7", "2", "i32"), "dense<-3>");
  EXPECT_EQ(foldedBinary("floor_div", "-7", "2", "i32"), "dense<-4>");
  EXPECT_EQ(foldedBinary("rem", "-7", "2", "i64"), "dense<-1>");
  EXPECT_EQ(foldedBinary("floor_mod", "-7", "2", "i64"), "dense<1>");
  EXPECT_EQ(foldedBinary("add", "127", "1", "i8"), "dense<-128>");
  EXPECT_EQ(foldedBinary("sub", "0", "1", "ui8"), "dense<255>");
  EXPECT_EQ(foldedBinary("maximum", "200", "100", "ui8"), "dense<200>");
  EXPECT_EQ(foldedBinary("shr", "-8", "100", "i32"), "dense<-1>");
  EXPECT_EQ(foldedBinary("shl", "1", "32", "i32"), "dense<0>");
  EXPECT_EQ(foldedBinary("pow", "-3", "3", "i32"), "dense<-27>");
  EXPECT_EQ(foldedBinary("pow", "2", "-1", "i32"), "dense<0>");
  EXPECT_EQ(foldedBinary("div", "-128", "-1", "i8"), "dense<-128>");
  // What fails at run time is left to fail there.
  EXPECT_EQ(foldedBinary("div", "1", "0", "i32").substr(0, 10), "not folded");
}

TEST(Evaluator, Floats) {
  EXPECT_EQ(foldedBinary("add", "1.5", "0.25", "f32"), "dense<1.750000e+00>");
  EXPECT_EQ(foldedBinary("div", "1.0", "3.0", "f32"), "dense<0.333333343>");
  EXPECT_EQ(foldedBinary("maximum", "0x7FC00000", "1.0", "f32"), "dense<0x7FC00000>");
  EXPECT_EQ(foldedBinary("add", "2048.0", "1.0", "f16"), "dense<2.048000e+03>");
  EXPECT_EQ(foldedBinary("minimum", "0.0", "-0.0", "f64"), "dense<-0.000000e+00>");
  // Functions of the C library differ from host to host.
  EXPECT_EQ(folded("%a = weir.constant dense<1.0> : tensor<f32>\n%r = weir.exp "
                   "%a : (tensor<f32>) -> tensor<f32>",
                   "tensor<f32>")
                .substr(0, 10),
            "not folded");
}

std::string foldedCast(const std::string &value, const std::string &from, const std::string &to,
                       bool saturate) {
  return folded("%a = weir.constant dense<" + value + "> : tensor<" + from +
                    ">\n%r = weir.cast %a {saturate = " + (saturate ? "true" : "false") +
                    "} : (tensor<" + from + ">) -> tensor<" + to + ">",
                "tensor<" + to + ">");
}

TEST(Evaluator, Casts) {
  EXPECT_EQ(foldedCast("-1.9", "f32", "i32", false), "dense<-1>");
  EXPECT_EQ(foldedCast("300.0", "f32", "ui8", true), "dense<255>");
  EXPECT_EQ(foldedCast("300.0", "f32", "ui8", false), "dense<44>");
  EXPECT_EQ(foldedCast("-5", "i32", "ui8", true), "dense<0>");
  EXPECT_EQ(foldedCast("-5", "i32", "ui8", false), "dense<251>");
  EXPECT_EQ(foldedCast("0x7FC00000", "f32", "i64", true), "dense<0>");
  EXPECT_EQ(foldedCast("0x7FC00000", "f32", "i1", true), "dense<true>");
  EXPECT_EQ(foldedCast("16777217", "i64", "f32", true), "dense<0x4B800000>");
  EXPECT_EQ(foldedCast("true", "i1", "i8", true), "dense<1>");
  EXPECT_EQ(foldedCast("65520.0", "f64", "f16", true), "dense<0x7C00>");
}

/// The evaluator and the emitted code agree.
TEST(Evaluator, AgreesWithCode) {
  struct {
    std::string text;
    std::vector<Array> operands;
  } cases[] = {
      {"floor_mod %0, %1", {f32({4}, {-7.5, 7.5, -7.5, 4}), f32({4}, {2, -2, -2, 2})}},
      {"floor_div %0, %1", {{"i8", {3, 1}, {-7, 7, -128}}, {"i8", {2}, {2, -3}}}},
      {"sign %0", {f32({3}, {-2, 0, 5})}},
      {"round_even %0", {f32({4}, {0.5, 1.5, -2.5, 2.4})}},
      {"round %0", {f32({4}, {0.5, 1.5, -2.5, 2.4})}},
      {"compare %0, %1 {predicate = \"lt\"}", {{"ui8", {2}, {200, 1}}, {"ui8", {2}, {100, 2}}}},
      {"select %0, %1, %2", {{"i1", {2}, {1, 0}}, sample({2, 2}), f32({}, {9})}},
      {"transpose %0 {permutation = array<i64: 2, 0, 1>}", {sample({2, 3, 4})}},
      {"slice %0, %1, %2, %3 {axes = array<i64: 1>, strict = false}",
       {sample({2, 5}), i64({1}, {-1}), i64({1}, {-100}), i64({1}, {-2})}},
      {"pad %0, %1, %2 {mode = \"constant\"}",
       {sample({2, 2}), i64({4}, {1, 0, -1, 2}), f32({}, {3})}},
      {"gather %0, %1 {axis = 1 : i64, batch_dims = 1 : i64, wrap_negative = "
       "true}",
       {sample({2, 3, 2}), i64({2, 2}, {0, -1, 2, 1})}},
      {"gather_elements %0, %1 {axis = 0 : i64, wrap_negative = true}",
       {sample({3, 2}), i64({1, 2}, {-1, 0})}},
      {"gather_nd %0, %1 {batch_dims = 0 : i64, wrap_negative = true}",
       {sample({3, 2}), i64({2, 1}, {-1, 0})}},
      {"tile %0, %1", {sample({2, 2}), i64({2}, {2, 1})}},
      {"broadcast_to %0, %1", {sample({2, 1}), i64({3}, {2, 2, 3})}},
      {"concat %0, %1 {axis = 1 : i64}", {sample({2, 2}), sample({2, 1}, 3)}},
      {"reverse %0 {axes = array<i64: 0>}", {sample({3, 2})}},
      {"range %0, %1, %2", {i64({}, {3}), i64({}, {-4}), i64({}, {-3})}},
      {"reduce %0 {kind = \"mean\", axes = array<i64: 1>, keep_dims = true}",
       {i64({2, 3}, {-1, -1, 0, 4, 4, 6})}},
      {"reduce %0 {kind = \"min\", axes = array<i64: 0>, keep_dims = false}", {sample({3, 2})}},
      {"reduce %0 {kind = \"all\", axes = array<i64: 0>, keep_dims = false}",
       {{"i1", {2, 2}, {1, 0, 1, 1}}}},
      {"cumulative %0 {kind = \"prod\", axis = 0 : i64, exclusive = true, "
       "reverse = true}",
       {i64({4}, {1, 2, 3, 4})}},
  };
  for (auto &c : cases) {
    Machine machine;
    Outcome outcome = machine.run(c.text, c.operands, Typing::Static);
    ASSERT_EQ(outcome.errors, std::vector<std::string>()) << c.text;
    auto evaluated = machine.evaluate(c.text, c.operands);
    ASSERT_TRUE(evaluated) << c.text << machine.diagnostics;
    EXPECT_EQ(*evaluated, outcome.results[0]) << c.text;
  }
}

TEST(KnownIntegers, FollowsShapeArithmetic) {
  // The last size of a dynamic tensor is known; the batch is a symbol.
  std::string text = canonical("%x: tensor<?x3x4xf32>", R"(
    %shape = weir.shape_of %x {index_type = i64} : (tensor<?x3x4xf32>) -> tensor<3xi64>
    %one = weir.constant dense<1> : tensor<i64>
    %two = weir.constant dense<2> : tensor<i64>
    %a = weir.gather %shape, %one {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = true} : (tensor<3xi64>, tensor<i64>) -> tensor<i64>
    %b = weir.gather %shape, %two {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = true} : (tensor<3xi64>, tensor<i64>) -> tensor<i64>
    %r = weir.mul %a, %b : (tensor<i64>, tensor<i64>) -> tensor<i64>
    return %r : tensor<i64>)",
                               "tensor<i64>");
  EXPECT_NE(text.find("weir.constant dense<12> : tensor<i64>"), std::string::npos) << text;
}

TEST(KnownIntegers, SymbolsStayThroughReshapes) {
  Machine machine;
  auto module = machine.parse(R"(
    func.func @f(%x: tensor<?x3x4xf32>, %y: tensor<2xi64>) {
      %shape = weir.shape_of %x {index_type = i64} : (tensor<?x3x4xf32>) -> tensor<3xi64>
      %zero = weir.constant dense<0> : tensor<1xi64>
      %one = weir.constant dense<1> : tensor<1xi64>
      %n = weir.slice %shape, %zero, %one, %one {axes = array<i64: 0>, strict = false} : (tensor<3xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
      %minus = weir.constant dense<-1> : tensor<1xi64>
      %to = weir.concat %n, %minus {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
      %r = weir.reshape %x, %to : (tensor<?x3x4xf32>, tensor<2xi64>) -> tensor<?x12xf32>
      return
    })");
  ReshapeOp reshape;
  module->walk([&](ReshapeOp op) { reshape = op; });
  auto known = followIntegers(reshape.getShape());
  ASSERT_TRUE(known && known->size() == 2);
  EXPECT_TRUE((*known)[0].isSymbol());
  EXPECT_EQ((*known)[0].dimension, 0);
  EXPECT_EQ((*known)[1].value, -1);
  SmallVector<Type> types;
  ASSERT_TRUE(succeeded(ReshapeOp::inferReturnTypes(
      &machine.context, reshape.getLoc(), reshape->getOperands(), reshape->getAttrDictionary(),
      reshape->getPropertiesStorage(), reshape->getRegions(), types)));
  EXPECT_EQ(types[0], reshape.getType());
}

TEST(BlobStore, ReadsChecksAndReportsFiles) {
  std::string path = ::testing::TempDir() + "blob_" + std::to_string(getpid());
  std::ofstream(path, std::ios::binary).write("\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0", 16);
  Machine machine;
  auto type = RankedTensorType::get({2}, IntegerType::get(&machine.context, 64));
  auto blob = weir::BlobAttr::get(&machine.context, type, path, 0, 16, "");
  EXPECT_EQ(integersOf(blob, 10), (SmallVector<int64_t>{1, 2}));
  EXPECT_EQ(integersOf(blob, 1), std::nullopt);
  auto beyond =
      BlobStore::global().bytes(weir::BlobAttr::get(&machine.context, type, path, 8, 16, ""));
  ASSERT_FALSE(beyond);
  EXPECT_NE(llvm::toString(beyond.takeError()).find("outside of its 16 bytes"), std::string::npos);
  auto wrong =
      BlobStore::global().bytes(weir::BlobAttr::get(&machine.context, type, path, 0, 8, ""));
  ASSERT_FALSE(wrong);
  llvm::consumeError(wrong.takeError());
  // A file that was replaced is read anew; one that is gone is an error.
  std::remove(path.c_str());
  auto gone = BlobStore::global().bytes(blob);
  ASSERT_FALSE(gone);
  EXPECT_NE(llvm::toString(gone.takeError()).find(path), std::string::npos);
  std::ofstream(path, std::ios::binary).write("\3\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0", 16);
  EXPECT_EQ(integersOf(blob, 10), (SmallVector<int64_t>{3, 4}));
  std::remove(path.c_str());
  EXPECT_EQ(blobHash({}),
            "99aa06d3014798d86001c324468d497f"); // XXH3's published value for
                                                 // no bytes
}

TEST(Folds, OperationsThatChangeNothing) {
  auto isArgument = [](const std::string &body, const std::string &type = "tensor<2x3xf32>") {
    std::string text = canonical("%x: " + type, body + "\nreturn %r : " + type, type);
    return text.find("weir.") == std::string::npos;
  };
  std::string same = " : (tensor<2x3xf32>) -> tensor<2x3xf32>";
  EXPECT_TRUE(isArgument("%r = weir.transpose %x {permutation = array<i64: 0, 1>}" + same));
  EXPECT_FALSE(isArgument("%r = weir.transpose %x {permutation = array<i64: 1, "
                          "0>} : (tensor<2x2xf32>) -> tensor<2x2xf32>",
                          "tensor<2x2xf32>"));
  EXPECT_TRUE(isArgument("%r = weir.gate %x : tensor<2x3xf32>"));
  EXPECT_TRUE(isArgument("%r = weir.cast %x {saturate = true}" + same));
  EXPECT_TRUE(isArgument("%t = weir.transpose %x {permutation = array<i64: 1, "
                         "0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>\n"
                         "%r = weir.transpose %t {permutation = array<i64: 1, "
                         "0>} : (tensor<3x2xf32>) -> tensor<2x3xf32>"));
  EXPECT_TRUE(isArgument("%s = weir.constant dense<6> : tensor<1xi64>\n%u = "
                         "weir.constant dense<[2, 3]> : tensor<2xi64>\n"
                         "%t = weir.reshape %x, %s : (tensor<2x3xf32>, "
                         "tensor<1xi64>) -> tensor<6xf32>\n"
                         "%r = weir.reshape %t, %u : (tensor<6xf32>, "
                         "tensor<2xi64>) -> tensor<2x3xf32>"));
  auto with = [](const std::string &op, const std::string &value, const std::string &element) {
    std::string type = "tensor<2x" + element + ">";
    return "%c = weir.constant dense<" + value + "> : tensor<" + element + ">\n%r = weir." + op +
           " %x, %c : (" + type + ", tensor<" + element + ">) -> " + type;
  };
  EXPECT_TRUE(isArgument(with("mul", "1.0", "f32"), "tensor<2xf32>"));
  EXPECT_TRUE(isArgument(with("sub", "0.0", "f32"), "tensor<2xf32>"));
  EXPECT_TRUE(isArgument(with("add", "0", "i32"), "tensor<2xi32>"));
  // -0 + 0 is 0, and -0 - -0 is 0.
  EXPECT_FALSE(isArgument(with("add", "0.0", "f32"), "tensor<2xf32>"));
  EXPECT_FALSE(isArgument(with("sub", "-0.0", "f32"), "tensor<2xf32>"));
  // i1: add is "or", and "or true" is not the operand.
  EXPECT_FALSE(isArgument(with("add", "true", "i1"), "tensor<2xi1>"));
}

TEST(Folds, IfOfAKnownCondition) {
  std::string text = canonical("%x: tensor<f32>, %y: tensor<f32>", R"(
    %c = weir.constant dense<false> : tensor<i1>
    %r = weir.if %c : (tensor<i1>) -> tensor<f32> then {
      weir.yield %x : tensor<f32>
    } else {
      %n = weir.neg %y : (tensor<f32>) -> tensor<f32>
      weir.yield %n : tensor<f32>
    }
    return %r : tensor<f32>)",
                               "tensor<f32>");
  EXPECT_EQ(text.find("weir.if"), std::string::npos) << text;
  EXPECT_NE(text.find("weir.neg"), std::string::npos) << text;
}

} // namespace
