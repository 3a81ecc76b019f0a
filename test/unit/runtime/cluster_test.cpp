//===- cluster_test.cpp - one program in several processes ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Real processes: each test forks its workers before it has a thread, and leads
// steps itself. Set UCX_TLS to choose how messages go.

#include "cluster_ring.h"

#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <net/if.h>
#include <netinet/in.h>
#include <random>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace weir::rt::test;
using Clock = std::chrono::steady_clock;

namespace {

TEST(Cluster, TensorsOfAllSizesGoAroundTwoAndThreeTasks) {
  for (int count : {2, 3}) {
    Ring ring(count);
    Tasks tasks(count);
    std::vector<std::unique_ptr<Worker>> workers;
    for (int i = 1; i < count; ++i)
      workers.push_back(std::make_unique<Worker>(tasks, i, ring.program.get()));
    {
      Member leader(tasks, 0, ring.program.get());
      ASSERT_EQ(leader.code, WEIR_OK) << leader.status.message;
      for (size_t size : {1, 0, 7, 1000, 100000, 1, 5000000})
        checkRing(leader, count, size);
      weir_memory_stats stats = {};
      stats.size = sizeof(stats);
      weir_session_memory(leader.session, 0, &stats);
      EXPECT_EQ(stats.live, 1) << "only the arena is left";
    }
    // The leader said goodbye.
    for (auto &worker : workers)
      EXPECT_EQ(worker->wait(), 0);
  }
}

/// Sends the same buffer again and again, with other contents each time, as soon
/// as it may be written: a loop whose value is sent from the arena.
struct KeptSender {
  void (*resume)(void *);
  weir_context *ctx;
  int64_t at, count;
  std::vector<float> values;
  bool waitsForRoom;

  int32_t advance() {
    for (;;) {
      if (!waitsForRoom) {
        if (at == count)
          return WEIR_OK;
        waitsForRoom = true;
        if (!weir_rt_send_ready(ctx, 0, this))
          return WEIR_PENDING;
      }
      waitsForRoom = false;
      std::fill(values.begin(), values.end(), float(at++));
      weir_tensor tensor = floats(values, {int64_t(values.size())});
      if (int32_t code = weir_rt_send_kept(ctx, 0, WEIR_NEXT_ITERATION, &tensor))
        return code;
      if (!weir_rt_sent_ready(ctx, this))
        return WEIR_PENDING;
    }
  }
  static void resumed(void *frame) {
    auto *self = static_cast<KeptSender *>(frame);
    int32_t code = self->advance();
    if (code == WEIR_PENDING)
      return;
    weir_context *ctx = self->ctx;
    delete self;
    weir_rt_step_done(ctx, code);
  }
  /// Feeds: how many, and of how many elements.
  static int32_t start(weir_context *ctx) {
    auto *feed = static_cast<const float *>(ctx->feeds[0].data);
    auto *self = new KeptSender{
        resumed, ctx, 0, int64_t(feed[0]), std::vector<float>(size_t(feed[1])), false};
    int32_t code = self->advance();
    if (code != WEIR_PENDING)
      delete self;
    return code;
  }
};

/// Takes them, slowly at first, and fetches how many were torn or out of order.
struct KeptReceiver {
  void (*resume)(void *);
  weir_context *ctx;
  int64_t at, count;
  float wrong;

  int32_t take() {
    weir_tensor value;
    if (int32_t code = weir_rt_receive(ctx, 0, WEIR_NEXT_ITERATION, &value))
      return code;
    for (int64_t i = 0; i < value.bytes / 4; ++i)
      wrong += static_cast<float *>(value.data)[i] != float(at);
    weir_rt_free(ctx, value.data);
    if (at++ < 5)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return WEIR_OK;
  }
  int32_t advance() {
    while (at < count) {
      if (!weir_rt_receive_ready(ctx, 0, WEIR_NEXT_ITERATION, this))
        return WEIR_PENDING;
      if (int32_t code = take())
        return code;
    }
    void *out = weir_rt_fetch(ctx, 0, 0, nullptr, 4);
    if (!out)
      return WEIR_INTERNAL;
    memcpy(out, &wrong, 4);
    return WEIR_OK;
  }
  static int32_t start(weir_context *ctx) {
    auto *feed = static_cast<const float *>(ctx->feeds[0].data);
    auto *self = new KeptReceiver{resumeFrame<KeptReceiver>, ctx, 0, int64_t(feed[0]), 0};
    int32_t code = self->advance();
    if (code != WEIR_PENDING)
      delete self;
    return code;
  }
};

int64_t peakOf(weir_session *session, int32_t device) {
  weir_memory_stats stats = {};
  stats.size = sizeof(stats);
  weir_session_memory(session, device, &stats);
  return stats.peak_in_use;
}

/// What is read where its sender has it is never seen half written over, and a
/// sender that is ahead fills the memory of neither task. In both directions: the
/// process that leads sends, and is sent to.
TEST(Cluster, TensorsSentInPlaceAreWholeAndFew) {
  for (bool leads : {true, false}) {
    TestProgram program;
    program.rename(0, deviceNames[0]);
    program.device(deviceNames[1], 0);
    std::vector<weir_step_fn> steps = {KeptSender::start, KeptReceiver::start};
    if (!leads)
      std::swap(steps[0], steps[1]);
    program.edge("value:0;here;there", leads ? 0 : 1, leads ? 1 : 0);
    program.entry("main", {{"sizes", WEIR_F32, {2}}}, {{"wrong", WEIR_F32}}, steps);
    Tasks tasks(2);
    Worker worker(tasks, 1, program.get());
    Member leader(tasks, 0, program.get());
    ASSERT_EQ(leader.code, WEIR_OK) << leader.status.message;
    for (int64_t elements : {1, 1000, 5000, 300000, 3000000}) {
      std::vector<float> sizes = {elements < 1000000 ? 60.0f : 20.0f, float(elements)};
      std::vector<weir_tensor> fetches(1);
      ASSERT_EQ(leader.run({floats(sizes, {2})}, fetches), WEIR_OK) << leader.status.message;
      EXPECT_EQ(*static_cast<float *>(fetches[0].data), 0.0f);
      weir_session_release(leader.session, &fetches[0]);
    }
    // Of 20 tensors of 12 MB the window's four, the one in use, and what
    // chunks are larger.
    EXPECT_LE(peakOf(leader.session, 0), int64_t(7) * 12000000);
  }
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Blocks that a device has once what was under way from other tasks has come, and
/// been dropped.
int64_t liveAtLast(weir_session *session, int32_t device) {
  weir_memory_stats stats = {};
  stats.size = sizeof(stats);
  for (int i = 0; i < 200; ++i) {
    weir_session_memory(session, device, &stats);
    if (stats.live <= 1)
      break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return stats.live;
}

/// Leads steps until one fails, and returns its status.
weir_status leadUntilFailure(Member &leader, double limit) {
  std::vector<float> x(20000, 1.0f);
  Clock::time_point start = Clock::now();
  while (secondsSince(start) < limit) {
    std::vector<weir_tensor> fetches(2);
    if (leader.run({floats(x, {20000})}, fetches) != WEIR_OK)
      return leader.status;
    for (weir_tensor &tensor : fetches)
      weir_session_release(leader.session, &tensor);
  }
  return WEIR_STATUS_INIT;
}

/// More with WEIR_TEST_ROUNDS in the environment.
int rounds(int usual) {
  const char *given = getenv("WEIR_TEST_ROUNDS");
  return given ? atoi(given) : usual;
}

/// A worker falls silent at a random moment of a running loop, or `early`:
/// before the tasks know each other, while they shakeHands, at the first steps. The
/// leader gets a status in bounded time that names the task, and can go on.
void silence(int signal, int rounds, bool early = false) {
  Ring ring(3);
  std::mt19937 random(5);
  for (int round = 0; round < rounds; ++round) {
    Tasks tasks(3);
    if (early)
      tasks.connectMs = 3000;
    // Forked before this process has threads of its own: it has none between
    // rounds.
    Worker first(tasks, 1, ring.program.get());
    Worker second(tasks, 2, ring.program.get());
    Worker &victim = random() % 2 ? first : second;
    int index = &victim == &first ? 1 : 2;
    // The leader's first step may take a moment.
    auto delay = early ? std::chrono::microseconds(random() % 150000)
                       : std::chrono::microseconds(200000 + random() % 300000);
    pid_t killer = forkAlone();
    if (killer == 0) {
      std::this_thread::sleep_for(delay);
      kill(victim.pid, signal);
      _exit(0);
    }
    Member leader(tasks, 0, ring.program.get());
    ASSERT_EQ(leader.code, WEIR_OK) << leader.status.message;
    weir_status status = leadUntilFailure(leader, 20);
    ASSERT_EQ(status.code, WEIR_UNAVAILABLE) << status.message;
    std::string text = status.message;
    EXPECT_NE(text.find("/job:worker/replica:0/task:" + std::to_string(index)), std::string::npos)
        << text;
    waitpid(killer, nullptr, 0);
    EXPECT_LE(liveAtLast(leader.session, 0), 1) << "only the arena is left";
    if (signal == SIGSTOP) {
      // It goes on, finds itself given up, and is taken back.
      kill(victim.pid, SIGCONT);
      // The other worker may give it up, and take it back, in a step's middle.
      Clock::time_point start = Clock::now();
      int32_t code = WEIR_UNAVAILABLE;
      while (code == WEIR_UNAVAILABLE && secondsSince(start) < 30) {
        std::vector<float> x(10, 1.0f);
        std::vector<weir_tensor> fetches(2);
        code = leader.run({floats(x, {10})}, fetches);
        for (weir_tensor &tensor : fetches)
          weir_session_release(leader.session, &tensor);
      }
      EXPECT_EQ(code, WEIR_OK) << leader.status.message;
    }
  }
}

TEST(Cluster, KilledWorkersEndRunsWithTheirNames) { silence(SIGKILL, rounds(5)); }
TEST(Cluster, StoppedWorkersEndRunsAndComeBack) { silence(SIGSTOP, rounds(2)); }
TEST(Cluster, WorkersStoppedAtTheHandshakeEndRunsAndComeBack) {
  silence(SIGSTOP, rounds(2), /*early=*/true);
}

/// A worker ends between two steps, and another process has its place before the next one. Of its
/// variables nothing is left: that must not go unnoticed, and is told once to who runs a step. Who
/// saves is told, too, and does not keep it from the step.
static void replaceBetweenSteps(bool hasVariables) {
  Ring ring(2);
  if (hasVariables)
    ring.program.slot("w", WEIR_F32, {4}, -1, 0, (1 + 1) << WEIR_SLOT_DEVICE_SHIFT); // device 1
  Tasks tasks(2);
  Worker first(tasks, 1, ring.program.get()), second(tasks, 1, ring.program.get(), Worker::later);
  Member leader(tasks, 0, ring.program.get());
  checkRing(leader, 2, 10);
  auto awaitPresence = [&](int32_t wanted) {
    int32_t visits[2] = {};
    for (Clock::time_point start = Clock::now(); secondsSince(start) < 20;) {
      weir_cluster_presence(leader.cluster, visits, 2);
      if (visits[1] == wanted)
        return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  };
  first.end();
  ASSERT_TRUE(awaitPresence(-1));
  second.begin();
  ASSERT_TRUE(awaitPresence(2));
  if (hasVariables) {
    std::vector<float> x(10, 1.0f);
    std::vector<weir_tensor> fetches(2);
    weir_checkpoint_options options = WEIR_CHECKPOINT_OPTIONS_INIT;
    options.by_task = 1;
    std::string prefix = testing::TempDir() + "weir-cluster-" + std::to_string(getpid()) + "/m";
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(weir_session_save(leader.session, prefix.c_str(), &options, &leader.status),
                WEIR_UNAVAILABLE);
    EXPECT_EQ(leader.run({floats(x, {10})}, fetches), WEIR_UNAVAILABLE);
    EXPECT_NE(std::string(leader.status.message)
                  .find("task /job:worker/replica:0/task:1: it has begun anew"),
              std::string::npos)
        << leader.status.message;
  }
  checkRing(leader, 2, 10);
}
TEST(Cluster, LostVariablesAreToldOf) { replaceBetweenSteps(true); }
TEST(Cluster, WhoHasNoVariablesIsReplacedSilently) { replaceBetweenSteps(false); }

TEST(Cluster, ALostLeaderEndsItsPartsAndMayComeBack) {
  Ring ring(2);
  Tasks tasks(2);
  auto leadForever = [&](int steps) {
    pid_t pid = forkAlone();
    if (pid == 0) {
      {
        Member leader(tasks, 0, ring.program.get());
        std::vector<float> x(1000, 1.0f);
        for (int i = 0; (steps < 0 || i < steps) && !leader.code; ++i) {
          std::vector<weir_tensor> fetches(2);
          leader.code = leader.run({floats(x, {1000})}, fetches);
          for (weir_tensor &tensor : fetches)
            weir_session_release(leader.session, &tensor);
        }
      }
      _exit(0);
    }
    return pid;
  };
  pid_t first = leadForever(-1);
  pid_t killer = forkAlone();
  if (killer == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    kill(first, SIGKILL);
    _exit(0);
  }
  pid_t second = forkAlone();
  if (second == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    pid_t pid = leadForever(20);
    waitpid(pid, nullptr, 0);
    _exit(0);
  }
  {
    Member worker(tasks, 1, ring.program.get());
    ASSERT_EQ(worker.code, WEIR_OK) << worker.status.message;
    EXPECT_EQ(weir_cluster_serve(worker.cluster, &worker.status), WEIR_UNAVAILABLE);
    EXPECT_NE(std::string(worker.status.message).find("/job:worker/replica:0/task:0"),
              std::string::npos)
        << worker.status.message;
    waitpid(first, nullptr, 0);
    waitpid(killer, nullptr, 0);
    // The next leader is served to its end, and nothing of the first is left.
    EXPECT_EQ(weir_cluster_serve(worker.cluster, &worker.status), WEIR_OK) << worker.status.message;
    waitpid(second, nullptr, 0);
    EXPECT_LE(liveAtLast(worker.session, 1), 1) << "only the arena is left";
  }
}

TEST(Cluster, ConcurrentStepsDoNotMix) {
  Ring ring(3);
  Tasks tasks(3);
  Worker first(tasks, 1, ring.program.get());
  Worker second(tasks, 2, ring.program.get());
  Member leader(tasks, 0, ring.program.get());
  ASSERT_EQ(leader.code, WEIR_OK) << leader.status.message;
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i) {
        std::vector<float> x(size_t(1 + 997 * t), float(100 * t + i));
        std::vector<weir_tensor> fetches(2);
        weir_status status = WEIR_STATUS_INIT;
        weir_tensor feed = floats(x, {int64_t(x.size())});
        int32_t code =
            weir_session_run(leader.session, 0, &feed, 1, fetches.data(), 2, nullptr, &status);
        bool right = code == WEIR_OK && fetches[0].dims[0] == int64_t(x.size()) &&
                     static_cast<float *>(fetches[0].data)[x.size() - 1] == x[0] + 3;
        wrong += !right;
        for (weir_tensor &tensor : fetches)
          weir_session_release(leader.session, &tensor);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

/// A part that waits for what never comes ends with its leader's deadline, and
/// the next step is as good as any.
TEST(Cluster, DeadlinesEndAllParts) {
  Ring ring(2);
  ring.program.entry("stuck", {}, {},
                     {[](weir_context *ctx) -> int32_t {
                        return Relay::start(ctx, 1, [](weir_context *, const weir_tensor &) {
                          return int32_t(WEIR_OK);
                        });
                      },
                      [](weir_context *ctx) -> int32_t {
                        return Relay::start(ctx, 0, [](weir_context *, const weir_tensor &) {
                          return int32_t(WEIR_OK);
                        });
                      }});
  Tasks tasks(2);
  Worker worker(tasks, 1, ring.program.get());
  Member leader(tasks, 0, ring.program.get());
  ASSERT_EQ(leader.code, WEIR_OK) << leader.status.message;
  weir_run_options options = WEIR_RUN_OPTIONS_INIT;
  for (int i = 0; i < 5; ++i) {
    options.timeout_ns = i ? 50000000 : 5000000000; // the first one connects
    std::vector<weir_tensor> none;
    EXPECT_EQ(leader.run({}, none, 1, &options), WEIR_DEADLINE_EXCEEDED) << leader.status.message;
    checkRing(leader, 2, 1000);
  }
}

/// What a worker finds wrong is the leader's status, word for word.
TEST(Cluster, ErrorsOfAPartAreTheRuns) {
  Ring ring(2);
  static int32_t site;
  site =
      ring.program.site("lookup", "Gather", "index {0} is outside [0, {1})", WEIR_INVALID_ARGUMENT);
  ring.program.entry("bad", {}, {},
                     {[](weir_context *ctx) -> int32_t {
                        return Relay::start(ctx, 1, [](weir_context *, const weir_tensor &) {
                          return int32_t(WEIR_OK);
                        });
                      },
                      [](weir_context *ctx) -> int32_t { return weir_rt_error(ctx, site, 7, 4); }});
  Tasks tasks(2);
  Worker worker(tasks, 1, ring.program.get());
  Member leader(tasks, 0, ring.program.get());
  ASSERT_EQ(leader.code, WEIR_OK) << leader.status.message;
  for (int i = 0; i < 3; ++i) {
    std::vector<weir_tensor> none;
    EXPECT_EQ(leader.run({}, none, 1), WEIR_INVALID_ARGUMENT);
    EXPECT_STREQ(leader.status.message, "node \"lookup\" (Gather): index 7 is outside [0, 4)");
    checkRing(leader, 2, 10);
  }
}

/// Elements that point to their contents: strings, and a sequence of them.
TEST(Cluster, StringsAndSequencesTravel) {
  TestProgram program;
  program.rename(0, deviceNames[0]);
  program.device(deviceNames[1], 0);
  program.edge("there:0;0;1", 0, 1);
  program.edge("back:0;1;0", 1, 0);
  auto there = [](weir_context *ctx) -> int32_t {
    if (int32_t code = weir_rt_send(ctx, 0, 0, &ctx->feeds[0]))
      return code;
    return Relay::start(ctx, 1,
                        [](weir_context *ctx, const weir_tensor &v) { return fetch(ctx, 0, v); });
  };
  auto back = [](weir_context *ctx) -> int32_t {
    return Relay::start(ctx, 0, [](weir_context *ctx, const weir_tensor &v) {
      // Its own feeds have come, too.
      if (int32_t code = fetch(ctx, 1, ctx->feeds[0]))
        return code;
      return weir_rt_send(ctx, 1, 0, &v);
    });
  };
  program.entry("strings", {{"x", WEIR_STRING, {-1}}},
                {{"y", WEIR_STRING, {-1}}, {"z", WEIR_STRING, {-1}}}, {there, back});
  program.entry("sequence", {{"x", WEIR_TENSOR, {-1}}},
                {{"y", WEIR_TENSOR, {-1}}, {"z", WEIR_TENSOR, {-1}}}, {there, back});
  Tasks tasks(2);
  Worker worker(tasks, 1, program.get());
  Member leader(tasks, 0, program.get());
  ASSERT_EQ(leader.code, WEIR_OK) << leader.status.message;

  std::string contents[] = {"", "one", std::string(100000, 'x'), "last"};
  std::vector<weir_string> strings;
  for (const std::string &s : contents)
    strings.push_back({s.data(), int64_t(s.size())});
  weir_tensor feed = tensorOf(strings, WEIR_STRING, {4});
  auto check = [&](const weir_tensor &got) {
    ASSERT_EQ(got.dims[0], 4);
    for (int i = 0; i < 4; ++i) {
      const weir_string &s = static_cast<const weir_string *>(got.data)[i];
      EXPECT_EQ(std::string(s.data, size_t(s.size)), contents[i]);
    }
  };
  for (int round = 0; round < 3; ++round) {
    std::vector<weir_tensor> fetches(2);
    ASSERT_EQ(leader.run({feed}, fetches), WEIR_OK) << leader.status.message;
    for (weir_tensor &tensor : fetches) {
      check(tensor);
      weir_session_release(leader.session, &tensor);
    }
    std::vector<float> numbers(1000, 2.5f);
    weir_tensor second = floats(numbers, {10, 100});
    std::vector<weir_tensor_ref> elements = {&feed, &second};
    fetches = std::vector<weir_tensor>(2);
    ASSERT_EQ(leader.run({tensorOf(elements, WEIR_TENSOR, {2})}, fetches, 1), WEIR_OK)
        << leader.status.message;
    for (weir_tensor &tensor : fetches) {
      auto *got = static_cast<weir_tensor_ref *>(tensor.data);
      check(*got[0]);
      ASSERT_EQ(got[1]->bytes, 4000);
      EXPECT_EQ(static_cast<float *>(got[1]->data)[999], 2.5f);
      weir_session_release(leader.session, &tensor);
    }
  }
}

} // namespace
