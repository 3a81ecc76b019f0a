//===- async.h - work that its caller does not wait for -----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_SESSION_ASYNC_H
#define WEIR_RUNTIME_SESSION_ASYNC_H

#include "weir/weir.h"

#include <stdlib.h>

namespace weir::rt {

struct AsyncRuns;

/// Something that a thread of the session does.
struct AsyncWork {
  AsyncWork *next;
  /// Does it, tells who asked, and frees `work`.
  void (*perform)(AsyncWork *work);
};

/// Has it done. On failure it is still the caller's.
int32_t startWork(weir_session *session, AsyncWork *work, weir_status *status);

/// Calls `done`. What it throws ends there: the run is over, and nobody is left to tell.
void callDone(weir_run_done done, void *self, const weir_status *status);

/// AsyncWork::perform of work that malloc gave memory, with `finish(weir_status *)`, `done` and
/// `self`: what it holds goes before the caller, who may destroy the session then, is told.
template <typename Work> void finishAndTell(AsyncWork *work) {
  auto *asked = static_cast<Work *>(work);
  weir_status status = WEIR_STATUS_INIT;
  asked->finish(&status);
  weir_run_done done = asked->done;
  void *self = asked->self;
  asked->~Work();
  free(asked);
  callDone(done, self, &status);
}

/// Ends the threads of a session, once all work is done, and frees `runs`. Null is ignored.
void endAsyncRuns(AsyncRuns *runs);

} // namespace weir::rt

#endif // WEIR_RUNTIME_SESSION_ASYNC_H
