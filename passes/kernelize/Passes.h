//===- Passes.h - operations that share kernels -----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_KERNELIZE_PASSES_H
#define WEIR_PASSES_KERNELIZE_PASSES_H

#include "dialects/plan/Plan.h"
#include "mlir/Pass/Pass.h"

namespace weir {

#define GEN_PASS_DECL
#include "passes/kernelize/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/kernelize/Passes.h.inc"

} // namespace weir

#endif // WEIR_PASSES_KERNELIZE_PASSES_H
