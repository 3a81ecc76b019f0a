//===- FilterGradients.h - gradients of convolutions' filters ----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a filter is the convolution of the image by the result's gradient whose
// batch and channels, strides and dilations have changed places (Dumoulin and Visin, "A guide
// to convolution arithmetic for deep learning", 2016). So gradient rules and importers
// write it. A CPU's kernel computes it as that, without moving either operand; others compute a
// product for each place of the window.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_LAYOUT_FILTERGRADIENTS_H
#define WEIR_PASSES_LAYOUT_FILTERGRADIENTS_H

#include "dialects/weir/Weir.h"

namespace weir {

/// Whether a convolution, channels last, of one group is the gradient of a filter: its image
/// has the batch where channels are, and its filter is larger than what it makes.
bool isFilterGradient(ConvOp conv);

/// Whether a kernel of the host reads both operands where they lie, with the border left
/// out: the image's transposition is of many elements, so that nothing is fused with it.
bool hasFilterGradientKernel(ConvOp conv);
/// Has nothing be fused with the gradient's transposition either.
void keepGradientApart(ConvOp conv);

/// Puts products in its place, one for each place of the window, where these are few.
void formFilterProducts(ConvOp conv);

} // namespace weir

#endif // WEIR_PASSES_LAYOUT_FILTERGRADIENTS_H
