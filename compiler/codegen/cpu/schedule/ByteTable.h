//===- ByteTable.h - functions of single bytes --------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_BYTETABLE_H
#define WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_BYTETABLE_H

#include "dialects/plan/Plan.h"

namespace weir {

/// Elements from which on a table of 256 is worth making.
inline constexpr int64_t fewestLookedUp = 1024;

/// The operand of bytes by which a kernel of kind byte_table looks up its elements.
mlir::Value bytesOf(plan::KernelOp kernel);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_BYTETABLE_H
