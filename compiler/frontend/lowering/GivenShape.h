//===- GivenShape.h - shapes that a model computes --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// weir.reshape and weir.broadcast_to take a size of another tensor for the one that fits: of
// importers' own shapes that is known. Of a model's shapes the run has to make sure of it.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_LOWERING_GIVENSHAPE_H
#define WEIR_COMPILER_FRONTEND_LOWERING_GIVENSHAPE_H

#include "compiler/frontend/lowering/AxisSets.h"

namespace weir::frontend {

/// `made`, reshaped or broadcast to `shape` (integers, one a dimension), where the sizes in `shape`
/// that are only known to a run are those of `made`; else the run ends. `mayBeDerived`: -1 is any
/// size.
Value ofGivenShape(TensorBuilder &t, Value made, Value shape, bool mayBeDerived, Require require);

} // namespace weir::frontend

#endif // WEIR_COMPILER_FRONTEND_LOWERING_GIVENSHAPE_H
