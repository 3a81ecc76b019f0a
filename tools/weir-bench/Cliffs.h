//===- Cliffs.h - weir-bench cliffs -----------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIR_BENCH_CLIFFS_H
#define WEIR_TOOLS_WEIR_BENCH_CLIFFS_H

/// `cliffs`: operations × types × sizes × forms that test/oracle/cliffs.py drew,
/// each in turn with ONNX Runtime and OpenVINO. argv[0] is the command's name.
/// Returns the exit status.
int runCliffsBenchmark(int argc, char **argv);

#endif // WEIR_TOOLS_WEIR_BENCH_CLIFFS_H
