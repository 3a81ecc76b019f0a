//===- store.h - what runs wait for at a shared place -----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A store is state of a session under a lock, and a line of attempts at it. An
// attempt is tried at once, and again after each change; its step is suspended
// until it is over (session/waits.h).
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_STORES_STORE_H
#define WEIR_RUNTIME_STORES_STORE_H

#include "kernels/string_support.h"
#include "session/resources.h"
#include "session/waits.h"
#include "support/sync.h"
#include "weir/stores.h"

#include <new>
#include <stdlib.h>

namespace weir::rt {

class Store;

/// Of a run that wants something of a store. Made by `makeAttempt`.
struct StoreAttempt : Wait {
  Store *store;
  StoreAttempt *following;
  bool isPending;      ///< in the store's line
  int32_t code;        ///< WEIR_OK, or why it failed
  const char *message; ///< of that failure; static
  /// Tries it under the store's lock: true: it is over. Whoever changes the
  /// store in it says so, for others who wait.
  bool (*attempt)(StoreAttempt &self, bool &changes);
  /// Frees what the attempt holds; null: nothing.
  void (*discard)(StoreAttempt &self);

  bool fail(int32_t with, const char *why) {
    code = with;
    message = why;
    return true;
  }
};

/// Thread-safe where nothing else is said.
class Store : public Resource {
public:
  /// Guards what heirs hold.
  Mutex mutex;

  /// The store takes part in the attempt from here on, which may be over at once.
  void begin(weir_context *ctx, StoreAttempt *attempt);
  /// Tries who waits, after a change. The lock is held; who is to be resumed is
  /// added to `ready`, for postTasks without the lock.
  void serve(Task **ready);
  /// Takes an attempt out of the line.
  void withdraw(StoreAttempt *attempt);

protected:
  /// In order: who stands behind one that cannot be served is not tried.
  explicit Store(bool inOrder) : inOrder(inOrder) {}

private:
  void remove(StoreAttempt *before, StoreAttempt *attempt);

  const bool inOrder;
  StoreAttempt *first = nullptr, *last = nullptr;
};

/// A new store of type T, whose `startAnew` makes it what it is in a new session; the
/// lock is held. Null: no memory.
template <typename T, typename... Args> T *newStore(const Args &...args) {
  void *memory = malloc(sizeof(T));
  if (!memory)
    return nullptr;
  auto *store = new (memory) T(args...);
  store->reset = [](Resource *self) {
    auto *store = static_cast<T *>(self);
    Lock lock(store->mutex);
    store->startAnew();
  };
  store->destroy = [](Resource *self) {
    auto *store = static_cast<T *>(self);
    store->~T();
    ::free(store);
  };
  return store;
}

/// Gives the number that `count()` reads under the store's lock. WEIR_OK, or the run has
/// failed.
template <typename Count>
int32_t giveCount(weir_context *ctx, Store &store, weir_tensor &result, Count count) {
  if (!shapeResult(ctx, result, 0, nullptr))
    return WEIR_RESOURCE_EXHAUSTED;
  Lock lock(store.mutex);
  storeIndex(result, 0, count());
  return WEIR_OK;
}

/// The store that a call names, made by `make(data)` at its first use; null: the
/// run has failed, with `code`.
Store *openStore(weir_context *ctx, const weir_tensor &name, Resource *(*make)(void *), void *data,
                 int32_t *code);

/// An attempt of `size` bytes, zeroed behind its head, whose ticket is given
/// already: what follows cannot fail. Null: the run has failed, with `code`.
StoreAttempt *makeAttempt(weir_context *ctx, Store *store, size_t size, weir_tensor &ticket,
                          int32_t *code);

template <typename T>
T *makeAttemptOf(weir_context *ctx, Store *store, weir_tensor &ticket, int32_t *code) {
  return static_cast<T *>(makeAttempt(ctx, store, sizeof(T), ticket, code));
}

/// The attempt of a ticket, which is over; null: the run has failed, with `code`.
StoreAttempt *endedAttempt(weir_context *ctx, const weir_tensor &ticket, int32_t *code);

/// Takes leave of an attempt that is over, and frees it.
void freeAttempt(StoreAttempt *attempt);

/// Copies `value` into a result of its dtype. WEIR_OK, or the run has failed.
int32_t giveTensor(weir_context *ctx, const weir_tensor &value, weir_tensor &result);

int32_t failStoreMemory(weir_context *ctx);

} // namespace weir::rt

#endif // WEIR_RUNTIME_STORES_STORE_H
