//===- rendezvous_test.cpp - several devices in one run -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rendezvous_frames.h"
#include "session/run.h"

#include <chrono>
#include <coroutine>
#include <cstdlib>
#include <thread>

using namespace weir::rt::test;

namespace {

TEST(Rendezvous, TwoDevicesWithAnyNumberOfThreads) {
  TestProgram program;
  addTwoDevices(program, sendNumbers, addNumbers);
  for (int32_t threads : {1, 2, 5}) {
    TestSession session(program.get(), TestSession::defaults(threads));
    for (int64_t step = 0; step < 50; ++step) {
      int64_t sum = 0;
      std::vector<weir_tensor> fetches = {scalar(&sum)};
      ASSERT_EQ(session.run({}, &fetches), WEIR_OK) << session.message();
      EXPECT_EQ(sum, rounds * (rounds - 1) / 2 + rounds * step);
    }
    weir_memory_stats stats = {};
    stats.size = sizeof(stats);
    for (int32_t device : {0, 1}) {
      weir_session_memory(session, device, &stats);
      EXPECT_EQ(stats.live, 1) << "only the arena is left";
    }
  }
}

int32_t sendCounted(weir_context *ctx) {
  for (int64_t i = 0; i < rounds; ++i) {
    int64_t value = i * i + ctx->step;
    weir_tensor tensor = scalar(&value);
    if (int32_t code = weir_rt_send(ctx, 0, WEIR_NEXT_ITERATION, &tensor))
      return code;
  }
  return FetchFrame::start(ctx, 1);
}

int32_t addCounted(weir_context *ctx) {
  return SumFrame::start(ctx, 0, 1, rounds, /*counted=*/true);
}

/// What loops that are cut across devices do. A run begins to count anew, also
/// after one that was given up in the middle.
TEST(Rendezvous, EdgesCountTheirTensors) {
  TestProgram program;
  addTwoDevices(program, sendCounted, addCounted);
  program.entry("stuck", {}, {{"sum", WEIR_I64}},
                {[](weir_context *ctx) -> int32_t {
                   int64_t value = 1;
                   weir_tensor tensor = scalar(&value);
                   weir_rt_send(ctx, 0, WEIR_NEXT_ITERATION, &tensor);
                   return FetchFrame::start(ctx, 1);
                 },
                 addCounted});
  for (int32_t threads : {1, 3}) {
    TestSession session(program.get(), TestSession::defaults(threads));
    for (int64_t step = 0; step < 40; ++step) {
      int64_t sum = 0, expected = rounds * step;
      for (int64_t i = 0; i < rounds; ++i)
        expected += i * i;
      weir_tensor fetch = scalar(&sum);
      if (step % 4 == 3) {
        EXPECT_EQ(weir_session_run(session, 1, nullptr, 0, &fetch, 1, nullptr, nullptr),
                  WEIR_INTERNAL);
        continue;
      }
      ASSERT_EQ(weir_session_run(session, 0, nullptr, 0, &fetch, 1, nullptr, nullptr), WEIR_OK);
      EXPECT_EQ(sum, expected);
    }
  }
}

/// A loop that sends `rounds` numbers over edge 0, as fast as it may.
struct LoopFrame {
  void (*resume)(void *);
  weir_context *ctx;
  int64_t at;
  static std::atomic<int64_t> sent, taken, most;
  static int64_t width; ///< of what is sent; the first one counts

  int32_t send() {
    std::vector<int64_t> values(size_t(width), at++);
    weir_tensor tensor = scalar(values.data());
    tensor.rank = 1;
    tensor.dims[0] = width;
    tensor.bytes = 8 * width;
    most = std::max(most.load(), ++sent - taken);
    return weir_rt_send(ctx, 0, WEIR_NEXT_ITERATION, &tensor);
  }
  int32_t advance() {
    while (at < rounds) {
      if (!weir_rt_send_ready(ctx, 0, this))
        return WEIR_PENDING;
      if (int32_t code = send())
        return code;
    }
    return WEIR_OK;
  }
  static int32_t start(weir_context *ctx) {
    sent = taken = most = 0;
    auto *self = new LoopFrame{resumeFrame<LoopFrame, &LoopFrame::send>, ctx, 0};
    int32_t code = self->advance();
    if (code != WEIR_PENDING)
      delete self;
    return code;
  }
};
std::atomic<int64_t> LoopFrame::sent, LoopFrame::taken, LoopFrame::most;
int64_t LoopFrame::width;

/// Takes them one after another, and fails at number `failAt`.
struct SlowFrame {
  void (*resume)(void *);
  weir_context *ctx;
  int64_t at, failAt;

  int32_t take() {
    weir_tensor value;
    if (int32_t code = weir_rt_receive(ctx, 0, WEIR_NEXT_ITERATION, &value))
      return code;
    ++LoopFrame::taken;
    EXPECT_EQ(*static_cast<int64_t *>(value.data), at);
    weir_rt_free(ctx, value.data);
    if (at++ == failAt)
      return weir_rt_error(ctx, 0, at, 0);
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    return WEIR_OK;
  }
  int32_t advance() {
    while (at < rounds) {
      if (!weir_rt_receive_ready(ctx, 0, WEIR_NEXT_ITERATION, this))
        return WEIR_PENDING;
      if (int32_t code = take())
        return code;
    }
    return WEIR_OK;
  }
  static int32_t start(weir_context *ctx, int64_t failAt) {
    auto *self = new SlowFrame{resumeFrame<SlowFrame>, ctx, 0, failAt};
    int32_t code = self->advance();
    if (code != WEIR_PENDING)
      delete self;
    return code;
  }
};

/// However far a loop is ahead of another device's, few of its tensors lie there;
/// and who waits for room hears of an abort as who waits for a tensor does.
TEST(Rendezvous, ALoopThatIsAheadWaits) {
  TestProgram program;
  program.site("loop", "While", "given up", WEIR_ABORTED);
  program.device("/job:localhost/task:0/device:CPU:1", 1024);
  program.edge("numbers;0->1", 0, 1);
  program.entry("succeeds", {}, {},
                {LoopFrame::start, [](weir_context *ctx) { return SlowFrame::start(ctx, -1); }});
  program.entry("fails", {}, {},
                {LoopFrame::start, [](weir_context *ctx) { return SlowFrame::start(ctx, 20); }});
  for (int32_t threads : {1, 2, 4}) {
    TestSession session(program.get(), TestSession::defaults(threads));
    for (int i = 0; i < 10; ++i) {
      LoopFrame::width = i % 2 ? 1 : 100;
      int64_t window = i % 2 ? weir::rt::fewSendWindow : weir::rt::sendWindow;
      EXPECT_EQ(weir_session_run(session, 0, nullptr, 0, nullptr, 0, nullptr, nullptr), WEIR_OK);
      EXPECT_EQ(LoopFrame::taken, rounds);
      EXPECT_LE(LoopFrame::most, window + 1);
      EXPECT_EQ(weir_session_run(session, 1, nullptr, 0, nullptr, 0, nullptr, nullptr),
                WEIR_ABORTED);
      EXPECT_LE(LoopFrame::sent, 21 + window + 1);
    }
  }
}

TEST(Rendezvous, ConcurrentRunsDoNotMixTheirSteps) {
  TestProgram program;
  addTwoDevices(program, sendNumbers, addNumbers);
  TestSession session(program.get(), TestSession::defaults(2));
  std::atomic<int64_t> total = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        int64_t sum = 0;
        weir_tensor fetch = scalar(&sum);
        ASSERT_EQ(weir_session_run(session, 0, nullptr, 0, &fetch, 1, nullptr, nullptr), WEIR_OK);
        // Each step adds its own number `rounds` times.
        EXPECT_EQ((sum - rounds * (rounds - 1) / 2) % rounds, 0);
        total += (sum - rounds * (rounds - 1) / 2) / rounds;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(total, 200 * 199 / 2) << "each step number exactly once";
}

//===----------------------------------------------------------------------===//
// More receives than threads
//===----------------------------------------------------------------------===//

constexpr int64_t manyReceives = 10000;

/// A device that waits for 10,000 tensors at once, each with a coroutine of its
/// own, as a loop with parallel iterations does.
struct ManyFrame {
  struct One {
    void (*resume)(void *);
    ManyFrame *all;
    int64_t iteration;
  };
  weir_context *ctx;
  std::atomic<int64_t> left{manyReceives};
  std::atomic<int64_t> sum{0};
  std::atomic<int32_t> code{0};
  std::vector<One> ones{size_t(manyReceives)};

  void take(int64_t iteration) {
    weir_tensor value;
    int32_t result = weir_rt_receive(ctx, 0, iteration, &value);
    if (result)
      code = result;
    else
      sum += *static_cast<int64_t *>(value.data);
  }

  /// Whether this was the last one.
  bool done(int64_t iteration) {
    take(iteration);
    return --left == 0;
  }

  int32_t finish() {
    int32_t result = code;
    if (result == 0) {
      int64_t value = sum;
      weir_tensor tensor = scalar(&value);
      result = weir_rt_send(ctx, 1, 0, &tensor);
    }
    delete this;
    return result;
  }

  static void resumed(void *frame) {
    auto *one = static_cast<One *>(frame);
    ManyFrame *all = one->all;
    weir_context *ctx = all->ctx;
    if (all->done(one->iteration))
      weir_rt_step_done(ctx, all->finish());
  }

  static int32_t start(weir_context *ctx) {
    auto *self = new ManyFrame;
    self->ctx = ctx;
    ++self->left; // held by this loop
    for (int64_t i = 0; i < manyReceives; ++i) {
      self->ones[size_t(i)] = {resumed, self, i};
      if (weir_rt_receive_ready(ctx, 0, i, &self->ones[size_t(i)]))
        self->done(i);
    }
    if (--self->left == 0)
      return self->finish();
    return WEIR_PENDING;
  }
};

int32_t sendMany(weir_context *ctx) {
  for (int64_t i = manyReceives - 1; i >= 0; --i) {
    weir_tensor tensor = scalar(&i);
    if (int32_t code = weir_rt_send(ctx, 0, i, &tensor))
      return code;
  }
  return FetchFrame::start(ctx, 1);
}

TEST(Rendezvous, TenThousandReceivesOnTwoThreads) {
  TestProgram program;
  addTwoDevices(program, sendMany, ManyFrame::start);
  TestSession session(program.get(), TestSession::defaults(2));
  for (int round = 0; round < 3; ++round) {
    int64_t sum = 0;
    std::vector<weir_tensor> fetches = {scalar(&sum)};
    ASSERT_EQ(session.run({}, &fetches), WEIR_OK) << session.message();
    EXPECT_EQ(sum, manyReceives * (manyReceives - 1) / 2);
  }
}

//===----------------------------------------------------------------------===//
// A coroutine that a compiler made
//===----------------------------------------------------------------------===//

/// A step as a C++ coroutine: LLVM lowers it as it lowers generated steps.
struct Step {
  struct promise_type {
    Step get_return_object() { return {this}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void unhandled_exception() { std::abort(); }
    void return_value(int32_t result) {
      // Says it whether or not it was ever suspended.
      weir_rt_step_done(ctx, result);
    }
    promise_type(weir_context *ctx) : ctx(ctx) {}
    weir_context *ctx;
  };
  promise_type *promise;
};

struct Receive {
  weir_context *ctx;
  int32_t edge;
  int64_t iteration;
  bool await_ready() { return false; }
  bool await_suspend(std::coroutine_handle<> handle) {
    return !weir_rt_receive_ready(ctx, edge, iteration, handle.address());
  }
  /// The value, -1 when the run was aborted.
  int64_t await_resume() {
    weir_tensor value;
    if (weir_rt_receive(ctx, edge, iteration, &value))
      return -1;
    int64_t result = *static_cast<int64_t *>(value.data);
    weir_rt_free(ctx, value.data);
    return result;
  }
};

int32_t sendValue(weir_context *ctx, int32_t edge, int64_t iteration, int64_t value) {
  weir_tensor tensor = scalar(&value);
  return weir_rt_send(ctx, edge, iteration, &tensor);
}

constexpr int64_t volleys = 200;

Step serve(weir_context *ctx) {
  int64_t value = 0;
  for (int64_t i = 0; i < volleys; ++i) {
    if (int32_t failed = sendValue(ctx, 0, i, value + 1))
      co_return failed;
    value = co_await Receive{ctx, 1, i};
    if (value < 0)
      co_return WEIR_ABORTED;
  }
  *static_cast<int64_t *>(weir_rt_fetch(ctx, 0, 0, nullptr, 8)) = value;
  co_return 0;
}

Step answer(weir_context *ctx) {
  for (int64_t i = 0; i < volleys; ++i) {
    int64_t value = co_await Receive{ctx, 0, i};
    if (value < 0)
      co_return WEIR_ABORTED;
    if (int32_t failed = sendValue(ctx, 1, i, value + 1))
      co_return failed;
  }
  co_return 0;
}

template <Step (*coroutine)(weir_context *)> int32_t startCoroutine(weir_context *ctx) {
  coroutine(ctx);
  return WEIR_PENDING;
}

TEST(Rendezvous, CompiledCoroutinesPlayPingPong) {
  TestProgram program;
  addTwoDevices(program, startCoroutine<serve>, startCoroutine<answer>);
  for (int32_t threads : {1, 2, 4}) {
    TestSession session(program.get(), TestSession::defaults(threads));
    for (int round = 0; round < 20; ++round) {
      int64_t value = 0;
      std::vector<weir_tensor> fetches = {scalar(&value)};
      ASSERT_EQ(session.run({}, &fetches), WEIR_OK) << session.message();
      EXPECT_EQ(value, 2 * volleys);
    }
  }
}

//===----------------------------------------------------------------------===//
// Aborts
//===----------------------------------------------------------------------===//

int32_t failStep(weir_context *ctx) { return weir_rt_error(ctx, 0, 3, 4); }

TEST(Rendezvous, AFailureReachesAllWhoWait) {
  TestProgram program;
  program.site("bad", "Gather", "{0} of {1}", WEIR_OUT_OF_RANGE);
  addTwoDevices(program, failStep, ManyFrame::start);
  for (int32_t threads : {1, 2}) {
    TestSession session(program.get(), TestSession::defaults(threads));
    std::vector<weir_tensor> fetches(1, weir_tensor{});
    EXPECT_EQ(session.run({}, &fetches), WEIR_OUT_OF_RANGE);
    EXPECT_EQ(session.message(), "node \"bad\" (Gather): 3 of 4");
  }
}

TEST(Rendezvous, AReceiveThatNobodyServesIsAStatus) {
  TestProgram program;
  addTwoDevices(program, [](weir_context *) { return 0; }, addNumbers);
  TestSession session(program.get(), TestSession::defaults(2));
  std::vector<weir_tensor> fetches(1, weir_tensor{});
  EXPECT_EQ(session.run({}, &fetches), WEIR_INTERNAL);
  EXPECT_NE(session.message().find("no device will send"), std::string::npos) << session.message();
}

/// Works for as long as the run is allowed to.
int32_t endlessStep(weir_context *ctx) {
  for (;;)
    if (int32_t code = weir_rt_parallel(
            ctx, [](weir_context *, void *const *, const int64_t *, int64_t, int64_t) { return 0; },
            nullptr, nullptr, 8, 1, -1))
      return code;
}

TEST(Rendezvous, DeadlineAndCancellationEndWaitingAndWorkingSteps) {
  TestProgram program;
  addTwoDevices(program, endlessStep, addNumbers);
  for (int32_t threads : {1, 3}) {
    TestSession session(program.get(), TestSession::defaults(threads));
    std::vector<weir_tensor> fetches(1, weir_tensor{});
    weir_run_options options = WEIR_RUN_OPTIONS_INIT;
    options.timeout_ns = 20 * 1000 * 1000;
    EXPECT_EQ(session.run({}, &fetches, &options), WEIR_DEADLINE_EXCEEDED);
    EXPECT_STREQ(session.status.message, "the time that the run was given is over");

    options.timeout_ns = 0;
    options.cancellation = weir_cancellation_create();
    std::thread canceller([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      weir_cancellation_cancel(options.cancellation);
    });
    EXPECT_EQ(session.run({}, &fetches, &options), WEIR_CANCELLED);
    canceller.join();
    EXPECT_TRUE(weir_cancellation_is_cancelled(options.cancellation));
    EXPECT_EQ(session.run({}, &fetches, &options), WEIR_CANCELLED)
        << "a thrown switch ends later runs at once";
    weir_cancellation_reset(options.cancellation);
    options.timeout_ns = 1000 * 1000;
    EXPECT_EQ(session.run({}, &fetches, &options), WEIR_DEADLINE_EXCEEDED);
    weir_cancellation_destroy(options.cancellation);
  }
}

TEST(Rendezvous, AbortsAtAnyMomentEndTheRunOnce) {
  TestProgram program;
  addTwoDevices(program, sendNumbers, addNumbers);
  for (int32_t threads : {1, 2, 4}) {
    TestSession session(program.get(), TestSession::defaults(threads));
    weir_cancellation *cancellation = weir_cancellation_create();
    std::atomic<bool> stop = false;
    // Throws the switch again and again, at no time in particular.
    std::thread canceller([&] {
      for (int i = 0; !stop; ++i) {
        for (int spin = 0; spin < i % 97 * 50; ++spin)
          std::atomic_signal_fence(std::memory_order_seq_cst);
        weir_cancellation_cancel(cancellation);
        weir_cancellation_reset(cancellation);
        std::this_thread::yield();
      }
    });
    std::vector<std::thread> runners;
    std::atomic<int> ended = 0, cancelled = 0, late = 0, wrong = 0;
    for (int t = 0; t < 2; ++t)
      runners.emplace_back([&, t] {
        for (int i = 0; i < 400; ++i) {
          int64_t sum = -1;
          weir_tensor fetch = scalar(&sum);
          weir_run_options options = WEIR_RUN_OPTIONS_INIT;
          options.cancellation = cancellation;
          options.timeout_ns = t == 0 ? 0 : 1 + i * 500;
          int32_t code = weir_session_run(session, 0, nullptr, 0, &fetch, 1, &options, nullptr);
          ended += code == WEIR_OK;
          cancelled += code == WEIR_CANCELLED;
          late += code == WEIR_DEADLINE_EXCEEDED;
          wrong += code == WEIR_OK && fetch.data != &sum;
        }
      });
    for (std::thread &runner : runners)
      runner.join();
    stop = true;
    canceller.join();
    weir_cancellation_destroy(cancellation);
    EXPECT_EQ(ended + cancelled + late, 800) << "no other way to end";
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(cancelled + late, 0);
    // Nothing of them is left.
    weir_memory_stats stats = {};
    stats.size = sizeof(stats);
    weir_session_trim(session);
    weir_session_memory(session, 1, &stats);
    EXPECT_EQ(stats.live, 0);
  }
}

TEST(Rendezvous, EachEdgeIsServedOnce) {
  TestProgram program;
  addTwoDevices(
      program,
      [](weir_context *ctx) {
        int64_t value = 1;
        weir_tensor tensor = scalar(&value);
        weir_rt_send(ctx, 0, 0, &tensor);
        return weir_rt_send(ctx, 0, 0, &tensor);
      },
      nullptr);
  TestSession session(program.get(), TestSession::defaults(1));
  std::vector<weir_tensor> fetches(1, weir_tensor{});
  EXPECT_EQ(session.run({}, &fetches), WEIR_INTERNAL);
  EXPECT_NE(session.message().find("sent twice"), std::string::npos);
}

TEST(Rendezvous, StringsCrossWhole) {
  TestProgram program;
  addTwoDevices(
      program,
      [](weir_context *ctx) {
        char text[] = "across";
        weir_string string = {text, 6};
        weir_tensor tensor = {};
        tensor.data = &string;
        tensor.bytes = sizeof(string);
        tensor.dtype = WEIR_STRING;
        int32_t code = weir_rt_send(ctx, 0, 0, &tensor);
        text[0] = '?'; // the buffer may be used again at once
        return code;
      },
      [](weir_context *ctx) {
        struct Frame {
          void (*resume)(void *);
          weir_context *ctx;
          static int32_t finish(weir_context *ctx) {
            weir_tensor value;
            if (int32_t code = weir_rt_receive(ctx, 0, 0, &value))
              return code;
            auto *string = static_cast<weir_string *>(value.data);
            auto *out = static_cast<int64_t *>(weir_rt_fetch(ctx, 0, 0, nullptr, 8));
            *out = std::string(string->data, size_t(string->size)) == "across";
            return 0;
          }
          static void resumed(void *frame) {
            auto *self = static_cast<Frame *>(frame);
            weir_context *ctx = self->ctx;
            delete self;
            weir_rt_step_done(ctx, finish(ctx));
          }
        };
        auto *frame = new Frame{Frame::resumed, ctx};
        if (!weir_rt_receive_ready(ctx, 0, 0, frame))
          return int32_t(WEIR_PENDING);
        delete frame;
        return Frame::finish(ctx);
      });
  TestSession session(program.get(), TestSession::defaults(2));
  int64_t same = 0;
  std::vector<weir_tensor> fetches = {scalar(&same)};
  ASSERT_EQ(session.run({}, &fetches), WEIR_OK) << session.message();
  EXPECT_EQ(same, 1);
}

} // namespace
