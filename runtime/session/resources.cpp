//===- resources.cpp - state that kernels keep in a session -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/resources.h"
#include "session/run.h"
#include "session/status.h"

#include <stdlib.h>
#include <string.h>

namespace weir::rt {

/// A state that waits for its resource to be made.
struct HeldState {
  HeldState *next;
  weir_string key, state; ///< behind it
};

static void freeHeld(weir_session *session) {
  while (HeldState *first = session->heldStates) {
    session->heldStates = first->next;
    free(first);
  }
}

/// Gives a new resource the state that waits for it. The session's lock is held.
static void takeHeld(weir_session *session, Resource *made) {
  if (!made->prepare)
    return;
  for (HeldState **at = &session->heldStates; *at; at = &(*at)->next) {
    HeldState *held = *at;
    if (held->key.size != made->keySize ||
        memcmp(held->key.data, made->key, size_t(made->keySize)) != 0)
      continue;
    if (made->prepare(made, session, held->state, nullptr) == WEIR_OK)
      made->settle(made, /*takes=*/true);
    *at = held->next;
    return free(held);
  }
}

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
  takeHeld(session, made);
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
    freeHeld(session);
  }
  for (Resource *at = first; at; at = at->next)
    at->reset(at);
}

void destroyResources(weir_session *session) {
  freeHeld(session);
  while (Resource *first = session->resources) {
    session->resources = first->next;
    free(first->key);
    first->destroy(first);
  }
}

//===----------------------------------------------------------------------===//
// In checkpoints
//===----------------------------------------------------------------------===//

int32_t refuseState(weir_status *status, const Resource &resource) {
  StatusText(status, WEIR_DATA_LOSS).quoted(resource.key, resource.keySize)
      << ": its state in the checkpoint is damaged, or of another pipeline";
  return WEIR_DATA_LOSS;
}

void ResourceStates::resumeAll() {
  for (int64_t i = 0; i < paused.size(); ++i)
    if (void *token = paused[i]) {
      paused[i] = nullptr;
      resources[i]->resume(token, i < standing);
    }
}

static bool isKept(const Resource &resource) {
  return resource.save && !(resource.keySize > 0 && resource.key[0] == '@');
}

bool ResourceStates::pause(weir_session *session) {
  {
    // Those that are kept live as long as the session.
    Lock lock(session->mutex);
    for (Resource *at = session->resources; at; at = at->next)
      if (isKept(*at) && at->pause)
        resources.push(at);
  }
  if (!paused.reserve(resources.size()))
    return false;
  for (int64_t i = 0; i < resources.size(); ++i)
    paused.push(resources[i]->pause(resources[i]));
  return !resources.failed();
}

bool ResourceStates::add(Resource &resource, void *token) {
  StateWriter one;
  resource.save(&resource, token, one);
  if (one.failed())
    return false;
  if (one.view().size > 0) {
    states.text({resource.key, resource.keySize});
    states.text(one.view());
  }
  return true;
}

bool ResourceStates::write(weir_session *session) {
  // What goes on for one may ask another, whose own work goes on for that: as often as there are
  // others, whatever the order.
  for (int64_t round = 1; round < paused.size(); ++round)
    for (int64_t i = 0; i < paused.size(); ++i)
      if (void *token = paused[i])
        resources[i]->settleDown(token);
  for (; standing < paused.size(); ++standing)
    if (void *token = paused[standing])
      resources[standing]->await(token);
  for (int64_t i = 0; i < resources.size(); ++i)
    if (!add(*resources[i], paused[i]))
      return false;
  // Threads of what is paused end with what they are at before it is saved. Till then they may
  // draw random numbers, from resources that they make, so these are looked for behind it.
  HeapList<Resource *> others;
  {
    Lock lock(session->mutex);
    for (Resource *at = session->resources; at; at = at->next)
      if (isKept(*at) && !at->pause)
        others.push(at);
    // What was restored, and nobody has asked for since.
    for (HeldState *held = session->heldStates; held; held = held->next) {
      states.text(held->key);
      states.text(held->state);
    }
  }
  if (others.failed())
    return false;
  for (int64_t i = 0; i < others.size(); ++i)
    if (!add(*others[i], nullptr))
      return false;
  resumeAll();
  return !states.failed();
}

static HeldState *newHeld(const weir_string &key, const weir_string &state) {
  auto *held = static_cast<HeldState *>(malloc(sizeof(HeldState) + size_t(key.size + state.size)));
  if (!held)
    return nullptr;
  char *bytes = reinterpret_cast<char *>(held + 1);
  memcpy(bytes, key.data, size_t(key.size));
  if (state.size > 0)
    memcpy(bytes + key.size, state.data, size_t(state.size));
  held->next = nullptr;
  held->key = {bytes, key.size};
  held->state = {bytes + key.size, state.size};
  return held;
}

namespace {

/// Resources that are to have what a checkpoint says.
struct Restoring {
  explicit Restoring(weir_session *session) : session(session) {}

  weir_session *const session;
  HeapList<Resource *> prepared;
  HeldState *held = nullptr; ///< of resources that are not there yet

  ~Restoring() { freeAll(held); }
  static void freeAll(HeldState *first) {
    while (HeldState *gone = first) {
      first = gone->next;
      free(gone);
    }
  }

  int32_t prepare(Resource *known, const weir_string &state, weir_status *status) {
    if (!known->prepare)
      return WEIR_OK;
    for (int64_t i = 0; i < prepared.size(); ++i)
      if (prepared[i] == known)
        return refuseState(status, *known);
    if (!prepared.reserve(prepared.size() + 1))
      return refuseMemory(status, "a checkpoint");
    int32_t code = known->prepare(known, session, state, status);
    if (!code)
      prepared.push(known);
    return code;
  }

  int32_t add(const weir_string &key, const weir_string &state, weir_status *status) {
    if (Resource *known = findResource(session, key.data, key.size))
      return prepare(known, state, status);
    HeldState *made = newHeld(key, state);
    if (!made)
      return refuseMemory(status, "a checkpoint");
    made->next = held;
    held = made;
    return WEIR_OK;
  }

  /// What is held waits for its resource from here on. Null: it does; else one whose resource was
  /// made meanwhile, by a function that was called to prepare another or by a run.
  HeldState *install() {
    HeldState *gone;
    {
      Lock lock(session->mutex);
      for (HeldState **at = &held; HeldState *each = *at; at = &each->next)
        if (find(session, each->key.data, each->key.size)) {
          *at = each->next;
          return each;
        }
      gone = session->heldStates;
      session->heldStates = held;
      held = nullptr;
    }
    freeAll(gone);
    return nullptr;
  }
};

} // namespace

int32_t restoreResources(weir_session *session, const weir_string &states, weir_status *status) {
  Restoring restoring(session);
  int32_t code = WEIR_OK;
  StateReader in(states);
  while (!code && !in.isAtEnd() && !in.failed()) {
    weir_string key = in.text(), state = in.text();
    code = restoring.add(key, state, status);
  }
  while (!code) {
    HeldState *late = restoring.install();
    if (!late)
      break;
    code = restoring.add(late->key, late->state, status);
    free(late);
  }
  HeapList<Resource *> &prepared = restoring.prepared;
  for (int64_t i = 0; i < prepared.size(); ++i)
    prepared[i]->settle(prepared[i], code == WEIR_OK);
  return code;
}

} // namespace weir::rt
