//===- ThreadLanes.h - what each thread records by itself -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIRRUN_THREADLANES_H
#define WEIR_TOOLS_WEIRRUN_THREADLANES_H

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace weir::tools {

/// A lane for each thread that records, which it alone writes, without waiting for others. A
/// thread that has recorded for another object meanwhile gets a new lane when it comes back.
template <typename Lane> class ThreadLanes {
public:
  ThreadLanes() : number(++count) {}

  /// The calling thread's. Thread-safe; valid as long as this.
  Lane &ofThread() {
    thread_local uint64_t owner = 0;
    thread_local Lane *lane = nullptr;
    if (owner != number) {
      std::lock_guard<std::mutex> lock(mutex);
      lanes.push_back(std::make_unique<Lane>());
      lane = lanes.back().get();
      owner = number;
    }
    return *lane;
  }

  /// Not while threads record.
  const std::vector<std::unique_ptr<Lane>> &all() const { return lanes; }

private:
  static inline std::atomic<uint64_t> count{0};
  const uint64_t number; ///< never given twice: one may be made where another was
  std::mutex mutex;      ///< of `lanes`
  std::vector<std::unique_ptr<Lane>> lanes;
};

} // namespace weir::tools

#endif // WEIR_TOOLS_WEIRRUN_THREADLANES_H
