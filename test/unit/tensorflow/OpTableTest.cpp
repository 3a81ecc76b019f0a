//===- OpTableTest.cpp - the table of operations ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/OpTable.h"

#include <gtest/gtest.h>

using namespace weir::tf;

TEST(OpTable, SignaturesAndDefaults) {
  const OpDef *conv = findOp("Conv2D");
  ASSERT_TRUE(conv);
  ASSERT_EQ(conv->inputs.size(), 2u);
  EXPECT_EQ(conv->inputs[1].name, "filter");
  EXPECT_EQ(conv->inputs[1].typeAttr, "T");
  bool found = false;
  for (const AttrDef &attr : conv->attrs)
    if (attr.name == "use_cudnn_on_gpu") {
      found = true;
      EXPECT_TRUE(attr.hasDefault);
      EXPECT_TRUE(attr.value.b);
    }
  EXPECT_TRUE(found);
}

TEST(OpTable, EscapesInDefaults) {
  const OpDef *op = findOp("DecodeCSV");
  ASSERT_TRUE(op);
  for (const AttrDef &attr : op->attrs)
    if (attr.name == "field_delim")
      EXPECT_EQ(attr.value.s, ",");
}

TEST(OpTable, SequencesAndReferences) {
  const OpDef *pack = findOp("Pack");
  ASSERT_TRUE(pack);
  EXPECT_EQ(pack->inputs[0].numberAttr, "N");
  const OpDef *assign = findOp("Assign");
  ASSERT_TRUE(assign);
  EXPECT_TRUE(assign->inputs[0].isRef);
  const OpDef *loop = findOp("While");
  ASSERT_TRUE(loop);
  EXPECT_TRUE(loop->isStateful);
  EXPECT_EQ(loop->inputs[0].typeListAttr, "T");
}

TEST(OpTable, SimilarNames) {
  auto names = similarOps("Con2D");
  ASSERT_FALSE(names.empty());
  EXPECT_EQ(names[0], "Conv2D");
  EXPECT_TRUE(similarOps("NothingLikeThisAtAll").empty());
  EXPECT_EQ(findOp("Con2D"), nullptr);
}
