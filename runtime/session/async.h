//===- async.h - work that its caller does not wait for -----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_SESSION_ASYNC_H
#define WEIR_RUNTIME_SESSION_ASYNC_H

#include "weir/weir.h"

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

/// Ends the threads of a session, once all work is done, and frees `runs`. Null is ignored.
void endAsyncRuns(AsyncRuns *runs);

} // namespace weir::rt

#endif // WEIR_RUNTIME_SESSION_ASYNC_H
