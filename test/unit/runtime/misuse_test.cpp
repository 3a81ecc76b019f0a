//===- misuse_test.cpp - what callers get wrong ---------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Null where something is needed, options without a size, memory that is
// released twice or was never ours, strings that are none: each is a status, or
// nothing at all.

#include "test_program.h"

#include <cstring>

using namespace weir::rt::test;

namespace {

int32_t copyStep(weir_context *ctx) {
  const weir_tensor &x = ctx->feeds[0];
  void *y = weir_rt_fetch(ctx, 0, x.rank, x.dims, x.bytes);
  if (!y)
    return WEIR_INTERNAL;
  if (x.bytes > 0)
    memcpy(y, x.data, size_t(x.bytes));
  return WEIR_OK;
}

class Misuse : public testing::Test {
protected:
  Misuse() {
    program.entry("floats", {{"x", WEIR_F32, {-1}}}, {{"y", WEIR_F32, {-1}}}, {copyStep});
    program.entry("strings", {{"x", WEIR_STRING, {-1}}}, {{"y", WEIR_STRING, {-1}}}, {copyStep});
    program.slot("names", WEIR_STRING, {2}, -1, 0);
  }

  void expectMessage(const char *expected) {
    EXPECT_STREQ(status.message, expected);
    EXPECT_EQ(status.code, WEIR_INVALID_ARGUMENT);
    status = WEIR_STATUS_INIT;
  }

  TestProgram program;
  weir_status status = WEIR_STATUS_INIT;
};

TEST_F(Misuse, NullIsAStatusThatNamesTheArgument) {
  weir_session *made = nullptr;
  EXPECT_EQ(weir_session_create(nullptr, nullptr, &made, &status), WEIR_INVALID_ARGUMENT);
  expectMessage("weir_session_create: program is null");
  EXPECT_EQ(weir_session_create(program.get(), nullptr, nullptr, &status), WEIR_INVALID_ARGUMENT);
  expectMessage("weir_session_create: session is null");
  EXPECT_EQ(weir_session_create(nullptr, nullptr, nullptr, nullptr), WEIR_INVALID_ARGUMENT);

  TestSession session(program.get());
  weir_tensor tensor = {};
  EXPECT_EQ(weir_session_run(nullptr, 0, &tensor, 1, &tensor, 1, nullptr, &status),
            WEIR_INVALID_ARGUMENT);
  expectMessage("weir_session_run: session is null");
  EXPECT_EQ(weir_session_run(session, 0, nullptr, 1, &tensor, 1, nullptr, &status),
            WEIR_INVALID_ARGUMENT);
  expectMessage("weir_session_run: feeds is null");
  std::vector<float> x = {1};
  weir_tensor feed = floats(x, {1});
  EXPECT_EQ(weir_session_run(session, 0, &feed, 1, nullptr, 1, nullptr, &status),
            WEIR_INVALID_ARGUMENT);
  expectMessage("weir_session_run: fetches is null");

  EXPECT_EQ(weir_session_get_variable(session, nullptr, &tensor, &status), WEIR_INVALID_ARGUMENT);
  expectMessage("weir_session_get_variable: name is null");
  EXPECT_EQ(weir_session_get_variable(session, "names", nullptr, &status), WEIR_INVALID_ARGUMENT);
  expectMessage("weir_session_get_variable: value is null");
  EXPECT_EQ(weir_session_set_variable(nullptr, "names", &tensor, &status), WEIR_INVALID_ARGUMENT);
  expectMessage("weir_session_set_variable: session is null");
  EXPECT_EQ(weir_session_set_variable(session, "names", nullptr, &status), WEIR_INVALID_ARGUMENT);
  expectMessage("weir_session_set_variable: value is null");
  EXPECT_EQ(weir_session_reset(nullptr, &status), WEIR_INVALID_ARGUMENT);
  expectMessage("weir_session_reset: session is null");
  EXPECT_EQ(weir_session_memory(session, 0, nullptr), WEIR_INVALID_ARGUMENT);
  EXPECT_EQ(weir_session_find_entry(session, nullptr), -1);

  weir_session_destroy(nullptr);
  weir_session_release(session, nullptr);
  weir_session_release(nullptr, &tensor);
  weir_cancellation_cancel(nullptr);
  weir_cancellation_reset(nullptr);
  weir_cancellation_destroy(nullptr);
  EXPECT_EQ(weir_cancellation_is_cancelled(nullptr), 0);
}

TEST_F(Misuse, OptionsWithoutASizeAreNotIgnored) {
  TestSession session(program.get());
  std::vector<float> x = {1};
  weir_tensor feed = floats(x, {1}), fetch = {};
  weir_run_options options = {};
  options.timeout_ns = 1;
  EXPECT_EQ(weir_session_run(session, 0, &feed, 1, &fetch, 1, &options, &status),
            WEIR_INVALID_ARGUMENT);
  expectMessage("weir_session_run: options without size (see WEIR_RUN_OPTIONS_INIT)");

  weir_session_options made = WEIR_SESSION_OPTIONS_INIT;
  weir_custom_function nameless = {nullptr, nullptr};
  made.functions = &nameless;
  made.function_count = 1;
  weir_session *out = nullptr;
  EXPECT_EQ(weir_session_create(program.get(), &made, &out, &status), WEIR_INVALID_ARGUMENT);
  EXPECT_EQ(out, nullptr);
}

TEST_F(Misuse, WhatIsReleasedTwiceOrWasNeverOursIsLeftAlone) {
  TestSession session(program.get());
  std::vector<float> x(100, 3);
  weir_tensor feed = floats(x, {100}), fetch = {};
  ASSERT_EQ(weir_session_run(session, 0, &feed, 1, &fetch, 1, nullptr, &status), WEIR_OK);
  weir_memory_stats stats = {};
  stats.size = sizeof(stats);
  ASSERT_EQ(weir_session_memory(session, 0, &stats), WEIR_OK);
  int64_t before = stats.live;
  weir_tensor copy = fetch;
  weir_session_release(session, &fetch);
  EXPECT_EQ(fetch.data, nullptr);
  weir_session_release(session, &fetch);
  weir_session_release(session, &copy);
  weir_tensor inside = copy;
  inside.data = static_cast<char *>(copy.data) + 64;
  weir_session_release(session, &inside);
  weir_session_release(session, &feed);
  EXPECT_EQ(feed.data, x.data());
  EXPECT_EQ(x[99], 3);
  ASSERT_EQ(weir_session_memory(session, 0, &stats), WEIR_OK);
  EXPECT_EQ(stats.live, before - 1);
}

TEST_F(Misuse, StringsThatAreNoneAreRefused) {
  TestSession session(program.get());
  std::vector<weir_string> x = {{"a", 1}, {nullptr, 0}, {nullptr, 3}};
  weir_tensor fetch = {};
  auto run = [&](int64_t count) {
    weir_tensor feed = tensorOf(x, WEIR_STRING, {count});
    return weir_session_run(session, 1, &feed, 1, &fetch, 1, nullptr, &status);
  };
  EXPECT_EQ(run(2), WEIR_OK) << status.message;
  weir_session_release(session, &fetch);
  EXPECT_EQ(run(3), WEIR_INVALID_ARGUMENT);
  expectMessage("feed \"x\" of entry \"strings\": string 2 has a negative size, or "
                "no data; found string 3, possible string ?");
  x[0].size = -1;
  EXPECT_EQ(run(1), WEIR_INVALID_ARGUMENT);

  weir_tensor value = tensorOf(x, WEIR_STRING, {2});
  EXPECT_EQ(weir_session_set_variable(session, "names", &value, &status), WEIR_INVALID_ARGUMENT);
  expectMessage("variable \"names\": string 0 has a negative size, or no data");
  x[0].size = 1;
  EXPECT_EQ(weir_session_set_variable(session, "names", &value, &status), WEIR_OK);
}

} // namespace
