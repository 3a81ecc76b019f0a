//===- PlanChecker.h - What every memory plan must satisfy -----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Judges a plan by the definition alone: bounds, alignment, and no two buffers
// that live at the same moment and overlap in the arena. It shares no code with
// the planner, so that one mistake cannot hide in both.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_MEMORY_PLANCHECKER_H
#define WEIR_PASSES_MEMORY_PLANCHECKER_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace weir::memory {

/// A buffer as it was placed: bytes [offset, offset + size) during [lower,
/// upper).
struct PlacedBuffer {
  int64_t lower = 0;
  int64_t upper = 0;
  int64_t size = 0;
  int64_t alignment = 1;
  int64_t offset = 0;
};

/// Buffers that broke a rule; `second` is -1 unless two are needed.
struct PlanError {
  std::ptrdiff_t first = -1;
  std::ptrdiff_t second = -1;
  std::string message;
};

/// Returns the first broken rule found, or nothing for a plan that is right in
/// an arena of `arenaBytes`. O(n log n); thread-safe.
std::optional<PlanError> checkPlan(std::span<const PlacedBuffer> buffers,
                                   int64_t arenaBytes);

} // namespace weir::memory

#endif // WEIR_PASSES_MEMORY_PLANCHECKER_H
