//===- datasets_test.cpp - iterators that are stopped while someone works --===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// What elements are is told in test/datasets. Here functions of the program wait until the test
// lets them go on, so that checkpoints, cancelled runs and other runs come just then.

#include "datasets/iterator.h"
#include "pipelines.h"

#include <chrono>

using namespace weir::rt;
using namespace weir::rt::test;

namespace {

weir_tensor overMap(Made &made) { return made(WEIR_DATASET_MAP, {made.range(100)}, "map", {1}); }

weir_tensor spread(Made &made) {
  return made(WEIR_DATASET_INTERLEAVE, {made.range(100)}, "spread", {1, 1, 1});
}

/// Has the session begin iterator A, which gives `values` first.
void take(Session &session, std::initializer_list<int64_t> values) {
  ASSERT_EQ(session.begin(BeginA), WEIR_OK) << session.message();
  for (int64_t value : values)
    EXPECT_EQ(session.give(NextA), value);
}

TEST(Datasets, AFailureIsForTheNextRunWhereTheOneThatAskedHasEnded) {
  Pipelines program;
  pipelines[0] = overMap;
  Folder folder;
  Session session(program), other(program);
  ASSERT_EQ(session.begin(BeginA), WEIR_OK) << session.message();
  ASSERT_EQ(session.give(NextA), 0);
  Event entered, goOn;
  mapped = [&](int64_t &value) {
    if (value != 1)
      return WEIR_OK;
    entered.happen();
    goOn.wait();
    return WEIR_INVALID_ARGUMENT;
  };
  weir_run_options options = WEIR_RUN_OPTIONS_INIT;
  options.cancellation = weir_cancellation_create();
  std::thread asking([&] { EXPECT_EQ(session.give(NextA, &options), -WEIR_CANCELLED); });
  entered.wait();
  weir_cancellation_cancel(options.cancellation);
  asking.join();
  weir_cancellation_destroy(options.cancellation);
  goOn.happen();
  // Behind what is being made.
  ASSERT_EQ(session.save(folder.in("saved")), WEIR_OK);
  EXPECT_EQ(session.give(NextA), -WEIR_INVALID_ARGUMENT);
  EXPECT_EQ(session.give(NextA), 2);

  ASSERT_EQ(other.restore(folder.in("saved")), WEIR_OK) << other.message();
  ASSERT_EQ(other.begin(BeginA), WEIR_OK) << other.message();
  EXPECT_EQ(other.give(NextA), -WEIR_INVALID_ARGUMENT);
  EXPECT_EQ(other.give(NextA), 2);
}

TEST(Datasets, RunsThatComeTogetherMakeAnIteratorOnce) {
  Pipelines program;
  Session session(program);
  std::atomic<int> calls{0}, coming{0};
  Event entered;
  mapped = [&](int64_t &) {
    ++calls;
    entered.happen();
    // The other run has time to come to the same place.
    for (int i = 0; i < 200 && (coming < 2 || calls < 2); ++i)
      std::this_thread::yield();
    return WEIR_OK;
  };
  int64_t values[2] = {-1, -1};
  std::thread first([&] {
    ++coming;
    values[0] = session.give(Once);
  });
  entered.wait();
  ++coming;
  values[1] = session.give(Once);
  first.join();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(values[0] + values[1], 1) << "elements 0 and 1, in any order";
}

TEST(Datasets, WhatACheckpointHadStaysUntilAnIterationBegins) {
  Pipelines program;
  Folder folder;
  pipelines[0] = overMap;
  {
    Session session(program);
    take(session, {0, 1});
    ASSERT_EQ(session.save(folder.in("saved")), WEIR_OK);
  }
  Session session(program);
  ASSERT_EQ(session.restore(folder.in("saved")), WEIR_OK) << session.message();
  pipelines[0] = [](Made &made) { return made(WEIR_DATASET_MAP, {made.range(9)}, "none", {1}); };
  EXPECT_EQ(session.begin(BeginA), WEIR_NOT_FOUND) << session.message();
  ASSERT_EQ(session.save(folder.in("again")), WEIR_OK);
  pipelines[0] = overMap;
  ASSERT_EQ(session.begin(BeginA), WEIR_OK) << session.message();
  EXPECT_EQ(session.give(NextA), 2);
  ASSERT_EQ(session.begin(BeginA), WEIR_OK) << session.message();
  EXPECT_EQ(session.give(NextA), 0) << "anew the next time";

  Session other(program);
  ASSERT_EQ(other.restore(folder.in("again")), WEIR_OK) << other.message();
  ASSERT_EQ(other.begin(BeginA), WEIR_OK) << other.message();
  EXPECT_EQ(other.give(NextA), 2);
}

TEST(Datasets, ACheckpointThatIsSavedWhileAnIterationGoesToItsPlaceHasThat) {
  Pipelines program;
  Folder folder;
  pipelines[0] = spread;
  {
    Session session(program);
    take(session, {0, 1, 10});
    ASSERT_EQ(session.save(folder.in("saved")), WEIR_OK);
  }
  Session session(program), other(program);
  ASSERT_EQ(session.restore(folder.in("saved")), WEIR_OK) << session.message();
  Event entered, goOn;
  mapped = [&](int64_t &) {
    entered.happen();
    goOn.wait();
    return WEIR_OK;
  };
  std::thread beginning([&] { EXPECT_EQ(session.begin(BeginA), WEIR_OK) << session.message(); });
  entered.wait();
  EXPECT_EQ(session.save(folder.in("meanwhile")), WEIR_OK);
  goOn.happen();
  beginning.join();
  EXPECT_EQ(session.give(NextA), 11);

  ASSERT_EQ(other.restore(folder.in("meanwhile")), WEIR_OK) << other.message();
  ASSERT_EQ(other.begin(BeginA), WEIR_OK) << other.message();
  EXPECT_EQ(other.give(NextA), 11);
}

/// Two iterators: "a" over elements that a cache keeps, "b" over integers.
void makeTwo() {
  pipelines[0] = [](Made &made) {
    weir_string text;
    weir_tensor cached = {}, input = made.range(3), file = textOf(text, "");
    cached.dtype = WEIR_TENSOR;
    cached.rank = 1;
    cached.dims[0] = -1;
    if (!made.code)
      made.code = call(made.ctx, weir_kernel_dataset, {input, file}, &cached,
                       {WEIR_DATASET_CACHE, 0, 1, 0, 0, 0});
    return made(WEIR_DATASET_REPEAT, {cached}, nullptr, {-1});
  };
  pipelines[1] = [](Made &made) { return made.range(100); };
}

TEST(Datasets, ARestoreThatFailsChangesNoIterator) {
  Pipelines program;
  Folder folder;
  makeTwo();
  {
    Session session(program);
    ASSERT_EQ(session.begin(BeginA), WEIR_OK);
    ASSERT_EQ(session.begin(BeginB), WEIR_OK);
    EXPECT_EQ(session.give(NextA), 0);
    EXPECT_EQ(session.give(NextB), 0);
    ASSERT_EQ(session.save(folder.in("early")), WEIR_OK);
    for (int64_t value : {1, 2, 0, 1})
      EXPECT_EQ(session.give(NextA), value);
    ASSERT_EQ(session.save(folder.in("late")), WEIR_OK);
  }
  // The second one is over another pipeline here, which is found out last.
  Session session(program);
  MakePipeline other = [](Made &made) {
    return made(WEIR_DATASET_TAKE, {made.range(100)}, nullptr, {50});
  };
  pipelines[1] = other;
  ASSERT_EQ(session.begin(BeginA), WEIR_OK);
  ASSERT_EQ(session.begin(BeginB), WEIR_OK);
  for (int64_t value : {0, 1, 2, 0})
    EXPECT_EQ(session.give(NextA), value);
  EXPECT_EQ(session.restore(folder.in("early")), WEIR_DATA_LOSS);
  for (int64_t value : {1, 2, 0, 1, 2})
    EXPECT_EQ(session.give(NextA), value);

  // What an earlier one has for an iterator that has not begun stays, too.
  Session waiting(program);
  ASSERT_EQ(waiting.begin(BeginA), WEIR_OK);
  ASSERT_EQ(weir_session_reset(waiting, nullptr), WEIR_OK);
  ASSERT_EQ(waiting.restore(folder.in("late")), WEIR_OK) << waiting.message();
  ASSERT_EQ(waiting.begin(BeginB), WEIR_DATA_LOSS);
  makeTwo();
  ASSERT_EQ(waiting.begin(BeginB), WEIR_OK) << waiting.message();
  pipelines[1] = other;
  ASSERT_EQ(waiting.begin(BeginB), WEIR_OK) << waiting.message();
  EXPECT_EQ(waiting.restore(folder.in("early")), WEIR_DATA_LOSS);
  ASSERT_EQ(waiting.begin(BeginA), WEIR_OK) << waiting.message();
  EXPECT_EQ(waiting.give(NextA), 2);
}

TEST(Datasets, WhatFunctionsDrawOfIsRestoredWhereTheRestoreItselfCallsThem) {
  Pipelines program;
  Folder folder;
  pipelines[0] = spread;
  {
    Session session(program);
    take(session, {0, 1, 10});
    EXPECT_EQ(session.give(Drawn), 2);
    ASSERT_EQ(session.save(folder.in("saved")), WEIR_OK);
  }
  Session session(program);
  ASSERT_EQ(session.begin(BeginA), WEIR_OK);
  ASSERT_EQ(session.restore(folder.in("saved")), WEIR_OK) << session.message();
  EXPECT_EQ(session.give(Drawn), 2);
  EXPECT_EQ(session.give(NextA), 11);
}

TEST(Datasets, ASaveThatIsNotWaitedForWaitsForNoElement) {
  Pipelines program;
  Folder folder;
  pipelines[0] = overMap;
  Session session(program), other(program);
  ASSERT_EQ(session.begin(BeginA), WEIR_OK);
  Event entered, goOn, saved;
  mapped = [&](int64_t &value) {
    entered.happen();
    if (value == 0)
      goOn.wait();
    return WEIR_OK;
  };
  std::thread first([&] { EXPECT_EQ(session.give(NextA), 0); });
  entered.wait();
  auto done = [](void *self, const weir_status *status) {
    EXPECT_EQ(status->code, WEIR_OK) << status->message;
    static_cast<Event *>(self)->happen();
  };
  ASSERT_EQ(
      weir_session_save_async(session, folder.in("saved").c_str(), nullptr, done, &saved, nullptr),
      WEIR_OK);
  std::thread second([&] { EXPECT_EQ(session.give(NextA), 1); });
  goOn.happen();
  saved.wait();
  first.join();
  second.join();
  ASSERT_EQ(other.restore(folder.in("saved")), WEIR_OK) << other.message();
  ASSERT_EQ(other.begin(BeginA), WEIR_OK) << other.message();
  EXPECT_EQ(other.give(NextA), 1) << "the first element was asked for before";
}

TEST(Datasets, FunctionsOfOnePipelineAskAnotherWhileBothAreSaved) {
  Pipelines program;
  Folder folder;
  pipelines[0] = [](Made &made) {
    weir_tensor nested = made(WEIR_DATASET_MAP, {made.range(100)}, "nested", {1});
    return made(WEIR_DATASET_PREFETCH, {nested}, nullptr, {2});
  };
  pipelines[1] = overMap;
  Event full, entered, goOn, saved, asks;
  mapped = [&](int64_t &value) {
    if (value == 2)
      full.happen();
    if (value == 3) {
      entered.happen();
      goOn.wait();
    }
    return WEIR_OK;
  };
  Session session(program), other(program);
  ASSERT_EQ(session.begin(BeginB), WEIR_OK);
  ASSERT_EQ(session.begin(BeginA), WEIR_OK);
  EXPECT_EQ(session.give(NextA), 0);
  // "a" has two elements more of "b", which makes another one for a run; then "a" wants its third.
  full.wait();
  nestedAsks = &asks;
  std::thread direct([&] { EXPECT_EQ(session.give(NextB), 3); });
  entered.wait();
  EXPECT_EQ(session.give(NextA), 1);
  asks.wait();
  auto done = [](void *self, const weir_status *status) {
    EXPECT_EQ(status->code, WEIR_OK) << status->message;
    static_cast<Event *>(self)->happen();
  };
  ASSERT_EQ(
      weir_session_save_async(session, folder.in("saved").c_str(), nullptr, done, &saved, nullptr),
      WEIR_OK);
  goOn.happen();
  saved.wait();
  direct.join();
  nestedAsks = nullptr;
  EXPECT_EQ(session.give(NextA), 2);
  EXPECT_EQ(session.give(NextA), 4);

  ASSERT_EQ(other.restore(folder.in("saved")), WEIR_OK) << other.message();
  ASSERT_EQ(other.begin(BeginB), WEIR_OK) << other.message();
  ASSERT_EQ(other.begin(BeginA), WEIR_OK) << other.message();
  EXPECT_EQ(other.give(NextA), 2);
  EXPECT_EQ(other.give(NextA), 4);
}

TEST(Datasets, ASessionEndsWhileElementsAreMadeAhead) {
  Pipelines program;
  pipelines[0] = [](Made &made) {
    weir_tensor inner = made(WEIR_DATASET_MAP, {made.range(1000)}, "map", {1});
    weir_tensor outer = made(WEIR_DATASET_MAP, {inner}, "map", {8});
    return made(WEIR_DATASET_PREFETCH, {outer}, nullptr, {4});
  };
  // Behind the elements that the first one wants.
  constexpr int64_t last = 17, mark = 1000;
  Event entered, ending;
  mapped = [&](int64_t &value) {
    if (value == last) {
      entered.happen();
      ending.wait();
      // The session waits for its threads by now, and this one is about to want more of them.
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    value += value < mark ? mark : -mark;
    return WEIR_OK;
  };
  Session session(program);
  ASSERT_EQ(session.begin(BeginA), WEIR_OK);
  EXPECT_EQ(session.give(NextA), 0);
  entered.wait();
  ending.happen();
}

Iteration *iteration; ///< of the test below

/// As NextFrame, of `iteration`.
struct AttemptFrame {
  void (*resume)(void *);
  weir_context *ctx;
  weir_tensor ticket = {};

  static void drop(Wait *wait) {
    auto *attempt = static_cast<Attempt *>(wait);
    static_cast<Iteration *>(attempt->job)->withdraw(attempt);
    freeAttempt(attempt);
  }
  int32_t advance() {
    if (ticket.data)
      return WEIR_OK;
    int32_t code = WEIR_OK;
    ticket.dtype = WEIR_I64;
    Attempt *attempt = newAttempt(ctx, iteration, drop, ticket, &code);
    if (!attempt)
      return code;
    iteration->begin(ctx, attempt);
    return weir_rt_wait_ready(ctx, *static_cast<int64_t *>(ticket.data), this) ? take()
                                                                               : WEIR_PENDING;
  }
  int32_t take() {
    int32_t code = WEIR_OK;
    Attempt *attempt = finishedAttempt(ctx, ticket, &code);
    if (!attempt)
      return code;
    code = giveScalar(ctx, *static_cast<int64_t *>(attempt->element->components[0].data));
    freeAttempt(attempt);
    return code;
  }
};

TEST(Datasets, APauseComesBetweenElementsHoweverManyWait) {
  TestProgram program;
  program.site("the/node", "TheOp", "?", WEIR_INTERNAL);
  program.entry("make", {}, {}, {[](weir_context *ctx) -> int32_t {
                  Made made{ctx};
                  Failure failure;
                  Dataset *dataset = makeDataset(ctx->run->session, overMap(made), failure);
                  iteration = dataset ? newIteration(ctx->run->session, dataset, failure) : nullptr;
                  return iteration ? WEIR_OK : WEIR_INTERNAL;
                }});
  program.entry("next", {}, {{"y", WEIR_I64, {}}}, {[](weir_context *ctx) {
                  auto *frame = new AttemptFrame{resumeFrame<AttemptFrame>, ctx};
                  int32_t code = frame->advance();
                  if (code != WEIR_PENDING)
                    delete frame;
                  return code;
                }});
  program.entry("map", {{"x", WEIR_I64, {}}}, {{"y", WEIR_I64, {}}}, {mapStep});
  program.get();
  program.desc.entry_count = 2;
  program.desc.hidden_entry_count = 1;
  TestSession session(&program.desc);
  Event entered, goOn;
  std::atomic<int> calls{0};
  mapped = [&](int64_t &) {
    ++calls;
    entered.happen();
    goOn.wait();
    return WEIR_OK;
  };
  ASSERT_EQ(session.run({}, nullptr), WEIR_OK) << session.message();
  constexpr int runs = 3;
  int64_t values[runs] = {};
  std::vector<std::thread> threads;
  for (int64_t &value : values)
    threads.emplace_back([&] {
      weir_tensor fetch = scalar(&value);
      EXPECT_EQ(weir_session_run(session, 1, nullptr, 0, &fetch, 1, nullptr, nullptr), WEIR_OK);
    });
  entered.wait();
  auto count = [] {
    Lock lock(iteration->mutex);
    int waiting = 0;
    for (Attempt *at = iteration->first; at; at = at->following)
      ++waiting;
    return waiting;
  };
  while (count() < runs)
    std::this_thread::yield();
  iteration->pause();
  goOn.happen();
  iteration->stand();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(count(), runs - 1);
  iteration->goOn(/*stands=*/true);
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(values[0] + values[1] + values[2], 0 + 1 + 2);
  release(iteration);
}

} // namespace
