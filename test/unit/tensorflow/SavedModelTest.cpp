//===- SavedModelTest.cpp - a SavedModel's folder -----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/SavedModel.h"

#include <gtest/gtest.h>

using namespace weir;
using namespace weir::tf;

// The digits network that the project trains and exports itself.
static const char *kDigits = "test/digits/digits_saved_model";

TEST(SavedModel, HasItsSignaturesAndVariables) {
  DiagnosticSink sink;
  auto model = readSavedModel(kDigits, {}, sink);
  ASSERT_TRUE(model) << (sink.diagnostics().empty() ? "" : sink.diagnostics()[0].str());
  const Signature *signature = model->signature("serving_default");
  ASSERT_TRUE(signature);
  ASSERT_EQ(signature->inputs.size(), 1u);
  EXPECT_EQ(signature->inputs[0].shape.dims, (std::vector<int64_t>{-1, 8, 8, 1}));
  EXPECT_FALSE(model->restoreOp.empty());
  ASSERT_TRUE(model->variables);
  EXPECT_FALSE(model->variables->names().empty());
}

TEST(SavedModel, SaysWhichTagsThereAre) {
  DiagnosticSink sink;
  EXPECT_FALSE(readSavedModel(kDigits, {"train"}, sink));
  ASSERT_EQ(sink.diagnostics().size(), 1u);
  EXPECT_EQ(sink.diagnostics()[0].code, "W0213");
  ASSERT_EQ(sink.diagnostics()[0].notes.size(), 1u);
  EXPECT_NE(sink.diagnostics()[0].notes[0].find("serve"), std::string::npos);
}

TEST(SavedModel, AFolderWithoutModel) {
  EXPECT_EQ(findSavedModel("test"), "");
  EXPECT_EQ(findSavedModel(kDigits), kDigits);
}
