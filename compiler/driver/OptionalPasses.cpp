//===- OptionalPasses.cpp - passes that results do not hang on ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/OptionalPasses.h"

#include "llvm/ADT/STLExtras.h"

bool weir::driver::isOptionalPass(llvm::StringRef pass) {
  // Not here are canonicalize and weir-infer-shapes (types and shapes that later passes
  // take for granted), and what changes the level of the IR.
  static constexpr llvm::StringLiteral names[] = {
      "weir-equal-sizes",
      "weir-value-numbering",
      "weir-grouped-query-attention",
      "weir-fold-constants",
      "weir-fold-batch-norm",
      "weir-quantized-gemms",
      "weir-fold-weights",
      "weir-channels-last",
      "weir-lower-precision",
      "weir-horizontal-gemm-fusion",
      "weir-gemm-operand-layout",
      "weir-split-reductions",
      "weir-widen-row-reductions",
      "cse",
      "weir-depth-first-fusion",
      "weir-order-launches",
      "weir-recompute-launches",
      "weir-reuse-buffers",
  };
  return llvm::is_contained(names, pass);
}
