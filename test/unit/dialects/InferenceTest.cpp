//===- InferenceTest.cpp - shapes at compile time -------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/dialects/ElementMachine.h"
#include "gtest/gtest.h"

using namespace weir::test;

namespace {

std::string infer(const std::string &text, const std::vector<std::string> &types,
                  unsigned results = 1) {
  Machine machine;
  return machine.infer(text, types, results);
}

TEST(Inference, Reshape) {
  EXPECT_EQ(infer("reshape %0, %1", {"tensor<?x6xf32>", "dense<[2, -1]> : tensor<2xi64>"}),
            "tensor<2x?xf32>");
  EXPECT_EQ(infer("reshape %0, %1", {"tensor<4x6xf32>", "dense<[2, -1]> : tensor<2xi64>"}),
            "tensor<2x12xf32>");
  EXPECT_EQ(infer("reshape %0, %1", {"tensor<4xf32>", "tensor<3xi64>"}), "tensor<?x?x?xf32>");
  EXPECT_EQ(infer("reshape %0, %1", {"tensor<4xf32>", "tensor<1xi64>"}), "tensor<4xf32>");
  EXPECT_EQ(infer("reshape %0, %1", {"tensor<4xf32>", "tensor<?xi64>"}), "tensor<*xf32>");
  EXPECT_EQ(infer("reshape %0, %1", {"tensor<4xf32>", "dense<[3, -1]> : tensor<2xi64>"}),
            "error: cannot reshape [4] to [3, ?]: no size of dimension 1 fits");
  EXPECT_EQ(infer("reshape %0, %1", {"tensor<4xf32>", "dense<5> : tensor<1xi64>"}),
            "error: cannot reshape [4] to [5]: element counts differ");
  EXPECT_EQ(infer("reshape %0, %1", {"tensor<4xf32>", "dense<-1> : tensor<2xi64>"}),
            "error: shape leaves 2 dimensions to derive, at most 1 can be");
}

TEST(Inference, Slice) {
  std::string text = "slice %0, %1, %2, %3 {axes = array<i64: 1>, strict = false}";
  std::string one = "dense<1> : tensor<1xi64>";
  EXPECT_EQ(infer(text, {"tensor<?x5xf32>", "dense<-3> : tensor<1xi64>", "dense<9> : tensor<1xi64>",
                         one}),
            "tensor<?x3xf32>");
  EXPECT_EQ(infer(text, {"tensor<2x5xf32>", "tensor<1xi64>", "dense<9> : tensor<1xi64>", one}),
            "tensor<2x?xf32>");
  EXPECT_EQ(infer(text, {"tensor<2x?xf32>", one, "dense<9> : tensor<1xi64>", one}),
            "tensor<2x?xf32>");
  EXPECT_EQ(infer(text, {"tensor<2x5xf32>", one, one, "dense<0> : tensor<1xi64>"}),
            "error: slice has step 0 along axis 1");
  EXPECT_EQ(infer(text, {"tensor<2xf32>", one, one, one}), "error: axis 1 of 1 dimensions");
  EXPECT_EQ(infer(text, {"tensor<*xf32>", one, one, one}), "tensor<*xf32>");
}

TEST(Inference, Movement) {
  EXPECT_EQ(infer("concat %0, %1 {axis = 0 : i64}", {"tensor<2x?xf32>", "tensor<3x4xf32>"}),
            "tensor<5x4xf32>");
  EXPECT_EQ(infer("concat %0, %1 {axis = 0 : i64}", {"tensor<2x3xf32>", "tensor<3x4xf32>"}),
            "error: concat along axis 0 of sizes that differ in dimension 1: 3 "
            "and 4");
  EXPECT_EQ(infer("transpose %0 {permutation = array<i64: 1, 0>}", {"tensor<2x?xi8>"}),
            "tensor<?x2xi8>");
  EXPECT_EQ(infer("transpose %0 {permutation = array<i64: 1, 1>}", {"tensor<2x?xi8>"}),
            "error: permutation [1, 1] must hold each dimension once");
  EXPECT_EQ(infer("gather %0, %1 {axis = 1 : i64, batch_dims = 1 : i64, "
                  "wrap_negative = true}",
                  {"tensor<?x5x6xf32>", "tensor<2x3xi32>"}),
            "tensor<2x3x6xf32>");
  EXPECT_EQ(infer("gather_nd %0, %1 {batch_dims = 0 : i64, wrap_negative = true}",
                  {"tensor<4x5x6xf32>", "tensor<?x2xi32>"}),
            "tensor<?x6xf32>");
  EXPECT_EQ(infer("broadcast_to %0, %1", {"tensor<3x1xf32>", "tensor<3xi64>"}),
            "tensor<?x3x?xf32>");
  EXPECT_EQ(infer("pad %0, %1, %2 {mode = \"constant\"}",
                  {"tensor<2x?xf32>", "dense<[1, 0, 2, 0]> : tensor<4xi64>", "tensor<f32>"}),
            "tensor<5x?xf32>");
  EXPECT_EQ(infer("top_k %0, %1 {axis = 1 : i64, largest = true, sorted = "
                  "true, index_type = i64}",
                  {"tensor<2x5xf32>", "dense<3> : tensor<1xi64>"}, 2),
            "tensor<2x3xf32>, tensor<2x3xi64>");
  EXPECT_EQ(
      infer("unique %0 {axis = -1 : i64, sorted = true, index_type = i64}", {"tensor<2x5xf32>"}, 4),
      "tensor<?xf32>, tensor<?xi64>, tensor<10xi64>, tensor<?xi64>");
}

TEST(Inference, Products) {
  std::string matmul = "dot_general %0, %1 {lhs_batch = array<i64: 0>, rhs_batch = array<i64: "
                       "0>, lhs_contract = "
                       "array<i64: 2>, rhs_contract = array<i64: 1>, accumulator = f32}";
  EXPECT_EQ(infer(matmul, {"tensor<?x2x3xbf16>", "tensor<4x3x5xbf16>"}), "tensor<4x2x5xf32>");
  EXPECT_EQ(infer(matmul, {"tensor<4x2x3xf32>", "tensor<4x4x5xf32>"}),
            "error: product of [4, 2, 3] and [4, 4, 5]: contracted sizes 3 and "
            "4 differ");
  std::string conv = "conv %0, %1 {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, "
                     "dilations = array<i64: "
                     "1, 1>, groups = 1 : i64, channels_last = false, accumulator = f32}";
  EXPECT_EQ(infer(conv, {"tensor<?x3x224x?xf32>", "tensor<64x3x7x7xf32>"}),
            "tensor<?x64x110x?xf32>");
  EXPECT_EQ(infer(conv, {"tensor<1x4x9x9xf32>", "tensor<8x3x3x3xf32>"}),
            "error: input [1, 4, 9, 9] has 4 channels, filter [8, 3, 3, 3] "
            "wants 3 in each of 1 groups");
  std::string pool = "pool %0 {kind = \"max\", window = array<i64: 3>, strides "
                     "= array<i64: 2>, pads = array<i64: 0, "
                     "0>, dilations = array<i64: 1>, ceil_mode = true, "
                     "count_include_pad = false, p = 1 : i64, "
                     "channels_last = true}";
  EXPECT_EQ(infer(pool, {"tensor<1x6x4xf32>"}), "tensor<1x3x4xf32>");
}

} // namespace
