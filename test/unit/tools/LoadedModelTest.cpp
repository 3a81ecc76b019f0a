//===- LoadedModelTest.cpp ------------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/common/LoadedModel.h"
#include "tools/common/Files.h"
#include "tools/common/Session.h"

#include <gtest/gtest.h>

#include <memory>

using namespace weir::tools;

namespace {

/// DoublingProgram.c as weirc would have emitted it: y = 2 * x.
std::string object() {
  std::string bytes, error;
  EXPECT_TRUE(readFile(DOUBLING_OBJECT, bytes, error)) << error;
  return bytes;
}

void expectDoubles(const LoadedModel &model) {
  weir_session_options options = WEIR_SESSION_OPTIONS_INIT;
  options.threads = 1;
  RunStatus status;
  std::unique_ptr<Session> session = Session::create(model, options, status);
  ASSERT_TRUE(session) << status.text();
  ASSERT_EQ(session->entries().size(), 1u);
  const LoadedEntry &entry = session->entries()[0];
  EXPECT_EQ(entry.name, "main");
  ASSERT_EQ(entry.feeds.size(), 1u);
  EXPECT_EQ(entry.feeds[0].name, "x");
  EXPECT_EQ(entry.feeds[0].dims, (std::vector<int64_t>{4}));
  EXPECT_EQ(session->findEntry("main"), 0);
  EXPECT_EQ(session->findEntry("other"), -1);

  std::vector<HostTensor> feeds = {makeTensor(WEIR_F32, {4})};
  for (int i = 0; i < 4; ++i)
    setElement(feeds[0], i, i + 0.25);
  NamedTensors fetches;
  status = session->run(0, feeds, fetches);
  ASSERT_TRUE(status.ok()) << status.text();
  ASSERT_EQ(fetches.size(), 1u);
  EXPECT_EQ(fetches[0].first, "y");
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(elementAsDouble(fetches[0].second, i), 2 * i + 0.5);

  feeds[0] = makeTensor(WEIR_F32, {3});
  status = session->run(0, feeds, fetches);
  EXPECT_EQ(status.code, WEIR_INVALID_ARGUMENT);
  EXPECT_NE(status.message.find("x"), std::string::npos);
}

TEST(LoadedModel, LinksAnObjectInMemory) {
  std::string error;
  auto model = LoadedModel::link(object(), "doubling", error);
  ASSERT_TRUE(model) << error;
  expectDoubles(*model);
}

TEST(LoadedModel, TheSameObjectTwice) {
  std::string bytes = object(), error;
  auto first = LoadedModel::link(bytes, "doubling", error);
  auto second = LoadedModel::link(bytes, "doubling", error);
  ASSERT_TRUE(first && second) << error;
  EXPECT_NE(first->program(), second->program());
  first.reset();
  expectDoubles(*second);
}

TEST(LoadedModel, OpensASharedLibrary) {
  std::string error;
  auto model = LoadedModel::open(DOUBLING_LIBRARY, "", error);
  ASSERT_TRUE(model) << error;
  expectDoubles(*model);
}

TEST(LoadedModel, SaysWhyNot) {
  std::string error;
  EXPECT_FALSE(LoadedModel::link("no object", "doubling", error));
  EXPECT_NE(error, "");
  EXPECT_FALSE(LoadedModel::link(object(), "tripling", error));
  EXPECT_NE(error.find("tripling_program"), std::string::npos);
  EXPECT_FALSE(LoadedModel::open("/no/such.so", "", error));
  EXPECT_FALSE(LoadedModel::open(DOUBLING_LIBRARY, "tripling", error));
  EXPECT_NE(error.find("tripling_program"), std::string::npos);
}

} // namespace
