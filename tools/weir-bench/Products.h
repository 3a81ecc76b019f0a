//===- Products.h - weir-bench gemm -----------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIR_BENCH_PRODUCTS_H
#define WEIR_TOOLS_WEIR_BENCH_PRODUCTS_H

/// `products`: matrix products of one core, as a share of a loop that does nothing
/// but multiply and add. argv[0] is the command's name. Returns the exit status.
int runProductsBenchmark(int argc, char **argv);

#endif // WEIR_TOOLS_WEIR_BENCH_PRODUCTS_H
