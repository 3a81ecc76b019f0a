//===- ReuseDynamic.h - buffers of open size that are used again -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Buffers of open size are allocated while the step runs. One that nothing reads any more is
// handed on, in place of a copy; and a kernel that may write over an operand does so, where the
// sizes of both are the same values of the step.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PLAN_REUSEDYNAMIC_H
#define WEIR_PASSES_PLAN_REUSEDYNAMIC_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "passes/plan/InPlace.h"

namespace weir::plan {

struct DynamicReuse {
  int64_t buffers = 0, copies = 0; ///< that are gone
};

/// Whether `to`, a buffer, has the sizes of `from`, as far as the step says.
bool haveSameSizes(mlir::Value from, mlir::Value to);

/// Of `function`, before its buffers are freed. Adds the runs that write over an input, and
/// which that is, to `inPlace`.
DynamicReuse reuseDynamic(mlir::func::FuncOp function, mlir::SymbolTable &symbols,
                          InPlaceRuns &inPlace);

} // namespace weir::plan

#endif // WEIR_PASSES_PLAN_REUSEDYNAMIC_H
