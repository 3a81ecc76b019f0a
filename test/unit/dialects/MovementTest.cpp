//===- MovementTest.cpp - elements of rearrangements ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/dialects/ElementMachine.h"
#include "gtest/gtest.h"

using namespace weir::test;

namespace {

/// Runs an operation with static types, with open ones, and with its parameters
/// as constants: all give `expected`.
void expect(const std::string &text, const std::vector<Array> &operands, const Array &expected,
            bool constants = true) {
  for (Typing typing : {Typing::Static, Typing::Dynamic, Typing::Constant}) {
    if (typing == Typing::Constant && !constants)
      continue;
    Machine machine;
    Outcome outcome = machine.run(text, operands, typing);
    ASSERT_EQ(outcome.errors, std::vector<std::string>()) << text << ", typing " << (int)typing;
    ASSERT_EQ(outcome.results.size(), 1u) << machine.diagnostics;
    EXPECT_EQ(outcome.results[0], expected) << text << ", typing " << (int)typing;
  }
}

/// The run reports an error whose message contains `message`.
void expectError(const std::string &text, const std::vector<Array> &operands,
                 const std::string &message) {
  Machine machine;
  Outcome outcome = machine.run(text, operands, Typing::Dynamic);
  ASSERT_FALSE(outcome.errors.empty()) << text;
  for (const std::string &error : outcome.errors)
    EXPECT_NE(error, "read outside of bounds");
  EXPECT_NE(outcome.errors[0].find(message), std::string::npos) << outcome.errors[0];
}

Array count(std::vector<int64_t> shape) {
  Array array{"f32", shape, {}};
  int64_t n = 1;
  for (int64_t size : shape)
    n *= size;
  for (int64_t i = 0; i < n; ++i)
    array.values.push_back(i);
  return array;
}

TEST(Movement, ShapeOf) {
  expect("shape_of %0 {index_type = i32}", {count({2, 0, 5})}, {"i32", {3}, {2, 0, 5}});
  expect("shape_of %0 {index_type = i64}", {count({})}, {"i64", {0}, {}});
}

TEST(Movement, Reshape) {
  Array x = count({2, 3, 4});
  for (std::vector<double> shape : {std::vector<double>{24},
                                    {4, 6},
                                    {2, 12},
                                    {6, 4},
                                    {8, 3},
                                    {3, 4, 2},
                                    {1, 2, 1, 3, 4, 1},
                                    {2, 3, 2, 2},
                                    {12, 2}}) {
    Array expected = x;
    expected.shape.assign(shape.begin(), shape.end());
    expect("reshape %0, %1", {x, i64({(int64_t)shape.size()}, shape)}, expected);
  }
  expect("reshape %0, %1", {x, i64({2}, {-1, 6})}, count({4, 6}));
  expect("reshape %0, %1", {count({1, 1}), i64({0}, {})}, count({}), false);
  expect("reshape %0, %1", {count({0, 3}), i64({2}, {3, 0})}, count({3, 0}));
  expect("reshape %0, %1", {count({4}), i64({3}, {2, -1, 1})}, count({2, 2, 1}));
  expectError("reshape %0, %1", {x, i64({2}, {5, 5})}, "cannot reshape");
  expectError("reshape %0, %1", {x, i64({2}, {-1, -1})}, "cannot reshape");
  expectError("reshape %0, %1", {x, i64({2}, {-2, -12})}, "negative size");
}

TEST(Movement, BroadcastTo) {
  expect("broadcast_to %0, %1", {count({3, 1}), i64({3}, {2, 3, 2})},
         f32({2, 3, 2}, {0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2}));
  expect("broadcast_to %0, %1", {count({}), i64({1}, {3})}, f32({3}, {0, 0, 0}));
  expectError("broadcast_to %0, %1", {count({3}), i64({1}, {4})}, "cannot broadcast");
}

TEST(Movement, TransposeReverseTile) {
  expect("transpose %0 {permutation = array<i64: 1, 0>}", {count({2, 3})},
         f32({3, 2}, {0, 3, 1, 4, 2, 5}));
  expect("transpose %0 {permutation = array<i64: 2, 0, 1>}", {count({2, 1, 3})},
         f32({3, 2, 1}, {0, 3, 1, 4, 2, 5}));
  expect("reverse %0 {axes = array<i64: 1>}", {count({2, 3})}, f32({2, 3}, {2, 1, 0, 5, 4, 3}));
  expect("tile %0, %1", {count({2, 1}), i64({2}, {2, 3})},
         f32({4, 3}, {0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1}));
  expect("tile %0, %1", {count({2}), i64({1}, {0})}, f32({0}, {}));
  expectError("tile %0, %1", {count({2}), i64({1}, {-1})}, "negative repeat");
}

void expectSlice(int64_t size, double start, double end, double step, std::vector<double> values) {
  expect("slice %0, %1, %2, %3 {axes = array<i64: 0>, strict = false}",
         {count({size}), i64({1}, {start}), i64({1}, {end}), i64({1}, {step})},
         f32({(int64_t)values.size()}, values));
}

TEST(Movement, SliceClampsAsNumPyDoes) {
  expectSlice(5, 1, 4, 1, {1, 2, 3});
  expectSlice(5, 0, 100, 2, {0, 2, 4});
  expectSlice(5, -2, 100, 1, {3, 4});
  expectSlice(5, -100, 2, 1, {0, 1});
  expectSlice(5, 4, 0, -1, {4, 3, 2, 1});
  expectSlice(5, 100, -100, -2, {4, 2, 0});
  expectSlice(5, 3, 1, 1, {});
  expectSlice(5, -100, -200, -1, {});
  expectSlice(0, 0, 10, 1, {});
  expectSlice(0, 10, -10, -1, {});
  expectSlice(5, 4, -1, -1, {});
  expectSlice(5, 1, 3, 7, {1});
}

TEST(Movement, SliceStrict) {
  std::string text = "slice %0, %1, %2, %3 {axes = array<i64: 1>, strict = true}";
  expect(text, {count({2, 3}), i64({1}, {1}), i64({1}, {3}), i64({1}, {1})},
         f32({2, 2}, {1, 2, 4, 5}));
  expectError(text, {count({2, 3}), i64({1}, {1}), i64({1}, {4}), i64({1}, {1})}, "outside of [0,");
  expectError(text, {count({2, 3}), i64({1}, {0}), i64({1}, {2}), i64({1}, {0})}, "step 0");
}

TEST(Movement, Pad) {
  auto pad = [](const std::string &mode) { return "pad %0, %1, %2 {mode = \"" + mode + "\"}"; };
  Array value = f32({}, {9});
  expect(pad("constant"), {count({3}), i64({2}, {1, 2}), value}, f32({6}, {9, 0, 1, 2, 9, 9}));
  expect(pad("constant"), {count({4}), i64({2}, {-1, -1}), value}, f32({2}, {1, 2}));
  expect(pad("constant"), {count({2, 2}), i64({4}, {0, 1, 1, -1}), value},
         f32({3, 2}, {9, 0, 9, 2, 9, 9}));
  expect(pad("edge"), {count({3}), i64({2}, {2, 1}), value}, f32({6}, {0, 0, 0, 1, 2, 2}));
  expect(pad("reflect"), {count({4}), i64({2}, {2, 3}), value},
         f32({9}, {2, 1, 0, 1, 2, 3, 2, 1, 0}));
  expect(pad("reflect"), {count({3}), i64({2}, {5, 0}), value}, f32({8}, {1, 0, 1, 2, 1, 0, 1, 2}));
  expect(pad("reflect"), {count({1}), i64({2}, {2, 1}), value}, f32({4}, {0, 0, 0, 0}));
  expect(pad("symmetric"), {count({3}), i64({2}, {4, 2}), value},
         f32({9}, {2, 2, 1, 0, 0, 1, 2, 2, 1}));
  expect(pad("wrap"), {count({3}), i64({2}, {4, 2}), value}, f32({9}, {2, 0, 1, 2, 0, 1, 2, 0, 1}));
  expectError(pad("edge"), {count({0}), i64({2}, {1, 0}), value}, "empty dimension");
  expectError(pad("constant"), {count({2}), i64({2}, {-2, -1}), value}, "crop");
}

TEST(Movement, Concat) {
  expect("concat %0, %1, %2 {axis = 1 : i64}", {count({2, 1}), count({2, 0}), count({2, 2})},
         f32({2, 3}, {0, 0, 1, 1, 2, 3}), false);
  expectError("concat %0, %1 {axis = 0 : i64}", {count({1, 2}), count({1, 3})}, "concat of sizes");
}

TEST(Movement, Gather) {
  std::string text = "gather %0, %1 {axis = 1 : i64, batch_dims = 0 : i64, "
                     "wrap_negative = true}";
  expect(text, {count({2, 3}), i64({2, 1}, {2, -3})}, f32({2, 2, 1}, {2, 0, 5, 3}));
  expect(text, {count({2, 3, 2}), i64({}, {1})}, f32({2, 2}, {2, 3, 8, 9}));
  expectError(text, {count({2, 3}), i64({1}, {3})}, "is outside of");
  expectError(text, {count({2, 0}), i64({1}, {0})}, "is outside of");
  expect("gather %0, %1 {axis = 1 : i64, batch_dims = 1 : i64, wrap_negative = "
         "false}",
         {count({2, 3}), i64({2, 2}, {0, 2, 1, 1})}, f32({2, 2}, {0, 2, 4, 4}));
  expectError("gather %0, %1 {axis = 0 : i64, batch_dims = 0 : i64, "
              "wrap_negative = false}",
              {count({2}), i64({1}, {-1})}, "is outside of");
}

TEST(Movement, GatherElementsAndNd) {
  expect("gather_elements %0, %1 {axis = 1 : i64, wrap_negative = true}",
         {count({2, 3}), i64({2, 2}, {0, -1, 2, 1})}, f32({2, 2}, {0, 2, 5, 4}));
  expectError("gather_elements %0, %1 {axis = 1 : i64, wrap_negative = true}",
              {count({1, 3}), i64({2, 1}, {0, 0})}, "indices have");
  Machine machine; // the depth of tuples must be known: static types only
  Outcome outcome = machine.run("gather_nd %0, %1 {batch_dims = 0 : i64, wrap_negative = true}",
                                {count({2, 3}), i64({2, 2}, {0, 1, -1, -1})}, Typing::Static);
  ASSERT_EQ(outcome.errors.size(), 0u);
  EXPECT_EQ(outcome.results[0], f32({2}, {1, 5}));
  outcome = machine.run("gather_nd %0, %1 {batch_dims = 1 : i64, wrap_negative = true}",
                        {count({2, 3, 2}), i64({2, 1}, {2, 0})}, Typing::Static);
  ASSERT_EQ(outcome.errors.size(), 0u);
  EXPECT_EQ(outcome.results[0], f32({2, 2}, {4, 5, 6, 7}));
}

TEST(Movement, IotaRangeBitcast) {
  Machine machine;
  Outcome outcome = machine.run("iota %0 {axis = 1 : i64, element_type = f16}", {i64({2}, {2, 3})},
                                Typing::Static);
  EXPECT_EQ(outcome.results[0], (Array{"f16", {2, 3}, {0, 1, 2, 0, 1, 2}}));
  expect("range %0, %1, %2", {i64({}, {10}), i64({}, {1}), i64({}, {-4})}, i64({3}, {10, 6, 2}));
  expect("range %0, %1, %2", {i64({}, {1}), i64({}, {1}), i64({}, {2})}, i64({0}, {}));
  expect("range %0, %1, %2", {f32({}, {0}), f32({}, {1}), f32({}, {0.25})},
         f32({4}, {0, 0.25, 0.5, 0.75}));
  expectError("range %0, %1, %2", {i64({}, {0}), i64({}, {1}), i64({}, {0})}, "step 0");
}

} // namespace
