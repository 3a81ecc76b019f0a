//===- executor.h - the threads that a session works with -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Two kinds of work. A parallel region is one kernel's loop, cut into one part
// a thread: it is published in a slot, each thread of ours has its own flag
// there, and the publisher works, too, and takes over every part that no one
// has begun. So a region never waits for a thread to wake up, and needs no
// lock. A task is a resumed step of a run with several devices, which is rare:
// tasks go through a queue with a lock. Both are open to the thread that waits
// for them, so that a session works with no threads of its own at all.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_POOL_EXECUTOR_H
#define WEIR_RUNTIME_POOL_EXECUTOR_H

#include "support/sync.h"
#include "weir/weir.h"

#include <pthread.h>

namespace weir::rt {

inline constexpr int32_t maxThreads = 1024;

class TaskOwner;

/// A piece of work that is run once. Belongs to its owner.
struct Task {
  void (*run)(Task *task);
  TaskOwner *owner;
  Task *previous, *next;           ///< in the executor's queue
  Task *ownerPrevious, *ownerNext; ///< among the owner's queued tasks
};

/// Who posts tasks and waits for them: a run. Lives until all its tasks ended.
class TaskOwner {
public:
  /// Wakes the waiting thread, to look again. The caller makes sure that the
  /// owner is not destroyed meanwhile.
  void notify() {
    events.fetch_add(1, std::memory_order_seq_cst);
    if (parked.load(std::memory_order_seq_cst))
      futexWake(events, 1);
  }

private:
  friend class Executor;
  Task *head = nullptr, *tail = nullptr; ///< guarded by the executor's lock
  std::atomic<uint32_t> events{0};
  std::atomic<uint32_t> parked{0};
  /// The waiting thread while it does idle work: it is awake, and looks at
  /// `events` before it sleeps. 0: it does none.
  std::atomic<uintptr_t> attendant{0};
  /// What that thread itself has posted meanwhile: its next task, in no queue.
  Task *handed = nullptr;
};

/// What a waiting thread does before it sleeps: returns once changed(argument),
/// or when it is no longer worth it. The first task of its owner that it posts
/// in there goes to it directly.
struct IdleWork {
  void (*run)(void *self, int32_t (*changed)(void *argument), void *argument);
  void *self;
};

/// Runs part `part` of a region, on thread `thread` (0: who published it).
using PartFn = void (*)(void *argument, int32_t part, int32_t thread);

/// Thread-safe.
class Executor {
public:
  /// `threads` counts the publishing one: threads - 1 are started, fewer when
  /// the system has no more. Null when there is no memory.
  static Executor *create(int32_t threads);
  /// Works on the caller's threads.
  static Executor *create(const weir_thread_pool *pool);
  /// No work may be in progress. Joins threads, or waits until the caller's
  /// pool has called whatever it promised to.
  void destroy();

  int32_t threads() const { return threadCount; }

  /// Calls run(argument, part, thread) once for each part in [0, parts), parts
  /// <= threads(), and returns when all have ended. May be called from a part
  /// or a task.
  void parallel(PartFn run, void *argument, int32_t parts);

  /// Queues a task for any thread.
  void post(Task *task);
  /// Runs queued tasks of `owner` on this thread until done() or the deadline.
  /// Returns false for the deadline. `done` is asked after each notify. One
  /// thread an owner.
  bool helpUntil(TaskOwner &owner, bool (*done)(TaskOwner &owner), int64_t deadline,
                 const IdleWork *idle = nullptr);

private:
  static constexpr int slotCount = 16;
  static constexpr size_t line = 64;

  /// A flag on a cache line of its own; 1: the part may be taken.
  struct alignas(line) PartFlag {
    std::atomic<uint32_t> offered;
  };
  struct alignas(line) Slot {
    PartFn run;
    void *argument;
    PartFlag *flags; ///< one a part
    /// Parts that have not ended; the top bit says that the publisher sleeps.
    alignas(line) std::atomic<uint32_t> remaining;
  };
  struct alignas(line) Worker {
    Executor *executor;
    int32_t index; ///< from 1: the part of a region it serves
    pthread_t thread;
    std::atomic<uint32_t> parked;
  };

  Executor() = default;
  ~Executor() = default;
  static Executor *allocate(int32_t threads);
  static void *workerMain(void *worker);
  static void poolMain(void *executor);
  void work(Worker &worker);
  bool runPart(Slot &slot, int32_t part, int32_t thread);
  void finishPart(Slot &slot);
  void wakeWorkers(int32_t first, int32_t last);
  bool scheduleHelper();
  Task *takeTask(TaskOwner *owner);
  void unlink(Task *task);
  bool idleSpin(uint32_t seen);

  int32_t threadCount = 1;
  int32_t workerCount = 0;
  Worker *workers = nullptr; ///< workerCount of them
  PartFlag *flags = nullptr;
  Slot slots[slotCount];
  int64_t spinNanoseconds = 0;
  const weir_thread_pool *callerPool = nullptr;

  alignas(line) std::atomic<uint32_t> taken{0};  ///< slots in use, as bits
  alignas(line) std::atomic<uint32_t> active{0}; ///< slots that offer parts
  alignas(line) std::atomic<uint32_t> epoch{0};  ///< counts publications
  std::atomic<uint32_t> stopping{0};
  std::atomic<uint32_t> queued{0};  ///< tasks in the queue
  std::atomic<uint32_t> helpers{0}; ///< calls the caller's pool still owes
  Mutex taskMutex;
  Task *head = nullptr, *tail = nullptr;
};

/// How many threads the process may run at once: its affinity mask, and the
/// quota of its control group.
int32_t usableProcessors();

} // namespace weir::rt

#endif // WEIR_RUNTIME_POOL_EXECUTOR_H
