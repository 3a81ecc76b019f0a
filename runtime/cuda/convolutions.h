//===- convolutions.h - convolutions by cuDNN --------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// As products.h: the library has a plan for each shape, known or asked for when the
// session is made where shapes are fixed, when they first come for others. Where it
// knows none the program's own kernel does the work.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CUDA_CONVOLUTIONS_H
#define WEIR_RUNTIME_CUDA_CONVOLUTIONS_H

#include "cuda/convolution_graph.h"
#include "cuda/dnn_session.h"

namespace weir::rt::cuda {

/// How a filter is brought from S… I O to O S… I.
struct FilterArrangement {
  Function function; ///< a kernel of the image; null: it stays as it is
  int32_t blocks, threads;
};

/// A convolution of one shape, made ready. Lives as long as the session.
struct ConvolutionPlan {
  ConvolutionPlan *next;
  const weir_cuda_convolution *convolution;
  ConvolutionShape shape;
  DnnDescriptor plan; ///< null: the library knows none
  int64_t workspace;  ///< bytes
};

/// What the library may do in place of a kernel.
struct Convolution {
  const weir_cuda_convolution *desc;
  Function rest; ///< null: none
  FilterArrangement arrange;
  ConvolutionPlan *plans;
};

/// A constant filter, as who multiplies wants it, in memory of the session.
struct ArrangedFilter {
  ArrangedFilter *next;
  Pointer from, data;
  int64_t bytes;
  Function arrange; ///< that made it
};

/// The convolutions of a session's GPU.
struct Convolutions {
  DnnSession *session;  ///< its mutex guards plans and filters
  Convolution *entries; ///< null: kernels do the work
  int64_t count;
  int32_t *byKernel; ///< number of the kernel's entry, -1: none
  Pointer zeros;     ///< for WEIR_CUDA_ZEROS; 0: there are none
  ArrangedFilter *filters;
};

/// Makes plans for fixed shapes, if the program has convolutions and the device's
/// session the library. Null: out of host memory alone. The device's context is
/// current, as below.
Convolutions *openConvolutions(const CudaDevice &device, int32_t kernelCount);
void closeConvolutions(const CudaDevice &device, Convolutions *convolutions);

/// The plan for a launch of the kernel with `sizes`, and what it is a plan of.
/// Null: the kernel is to be launched.
ConvolutionPlan *planConvolution(Convolutions *convolutions, int32_t kernel, const int64_t *sizes,
                                 const Convolution **entry);

/// A filter of `bytes` bytes that never changes, arranged; waits for the GPU when it is new.
/// 0: there is no memory for it. Thread-safe.
Pointer arrangedFilter(const CudaDevice &device, const FilterArrangement &how, int64_t bytes,
                       Pointer filter, Pointer errors);
int64_t filterBytes(const weir_cuda_convolution &desc, const ConvolutionShape &shape);
int64_t resultBytes(const ConvolutionPlan &plan);

/// Puts the convolution into `stream`. Returns a cudnnStatus_t.
int32_t putConvolution(Convolutions &convolutions, const ConvolutionPlan &plan,
                       const LibraryOperands &operands, Stream stream);

} // namespace weir::rt::cuda

#endif // WEIR_RUNTIME_CUDA_CONVOLUTIONS_H
