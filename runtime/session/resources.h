//===- resources.h - state that kernels keep in a session --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_SESSION_RESOURCES_H
#define WEIR_RUNTIME_SESSION_RESOURCES_H

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
};

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
