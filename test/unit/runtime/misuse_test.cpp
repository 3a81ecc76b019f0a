//===- misuse_test.cpp - what callers get wrong ---------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Null where something is needed, options without a size, memory that is
// released twice or was never ours, strings that are none: each is a status, or
// nothing at all.

#include "session/handles.h"
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

TEST_F(Misuse, WhatAsksAnswersNullWithNothing) {
  EXPECT_EQ(weir_session_program(nullptr), nullptr);
  EXPECT_EQ(weir_session_threads(nullptr), 0);
  EXPECT_EQ(weir_session_find_entry(nullptr, "floats"), -1);
  EXPECT_EQ(weir_session_memory_report(nullptr, 0, nullptr, 0), 1);
  weir_session_trim(nullptr);
  EXPECT_EQ(weir_program_name(nullptr), nullptr);
  EXPECT_EQ(weir_program_compiler(nullptr), nullptr);
  EXPECT_EQ(weir_program_entry_count(nullptr), 0);
  EXPECT_EQ(weir_program_entry_name(nullptr, 0), nullptr);
  EXPECT_EQ(weir_program_feed_count(nullptr, 0), 0);
  EXPECT_EQ(weir_program_fetch_count(nullptr, 0), 0);
  EXPECT_EQ(weir_program_variable_count(nullptr), 0);
  EXPECT_EQ(weir_program_device_count(nullptr), 0);
  EXPECT_EQ(weir_program_device_name(nullptr, 0), nullptr);
  EXPECT_EQ(weir_program_arena_bytes(nullptr, 0), 0);
  weir_tensor_info info = WEIR_TENSOR_INFO_INIT;
  EXPECT_EQ(weir_program_feed(nullptr, 0, 0, &info), WEIR_INVALID_ARGUMENT);
  EXPECT_EQ(weir_program_feed(program.get(), 0, 0, nullptr), WEIR_INVALID_ARGUMENT);
  EXPECT_EQ(weir_program_fetch(program.get(), 0, 0, nullptr), WEIR_INVALID_ARGUMENT);
  EXPECT_EQ(weir_program_variable(program.get(), 0, nullptr), WEIR_INVALID_ARGUMENT);
  info.size = 0;
  EXPECT_EQ(weir_program_feed(program.get(), 0, 0, &info), WEIR_INVALID_ARGUMENT);
}

TEST_F(Misuse, ADestroyedSessionIsNoSession) {
  weir_session *session = nullptr;
  ASSERT_EQ(weir_session_create(program.get(), nullptr, &session, &status), WEIR_OK);
  weir_session_destroy(session);
  weir_session_destroy(session);
  std::vector<float> x = {1};
  weir_tensor feed = floats(x, {1}), fetch = {};
  constexpr const char *gone =
      ": the session was destroyed, or is of another runtime (each shared object has its own)";
  auto expectGone = [&](int32_t code, const char *function) {
    EXPECT_EQ(code, WEIR_INVALID_ARGUMENT);
    expectMessage((std::string(function) + gone).c_str());
  };
  expectGone(weir_session_run(session, 0, &feed, 1, &fetch, 1, nullptr, &status),
             "weir_session_run");
  expectGone(weir_session_run_async(
                 session, 0, &feed, 1, &fetch, 1, nullptr, [](void *, const weir_status *) {},
                 nullptr, &status),
             "weir_session_run_async");
  expectGone(weir_session_reset(session, &status), "weir_session_reset");
  expectGone(weir_session_get_variable(session, "names", &fetch, &status),
             "weir_session_get_variable");
  expectGone(weir_session_set_variable(session, "names", &feed, &status),
             "weir_session_set_variable");
  expectGone(weir_session_save(session, "/tmp/never", nullptr, &status), "weir_session_save");
  expectGone(weir_session_restore(session, "/tmp/never", nullptr, &status), "weir_session_restore");
  EXPECT_EQ(weir_session_program(session), nullptr);
  EXPECT_EQ(weir_session_threads(session), 0);
  weir_session_release(session, &fetch);
  weir_session_trim(session);
  weir_memory_stats stats = {};
  stats.size = sizeof(stats);
  EXPECT_EQ(weir_session_memory(session, 0, &stats), WEIR_INVALID_ARGUMENT);
}

TEST_F(Misuse, ManySessionsAreAllKnown) {
  // More than the table of handles has places.
  std::vector<weir_session *> sessions(1500);
  weir_session_options options = TestSession::defaults(1);
  for (weir_session *&session : sessions)
    ASSERT_EQ(weir_session_create(program.get(), &options, &session, &status), WEIR_OK);
  for (weir_session *session : sessions)
    EXPECT_EQ(weir_session_threads(session), 1);
  for (weir_session *session : sessions)
    weir_session_destroy(session);
  for (weir_session *session : sessions)
    EXPECT_EQ(weir_session_threads(session), 0);
}

TEST_F(Misuse, ASessionOfAnotherProgramIsRefused) {
  TestProgram other;
  other.desc.name = "other";
  TestSession session(program.get());
  EXPECT_EQ(weir_rt_check_session(program.get(), session, &status), WEIR_OK);
  EXPECT_EQ(weir_rt_check_session(other.get(), session, &status), WEIR_INVALID_ARGUMENT);
  expectMessage("a function of program \"other\" was given a session of program \"test\"");
  EXPECT_EQ(weir_rt_check_session(other.get(), nullptr, &status), WEIR_INVALID_ARGUMENT);
  expectMessage("other: session is null");
}

TEST_F(Misuse, ADestroyedCancellationIsNone) {
  weir_cancellation *cancellation = weir_cancellation_create();
  weir_cancellation_cancel(cancellation);
  EXPECT_EQ(weir_cancellation_is_cancelled(cancellation), 1);
  weir_cancellation_destroy(cancellation);
  weir_cancellation_destroy(cancellation);
  weir_cancellation_cancel(cancellation);
  EXPECT_EQ(weir_cancellation_is_cancelled(cancellation), 0);
  TestSession session(program.get());
  std::vector<float> x = {1};
  weir_tensor feed = floats(x, {1}), fetch = {};
  weir_run_options options = WEIR_RUN_OPTIONS_INIT;
  options.cancellation = cancellation;
  EXPECT_EQ(weir_session_run(session, 0, &feed, 1, &fetch, 1, &options, &status),
            WEIR_INVALID_ARGUMENT);
  expectMessage("weir_session_run: found a cancellation that was destroyed, or is of another "
                "runtime");
}

TEST_F(Misuse, SizesAreHonoured) {
  weir_status small = WEIR_STATUS_INIT;
  small.size = 0;
  small.code = 77;
  strcpy(small.message, "mine");
  EXPECT_EQ(weir_session_create(nullptr, nullptr, nullptr, &small), WEIR_INVALID_ARGUMENT);
  EXPECT_EQ(small.code, 77);
  EXPECT_STREQ(small.message, "mine");
  small.size = offsetof(weir_status, message);
  EXPECT_EQ(weir_session_create(nullptr, nullptr, nullptr, &small), WEIR_INVALID_ARGUMENT);
  EXPECT_EQ(small.code, WEIR_INVALID_ARGUMENT);
  EXPECT_STREQ(small.message, "mine");

  weir_session *made = nullptr;
  weir_allocator allocator = {};
  weir_session_options options = WEIR_SESSION_OPTIONS_INIT;
  options.allocator = &allocator;
  EXPECT_EQ(weir_session_create(program.get(), &options, &made, &status), WEIR_INVALID_ARGUMENT);
  expectMessage("weir_session_create: found an allocator without size, allocate or release");
  weir_trace trace = {};
  options = WEIR_SESSION_OPTIONS_INIT;
  options.trace = &trace;
  EXPECT_EQ(weir_session_create(program.get(), &options, &made, &status), WEIR_INVALID_ARGUMENT);
  expectMessage("weir_session_create: found a trace without size, begin or end");

  TestSession session(program.get());
  weir_memory_stats stats = {};
  EXPECT_EQ(weir_session_memory(session, 0, &stats), WEIR_INVALID_ARGUMENT);
  weir_checkpoint_options checkpoint = {};
  EXPECT_EQ(weir_session_save(session, "/tmp/never", &checkpoint, &status), WEIR_INVALID_ARGUMENT);
}

TEST_F(Misuse, ASizeThatWasNeverSetIsNotAnEmptyBatch) {
  TestSession session(program.get());
  weir_tensor feed = {}, fetch = {};
  feed.dtype = WEIR_F32;
  feed.rank = 1;
  feed.dims[0] = -1;
  EXPECT_EQ(weir_session_run(session, 0, &feed, 1, &fetch, 1, nullptr, &status),
            WEIR_INVALID_ARGUMENT);
  expectMessage("feed \"x\" of entry \"floats\": it was not given size 0, so nothing is fed; "
                "expected f32 ?, got f32 ?");
}

TEST_F(Misuse, OptionsWithoutASizeAreNotIgnored) {
  TestSession session(program.get());
  std::vector<float> x = {1};
  weir_tensor feed = floats(x, {1}), fetch = {};
  weir_run_options options = {};
  options.timeout_ns = 1;
  EXPECT_EQ(weir_session_run(session, 0, &feed, 1, &fetch, 1, &options, &status),
            WEIR_INVALID_ARGUMENT);
  expectMessage("weir_session_run: found options without size (see WEIR_RUN_OPTIONS_INIT)");

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
                "no data; expected string ?, got string 3");
  x[0].size = -1;
  EXPECT_EQ(run(1), WEIR_INVALID_ARGUMENT);

  weir_tensor value = tensorOf(x, WEIR_STRING, {2});
  EXPECT_EQ(weir_session_set_variable(session, "names", &value, &status), WEIR_INVALID_ARGUMENT);
  expectMessage("variable \"names\": string 0 has a negative size, or no data");
  x[0].size = 1;
  EXPECT_EQ(weir_session_set_variable(session, "names", &value, &status), WEIR_OK);
}

} // namespace
