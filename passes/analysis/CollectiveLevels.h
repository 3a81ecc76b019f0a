//===- CollectiveLevels.h - what waits for which collectives ----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_ANALYSIS_COLLECTIVELEVELS_H
#define WEIR_PASSES_ANALYSIS_COLLECTIVELEVELS_H

#include "mlir/IR/Block.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace weir {

/// Orders a block's operations by the number of collectives on the longest way to them,
/// and keeps the order among those of one number: whatever needs a collective's result
/// stands behind all that can be done meanwhile. What reads, or assigns, a variable stays
/// behind earlier assignments to it, and other effects keep their order.
void sortByCollectives(mlir::Block &block,
                       llvm::function_ref<bool(mlir::Operation *)> isCollective);

} // namespace weir

#endif // WEIR_PASSES_ANALYSIS_COLLECTIVELEVELS_H
