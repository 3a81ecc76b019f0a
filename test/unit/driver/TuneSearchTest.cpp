//===- TuneSearchTest.cpp -------------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The policy of --tune, with times made up.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/TuneSearch.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

using namespace weir;
using namespace weir::driver;

namespace {

/// Parts of a range stand for all that can be chosen: each may be doubled and halved.
class FakeTrials : public TuneTrials {
public:
  /// Of a launch, by task and part.
  std::function<double(size_t, int64_t)> secondsOf;
  std::map<size_t, int> measured;
  std::function<TrialResult::Kind(size_t, int64_t)> kindOf = [](size_t, int64_t) {
    return TrialResult::Kind::Measured;
  };

  std::vector<TileChoice> moves(size_t, const TileChoice &from) override {
    std::vector<TileChoice> all;
    for (int64_t part : {from.part * 2, from.part / 2})
      if (part >= 1 && part <= 1024)
        all.push_back(choice(part));
    return all;
  }

  TrialResult measure(size_t task, const TileChoice &from, const TileChoice &to) override {
    ++measured[task];
    TrialResult result;
    result.kind = kindOf(task, to.part);
    result.from = secondsOf(task, from.part);
    result.to = secondsOf(task, to.part);
    return result;
  }

  static TileChoice choice(int64_t part) {
    TileChoice made;
    made.part = part;
    return made;
  }
};

std::vector<TuneTask> tasksOf(std::vector<double> seconds, int64_t part = 16) {
  std::vector<TuneTask> tasks(seconds.size());
  for (size_t i = 0; i < tasks.size(); ++i) {
    tasks[i].seconds = seconds[i];
    tasks[i].first = FakeTrials::choice(part);
  }
  return tasks;
}

/// Fastest at 128.
double valley(size_t, int64_t part) {
  double distance = 0;
  for (; part < 128; part *= 2)
    distance += 1;
  for (; part > 128; part /= 2)
    distance += 1;
  return 1 + distance * 0.1;
}

TEST(TuneSearch, ClimbsToTheFastest) {
  FakeTrials trials;
  trials.secondsOf = valley;
  std::vector<TuneTask> tasks = tasksOf({1});
  searchTiles(tasks, 100, trials);
  EXPECT_EQ(tasks[0].present.part, 128);
  EXPECT_NEAR(tasks[0].before, 1.3, 1e-9);
  EXPECT_NEAR(tasks[0].after, 1.0, 1e-9);
}

TEST(TuneSearch, StopsWhenTrialsAreSpent) {
  FakeTrials trials;
  trials.secondsOf = valley;
  std::vector<TuneTask> tasks = tasksOf({1});
  searchTiles(tasks, 2, trials);
  EXPECT_EQ(tasks[0].present.part, 64);
  tasks = tasksOf({1});
  trials.measured.clear();
  searchTiles(tasks, 0, trials);
  EXPECT_EQ(tasks[0].present, tasks[0].first);
  EXPECT_TRUE(trials.measured.empty());
}

TEST(TuneSearch, StopsWhenThereIsNothingLeft) {
  FakeTrials trials;
  trials.secondsOf = [](size_t, int64_t) { return 1.0; };
  std::vector<TuneTask> tasks = tasksOf({1, 2, 0});
  searchTiles(tasks, 1 << 30, trials);
  for (size_t i = 0; i < tasks.size(); ++i)
    EXPECT_EQ(trials.measured[i], 2);
}

TEST(TuneSearch, SmallGainsAreNone) {
  FakeTrials trials;
  trials.secondsOf = [](size_t, int64_t part) { return part == 16 ? 1.0 : 0.985; };
  std::vector<TuneTask> tasks = tasksOf({1});
  searchTiles(tasks, 10, trials);
  EXPECT_EQ(tasks[0].present, tasks[0].first);
  EXPECT_EQ(tasks[0].after, 0);
}

TEST(TuneSearch, OneLuckyRunIsNoWin) {
  FakeTrials trials;
  int calls = 0;
  trials.secondsOf = [&](size_t, int64_t part) {
    if (part == 16)
      return 1.0;
    return ++calls == 1 ? 0.5 : 1.0;
  };
  std::vector<TuneTask> tasks = tasksOf({1});
  searchTiles(tasks, 10, trials);
  EXPECT_EQ(tasks[0].present, tasks[0].first);
}

TEST(TuneSearch, TheWholeClimbMustHoldAtTheEnd) {
  FakeTrials trials;
  int calls = 0;
  trials.secondsOf = [&](size_t, int64_t part) {
    if (part == 16)
      return 1.0;
    // Fast in the trial and when it is confirmed, and never again.
    return ++calls <= 2 ? 0.5 : 1.0;
  };
  std::vector<TuneTask> tasks = tasksOf({1});
  searchTiles(tasks, 1, trials);
  EXPECT_EQ(tasks[0].present, tasks[0].first);
}

TEST(TuneSearch, TrialsGoToKernelsByTheirTime) {
  FakeTrials trials;
  // No move ever wins, and there are enough of them.
  trials.secondsOf = [](size_t task, int64_t part) {
    return (task == 0 ? 6.0 : 2.0) * (part == 16 ? 1 : 2);
  };
  class Many : public FakeTrials {
  public:
    std::vector<TileChoice> moves(size_t, const TileChoice &) override {
      std::vector<TileChoice> all;
      for (int64_t part = 100; part < 200; ++part)
        all.push_back(choice(part));
      return all;
    }
  } many;
  many.secondsOf = trials.secondsOf;
  std::vector<TuneTask> tasks = tasksOf({6, 2});
  searchTiles(tasks, 40, many);
  EXPECT_EQ(many.measured[0], 30);
  EXPECT_EQ(many.measured[1], 10);
  // A launch more often counts as much as one that takes longer.
  many.measured.clear();
  tasks = tasksOf({6, 2});
  tasks[1].launches = 3;
  searchTiles(tasks, 40, many);
  EXPECT_EQ(many.measured[0], 20);
  EXPECT_EQ(many.measured[1], 20);
}

TEST(TuneSearch, EqualCodeCostsNoTrial) {
  FakeTrials trials;
  trials.secondsOf = valley;
  // The larger part comes to the same code; the smaller is tried instead.
  trials.kindOf = [](size_t, int64_t part) {
    return part > 16 ? TrialResult::Kind::Same : TrialResult::Kind::Measured;
  };
  std::vector<TuneTask> tasks = tasksOf({1});
  searchTiles(tasks, 1, trials);
  EXPECT_EQ(trials.measured[0], 2);
  EXPECT_EQ(tasks[0].present.part, 16);
}

TEST(TuneSearch, LostTrialsAreSpentAndChangeNothing) {
  FakeTrials trials;
  trials.secondsOf = valley;
  trials.kindOf = [](size_t, int64_t) { return TrialResult::Kind::Lost; };
  std::vector<TuneTask> tasks = tasksOf({1});
  searchTiles(tasks, 1, trials);
  EXPECT_EQ(trials.measured[0], 1);
  searchTiles(tasks, 100, trials);
  EXPECT_EQ(tasks[0].present, tasks[0].first);
}

} // namespace
