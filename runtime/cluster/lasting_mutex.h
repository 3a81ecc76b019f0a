//===- lasting_mutex.h - a mutex that outlives who gives it up --*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One locked instruction to take it and none to give it up, where a usual mutex
// needs two: a message takes several such locks, and nobody else wants them then.
// Who gives it up stores that it is free, and reads afterwards whether anyone
// waits. A processor may do these two in the other order, and so miss who has
// just begun to wait: who waits therefore has the system run a barrier on all
// processors that run threads of this process (membarrier) in between counting
// itself and looking at the state for the last time. (An asymmetric form of
// Dekker's algorithm; Dice, Huang and Yang, "Asymmetric Dekker Synchronization",
// 2001.) Where the system cannot, each gives it up with a barrier.
//
// The mutex is read after it was given up: it must not be destroyed by who takes
// it next while others may still be in `unlock`.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CLUSTER_LASTING_MUTEX_H
#define WEIR_RUNTIME_CLUSTER_LASTING_MUTEX_H

#include "support/sync.h"

#include <linux/membarrier.h>

namespace weir::rt::cluster {

inline bool callMembarrier(int command) { return syscall(SYS_membarrier, command, 0, 0) == 0; }
/// Whether `barrierEverywhere` works in this process.
inline const bool hasBarrierEverywhere =
    callMembarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
    callMembarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);

/// False: it cannot be told that all threads have passed a barrier.
inline bool barrierEverywhere() {
  return callMembarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) ||
         // A child of the process that registered.
         (callMembarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
          callMembarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED));
}

class LastingMutex {
public:
  void lock() {
    if (!tryLock())
      lockSlowly();
  }
  bool tryLock() {
    uint32_t free = 0;
    return state.compare_exchange_strong(free, 1, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }
  void unlock() {
    state.store(0, std::memory_order_release);
    if (hasBarrierEverywhere)
      std::atomic_signal_fence(std::memory_order_seq_cst);
    else
      std::atomic_thread_fence(std::memory_order_seq_cst);
    if (waiting.load(std::memory_order_relaxed) != 0)
      futexWake(state, 1);
  }

private:
  [[gnu::noinline]] void lockSlowly() {
    // Sections are short: who holds it is likely to be done at once.
    for (int spin = 0; spin < 40; ++spin) {
      spinPause();
      if (state.load(std::memory_order_relaxed) == 0 && tryLock())
        return;
    }
    // Without the barrier, a wake-up may be missed, and is not waited for.
    constexpr int64_t patience = 1000000;
    waiting.fetch_add(1, std::memory_order_seq_cst);
    bool isSeen = !hasBarrierEverywhere || barrierEverywhere();
    while (!tryLock())
      futexWaitUntil(state, 1, isSeen ? noDeadline : now() + patience);
    waiting.fetch_sub(1, std::memory_order_relaxed);
  }

  std::atomic<uint32_t> state{0};
  std::atomic<uint32_t> waiting{0}; ///< threads that sleep, or are about to
};

} // namespace weir::rt::cluster

#endif // WEIR_RUNTIME_CLUSTER_LASTING_MUTEX_H
