//===- cluster_collectives_test.cpp - tasks that reduce together ----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Real processes; set UCX_TLS to choose how messages go.

#include "collective_steps.h"

#include <atomic>
#include <deque>
#include <sys/mman.h>

using namespace weir::rt::test;

namespace {

TEST(ClusterCollectives, AllKindsOverTwoFourAndEightTasks) {
  for (int ranks : {2, 4, 8}) {
    CollectiveProgram program(ranks, true);
    program.get();
    Tasks tasks(ranks);
    std::vector<std::unique_ptr<Worker>> workers;
    for (int i = 1; i < ranks; ++i)
      workers.push_back(std::make_unique<Worker>(tasks, i, CollectiveProgram::current));
    {
      Member leader(tasks, 0, CollectiveProgram::current);
      ASSERT_EQ(leader.code, WEIR_OK) << leader.status.message;
      for (int kind = 0; kind < 4; ++kind)
        for (int64_t each : {1, 3, 40, 2000, 20000, 130000, 1500000}) {
          int64_t count = kind == WEIR_REDUCE_SCATTER ? each / 8 * ranks
                          : kind == WEIR_ALL_GATHER   ? each / 8
                                                      : each;
          program.check(kind, count, [&](weir_tensor fed, std::vector<weir_tensor> &fetches) {
            ASSERT_EQ(leader.run({fed}, fetches, kind), WEIR_OK) << leader.status.message;
          });
        }
    }
    for (auto &worker : workers)
      EXPECT_EQ(worker->wait(), 0);
  }
}

/// Set by the second task when it has its sum; shared by all tasks.
std::atomic<bool> *secondIsDone = nullptr;

/// The first task computes, on the only thread that it has, until the second one has its sum.
int32_t computeMeanwhile(weir_context *ctx) {
  std::vector<float> values(300000, 1.0f);
  weir_tensor tensor = floats(values, {int64_t(values.size())});
  const weir_collective_rank &rank = CollectiveProgram::rankOf(ctx);
  if (int32_t code = weir_rt_send(ctx, rank.input, 0, &tensor))
    return code;
  auto begin = std::chrono::steady_clock::now();
  while (ctx->device == 0 && !*secondIsDone)
    if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(20))
      return weir_rt_error_text(ctx, -1, WEIR_DEADLINE_EXCEEDED, "the sum waits for the step", 0,
                                0);
  return Relay::start(ctx, rank.output, [](weir_context *ctx, const weir_tensor &value) {
    if (ctx->device == 1)
      *secondIsDone = true;
    return fetch(ctx, int32_t(ctx->device), value);
  });
}

TEST(ClusterCollectives, GoOnWhileTheStepComputes) {
  void *shared = mmap(nullptr, sizeof(std::atomic<bool>), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  secondIsDone = new (shared) std::atomic<bool>(false);
  CollectiveProgram program(2, true);
  program.program.entry("meanwhile", {{"count", WEIR_I64}},
                        {{"result0", WEIR_F32, {-1}}, {"result1", WEIR_F32, {-1}}},
                        {computeMeanwhile, computeMeanwhile});
  program.program.collective(4, WEIR_ALL_REDUCE, WEIR_REDUCE_SUM, 2, &weir_collectives);
  program.get();
  Tasks tasks(2);
  tasks.threads = 1;
  Worker worker(tasks, 1, CollectiveProgram::current);
  Member leader(tasks, 0, CollectiveProgram::current);
  ASSERT_EQ(leader.code, WEIR_OK) << leader.status.message;
  int64_t fed = int64_t(4) << 56;
  std::vector<weir_tensor> fetches(2);
  ASSERT_EQ(leader.run({scalar(&fed)}, fetches, 4), WEIR_OK) << leader.status.message;
  EXPECT_EQ(static_cast<const float *>(fetches[1].data)[299999], 2.0f);
  for (weir_tensor &tensor : fetches)
    weir_session_release(leader.session, &tensor);
  munmap(shared, sizeof(std::atomic<bool>));
}

/// A worker that is killed while it reduces ends the run of all, which name it; a new one
/// takes its place.
TEST(ClusterCollectives, ALostTaskEndsTheReductionAndMayComeBack) {
  CollectiveProgram program(3, true);
  program.get();
  Tasks tasks(3);
  tasks.connectMs = 3000; // A run that begins between the kill and the new task waits as long.
  constexpr int rounds = 3;
  Worker first(tasks, 1, CollectiveProgram::current);
  Worker second(tasks, 2, CollectiveProgram::current);
  std::deque<Worker> next;
  for (int round = 0; round < rounds; ++round)
    next.emplace_back(tasks, 2, CollectiveProgram::current, Worker::later);
  int fallen = 0;
  Member leader(tasks, 0, CollectiveProgram::current);
  ASSERT_EQ(leader.code, WEIR_OK) << leader.status.message;
  for (int round = 0; round < rounds; ++round) {
    int64_t fed = int64_t(WEIR_ALL_REDUCE) << 56 | 300000;
    Worker &killed = round ? next[size_t(round) - 1] : second;
    pid_t pid = killed.pid;
    std::thread killer([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20 + 7 * round));
      kill(pid, SIGKILL);
    });
    int32_t code = WEIR_OK;
    for (int i = 0; i < 2000 && code == WEIR_OK; ++i) {
      std::vector<weir_tensor> fetches(3);
      code = leader.run({scalar(&fed)}, fetches, WEIR_ALL_REDUCE);
      for (weir_tensor &tensor : fetches)
        weir_session_release(leader.session, &tensor);
    }
    killer.join();
    EXPECT_EQ(code, WEIR_UNAVAILABLE) << leader.status.message;
    fallen += std::string(leader.status.message).find("task:2") != std::string::npos;
    killed.end();
    next[size_t(round)].begin();
    program.check(WEIR_ALL_REDUCE, 300000, [&](weir_tensor fed, std::vector<weir_tensor> &fetches) {
      // Runs end like that until the new task has joined.
      auto start = std::chrono::steady_clock::now();
      int32_t code = WEIR_UNAVAILABLE;
      while (code == WEIR_UNAVAILABLE &&
             std::chrono::steady_clock::now() - start < std::chrono::seconds(30))
        code = leader.run({fed}, fetches, WEIR_ALL_REDUCE);
      ASSERT_EQ(code, WEIR_OK) << leader.status.message;
    });
  }
  EXPECT_EQ(fallen, rounds);
}

} // namespace
