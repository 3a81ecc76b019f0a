//===- executor.cpp - the threads that a session works with ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pool/executor.h"

#include "support/float_environment.h"

#include <new>
#include <signal.h>
#include <stdlib.h>

namespace weir::rt {

/// Longer than a gap between two kernels, shorter than anyone would notice.
static constexpr int64_t spinTime = 50 * 1000;
static constexpr uint32_t sleeping = 1u << 31;

//===----------------------------------------------------------------------===//
// Making and ending
//===----------------------------------------------------------------------===//

static void *allocateAligned(size_t bytes) {
  void *data = nullptr;
  return posix_memalign(&data, 64, bytes) == 0 ? data : nullptr;
}

Executor *Executor::allocate(int32_t threads) {
  threads = threads < 1 ? 1 : threads > maxThreads ? maxThreads : threads;
  void *memory = allocateAligned(sizeof(Executor));
  auto *flags =
      static_cast<PartFlag *>(allocateAligned(sizeof(PartFlag) * size_t(threads) * slotCount));
  if (!memory || !flags) {
    free(memory);
    free(flags);
    return nullptr;
  }
  auto *executor = new (memory) Executor();
  executor->threadCount = threads;
  executor->flags = flags;
  for (int i = 0; i < slotCount; ++i) {
    executor->slots[i].flags = flags + size_t(i) * size_t(threads);
    for (int32_t part = 0; part < threads; ++part)
      new (&executor->slots[i].flags[part]) PartFlag{{0}};
  }
  // Spinning pays while there is a processor for each thread.
  if (threads <= usableProcessors())
    executor->spinNanoseconds = spinTime;
  return executor;
}

Executor *Executor::create(int32_t threads) {
  Executor *executor = allocate(threads);
  if (!executor || executor->threadCount == 1)
    return executor;
  int32_t wanted = executor->threadCount - 1;
  executor->workers = static_cast<Worker *>(allocateAligned(sizeof(Worker) * size_t(wanted)));
  if (!executor->workers) {
    executor->destroy();
    return nullptr;
  }
  // Signals are the program's own threads' business.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (int32_t i = 0; i < wanted; ++i) {
    auto *worker = new (&executor->workers[i]) Worker{};
    worker->executor = executor;
    worker->index = i + 1;
    if (pthread_create(&worker->thread, nullptr, workerMain, worker) != 0)
      break;
    pthread_setname_np(worker->thread, "weir");
    ++executor->workerCount;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return executor;
}

Executor *Executor::create(const weir_thread_pool *pool) {
  Executor *executor = allocate(pool->threads);
  if (executor)
    executor->callerPool = pool;
  return executor;
}

void Executor::destroy() {
  stopping.store(1, std::memory_order_seq_cst);
  epoch.fetch_add(1, std::memory_order_seq_cst);
  wakeWorkers(1, workerCount);
  for (int32_t i = 0; i < workerCount; ++i)
    pthread_join(workers[i].thread, nullptr);
  // Rare and short, so not worth a wake-up whose last step would touch us.
  while (helpers.load(std::memory_order_acquire) != 0) {
    timespec pause = toTimespec(50 * 1000);
    nanosleep(&pause, nullptr);
  }
  free(workers);
  free(flags);
  this->~Executor();
  free(this);
}

//===----------------------------------------------------------------------===//
// Parallel regions
//===----------------------------------------------------------------------===//

/// Takes part `part` if it is still on offer, and runs it.
bool Executor::runPart(Slot &slot, int32_t part, int32_t thread) {
  std::atomic<uint32_t> &offered = slot.flags[part].offered;
  uint32_t expected = 1;
  // The exchange is what makes `run` and `argument` of this region visible, and
  // holds the region open: it cannot end before finishPart.
  if (offered.load(std::memory_order_relaxed) != 1 ||
      !offered.compare_exchange_strong(expected, 0, std::memory_order_acquire,
                                       std::memory_order_relaxed))
    return false;
  slot.run(slot.argument, part, thread);
  finishPart(slot);
  return true;
}

void Executor::finishPart(Slot &slot) {
  if (slot.remaining.fetch_sub(1, std::memory_order_acq_rel) == (sleeping | 1))
    futexWake(slot.remaining, 1);
}

void Executor::parallel(PartFn run, void *argument, int32_t parts) {
  uint32_t all = (1u << slotCount) - 1;
  uint32_t bits = taken.load(std::memory_order_relaxed);
  do {
    // With one part there is nothing to share; with as many regions as slots
    // everyone is busy anyway.
    if (parts <= 1 || bits == all) {
      for (int32_t part = 0; part < parts; ++part)
        run(argument, part, 0);
      return;
    }
  } while (!taken.compare_exchange_weak(bits, bits | (bits + 1), std::memory_order_acquire,
                                        std::memory_order_relaxed));
  uint32_t bit = ~bits & (bits + 1);
  Slot &slot = slots[__builtin_ctz(bit)];
  slot.run = run;
  slot.argument = argument;
  slot.remaining.store(uint32_t(parts - 1), std::memory_order_relaxed);
  for (int32_t part = 1; part < parts; ++part)
    slot.flags[part].offered.store(1, std::memory_order_release);
  active.fetch_or(bit, std::memory_order_release);
  epoch.fetch_add(1, std::memory_order_seq_cst);
  if (callerPool)
    for (int32_t part = 1; part < parts && scheduleHelper(); ++part)
      ;
  else
    wakeWorkers(1, parts - 1);

  run(argument, 0, 0);
  // What no one has begun by now is ours; from the far end, where threads that
  // were woken last would be.
  for (int32_t part = parts - 1; part > 0; --part)
    runPart(slot, part, 0);
  active.fetch_and(~bit, std::memory_order_relaxed);

  uint32_t remaining = slot.remaining.load(std::memory_order_acquire);
  if (remaining != 0) {
    int64_t give = spinNanoseconds ? now() + spinNanoseconds : 0;
    for (int spin = 1; remaining != 0 && give; ++spin) {
      spinPause();
      remaining = slot.remaining.load(std::memory_order_acquire);
      if (spin % 64 == 0 && now() > give)
        break;
    }
    if (remaining != 0) {
      slot.remaining.fetch_or(sleeping, std::memory_order_acq_rel);
      while ((remaining = slot.remaining.load(std::memory_order_acquire)) != sleeping)
        futexWait(slot.remaining, remaining);
    }
  }
  taken.fetch_and(~bit, std::memory_order_release);
}

//===----------------------------------------------------------------------===//
// Threads of ours
//===----------------------------------------------------------------------===//

void *Executor::workerMain(void *worker) {
  FloatEnvironment environment;
  auto *self = static_cast<Worker *>(worker);
  self->executor->work(*self);
  return nullptr;
}

/// Waits a little for the epoch to move on; false when it did not.
bool Executor::idleSpin(uint32_t seen) {
  if (spinNanoseconds == 0)
    return false;
  int64_t give = now() + spinNanoseconds;
  for (int spin = 1;; ++spin) {
    if (epoch.load(std::memory_order_acquire) != seen)
      return true;
    spinPause();
    if (spin % 64 == 0 && now() > give)
      return false;
  }
}

void Executor::work(Worker &worker) {
  for (;;) {
    uint32_t seen = epoch.load(std::memory_order_seq_cst);
    bool worked = false;
    for (uint32_t rest = active.load(std::memory_order_acquire); rest; rest &= rest - 1)
      worked |= runPart(slots[__builtin_ctz(rest)], worker.index, worker.index);
    if (queued.load(std::memory_order_acquire) != 0)
      if (Task *task = takeTask(nullptr)) {
        task->run(task);
        worked = true;
      }
    if (worked || idleSpin(seen))
      continue;
    if (stopping.load(std::memory_order_acquire))
      return;
    // Publishers count the epoch up and then look at `parked`; we do it the
    // other way round, so that one of us sees the other.
    worker.parked.store(1, std::memory_order_seq_cst);
    if (epoch.load(std::memory_order_seq_cst) == seen)
      futexWait(worker.parked, 1);
    worker.parked.store(0, std::memory_order_relaxed);
  }
}

/// Wakes those of the workers first…last (their indices) that sleep.
void Executor::wakeWorkers(int32_t first, int32_t last) {
  for (int32_t i = first; i <= last && i <= workerCount; ++i) {
    std::atomic<uint32_t> &parked = workers[i - 1].parked;
    if (parked.load(std::memory_order_seq_cst) && parked.exchange(0, std::memory_order_seq_cst))
      futexWake(parked, 1);
  }
}

//===----------------------------------------------------------------------===//
// The caller's threads
//===----------------------------------------------------------------------===//

bool Executor::scheduleHelper() {
  helpers.fetch_add(1, std::memory_order_relaxed);
  if (callerPool->schedule(callerPool->self, poolMain, this))
    return true;
  helpers.fetch_sub(1, std::memory_order_release);
  return false;
}

/// Does whatever there is to do now, on a thread of the caller's pool.
void Executor::poolMain(void *argument) {
  FloatEnvironment environment;
  auto *self = static_cast<Executor *>(argument);
  for (bool worked = true; worked;) {
    worked = false;
    for (uint32_t rest = self->active.load(std::memory_order_acquire); rest; rest &= rest - 1)
      for (int32_t part = 1; part < self->threadCount; ++part)
        worked |= self->runPart(self->slots[__builtin_ctz(rest)], part, part);
    if (self->queued.load(std::memory_order_acquire) != 0)
      if (Task *task = self->takeTask(nullptr)) {
        task->run(task);
        worked = true;
      }
  }
  self->helpers.fetch_sub(1, std::memory_order_release);
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

/// Tells threads apart; never 0.
static uintptr_t thisThread() { return uintptr_t(pthread_self()); }

void Executor::post(Task *task) {
  bool attended;
  TaskOwner &owner = *task->owner;
  uintptr_t attendant = owner.attendant.load(std::memory_order_relaxed);
  if (attendant != 0 && attendant == thisThread() && !owner.handed) {
    owner.handed = task;
    return;
  }
  {
    Lock lock(taskMutex);
    task->previous = tail;
    task->next = nullptr;
    (tail ? tail->next : head) = task;
    tail = task;
    // Its own thread takes the first one sooner than any that must be woken.
    attended = !owner.head && owner.attendant.load(std::memory_order_relaxed) != 0;
    task->ownerPrevious = owner.tail;
    task->ownerNext = nullptr;
    (owner.tail ? owner.tail->ownerNext : owner.head) = task;
    owner.tail = task;
    queued.fetch_add(1, std::memory_order_release);
    // Under the lock: no one can take the task, end it and with it the owner.
    owner.notify();
  }
  if (attended)
    return;
  if (callerPool) {
    scheduleHelper();
    return;
  }
  epoch.fetch_add(1, std::memory_order_seq_cst);
  for (int32_t i = 0; i < workerCount; ++i)
    if (workers[i].parked.load(std::memory_order_seq_cst)) {
      wakeWorkers(i + 1, i + 1);
      return;
    }
}

void Executor::unlink(Task *task) {
  (task->previous ? task->previous->next : head) = task->next;
  (task->next ? task->next->previous : tail) = task->previous;
  TaskOwner &owner = *task->owner;
  (task->ownerPrevious ? task->ownerPrevious->ownerNext : owner.head) = task->ownerNext;
  (task->ownerNext ? task->ownerNext->ownerPrevious : owner.tail) = task->ownerPrevious;
  queued.fetch_sub(1, std::memory_order_relaxed);
}

/// The oldest task, or the oldest of `owner`'s; null: none.
Task *Executor::takeTask(TaskOwner *owner) {
  Lock lock(taskMutex);
  Task *task = owner ? owner->head : head;
  if (task)
    unlink(task);
  return task;
}

bool Executor::helpUntil(TaskOwner &owner, bool (*done)(TaskOwner &owner), int64_t deadline,
                         const IdleWork *idle) {
  struct Seen {
    TaskOwner &owner;
    uint32_t events;
    static int32_t changed(void *argument) {
      auto &seen = *static_cast<Seen *>(argument);
      return seen.owner.handed || seen.owner.events.load(std::memory_order_relaxed) != seen.events;
    }
  };
  for (;;) {
    uint32_t seen = owner.events.load(std::memory_order_seq_cst);
    if (done(owner))
      return true;
    // What is queued from here on changes `events`.
    if (queued.load(std::memory_order_acquire) != 0)
      if (Task *task = takeTask(&owner)) {
        task->run(task);
        continue;
      }
    if (idle) {
      Seen before{owner, seen};
      owner.attendant.store(thisThread(), std::memory_order_relaxed);
      idle->run(idle->self, Seen::changed, &before);
      owner.attendant.store(0, std::memory_order_relaxed);
      if (Task *task = owner.handed) {
        owner.handed = nullptr;
        task->run(task);
        continue;
      }
      // A task that was left to this thread has changed `events`, too.
      if (Seen::changed(&before))
        continue;
    }
    owner.parked.store(1, std::memory_order_seq_cst);
    if (owner.events.load(std::memory_order_seq_cst) == seen)
      futexWaitUntil(owner.events, seen, deadline);
    owner.parked.store(0, std::memory_order_relaxed);
    if (deadline != noDeadline && now() >= deadline)
      return done(owner);
  }
}

} // namespace weir::rt
