//===- cancellation.cpp - switches that end runs --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/handles.h"
#include "session/run.h"

#include <new>
#include <stdlib.h>

struct weir_cancellation {
  std::atomic<uint32_t> thrown;
  mutable weir::rt::Mutex mutex; ///< guards the list
  weir_run *runs;
};

namespace weir::rt {

static void cancelRun(weir_run *run) { abortRun(run, WEIR_CANCELLED, "the run was cancelled"); }

void enterCancellation(weir_cancellation *cancellation, weir_run *run) {
  Lock lock(cancellation->mutex);
  run->cancellationPrevious = nullptr;
  run->cancellationNext = cancellation->runs;
  if (cancellation->runs)
    cancellation->runs->cancellationPrevious = run;
  cancellation->runs = run;
  if (cancellation->thrown.load(std::memory_order_acquire))
    cancelRun(run);
}

void leaveCancellation(weir_cancellation *cancellation, weir_run *run) {
  Lock lock(cancellation->mutex);
  (run->cancellationPrevious ? run->cancellationPrevious->cancellationNext : cancellation->runs) =
      run->cancellationNext;
  if (run->cancellationNext)
    run->cancellationNext->cancellationPrevious = run->cancellationPrevious;
}

} // namespace weir::rt

using namespace weir::rt;

weir_cancellation *weir_cancellation_create(void) {
  void *memory = calloc(1, sizeof(weir_cancellation));
  if (!memory)
    return nullptr;
  rememberHandle(memory, HandleKind::Cancellation);
  return new (memory) weir_cancellation();
}

void weir_cancellation_destroy(weir_cancellation *cancellation) {
  if (forgetHandle(cancellation, HandleKind::Cancellation))
    free(cancellation);
}

void weir_cancellation_cancel(weir_cancellation *cancellation) {
  if (!isHandle(cancellation, HandleKind::Cancellation))
    return;
  Lock lock(cancellation->mutex);
  cancellation->thrown.store(1, std::memory_order_release);
  for (weir_run *run = cancellation->runs; run; run = run->cancellationNext)
    cancelRun(run);
}

void weir_cancellation_reset(weir_cancellation *cancellation) {
  if (!isHandle(cancellation, HandleKind::Cancellation))
    return;
  cancellation->thrown.store(0, std::memory_order_release);
}

int32_t weir_cancellation_is_cancelled(const weir_cancellation *cancellation) {
  return isHandle(cancellation, HandleKind::Cancellation) &&
         cancellation->thrown.load(std::memory_order_acquire) != 0;
}
