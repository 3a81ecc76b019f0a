//===- ComputeInF64.h - a program that hardly rounds ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_COMPUTEINF64_H
#define WEIR_COMPILER_DRIVER_COMPUTEINF64_H

#include "mlir/IR/BuiltinOps.h"

namespace weir::driver {

/// Lets an imported module compute in f64 what it computes in f32, f16 or bf16: what the
/// error of a program is measured against. Feeds and constants keep their types, and are
/// widened where they are read; fetches are f64. Operations that have effects, take their
/// elements for bits, draw random numbers, or work on complex numbers, texts or sequences
/// stay as they are, between casts. False where an operation has no such form; the module
/// is then not to be used.
bool computeInF64(mlir::ModuleOp module);

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_COMPUTEINF64_H
