//===- executor_test.cpp - threads, parts and tasks -----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pool/executor.h"

#include "test_program.h"

#include <condition_variable>
#include <cstring>
#include <deque>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

using namespace weir::rt;
using namespace weir::rt::test;

namespace {

/// Ends an executor with the scope.
struct Owned {
  explicit Owned(Executor *executor) : executor(executor) {}
  ~Owned() { executor->destroy(); }
  Executor *operator->() { return executor; }
  Executor *executor;
};

struct Counts {
  std::vector<std::atomic<int>> parts;
  explicit Counts(size_t count) : parts(count) {}
  static void run(void *self, int32_t part, int32_t) {
    ++static_cast<Counts *>(self)->parts[size_t(part)];
  }
};

TEST(Executor, RunsEachPartOnce) {
  for (int32_t threads : {1, 2, 3, 8}) {
    Owned executor(Executor::create(threads));
    ASSERT_EQ(executor->threads(), threads);
    for (int round = 0; round < 2000; ++round) {
      auto parts = int32_t(1 + round % threads);
      Counts counts{size_t(parts)};
      executor->parallel(Counts::run, &counts, parts);
      for (auto &count : counts.parts)
        ASSERT_EQ(count, 1);
    }
  }
}

TEST(Executor, WakesAfterParking) {
  Owned executor(Executor::create(3));
  for (int round = 0; round < 20; ++round) {
    Counts counts{3};
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    executor->parallel(Counts::run, &counts, 3);
    for (auto &count : counts.parts)
      ASSERT_EQ(count, 1);
  }
}

TEST(Executor, ServesMorePublishersThanSlots) {
  Owned executor(Executor::create(3));
  std::vector<std::thread> publishers;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 20; ++t)
    publishers.emplace_back([&] {
      for (int round = 0; round < 300; ++round) {
        Counts counts{3};
        executor->parallel(Counts::run, &counts, 3);
        for (auto &count : counts.parts)
          wrong += count != 1;
      }
    });
  for (std::thread &publisher : publishers)
    publisher.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Executor, RegionsMayNest) {
  Owned executor(Executor::create(3));
  struct Outer {
    Executor *executor;
    std::atomic<int> inner{0};
  } outer{executor.executor};
  executor->parallel(
      [](void *argument, int32_t, int32_t) {
        auto *outer = static_cast<Outer *>(argument);
        outer->executor->parallel(
            [](void *argument, int32_t, int32_t) { ++static_cast<Outer *>(argument)->inner; },
            outer, 3);
      },
      &outer, 3);
  EXPECT_EQ(outer.inner, 9);
}

struct CountingOwner : TaskOwner {
  std::atomic<int> left;
};

TEST(Executor, TasksRunOnceWhereverTheyAre) {
  for (int32_t threads : {1, 3}) {
    Owned executor(Executor::create(threads));
    for (int round = 0; round < 200; ++round) {
      CountingOwner owner;
      constexpr int count = 20;
      owner.left = count;
      std::vector<Task> tasks(count);
      for (Task &task : tasks) {
        task.owner = &owner;
        task.run = [](Task *task) {
          auto *owner = static_cast<CountingOwner *>(task->owner);
          --owner->left;
        };
        executor->post(&task);
      }
      bool inTime = false;
      // The last task may run on another thread without telling: so it asks
      // again after a while.
      while (!inTime)
        inTime = executor->helpUntil(
            owner, [](TaskOwner &owner) { return static_cast<CountingOwner &>(owner).left == 0; },
            now() + 1000000);
      EXPECT_EQ(owner.left, 0);
    }
  }
}

/// Of what a waiting thread posts in its idle work it runs the first itself,
/// which no other thread can take, and the rest is in the queue like any other.
TEST(Executor, IdleWorkHandsItsOwnerATask) {
  struct Idler : CountingOwner {
    Executor *executor;
    std::vector<Task> tasks{3};
    pthread_t waiting = pthread_self();
    bool posted = false, firstRanHere = false;
  };
  for (int32_t threads : {1, 3}) {
    Owned executor(Executor::create(threads));
    for (int round = 0; round < 200; ++round) {
      Idler idler;
      idler.executor = executor.executor;
      idler.left = int(idler.tasks.size());
      for (Task &task : idler.tasks) {
        task.owner = &idler;
        task.run = [](Task *task) {
          auto &owner = *static_cast<Idler *>(task->owner);
          if (task == &owner.tasks[0])
            owner.firstRanHere = pthread_equal(pthread_self(), owner.waiting);
          --owner.left;
        };
      }
      IdleWork idle{[](void *self, int32_t (*changed)(void *), void *argument) {
                      auto &owner = *static_cast<Idler *>(self);
                      if (owner.posted)
                        return;
                      owner.posted = true;
                      EXPECT_FALSE(changed(argument));
                      for (Task &task : owner.tasks)
                        owner.executor->post(&task);
                      EXPECT_TRUE(changed(argument));
                    },
                    &idler};
      // Others may run the rest without telling.
      while (!executor->helpUntil(
          idler, [](TaskOwner &owner) { return static_cast<Idler &>(owner).left == 0; },
          now() + 1000000, &idle))
        ;
      EXPECT_TRUE(idler.firstRanHere);
    }
  }
}

TEST(Executor, HelpEndsAtTheDeadline) {
  Owned executor(Executor::create(2));
  TaskOwner owner;
  int64_t deadline = now() + 5000000;
  EXPECT_FALSE(executor->helpUntil(owner, [](TaskOwner &) { return false; }, deadline));
  EXPECT_GE(now(), deadline);
}

//===----------------------------------------------------------------------===//
// The caller's threads
//===----------------------------------------------------------------------===//

/// A pool as a program may have one: a queue and some threads.
class CallersPool {
public:
  explicit CallersPool(int32_t threads, bool willing = true) : willing(willing) {
    pool = {sizeof(pool), threads, this, schedule};
    for (int32_t i = 0; i < threads; ++i)
      workers.emplace_back([this] { work(); });
  }
  ~CallersPool() {
    {
      std::lock_guard lock(mutex);
      stop = true;
    }
    changed.notify_all();
    for (std::thread &worker : workers)
      worker.join();
  }

  weir_thread_pool pool;
  std::atomic<int> scheduled{0};

private:
  static int32_t schedule(void *self, void (*work)(void *), void *argument) {
    auto *pool = static_cast<CallersPool *>(self);
    ++pool->scheduled;
    if (!pool->willing)
      return 0;
    {
      std::lock_guard lock(pool->mutex);
      pool->queue.push_back({work, argument});
    }
    pool->changed.notify_one();
    return 1;
  }

  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return stop || !queue.empty(); });
      if (queue.empty())
        return;
      auto [function, argument] = queue.front();
      queue.pop_front();
      lock.unlock();
      function(argument);
      lock.lock();
    }
  }

  const bool willing;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::pair<void (*)(void *), void *>> queue;
  bool stop = false;
  std::vector<std::thread> workers;
};

TEST(Executor, WorksOnTheCallersThreads) {
  for (bool willing : {true, false}) {
    CallersPool pool(3, willing);
    {
      Owned executor(Executor::create(&pool.pool));
      EXPECT_EQ(executor->threads(), 3);
      for (int round = 0; round < 500; ++round) {
        Counts counts{3};
        executor->parallel(Counts::run, &counts, 3);
        for (auto &count : counts.parts)
          ASSERT_EQ(count, 1);
      }
    }
    EXPECT_GT(pool.scheduled, 0);
  }
}

//===----------------------------------------------------------------------===//
// Pools that sessions share
//===----------------------------------------------------------------------===//

int processThreads() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line))
    if (line.rfind("Threads:", 0) == 0)
      return std::stoi(line.substr(8));
  return -1;
}

TestProgram &emptyProgram() {
  static TestProgram program;
  static bool once = [] {
    program.entry("main", {}, {}, {[](weir_context *) { return 0; }});
    return true;
  }();
  (void)once;
  return program;
}

TEST(Pools, EndWithTheirLastSession) {
  const weir_program_desc *program = emptyProgram().get();
  int before = processThreads();
  {
    weir_session_options options = TestSession::defaults(3);
    options.pool_kind = WEIR_POOL_PROCESS;
    TestSession first(program, options);
    int one = processThreads();
    EXPECT_EQ(one, before + 2);
    options.threads = 5;
    TestSession second(program, options);
    EXPECT_EQ(processThreads(), one) << "the first has set the size";
    EXPECT_EQ(weir_session_threads(second), 3);
    options.pool_kind = WEIR_POOL_SESSION;
    TestSession third(program, options);
    EXPECT_EQ(processThreads(), one + 4);
  }
  EXPECT_EQ(processThreads(), before);
}

TEST(Pools, OfOneNameAgreeOnTheirSize) {
  const weir_program_desc *program = emptyProgram().get();
  weir_session_options options = TestSession::defaults(2);
  options.pool_kind = WEIR_POOL_NAMED;
  {
    TestSession nameless(program, options);
    EXPECT_EQ(nameless.code, WEIR_INVALID_ARGUMENT);
  }
  options.pool_name = "shared";
  TestSession first(program, options);
  EXPECT_EQ(first.code, WEIR_OK);
  TestSession same(program, options);
  EXPECT_EQ(same.code, WEIR_OK);
  options.threads = 3;
  TestSession larger(program, options);
  EXPECT_EQ(larger.code, WEIR_FAILED_PRECONDITION);
  EXPECT_STREQ(larger.status.message, "thread pool \"shared\" has 2 threads, and this session asks "
                                      "for 3; sessions that name one pool agree on its size");
  options.pool_name = "other";
  TestSession other(program, options);
  EXPECT_EQ(other.code, WEIR_OK);
  options.pool_kind = WEIR_POOL_CALLER;
  TestSession poolless(program, options);
  EXPECT_EQ(poolless.code, WEIR_INVALID_ARGUMENT);
  options.pool_kind = 9;
  TestSession unknown(program, options);
  EXPECT_EQ(unknown.code, WEIR_INVALID_ARGUMENT);
}

TEST(Pools, SessionsRunOnTheCallers) {
  CallersPool pool(2);
  weir_session_options options = TestSession::defaults();
  options.pool_kind = WEIR_POOL_CALLER;
  options.pool = &pool.pool;
  TestProgram program;
  program.kernel("k", "n");
  static std::atomic<int64_t> total;
  total = 0;
  program.entry(
      "main", {}, {}, {[](weir_context *ctx) {
        return weir_rt_parallel(
            ctx,
            [](weir_context *, void *const *, const int64_t *, int64_t begin, int64_t end) {
              total += end - begin;
              return 0;
            },
            nullptr, nullptr, 101, 10, 0);
      }});
  TestSession session(program.get(), options);
  for (int round = 0; round < 100; ++round)
    ASSERT_EQ(session.run({}, nullptr), WEIR_OK);
  EXPECT_EQ(total, 10100);
}

//===----------------------------------------------------------------------===//
// How a kernel's loop is cut
//===----------------------------------------------------------------------===//

struct Borders {
  std::mutex mutex;
  std::set<std::pair<int64_t, int64_t>> parts;
};
Borders *borders;
int64_t loopSize, loopGrain;

TEST(Parallel, PartsTileTheLoopAndAreAlike) {
  TestProgram program;
  program.entry(
      "main", {}, {}, {[](weir_context *ctx) {
        return weir_rt_parallel(
            ctx,
            [](weir_context *, void *const *, const int64_t *, int64_t begin, int64_t end) {
              std::lock_guard lock(borders->mutex);
              borders->parts.insert({begin, end});
              return 0;
            },
            nullptr, nullptr, loopSize, loopGrain, -1);
      }});
  for (int32_t threads : {1, 2, 5}) {
    TestSession session(program.get(), TestSession::defaults(threads));
    for (int64_t n : {0, 1, 7, 16, 100, 1000003})
      for (int64_t grain : {0, 1, 8, 1000}) {
        Borders found;
        borders = &found;
        loopSize = n;
        loopGrain = grain;
        ASSERT_EQ(session.run({}, nullptr), WEIR_OK);
        int64_t at = 0, shortest = n, longest = 0;
        for (auto [begin, end] : found.parts) {
          EXPECT_EQ(begin, at);
          EXPECT_LT(begin, end);
          shortest = std::min(shortest, end - begin);
          longest = std::max(longest, end - begin);
          at = end;
        }
        EXPECT_EQ(at, n);
        EXPECT_LE(longest, shortest + 1 + shortest / 50);
        int64_t each = std::max<int64_t>(grain, 1);
        EXPECT_EQ(int64_t(found.parts.size()), std::min<int64_t>(threads, (n + each - 1) / each));
      }
  }
}

TEST(Processors, AreCounted) {
  EXPECT_GE(usableProcessors(), 1);
  EXPECT_LE(usableProcessors(), maxThreads);
}

} // namespace
