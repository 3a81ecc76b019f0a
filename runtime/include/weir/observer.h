//===- observer.h - who watches the runs of a session -----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_OBSERVER_H
#define WEIR_OBSERVER_H

#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Lets `observer` be told of what runs of the session do, from the next run on: of runs,
/// parts of kernels, sends, receives, custom operations and copies, as they begin and end, and of
/// values of nodes where it has a function for them
/// (weir_trace). Null: nobody, which costs a run nothing but a look at a pointer. It takes
/// the place of weir_session_options::trace; weir_run_options::trace is stronger for its
/// run. An observer must stay until runs that began with it have ended. Any thread may call
/// this at any time. INVALID_ARGUMENT: no session, or an observer of another layout or
/// without begin and end.
WEIR_API int32_t weir_session_set_observer(weir_session *session, const weir_trace *observer,
                                           weir_status *status);

#ifdef __cplusplus
}
#endif

#endif // WEIR_OBSERVER_H
