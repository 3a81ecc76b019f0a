//===- async.h - runs that their caller does not wait for ---- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_SESSION_ASYNC_H
#define WEIR_RUNTIME_SESSION_ASYNC_H

namespace weir::rt {

struct AsyncRuns;

/// Carries out what was asked for, and ends the threads. Null is ignored.
void endAsyncRuns(AsyncRuns *runs);

} // namespace weir::rt

#endif // WEIR_RUNTIME_SESSION_ASYNC_H
