//===- Steps.h - many runs of one entry on batches --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIR_RUN_STEPS_H
#define WEIR_TOOLS_WEIR_RUN_STEPS_H

#include "tools/common/ClusterTasks.h"
#include "tools/common/FlagParser.h"
#include "tools/weir-run/Checkpoints.h"
#include "tools/weir-run/Metrics.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace weir::tools {

struct StepFlags {
  int64_t steps = 0;   ///< 0: no steps are asked for
  int64_t batch = 0;   ///< rows a step takes of each input; 0: inputs as they are
  int64_t shuffle = 0; ///< seed of the rows' order; 0: as they lie
  std::string summary; ///< folder of event files; empty: none
  /// This task leads steps of its own, beside those of others of its job.
  bool areOwn = false;
  int64_t staleness = -1; ///< how far others may be behind; -1: any number of steps
};

/// Where the steps of a task stand among those of others.
class Pace {
public:
  /// `task`: null where there are no others, or this one does not lead steps of its own.
  /// `recovers`: tasks that are lost come again.
  Pace(ClusterTask *task, int64_t staleness, bool recovers)
      : task(task), staleness(staleness), recovers(recovers) {}
  /// Waits until all others are about to begin, which then wait for this one.
  RunStatus awaitOthers();
  /// Waits until all others have begun, too.
  RunStatus begin() { return meet(0); }
  /// After begin(): steps that an earlier process of this task did, as others have heard; -1: they
  /// have heard of none, or are all new.
  int64_t earlier() const;
  /// Steps are done; waits where others are too far behind.
  RunStatus done(int64_t steps) { return task ? task->keepPace(steps, staleness) : RunStatus(); }
  /// Waits until all others have done theirs: what they use may be this task's.
  RunStatus end() { return meet(allSteps); }
  /// The same, until the last checkpoint, which takes values of several tasks, is written.
  RunStatus leave() { return recovers ? meet(allSteps + 1) : RunStatus(); }

private:
  static constexpr int64_t allSteps = int64_t(1) << 62;
  RunStatus meet(int64_t steps);
  bool isLost(int64_t steps) const;
  ClusterTask *task;
  int64_t staleness;
  bool recovers;
};

void addStepFlags(FlagParser &parser, StepFlags &flags);

/// Which rows a step takes: those of whole batches, one after the other or in an order
/// that is drawn for each time around. A function of the step alone, so that a training
/// that goes on takes what one without a stop would have taken.
class Batches {
public:
  Batches(int64_t rows, int64_t batch, int64_t seed) : rows(rows), batch(batch), seed(seed) {}
  /// Valid until the next call.
  const std::vector<int64_t> &of(int64_t step);

private:
  int64_t rows, batch, seed;
  int64_t shuffled = -1; ///< the time around that `order` is for
  std::vector<int64_t> order, taken;
};

/// Feeds of each step, of inputs that have rows for many.
class Feeder {
public:
  /// `all` must stay. False after a report.
  bool prepare(const StepFlags &flags, const std::string &model, const LoadedEntry &entry,
               const std::vector<HostTensor> &all, DiagnosticSink &sink);
  /// Valid until the next call.
  std::vector<HostTensor> &of(int64_t step);

private:
  std::vector<const HostTensor *> sources; ///< null: fed as it is
  std::vector<HostTensor> feeds;
  std::optional<Batches> batches;
};

/// Runs `entry` so many times, shows how it goes on stderr (a line that is rewritten on
/// a terminal, ten plain ones elsewhere), and writes summaries. `whenDone` gets the last run's
/// fetches, before the last checkpoint; false: after a report. Not called where an earlier process
/// has done all. `metrics` (null: none) learn of each step. False after a report.
bool runSteps(const StepFlags &flags, const std::string &model, Session &session, int entry,
              const std::vector<HostTensor> &feeds, Checkpoints &checkpoints, Pace &pace,
              const std::function<bool(NamedTensors &)> &whenDone, Metrics *metrics,
              DiagnosticSink &sink);

} // namespace weir::tools

#endif // WEIR_TOOLS_WEIR_RUN_STEPS_H
