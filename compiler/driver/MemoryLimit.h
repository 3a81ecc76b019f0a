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

/// Bytes that a run of the largest entry takes on a device: its arena, and results of fixed size
/// where the caller brings no memory for them; on an accelerator what it receives instead.
struct MemoryNeed {
  int64_t arena = 0, results = 0;
  int64_t sum() const { return arena + results; }
};

/// A compilation's --memory-limit, that checkOptions() has passed.
class MemoryLimit {
public:
  explicit MemoryLimit(const Options &options);
  explicit operator bool() const { return bytes.has_value(); }

  /// Runs the stages from kernelize to plan-memory, more than once where a plan comes to
  /// more, and leaves the module of the best one. False where a pass failed.
  bool plan(Work &work, Pipeline &pipeline);
  /// After plan(): bytes that the best plan takes beyond what is allowed; at most 0: it fits.
  int64_t excess() const { return beyond; }
  /// Whether the program that code was made of stays within; W0610 where it does not.
  bool check(const Work &work) const;

private:
  std::optional<int64_t> bytes; ///< that a device may use
  int64_t beyond = 0;
  /// By device, known once plan() ran.
  std::map<int64_t, MemoryNeed> needs;
};

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_MEMORYLIMIT_H
