//===- dnn_calls.cpp - what cuDNN computes of known sizes -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/dnn_calls.h"
#include "cuda/cuda_device.h"
#include "cuda/pooling_graph.h"

#include <stdlib.h>

namespace weir::rt::cuda {

/// The problem as the file of choices names it.
static void nameProblem(const weir_cuda_pooling &desc, char *buffer, int64_t capacity) {
  Text text(buffer, capacity);
  text << "pooling " << desc.dtype << ' ' << desc.kind << ' ' << desc.channels_last << ' '
       << desc.batch << ' ' << desc.channels;
  for (int32_t i = 0; i < desc.spatial; ++i) {
    text << " x";
    for (int64_t number : {desc.sizes[i], desc.window[i], desc.strides[i], desc.before[i],
                           desc.after[i]})
      text << ' ' << number;
  }
}

template <typename Desc>
static void choose(DnnSession &session, const Desc &desc, DnnCall &call) {
  char name[512];
  nameProblem(desc, name, sizeof(name));
  DnnProblem problem = {desc.plans, desc.plan_count, name};
  call.plan = loadKnown(session, problem, &call.workspace);
  if (!call.plan)
    call.plan = adoptPlan(session, problem,
                          choosePlan(*session.dnn, {session.handle, nullptr}, desc),
                          &call.workspace);
}

DnnCalls *openCalls(const CudaDevice &device, int32_t kernelCount) {
  auto *calls = static_cast<DnnCalls *>(calloc(1, sizeof(DnnCalls)));
  if (!calls)
    return nullptr;
  Records<weir_cuda_pooling> poolings = poolingsOf(*device.desc);
  calls->session = device.dnn;
  if (poolings.count == 0 || !device.dnn->dnn)
    return calls;
  calls->all = static_cast<DnnCall *>(calloc(size_t(poolings.count), sizeof(DnnCall)));
  calls->byKernel = static_cast<int32_t *>(malloc(sizeof(int32_t) * size_t(kernelCount + 1)));
  if (!calls->all || !calls->byKernel) {
    closeCalls(calls);
    return nullptr;
  }
  for (int32_t i = 0; i < kernelCount; ++i)
    calls->byKernel[i] = -1;
  for (int64_t i = 0; i < poolings.count; ++i) {
    DnnCall &call = calls->all[calls->count];
    call.pooling = &poolings.all[i];
    choose(*calls->session, *call.pooling, call);
    calls->byKernel[call.pooling->kernel] = int32_t(calls->count++);
  }
  return calls;
}

void closeCalls(DnnCalls *calls) {
  if (!calls)
    return;
  for (int64_t i = 0; i < calls->count; ++i)
    if (calls->all[i].plan)
      calls->session->dnn->forget(calls->all[i].plan);
  free(calls->all);
  free(calls->byKernel);
  free(calls);
}

DnnCall *callOf(DnnCalls *calls, int32_t kernel) {
  if (!calls->all || calls->byKernel[kernel] < 0)
    return nullptr;
  DnnCall &call = calls->all[calls->byKernel[kernel]];
  return call.plan ? &call : nullptr;
}

int32_t putCall(DnnCalls &calls, const DnnCall &call, const LibraryOperands &operands,
                Stream stream) {
  DnnOperands tensors;
  tensors.add(inputId, operands.left);
  tensors.add(resultId, operands.result);
  return putPlan(*calls.session, call.plan, tensors, operands.workspace, stream);
}

} // namespace weir::rt::cuda
