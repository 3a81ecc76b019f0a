//===- OperatorTableTest.cpp ----------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/OperandTypes.h"

#include <gtest/gtest.h>

using namespace weir::onnx;

namespace {

TEST(OperatorTable, AnOperatorMeansTheNewestVersionBeforeTheOpset) {
  EXPECT_EQ(findOperator("", "Softmax", 12)->since, 11);
  EXPECT_EQ(findOperator("", "Softmax", 13)->since, 13);
  EXPECT_EQ(findOperator("", "Softmax", 1000)->since, 13);
  EXPECT_EQ(*findOperator("", "Softmax", 12)->attribute("axis")->defaultValue, "1");
  EXPECT_EQ(*findOperator("", "Softmax", 13)->attribute("axis")->defaultValue, "-1");
}

TEST(OperatorTable, KnowsWhatDoesNotExist) {
  EXPECT_FALSE(findOperator("", "Gelu", 19));
  EXPECT_EQ(firstVersion("", "Gelu"), 20);
  EXPECT_EQ(firstVersion("", "Gel"), 0);
  EXPECT_FALSE(findOperator("ai.onnx.ml", "Relu", 3));
  EXPECT_TRUE(isKnownDomain("ai.onnx.ml"));
  EXPECT_FALSE(isKnownDomain("com.example"));
}

TEST(OperatorTable, SignaturesSayWhatIsOptional) {
  OperatorSpec clip = *findOperator("", "Clip", 13);
  EXPECT_EQ(clip.leastInputs, 1);
  EXPECT_EQ(clip.mostInputs, 3);
  EXPECT_EQ(clip.inputName(2), "max");
  OperatorSpec concat = *findOperator("", "Concat", 13);
  EXPECT_EQ(concat.mostInputs, -1);
  EXPECT_EQ(concat.inputName(3), "inputs[3]");
  EXPECT_TRUE(concat.attribute("axis")->required);
  EXPECT_EQ(concat.attribute("axis")->kind, AttributeKind::Int);
  EXPECT_EQ(findOperator("", "Constant", 13)->attribute("value")->kind, AttributeKind::Tensor);
  EXPECT_EQ(findOperator("", "Transpose", 13)->attribute("perm")->kind, AttributeKind::Ints);
}

TEST(OperandTypes, SetsBindOneType) {
  using T = DataType;
  OperatorSpec add = *findOperator("", "Add", 14);
  EXPECT_FALSE(faultyOperandTypes(add, {T::Float, T::Float}));
  EXPECT_EQ(*faultyOperandTypes(add, {T::Float, T::Int64}),
            "expected one type for B and A, got i64 and f32");
  // What is left out, or is no tensor, says nothing.
  EXPECT_FALSE(faultyOperandTypes(add, {T::Undefined, T::Int64}));
  EXPECT_TRUE(faultyOperandTypes(add, {T::Bool, T::Bool}));
}

TEST(OperandTypes, VariadicsMayDiffer) {
  using T = DataType;
  OperatorSpec concat = *findOperator("", "Concat", 13), loop = *findOperator("", "Loop", 13);
  EXPECT_FALSE(faultyOperandTypes(concat, {T::Int8, T::Int8, T::Int8}));
  EXPECT_TRUE(faultyOperandTypes(concat, {T::Int8, T::Int8, T::Int16}));
  EXPECT_FALSE(faultyOperandTypes(loop, {T::Int64, T::Bool, T::Float, T::String}));
  EXPECT_TRUE(faultyOperandTypes(loop, {T::Int32, T::Bool}));
}

TEST(OperandTypes, ChangeWithVersions) {
  using T = DataType;
  EXPECT_TRUE(faultyOperandTypes(*findOperator("", "Relu", 13), {T::Int32}));
  EXPECT_FALSE(faultyOperandTypes(*findOperator("", "Relu", 14), {T::Int32}));
  EXPECT_FALSE(
      faultyOperandTypes(*findOperator("com.microsoft", "BiasGelu", 1), {T::Float, T::Float}));
}

} // namespace
