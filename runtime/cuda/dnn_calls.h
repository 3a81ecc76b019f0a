//===- dnn_calls.h - what cuDNN computes of known sizes ---- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Poolings and attentions of known sizes: each has one plan, known or asked for when the
// session is made. Most ways to compute them are compiled then, 0.2 to 0.5 s each, so that
// sizes which change from run to run are not for them.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CUDA_DNN_CALLS_H
#define WEIR_RUNTIME_CUDA_DNN_CALLS_H

#include "cuda/dnn_session.h"

namespace weir::rt::cuda {

/// What the library does in place of a kernel. Lives as long as the session.
struct DnnCall {
  const weir_cuda_pooling *pooling;     ///< null: it is an attention
  const weir_cuda_attention *attention; ///< null: it is a pooling
  DnnDescriptor plan;                   ///< null: the library knows none
  int64_t workspace;                    ///< bytes
};

/// The calls of a session's GPU.
struct DnnCalls {
  DnnSession *session;
  DnnCall *all; ///< null: kernels do the work
  int64_t count;
  int32_t *byKernel; ///< number of the kernel's call, -1: none
};

/// Makes plans, if the program has calls and the device's session the library. Null:
/// out of host memory alone. The device's context is current.
DnnCalls *openCalls(const CudaDevice &device, int32_t kernelCount);
void closeCalls(DnnCalls *calls);

/// What is done in place of the kernel. Null: it is to be launched.
DnnCall *callOf(DnnCalls *calls, int32_t kernel);

/// Puts the call into `stream`. Returns a cudnnStatus_t.
int32_t putCall(DnnCalls &calls, const DnnCall &call, const LibraryOperands &operands,
                Stream stream);

} // namespace weir::rt::cuda

#endif // WEIR_RUNTIME_CUDA_DNN_CALLS_H
