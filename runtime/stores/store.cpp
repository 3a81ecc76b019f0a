//===- store.cpp - what runs wait for at a shared place -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stores/store.h"

#include <stdlib.h>
#include <string.h>

namespace weir::rt {

int32_t failStoreMemory(weir_context *ctx) {
  return failMessage(ctx, WEIR_RESOURCE_EXHAUSTED, "no memory for what runs share");
}

int32_t giveTensor(weir_context *ctx, const weir_tensor &value, weir_tensor &result) {
  if (value.dtype != result.dtype)
    return failDtype(ctx, "what was stored", value.dtype);
  if (!shapeResult(ctx, result, value.rank, value.dims))
    return WEIR_RESOURCE_EXHAUSTED;
  if (value.dtype != WEIR_STRING) {
    if (value.bytes > 0)
      memcpy(result.data, value.data, size_t(value.bytes));
    return WEIR_OK;
  }
  Contents contents(ctx);
  for (int64_t i = 0; i < elementCountOf(value); ++i) {
    const weir_string &text = stringsOf(value)[i];
    if (!contents.copy(text.data, text.size, stringResult(result) + i))
      return WEIR_RESOURCE_EXHAUSTED;
  }
  return WEIR_OK;
}

void Store::remove(StoreAttempt *before, StoreAttempt *attempt) {
  (before ? before->following : first) = attempt->following;
  if (last == attempt)
    last = before;
  attempt->isPending = false;
}

void Store::serve(Task **ready) {
  for (bool changes = true; changes;) {
    changes = false;
    StoreAttempt *before = nullptr;
    for (StoreAttempt *at = first; at;) {
      StoreAttempt *next = at->following;
      if (at->attempt(*at, changes)) {
        remove(before, at);
        endWait(at, ready);
      } else if (inOrder) {
        break;
      } else {
        before = at;
      }
      at = next;
    }
  }
}

void Store::begin(weir_context *ctx, StoreAttempt *attempt) {
  beginWait(ctx, attempt);
  Task *ready = nullptr;
  {
    Lock lock(mutex);
    attempt->following = nullptr;
    attempt->isPending = true;
    (first ? last->following : first) = attempt;
    last = attempt;
    serve(&ready);
  }
  postTasks(ready);
}

void Store::withdraw(StoreAttempt *attempt) {
  Task *ready = nullptr;
  {
    Lock lock(mutex);
    if (attempt->isPending) {
      StoreAttempt *before = nullptr;
      for (StoreAttempt *at = first; at != attempt; at = at->following)
        before = at;
      remove(before, attempt);
      // Who stood behind it may go on.
      serve(&ready);
    }
  }
  postTasks(ready);
}

Store *openStore(weir_context *ctx, const weir_tensor &name, Resource *(*make)(void *), void *data,
                 int32_t *code) {
  weir_string key;
  if (!loadString(name, &key)) {
    *code = failMessage(ctx, WEIR_INVALID_ARGUMENT, "a handle is not one");
    return nullptr;
  }
  Resource *known = resourceOf(ctx, key.data, key.size, make, data);
  if (!known)
    *code = failStoreMemory(ctx);
  return static_cast<Store *>(known);
}

static void dropAttempt(Wait *wait) {
  auto *attempt = static_cast<StoreAttempt *>(wait);
  attempt->store->withdraw(attempt);
  if (attempt->discard)
    attempt->discard(*attempt);
  free(attempt);
}

StoreAttempt *makeAttempt(weir_context *ctx, Store *store, size_t size, weir_tensor &ticket,
                          int32_t *code) {
  *code = WEIR_RESOURCE_EXHAUSTED;
  if (!shapeResult(ctx, ticket, 0, nullptr))
    return nullptr;
  auto *attempt = static_cast<StoreAttempt *>(calloc(1, size));
  if (!attempt) {
    *code = failStoreMemory(ctx);
    return nullptr;
  }
  attempt->store = store;
  attempt->drop = dropAttempt;
  *static_cast<int64_t *>(ticket.data) = int64_t(uintptr_t(attempt));
  return attempt;
}

StoreAttempt *endedAttempt(weir_context *ctx, const weir_tensor &ticket, int32_t *code) {
  auto *attempt =
      reinterpret_cast<StoreAttempt *>(uintptr_t(*static_cast<const int64_t *>(ticket.data)));
  // Resumed because the run was aborted: its end withdraws the attempt.
  if (!hasEnded(attempt)) {
    *code = failMessage(ctx, WEIR_CANCELLED, "the run ended while it waited");
    return nullptr;
  }
  if (attempt->code != WEIR_OK) {
    *code = failMessage(ctx, attempt->code, attempt->message);
    freeAttempt(attempt);
    return nullptr;
  }
  return attempt;
}

void freeAttempt(StoreAttempt *attempt) {
  removeWait(attempt);
  if (attempt->discard)
    attempt->discard(*attempt);
  free(attempt);
}

} // namespace weir::rt
