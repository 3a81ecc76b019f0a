//===- sync.h - mutexes, conditions, futexes, clocks ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_SUPPORT_SYNC_H
#define WEIR_RUNTIME_SUPPORT_SYNC_H

#include <atomic>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace weir::rt {

inline constexpr int64_t noDeadline = INT64_MAX;

/// Nanoseconds on the monotonic clock.
inline int64_t now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t(t.tv_sec) * 1000000000 + t.tv_nsec;
}

inline timespec toTimespec(int64_t nanoseconds) {
  return {time_t(nanoseconds / 1000000000), long(nanoseconds % 1000000000)};
}

/// Sleeps while `word` holds `expected`; may also return for no reason.
inline void futexWait(std::atomic<uint32_t> &word, uint32_t expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}
/// The same until `deadline` on the monotonic clock (absolute, hence _BITSET).
inline void futexWaitUntil(std::atomic<uint32_t> &word, uint32_t expected, int64_t deadline) {
  if (deadline == noDeadline)
    return futexWait(word, expected);
  timespec t = toTimespec(deadline);
  syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, expected, &t, nullptr,
          FUTEX_BITSET_MATCH_ANY);
}
inline void futexWake(std::atomic<uint32_t> &word, int count = INT_MAX) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

/// Tells the core that this is a spin loop.
inline void spinPause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// A mutex that needs no constructor to run, so that statics may hold one. Two
/// instructions in line while nobody else wants it: a message between tasks
/// takes several. 0 is free, 1 held, 2 held and maybe waited for (after Ulrich
/// Drepper, "Futexes Are Tricky", 2011).
class Mutex {
public:
  void lock() {
    uint32_t free = 0;
    if (!state.compare_exchange_strong(free, 1, std::memory_order_acquire,
                                       std::memory_order_relaxed))
      lockSlowly();
  }
  bool tryLock() {
    uint32_t free = 0;
    return state.compare_exchange_strong(free, 1, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }
  void unlock() {
    if (state.exchange(0, std::memory_order_release) == 2)
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
    while (state.exchange(2, std::memory_order_acquire) != 0)
      futexWait(state, 2);
  }

  std::atomic<uint32_t> state{0};
};

template <typename M> class Lock {
public:
  explicit Lock(M &mutex) : mutex(mutex) { mutex.lock(); }
  ~Lock() { mutex.unlock(); }
  Lock(const Lock &) = delete;
  Lock &operator=(const Lock &) = delete;

private:
  M &mutex;
};

/// A condition variable on the monotonic clock. Waits may end for no reason.
class Condition {
public:
  Condition() = default;
  Condition(const Condition &) = delete;
  Condition &operator=(const Condition &) = delete;

  /// The mutex of those who wait is held.
  void notifyAll() {
    changes.fetch_add(1, std::memory_order_relaxed);
    if (waiting > 0)
      futexWake(changes);
  }
  template <typename M> void wait(M &mutex) { waitUntil(mutex, noDeadline); }
  /// Until isOver(), asked with the mutex held.
  template <typename M, typename Predicate> void wait(M &mutex, Predicate isOver) {
    waitUntil(mutex, noDeadline, isOver);
  }
  template <typename M, typename Predicate>
  void waitUntil(M &mutex, int64_t deadline, Predicate isOver) {
    while (!isOver() && waitUntil(mutex, deadline))
      ;
  }
  /// False when the deadline has passed.
  template <typename M> bool waitUntil(M &mutex, int64_t deadline) {
    // Who notifies after the unlock changes what the sleep compares with.
    uint32_t seen = changes.load(std::memory_order_relaxed);
    ++waiting;
    mutex.unlock();
    futexWaitUntil(changes, seen, deadline);
    mutex.lock();
    --waiting;
    return deadline == noDeadline || now() < deadline;
  }

private:
  std::atomic<uint32_t> changes{0};
  int32_t waiting = 0;
};

} // namespace weir::rt

#endif // WEIR_RUNTIME_SUPPORT_SYNC_H
