//===- registry.h - pools that sessions share -------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_POOL_REGISTRY_H
#define WEIR_RUNTIME_POOL_REGISTRY_H

#include "pool/executor.h"

namespace weir::rt {

/// Gets the executor that the options ask for; `threads` is resolved. Returns a
/// weir_code, and fills `status` on failure. Give it back with releaseExecutor.
int32_t acquireExecutor(const weir_session_options &options, int32_t threads, Executor **executor,
                        weir_status *status);
/// The last session of a shared one ends its threads.
void releaseExecutor(Executor *executor);

} // namespace weir::rt

#endif // WEIR_RUNTIME_POOL_REGISTRY_H
