//===- RandomPlacements.h - placements of made-up graphs --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIR_BENCH_RANDOMPLACEMENTS_H
#define WEIR_TOOLS_WEIR_BENCH_RANDOMPLACEMENTS_H

#include <cstdint>

/// Places `count` small graphs (up to 9 groups, 2 devices) and compares with
/// the best of all placements and orders. Prints a table; returns the exit
/// status.
int runRandomPlacements(int64_t count, uint64_t seed, int64_t steps);

/// Places `count` graphs as networks make them, layer by layer or operation by
/// operation, with and without their backward half, by every policy. Prints a
/// table; returns the exit status.
int runNetworkPlacements(int64_t count, uint64_t seed, int64_t steps);

#endif // WEIR_TOOLS_WEIR_BENCH_RANDOMPLACEMENTS_H
