//===- ScatterParts.h - what an update of a scatter does ---------*- C++
//-*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_KERNEL_SCATTERPARTS_H
#define WEIR_COMPILER_CODEGEN_KERNEL_SCATTERPARTS_H

#include "compiler/codegen/kernel/KernelBuilder.h"

namespace weir {

/// What a place that holds `old` has after `update`, both in compute form;
/// `reduction` is the operation's ("none": the update).
mlir::Value scatterCombined(KernelBuilder &r, mlir::Operation *op, llvm::StringRef reduction,
                            mlir::Type element, mlir::Value old, mlir::Value update);

/// An element of `indexTensor`, wrapped and checked against `size`. `inside`
/// gets the check's outcome where updates outside are dropped rather than
/// refused.
mlir::Value scatterIndex(KernelBuilder &r, mlir::Operation *op, mlir::Value indexTensor,
                         mlir::ValueRange at, mlir::Value size, bool wrap, bool drop,
                         mlir::Value &inside);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_KERNEL_SCATTERPARTS_H
