//===- PickedLines.h - where gathers take their lines from -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_PICKEDLINES_H
#define WEIR_DIALECTS_WEIR_PICKEDLINES_H

#include "dialects/weir/Elemental.h"

namespace weir {

/// Whether `op` (or null) is a gather or gather_nd of whole lines along the last dimension.
bool picksLines(mlir::Operation *op);

/// Where an element of a gather's result lies in its operand.
struct PickedPlace {
  llvm::SmallVector<mlir::Value> at;
  mlir::Value isThere; ///< whether there is such an element; null: there always is
};
/// The element at `indices` of the result of `op`, a gather or gather_nd; checks its index.
PickedPlace pickedPlace(ElementReader &reader, mlir::Operation *op, mlir::ValueRange indices);

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_PICKEDLINES_H
