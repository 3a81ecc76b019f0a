//===- SubviewForwarding.h - parts of a tensor in its own buffer ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is only to be joined with others is computed where the whole lies, and a
// slice is read where it lies: without a copy, and without a buffer of its own.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PLAN_SUBVIEWFORWARDING_H
#define WEIR_PASSES_PLAN_SUBVIEWFORWARDING_H

#include "dialects/plan/Plan.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

namespace weir::plan {

/// Where a view begins behind its source's begin, in bytes; without it, at it.
constexpr char viewOffsetAttribute[] = "weir_plan.offset";
/// In a kernel's `extents`: a size of a whole that is the part's own, which is open, and so many
/// elements more. Where a part begins may then be known to the run only: the indices at which it
/// does so stand behind the sizes.
constexpr int64_t openExtent(int64_t more) { return mlir::ShapedType::kDynamic + more; }
constexpr bool isOpenExtent(int64_t extent) { return extent < 0; }
constexpr int64_t beyondPart(int64_t extent) { return extent - mlir::ShapedType::kDynamic; }

/// Whether parts of that shape have gaps between rows of the last dimension beside what
/// the rows' own distance makes, within what the first dimension counts.
bool hasInnerGaps(llvm::ArrayRef<int64_t> extents, llvm::ArrayRef<int64_t> shape);

/// Puts the operands of concatenations into the results' buffers, what is padded into
/// the padded one's, and slices into those of what they are cut from, where every kernel
/// that works on them can do so and no more bytes are alive at any moment than at the
/// fullest one before. Concatenations and slices along the last dimension, and
/// paddings, give views with gaps; where nothing lies before the dimension, parts are
/// contiguous. Returns how many runs of kernels that copied are gone, or write nothing
/// but a border now.
int64_t forwardSubviews(mlir::ModuleOp module, mlir::SymbolTable &symbols);

} // namespace weir::plan

#endif // WEIR_PASSES_PLAN_SUBVIEWFORWARDING_H
