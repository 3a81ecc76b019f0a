//===- PlainConvolution.h - convolutions that register tiles serve -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_PLAINCONVOLUTION_H
#define WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_PLAINCONVOLUTION_H

#include "compiler/codegen/cpu/schedule/Strategy.h"

namespace weir {

/// Whether tiles of the convolution, of known sizes, read an image without the border of zeros
/// that `pads` says (before and behind each spatial dimension), and leave out what that would
/// add: of forms that are direct in any case. Others are written into an image with its border.
bool mindsBorder(ConvOp conv, llvm::ArrayRef<int64_t> pads);

/// The kernel's convolution, channels last, without padding or with one that its tiles mind, where
/// the rest of the kernel can be computed on vectors of its results; or null.
ConvOp plainConvolutionOf(const KernelRequest &request);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_PLAINCONVOLUTION_H
