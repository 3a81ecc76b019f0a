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

#include <condition_variable>
#include <mutex>

namespace weir::tools {

struct CheckpointFlags {
  std::string restore; ///< a prefix, or a folder whose latest checkpoint is meant
  std::string save;    ///< a prefix
  int64_t every = 0;   ///< runs between checkpoints; 0: one, at the end
  int64_t keep = 5;
  int64_t recover = 0; ///< how often a run of steps begins anew after a task was lost
};

void addCheckpointFlags(FlagParser &parser, CheckpointFlags &flags);

/// Gives all replicas of a program the variables of the first one; nothing where it has
/// none.
RunStatus synchronizeReplicas(Session &session);

/// Restores and saves a session's variables, as the flags say. Checkpoints between runs
/// have the number of the run behind their prefix, counted on from a restored one's, and
/// are written while runs go on.
class Checkpoints {
public:
  Checkpoints(const CheckpointFlags &flags, const LoadedModel &model, std::string input)
      : flags(flags), model(model), input(std::move(input)) {}
  ~Checkpoints() { wait(); }
  Checkpoints(const Checkpoints &) = delete;
  Checkpoints &operator=(const Checkpoints &) = delete;

  /// False after a report (W0710), as below. With --recover also saves what a run that
  /// loses a task early goes back to, unless there is a checkpoint.
  bool restore(Session &session, DiagnosticSink &sink);
  /// A run has failed: waits for the tasks that it needs, and goes back to the latest
  /// checkpoint. False, without a report, where that is of no use.
  bool recover(Session &session, const RunStatus &failed, DiagnosticSink &sink);
  /// After each run that counts. Returns whether runs may go on.
  bool afterRun(Session &session);
  bool recovers() const { return flags.recover > 0; }
  /// Runs that counted, with those before a restored checkpoint.
  int64_t count() const { return step; }
  /// After the last one: what is not saved yet.
  bool finish(Session &session, DiagnosticSink &sink);

private:
  bool restoreFrom(Session &session, std::string from, DiagnosticSink &sink);
  std::string folder() const;
  void save(Session &session, const std::string &prefix);
  void wait();
  bool report(const std::string &prefix, const RunStatus &status, DiagnosticSink &sink) const;

  const CheckpointFlags &flags;
  const LoadedModel &model;
  const std::string input;
  int64_t step = 0, saved = -1, recovered = 0;

  std::mutex mutex; ///< guards what follows
  std::condition_variable changed;
  bool isSaving = false;
  RunStatus status; ///< of the first save that failed
  std::string prefix;
};

} // namespace weir::tools

#endif // WEIR_TOOLS_WEIR_RUN_CHECKPOINTS_H
