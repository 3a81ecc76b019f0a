//===- ArenaRanges.h - who touches which bytes of the arena ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PLAN_ARENARANGES_H
#define WEIR_PASSES_PLAN_ARENARANGES_H

#include "dialects/plan/Buffers.h"

namespace weir::plan {

/// Bytes of the arena; none where both are equal.
struct ArenaRange {
  int64_t begin = 0, end = 0;

  bool meets(const ArenaRange &other) const { return begin < other.end && other.begin < end; }
};

/// Where a buffer lies, once it has an offset; empty for what is not in the arena.
ArenaRange rangeOf(mlir::Value buffer);

/// Whether `op`, or what is in it, uses a buffer for which `isOne` holds; only writes, frees among
/// them, count where `writesOnly`.
bool touches(mlir::Operation &op, llvm::function_ref<bool(mlir::Value buffer)> isOne,
             bool writesOnly);

} // namespace weir::plan

#endif // WEIR_PASSES_PLAN_ARENARANGES_H
