//===- variables_test.cpp - variables of a session ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test_program.h"

#include <atomic>
#include <thread>

using namespace weir::rt::test;

namespace {

/// counter += 1; returns the new value.
int32_t countStep(weir_context *ctx) {
  weir_tensor value;
  if (int32_t code = weir_rt_variable_read(ctx, 0, 0, &value))
    return code;
  int64_t next = *static_cast<int64_t *>(value.data) + 1;
  weir_tensor tensor = scalar(&next);
  if (int32_t code = weir_rt_variable_assign(ctx, 0, 0, &tensor))
    return code;
  // The old value is whole as long as the run lives.
  if (*static_cast<int64_t *>(value.data) != next - 1)
    return WEIR_INTERNAL;
  return giveScalar(ctx, next);
}

void addCounter(TestProgram &program) {
  program.site("counter/read", "VarHandleOp", "?", WEIR_INTERNAL);
  program.blobs<int64_t>({41});
  program.slot("counter", WEIR_I64, {}, 0, 8);
  program.entry("count", {}, {{"n", WEIR_I64}}, {countStep});
}

TEST(Variables, LiveAcrossRunsAndStartAnew) {
  TestProgram program;
  addCounter(program);
  TestSession session(program.get());
  ASSERT_EQ(session.code, WEIR_OK) << session.message();
  int64_t n = 0;
  for (int64_t expected : {42, 43, 44}) {
    std::vector<weir_tensor> fetches = {scalar(&n)};
    ASSERT_EQ(session.run({}, &fetches), WEIR_OK) << session.message();
    EXPECT_EQ(n, expected);
  }
  EXPECT_EQ(weir_session_reset(session, nullptr), WEIR_OK);
  std::vector<weir_tensor> fetches = {scalar(&n)};
  session.run({}, &fetches);
  EXPECT_EQ(n, 42);

  // Another session has its own.
  TestSession other(program.get());
  weir_tensor value = scalar(&n);
  EXPECT_EQ(weir_session_get_variable(other, "counter", &value, nullptr), WEIR_OK);
  EXPECT_EQ(n, 41);
  weir_tensor owned = {};
  EXPECT_EQ(weir_session_get_variable(session, "counter", &owned, nullptr), WEIR_OK);
  EXPECT_EQ(*static_cast<int64_t *>(owned.data), 42);
  weir_session_release(session, &owned);
  EXPECT_EQ(owned.data, nullptr);

  n = 7;
  value = scalar(&n);
  EXPECT_EQ(weir_session_set_variable(session, "counter", &value, nullptr), WEIR_OK);
  session.run({}, &fetches);
  EXPECT_EQ(n, 8);
  EXPECT_EQ(weir_session_set_variable(session, "other", &value, &session.status), WEIR_NOT_FOUND);
  value.rank = 1;
  value.dims[0] = 1;
  EXPECT_EQ(weir_session_set_variable(session, "counter", &value, &session.status),
            WEIR_INVALID_ARGUMENT);
  EXPECT_STREQ(session.status.message,
               "variable \"counter\" holds i64 scalar, and was to be assigned "
               "i64 1");
}

TEST(Variables, BeginWithZerosThatNoBlobHolds) {
  TestProgram program;
  program.site("counter/read", "VarHandleOp", "?", WEIR_INTERNAL);
  program.slot("counter", WEIR_I64, {}, WEIR_INITIAL_ZEROS, 0);
  program.slot("w", WEIR_F32, {3}, WEIR_INITIAL_ZEROS, 0);
  program.slot("none", WEIR_F32, {0, 3}, WEIR_INITIAL_ZEROS, 0);
  program.entry("count", {}, {{"n", WEIR_I64}}, {countStep});
  TestSession session(program.get());
  ASSERT_EQ(session.code, WEIR_OK) << session.message();
  int64_t n = 0;
  std::vector<weir_tensor> fetches = {scalar(&n)};
  for (int64_t expected : {1, 2}) {
    ASSERT_EQ(session.run({}, &fetches), WEIR_OK) << session.message();
    EXPECT_EQ(n, expected);
  }
  EXPECT_EQ(weir_session_reset(session, nullptr), WEIR_OK);
  session.run({}, &fetches);
  EXPECT_EQ(n, 1);
  weir_tensor owned = {};
  ASSERT_EQ(weir_session_get_variable(session, "w", &owned, nullptr), WEIR_OK);
  EXPECT_EQ(owned.bytes, 12);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(static_cast<float *>(owned.data)[i], 0);
  weir_session_release(session, &owned);

  TestProgram strings;
  strings.slot("names", WEIR_STRING, {2}, WEIR_INITIAL_ZEROS, 0);
  strings.entry("main", {}, {}, {[](weir_context *) { return 0; }});
  TestSession refused(strings.get());
  EXPECT_EQ(refused.code, WEIR_INTERNAL);
  EXPECT_EQ(refused.message(),
            "the initial value of variable \"names\" contradicts its description");
}

TEST(Variables, UnassignedOnesAreAStatus) {
  TestProgram program;
  program.site("w/read", "ReadVariableOp", "?", WEIR_INTERNAL);
  program.slot("w", WEIR_F32, {2}, -1, 0);
  program.entry("main", {}, {}, {[](weir_context *ctx) {
                  weir_tensor value;
                  return weir_rt_variable_read(ctx, 0, 0, &value);
                }});
  TestSession session(program.get());
  EXPECT_EQ(session.run({}, nullptr), WEIR_FAILED_PRECONDITION);
  EXPECT_EQ(session.message(), "node \"w/read\" (ReadVariableOp): variable "
                               "\"w\" is read before it was assigned");
  weir_tensor value = {};
  EXPECT_EQ(weir_session_get_variable(session, "w", &value, nullptr), WEIR_FAILED_PRECONDITION);
}

/// counter += 1 over the value itself, or over a copy of it. The result is where that was.
int32_t countInPlace(weir_context *ctx) {
  weir_tensor value;
  if (int32_t code = weir_rt_variable_take(ctx, 0, 0, &value))
    return code;
  ++*static_cast<int64_t *>(value.data);
  weir_rt_variable_put(ctx, 0);
  return giveScalar(ctx, int64_t(reinterpret_cast<intptr_t>(value.data)));
}

/// Ends with an error between the two.
int32_t failInPlace(weir_context *ctx) {
  weir_tensor value;
  if (int32_t code = weir_rt_variable_take(ctx, 0, 0, &value))
    return code;
  return weir_rt_error(ctx, 0, 0, 0);
}

TEST(Variables, AreWrittenOverWhereNobodyElseHasTheValue) {
  TestProgram program;
  addCounter(program);
  program.entry("over", {}, {{"at", WEIR_I64}}, {countInPlace});
  program.entry("fail", {}, {}, {failInPlace});
  TestSession session(program.get());
  ASSERT_EQ(session.code, WEIR_OK) << session.message();
  auto count = [&] {
    int64_t n = 0;
    weir_tensor value = scalar(&n);
    EXPECT_EQ(weir_session_get_variable(session, "counter", &value, nullptr), WEIR_OK);
    return n;
  };
  auto over = [&] {
    int64_t at = 0;
    std::vector<weir_tensor> fetches = {scalar(&at)};
    EXPECT_EQ(session.run({}, &fetches, nullptr, 1), WEIR_OK) << session.message();
    return at;
  };
  // The program's own value is copied, and that copy is written over from then on.
  int64_t first = over();
  EXPECT_EQ(count(), 42);
  EXPECT_EQ(over(), first);
  EXPECT_EQ(over(), first);
  EXPECT_EQ(count(), 44);
  // After an error others may read it, and write over it.
  EXPECT_NE(session.run({}, nullptr, nullptr, 2), WEIR_OK);
  EXPECT_EQ(count(), 44);
  EXPECT_EQ(over(), first);
  EXPECT_EQ(count(), 45);
  EXPECT_EQ(weir_session_reset(session, nullptr), WEIR_OK);
  EXPECT_NE(session.run({}, nullptr, nullptr, 2), WEIR_OK);
  EXPECT_EQ(count(), 41) << "the copy of a step that failed became the value";
}

/// counter += 1 of a value that others may read meanwhile, as this step itself does.
int32_t countHeld(weir_context *ctx, bool fails) {
  weir_tensor value, again;
  if (int32_t code = weir_rt_variable_update(ctx, 0, 0, &value))
    return code;
  int64_t next = *static_cast<int64_t *>(value.data) + 1;
  if (int32_t code = weir_rt_variable_read(ctx, 0, 0, &again))
    return code;
  if (fails)
    return weir_rt_error(ctx, 0, 0, 0);
  weir_tensor tensor = scalar(&next);
  return weir_rt_variable_assign(ctx, 0, 0, &tensor);
}

TEST(Variables, UpdatesOfConcurrentRunsAreNotLost) {
  TestProgram program;
  addCounter(program);
  program.entry("over", {}, {{"at", WEIR_I64}}, {countInPlace});
  program.entry("held", {}, {}, {[](weir_context *ctx) { return countHeld(ctx, false); }});
  program.entry("fail", {}, {}, {[](weir_context *ctx) { return countHeld(ctx, true); }});
  program.entry("fail over", {}, {}, {failInPlace});
  TestSession session(program.get(), TestSession::defaults(1));
  ASSERT_EQ(session.code, WEIR_OK) << session.message();
  constexpr int runs = 2000;
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  // Those that end with an error change nothing, and nobody waits for them.
  for (int entry : {1, 2, 3, 4, 1, 2})
    threads.emplace_back([&, entry] {
      for (int i = 0; i < runs; ++i) {
        weir_tensor fetch = {};
        failures += weir_session_run(session, entry, nullptr, 0, &fetch, entry == 1, nullptr,
                                     nullptr) != WEIR_OK;
        weir_session_release(session, &fetch);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(failures, 2 * runs);
  int64_t n = 0;
  weir_tensor value = scalar(&n);
  EXPECT_EQ(weir_session_get_variable(session, "counter", &value, nullptr), WEIR_OK);
  EXPECT_EQ(n, 41 + 4 * runs);
}

/// Adds 1 to both variables, which are asked for in order; given back in order, or the last first.
int32_t countBoth(weir_context *ctx, bool inOrder, bool fails) {
  weir_tensor values[2];
  for (int32_t slot : {0, 1})
    if (int32_t code = weir_rt_variable_take(ctx, slot, 0, &values[slot]))
      return code;
  for (weir_tensor &value : values)
    ++*static_cast<int64_t *>(value.data);
  if (inOrder)
    weir_rt_variable_put(ctx, 0);
  if (fails)
    return weir_rt_error(ctx, 0, 0, 0);
  weir_rt_variable_put(ctx, 1);
  weir_rt_variable_put(ctx, 0); // of none that the step has, where it was given back
  return 0;
}

TEST(Variables, AreWrittenOverSeveralAtATime) {
  TestProgram program;
  program.site("a", "VarHandleOp", "?", WEIR_INTERNAL);
  program.blobs<int64_t>({10, 20});
  program.slot("a", WEIR_I64, {}, 0, 8);
  program.slot("b", WEIR_I64, {}, 8, 8);
  program.entry("both", {}, {}, {[](weir_context *ctx) { return countBoth(ctx, true, false); }});
  program.entry("last first", {}, {},
                {[](weir_context *ctx) { return countBoth(ctx, false, false); }});
  program.entry("half", {}, {}, {[](weir_context *ctx) { return countBoth(ctx, true, true); }});
  program.entry("none", {}, {}, {[](weir_context *ctx) { return countBoth(ctx, false, true); }});
  TestSession session(program.get());
  ASSERT_EQ(session.code, WEIR_OK) << session.message();
  auto expect = [&](int64_t a, int64_t b) {
    int64_t n = 0;
    weir_tensor value = scalar(&n);
    EXPECT_EQ(weir_session_get_variable(session, "a", &value, nullptr), WEIR_OK);
    EXPECT_EQ(n, a);
    EXPECT_EQ(weir_session_get_variable(session, "b", &value, nullptr), WEIR_OK);
    EXPECT_EQ(n, b);
  };
  // Copies of the program's own values: of a step that fails those that it has not given back go.
  EXPECT_NE(session.run({}, nullptr, nullptr, 3), WEIR_OK);
  expect(10, 20);
  EXPECT_NE(session.run({}, nullptr, nullptr, 2), WEIR_OK);
  expect(11, 20);
  EXPECT_EQ(session.run({}, nullptr, nullptr, 0), WEIR_OK) << session.message();
  expect(12, 21);
  EXPECT_EQ(session.run({}, nullptr, nullptr, 1), WEIR_OK) << session.message();
  expect(13, 22);
  // Over the values themselves: nobody waits for what a step that failed had.
  EXPECT_NE(session.run({}, nullptr, nullptr, 3), WEIR_OK);
  expect(14, 23);
  EXPECT_EQ(session.run({}, nullptr, nullptr, 0), WEIR_OK) << session.message();
  expect(15, 24);
}

constexpr int64_t wide = 4096;

/// Reads a variable that others write, and checks that it is of one piece.
int32_t readWhole(weir_context *ctx) {
  weir_tensor value;
  if (int32_t code = weir_rt_variable_read(ctx, 0, -1, &value))
    return code;
  auto *data = static_cast<int64_t *>(value.data);
  for (int64_t i = 1; i < wide; ++i)
    if (data[i] != data[0])
      return WEIR_DATA_LOSS;
  return 0;
}

int32_t writeWhole(weir_context *ctx) {
  std::vector<int64_t> data(size_t(wide), ctx->step);
  weir_tensor value = tensorOf(data, WEIR_I64, {wide});
  return weir_rt_variable_assign(ctx, 0, -1, &value);
}

int32_t writeWholeInPlace(weir_context *ctx) {
  weir_tensor value;
  if (int32_t code = weir_rt_variable_take(ctx, 0, -1, &value))
    return code;
  auto *data = static_cast<int64_t *>(value.data);
  for (int64_t i = 0; i < wide; ++i)
    ++data[i];
  weir_rt_variable_put(ctx, 0);
  return 0;
}

/// Writes over both variables: two that do so at a time have the same of each.
int32_t writeBothInPlace(weir_context *ctx) {
  weir_tensor values[2];
  for (int32_t slot : {0, 1})
    if (int32_t code = weir_rt_variable_take(ctx, slot, -1, &values[slot]))
      return code;
  for (int64_t i = 0; i < wide; ++i)
    for (weir_tensor &value : values)
      ++static_cast<int64_t *>(value.data)[i];
  weir_rt_variable_put(ctx, 0);
  weir_rt_variable_put(ctx, 1);
  return 0;
}

TEST(Variables, ConcurrentWritersOfSeveralGoOn) {
  TestProgram program;
  program.blobs(std::vector<int64_t>(size_t(wide), 0));
  program.slot("v", WEIR_I64, {wide}, 0, wide * 8);
  program.slot("w", WEIR_I64, {wide}, 0, wide * 8);
  program.entry("read", {}, {}, {readWhole});
  program.entry("write one", {}, {}, {writeWholeInPlace});
  program.entry("write both", {}, {}, {writeBothInPlace});
  TestSession session(program.get(), TestSession::defaults(1));
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i)
        failures += weir_session_run(session, t % 3, nullptr, 0, nullptr, 0, nullptr, nullptr) != 0;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(failures, 0);
}

TEST(Variables, ConcurrentReadersSeeOneWholeValue) {
  TestProgram program;
  program.blobs(std::vector<int64_t>(size_t(wide), 0));
  program.slot("v", WEIR_I64, {wide}, 0, wide * 8);
  program.entry("read", {}, {}, {readWhole});
  program.entry("write", {}, {}, {writeWhole});
  program.entry("write over", {}, {}, {writeWholeInPlace});
  TestSession session(program.get(), TestSession::defaults(1));
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i)
        failures += weir_session_run(session, t % 3, nullptr, 0, nullptr, 0, nullptr, nullptr) != 0;
    });
  threads.emplace_back([&] {
    for (int i = 0; i < 100; ++i)
      failures += weir_session_reset(session, nullptr) != 0;
  });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(failures, 0);
  weir_session_trim(session);
  EXPECT_EQ(weir_session_reset(session, nullptr), WEIR_OK);
  weir_memory_stats stats = {};
  stats.size = sizeof(stats);
  weir_session_memory(session, 0, &stats);
  EXPECT_EQ(stats.live, 0) << "values were not given back";
}

} // namespace
