//===- suspension.h - a step that waits, without a thread -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_SESSION_SUSPENSION_H
#define WEIR_RUNTIME_SESSION_SUSPENSION_H

#include "pool/executor.h"
#include "weir/abi.h"

namespace weir::rt {

/// A step's coroutine that waits for something: a tensor, a queue, a message to
/// be sent. Zeroed while no one waits. Guarded by its run's lock.
struct Suspension {
  Task task; ///< resumes the coroutine; first, so that a task is a suspension
  weir_context *waiter;
  void *coroutine;  ///< null: no one waits
  const char *name; ///< of what is waited for, in traces
  bool isShort;     ///< goes on for a moment, and needs no thread of the session for it

  bool waits() const { return coroutine && !task.run; }
};

/// Leaves a coroutine, whose step returns WEIR_PENDING next. The run's lock is
/// held, and the run is not aborted.
void suspend(Suspension &suspension, weir_context *ctx, void *coroutine, const char *name,
             bool isShort = false);
/// Links the task that resumes it before `*tasks`, unless no one waits or it is
/// on its way. The task counts as a segment, so that the run cannot end before
/// it. The run's lock is held.
void wake(Suspension &suspension, Task **tasks);
/// Posts tasks that are linked by `next`, once all locks are given up: the
/// caller's pool is called. `runsShort`: short ones are run here; where all threads of the
/// session compute, they would wait for the end of that.
void postTasks(Task *tasks, bool runsShort = false);

} // namespace weir::rt

#endif // WEIR_RUNTIME_SESSION_SUSPENSION_H
