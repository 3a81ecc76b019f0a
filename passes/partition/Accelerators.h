//===- Accelerators.h - what runs beside the host -----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Devices of type GPU have memory of their own, and their steps are host code
// that feeds them. What their step would have to read stays on the host: feeds,
// fetches, variables, shapes, conditions.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PARTITION_ACCELERATORS_H
#define WEIR_PASSES_PARTITION_ACCELERATORS_H

#include "mlir/IR/BuiltinOps.h"
#include "passes/partition/DeviceName.h"
#include <string>

namespace weir {

bool isAccelerator(const DeviceName &name);
/// The same for a number of `weir_plan.devices`.
bool isAccelerator(mlir::ModuleOp module, int64_t device);
/// Whether the function around `op` is the step of an accelerator.
bool isOnAccelerator(mlir::Operation *op);
/// The device that feeds an accelerator: the first CPU of its task, or of the
/// program; itself when there is none.
int64_t hostOf(mlir::ModuleOp module, int64_t device);

/// Why a GPU cannot compute `op`, for messages; empty: it can.
std::string whyNotOnGpu(mlir::Operation *op);

} // namespace weir

#endif // WEIR_PASSES_PARTITION_ACCELERATORS_H
