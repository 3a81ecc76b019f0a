//===- SlicePlaces.h - where slices begin -----------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_SLICEPLACES_H
#define WEIR_DIALECTS_WEIR_SLICEPLACES_H

#include "dialects/weir/Weir.h"

namespace weir {

/// The index, along the axis number `i` of those that `slice` names, of its first element in the
/// operand. Bounds are clamped, not checked.
mlir::Value sliceStart(SliceOp slice, ElementReader &r, int64_t i);

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_SLICEPLACES_H
