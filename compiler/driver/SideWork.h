//===- SideWork.h - what is done beside generating code ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_SIDEWORK_H
#define WEIR_COMPILER_DRIVER_SIDEWORK_H

#include <functional>
#include <thread>

namespace weir::driver {

/// Work for one of the compilation's threads, done once: by a thread of its own from begin() on, or
/// else by who calls finish(). For one thread to call, but for finish().
class SideWork {
public:
  SideWork() = default;
  SideWork(const SideWork &) = delete;
  ~SideWork() { wait(); }

  void set(std::function<void()> given) { work = std::move(given); }
  explicit operator bool() const { return bool(work); }

  /// Starts a thread that does it, if there is anything to do.
  void begin() {
    if (work && !thread.joinable())
      thread = std::thread(work);
  }
  /// Waits for that thread, or does the work. Nothing is left then.
  void finish() {
    if (!wait() && work)
      work();
    work = nullptr;
  }
  /// Waits for that thread; false where there is none.
  bool wait() {
    if (!thread.joinable())
      return false;
    thread.join();
    return true;
  }

private:
  std::function<void()> work;
  std::thread thread;
};

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_SIDEWORK_H
