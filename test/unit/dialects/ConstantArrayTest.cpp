//===- ConstantArrayTest.cpp - arithmetic on large constants --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/ConstantArray.h"
#include "test/unit/dialects/ElementMachine.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace weir;
using namespace weir::test;

namespace {

const double nan = std::nan("");

/// NaN is one value, and zeros have their sign.
std::vector<std::string> words(const Array &array) {
  std::vector<std::string> result;
  for (double value : array.values)
    result.push_back(std::isnan(value)
                         ? "nan"
                         : std::to_string(value) + "/" + std::to_string(std::signbit(value)));
  return result;
}

Array of(const std::string &type, std::vector<int64_t> shape, std::vector<double> values) {
  return {type, std::move(shape), std::move(values)};
}

struct Case {
  std::string text;
  std::vector<Array> operands;
};

void expectSame(const std::string &text, const std::optional<Array> &evaluated,
                const Array &expected) {
  ASSERT_TRUE(evaluated) << text;
  EXPECT_EQ(evaluated->type, expected.type) << text;
  EXPECT_EQ(evaluated->shape, expected.shape) << text;
  EXPECT_EQ(words(*evaluated), words(expected)) << text;
}

/// What the evaluator makes of the cases is what the emitted code does.
void expectLikeCode(const std::vector<Case> &cases) {
  for (const Case &each : cases) {
    Machine machine;
    Outcome outcome = machine.run(each.text, each.operands, Typing::Static);
    ASSERT_EQ(outcome.errors, std::vector<std::string>()) << each.text;
    expectSame(each.text, machine.evaluateLarge(each.text, each.operands), outcome.results[0]);
  }
}

/// Elementwise operations of a type, at operands that make most results inexact.
std::vector<Case> elementwiseCases(const std::string &type) {
  Array x = of(type, {2, 3}, {0.5, -0.25, 3.75, 0.125, -1024, 7}), y = of(type, {3}, {3, -5, 1.5});
  std::vector<Case> cases;
  for (std::string op : {"add", "sub", "mul", "div", "maximum", "minimum"})
    cases.push_back({op + " %0, %1", {x, y}});
  for (std::string op :
       {"neg", "abs", "sign", "relu", "floor", "ceil", "trunc", "round", "round_even"})
    cases.push_back({op + " %0", {x}});
  for (std::string op : {"sqrt", "rsqrt"})
    cases.push_back({op + " %0", {of(type, {4}, {0.75, 3, 1234, 0})}});
  return cases;
}

TEST(ConstantArray, ElementwiseRoundsAsCodeDoes) {
  expectLikeCode(elementwiseCases("f64"));
  expectLikeCode(elementwiseCases("f32"));
}

/// The machine rounds no halves; the evaluator of small constants does.
TEST(ConstantArray, HalvesRoundAsFoldingDoes) {
  for (std::string type : {"f16", "bf16"})
    for (const Case &each : elementwiseCases(type)) {
      Machine machine;
      auto folded = machine.evaluate(each.text, each.operands);
      ASSERT_TRUE(folded) << each.text;
      expectSame(each.text, machine.evaluateLarge(each.text, each.operands), *folded);
    }
}

TEST(ConstantArray, KinksAndSpreadOperands) {
  Array x = f32({4}, {nan, 0, -0.0, INFINITY});
  expectLikeCode({
      {"maximum %0, %1", {x, f32({}, {-0.0})}},
      {"minimum %0, %1", {f32({}, {0}), x}},
      {"mul %0, %1", {x, f32({}, {-1})}},
      {"relu %0", {x}},
      {"sub %0, %1", {sample({2, 1, 3}), sample({4, 1}, 3)}},
      {"div %0, %1", {sample({1, 3}), sample({2, 3, 1}, 5)}},
      {"add %0, %1", {sample({2, 3, 2, 2}), sample({3, 1, 1}, 2)}},
      {"compare %0, %1 {predicate = \"lt\"}", {x, f32({}, {0})}},
      {"compare %0, %1 {predicate = \"ne\"}", {x, x}},
      {"select %0, %1, %2", {of("i1", {2, 1}, {1, 0}), sample({2, 2}), f32({}, {9})}},
      {"add %0, %1", {of("i32", {3}, {5, -7, 100}), of("i32", {}, {-6})}},
      {"mul %0, %1", {of("ui8", {2}, {5, 50}), of("ui8", {2}, {51, 5})}},
      {"and %0, %1", {of("i1", {4}, {0, 0, 1, 1}), of("i1", {4}, {0, 1, 0, 1})}},
      {"xor %0, %1", {of("i1", {4}, {0, 0, 1, 1}), of("i1", {4}, {0, 1, 0, 1})}},
      {"or %0, %1", {of("i1", {4}, {0, 0, 1, 1}), of("i1", {4}, {0, 1, 0, 1})}},
      {"not %0", {of("i1", {2}, {0, 1})}},
  });
}

TEST(ConstantArray, Casts) {
  auto cast = [](const std::string &to) { return "cast %0 {saturate = true} -> " + to; };
  expectLikeCode({
      {cast("f32"), {of("f16", {3}, {0.5, -2048, 65504})}},
      {cast("f16"), {f32({2}, {0.5, 65504})}},
      {cast("i8"), {f32({4}, {-128, 127.9, -0.5, 3})}},
      {cast("ui8"), {f32({3}, {255, 0.2, 17})}},
      {cast("i1"), {f32({3}, {0, -0.0, 2})}},
      {cast("f32"), {i64({2}, {16777216, -5})}},
      {cast("f64"), {of("ui8", {2}, {200, 3})}},
      {cast("i32"), {of("i1", {2}, {1, 0})}},
  });
  Machine machine;
  Array inexact = f32({4}, {0.1, 70000, -1e-8, 3.3e38});
  expectSame("cast", machine.evaluateLarge(cast("bf16"), {inexact}),
             *machine.evaluate(cast("bf16"), {inexact}));
  expectSame("cast", machine.evaluateLarge(cast("f16"), {inexact}),
             *machine.evaluate(cast("f16"), {inexact}));
}

TEST(ConstantArray, Movement) {
  expectLikeCode({
      {"reshape %0, %1", {sample({2, 6}), i64({2}, {3, -1})}},
      {"transpose %0 {permutation = array<i64: 2, 0, 1>}", {sample({2, 3, 4})}},
      {"broadcast_to %0, %1", {sample({2, 1}), i64({3}, {2, 2, 3})}},
      {"slice %0, %1, %2, %3 {axes = array<i64: 1>, strict = false}",
       {sample({2, 5}), i64({1}, {-1}), i64({1}, {-100}), i64({1}, {-2})}},
      {"slice %0, %1, %2, %3 {axes = array<i64: 0, 2>, strict = true}",
       {sample({3, 2, 5}), i64({2}, {1, 0}), i64({2}, {3, 5}), i64({2}, {1, 2})}},
      {"pad %0, %1, %2 {mode = \"constant\"}",
       {sample({2, 2}), i64({4}, {1, 0, 0, 2}), f32({}, {3})}},
      {"concat %0, %1 {axis = 1 : i64}", {sample({2, 2, 3}), sample({2, 1, 3}, 3)}},
      {"gather %0, %1 {axis = 1 : i64, batch_dims = 0 : i64, wrap_negative = true}",
       {sample({2, 3, 2}), i64({3}, {0, -1, 1})}},
  });
}

/// Dimensions of size 1 lie where walks over lines leave them out: first, last, in between.
TEST(ConstantArray, DimensionsOfOne) {
  auto numbered = [](const std::string &before, int64_t i, const std::string &behind) {
    return before + std::to_string(i) + behind;
  };
  std::vector<Case> cases;
  for (int64_t a : {1, 2})
    for (int64_t b : {1, 3})
      for (int64_t c : {1, 2}) {
        Array x = sample({a, b, c}), y = sample({a, b, c}, 5);
        for (int64_t axis = 0; axis < 3; ++axis) {
          cases.push_back({numbered("concat %0, %1 {axis = ", axis, " : i64}"), {x, y}});
          std::vector<double> pads(6, 0);
          pads[axis] = 1, pads[3 + axis] = 2;
          cases.push_back(
              {"pad %0, %1, %2 {mode = \"constant\"}", {x, of("i64", {6}, pads), f32({}, {3})}});
          cases.push_back(
              {numbered("slice %0, %1, %2, %3 {axes = array<i64: ", axis, ">, strict = false}"),
               {x, i64({1}, {-1}), i64({1}, {-100}), i64({1}, {-1})}});
          cases.push_back({numbered("gather %0, %1 {axis = ", axis,
                                    " : i64, batch_dims = 0 : i64, wrap_negative = true}"),
                           {x, i64({2}, {0, -1})}});
          cases.push_back({numbered("reduce %0 {kind = \"sum\", axes = array<i64: ", axis,
                                    ">, keep_dims = true}"),
                           {x}});
        }
        for (std::string order : {"0, 2, 1", "1, 0, 2", "1, 2, 0", "2, 0, 1", "2, 1, 0"})
          cases.push_back({"transpose %0 {permutation = array<i64: " + order + ">}", {x}});
        cases.push_back({"broadcast_to %0, %1", {x, i64({4}, {2, 2, 3, 2})}});
      }
  for (const Case &each : cases) {
    Machine machine;
    auto folded = machine.evaluate(each.text, each.operands);
    ASSERT_TRUE(folded) << each.text;
    expectSame(each.text, machine.evaluateLarge(each.text, each.operands), *folded);
  }
}

TEST(ConstantArray, SumsAndProducts) {
  auto reduce = [](const std::string &kind, const std::string &axes) {
    return "reduce %0 {kind = \"" + kind + "\", axes = array<i64: " + axes + ">, keep_dims = true}";
  };
  std::vector<Case> cases;
  for (std::string kind : {"sum", "prod", "max", "min", "mean"})
    for (std::string axes : {"0", "1", "2", "0, 2", "0, 1, 2"})
      cases.push_back({reduce(kind, axes), {f32({2, 2, 2}, {1, -2, 0.5, 4, 8, -1, 2, 0.25})}});
  cases.push_back({reduce("max", "0"), {f32({3, 1}, {1, nan, 2})}});
  cases.push_back({reduce("mean", "1"), {of("f16", {1, 4}, {2048, 1, 1, 2})}});
  cases.push_back({reduce("sum", "1"), {f32({2, 0}, {})}});
  cases.push_back({"dot_general %0, %1 {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 1>, "
                   "lhs_contract = array<i64: 2>, rhs_contract = array<i64: 0>, accumulator = f32}",
                   {sample({2, 3, 4}), sample({4, 2, 5}, 7)}});
  cases.push_back({"dot_general %0, %1 {lhs_batch = array<i64>, rhs_batch = array<i64>, "
                   "lhs_contract = array<i64: 0, 1>, rhs_contract = array<i64: 2, 0>, "
                   "accumulator = f64}",
                   {of("f64", {2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
                    of("f64", {2, 1, 2}, {1, -1, 0.5, 2})}});
  expectLikeCode(cases);
}

/// What only a run decides about, or no double holds.
TEST(ConstantArray, LeavesTheRestToTheRun) {
  Case cases[] = {
      {"add %0, %1", {of("i8", {1}, {127}), of("i8", {1}, {1})}},
      {"cast %0 {saturate = true} -> ui8", {f32({1}, {256})}},
      {"cast %0 {saturate = true} -> i32", {f32({1}, {nan})}},
      {"neg %0", {i64({2}, {1, int64_t{1} << 53})}},
      {"exp %0", {f32({1}, {1})}},
      {"div %0, %1", {of("i32", {1}, {7}), of("i32", {1}, {2})}},
      {"gather %0, %1 {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = false}",
       {sample({3}), i64({1}, {-1})}},
      {"slice %0, %1, %2, %3 {axes = array<i64: 0>, strict = true}",
       {sample({3}), i64({1}, {0}), i64({1}, {4}), i64({1}, {1})}},
      {"reduce %0 {kind = \"sum\", axes = array<i64: 0>, keep_dims = false}", {i64({2}, {1, 2})}},
  };
  for (const Case &each : cases) {
    Machine machine;
    EXPECT_EQ(machine.evaluateLarge(each.text, each.operands), std::nullopt) << each.text;
  }
}

TEST(ConstantArray, PoolGivesWhatFits) {
  ArrayPool pool;
  std::vector<double> large = pool.take(100), small = pool.take(10);
  const double *place = small.data();
  pool.give(std::move(large));
  pool.give(std::move(small));
  std::vector<double> again = pool.take(8);
  EXPECT_EQ(again.data(), place);
  EXPECT_EQ(again.size(), 8u);
  EXPECT_EQ(pool.take(200).size(), 200u);
}

} // namespace
