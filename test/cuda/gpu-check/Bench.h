//===- Bench.h - times on the GPU ------------------------ -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_CUDA_GPU_CHECK_BENCH_H
#define WEIR_TEST_CUDA_GPU_CHECK_BENCH_H

#include "Checks.h"
#include "Predict.h"

namespace weir::gpucheck {

/// Where kernels' predicted times come from: a file (readWorks), and rates (ratesOf).
struct PredictedBy {
  std::string works, rates;
};

/// Times the first entry of a program on the GPU: steps with tensors in the GPU's
/// memory in a caller's stream, one by one and several in flight, and whole runs with
/// tensors of the host. Results must be finite, and not all the same. Returns "" or
/// what is wrong; `figures` gets `key=value` pairs (docs/cuda.md lists them), `kernels` each
/// kernel's time beside the predicted one.
std::string benchmark(const Case &tested, Gpu &gpu, int repeat, const PredictedBy &prediction,
                      std::string &figures, Comparison &kernels);

/// The same for a program whose one large tensor is a feed or a fetch: the rate at which
/// the session copies it, from and to pinned memory and any other, beside a bare copy of
/// as many bytes.
std::string benchmarkCopy(const Case &tested, Gpu &gpu, int repeat, std::string &figures);

} // namespace weir::gpucheck

#endif // WEIR_TEST_CUDA_GPU_CHECK_BENCH_H
