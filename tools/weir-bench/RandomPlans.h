//===- RandomPlans.h - weir-bench memory-plan --random ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIR_BENCH_RANDOMPLANS_H
#define WEIR_TOOLS_WEIR_BENCH_RANDOMPLANS_H

#include <cstdint>

/// Plans `count` random instances by the planner, with `steps` each, and by
/// five greedy orders, and prints the distribution of their distance to the
/// lower bound as a table in Markdown. Returns the exit status: 1 when a plan
/// was wrong.
int runRandomPlans(int64_t count, int64_t seed, int64_t steps);

#endif // WEIR_TOOLS_WEIR_BENCH_RANDOMPLANS_H
