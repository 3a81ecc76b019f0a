//===- MemoryPlan.h - weir-bench memory-plan -------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIR_BENCH_MEMORYPLAN_H
#define WEIR_TOOLS_WEIR_BENCH_MEMORYPLAN_H

/// `memory-plan FILE.csv... [--capacity=BYTES] [--steps=N] [-o OFFSETS.csv]`,
/// or `memory-plan --random=COUNT [--seed=N] [--steps=N]` (see RandomPlans.h);
/// argv[0] is the command's name. Prints, for each file, a line that ends with
/// `peak=… bound=… ms=…`. Returns the exit status: 1 when a file cannot be read
/// or its plan does not fit within the capacity.
int runMemoryPlan(int argc, char **argv);

#endif // WEIR_TOOLS_WEIR_BENCH_MEMORYPLAN_H
