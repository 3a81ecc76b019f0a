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
#include <pthread.h>
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

/// A mutex that needs no constructor to run, so that statics may hold one.
class Mutex {
public:
  void lock() { pthread_mutex_lock(&handle); }
  void unlock() { pthread_mutex_unlock(&handle); }

private:
  friend class Condition;
  pthread_mutex_t handle = PTHREAD_MUTEX_INITIALIZER;
};

class Lock {
public:
  explicit Lock(Mutex &mutex) : mutex(mutex) { mutex.lock(); }
  ~Lock() { mutex.unlock(); }
  Lock(const Lock &) = delete;
  Lock &operator=(const Lock &) = delete;

private:
  Mutex &mutex;
};

/// A condition variable on the monotonic clock.
class Condition {
public:
  Condition() {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&handle, &attributes);
    pthread_condattr_destroy(&attributes);
  }
  ~Condition() { pthread_cond_destroy(&handle); }
  Condition(const Condition &) = delete;
  Condition &operator=(const Condition &) = delete;

  void notifyAll() { pthread_cond_broadcast(&handle); }
  void wait(Mutex &mutex) { pthread_cond_wait(&handle, &mutex.handle); }
  /// False when the deadline has passed.
  bool waitUntil(Mutex &mutex, int64_t deadline) {
    timespec t = toTimespec(deadline);
    return pthread_cond_timedwait(&handle, &mutex.handle, &t) != ETIMEDOUT;
  }

private:
  pthread_cond_t handle;
};

/// Sleeps while `word` holds `expected`; may also return for no reason.
inline void futexWait(std::atomic<uint32_t> &word, uint32_t expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}
/// The same until `deadline` on the monotonic clock (absolute, hence _BITSET).
inline void futexWaitUntil(std::atomic<uint32_t> &word, uint32_t expected,
                           int64_t deadline) {
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

} // namespace weir::rt

#endif // WEIR_RUNTIME_SUPPORT_SYNC_H
