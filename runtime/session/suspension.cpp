//===- suspension.cpp - a step that waits, without a thread ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/suspension.h"

#include "session/run.h"
#include "support/float_environment.h"

namespace weir::rt {

void suspend(Suspension &suspension, weir_context *ctx, void *coroutine, const char *name,
             bool isShort) {
  suspension.isShort = isShort;
  suspension.task.run = nullptr;
  // Who ends a wait reads whose it is before it has the lock.
  if (suspension.waiter != ctx)
    suspension.waiter = ctx;
  suspension.coroutine = coroutine;
  suspension.name = name;
  // Before the lock is given up: the end may come at once.
  if (const weir_trace *trace = ctx->run->trace) {
    weir_trace_event event = traceEvent(ctx, WEIR_TRACE_RECEIVE, name, "");
    trace->begin(trace->self, &event);
  }
}

/// A task. The coroutine may end what holds its suspension, or suspend there
/// again: what is needed of it is read first.
static void resume(Task *task) {
  auto *suspension = reinterpret_cast<Suspension *>(task);
  weir_run *run = suspension->waiter->run;
  void *coroutine = suspension->coroutine;
  if (const weir_trace *trace = run->trace) {
    weir_trace_event event =
        traceEvent(suspension->waiter, WEIR_TRACE_RECEIVE, suspension->name, "");
    trace->end(trace->self, &event);
  }
  (*static_cast<void (**)(void *)>(coroutine))(coroutine);
  endSegment(run);
}

void wake(Suspension &suspension, Task **tasks) {
  if (!suspension.waits())
    return;
  weir_run *run = suspension.waiter->run;
  suspension.task.run = resume;
  suspension.task.owner = run;
  suspension.task.next = *tasks;
  *tasks = &suspension.task;
  addSegments(run, 1);
}

void postTasks(Task *tasks, bool runsShort) {
  while (Task *task = tasks) {
    tasks = task->next;
    if (runsShort && reinterpret_cast<Suspension *>(task)->isShort) {
      FloatEnvironment environment;
      task->run(task);
    } else {
      static_cast<weir_run *>(task->owner)->session->executor->post(task);
    }
  }
}

} // namespace weir::rt
