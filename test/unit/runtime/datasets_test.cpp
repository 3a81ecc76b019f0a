//===- datasets_test.cpp - iterators that are stopped while someone works --===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// What elements are is told in test/datasets. Here functions of the program wait until the test
// lets them go on, so that checkpoints, cancelled runs and other runs come just then.

#include "datasets/iterator.h"
#include "kernel_call.h"
#include "weir/datasets.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <thread>
#include <tuple>

using namespace weir::rt;
using namespace weir::rt::test;

namespace {

namespace fs = std::filesystem;

/// A folder that goes with the test.
struct Folder {
  std::string path = fs::temp_directory_path() / "weir-datasets-XXXXXX";
  Folder() { path = mkdtemp(path.data()); }
  ~Folder() { fs::remove_all(path); }
  std::string in(const char *name) const { return path + "/" + name; }
};

/// Something that one thread waits for, and another does.
class Event {
public:
  void happen() { happened = true; }
  void wait() const {
    while (!happened)
      std::this_thread::yield();
  }

private:
  std::atomic<bool> happened{false};
};

weir_tensor textOf(weir_string &text, const char *characters) {
  text = {characters, int64_t(strlen(characters))};
  weir_tensor tensor = {};
  tensor.data = &text;
  tensor.bytes = sizeof(text);
  tensor.dtype = WEIR_STRING;
  return tensor;
}

int32_t call(weir_context *ctx, weir_library_fn function, std::vector<weir_tensor> operands,
             weir_tensor *result, std::vector<int64_t> attributes) {
  return weir_rt_library(ctx, function, 0, operands.data(), int32_t(operands.size()), result,
                         result ? 1 : 0, attributes.data());
}

/// A data set over others, with a function of the program (null: none) and integers.
struct Made {
  weir_context *ctx;
  int32_t code = WEIR_OK;

  weir_tensor operator()(weir_dataset_kind kind, std::vector<weir_tensor> inputs,
                         const char *function, std::vector<int64_t> parameters) {
    weir_tensor result = {};
    result.dtype = WEIR_TENSOR;
    result.rank = 1;
    result.dims[0] = -1;
    if (code)
      return result;
    std::vector<int64_t> attributes = {kind, 0, int64_t(inputs.size()), function != nullptr, 0, 0};
    weir_string text;
    if (function)
      inputs.push_back(textOf(text, function));
    for (int64_t &parameter : parameters)
      inputs.push_back(integer(parameter));
    code = call(ctx, weir_kernel_dataset, inputs, &result, attributes);
    return result;
  }
  weir_tensor range(int64_t stop, int64_t start = 0) {
    return (*this)(WEIR_DATASET_RANGE, {}, nullptr, {start, stop, 1, 0});
  }
};

using Pipeline = std::function<weir_tensor(Made &)>;
Pipeline pipelines[2];                    ///< of iterators "a" and "b"
std::function<int32_t(int64_t &)> mapped; ///< what the function "map" does
constexpr const char *names[] = {"a", "b"};

template <int which> int32_t beginStep(weir_context *ctx) {
  Made made{ctx};
  weir_tensor dataset = pipelines[which](made);
  weir_string text;
  return made.code ? made.code
                   : call(ctx, weir_kernel_iterator_make, {textOf(text, names[which]), dataset},
                          nullptr, {});
}

/// Waits for an element of an iterator, which is an integer.
struct NextFrame {
  void (*resume)(void *);
  weir_context *ctx;
  const char *name;
  int64_t ticket = 0;
  bool isAsked = false;

  int32_t advance() {
    if (!isAsked) {
      isAsked = true;
      weir_string text;
      weir_tensor result = {};
      result.dtype = WEIR_I64;
      if (int32_t code = call(ctx, weir_kernel_iterator_next, {textOf(text, name)}, &result, {}))
        return code;
      ticket = *static_cast<int64_t *>(result.data);
      if (!weir_rt_wait_ready(ctx, ticket, this))
        return WEIR_PENDING;
      return take();
    }
    return WEIR_OK;
  }
  int32_t take() {
    weir_tensor result = {};
    result.dtype = WEIR_I64;
    if (int32_t code = call(ctx, weir_kernel_iterator_finish, {integer(ticket)}, &result, {0}))
      return code;
    return giveScalar(ctx, *static_cast<int64_t *>(result.data));
  }
};

template <int which> int32_t nextStep(weir_context *ctx) {
  auto *frame = new NextFrame{resumeFrame<NextFrame>, ctx, names[which]};
  int32_t code = frame->advance();
  if (code != WEIR_PENDING)
    delete frame;
  return code;
}

/// The iterator "once" over the data set of the function "make", and its next element.
int32_t onceStep(weir_context *ctx) {
  weir_string name, function;
  if (int32_t code = call(ctx, weir_kernel_iterator_make_once,
                          {textOf(name, "once"), textOf(function, "make")}, nullptr, {}))
    return code;
  auto *frame = new NextFrame{resumeFrame<NextFrame>, ctx, "once"};
  int32_t code = frame->advance();
  if (code != WEIR_PENDING)
    delete frame;
  return code;
}

int32_t reserve(weir_context *ctx, int64_t blocks, int64_t *before) {
  weir_string text;
  weir_tensor result = {};
  result.dtype = WEIR_I64;
  int32_t code = call(ctx, weir_kernel_random_reserve, {textOf(text, "0 random"), integer(blocks)},
                      &result, {});
  if (!code)
    *before = *static_cast<int64_t *>(result.data);
  return code;
}

int32_t drawnStep(weir_context *ctx) {
  int64_t drawn;
  int32_t code = reserve(ctx, 0, &drawn);
  return code ? code : giveScalar(ctx, drawn);
}

int32_t giveDataset(weir_context *ctx, const weir_tensor &dataset) {
  void *out = weir_rt_fetch(ctx, 0, dataset.rank, dataset.dims, dataset.bytes);
  if (!out)
    return WEIR_INTERNAL;
  std::memcpy(out, dataset.data, size_t(dataset.bytes));
  return WEIR_OK;
}

int64_t argument(weir_context *ctx) { return *static_cast<const int64_t *>(ctx->feeds[0].data); }

int32_t mapStep(weir_context *ctx) {
  int64_t value = argument(ctx);
  if (int32_t code = mapped(value))
    return weir_rt_error_text(ctx, 0, code, "as the test wants it", 0, 0);
  return giveScalar(ctx, value);
}

/// Two integers from ten times the argument on; what it draws is of no use.
int32_t spreadStep(weir_context *ctx) {
  Made made{ctx};
  int64_t value = argument(ctx), drawn = 0;
  if (int32_t code = mapped(value))
    return weir_rt_error_text(ctx, 0, code, "as the test wants it", 0, 0);
  weir_tensor dataset = made.range(10 * value + 2, 10 * value);
  int32_t code = made.code ? made.code : reserve(ctx, 1, &drawn);
  return code ? code : giveDataset(ctx, dataset);
}

int32_t makeStep(weir_context *ctx) {
  Made made{ctx};
  int64_t value = 0;
  std::ignore = mapped(value);
  weir_tensor dataset = made.range(10);
  return made.code ? made.code : giveDataset(ctx, dataset);
}

enum Entry : int32_t { BeginA, BeginB, NextA, NextB, Once, Drawn };

/// Entries over all of these, and the functions "map", "spread" and "make".
struct Pipelines : TestProgram {
  Pipelines() {
    mapped = [](int64_t &) { return WEIR_OK; };
    site("the/node", "TheOp", "?", WEIR_INTERNAL);
    TestTensor number = {"y", WEIR_I64, {}}, dataset = {"y", WEIR_TENSOR, {-1}};
    entry("begin a", {}, {}, {beginStep<0>});
    entry("begin b", {}, {}, {beginStep<1>});
    entry("next a", {}, {number}, {nextStep<0>});
    entry("next b", {}, {number}, {nextStep<1>});
    entry("once", {}, {number}, {onceStep});
    entry("drawn", {}, {number}, {drawnStep});
    entry("map", {{"x", WEIR_I64, {}}}, {number}, {mapStep});
    entry("spread", {{"x", WEIR_I64, {}}}, {dataset}, {spreadStep});
    entry("make", {}, {dataset}, {makeStep});
    get();
    constexpr int32_t functions = 3;
    desc.entry_count -= functions;
    desc.hidden_entry_count = functions;
  }
};

struct Session : TestSession {
  explicit Session(Pipelines &program) : TestSession(&program.desc) {}

  /// What an entry gives, or minus its error.
  int64_t give(Entry entry, const weir_run_options *options = nullptr) {
    int64_t value = 0;
    std::vector<weir_tensor> fetches = {scalar(&value)};
    weir_status own = WEIR_STATUS_INIT;
    int32_t code = weir_session_run(session, entry, nullptr, 0, fetches.data(), 1, options, &own);
    return code ? -int64_t(code) : value;
  }
  int32_t begin(Entry entry) { return run({}, nullptr, nullptr, entry); }
  int32_t save(const std::string &prefix) {
    weir_status own = WEIR_STATUS_INIT;
    return weir_session_save(session, prefix.c_str(), nullptr, &own);
  }
  int32_t restore(const std::string &prefix) {
    return weir_session_restore(session, prefix.c_str(), nullptr, &status);
  }
};

weir_tensor overMap(Made &made) { return made(WEIR_DATASET_MAP, {made.range(100)}, "map", {1}); }

weir_tensor spread(Made &made) {
  return made(WEIR_DATASET_INTERLEAVE, {made.range(100)}, "spread", {1, 1, 1});
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
    ASSERT_EQ(session.begin(BeginA), WEIR_OK);
    EXPECT_EQ(session.give(NextA), 0);
    EXPECT_EQ(session.give(NextA), 1);
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
    ASSERT_EQ(session.begin(BeginA), WEIR_OK);
    for (int64_t value : {0, 1, 10})
      EXPECT_EQ(session.give(NextA), value);
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
  Pipeline other = [](Made &made) {
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
    ASSERT_EQ(session.begin(BeginA), WEIR_OK);
    for (int64_t value : {0, 1, 10})
      EXPECT_EQ(session.give(NextA), value);
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
  iteration->awaitPause();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(count(), runs - 1);
  iteration->goOn(/*stands=*/true);
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(values[0] + values[1] + values[2], 0 + 1 + 2);
  release(iteration);
}

} // namespace
