//===- waits.cpp - what a step waits for outside of its run ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/waits.h"

#include "session/run.h"

namespace weir::rt {

void beginWait(weir_context *ctx, Wait *wait) {
  weir_run *run = ctx->run;
  wait->waiter = ctx;
  Lock lock(run->mutex);
  wait->next = run->waits;
  if (wait->next)
    wait->next->previous = wait;
  run->waits = wait;
  ++run->outsideWaits;
}

static weir_trace_event waitEvent(const Wait &wait) {
  return traceEvent(wait.waiter, WEIR_TRACE_RECEIVE, "queue", "");
}

/// A task. The coroutine may drop its wait: what is needed of it is read first.
static void resume(Task *task) {
  auto *wait = reinterpret_cast<Wait *>(task);
  weir_run *run = wait->waiter->run;
  void *coroutine = wait->coroutine;
  if (const weir_trace *trace = run->trace) {
    weir_trace_event event = waitEvent(*wait);
    trace->end(trace->self, &event);
  }
  (*static_cast<void (**)(void *)>(coroutine))(coroutine);
  endSegment(run);
}

/// The task of a wait that is to be resumed; null: no one waits, or it is on
/// its way. The run's lock is held.
static Task *wake(weir_run *run, Wait *wait) {
  if (!wait->coroutine || wait->task.run)
    return nullptr;
  wait->task.run = resume;
  wait->task.owner = run;
  // The run cannot end before this does.
  ++run->segments;
  return &wait->task;
}

Task *endWait(Wait *wait) {
  weir_run *run = wait->waiter->run;
  Lock lock(run->mutex);
  wait->isOver = true;
  --run->outsideWaits;
  return wake(run, wait);
}

void postTasks(Task *first) {
  while (Task *task = first) {
    first = task->next;
    static_cast<weir_run *>(task->owner)->session->executor->post(task);
  }
}

bool hasEnded(Wait *wait) {
  Lock lock(wait->waiter->run->mutex);
  return wait->isOver;
}

void removeWait(Wait *wait) {
  weir_run *run = wait->waiter->run;
  Lock lock(run->mutex);
  if (wait->previous)
    wait->previous->next = wait->next;
  else
    run->waits = wait->next;
  if (wait->next)
    wait->next->previous = wait->previous;
}

void wakeWaits(weir_run *run, Task **first) {
  for (Wait *wait = run->waits; wait; wait = wait->next)
    if (Task *task = wake(run, wait)) {
      task->next = *first;
      *first = task;
    }
}

void dropWaits(weir_run *run) {
  while (Wait *wait = run->waits) {
    run->waits = wait->next;
    wait->drop(wait);
  }
  run->outsideWaits = 0;
}

} // namespace weir::rt

using namespace weir::rt;

int32_t weir_rt_wait_ready(weir_context *ctx, int64_t ticket, void *coroutine) {
  auto *wait = reinterpret_cast<Wait *>(uintptr_t(ticket));
  weir_run *run = ctx->run;
  Lock lock(run->mutex);
  // Under the lock: who aborts after this finds the one who waits.
  if (wait->isOver || run->aborted.load(std::memory_order_acquire))
    return 1;
  wait->coroutine = coroutine;
  // Before the lock is given up: the end may come at once.
  if (const weir_trace *trace = run->trace) {
    weir_trace_event event = waitEvent(*wait);
    trace->begin(trace->self, &event);
  }
  return 0;
}
