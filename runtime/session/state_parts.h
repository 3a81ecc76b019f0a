//===- state_parts.h - checkpoints that several tasks write -----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_SESSION_STATE_PARTS_H
#define WEIR_RUNTIME_SESSION_STATE_PARTS_H

#include "session/snapshot.h"

namespace weir::rt {

/// WEIR_OK, or UNIMPLEMENTED, which names `function`: the transport cannot ask other tasks, or the
/// object does not say where variables are.
int32_t checkSharing(const weir_session *session, const char *function, weir_status *status);

/// A checkpoint of all tasks, as the one that leads sees it. Waits, in finishSave, restore and the
/// destructor, until each other task has answered or is lost. Codes are those of the first task
/// that failed, and messages name it.
class SharedState {
public:
  SharedState() = default;
  ~SharedState();
  SharedState(const SharedState &) = delete;
  SharedState &operator=(const SharedState &) = delete;

  /// Takes this task's values and has all others take and write theirs. FAILED_PRECONDITION while
  /// runs are in progress, unless `whileRunning`: values would be of different steps.
  int32_t beginSave(weir_session *session, Snapshot &snapshot, const char *prefix, bool partial,
                    bool whileRunning, weir_status *status);
  /// Writes this task's part, and makes one checkpoint of all.
  int32_t finishSave(weir_session *session, const Snapshot &snapshot, const char *prefix,
                     bool partial, weir_status *status);
  /// All tasks read their variables, of a folder that all of them see.
  int32_t restore(weir_session *session, const char *prefix, bool partial, weir_status *status);

private:
  int32_t ask(weir_session *session, int32_t what, const char *prefix, bool partial,
              weir_status *status);
  int32_t waitForOthers(weir_status *status);
  int32_t publish(weir_session *session, bool ownPart, const char *prefix, weir_status *status);
  static void answered(void *self, const weir_status *status);

  Mutex mutex; ///< guards what follows
  Condition changed;
  bool isAsked = false, isOver = false;
  weir_status result = WEIR_STATUS_INIT;
  int32_t own = -1; ///< number of this task
};

/// What weir_transport_host::state_part does; null where the program links no checkpoints.
extern int32_t runStatePart(weir_session *session, const weir_state_request *request,
                            weir_run_done done, void *self, weir_status *status)
    __attribute__((weak));

/// weir_session_options::restore, of a session without runs; null as above.
extern int32_t restoreOwnPart(weir_session *session, const char *prefix, weir_status *status)
    __attribute__((weak));

} // namespace weir::rt

#endif // WEIR_RUNTIME_SESSION_STATE_PARTS_H
