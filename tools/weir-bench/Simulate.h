//===- Simulate.h - weir-bench simulate -------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIR_BENCH_SIMULATE_H
#define WEIR_TOOLS_WEIR_BENCH_SIMULATE_H

/// argv[0] is the command's name. Returns the exit status.
int runSimulate(int argc, char **argv);

#endif // WEIR_TOOLS_WEIR_BENCH_SIMULATE_H
