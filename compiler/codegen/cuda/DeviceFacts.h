//===- DeviceFacts.h - what GPUs move and compute in a second -- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The least time that a kernel can take, from its own bytes and operations (Williams, Waterman
// and Patterson, "Roofline", 2009). Needs nothing else of the compiler, so that what runs beside a
// GPU predicts by the same rule as weirc.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CUDA_DEVICEFACTS_H
#define WEIR_COMPILER_CODEGEN_CUDA_DEVICEFACTS_H

#include <algorithm>

namespace weir::cuda {

/// What a kernel's products are computed in; all but F32 and F64 by tensor cores.
enum class Arithmetic { F32, F64, Tf32, Half, F8, I8 };

/// As reports name it.
constexpr const char *nameOf(Arithmetic arithmetic) {
  constexpr const char *names[] = {"f32", "f64", "tf32", "f16", "f8", "i8"};
  return names[int(arithmetic)];
}

/// In a second: bytes of memory, and operations (a product and a sum are two) of dense operands.
struct DeviceFacts {
  const char *name;
  double memory, f32, f64, tf32, half, f8, i8;

  constexpr double rate(Arithmetic arithmetic) const {
    const double rates[] = {f32, f64, tf32, half, f8, i8};
    return rates[int(arithmetic)];
  }
};

/// NVIDIA's data sheets of the boards with SXM sockets, at boost clocks: A100 80GB (2021), H100
/// (2023), H200 (2024). 8-bit floats are multiplied as halves where tensor cores have none.
inline constexpr DeviceFacts knownDevices[] = {
    {"A100", 2.039e12, 1.95e13, 9.7e12, 1.56e14, 3.12e14, 3.12e14, 6.24e14},
    {"H100", 3.35e12, 6.69e13, 3.35e13, 4.947e14, 9.894e14, 1.9789e15, 1.9789e15},
    {"H200", 4.8e12, 6.69e13, 3.35e13, 4.947e14, 9.894e14, 1.9789e15, 1.9789e15},
};

/// Begin and end of a launch that follows another within a graph, in microseconds.
inline constexpr double launchMicroseconds = 1;

// What decides whether launches become phases of one (CudaPhases.h). Assumed: none was measured.
/// From the last of a launch's work to the first of the next one's, which may begin early.
inline constexpr double boundaryMicroseconds = 1.4;
/// A barrier of all blocks of a launch.
inline constexpr double gridBarrierMicroseconds = 0.8;
/// What a launch takes longer whose blocks are to run at the same time.
inline constexpr double togetherMicroseconds = 3.5;
/// The share of its time that a kernel loses with few threads on each multiprocessor: they have
/// more under way than memory takes, so that it is the last of them that are waited for.
inline constexpr double fewThreadsLoss = 0.02;

/// How many launches gain by being one.
constexpr int leastPhases() {
  int phases = 2;
  while ((phases - 1) * (boundaryMicroseconds - gridBarrierMicroseconds) <= togetherMicroseconds)
    ++phases;
  return phases;
}
/// Whether one of them does that takes so long.
constexpr bool gainsAsPhase(double microseconds) {
  return microseconds * fewThreadsLoss <= boundaryMicroseconds - gridBarrierMicroseconds;
}

/// What one launch does. Operations of products apart from all others, which are computed in f32.
struct KernelWork {
  Arithmetic arithmetic = Arithmetic::F32;
  double products = 0, others = 0, bytes = 0;
};

/// What bounds a kernel's time.
struct Prediction {
  double microseconds;
  bool isByMemory; ///< bytes take longer than operations
};

/// Of one launch: memory, tensor cores and threads work at the same time, so the slowest counts.
constexpr Prediction predict(const DeviceFacts &device, const KernelWork &work) {
  double operations =
             std::max(work.products / device.rate(work.arithmetic), work.others / device.f32),
         memory = work.bytes / device.memory;
  return {std::max(operations, memory) * 1e6 + launchMicroseconds, memory >= operations};
}

} // namespace weir::cuda

#endif // WEIR_COMPILER_CODEGEN_CUDA_DEVICEFACTS_H
