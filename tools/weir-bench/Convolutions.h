//===- Convolutions.h - weir-bench conv -------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIR_BENCH_CONVOLUTIONS_H
#define WEIR_TOOLS_WEIR_BENCH_CONVOLUTIONS_H

/// `convolutions`: ResNet-50's 1x1 and 3x3 convolutions, ours and oneDNN's in turn.
/// argv[0] is the command's name. Returns the exit status.
int runConvolutionsBenchmark(int argc, char **argv);

#endif // WEIR_TOOLS_WEIR_BENCH_CONVOLUTIONS_H
