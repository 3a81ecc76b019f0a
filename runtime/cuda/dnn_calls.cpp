//===- dnn_calls.cpp - what cuDNN computes of known sizes -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/dnn_calls.h"
#include "cuda/attention_graph.h"
#include "cuda/cuda_device.h"
#include "cuda/pooling_graph.h"

#include <math.h>
#include <stdlib.h>

namespace weir::rt::cuda {

/// The problem as the file of choices names it.
static void nameProblem(const weir_cuda_pooling &desc, char *buffer, int64_t capacity) {
  Text text(buffer, capacity);
  text << "pooling " << desc.dtype << ' ' << desc.kind << ' ' << desc.channels_last << ' '
       << desc.batch << ' ' << desc.channels;
  for (int32_t i = 0; i < desc.spatial; ++i) {
    text << " x";
    for (int64_t number :
         {desc.sizes[i], desc.window[i], desc.strides[i], desc.before[i], desc.after[i]})
      text << ' ' << number;
  }
}

static void nameProblem(const weir_cuda_attention &desc, char *buffer, int64_t capacity) {
  Text text(buffer, capacity);
  text << "attention " << desc.dtype << ' ' << desc.result_dtype << ' ' << desc.causal << ' '
       << desc.batch << ' ' << desc.heads << ' ' << desc.query_count << ' ' << desc.key_count << ' '
       << desc.head_size << ' ' << desc.columns << ' ' << desc.key_heads << " by";
  for (const int64_t *distances :
       {desc.query_distances, desc.key_distances, desc.value_distances, desc.result_distances})
    for (int i = 0; i < 3; ++i)
      text << ' ' << distances[i];
  if (desc.mask < 0)
    return;
  text << " + " << desc.mask_dtype;
  for (int64_t size : desc.mask_sizes)
    text << ' ' << size;
}

static const float lowest = -INFINITY;

static void fillTrial(DnnTrial &trial, const weir_cuda_pooling &desc) {
  int64_t images = desc.batch * desc.channels * weir_dtype_size(desc.dtype), results = images;
  for (int32_t i = 0; i < desc.spatial; ++i) {
    images *= desc.sizes[i];
    results *= desc.results[i];
  }
  trial.add(inputId, images);
  trial.add(resultId, results);
}

/// From the first to the last element of `heads` heads of `rows` rows, in bytes.
static int64_t spanOf(const weir_cuda_attention &desc, const int64_t *distances, int64_t heads,
                      int64_t rows, int64_t size, int32_t dtype) {
  return ((desc.batch - 1) * distances[0] + (heads - 1) * distances[1] + (rows - 1) * distances[2] +
          size) *
         weir_dtype_size(dtype);
}

static void fillTrial(DnnTrial &trial, const weir_cuda_attention &desc) {
  trial.add(queriesId, spanOf(desc, desc.query_distances, desc.heads, desc.query_count,
                              desc.head_size, desc.dtype));
  trial.add(keysId, spanOf(desc, desc.key_distances, desc.key_heads, desc.key_count, desc.head_size,
                           desc.dtype));
  trial.add(valuesId, spanOf(desc, desc.value_distances, desc.key_heads, desc.key_count,
                             desc.columns, desc.dtype));
  trial.add(resultId, spanOf(desc, desc.result_distances, desc.heads, desc.query_count,
                             desc.columns, desc.result_dtype));
  int64_t mask = desc.mask >= 0 ? weir_dtype_size(desc.mask_dtype) : 0;
  for (int64_t size : desc.mask_sizes)
    mask *= size;
  trial.add(addendId, mask);
  trial.addNumber(scaleId, &desc.scale);
  if (desc.causal)
    trial.addNumber(lowestId, &lowest);
}

template <typename Desc> static void choose(DnnSession &session, const Desc &desc, DnnCall &call) {
  char name[512];
  nameProblem(desc, name, sizeof(name));
  auto ask = [&](const DnnPlace &place) { return choosePlan(*session.dnn, place, desc); };
  call.plan = findPlan(session, {desc.plans, desc.plan_count, name}, &call.workspace, ask,
                       [&](DnnTrial &trial) { fillTrial(trial, desc); });
}

template <typename Desc>
static void addCall(DnnCalls &calls, const Desc &desc, const Desc *DnnCall::*kind) {
  DnnCall &call = calls.all[calls.count];
  call.*kind = &desc;
  choose(*calls.session, desc, call);
  calls.byKernel[desc.kernel] = int32_t(calls.count++);
}

DnnCalls *openCalls(const CudaDevice &device, int32_t kernelCount) {
  auto *calls = static_cast<DnnCalls *>(calloc(1, sizeof(DnnCalls)));
  if (!calls)
    return nullptr;
  const weir_cuda_record &record = *device.record;
  int64_t count = record.pooling_count + record.attention_count;
  calls->session = device.dnn;
  if (count == 0 || !device.dnn->dnn)
    return calls;
  calls->all = static_cast<DnnCall *>(calloc(size_t(count), sizeof(DnnCall)));
  calls->byKernel = static_cast<int32_t *>(malloc(sizeof(int32_t) * size_t(kernelCount + 1)));
  if (!calls->all || !calls->byKernel) {
    closeCalls(calls);
    return nullptr;
  }
  for (int32_t i = 0; i < kernelCount; ++i)
    calls->byKernel[i] = -1;
  for (int64_t i = 0; i < record.pooling_count; ++i)
    addCall(*calls, record.poolings[i], &DnnCall::pooling);
  for (int64_t i = 0; i < record.attention_count; ++i)
    addCall(*calls, record.attentions[i], &DnnCall::attention);
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
  if (const weir_cuda_attention *attention = call.attention) {
    tensors.add(keysId, operands.right);
    tensors.add(valuesId, operands.values);
    tensors.add(addendId, operands.addend);
    tensors.add(scaleId, Pointer(&attention->scale));
    if (attention->causal)
      tensors.add(lowestId, Pointer(&lowest));
  }
  return putPlan(*calls.session, call.plan, tensors, operands.workspace, stream);
}

} // namespace weir::rt::cuda
