//===- ImplicitPadding.h - convolutions that know what was padded --*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A CPU's convolution reads an input that a kernel before it has padded. An
// offload device's may pad as it reads. A kernel on one has the input without the
// padding as well, as its last argument: so that it lives on until then. Nothing in
// the kernel's body uses it; code for offload devices may take it in place of the padded
// one, and leave the padding out where nobody else reads that.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_ANALYSIS_IMPLICITPADDING_H
#define WEIR_PASSES_ANALYSIS_IMPLICITPADDING_H

#include "dialects/plan/Plan.h"
#include "dialects/weir/Weir.h"

namespace weir {

/// On a kernel: the pads (before and after each spatial dimension) that its
/// convolution has when it reads the last argument.
inline constexpr llvm::StringLiteral implicitPaddingAttribute = "weir.implicit_padding";

/// The kernel's only convolution whose input is an argument; null: there is none.
ConvOp convolutionOf(plan::KernelOp kernel);

/// What a kernel that only pads argument 0 with zeros adds to each dimension:
/// all before, then all after. Nothing: it does something else.
std::optional<llvm::SmallVector<int64_t>> zeroPadding(plan::KernelOp kernel);

/// Gives a kernel that is to be launched on `operands` what was padded, if a
/// launch of another kernel of its module did so.
void formImplicitPadding(plan::KernelOp kernel, llvm::SmallVectorImpl<mlir::Value> &operands);

} // namespace weir

#endif // WEIR_PASSES_ANALYSIS_IMPLICITPADDING_H
