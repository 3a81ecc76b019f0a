//===- state_test.cpp - custom operations, memory, tracing ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test_program.h"
#include "weir/observer.h"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <tuple>

using namespace weir::rt::test;

namespace {

//===----------------------------------------------------------------------===//
// Strings and custom operations
//===----------------------------------------------------------------------===//

/// Returns its operand's strings with '!' after each.
int32_t shout(weir_context *ctx, const weir_tensor *operands, int32_t, weir_tensor *results,
              int32_t, const int64_t *attributes) {
  auto *in = static_cast<const weir_string *>(operands[0].data);
  int64_t count = operands[0].bytes / int64_t(sizeof(weir_string));
  if (attributes[0] < 0)
    return weir_custom_error(ctx, WEIR_UNIMPLEMENTED, "cannot shout {0}");
  if (attributes[0] == 0)
    return 77;
  if (attributes[0] == 2)
    return weir_rt_error_text(ctx, -1, WEIR_OUT_OF_RANGE, "too loud by {0}", 3, 0);
  results[0] = operands[0];
  auto *out = static_cast<weir_string *>(weir_custom_alloc(ctx, operands[0].bytes));
  if (!out)
    return WEIR_RESOURCE_EXHAUSTED;
  results[0].data = out;
  for (int64_t i = 0; i < count; ++i) {
    auto *text = static_cast<char *>(weir_custom_alloc(ctx, in[i].size + 1));
    std::memcpy(text, in[i].data, size_t(in[i].size));
    text[in[i].size] = '!';
    out[i] = {text, in[i].size + 1};
  }
  return 0;
}

int64_t loudness;

int32_t shoutStep(weir_context *ctx) {
  weir_tensor result = {}; // as generated code describes it
  result.dtype = WEIR_STRING;
  result.rank = 1;
  result.dims[0] = -1;
  int64_t attributes[] = {loudness};
  if (int32_t code = weir_rt_custom(ctx, 0, 0, ctx->feeds, 1, &result, 1, attributes))
    return code;
  void *out = weir_rt_fetch(ctx, 0, result.rank, result.dims, result.bytes);
  if (!out)
    return WEIR_INTERNAL;
  std::memcpy(out, result.data, size_t(result.bytes));
  return 0;
}

void addShout(TestProgram &program, weir_library_fn fallback) {
  program.site("loud", "Shout", "?", WEIR_INTERNAL);
  program.custom("Shout", "loud", fallback);
  program.entry("main", {{"s", WEIR_STRING, {-1}}}, {{"t", WEIR_STRING, {-1}}}, {shoutStep});
}

TEST(Custom, CallsTheFunctionThatWasHandedOver) {
  TestProgram program;
  addShout(program, nullptr);
  {
    TestSession session(program.get());
    EXPECT_EQ(session.code, WEIR_NOT_FOUND);
    EXPECT_NE(session.message().find("\"Shout\" of node \"loud\""), std::string::npos);
  }
  weir_custom_function function = {"Shout", shout};
  weir_session_options options = TestSession::defaults();
  options.functions = &function;
  options.function_count = 1;
  TestSession session(program.get(), options);
  ASSERT_EQ(session.code, WEIR_OK) << session.message();
  loudness = 1;
  std::vector<weir_string> strings = {{"one", 3}, {"", 0}, {"drei", 4}};
  weir_tensor feed = tensorOf(strings, WEIR_STRING, {3});
  std::vector<weir_string> offered(3);
  std::vector<weir_tensor> fetches = {tensorOf(offered, WEIR_STRING, {3})};
  ASSERT_EQ(session.run({feed}, &fetches), WEIR_OK) << session.message();
  EXPECT_NE(fetches[0].data, offered.data()) << "strings are the session's";
  auto *out = static_cast<weir_string *>(fetches[0].data);
  EXPECT_EQ(std::string(out[0].data, size_t(out[0].size)), "one!");
  EXPECT_EQ(std::string(out[1].data, size_t(out[1].size)), "!");
  EXPECT_EQ(std::string(out[2].data, size_t(out[2].size)), "drei!");
  // The same tensors again: the memory of before is given back.
  ASSERT_EQ(session.run({feed}, &fetches), WEIR_OK);
  weir_session_release(session, &fetches[0]);
  weir_memory_stats stats = {};
  stats.size = sizeof(stats);
  weir_session_memory(session, 0, &stats);
  EXPECT_EQ(stats.live, 1) << "the arena";

  loudness = -1;
  EXPECT_EQ(session.run({feed}, &fetches), WEIR_UNIMPLEMENTED);
  EXPECT_EQ(session.message(), "node \"loud\" (Shout): cannot shout {0}");
  loudness = 2;
  EXPECT_EQ(session.run({feed}, &fetches), WEIR_OUT_OF_RANGE);
  EXPECT_EQ(session.message(), "node \"loud\" (Shout): too loud by 3");
  loudness = 0;
  EXPECT_EQ(session.run({feed}, &fetches), WEIR_UNKNOWN);
  EXPECT_EQ(session.message(), "node \"loud\" (Shout): the function that computes it returned 77");
}

TEST(Custom, FallsBackToWhatWasLinked) {
  TestProgram program;
  addShout(program, shout);
  TestSession session(program.get());
  EXPECT_EQ(session.code, WEIR_OK) << session.message();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

int64_t wanted;

int32_t allocateStep(weir_context *ctx) {
  void *data = weir_rt_alloc(ctx, wanted, 0);
  if (!data)
    return WEIR_RESOURCE_EXHAUSTED;
  if (reinterpret_cast<uintptr_t>(data) % 64 != 0 ||
      reinterpret_cast<uintptr_t>(ctx->arena) % 4096 != 0)
    return WEIR_INTERNAL;
  std::memset(data, 1, size_t(wanted));
  std::memset(ctx->arena, 1, 100000);
  void *second = weir_rt_alloc(ctx, 10, 0);
  weir_rt_free(ctx, data);
  weir_rt_free(ctx, nullptr);
  return second ? 0 : WEIR_INTERNAL;
}

TEST(Memory, LimitsEndInAReportThatNamesNodes) {
  TestProgram program;
  program.arena(100000, 4096);
  program.site("big/concat", "ConcatV2", "?", WEIR_INTERNAL);
  program.entry("main", {}, {}, {allocateStep});
  weir_session_options options = TestSession::defaults();
  options.memory_limit = 8 << 20;
  TestSession session(program.get(), options);
  wanted = 4 << 20;
  ASSERT_EQ(session.run({}, nullptr), WEIR_OK) << session.message();
  wanted = 32 << 20;
  EXPECT_EQ(session.run({}, nullptr), WEIR_RESOURCE_EXHAUSTED);
  for (const char *part : {"node \"big/concat\" (ConcatV2)", "out of memory on ", "32.0 MiB",
                           "limit 8.0 MiB", "the planned arena of a run", "a memory limit of"})
    EXPECT_NE(session.message().find(part), std::string::npos)
        << part << " in " << session.message();
  wanted = -5;
  EXPECT_EQ(session.run({}, nullptr), WEIR_INTERNAL);

  int64_t needed = weir_session_memory_report(session, 0, nullptr, 0);
  ASSERT_GT(needed, 100);
  std::string report(size_t(needed), '?');
  EXPECT_EQ(weir_session_memory_report(session, 0, report.data(), needed), needed);
  EXPECT_EQ(report.find('\0'), size_t(needed) - 1);
  EXPECT_NE(report.find("device:CPU:0"), std::string::npos);
  EXPECT_EQ(weir_session_memory_report(session, 9, nullptr, 0), 1);
  weir_memory_stats stats = {};
  stats.size = sizeof(stats);
  EXPECT_EQ(weir_session_memory(session, 1, &stats), WEIR_OUT_OF_RANGE);
}

TEST(Memory, AnArenaThatDoesNotFitIsAStatus) {
  TestProgram program;
  program.arena(4 << 20);
  program.entry("main", {}, {}, {[](weir_context *) { return 0; }});
  weir_session_options options = TestSession::defaults();
  options.memory_limit = 1 << 20;
  TestSession session(program.get(), options);
  EXPECT_EQ(session.run({}, nullptr), WEIR_RESOURCE_EXHAUSTED);
  EXPECT_NE(session.message().find("planned arena"), std::string::npos);
}

std::atomic<int> inside;

/// Holds most of the limit until another run has come in and waits.
int32_t holdStep(weir_context *ctx) {
  ++inside;
  void *data = weir_rt_alloc(ctx, 5 << 20, 0);
  if (!data)
    return WEIR_RESOURCE_EXHAUSTED;
  while (inside < 2)
    std::this_thread::yield();
  weir_rt_free(ctx, data);
  return 0;
}

TEST(Memory, AllocationsWaitForConcurrentRuns) {
  TestProgram program;
  program.site("n", "Op", "?", WEIR_INTERNAL);
  program.entry("main", {}, {}, {holdStep});
  weir_session_options options = TestSession::defaults(1);
  options.memory_limit = 9 << 20;
  TestSession session(program.get(), options);
  inside = 0;
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      failures += weir_session_run(session, 0, nullptr, 0, nullptr, 0, nullptr, nullptr) != 0;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(failures, 0);
}

std::atomic<bool> holding, letGo;

TEST(Memory, WaitingForAnArenaEndsWithTheRun) {
  TestProgram program;
  program.arena(5 << 20);
  program.entry("main", {}, {}, {[](weir_context *) {
                  holding = true;
                  while (!letGo)
                    std::this_thread::yield();
                  return 0;
                }});
  weir_session_options options = TestSession::defaults(1);
  options.memory_limit = 8 << 20;
  TestSession session(program.get(), options);
  holding = letGo = false;
  std::thread holder([&] {
    std::ignore = weir_session_run(session, 0, nullptr, 0, nullptr, 0, nullptr, nullptr);
  });
  while (!holding)
    std::this_thread::yield();
  weir_run_options limited = WEIR_RUN_OPTIONS_INIT;
  limited.timeout_ns = 3 * 1000 * 1000;
  EXPECT_EQ(session.run({}, nullptr, &limited), WEIR_DEADLINE_EXCEEDED);
  limited.timeout_ns = 0;
  limited.cancellation = weir_cancellation_create();
  std::thread canceller([&] {
    weir_memory_stats stats = {};
    stats.size = sizeof(stats);
    while (stats.waits < 2)
      weir_session_memory(session, 0, &stats);
    weir_cancellation_cancel(limited.cancellation);
  });
  EXPECT_EQ(session.run({}, nullptr, &limited), WEIR_CANCELLED);
  canceller.join();
  weir_cancellation_destroy(limited.cancellation);
  letGo = true;
  holder.join();
}

TEST(Memory, CallersAllocatorGivesAndTakesBackAll) {
  struct Counting {
    std::atomic<int64_t> held{0}, calls{0};
  } counting;
  weir_allocator allocator = {};
  allocator.size = sizeof(allocator);
  allocator.self = &counting;
  allocator.allocate = [](void *self, int64_t bytes, int64_t alignment) -> void * {
    auto *c = static_cast<Counting *>(self);
    c->held += bytes;
    ++c->calls;
    return std::aligned_alloc(size_t(alignment), size_t(bytes));
  };
  allocator.release = [](void *self, void *data, int64_t bytes) {
    static_cast<Counting *>(self)->held -= bytes;
    std::free(data);
  };
  TestProgram program;
  program.arena(100000, 4096);
  program.site("n", "Op", "?", WEIR_INTERNAL);
  program.entry("main", {}, {}, {allocateStep});
  {
    weir_session_options options = TestSession::defaults();
    options.allocator = &allocator;
    TestSession session(program.get(), options);
    wanted = 3 << 20;
    EXPECT_EQ(session.run({}, nullptr), WEIR_OK) << session.message();
    EXPECT_GT(counting.held, 3 << 20);
  }
  EXPECT_EQ(counting.held, 0);
  EXPECT_GE(counting.calls, 2);
}

//===----------------------------------------------------------------------===//
// Tracing
//===----------------------------------------------------------------------===//

struct Recorder {
  std::mutex mutex;
  std::vector<std::string> begun;
  int64_t parts = 0;
  int open = 0;
  weir_trace trace = {sizeof(weir_trace), 0, this, begin, end, nullptr, nullptr};

  static void begin(void *self, const weir_trace_event *event) {
    auto *recorder = static_cast<Recorder *>(self);
    std::lock_guard lock(recorder->mutex);
    ++recorder->open;
    if (event->kind == WEIR_TRACE_KERNEL)
      recorder->parts += event->part_end - event->part_begin;
    recorder->begun.push_back(std::to_string(event->kind) + " " + event->name + " " + event->nodes);
    EXPECT_NE(std::string(event->device).find("CPU:0"), std::string::npos);
  }
  static void end(void *self, const weir_trace_event *) {
    auto *recorder = static_cast<Recorder *>(self);
    std::lock_guard lock(recorder->mutex);
    --recorder->open;
  }
};

TEST(Async, CallsBackAtTheEndOfEachRun) {
  TestProgram program;
  program.entry("main", {}, {}, {[](weir_context *) { return 0; }});
  struct Ends {
    std::atomic<int> good{0}, bad{0};
    static void tell(void *self, const weir_status *status) {
      ++(status->code ? static_cast<Ends *>(self)->bad : static_cast<Ends *>(self)->good);
    }
  } ends;
  {
    TestSession session(program.get(), TestSession::defaults(1));
    for (int i = 0; i < 50; ++i)
      ASSERT_EQ(weir_session_run_async(session, 0, nullptr, 0, nullptr, 0, nullptr, Ends::tell,
                                       &ends, nullptr),
                WEIR_OK);
    // What a run would say at once comes by the callback, too.
    ASSERT_EQ(weir_session_run_async(session, 7, nullptr, 0, nullptr, 0, nullptr, Ends::tell, &ends,
                                     nullptr),
              WEIR_OK);
    weir_status status = WEIR_STATUS_INIT;
    EXPECT_EQ(weir_session_run_async(session, 0, nullptr, 0, nullptr, 0, nullptr, nullptr, &ends,
                                     &status),
              WEIR_INVALID_ARGUMENT);
  } // the session ends with all that was asked of it
  EXPECT_EQ(ends.good, 50);
  EXPECT_EQ(ends.bad, 1);
}

TEST(Trace, NamesKernelsAndNodes) {
  TestProgram program;
  program.kernel("add_f32_64", "a;b");
  program.entry(
      "main", {}, {}, {[](weir_context *ctx) {
        return weir_rt_parallel(
            ctx, [](weir_context *, void *const *, const int64_t *, int64_t, int64_t) { return 0; },
            nullptr, nullptr, 64, 8, 0);
      }});
  TestSession session(program.get(), TestSession::defaults(2));
  Recorder recorder;
  weir_run_options options = WEIR_RUN_OPTIONS_INIT;
  options.trace = &recorder.trace;
  ASSERT_EQ(session.run({}, nullptr, &options), WEIR_OK);
  EXPECT_EQ(recorder.open, 0);
  EXPECT_EQ(recorder.parts, 64) << "parts make up the whole";
  ASSERT_EQ(recorder.begun.size(), 3u) << "the run and two parts";
  EXPECT_EQ(recorder.begun[0], "0 main ");
  EXPECT_EQ(recorder.begun[1], "1 add_f32_64 a;b");
  options.threads = 1;
  ASSERT_EQ(session.run({}, nullptr, &options), WEIR_OK);
  EXPECT_EQ(recorder.begun.size(), 5u) << "one part with one thread";
}

TEST(Trace, ObservesASessionFromTheNextRunOn) {
  TestProgram program;
  program.kernel("add_f32_64", "a;b");
  program.entry(
      "main", {}, {}, {[](weir_context *ctx) {
        return weir_rt_parallel(
            ctx, [](weir_context *, void *const *, const int64_t *, int64_t, int64_t) { return 0; },
            nullptr, nullptr, 64, 64, 0);
      }});
  TestSession session(program.get(), TestSession::defaults(1));
  Recorder recorder, other;
  ASSERT_EQ(session.run({}, nullptr), WEIR_OK);
  ASSERT_EQ(weir_session_set_observer(session, &recorder.trace, nullptr), WEIR_OK);
  ASSERT_EQ(session.run({}, nullptr), WEIR_OK);
  EXPECT_EQ(recorder.begun.size(), 2u) << "the run and its kernel";
  weir_run_options options = WEIR_RUN_OPTIONS_INIT;
  options.trace = &other.trace;
  ASSERT_EQ(session.run({}, nullptr, &options), WEIR_OK);
  EXPECT_EQ(recorder.begun.size(), 2u) << "a run's own is stronger";
  EXPECT_EQ(other.begun.size(), 2u);
  ASSERT_EQ(weir_session_set_observer(session, nullptr, nullptr), WEIR_OK);
  ASSERT_EQ(session.run({}, nullptr), WEIR_OK);
  EXPECT_EQ(recorder.begun.size(), 2u) << "nobody looks";
  weir_status status = WEIR_STATUS_INIT;
  weir_trace half = recorder.trace;
  half.end = nullptr;
  EXPECT_EQ(weir_session_set_observer(session, &half, &status), WEIR_INVALID_ARGUMENT);
  half = recorder.trace;
  half.size = 8;
  EXPECT_EQ(weir_session_set_observer(session, &half, &status), WEIR_INVALID_ARGUMENT);
  EXPECT_EQ(weir_session_set_observer(nullptr, &recorder.trace, &status), WEIR_INVALID_ARGUMENT);
}

} // namespace
