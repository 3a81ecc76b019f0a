//===- Boundary.h - the border of a function that was kept ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function that the model keeps is computed by the same kernels wherever it is
// called: none of them holds anything from around the call. What goes in and what
// comes out passes a weir.gate with this attribute, which no pattern removes and
// no kernel spans. It takes no code and no copy.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_BOUNDARY_H
#define WEIR_DIALECTS_WEIR_BOUNDARY_H

#include "dialects/weir/Weir.h"

namespace weir {

inline constexpr llvm::StringLiteral boundaryAttr = "weir.boundary";

inline bool isBoundary(GateOp gate) { return gate->hasAttr(boundaryAttr); }

/// `value` behind a border; a constant, and what is no tensor, as it is.
mlir::Value acrossBoundary(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value);

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_BOUNDARY_H
