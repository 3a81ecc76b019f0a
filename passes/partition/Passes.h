//===- Passes.h - devices, and what crosses between them --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PARTITION_PASSES_H
#define WEIR_PASSES_PARTITION_PASSES_H

#include "dialects/plan/Plan.h"
#include "mlir/Pass/Pass.h"

namespace weir {

#define GEN_PASS_DECL
#include "passes/partition/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/partition/Passes.h.inc"

} // namespace weir

#endif // WEIR_PASSES_PARTITION_PASSES_H
