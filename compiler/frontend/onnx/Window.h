//===- Window.h - sliding windows of ONNX operators -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_WINDOW_H
#define WEIR_COMPILER_FRONTEND_ONNX_WINDOW_H

#include "compiler/frontend/onnx/NodeImport.h"

namespace weir::onnx {

/// One entry a spatial dimension; pads have two, before and after in turn.
struct Window {
  llvm::SmallVector<int64_t> size, strides, dilations, pads;
};

/// The window of a node over input `x` (N C S…), of which `size` is known:
/// strides, dilations, and pads, explicit or by auto_pad. Reports what does not
/// go together.
/// Where SAME has to pad dimensions of open sizes, `border` gets the pads of all dimensions
/// (those before, then those after), the window is one over `bordered(x)`, and null is
/// left otherwise; without `border` that is refused.
/// Sizes may be open where `filter` has them, from its third dimension on.
std::optional<Window> window(NodeImport &n, Value x, llvm::SmallVector<int64_t> size,
                             Value *border = nullptr, Value filter = {});
/// `x` with a border of `fill`; `x` itself where `border` is null.
Value bordered(NodeImport &n, Value x, Value border, double fill);

/// The size of a filter [out, in, size…]: kernel_shape, or what its type says, which may be open;
/// null, with a report, where they differ.
std::optional<llvm::SmallVector<int64_t>> kernelSize(NodeImport &n, Value filter);

/// Conv's result: inputs 0, 1 and 2 are operand, filter and bias, `x` stands for
/// the operand. Null, with a report, where they do not go together.
Value convolution(NodeImport &n, Value x);

/// A pool's result over `x` (N C S…) by the node's window.
Value pooled(NodeImport &n, Value x, llvm::StringRef kind);

/// A vector of one value a channel, shaped to broadcast over N C S… of `rank`.
Value perChannel(TensorBuilder &t, Value vector, int64_t rank);

/// `y` (N C S…) and a bias, which has a number for each channel: it is stretched to none. Null,
/// with a report, where it has not.
Value withBias(NodeImport &n, Value y, Value bias);

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_WINDOW_H
