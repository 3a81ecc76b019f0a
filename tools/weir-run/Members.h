//===- Members.h - the tasks of a job that outlives them --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIR_RUN_MEMBERS_H
#define WEIR_TOOLS_WEIR_RUN_MEMBERS_H

#include "tools/common/ClusterTasks.h"
#include "tools/weir-run/Lease.h"

#include <optional>

namespace weir::tools {

/// This process among the tasks of a job. With `elastic` the job goes on without tasks that do not
/// come back: their devices become others', and the lowest task that is there leads where the one
/// that led is gone.
class Members {
public:
  /// `recover`: how often the loss of a task is survived. `leaseFile`: see Lease.
  Members(ClusterTask &task, Session &session, bool elastic, int64_t recover, std::string leaseFile)
      : task(task), session(session), elastic(elastic), recover(recover),
        leaseFile(std::move(leaseFile)) {}

  /// Does other tasks' steps, until this one is to lead (true), or all is done or failed.
  bool serve(RunStatus &status);
  /// Before anything is led: with `elastic`, waits for who may have led before.
  RunStatus beginToLead();
  /// Why this process leads no more; OK: it does.
  RunStatus whyDeposed() const;
  /// Whether the devices are divided anew and the session is not.
  bool isOutdated() const { return task.isReassigned(); }
  RunStatus renew() { return session.renew(); }
  /// Tasks that a step needs were waited for in vain: with `elastic` others get their devices, and
  /// the session begins anew. OK, too, where there is nothing to do.
  RunStatus goOnWithout();

  /// Steps begin, and the first checkpoint is written: who is there has part in it.
  void noteBegin() { atBegin = task.presence(); }
  /// A task that has begun without the checkpoint that there is, and has come behind noteBegin();
  /// empty: none is known.
  std::string whoForgot() const;
  /// Waits until the tasks of other jobs have come, or as long as a connection may take.
  void awaitOtherJobs() const;
  /// All is done: waits, as long as above, for those that serve this task (`ownSteps`: those of
  /// other jobs), so that they hear its goodbye. One that is being begun anew would wait in vain
  /// for a leader that is gone.
  void awaitServing(bool ownSteps) const;

private:
  RunStatus divide(const std::vector<int32_t> &presence);
  bool isNextLeader(const std::vector<int32_t> &presence) const;
  /// The first one of other jobs, or of all, that has devices and is not there; -1: none.
  int32_t firstAway(bool otherJobs) const;

  ClusterTask &task;
  Session &session;
  const bool elastic;
  const int64_t recover;
  const std::string leaseFile;
  std::optional<Lease> lease;
  std::vector<int32_t> atBegin; ///< how often each had come; empty: as above
};

} // namespace weir::tools

#endif // WEIR_TOOLS_WEIR_RUN_MEMBERS_H
