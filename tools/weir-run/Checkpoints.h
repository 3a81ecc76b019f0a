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
};

void addCheckpointFlags(FlagParser &parser, CheckpointFlags &flags);

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

  /// False after a report (W0710), as below.
  bool restore(Session &session, DiagnosticSink &sink);
  /// After each run that counts. Returns whether runs may go on.
  bool afterRun(Session &session);
  /// Runs that counted, with those before a restored checkpoint.
  int64_t count() const { return step; }
  /// After the last one: what is not saved yet.
  bool finish(Session &session, DiagnosticSink &sink);

private:
  void save(Session &session, const std::string &prefix);
  void wait();
  bool report(const std::string &prefix, const RunStatus &status, DiagnosticSink &sink) const;

  const CheckpointFlags &flags;
  const LoadedModel &model;
  const std::string input;
  int64_t step = 0, saved = -1;

  std::mutex mutex; ///< guards what follows
  std::condition_variable changed;
  bool isSaving = false;
  RunStatus status; ///< of the first save that failed
  std::string prefix;
};

} // namespace weir::tools

#endif // WEIR_TOOLS_WEIR_RUN_CHECKPOINTS_H
