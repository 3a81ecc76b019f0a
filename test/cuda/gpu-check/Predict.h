//===- Predict.h - what kernels should take ---------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A kernel's own bytes and operations, as weirc counted them, over what the GPU moves and
// computes in a second (compiler/codegen/cuda/DeviceFacts.h): no kernel takes much less, and one
// that takes much more has something to win. Rates are the driver's clocks times what each
// multiprocessor of an architecture does at each tick (NVIDIA, CUDA C++ Programming Guide,
// arithmetic instructions; white papers of A100, H100, B200), so that they need no measurement.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_CUDA_GPU_CHECK_PREDICT_H
#define WEIR_TEST_CUDA_GPU_CHECK_PREDICT_H

#include "Support.h"
#include "compiler/codegen/cuda/DeviceFacts.h"

#include <map>
#include <optional>

namespace weir::gpucheck {

struct Rates {
  cuda::DeviceFacts facts;
  std::string from; ///< for reports: "driver's", a device's name, or "assumed": those of an H100
};
/// Those of the known device `asked` ("": none is asked for), else of the GPU.
Rates ratesOf(const Gpu &gpu, const std::string &asked = "");

/// What kernels do in a launch, by name.
using KernelWorks = std::map<std::string, cuda::KernelWork>;
/// As tools/gpu-check wrote it beside a benchmark: name, arithmetic, operations of products, all
/// others, bytes; a line a kernel, with tabs. Empty: there is no such file.
KernelWorks readWorks(const std::string &path);

/// What a run's launches of one kernel took, and what they work on; times in microseconds.
struct KernelTime {
  std::string nodes;
  int64_t flops = -1, bytes = -1; ///< of a launch; -1: not known
  int64_t launches = 0;           ///< of all runs
  std::vector<double> runs;       ///< in each run, all launches together

  /// Of one launch, where `works` has the kernel from there; nothing: sizes were not known.
  std::optional<cuda::Prediction> predicted(const Rates &rates, const std::string &name,
                                            const KernelWorks &works) const;
};

/// By name.
using KernelTimes = std::map<std::string, KernelTime>;

struct Comparison {
  /// A line for each kernel, those with most to win first, up to so many.
  std::vector<std::string> lines;
  double predicted = 0; ///< of all kernels, a run
  /// How many kernels take twice what they must, what that is in a run, and the worst; "": none.
  std::string offRoofline;
};
Comparison compareKernels(const KernelTimes &times, const Rates &rates, const KernelWorks &works,
                          size_t most);

} // namespace weir::gpucheck

#endif // WEIR_TEST_CUDA_GPU_CHECK_PREDICT_H
