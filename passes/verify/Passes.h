//===- Passes.h - what holds at each level ----------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_VERIFY_PASSES_H
#define WEIR_PASSES_VERIFY_PASSES_H

#include "dialects/plan/Plan.h"
#include "mlir/Pass/Pass.h"

namespace weir {

#define GEN_PASS_DECL
#include "passes/verify/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/verify/Passes.h.inc"

} // namespace weir

#endif // WEIR_PASSES_VERIFY_PASSES_H
