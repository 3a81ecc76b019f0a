//===- Passes.h - all of weir's passes ---------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PASSES_H
#define WEIR_PASSES_PASSES_H

#include "dialects/plan/Plan.h"
#include "mlir/Pass/Pass.h"

namespace weir {

#define GEN_PASS_DECL
#include "passes/simplify/Passes.h.inc"
#define GEN_PASS_DECL
#include "passes/redundancy/Passes.h.inc"
#define GEN_PASS_DECL
#include "passes/layout/Passes.h.inc"
#define GEN_PASS_DECL
#include "passes/kernelize/Passes.h.inc"
#define GEN_PASS_DECL
#include "passes/partition/Passes.h.inc"
#define GEN_PASS_DECL
#include "passes/plan/Passes.h.inc"
#define GEN_PASS_DECL
#include "passes/verify/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/simplify/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/redundancy/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/layout/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/kernelize/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/partition/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/plan/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/verify/Passes.h.inc"

/// Registers all of them for weir-opt.
inline void registerWeirPasses() {
  registerWeirSimplifyPasses();
  registerWeirRedundancyPasses();
  registerWeirLayoutPasses();
  registerWeirKernelizePasses();
  registerWeirPartitionPasses();
  registerWeirPlanPasses();
  registerWeirVerifyPasses();
}

} // namespace weir

#endif // WEIR_PASSES_PASSES_H
