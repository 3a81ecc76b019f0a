//===- Lease.h - one process leads a job ------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIR_RUN_LEASE_H
#define WEIR_TOOLS_WEIR_RUN_LEASE_H

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace weir::tools {

/// A file that says who leads a job, in the folder of its checkpoints: a number that its process
/// drew, and another that it raises all the time. Whoever sees it stand still may take it, and who
/// finds another's number in it leads no more. Compares no clocks: hosts may differ. Two that take
/// it at once see each other before the first one goes on.
class Lease {
public:
  explicit Lease(std::string file) : file(std::move(file)) {}
  /// Gives it back if it is still this process's.
  ~Lease();
  Lease(const Lease &) = delete;
  Lease &operator=(const Lease &) = delete;

  /// Waits `patience` seconds where the file is there already, and as long again where it is
  /// contended. False, with the reason: another process leads, or it cannot be written.
  bool take(double patience, std::string &reason);
  /// Another process has taken it, or it could not be renewed for as long as others wait.
  bool isLost() const { return lost; }
  static bool exists(const std::string &file);

private:
  bool write(std::string &reason);
  void renew(double interval);

  const std::string file;
  std::string id;
  int64_t count = 0;
  std::atomic<bool> lost{false};
  std::mutex mutex; ///< guards `stop`
  std::condition_variable changed;
  bool stop = false;
  std::thread thread;
};

} // namespace weir::tools

#endif // WEIR_TOOLS_WEIR_RUN_LEASE_H
