//===- OperatorTableTest.cpp ----------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/OperatorTable.h"

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

} // namespace
