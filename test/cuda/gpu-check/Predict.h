//===- Predict.h - what kernels should take ---------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A kernel's own bytes and operations, as weirc counted them, over what the GPU moves and
// computes in a second: no kernel takes much less, and one that takes much more has
// something to win. Rates are the driver's clocks times what each multiprocessor of an
// architecture does at each tick (NVIDIA, CUDA C++ Programming Guide, arithmetic
// instructions; white papers of A100, H100, B200), so that they need no measurement.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_CUDA_GPU_CHECK_PREDICT_H
#define WEIR_TEST_CUDA_GPU_CHECK_PREDICT_H

#include "Support.h"

#include <map>

namespace weir::gpucheck {

/// In a second: bytes of memory; operations on f32, and by tensor cores on f16 and bf16, on
/// bytes.
struct Rates {
  double memory = 0, f32 = 0, halves = 0, bytes = 0;
  bool isAssumed = false; ///< the driver does not tell: those of an H100
};
Rates ratesOf(const Gpu &gpu);

/// What a run's launches of one kernel took, and what they work on; times in microseconds.
struct KernelTime {
  std::string nodes;
  int64_t flops = -1, bytes = -1; ///< of a launch; -1: not known
  int64_t launches = 0;           ///< of all runs
  std::vector<double> runs;       ///< in each run, all launches together

  /// Of `launches` launches; 0: unknown. `byMemory`: whether bytes take longer than operations.
  double predicted(const Rates &rates, const std::string &name, double launches,
                   bool &byMemory) const;
};

/// By name.
using KernelTimes = std::map<std::string, KernelTime>;

/// A line for each kernel, those with most to win first, up to so many; and what all of them
/// should take in a run.
std::vector<std::string> compareKernels(const KernelTimes &times, const Rates &rates, size_t most,
                                        double &predicted);

} // namespace weir::gpucheck

#endif // WEIR_TEST_CUDA_GPU_CHECK_PREDICT_H
