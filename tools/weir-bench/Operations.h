//===- Operations.h - weir-bench ops ----------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIR_BENCH_OPERATIONS_H
#define WEIR_TOOLS_WEIR_BENCH_OPERATIONS_H

/// `ops`: the most used operations at three sizes each, ours and ONNX Runtime's
/// in turn. argv[0] is the command's name. Returns the exit status.
int runOperationsBenchmark(int argc, char **argv);

#endif // WEIR_TOOLS_WEIR_BENCH_OPERATIONS_H
