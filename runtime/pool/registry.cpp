//===- registry.cpp - pools that sessions share ---------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pool/registry.h"

#include "session/status.h"

#include <stdlib.h>

namespace weir::rt {

namespace {

/// An executor that several sessions may use; `name` is "" for the process's.
struct SharedPool {
  SharedPool *next;
  Executor *executor;
  int32_t threads;
  int32_t users;
  char name[];
};

} // namespace

// With the table of handles (session/handles.cpp) the only mutable statics of the
// runtime. They need no constructor and no destructor; the list is empty whenever no session lives.
static Mutex sharedMutex;
static SharedPool *sharedPools;

static int32_t noMemory(weir_status *status) {
  StatusText(status, WEIR_RESOURCE_EXHAUSTED) << "no memory for a thread pool";
  return WEIR_RESOURCE_EXHAUSTED;
}

static int32_t acquireShared(const char *name, int32_t threads, Executor **executor,
                             weir_status *status) {
  Lock lock(sharedMutex);
  for (SharedPool *pool = sharedPools; pool; pool = pool->next) {
    if (strcmp(pool->name, name) != 0)
      continue;
    if (*name && pool->threads != threads) {
      StatusText(status, WEIR_FAILED_PRECONDITION)
          << "thread pool \"" << name << "\" has " << pool->threads
          << " threads, and this session asks for " << threads
          << "; sessions that name one pool agree on its size";
      return WEIR_FAILED_PRECONDITION;
    }
    ++pool->users;
    *executor = pool->executor;
    return WEIR_OK;
  }
  size_t length = strlen(name) + 1;
  auto *pool = static_cast<SharedPool *>(malloc(sizeof(SharedPool) + length));
  Executor *created = pool ? Executor::create(threads) : nullptr;
  if (!created) {
    free(pool);
    return noMemory(status);
  }
  *pool = {sharedPools, created, threads, 1};
  memcpy(pool->name, name, length);
  sharedPools = pool;
  *executor = created;
  return WEIR_OK;
}

int32_t acquireExecutor(const weir_session_options &options, int32_t threads, Executor **executor,
                        weir_status *status) {
  switch (options.pool_kind) {
  case WEIR_POOL_SESSION:
    *executor = Executor::create(threads);
    return *executor ? WEIR_OK : noMemory(status);
  case WEIR_POOL_PROCESS:
    return acquireShared("", threads, executor, status);
  case WEIR_POOL_NAMED:
    if (!options.pool_name || !*options.pool_name)
      break;
    return acquireShared(options.pool_name, threads, executor, status);
  case WEIR_POOL_CALLER:
    if (!options.pool || options.pool->size < sizeof(weir_thread_pool) || !options.pool->schedule)
      break;
    *executor = Executor::create(options.pool);
    return *executor ? WEIR_OK : noMemory(status);
  default:
    StatusText(status, WEIR_INVALID_ARGUMENT)
        << "expected pool_kind from 0 (session) to 3 (caller), got " << options.pool_kind;
    return WEIR_INVALID_ARGUMENT;
  }
  StatusText(status, WEIR_INVALID_ARGUMENT)
      << (options.pool_kind == WEIR_POOL_NAMED
              ? "a named pool needs pool_name"
              : "the caller's pool needs pool, with its size and schedule set");
  return WEIR_INVALID_ARGUMENT;
}

void releaseExecutor(Executor *executor) {
  SharedPool *last = nullptr;
  {
    Lock lock(sharedMutex);
    for (SharedPool **link = &sharedPools; *link; link = &(*link)->next) {
      if ((*link)->executor != executor)
        continue;
      if (--(*link)->users > 0)
        return;
      last = *link;
      *link = last->next;
      break;
    }
  }
  // Joining takes its time; another session may meanwhile make a new pool of
  // that name.
  executor->destroy();
  free(last);
}

} // namespace weir::rt
