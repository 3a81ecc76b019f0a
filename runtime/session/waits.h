//===- waits.h - what a step waits for outside of its run -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_SESSION_WAITS_H
#define WEIR_RUNTIME_SESSION_WAITS_H

#include "session/suspension.h"

namespace weir::rt {

/// Something that another run brings about: a place in a queue, an element of
/// it. The step that waits leaves its coroutine, and no thread waits. Made by a
/// kernel, which hands its address to the step as a ticket.
struct Wait {
  Suspension suspension;
  Wait *previous, *next; ///< among those of its run
  bool isOver;
  /// Takes it off whatever it waits for, and frees it with all that it holds.
  /// Called when its run ends, unless it was removed.
  void (*drop)(Wait *wait);
};

/// From here to `drop` the run knows of it. `wait` is zeroed but for `drop`.
void beginWait(weir_context *ctx, Wait *wait);
/// What was waited for has come about: wakes who waits. At most once a wait, and
/// not after `drop`.
void endWait(Wait *wait, Task **tasks);
/// Whether it has come about; no one asks before weir_rt_wait_ready or the
/// resume.
bool hasEnded(Wait *wait);
/// Forgets a wait that has been used.
void removeWait(Wait *wait);

/// Wakes all who wait, since the run is aborted. The run's lock is held.
void wakeWaits(weir_run *run, Task **tasks);
/// Drops what is left when a run has ended.
void dropWaits(weir_run *run);

} // namespace weir::rt

#endif // WEIR_RUNTIME_SESSION_WAITS_H
