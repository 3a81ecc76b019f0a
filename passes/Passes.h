//===- Passes.h - all of weir's passes ---------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PASSES_H
#define WEIR_PASSES_PASSES_H

#include "passes/gradient/Passes.h"
#include "passes/kernelize/Passes.h"
#include "passes/layout/Passes.h"
#include "passes/partition/Passes.h"
#include "passes/plan/Passes.h"
#include "passes/raise/Passes.h"
#include "passes/redundancy/Passes.h"
#include "passes/simplify/Passes.h"
#include "passes/training/Passes.h"
#include "passes/verify/Passes.h"

namespace weir {

/// Registers all of them for weir-opt.
inline void registerWeirPasses() {
  registerWeirGradientPasses();
  registerWeirTrainingPasses();
  registerWeirRaisePasses();
  registerWeirSimplifyPasses();
  registerWeirRedundancyPasses();
  registerWeirLayoutPasses();
  registerWeirPartitionPasses();
  registerWeirKernelizePasses();
  registerWeirPlanPasses();
  registerWeirVerifyPasses();
}

} // namespace weir

#endif // WEIR_PASSES_PASSES_H
