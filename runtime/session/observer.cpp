//===- observer.cpp - who watches the runs of a session -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weir/observer.h"
#include "session/handles.h"
#include "session/run.h"
#include "session/session.h"

#include <stddef.h>

using namespace weir::rt;

extern "C" int32_t weir_session_set_observer(weir_session *session, const weir_trace *observer,
                                             weir_status *status) {
  if (int32_t code = checkSession(session, "weir_session_set_observer", status))
    return code;
  const char *wrong = nullptr;
  if (observer && observer->size < offsetof(weir_trace, span))
    wrong = "found an observer of another layout; possible: size = sizeof(weir_trace)";
  else if (observer && (!observer->begin || !observer->end))
    wrong = "found an observer without begin or end";
  if (wrong) {
    StatusText(status, WEIR_INVALID_ARGUMENT) << wrong;
    return WEIR_INVALID_ARGUMENT;
  }
  __atomic_store_n(&session->trace, observer, __ATOMIC_RELEASE);
  return WEIR_OK;
}
