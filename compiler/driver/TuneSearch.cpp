//===- TuneSearch.cpp - which tiles are tried on which kernel -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/TuneSearch.h"

#include "llvm/ADT/STLExtras.h"

#include <deque>
#include <set>

using namespace weir;
using namespace weir::driver;

namespace {

/// Where the climb of one kernel stands.
struct Climb {
  std::deque<TileChoice> waiting;
  std::set<std::string> tried;
  int trials = 0;
  bool hasBegun = false, isOver = false;
};

class Search {
public:
  Search(std::vector<TuneTask> &tasks, TuneTrials &trials)
      : tasks(tasks), trials(trials), climbs(tasks.size()) {}

  void run(int steps) {
    for (auto [task, climb] : llvm::zip(tasks, climbs)) {
      task.present = task.first;
      climb.tried.insert(task.first.str());
    }
    while (steps > 0) {
      std::optional<size_t> next = mostTime();
      if (!next)
        break;
      if (tryOne(*next))
        --steps;
    }
    for (size_t i = 0; i < tasks.size(); ++i)
      settle(i);
  }

private:
  /// Kernels share the trials by their time, as seats go to parties by D'Hondt.
  std::optional<size_t> mostTime() const {
    std::optional<size_t> best;
    double most = 0;
    for (auto [i, task, climb] : llvm::enumerate(tasks, climbs)) {
      double share = task.launches * task.seconds / (1 + climb.trials);
      if (climb.isOver || (best && share <= most))
        continue;
      best = i;
      most = share;
    }
    return best;
  }

  void collectMoves(size_t index) {
    Climb &climb = climbs[index];
    climb.hasBegun = true;
    climb.waiting.clear();
    for (const TileChoice &move : trials.moves(index, tasks[index].present))
      if (!climb.tried.count(move.str()))
        climb.waiting.push_back(move);
  }

  bool isWin(const TrialResult &result) const {
    return result.kind == TrialResult::Kind::Measured && result.to < clearWin * result.from;
  }

  /// Whether that was a trial.
  bool tryOne(size_t index) {
    TuneTask &task = tasks[index];
    Climb &climb = climbs[index];
    if (!climb.hasBegun)
      collectMoves(index);
    if (climb.waiting.empty()) {
      climb.isOver = true;
      return false;
    }
    TileChoice candidate = climb.waiting.front();
    climb.waiting.pop_front();
    climb.tried.insert(candidate.str());
    TrialResult result = trials.measure(index, task.present, candidate);
    if (result.kind == TrialResult::Kind::Same)
      return false;
    ++climb.trials;
    if (result.kind == TrialResult::Kind::Lost)
      return true;
    task.seconds = result.from;
    // Of many trials one is lucky: what wins must win again.
    if (!isWin(result) || !isWin(result = trials.measure(index, task.present, candidate)))
      return true;
    task.present = candidate;
    task.seconds = result.to;
    collectMoves(index);
    return true;
  }

  /// The climb must have led up as a whole.
  void settle(size_t index) {
    TuneTask &task = tasks[index];
    if (task.present == task.first)
      return;
    TrialResult whole = trials.measure(index, task.first, task.present);
    if (!isWin(whole)) {
      task.present = task.first;
      return;
    }
    task.before = whole.from;
    task.after = whole.to;
  }

  std::vector<TuneTask> &tasks;
  TuneTrials &trials;
  std::vector<Climb> climbs;
};

} // namespace

void driver::searchTiles(std::vector<TuneTask> &tasks, int steps, TuneTrials &trials) {
  Search(tasks, trials).run(steps);
}
