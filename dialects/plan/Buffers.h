//===- Buffers.h - the buffers that a step names -----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_PLAN_BUFFERS_H
#define WEIR_DIALECTS_PLAN_BUFFERS_H

#include "dialects/plan/Plan.h"

namespace weir::plan {

/// The memref that a chain of views looks at.
mlir::Value rootOf(mlir::Value buffer);

/// Whether the operation of a step may write the buffer that this operand of it
/// names; a view is no operation of that kind.
bool isWritten(mlir::OpOperand &operand);

/// Bytes of one element in a buffer.
int64_t elementSize(mlir::Type type);
/// Bytes that a buffer of fixed size takes in an arena, padded to `alignment`;
/// one without elements has a place of its own, too.
int64_t arenaBytes(mlir::MemRefType type);

/// The bytes of an element times the sizes that are known; what 64 bits do not hold is their
/// largest number.
int64_t knownBytes(mlir::MemRefType type);

/// Of a function behind weir-plan-memory: bytes of its device's arena that it uses, i64.
constexpr char entryArenaAttribute[] = "weir_plan.arena_bytes";

/// Buffers begin on cache lines, which are also the widest vectors.
constexpr int64_t arenaAlignment = 64;

/// Buffers of open sizes that share one piece of memory: so many at most.
constexpr int64_t mostPieces = 1 << 12;
/// What each of them takes at most, and what no memory holds: all together are a number yet.
constexpr int64_t mostPooled = int64_t(1) << 50;

} // namespace weir::plan

#endif // WEIR_DIALECTS_PLAN_BUFFERS_H
