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
std::optional<PlanError> checkPlan(std::span<const PlacedBuffer> buffers, int64_t arenaBytes);

/// A step reads or writes `location` (a buffer, before any were put together) in
/// bytes [offset, offset + size) of the arena.
struct Access {
  int64_t location = 0;
  int64_t offset = 0;
  int64_t size = 0;
  bool isWrite = false;
};

/// Follows the accesses of a step in order, the inputs of an operation before its
/// outputs. Returns the first one that reads bytes which another location was
/// written to since: the legality of all aliasing, whatever led to it. Bytes that
/// nothing wrote may hold anything. O(n log n) for n accesses; thread-safe.
std::optional<PlanError> checkAccesses(std::span<const Access> accesses);

/// What a step does with bytes [offset, offset + size) of the arena, where copies to
/// and from other memory go on beside it.
struct TransferEvent {
  enum Kind { Read, Write, CopyOut, CopyIn, Await } kind = Read;
  int64_t copy = -1; ///< which one begins, or is over
  int64_t offset = 0;
  int64_t size = 0;
};

/// Follows a step in order: from its begin to its Await a copy out reads its bytes,
/// and a copy in writes them. Returns the first event that writes what is read, or
/// touches what is written, so. A copy out may go on to the end; a copy in must not.
std::optional<PlanError> checkTransfers(std::span<const TransferEvent> events);

} // namespace weir::memory

#endif // WEIR_PASSES_MEMORY_PLANCHECKER_H
