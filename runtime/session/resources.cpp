//===- resources.cpp - state that kernels keep in a session -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/resources.h"
#include "session/run.h"

#include <stdlib.h>
#include <string.h>

namespace weir::rt {

static Resource *find(weir_session *session, const char *key, int64_t size) {
  for (Resource *at = session->resources; at; at = at->next)
    if (at->keySize == size && memcmp(at->key, key, size_t(size)) == 0)
      return at;
  return nullptr;
}

Resource *resourceOf(weir_context *ctx, const char *key, int64_t keySize,
                     Resource *(*make)(void *data), void *data) {
  weir_session *session = ctx->run->session;
  Lock lock(session->mutex);
  if (Resource *known = find(session, key, keySize))
    return known;
  if (!make)
    return nullptr;
  auto *name = static_cast<char *>(malloc(size_t(keySize | !keySize)));
  Resource *made = name ? make(data) : nullptr;
  if (!made) {
    free(name);
    return nullptr;
  }
  if (keySize > 0)
    memcpy(name, key, size_t(keySize));
  made->key = name;
  made->keySize = keySize;
  made->next = session->resources;
  session->resources = made;
  return made;
}

Resource *findResource(weir_session *session, const char *key, int64_t keySize) {
  Lock lock(session->mutex);
  return find(session, key, keySize);
}

void removeResource(weir_session *session, Resource *resource) {
  {
    Lock lock(session->mutex);
    Resource **at = &session->resources;
    while (*at != resource)
      at = &(*at)->next;
    *at = resource->next;
  }
  free(resource->key);
  resource->destroy(resource);
}

void stopResources(weir_session *session) {
  Lock lock(session->mutex);
  for (Resource *at = session->resources; at; at = at->next)
    if (at->stop)
      at->stop(at);
}

void resetResources(weir_session *session) {
  // No run is in progress: they are only ever added, before all others.
  Resource *first;
  {
    Lock lock(session->mutex);
    first = session->resources;
  }
  for (Resource *at = first; at; at = at->next)
    at->reset(at);
}

void destroyResources(weir_session *session) {
  while (Resource *first = session->resources) {
    session->resources = first->next;
    free(first->key);
    first->destroy(first);
  }
}

} // namespace weir::rt
