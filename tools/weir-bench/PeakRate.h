//===- PeakRate.h - what one core can multiply and add ----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIR_BENCH_PEAKRATE_H
#define WEIR_TOOLS_WEIR_BENCH_PEAKRATE_H

namespace weir::tools {

/// Operations (a multiplication and an addition are two) of one call of
/// `runPeakLoop`.
double peakLoopFlops();

/// Runs fused multiplications and additions of f32 in registers alone, as many side
/// by side as hide their latency, in the widest vectors that this processor has.
void runPeakLoop();

} // namespace weir::tools

#endif // WEIR_TOOLS_WEIR_BENCH_PEAKRATE_H
