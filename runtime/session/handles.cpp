//===- handles.cpp - telling handles from what only looks like one --------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/handles.h"

#include "session/session.h"

namespace weir::rt {

// A handle lies in one of `window` places from where its address hashes to. With all
// of them taken it is only counted: then what the table does not know may be alive.
static constexpr uint32_t places = 1024, window = 16;
// Statics that need no constructor; all are zero whenever no handle lives.
static std::atomic<uintptr_t> table[places];
static std::atomic<int32_t> uncounted[3]; // by kind

/// Handles are aligned to 8 at least, which leaves room for their kind.
static uintptr_t entryOf(const void *handle, HandleKind kind) {
  return reinterpret_cast<uintptr_t>(handle) | uintptr_t(kind);
}

static std::atomic<uintptr_t> &placeOf(uintptr_t entry, uint32_t i) {
  constexpr uint64_t golden = 0x9e3779b97f4a7c15;
  return table[(uint32_t((uint64_t(entry) * golden) >> 48) + i) % places];
}

void rememberHandle(const void *handle, HandleKind kind) {
  uintptr_t entry = entryOf(handle, kind);
  for (uint32_t i = 0; i < window; ++i) {
    uintptr_t none = 0;
    if (placeOf(entry, i).compare_exchange_strong(none, entry, std::memory_order_release))
      return;
  }
  uncounted[uint32_t(kind)].fetch_add(1, std::memory_order_release);
}

bool forgetHandle(const void *handle, HandleKind kind) {
  if (!handle)
    return false;
  uintptr_t entry = entryOf(handle, kind);
  for (uint32_t i = 0; i < window; ++i) {
    uintptr_t found = entry;
    if (placeOf(entry, i).compare_exchange_strong(found, 0, std::memory_order_acq_rel))
      return true;
  }
  // One of those that found no place, if there are any.
  std::atomic<int32_t> &count = uncounted[uint32_t(kind)];
  int32_t before = count.load(std::memory_order_acquire);
  while (before > 0 && !count.compare_exchange_weak(before, before - 1, std::memory_order_acq_rel))
    ;
  return before > 0;
}

bool isHandle(const void *handle, HandleKind kind) {
  if (!handle)
    return false;
  uintptr_t entry = entryOf(handle, kind);
  for (uint32_t i = 0; i < window; ++i)
    if (placeOf(entry, i).load(std::memory_order_acquire) == entry)
      return true;
  return uncounted[uint32_t(kind)].load(std::memory_order_acquire) > 0;
}

int32_t checkSession(const weir_session *session, const char *function, weir_status *status) {
  if (isHandle(session, HandleKind::Session))
    return WEIR_OK;
  if (!session)
    return refuseNull(status, function, "session");
  StatusText(status, WEIR_INVALID_ARGUMENT)
      << function
      << ": the session was destroyed, or is of another runtime (each shared object has its own)";
  return WEIR_INVALID_ARGUMENT;
}

} // namespace weir::rt

using namespace weir::rt;

int32_t weir_rt_check_session(const weir_program_desc *program, const weir_session *session,
                              weir_status *status) {
  if (int32_t code = checkSession(session, program->name, status))
    return code;
  if (session->given == program)
    return WEIR_OK;
  StatusText(status, WEIR_INVALID_ARGUMENT)
      << "a function of program \"" << program->name << "\" was given a session of program \""
      << session->given->name << '"';
  return WEIR_INVALID_ARGUMENT;
}
