//===- guarded_call.h - calling functions that may throw --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_SESSION_GUARDED_CALL_H
#define WEIR_RUNTIME_SESSION_GUARDED_CALL_H

#include <stdint.h>

extern "C" {
/// Calls body(argument). Returns 0 when that has returned, 1 when it threw: the
/// exception, of whatever language, ends here. Without a handler of the runtime's an
/// exception would find none, and end the process. Where the process has no unwinder
/// there is nothing that could throw.
__attribute__((visibility("hidden"))) int32_t weir_call_guarded(void (*body)(void *),
                                                                void *argument);
}

namespace weir::rt {

/// The same for a function object. False: it threw.
template <typename Body> bool callGuarded(Body &body) {
  return weir_call_guarded([](void *argument) { (*static_cast<Body *>(argument))(); }, &body) == 0;
}

} // namespace weir::rt

#endif // WEIR_RUNTIME_SESSION_GUARDED_CALL_H
