//===- convolutions.cpp - convolutions by cuDNN ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/convolutions.h"
#include "cuda/cuda_device.h"

#include <stdlib.h>

namespace weir::rt::cuda {

static bool isFixed(const weir_cuda_convolution &desc) {
  bool fixed = desc.batch.open[0] < 0 && desc.channels.open[0] < 0 && desc.outputs.open[0] < 0;
  for (int32_t i = 0; i < desc.spatial; ++i)
    fixed = fixed && desc.sizes[i].open[0] < 0 && desc.window[i].open[0] < 0;
  return fixed;
}

static int64_t productOf(const int64_t *sizes, int32_t count) {
  int64_t product = 1;
  for (int32_t i = 0; i < count; ++i)
    product *= sizes[i];
  return product;
}

int64_t filterBytes(const weir_cuda_convolution &desc, const ConvolutionShape &shape) {
  return shape.outputs * (shape.channels / desc.groups) * productOf(shape.window, desc.spatial) *
         weir_dtype_size(desc.dtype);
}

int64_t resultBytes(const ConvolutionPlan &plan) {
  const weir_cuda_convolution &desc = *plan.convolution;
  return plan.shape.batch * plan.shape.outputs * productOf(plan.shape.result, desc.spatial) *
         weir_dtype_size(desc.result_dtype);
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// Whether every size is one that the library counts with.
static bool isSensible(const weir_cuda_convolution &desc, const ConvolutionShape &shape) {
  bool sensible = shape.batch > 0 && shape.channels > 0 && shape.outputs > 0 &&
                  shape.channels % desc.groups == 0 && shape.outputs % desc.groups == 0;
  for (int32_t i = 0; i < desc.spatial; ++i)
    sensible = sensible && shape.sizes[i] > 0 && shape.window[i] > 0 && shape.result[i] > 0;
  return sensible;
}

/// The problem as the file of choices names it.
static void nameProblem(const weir_cuda_convolution &desc, const ConvolutionShape &s, char *buffer,
                        int64_t capacity) {
  Text text(buffer, capacity);
  text << desc.dtype << ' ' << desc.result_dtype << ' ' << desc.activation << ' ' << desc.flags
       << ' ' << int32_t(desc.bias != -1) << ' ' << int32_t(desc.addend >= 0) << ' '
       << desc.channels_last << ' ' << desc.groups << ' ' << s.batch << ' ' << s.channels << ' '
       << s.outputs;
  for (int32_t i = 0; i < desc.spatial; ++i) {
    text << " x";
    for (int64_t number : {s.sizes[i], s.window[i], desc.strides[i], desc.dilations[i],
                           desc.before[i], desc.after[i]})
      text << ' ' << number;
  }
}

/// The mutex is held, or nobody else has the convolutions yet.
static void choose(DnnSession &session, ConvolutionPlan &plan) {
  const weir_cuda_convolution &desc = *plan.convolution;
  char name[512];
  nameProblem(desc, plan.shape, name, sizeof(name));
  DnnProblem problem = {desc.plans, isFixed(desc) ? desc.plan_count : 0, name};
  const ConvolutionShape &s = plan.shape;
  auto ask = [&](const DnnPlace &place) { return choosePlan(*session.dnn, place, desc, s); };
  plan.plan = findPlan(session, problem, &plan.workspace, ask, [&](DnnTrial &trial) {
    int64_t result = resultBytes(plan);
    trial.add(inputId, s.batch * s.channels * productOf(s.sizes, desc.spatial) *
                           weir_dtype_size(desc.dtype));
    trial.add(filterId, filterBytes(desc, s));
    trial.add(resultId, result);
    trial.add(addendId, desc.addend >= 0 ? result : 0);
    trial.add(biasId, desc.bias != -1 ? s.outputs * weir_dtype_size(desc.result_dtype) : 0);
  });
}

static ConvolutionPlan *planEntry(Convolutions &convolutions, Convolution &entry,
                                  const int64_t *sizes) {
  ConvolutionShape shape = shapeOf(*entry.desc, sizes);
  if (!isSensible(*entry.desc, shape))
    return nullptr;
  for (ConvolutionPlan *plan = entry.plans; plan; plan = plan->next)
    if (memcmp(&plan->shape, &shape, sizeof(shape)) == 0)
      return plan->plan ? plan : nullptr;
  auto *plan = static_cast<ConvolutionPlan *>(calloc(1, sizeof(ConvolutionPlan)));
  if (!plan)
    return nullptr;
  plan->convolution = entry.desc;
  plan->shape = shape;
  Current current(*convolutions.session->device);
  // What does not work is remembered as well.
  choose(*convolutions.session, *plan);
  plan->next = entry.plans;
  entry.plans = plan;
  return plan->plan ? plan : nullptr;
}

ConvolutionPlan *planConvolution(Convolutions *convolutions, int32_t kernel, const int64_t *sizes,
                                 const Convolution **found) {
  if (!convolutions->entries || convolutions->byKernel[kernel] < 0)
    return nullptr;
  Convolution &entry = convolutions->entries[convolutions->byKernel[kernel]];
  if (entry.desc->bias == WEIR_CUDA_ZEROS && !convolutions->zeros)
    return nullptr;
  Lock lock(convolutions->session->mutex);
  *found = &entry;
  return planEntry(*convolutions, entry, sizes);
}

//===----------------------------------------------------------------------===//
// Filters
//===----------------------------------------------------------------------===//

/// Arranges a filter now. 0, or a CUresult.
static Result arrange(const CudaDevice &device, const FilterArrangement &how, Pointer from,
                      Pointer to, Pointer errors) {
  const Driver &driver = *device.driver;
  Stream stream = nullptr;
  if (Result error = driver.streamCreate(&stream, streamNonBlocking))
    return error;
  void *parameters[] = {&errors, &from, &to};
  Result error = driver.launch(how.function, unsigned(how.blocks), 1, 1, unsigned(how.threads), 1,
                               1, 0, stream, parameters, nullptr);
  Result after = driver.streamSynchronize(stream);
  driver.streamDestroy(stream);
  return error ? error : after;
}

Pointer arrangedFilter(const CudaDevice &device, const FilterArrangement &how, int64_t bytes,
                       Pointer filter, Pointer errors) {
  Convolutions &convolutions = *device.convolutions;
  const Driver &driver = *device.driver;
  Lock lock(convolutions.session->mutex);
  // Equal places may be filters of unlike shapes.
  for (ArrangedFilter *each = convolutions.filters; each; each = each->next)
    if (each->from == filter && each->bytes == bytes && each->arrange == how.function)
      return each->data;
  auto *made = static_cast<ArrangedFilter *>(malloc(sizeof(ArrangedFilter)));
  Current current(device);
  Pointer data = 0;
  if (!made || driver.memAlloc(&data, size_t(bytes)) != 0) {
    free(made);
    return 0;
  }
  if (arrange(device, how, filter, data, errors) != 0) {
    driver.memFree(data);
    free(made);
    return 0;
  }
  *made = {convolutions.filters, filter, data, bytes, how.function};
  convolutions.filters = made;
  return data;
}

//===----------------------------------------------------------------------===//
// A session's convolutions
//===----------------------------------------------------------------------===//

static bool fill(Convolutions *convolutions, const CudaDevice &device, int32_t kernelCount) {
  convolutions->entries =
      static_cast<Convolution *>(calloc(size_t(convolutions->count), sizeof(Convolution)));
  convolutions->byKernel =
      static_cast<int32_t *>(malloc(sizeof(int32_t) * size_t(kernelCount + 1)));
  if (!convolutions->entries || !convolutions->byKernel)
    return false;
  for (int32_t i = 0; i < kernelCount; ++i)
    convolutions->byKernel[i] = -1;
  for (int64_t i = 0; i < convolutions->count; ++i) {
    const weir_cuda_convolution &convolution = device.record->convolutions[i];
    Convolution &entry = convolutions->entries[i];
    entry.desc = &convolution;
    auto find = [&](const char *name, Function *function) {
      return !name || device.driver->moduleFunction(function, device.module, name) == 0;
    };
    entry.arrange = {nullptr, convolution.arrange_blocks, convolution.arrange_threads};
    if (!find(convolution.rest, &entry.rest) || !find(convolution.arrange, &entry.arrange.function))
      return false;
    convolutions->byKernel[convolution.kernel] = int32_t(i);
  }
  return true;
}

/// Makes zeros for the widest bias. Without memory for them kernels do the work.
static void makeZeros(Convolutions *convolutions, const Driver &driver) {
  int64_t bytes = 0;
  for (int64_t i = 0; i < convolutions->count; ++i) {
    const weir_cuda_convolution &desc = *convolutions->entries[i].desc;
    int64_t wanted = desc.outputs.factor * weir_dtype_size(desc.result_dtype);
    if (desc.bias == WEIR_CUDA_ZEROS && wanted > bytes)
      bytes = wanted;
  }
  void *zeros = bytes > 0 ? calloc(size_t(bytes), 1) : nullptr;
  if (zeros && driver.memAlloc(&convolutions->zeros, size_t(bytes)) == 0 &&
      driver.copyIn(convolutions->zeros, zeros, size_t(bytes)) != 0) {
    driver.memFree(convolutions->zeros);
    convolutions->zeros = 0;
  }
  free(zeros);
}

static void release(Convolutions *convolutions) {
  free(convolutions->entries);
  free(convolutions->byKernel);
  free(convolutions);
}

Convolutions *openConvolutions(const CudaDevice &device, int32_t kernelCount) {
  auto *convolutions = static_cast<Convolutions *>(calloc(1, sizeof(Convolutions)));
  if (!convolutions)
    return nullptr;
  const weir_cuda_record &record = *device.record;
  convolutions->session = device.dnn;
  if (record.convolution_count == 0 || !device.dnn->dnn)
    return convolutions;
  convolutions->count = record.convolution_count;
  if (!fill(convolutions, device, kernelCount)) {
    release(convolutions);
    return nullptr;
  }
  makeZeros(convolutions, *device.driver);
  for (int32_t kernel = 0; kernel < kernelCount; ++kernel) {
    const Convolution *ignored;
    if (int32_t first = convolutions->byKernel[kernel];
        first >= 0 && isFixed(record.convolutions[first]))
      planConvolution(convolutions, kernel, nullptr, &ignored);
  }
  return convolutions;
}

void closeConvolutions(const CudaDevice &device, Convolutions *convolutions) {
  if (!convolutions)
    return;
  if (convolutions->zeros)
    device.driver->memFree(convolutions->zeros);
  while (ArrangedFilter *filter = convolutions->filters) {
    convolutions->filters = filter->next;
    device.driver->memFree(filter->data);
    free(filter);
  }
  for (int64_t i = 0; i < convolutions->count; ++i)
    while (ConvolutionPlan *plan = convolutions->entries[i].plans) {
      convolutions->entries[i].plans = plan->next;
      if (plan->plan)
        convolutions->session->dnn->forget(plan->plan);
      free(plan);
    }
  release(convolutions);
}

int32_t putConvolution(Convolutions &convolutions, const ConvolutionPlan &plan,
                       const LibraryOperands &operands, Stream stream) {
  DnnOperands tensors;
  tensors.add(inputId, operands.left);
  tensors.add(filterId, operands.right);
  tensors.add(resultId, operands.result);
  tensors.add(addendId, operands.addend);
  tensors.add(biasId, operands.bias);
  return putPlan(*convolutions.session, plan.plan, tensors, operands.workspace, stream);
}

} // namespace weir::rt::cuda
