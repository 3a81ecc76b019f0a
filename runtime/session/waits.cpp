//===- waits.cpp - what a step waits for outside of its run ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/waits.h"

#include "session/run.h"

namespace weir::rt {

static weir_run *runOf(const Wait *wait) { return wait->suspension.waiter->run; }

void beginWait(weir_context *ctx, Wait *wait) {
  weir_run *run = ctx->run;
  wait->suspension.waiter = ctx;
  Lock lock(run->mutex);
  wait->next = run->waits;
  if (wait->next)
    wait->next->previous = wait;
  run->waits = wait;
  ++run->outsideWaits;
}

void endWait(Wait *wait, Task **tasks) {
  weir_run *run = runOf(wait);
  Lock lock(run->mutex);
  wait->isOver = true;
  --run->outsideWaits;
  wake(wait->suspension, tasks);
}

bool hasEnded(Wait *wait) {
  Lock lock(runOf(wait)->mutex);
  return wait->isOver;
}

void removeWait(Wait *wait) {
  weir_run *run = runOf(wait);
  Lock lock(run->mutex);
  if (wait->previous)
    wait->previous->next = wait->next;
  else
    run->waits = wait->next;
  if (wait->next)
    wait->next->previous = wait->previous;
}

void wakeWaits(weir_run *run, Task **tasks) {
  for (Wait *wait = run->waits; wait; wait = wait->next)
    wake(wait->suspension, tasks);
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
  suspend(wait->suspension, ctx, coroutine, "queue");
  return 0;
}
