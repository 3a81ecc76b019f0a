//===- Checkpoints.h - what weir-run saves and restores ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIR_RUN_CHECKPOINTS_H
#define WEIR_TOOLS_WEIR_RUN_CHECKPOINTS_H

#include "compiler/frontend/Diagnostic.h"
#include "tools/common/FlagParser.h"
#include "tools/common/Session.h"
#include "tools/weir-run/Members.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>

namespace weir::tools {

struct CheckpointFlags {
  std::string restore; ///< a prefix, or a folder whose latest checkpoint is meant
  std::string save;    ///< a prefix
  int64_t every = 0;   ///< runs between checkpoints; 0: one, at the end
  int64_t keep = 5;
  int64_t recover = 0;  ///< how often a run of steps begins anew after a task was lost
  bool elastic = false; ///< goes on without tasks that do not come back
  bool byTask = false;  ///< each task writes its variables

  std::string folder() const; ///< of `save`
};

void addCheckpointFlags(FlagParser &parser, CheckpointFlags &flags);

/// Gives all replicas of a program the variables of the first one; nothing where it has
/// none.
RunStatus synchronizeReplicas(Session &session);

/// The prefix of the checkpoint that --recover goes on from; empty: there is none, or no --recover.
RunStatus checkpointToGoOnFrom(const CheckpointFlags &flags, const LoadedModel &model,
                               std::string &prefix);

/// Whose steps checkpoints are of.
enum class StepsOf {
  One,    ///< of this task, or of another that alone leads
  Several ///< of several tasks that each lead their own: none goes back
};

/// Restores and saves a session's variables, as the flags say. Checkpoints between runs
/// have the number of the run behind their prefix, counted on from a restored one's, and
/// are written while runs go on.
class Checkpoints {
public:
  /// `members`: null where the program runs in one process. `writes`: with --recover, whether this
  /// task is the one that saves.
  Checkpoints(const CheckpointFlags &flags, const LoadedModel &model, std::string input,
              Members *members = nullptr, StepsOf stepsOf = StepsOf::One, bool writes = true)
      : flags(flags), model(model), input(std::move(input)), members(members),
        areOwn(stepsOf == StepsOf::Several && flags.recover > 0),
        writes(writes || flags.recover == 0) {}
  ~Checkpoints() { wait(); }
  Checkpoints(const Checkpoints &) = delete;
  Checkpoints &operator=(const Checkpoints &) = delete;

  /// False after a report (W0710), as below. Where several tasks lead their own steps, and
  /// --recover goes on from a checkpoint, the session has begun with its part of it.
  bool restore(Session &session, DiagnosticSink &sink);
  /// With --recover, before the first step: saves what a run that loses a task early goes back to,
  /// unless there is a checkpoint.
  bool saveFirst(Session &session, DiagnosticSink &sink);
  /// Whether that has anything to do.
  bool needsFirst() const { return flags.recover > 0 && !hasGoneOn && writes && saved != step; }
  /// Where several tasks lead their own steps: the first step comes next. False after a report,
  /// where another task's variables are not those of the checkpoint.
  bool begin(DiagnosticSink &sink);
  /// Whether --recover has found a checkpoint to go on from.
  bool goesOn() const { return hasGoneOn; }
  /// A run has failed: waits for the tasks that it needs, and goes back to the latest
  /// checkpoint; where several lead their own steps, runs it again. False, without a report, where
  /// that is of no use.
  bool recover(Session &session, const RunStatus &failed, DiagnosticSink &sink);
  /// After each run that counts. Returns whether runs may go on: with --recover also where a
  /// checkpoint could not be written, which is told and counted.
  /// With --recover, saveLast() saves what the last one has left.
  bool afterRun(Session &session, bool isLast = false);
  /// With --recover, after the last run: writes what is not saved yet. Not OK: see recover().
  RunStatus saveLast(Session &session);
  bool recovers() const { return flags.recover > 0; }
  /// Runs that counted, with those before a restored checkpoint.
  int64_t count() const { return step; }
  /// Others have seen an earlier process of this task do so many. A checkpoint's number is of the
  /// steps of who writes it, and stands for those of another task only where none has seen them.
  void goOnBehind(int64_t done) { step = writes ? std::max(step, done) : done; }
  /// After the last one: what is not saved yet.
  bool finish(Session &session, DiagnosticSink &sink);

private:
  RunStatus restoreFrom(Session &session, std::string &from);
  bool mayGoOn(const RunStatus &why) const;
  RunStatus refuseForgetful() const;
  weir_checkpoint_options options() const;
  void save(Session &session, const std::string &prefix);
  void wait();
  void removeLeftovers();
  bool saves() const { return writes && !flags.save.empty(); }
  void countFrom(const std::string &from);
  bool report(const std::string &prefix, const RunStatus &status, DiagnosticSink &sink) const;

  const CheckpointFlags &flags;
  const LoadedModel &model;
  const std::string input;
  Members *const members;
  const bool areOwn, writes;
  bool hasGoneOn = false, mayHaveLeft = false;
  int64_t step = 0, saved = -1, recovered = 0;

  std::mutex mutex; ///< guards what follows
  std::condition_variable changed;
  bool isSaving = false;
  RunStatus status; ///< of the first save that failed
  std::string prefix;
};

} // namespace weir::tools

#endif // WEIR_TOOLS_WEIR_RUN_CHECKPOINTS_H
