//===- handles.h - telling handles from what only looks like one -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program may hand over a session that it has destroyed, or that another runtime
// of the process made. Neither may be read to find that out, so the runtime
// remembers which handles are its own and alive: a table of fixed size that readers
// scan without a lock. Thread-safe. As with any pointer, one whose memory a later
// handle has taken is taken for that one.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_SESSION_HANDLES_H
#define WEIR_RUNTIME_SESSION_HANDLES_H

#include "weir/weir.h"

namespace weir::rt {

enum class HandleKind : uint32_t { Session = 1, Cancellation = 2 };

void rememberHandle(const void *handle, HandleKind kind);
/// False: there is no such handle (any more), and the caller leaves it alone.
bool forgetHandle(const void *handle, HandleKind kind);
/// Null is none.
bool isHandle(const void *handle, HandleKind kind);

/// WEIR_OK, or INVALID_ARGUMENT with a status: `function` was given no session of
/// this runtime that lives.
int32_t checkSession(const weir_session *session, const char *function, weir_status *status);

} // namespace weir::rt

extern "C" {
/// What the functions of an object ask first, for generated code: WEIR_OK when the session
/// was made of the program, else INVALID_ARGUMENT, with a status. `session` may be anything.
WEIR_API int32_t weir_rt_check_session(const weir_program_desc *program,
                                       const weir_session *session, weir_status *status);
}

#endif // WEIR_RUNTIME_SESSION_HANDLES_H
