//===- async.cpp - runs that their caller does not wait for -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A run wants a thread that helps the pool and waits for its end, and so does a checkpoint
// that is written. Here that is a thread of the session: one that lies idle, or a new one.
//
//===----------------------------------------------------------------------===//

#include "session/async.h"
#include "session/guarded_call.h"
#include "session/handles.h"
#include "session/run.h"

#include <new>
#include <stdlib.h>

namespace weir::rt {

namespace {

/// What a run was asked for with.
struct AsyncRun : AsyncWork {
  weir_session *session;
  int32_t entry, feedCount, fetchCount;
  const weir_tensor *feeds;
  weir_tensor *fetches;
  weir_run_options options;
  weir_run_done done;
  void *self;
};

} // namespace

/// Threads, and work that has none yet.
struct AsyncRuns {
  Mutex mutex;
  Condition changed;
  AsyncWork *first = nullptr, **last = &first;
  int32_t idle = 0;    ///< threads that wait
  int32_t waiting = 0; ///< in the list
  pthread_t *threads = nullptr;
  int32_t count = 0, capacity = 0;
  bool ending = false;
};

static void *serve(void *argument) {
  auto *runs = static_cast<AsyncRuns *>(argument);
  runs->mutex.lock();
  for (;;) {
    AsyncWork *work = runs->first;
    if (!work) {
      if (runs->ending)
        break;
      ++runs->idle;
      runs->changed.wait(runs->mutex);
      --runs->idle;
      continue;
    }
    runs->first = work->next;
    if (!runs->first)
      runs->last = &runs->first;
    --runs->waiting;
    runs->mutex.unlock();
    work->perform(work);
    runs->mutex.lock();
  }
  runs->mutex.unlock();
  return nullptr;
}

/// The mutex is held. False: there is no thread for the run.
static bool addThread(AsyncRuns *runs) {
  if (runs->count == runs->capacity) {
    int32_t wanted = runs->capacity ? runs->capacity * 2 : 4;
    auto *grown =
        static_cast<pthread_t *>(realloc(runs->threads, sizeof(pthread_t) * size_t(wanted)));
    if (!grown)
      return false;
    runs->threads = grown;
    runs->capacity = wanted;
  }
  if (pthread_create(&runs->threads[runs->count], nullptr, serve, runs) != 0)
    return false;
  ++runs->count;
  return true;
}

/// The session's, made when it is first asked for; null: no memory.
static AsyncRuns *runsOf(weir_session *session) {
  Lock lock(session->mutex);
  if (!session->asyncRuns)
    if (void *memory = malloc(sizeof(AsyncRuns)))
      session->asyncRuns = new (memory) AsyncRuns();
  return session->asyncRuns;
}

int32_t startWork(weir_session *session, AsyncWork *work, weir_status *status) {
  AsyncRuns *runs = runsOf(session);
  if (!runs) {
    StatusText(status, WEIR_RESOURCE_EXHAUSTED) << "no memory for a thread";
    return WEIR_RESOURCE_EXHAUSTED;
  }
  Lock lock(runs->mutex);
  // Each wants a thread: none may have to wait for another to end.
  if (runs->idle <= runs->waiting && !addThread(runs)) {
    StatusText(status, WEIR_RESOURCE_EXHAUSTED) << "the system has no thread for a run";
    return WEIR_RESOURCE_EXHAUSTED;
  }
  work->next = nullptr;
  *runs->last = work;
  runs->last = &work->next;
  ++runs->waiting;
  runs->changed.notifyAll();
  return setStatus(status, WEIR_OK);
}

void callDone(weir_run_done done, void *self, const weir_status *status) {
  auto call = [&] { done(self, status); };
  callGuarded(call);
}

static void performRun(AsyncWork *work) {
  auto *run = static_cast<AsyncRun *>(work);
  weir_status status = WEIR_STATUS_INIT;
  runAsked(run->session, run->entry, run->feeds, run->feedCount, run->fetches, run->fetchCount,
           &run->options, &status);
  callDone(run->done, run->self, &status);
  free(run);
}

void endAsyncRuns(AsyncRuns *runs) {
  if (!runs)
    return;
  {
    Lock lock(runs->mutex);
    runs->ending = true;
    runs->changed.notifyAll();
  }
  // Work that goes on may want threads for more: each was made by one that ends behind it.
  for (int32_t i = 0;; ++i) {
    pthread_t thread;
    {
      Lock lock(runs->mutex);
      if (i == runs->count)
        break;
      thread = runs->threads[i];
    }
    pthread_join(thread, nullptr);
  }
  free(runs->threads);
  runs->~AsyncRuns();
  free(runs);
}

} // namespace weir::rt

using namespace weir::rt;

int32_t weir_session_run_async(weir_session *session, int32_t entry, const weir_tensor *feeds,
                               int32_t feed_count, weir_tensor *fetches, int32_t fetch_count,
                               const weir_run_options *options, weir_run_done done, void *self,
                               weir_status *status) {
  constexpr const char *function = "weir_session_run_async";
  if (int32_t code = checkSession(session, function, status))
    return code;
  if (!done)
    return refuseNull(status, function, "done");
  if (int32_t code = checkRunOptions(options, function, status))
    return code;
  auto *run = static_cast<AsyncRun *>(calloc(1, sizeof(AsyncRun)));
  if (!run) {
    StatusText(status, WEIR_RESOURCE_EXHAUSTED) << "no memory for a run";
    return WEIR_RESOURCE_EXHAUSTED;
  }
  run->perform = performRun;
  run->session = session;
  run->entry = entry;
  run->feeds = feeds;
  run->feedCount = feed_count;
  run->fetches = fetches;
  run->fetchCount = fetch_count;
  if (options)
    memcpy(&run->options, options,
           options->size < sizeof(run->options) ? options->size : sizeof(run->options));
  run->options.size = sizeof(run->options);
  run->done = done;
  run->self = self;
  int32_t code = startWork(session, run, status);
  if (code)
    free(run);
  return code;
}
