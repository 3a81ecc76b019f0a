//===- phases.h - launches that are phases of one ---------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Launches that were noted one behind the other become one launch of a kernel that does them as
// phases (weir_cuda_phased), where the program has such a kernel, there are enough of them, and
// the GPU has room for all blocks at a time, which it promises (a cooperative launch).
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CUDA_PHASES_H
#define WEIR_RUNTIME_CUDA_PHASES_H

#include "cuda/driver_api.h"
#include "weir/cuda.h"

namespace weir::rt::cuda {

struct CudaDevice;
struct CudaRun;
struct PendingWork;

/// Launches that may be phases of one kernel.
struct PhaseSet {
  const weir_cuda_phased *desc;
  Function function;
  int64_t mostBlocks; ///< at a time; 0: none of its launches is possible
};

struct Phases {
  PhaseSet *sets;
  int32_t count;
  int32_t *byNumber; ///< by number of a kernel's name: LaunchRecord::phase
  int32_t numbers;
};

/// Null: the program has no such kernels, the GPU does not launch them, they are not wanted
/// ($WEIR_CUDA_PERSISTENT=off), or there is no memory. The context is current.
Phases *openPhases(const CudaDevice &device);
void closePhases(Phases *phases);

/// LaunchRecord::phase of a launch of function `number`.
inline int32_t phaseOf(const Phases &phases, int32_t number) {
  return number >= 0 && number < phases.numbers ? phases.byNumber[number] : 0;
}

/// Joins launches that were noted, as far as that gains.
void joinPhases(CudaRun *part);

} // namespace weir::rt::cuda

#endif // WEIR_RUNTIME_CUDA_PHASES_H
