//===- MemoryLimit.h - what --memory-limit says ------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_MEMORYLIMIT_H
#define WEIR_COMPILER_DRIVER_MEMORYLIMIT_H

#include "compiler/driver/Work.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <map>
#include <optional>

namespace weir::driver {

class Pipeline;

/// "1536", "512M", "1.5GiB": bytes; nothing for anything else.
std::optional<int64_t> parseSize(llvm::StringRef text);

/// What the plan does about values of nodes to stay within the limit, the dearest first.
std::vector<Report::MemoryChoice> memoryChoicesOf(mlir::ModuleOp module);

/// A compilation's --memory-limit, that checkOptions() has passed.
class MemoryLimit {
public:
  explicit MemoryLimit(const Options &options);
  explicit operator bool() const { return bytes.has_value(); }

  /// Runs the stages from kernelize to plan-memory, more than once where a plan comes to
  /// more, and leaves the module of the best one. False where a pass failed.
  bool plan(Work &work, Pipeline &pipeline);
  /// Whether the program that code was made of stays within; W0610 where it does not.
  bool check(const Work &work) const;

private:
  std::optional<int64_t> bytes; ///< that a device may use
  /// Bytes of a run's results on each device, known once plan() ran.
  std::map<int64_t, int64_t> resultBytes;
};

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_MEMORYLIMIT_H
