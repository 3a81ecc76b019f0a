//===- wide_kernels.h - kernels that the copy engine feeds --- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Kernels' second forms (weir_cuda_wide_kernel): which of them the GPU's code has, and what a
// launch gives them. Descriptions of operands are the driver's to make; they are kept, since
// most launches come again with the same operands.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CUDA_WIDE_KERNELS_H
#define WEIR_RUNTIME_CUDA_WIDE_KERNELS_H

#include "cuda/convolutions.h"
#include "cuda/driver_api.h"
#include "support/sync.h"
#include "weir/cuda.h"

namespace weir::rt::cuda {

struct CudaDevice;

/// A tensor as the engine reads it, innermost dimension first.
struct EngineTensor {
  uint64_t base, sizes[5];
  uint64_t strides[4]; ///< bytes, from the second dimension on
  uint32_t rank;
  uint32_t box[5]; ///< of positions of images, the second is how many
  int32_t dtype;
  int32_t window; ///< 1: positions of images, of which a box has a line each
};

struct WideKernel {
  const weir_cuda_wide_kernel *desc;
  Function function; ///< null: the GPU's code has none
  FilterArrangement arrange;
  static constexpr int32_t mostOperands = 3, kept = 4;
  /// What was described last, of each operand, and how.
  EngineTensor tensors[mostOperands][kept];
  uint8_t maps[mostOperands][kept][WEIR_CUDA_MAP_BYTES];
  int32_t next[mostOperands];
};

/// The second forms of a session's GPU.
struct WideKernels {
  const CudaDevice *device;
  WideKernel *entries;
  int32_t *byKernel; ///< number of the kernel's entry, -1: none
  int32_t multiprocessors;
  Mutex mutex; ///< guards what entries keep
};

/// How a second form is launched.
struct WideLaunch {
  Function function;
  int64_t blocks;
  int32_t threads, shared, mapCount;
  uint8_t maps[WideKernel::mostOperands][WEIR_CUDA_MAP_BYTES];
};

/// Null: out of host memory alone. The device's context is current.
WideKernels *openWideKernels(const CudaDevice &device, int32_t kernelCount);
void closeWideKernels(WideKernels *kernels);

/// The second form of a launch of the kernel with `sizes`, and its tiles. Null: it has none, or
/// would leave most of the GPU idle.
WideKernel *findWideKernel(WideKernels &kernels, int32_t kernel, const int64_t *sizes,
                           int64_t *tiles);
/// Bytes of the filter of a convolution that arranges it.
int64_t wideFilterBytes(const weir_cuda_wide_kernel &desc);

/// A launch of what findWideKernel has found. `filter` takes the place of the right operand, unless
/// it is 0. False: the kernel is to be launched.
bool planWideKernel(WideKernels &kernels, WideKernel &entry, int64_t tiles, void *const *buffers,
                    const int64_t *sizes, Pointer filter, WideLaunch *launch);

} // namespace weir::rt::cuda

#endif // WEIR_RUNTIME_CUDA_WIDE_KERNELS_H
