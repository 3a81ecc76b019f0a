//===- ForkServer.h - cases in processes of their own -----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs many small pieces of work in forked copies of this process, which must
// be single-threaded: everything that is slow to load is loaded once, and a
// crash, a hang or a leak costs one case. A child takes a few cases one after
// the other (forking a process with LLVM in it takes milliseconds) and is
// replaced then; when it dies, the case that it was at is the one that is lost.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_EXECUTE_FORKSERVER_H
#define WEIR_COMPILER_EXECUTE_FORKSERVER_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace weir {

struct ForkOptions {
  unsigned jobs = 1;           ///< children at once
  double secondsPerCase = 20;  ///< wall clock
  int64_t memoryLimit = 0;     ///< bytes of private memory a child, 0: none
  unsigned casesPerChild = 16; ///< before it is replaced
};

struct ForkedResult {
  enum class Kind { Done, Crashed, TimedOut };
  Kind kind = Kind::Done;
  /// What the work returned; for a crash the signal or exit status, and the
  /// last line that the child wrote to stderr.
  std::string text;
  double seconds = 0;
};

/// Calls `work(i)` for i in [0, count) in children, and `done(i, result)` here
/// as results come, in no fixed order. What children write to stdout and stderr
/// is kept from the terminal. False: no process could be made.
bool runForked(size_t count, const ForkOptions &options,
               const std::function<std::string(size_t)> &work,
               const std::function<void(size_t, const ForkedResult &)> &done);

} // namespace weir

#endif // WEIR_COMPILER_EXECUTE_FORKSERVER_H
