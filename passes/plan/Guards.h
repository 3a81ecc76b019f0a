//===- Guards.h - planned buffers that are watched at run time --*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PLAN_GUARDS_H
#define WEIR_PASSES_PLAN_GUARDS_H

#include "passes/plan/StepTimes.h"

namespace weir::plan {

/// In front of and behind every buffer where plans are watched at run time, as
/// weir_kernel_guard_buffer has it.
constexpr int64_t guardBytes = 64;

/// The lifetime of `buffer` with the calls of guard() in it.
StepTimes::Interval guardedLifetime(mlir::Value buffer, const StepTimes &times);

/// Fills the buffer and its guards before the first use; looks at the guards and
/// fills the buffer behind the last one.
void guard(mlir::Value buffer);

} // namespace weir::plan

#endif // WEIR_PASSES_PLAN_GUARDS_H
