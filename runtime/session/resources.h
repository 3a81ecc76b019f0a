//===- resources.h - state that kernels keep in a session --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_SESSION_RESOURCES_H
#define WEIR_RUNTIME_SESSION_RESOURCES_H

#include "session/state_bytes.h"
#include "weir/abi.h"

namespace weir::rt {

/// Heads the state that a library kernel keeps in a session under a name: a
/// lookup table. Lives until the session ends; guards itself against concurrent
/// runs.
struct Resource {
  Resource *next;
  int64_t keySize;
  char *key; ///< owned
  /// Back to what it is in a new session.
  void (*reset)(Resource *resource);
  /// Frees all that it holds, and itself (made with malloc).
  void (*destroy)(Resource *resource);
  /// Has work that goes on for it give up soon, before the session ends; null: there is none.
  void (*stop)(Resource *resource) = nullptr;

  // What checkpoints keep of it; null: nothing. Those whose names begin with '@' live no longer
  // than a run, and are not kept.
  /// Has it stay as it is, behind what goes on now, until `resume` is given what this returns,
  /// which may be null; returns at once.
  void *(*pause)(Resource *resource) = nullptr;
  /// Waits for what goes on, which may want something of other resources.
  void (*settleDown)(void *paused) = nullptr;
  /// Waits until nobody wants anything of it.
  void (*await)(void *paused) = nullptr;
  void (*resume)(void *paused, bool stands) = nullptr; ///< `stands`: it was waited for
  /// Writes where it stands; nothing where it has not begun.
  void (*save)(Resource *resource, void *paused, StateWriter &out) = nullptr;
  /// Makes ready what was written, and says whether it can be; nothing changes before `settle`,
  /// which takes it or forgets it. Returns a weir_code.
  int32_t (*prepare)(Resource *resource, weir_session *session, const weir_string &state,
                     weir_status *status) = nullptr;
  void (*settle)(Resource *resource, bool takes) = nullptr;
};

/// DATA_LOSS: a state is not what the resource has written.
int32_t refuseState(weir_status *status, const Resource &resource);

/// States of resources: each a name and what its `save` has written.
struct ResourceStates {
  HeapList<Resource *> resources; ///< that can be paused
  HeapList<void *> paused;        ///< what `pause` gave, of each
  StateWriter states;

  ~ResourceStates() { resumeAll(); }
  /// Pauses all that can be; returns at once. False: no memory.
  bool pause(weir_session *session);
  /// Waits until all of them stand, writes all, and has them go on. False: no memory.
  bool write(weir_session *session);

private:
  int64_t standing = 0; ///< how many of those that can be paused were waited for
  void resumeAll();
  bool add(Resource &resource, void *token);
};

/// Gives resources the states that `states` holds as ResourceStates writes them: those that are
/// there now, others when they are made. All or, on failure, none. Returns a weir_code.
int32_t restoreResources(weir_session *session, const weir_string &states, weir_status *status);

/// The resource of the run's session that is called `key`; made by
/// `make(data)` where there is none yet. Null: no memory, or none and no `make`.
/// Thread-safe.
Resource *resourceOf(weir_context *ctx, const char *key, int64_t keySize,
                     Resource *(*make)(void *data), void *data);

/// The one that is there; null: none.
Resource *findResource(weir_session *session, const char *key, int64_t keySize);
/// Ends one before its session.
void removeResource(weir_session *session, Resource *resource);
void resetResources(weir_session *session);
void stopResources(weir_session *session);
void destroyResources(weir_session *session);

} // namespace weir::rt

#endif // WEIR_RUNTIME_SESSION_RESOURCES_H
