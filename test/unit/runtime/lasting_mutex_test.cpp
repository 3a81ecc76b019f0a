//===- lasting_mutex_test.cpp - a mutex that is given up by a store -------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cluster/lasting_mutex.h"

#include <chrono>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

using namespace weir::rt;
using cluster::LastingMutex;

namespace {

TEST(LastingMutex, KeepsOthersOutAndWakesWhoWaits) {
  LastingMutex mutex;
  Condition changed;
  int64_t count = 0;
  constexpr int threads = 4;
  constexpr int64_t times = 20000;
  std::vector<std::thread> working;
  for (int t = 0; t < threads; ++t)
    working.emplace_back([&] {
      for (int64_t i = 0; i < times; ++i) {
        Lock lock(mutex);
        int64_t seen = count;
        // Others are made to sleep for it.
        if (i % 1000 == 0)
          std::this_thread::sleep_for(std::chrono::microseconds(200));
        count = seen + 1;
        changed.notifyAll();
      }
    });
  {
    Lock lock(mutex);
    changed.wait(mutex, [&] { return count == threads * times; });
  }
  for (std::thread &thread : working)
    thread.join();
  EXPECT_EQ(count, threads * times);
  EXPECT_TRUE(mutex.tryLock());
  EXPECT_FALSE(mutex.tryLock());
  mutex.unlock();
}

/// Of two threads one sleeps for the mutex each time: a wake-up that is lost would
/// leave both asleep.
TEST(LastingMutex, LosesNoWakeUp) {
  LastingMutex mutex;
  int64_t turn = 0;
  constexpr int64_t times = 200000;
  auto work = [&](int64_t own) {
    for (int64_t i = 0; i < times; ++i) {
      Lock lock(mutex);
      turn += own;
    }
  };
  std::thread other([&] { work(1); });
  work(2);
  other.join();
  EXPECT_EQ(turn, 3 * times);
}

} // namespace
