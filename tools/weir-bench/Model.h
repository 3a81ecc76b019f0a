//===- Model.h - weir-bench model -------------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIR_BENCH_MODEL_H
#define WEIR_TOOLS_WEIR_BENCH_MODEL_H

/// `model M… [--against=ort,openvino,iree,tf]`: the time of a run, ours and
/// other engines' in turn, on the same inputs and number of threads. argv[0] is
/// the command's name. Returns the exit status.
int runModelBenchmark(int argc, char **argv);

#endif // WEIR_TOOLS_WEIR_BENCH_MODEL_H
