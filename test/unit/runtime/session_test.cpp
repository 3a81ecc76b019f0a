//===- session_test.cpp - sessions: feeds, fetches, state, statuses -------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test_program.h"

#include <cstring>
#include <thread>

using namespace weir::rt::test;

namespace {

void expectMessage(const std::string &message, std::initializer_list<const char *> parts) {
  for (const char *part : parts)
    EXPECT_NE(message.find(part), std::string::npos) << "\"" << part << "\" is not in: " << message;
}

//===----------------------------------------------------------------------===//
// y = 2 x, one kernel over a dynamic dimension
//===----------------------------------------------------------------------===//

int32_t doubleKernel(weir_context *, void *const *buffers, const int64_t *, int64_t begin,
                     int64_t end) {
  auto *x = static_cast<const float *>(buffers[0]);
  auto *y = static_cast<float *>(buffers[1]);
  for (int64_t i = begin; i < end; ++i)
    y[i] = 2 * x[i];
  return 0;
}

int32_t doubleStep(weir_context *ctx) {
  const weir_tensor &x = ctx->feeds[0];
  void *y = weir_rt_fetch(ctx, 0, x.rank, x.dims, x.bytes);
  if (!y)
    return WEIR_INTERNAL;
  void *buffers[] = {x.data, y};
  return weir_rt_parallel(ctx, doubleKernel, buffers, nullptr, x.bytes / 4, 16, 0);
}

void addDouble(TestProgram &program) {
  program.kernel("double_f32", "twice");
  program.entry("main", {{"x", WEIR_F32, {-1}}}, {{"y", WEIR_F32, {-1}}}, {doubleStep});
}

TEST(Session, WritesIntoTheCallersBuffer) {
  TestProgram program;
  addDouble(program);
  for (int32_t threads : {1, 2, 7}) {
    TestSession session(program.get(), TestSession::defaults(threads));
    ASSERT_EQ(session.code, WEIR_OK) << session.message();
    EXPECT_EQ(weir_session_threads(session), threads);
    std::vector<float> x(1000), y(1000);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = float(i);
    std::vector<weir_tensor> fetches = {floats(y, {})};
    ASSERT_EQ(session.run({floats(x, {1000})}, &fetches), WEIR_OK) << session.message();
    EXPECT_EQ(fetches[0].data, y.data());
    EXPECT_EQ(fetches[0].rank, 1);
    EXPECT_EQ(fetches[0].dims[0], 1000);
    EXPECT_EQ(fetches[0].dtype, WEIR_F32);
    EXPECT_EQ(y[999], 1998);
    EXPECT_STREQ(session.status.message, "");
  }
}

TEST(Session, GivesMemoryOfItsOwnAndReusesIt) {
  TestProgram program;
  addDouble(program);
  TestSession session(program.get());
  std::vector<float> x = {1, 2, 3, 4, 5, 6};
  std::vector<weir_tensor> fetches(1, weir_tensor{});
  ASSERT_EQ(session.run({floats(x, {6})}, &fetches), WEIR_OK);
  void *first = fetches[0].data;
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
  EXPECT_EQ(static_cast<float *>(first)[5], 12);

  // Smaller: fits the memory of before. Larger: replaces it.
  ASSERT_EQ(session.run({floats(x, {6})}, &fetches), WEIR_OK);
  EXPECT_EQ(fetches[0].data, first);
  std::vector<float> large(100000, 1.5f);
  ASSERT_EQ(session.run({floats(large, {100000})}, &fetches), WEIR_OK);
  EXPECT_NE(fetches[0].data, first);
  EXPECT_EQ(static_cast<float *>(fetches[0].data)[99999], 3);

  weir_memory_stats stats = {};
  stats.size = sizeof(stats);
  ASSERT_EQ(weir_session_memory(session, 0, &stats), WEIR_OK);
  EXPECT_EQ(stats.live, 2) << "an arena and one result";
  weir_session_release(session, &fetches[0]);
  EXPECT_EQ(fetches[0].data, nullptr);
  // Memory of the caller's is none of ours.
  std::vector<float> mine(8);
  weir_tensor tensor = floats(mine, {8});
  weir_session_release(session, &tensor);
  EXPECT_EQ(tensor.data, mine.data());
  weir_session_memory(session, 0, &stats);
  EXPECT_EQ(stats.live, 1);
  weir_session_trim(session);
  weir_session_memory(session, 0, &stats);
  EXPECT_EQ(stats.live, 0);
  EXPECT_EQ(stats.reserved, 0);
}

#if defined(__x86_64__)
TEST(Session, ResultsDoNotDependOnTheCallersFloatEnvironment) {
  TestProgram program;
  addDouble(program);
  for (int32_t threads : {1, 3}) {
    unsigned before = __builtin_ia32_stmxcsr();
    // Flush to zero, denormals are zero, round up.
    unsigned odd = before | 0x8040 | 0x4000;
    __builtin_ia32_ldmxcsr(odd);
    TestSession session(program.get(), TestSession::defaults(threads));
    std::vector<float> x(256, 0x1p-149f);
    std::vector<weir_tensor> fetches(1, weir_tensor{});
    int32_t code = session.run({floats(x, {256})}, &fetches);
    unsigned after = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before);
    ASSERT_EQ(code, WEIR_OK);
    EXPECT_EQ(after & ~0x3fu, odd & ~0x3fu) << "given back as it was";
    for (int i = 0; i < 256; ++i)
      ASSERT_EQ(static_cast<float *>(fetches[0].data)[i], 0x1p-148f);
  }
}
#endif

TEST(Session, EmptyTensorsRun) {
  TestProgram program;
  addDouble(program);
  TestSession session(program.get());
  std::vector<float> none;
  std::vector<weir_tensor> fetches(1, weir_tensor{});
  ASSERT_EQ(session.run({floats(none, {0})}, &fetches), WEIR_OK) << session.message();
  EXPECT_EQ(fetches[0].bytes, 0);
  EXPECT_EQ(fetches[0].dims[0], 0);
}

TEST(Session, ConcurrentRunsShareNothing) {
  TestProgram program;
  addDouble(program);
  TestSession session(program.get(), TestSession::defaults(3));
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 300; ++round) {
        std::vector<float> x(50 + size_t(t), float(round));
        std::vector<weir_tensor> fetches(1, weir_tensor{});
        weir_tensor feed = floats(x, {int64_t(x.size())});
        int32_t code = weir_session_run(session, 0, &feed, 1, fetches.data(), 1, nullptr, nullptr);
        auto *y = static_cast<float *>(fetches[0].data);
        for (size_t i = 0; code == 0 && i < x.size(); ++i)
          wrong += y[i] != float(2 * round);
        wrong += code != 0;
        weir_session_release(session, &fetches[0]);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

//===----------------------------------------------------------------------===//
// Feeds
//===----------------------------------------------------------------------===//

TEST(Feeds, ContradictionsNameTheFeedAndWhatIsPossible) {
  TestProgram program;
  program.entry("main",
                {{"a", WEIR_F32, {-1, 3}, {1, 3}, {8, 3}, {0, -1}},
                 {"b", WEIR_I64, {-1}, {}, {}, {0}},
                 {"c", WEIR_F32, {}, {}, {}, {}, -1}},
                {}, {[](weir_context *) { return 0; }});
  TestSession session(program.get());
  std::vector<float> a(24), c(4);
  std::vector<int64_t> b(8);
  auto run = [&](weir_tensor fa, weir_tensor fb, weir_tensor fc) {
    return session.run({fa, fb, fc}, nullptr);
  };
  auto fb = [&](int64_t n) { return tensorOf(b, WEIR_I64, {n}); };
  weir_tensor fc = floats(c, {2, 2});

  EXPECT_EQ(run(floats(a, {8, 3}), fb(8), fc), WEIR_OK) << session.message();

  EXPECT_EQ(run(fb(8), fb(8), fc), WEIR_INVALID_ARGUMENT);
  expectMessage(session.message(), {"feed \"a\" of entry \"main\"", "element type", "got i64 8",
                                    "expected f32 (1..8)x3"});

  EXPECT_EQ(run(floats(a, {24}), fb(8), fc), WEIR_INVALID_ARGUMENT);
  expectMessage(session.message(), {"rank differs", "got f32 24"});

  EXPECT_EQ(run(floats(a, {8, 2}), fb(8), fc), WEIR_INVALID_ARGUMENT);
  expectMessage(session.message(), {"dimension 1 is 2", "got f32 8x2"});

  EXPECT_EQ(run(floats(a, {0, 3}), fb(0), fc), WEIR_INVALID_ARGUMENT);
  expectMessage(session.message(), {"dimension 0 is 0", "(1..8)x3"});

  EXPECT_EQ(run(floats(a, {8, 3}), fb(5), fc), WEIR_INVALID_ARGUMENT);
  expectMessage(session.message(), {"feed \"b\"", "dimension 0 is 5",
                                    "must equal dimension 0 of feed \"a\", which is 8"});

  weir_tensor small = floats(a, {8, 3});
  small.bytes = 95;
  EXPECT_EQ(run(small, fb(8), fc), WEIR_INVALID_ARGUMENT);
  expectMessage(session.message(), {"has 95 bytes", "needs 96"});

  weir_tensor null = floats(a, {8, 3});
  null.data = nullptr;
  EXPECT_EQ(run(null, fb(8), fc), WEIR_INVALID_ARGUMENT);
  expectMessage(session.message(), {"null"});

  weir_tensor crooked = floats(a, {7, 3});
  crooked.data = reinterpret_cast<char *>(a.data()) + 2;
  EXPECT_EQ(run(crooked, fb(7), fc), WEIR_INVALID_ARGUMENT);
  expectMessage(session.message(), {"aligned"});

  fc.dims[1] = -7;
  EXPECT_EQ(run(floats(a, {8, 3}), fb(8), fc), WEIR_INVALID_ARGUMENT);
  fc.dims[0] = fc.dims[1] = int64_t(1) << 40;
  EXPECT_EQ(run(floats(a, {8, 3}), fb(8), fc), WEIR_INVALID_ARGUMENT);
  expectMessage(session.message(), {"too large"});
  fc.rank = 17;
  EXPECT_EQ(run(floats(a, {8, 3}), fb(8), fc), WEIR_INVALID_ARGUMENT);
  expectMessage(session.message(), {"of rank 17"});

  EXPECT_EQ(session.run({fb(8)}, nullptr), WEIR_INVALID_ARGUMENT);
  expectMessage(session.message(), {"takes 3 feeds, not 1"});
  EXPECT_EQ(session.run({}, nullptr, nullptr, 3), WEIR_OUT_OF_RANGE);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// Fails at each index that is in the first feed.
int32_t failingKernel(weir_context *ctx, void *const *buffers, const int64_t *dims, int64_t begin,
                      int64_t end) {
  auto *indices = static_cast<const int64_t *>(buffers[0]);
  for (int64_t i = begin; i < end; ++i)
    if (indices[i] < 0 || indices[i] >= dims[0])
      return weir_rt_error(ctx, 0, indices[i], dims[0]);
  return 0;
}

int32_t failingStep(weir_context *ctx) {
  void *buffers[] = {ctx->feeds[0].data};
  int64_t dims[] = {5};
  return weir_rt_parallel(ctx, failingKernel, buffers, dims, ctx->feeds[0].dims[0], 1, -1);
}

TEST(Errors, TheLowestFailingIndexIsReportedWhateverTheThreads) {
  TestProgram program;
  program.site("embed/lookup", "Gather", "index {0} is outside [0, {1})", WEIR_OUT_OF_RANGE);
  program.entry("main", {{"i", WEIR_I64, {-1}}}, {}, {failingStep});
  for (int32_t threads : {1, 2, 7})
    for (int round = 0; round < 50; ++round) {
      TestSession session(program.get(), TestSession::defaults(threads));
      std::vector<int64_t> indices(64, 1);
      for (size_t i = 17; i < 64; ++i)
        indices[i] = 100 + int64_t(i);
      weir_tensor feed = tensorOf(indices, WEIR_I64, {64});
      EXPECT_EQ(session.run({feed}, nullptr), WEIR_OUT_OF_RANGE);
      EXPECT_EQ(session.message(), "node \"embed/lookup\" (Gather): index 117 is outside [0, 5)");
      EXPECT_EQ(session.status.code, WEIR_OUT_OF_RANGE);
      // The session is as good as before.
      indices.assign(64, 4);
      EXPECT_EQ(session.run({tensorOf(indices, WEIR_I64, {64})}, nullptr), WEIR_OK);
    }
}

TEST(Errors, AFailedRunLeavesFetchesAndFreesItsResults) {
  TestProgram program;
  program.site("n", "Div", "division by zero", WEIR_INVALID_ARGUMENT);
  program.entry("main", {}, {{"y", WEIR_F32, {4}}}, {[](weir_context *ctx) {
                  int64_t dims[] = {4};
                  weir_rt_fetch(ctx, 0, 1, dims, 16);
                  weir_rt_alloc(ctx, 1000, 0);
                  return weir_rt_error(ctx, 0, 0, 0);
                }});
  program.entry("silent", {}, {{"y", WEIR_F32, {4}}}, {[](weir_context *) { return 0; }});
  program.entry("number", {}, {}, {[](weir_context *) { return 9; }});
  program.entry("wrong", {}, {{"y", WEIR_F32, {4}}}, {[](weir_context *ctx) {
                  int64_t dims[] = {4};
                  return weir_rt_fetch(ctx, 0, 1, dims, 12) ? 0 : 1;
                }});
  TestSession session(program.get());
  std::vector<weir_tensor> fetches(1, weir_tensor{});
  fetches[0].rank = 77;
  EXPECT_EQ(session.run({}, &fetches), WEIR_INVALID_ARGUMENT);
  EXPECT_EQ(session.message(), "node \"n\" (Div): division by zero");
  EXPECT_EQ(fetches[0].data, nullptr);
  EXPECT_EQ(fetches[0].rank, 77);
  weir_memory_stats stats = {};
  stats.size = sizeof(stats);
  weir_session_memory(session, 0, &stats);
  EXPECT_EQ(stats.live, 1) << "the arena";

  EXPECT_EQ(session.run({}, &fetches, nullptr, 1), WEIR_INTERNAL);
  expectMessage(session.message(), {"fetch \"y\" was not computed"});
  EXPECT_EQ(session.run({}, nullptr, nullptr, 2), 9);
  EXPECT_EQ(session.run({}, &fetches, nullptr, 3), WEIR_INTERNAL);
  expectMessage(session.message(), {"12 bytes"});
  fetches.clear();
  EXPECT_EQ(session.run({}, &fetches), WEIR_INVALID_ARGUMENT);
  expectMessage(session.message(), {"gives 1 fetch, not 0"});
}

TEST(Errors, LongMessagesEndAtACharacter) {
  static std::string longName;
  longName.clear();
  for (int i = 0; i < 1000; ++i)
    longName += "\xe2\x82\xac"; // three bytes
  TestProgram program;
  program.site(longName.c_str(), "Op", "m", WEIR_INTERNAL);
  program.entry("main", {}, {}, {[](weir_context *ctx) { return weir_rt_error(ctx, 0, 0, 0); }});
  TestSession session(program.get());
  for (uint32_t size : {1024u, 1023u, 1022u, 30u, 9u, 8u, 4u}) {
    session.status.size = size;
    std::memset(session.status.message, 'z', sizeof(session.status.message));
    EXPECT_EQ(session.run({}, nullptr), WEIR_INTERNAL);
    if (size < 9)
      continue; // no room for a message
    size_t length = std::strlen(session.status.message);
    EXPECT_LE(length, size - 9);
    EXPECT_GE(length + 3, size - 9);
    if (length > 6)
      EXPECT_EQ((length - 6) % 3, 0u);
    EXPECT_EQ(session.status.message[size - 8], size == 1024 ? 0 : 'z');
  }
}

//===----------------------------------------------------------------------===//
// Making sessions
//===----------------------------------------------------------------------===//

// Objects of the last version have the same programs, but other code for accelerators.
TEST(Create, ReadsTheLastVersionsObjects) {
  TestProgram program;
  addDouble(program);
  program.desc.abi_version = WEIR_ABI_OLDEST;
  TestSession session(program.get());
  EXPECT_EQ(session.code, WEIR_OK) << session.message();

  TestProgram accelerated;
  addDouble(accelerated);
  accelerated.desc.abi_version = WEIR_ABI_OLDEST_ACCELERATORS - 1;
  // Never read: their layout is another.
  weir_accelerator_desc desc = {};
  accelerated.desc.accelerators = &desc;
  accelerated.desc.accelerator_count = 1;
  TestSession refused(accelerated.get());
  EXPECT_EQ(refused.code, WEIR_FAILED_PRECONDITION);
  expectMessage(refused.message(), {"ABI 1", "has 3", "code for accelerators"});

  TestProgram newer;
  addDouble(newer);
  newer.desc.abi_version = WEIR_ABI_VERSION + 1;
  TestSession later(newer.get());
  EXPECT_EQ(later.code, WEIR_FAILED_PRECONDITION);
  expectMessage(later.message(), {"ABI 4", "has 3"});
}

TEST(Create, RefusesWhatDoesNotFit) {
  TestProgram program;
  addDouble(program);
  {
    TestProgram other;
    addDouble(other);
    other.desc.abi_version = 7;
    TestSession session(other.get());
    EXPECT_EQ(session.code, WEIR_FAILED_PRECONDITION);
    expectMessage(session.message(), {"ABI 7", "has 3"});
    EXPECT_EQ(session.session, nullptr);
  }
  {
    TestProgram other;
    addDouble(other);
    other.get();
    other.desc.size = 40;
    TestSession session(&other.desc);
    EXPECT_EQ(session.code, WEIR_FAILED_PRECONDITION);
  }
  {
    TestProgram other;
    addDouble(other);
    // A bit that no processor of today has a name for.
    other.desc.required_cpu_features = WEIR_CPU_OTHER | UINT64_C(1) << 60;
    TestSession session(other.get());
    EXPECT_EQ(session.code, WEIR_FAILED_PRECONDITION);
    expectMessage(session.message(), {"processor", "unknown", "--cpu"});
  }
  {
    weir_session_options options = {};
    TestSession session(program.get(), options);
    EXPECT_EQ(session.code, WEIR_INVALID_ARGUMENT);
  }
  weir_session *session = nullptr;
  EXPECT_EQ(weir_session_create(program.get(), nullptr, &session, nullptr), WEIR_OK);
  EXPECT_GE(weir_session_threads(session), 1);
  EXPECT_EQ(weir_session_find_entry(session, "main"), 0);
  EXPECT_EQ(weir_session_find_entry(session, "other"), -1);
  EXPECT_EQ(weir_session_program(session), program.get());
  weir_session_destroy(session);
  weir_session_destroy(nullptr);
  EXPECT_EQ(weir_session_run(nullptr, 0, nullptr, 0, nullptr, 0, nullptr, nullptr),
            WEIR_INVALID_ARGUMENT);
}

TEST(Create, ReadsObjectsThatEndBeforeLaterFields) {
  TestProgram program;
  addDouble(program);
  program.get();
  program.desc.size = offsetof(weir_program_desc, customs);
  program.desc.customs = reinterpret_cast<const weir_custom_desc *>(1);
  program.desc.custom_count = 1000;
  TestSession session(&program.desc);
  EXPECT_EQ(session.code, WEIR_OK) << session.message();
}

TEST(Create, OptionsOfAnOlderProgramAreEnough) {
  TestProgram program;
  addDouble(program);
  struct {
    uint32_t size;
    int32_t threads;
  } old = {8, 3};
  weir_session *session = nullptr;
  ASSERT_EQ(weir_session_create(program.get(), reinterpret_cast<weir_session_options *>(&old),
                                &session, nullptr),
            WEIR_OK);
  EXPECT_EQ(weir_session_threads(session), 3);
  weir_session_destroy(session);
}

// An entry takes as much of the arena as it needs, so that its results may lie in the rest.
TEST(Run, HasAnArenaOfItsEntry) {
  TestProgram program;
  program.arena(1 << 20);
  program.entry("small", {}, {}, {[](weir_context *ctx) {
                  std::memset(ctx->arena, 1, 4096);
                  return 0;
                }});
  program.entry("large", {}, {}, {[](weir_context *ctx) {
                  std::memset(ctx->arena, 2, 1 << 20);
                  return 0;
                }});
  program.entry("none", {}, {}, {[](weir_context *) { return 0; }});
  const int64_t arenas[] = {4096, 1 << 20, 0};
  program.desc.entry_arenas = arenas;
  TestSession session(program.get());
  ASSERT_EQ(session.code, WEIR_OK) << session.message();
  auto used = [&](int32_t entry) {
    EXPECT_EQ(weir_session_run(session, entry, nullptr, 0, nullptr, 0, nullptr, nullptr), WEIR_OK);
    weir_memory_stats stats = {};
    stats.size = sizeof(stats);
    EXPECT_EQ(weir_session_memory(session, 0, &stats), WEIR_OK);
    return stats.in_use;
  };
  EXPECT_EQ(used(0), 4096);
  EXPECT_EQ(used(1), 1 << 20);
  EXPECT_EQ(used(0), 4096);
  EXPECT_EQ(used(2), 0);
  EXPECT_EQ(used(1), 1 << 20);
}

TEST(Program, DescribesItself) {
  TestProgram program;
  program.slot("w", WEIR_F32, {2, 3}, -1, 0);
  program.entry("main", {{"x", WEIR_F32, {-1, 3}, {1, 3}, {8, 3}, {0, -1}}}, {{"y", WEIR_I32, {}}},
                {nullptr});
  const weir_program_desc *desc = program.get();
  EXPECT_STREQ(weir_program_name(desc), "test");
  EXPECT_STREQ(weir_program_compiler(desc), "0.1.0");
  EXPECT_EQ(weir_program_entry_count(desc), 1);
  EXPECT_STREQ(weir_program_entry_name(desc, 0), "main");
  EXPECT_EQ(weir_program_entry_name(desc, 1), nullptr);
  EXPECT_EQ(weir_program_feed_count(desc, 0), 1);
  EXPECT_EQ(weir_program_fetch_count(desc, -1), 0);
  EXPECT_EQ(weir_program_device_count(desc), 1);
  EXPECT_STREQ(weir_program_device_name(desc, 0), "/job:localhost/task:0/device:CPU:0");
  EXPECT_EQ(weir_program_arena_bytes(desc, 0), 4096);
  weir_tensor_info info = WEIR_TENSOR_INFO_INIT;
  ASSERT_EQ(weir_program_feed(desc, 0, 0, &info), WEIR_OK);
  EXPECT_STREQ(info.name, "x");
  EXPECT_EQ(info.dims[0], -1);
  EXPECT_EQ(info.upper[0], 8);
  EXPECT_EQ(info.symbols[0], 0);
  EXPECT_EQ(info.size, sizeof(info));
  EXPECT_EQ(weir_program_feed(desc, 0, 1, &info), WEIR_OUT_OF_RANGE);
  ASSERT_EQ(weir_program_fetch(desc, 0, 0, &info), WEIR_OK);
  EXPECT_EQ(info.rank, 0);
  ASSERT_EQ(weir_program_variable(desc, 0, &info), WEIR_OK);
  EXPECT_STREQ(info.name, "w");
  EXPECT_EQ(weir_program_variable_count(desc), 1);
}

TEST(Names, OfCodesAndTypes) {
  EXPECT_STREQ(weir_code_name(WEIR_OK), "OK");
  EXPECT_STREQ(weir_code_name(WEIR_UNAUTHENTICATED), "UNAUTHENTICATED");
  EXPECT_STREQ(weir_code_name(17), "UNKNOWN");
  EXPECT_STREQ(weir_code_name(-1), "UNKNOWN");
  EXPECT_STREQ(weir_dtype_name(WEIR_F32), "f32");
  EXPECT_STREQ(weir_dtype_name(WEIR_I2), "i2");
  EXPECT_STREQ(weir_dtype_name(27), "?");
  EXPECT_EQ(weir_dtype_size(WEIR_STRING), 16);
  EXPECT_EQ(weir_dtype_size(WEIR_C128), 16);
  EXPECT_EQ(weir_dtype_size(WEIR_BF16), 2);
  EXPECT_EQ(weir_dtype_size(WEIR_U4), 1);
  EXPECT_EQ(weir_dtype_size(0), 0);
}

} // namespace
