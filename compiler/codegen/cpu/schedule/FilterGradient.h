//===- FilterGradient.h - gradients of convolutions' filters -----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Convolutions whose image and filter other kernels turn, a filter's gradient: their kernels
// read both where they lie (FilterGradient.cpp of the emitters).
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_FILTERGRADIENT_H
#define WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_FILTERGRADIENT_H

#include "compiler/codegen/cpu/schedule/Strategy.h"

namespace weir {

/// The kernel's convolution; null: it is none of that kind.
ConvOp filterGradientOf(const KernelRequest &request);
/// The same of a kernel that has its schedule and operands.
ConvOp filterGradientOf(plan::KernelOp kernel);

/// Sets the tile, and returns how the range is cut: channels of the image, lines and places of the
/// window, channels of the gradient.
llvm::SmallVector<int64_t> filterGradientTiles(plan::ScheduleBuilder &s, ConvOp conv,
                                               const VectorUnit &unit);

/// Has the kernel read what the transpositions read.
void readUnturned(KernelRequest &request, ConvOp conv);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_FILTERGRADIENT_H
