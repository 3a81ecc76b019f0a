//===- convolutions.cpp - convolutions by cuDNN ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/convolutions.h"
#include "cuda/cuda_device.h"

#include <new>
#include <stdlib.h>

namespace weir::rt::cuda {

static const weir_cuda_convolution *convolutionsOf(const weir_accelerator_desc &desc) {
  return static_cast<const weir_cuda_convolution *>(desc.convolutions);
}

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
  return shape.outputs * (shape.channels / desc.groups) *
         productOf(shape.window, desc.spatial) * weir_dtype_size(desc.dtype);
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
static void nameProblem(const weir_cuda_convolution &desc, const ConvolutionShape &s,
                        char *buffer, int64_t capacity) {
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

/// Loads what the file has: bytes of the text, and the text.
static bool loadChoice(const Convolutions &convolutions, ConvolutionPlan &plan,
                       const char *problem, const DnnPlace &place) {
  int64_t count = 0;
  const uint64_t *words =
      convolutions.file ? convolutions.file->findAny(problem, &count) : nullptr;
  if (!words || count < 2 || words[0] == 0 || words[0] > uint64_t(count - 1) * 8)
    return false;
  plan.plan = loadPlan(*convolutions.dnn, place, reinterpret_cast<const char *>(words + 1),
                       int64_t(words[0]), &plan.workspace);
  return plan.plan;
}

static void keepChoice(const Convolutions &convolutions, const char *problem,
                       const PlanText &text) {
  int64_t count = 1 + (text.bytes + 7) / 8;
  auto *words = static_cast<uint64_t *>(calloc(size_t(count), 8));
  if (!words)
    return;
  words[0] = uint64_t(text.bytes);
  memcpy(words + 1, text.data, size_t(text.bytes));
  convolutions.file->add(problem, words, count);
  free(words);
}

/// The mutex is held, or nobody else has the convolutions yet.
static void choose(Convolutions &convolutions, ConvolutionPlan &plan) {
  const Dnn &dnn = *convolutions.dnn;
  const weir_cuda_convolution &desc = *plan.convolution;
  DnnPlace place = {convolutions.handle, nullptr};
  for (int64_t i = 0; isFixed(desc) && i < desc.plan_count && !plan.plan; ++i)
    plan.plan = loadPlan(dnn, place, desc.plans[i], int64_t(strlen(desc.plans[i])),
                         &plan.workspace);
  char problem[512];
  nameProblem(desc, plan.shape, problem, sizeof(problem));
  if (plan.plan || loadChoice(convolutions, plan, problem, place))
    return;
  PlanText text = choosePlan(dnn, place, desc, plan.shape);
  if (!text.data)
    return;
  plan.plan = loadPlan(dnn, place, text.data, text.bytes, &plan.workspace);
  if (plan.plan && convolutions.file)
    keepChoice(convolutions, problem, text);
  free(text.data);
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
  // What does not work is remembered as well.
  choose(convolutions, *plan);
  plan->next = entry.plans;
  entry.plans = plan;
  return plan->plan ? plan : nullptr;
}

ConvolutionPlan *planConvolution(Convolutions *convolutions, int32_t kernel,
                                 const int64_t *sizes, const Convolution **found) {
  if (!convolutions->dnn || convolutions->byKernel[kernel] < 0)
    return nullptr;
  Convolution &entry = convolutions->entries[convolutions->byKernel[kernel]];
  if (entry.desc->bias == WEIR_CUDA_ZEROS && !convolutions->zeros)
    return nullptr;
  Lock lock(convolutions->mutex);
  *found = &entry;
  return planEntry(*convolutions, entry, sizes);
}

//===----------------------------------------------------------------------===//
// Filters
//===----------------------------------------------------------------------===//

/// Arranges a filter now. 0, or a CUresult.
static Result arrange(const CudaDevice &device, const Convolution &entry, Pointer from,
                      Pointer to, Pointer errors) {
  const Driver &driver = *device.driver;
  Stream stream = nullptr;
  if (Result error = driver.streamCreate(&stream, streamNonBlocking))
    return error;
  void *parameters[] = {&errors, &from, &to};
  Result error = driver.launch(entry.arrange, unsigned(entry.desc->arrange_blocks), 1, 1,
                               unsigned(entry.desc->arrange_threads), 1, 1, 0, stream,
                               parameters, nullptr);
  Result after = driver.streamSynchronize(stream);
  driver.streamDestroy(stream);
  return error ? error : after;
}

Pointer arrangedFilter(const CudaDevice &device, const Convolution &entry,
                       const ConvolutionShape &shape, Pointer filter, Pointer errors) {
  Convolutions &convolutions = *device.convolutions;
  const Driver &driver = *device.driver;
  int64_t bytes = filterBytes(*entry.desc, shape);
  Lock lock(convolutions.mutex);
  // Equal places may be filters of unlike shapes.
  for (ArrangedFilter *each = convolutions.filters; each; each = each->next)
    if (each->from == filter && each->bytes == bytes && each->arrange == entry.arrange)
      return each->data;
  auto *made = static_cast<ArrangedFilter *>(malloc(sizeof(ArrangedFilter)));
  Pointer data = 0;
  if (!made || driver.memAlloc(&data, size_t(bytes)) != 0) {
    free(made);
    return 0;
  }
  if (arrange(device, entry, filter, data, errors) != 0) {
    driver.memFree(data);
    free(made);
    return 0;
  }
  *made = {convolutions.filters, filter, data, bytes, entry.arrange};
  convolutions.filters = made;
  return data;
}

//===----------------------------------------------------------------------===//
// A session's convolutions
//===----------------------------------------------------------------------===//

static bool fill(Convolutions *convolutions, const CudaDevice &device, int32_t kernelCount) {
  const weir_accelerator_desc &desc = *device.desc;
  convolutions->entries =
      static_cast<Convolution *>(calloc(size_t(convolutions->count), sizeof(Convolution)));
  convolutions->byKernel =
      static_cast<int32_t *>(malloc(sizeof(int32_t) * size_t(kernelCount + 1)));
  if (!convolutions->entries || !convolutions->byKernel)
    return false;
  for (int32_t i = 0; i < kernelCount; ++i)
    convolutions->byKernel[i] = -1;
  for (int64_t i = 0; i < convolutions->count; ++i) {
    const weir_cuda_convolution &convolution = convolutionsOf(desc)[i];
    Convolution &entry = convolutions->entries[i];
    entry.desc = &convolution;
    auto find = [&](const char *name, Function *function) {
      return !name || device.driver->moduleFunction(function, device.module, name) == 0;
    };
    if (!find(convolution.rest, &entry.rest) || !find(convolution.arrange, &entry.arrange))
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
  void *memory = calloc(1, sizeof(Convolutions));
  if (!memory)
    return nullptr;
  auto *convolutions = new (memory) Convolutions();
  const weir_accelerator_desc &desc = *device.desc;
  // Objects of before have none.
  if (desc.size < offsetof(weir_accelerator_desc, convolution_count) +
                      sizeof(desc.convolution_count) ||
      desc.convolution_count == 0)
    return convolutions;
  const Dnn *dnn = loadDnn();
  if (!dnn || dnn->create(&convolutions->handle) != 0)
    return convolutions;
  convolutions->count = desc.convolution_count;
  if (!fill(convolutions, device, kernelCount)) {
    dnn->destroy(convolutions->handle);
    release(convolutions);
    return nullptr;
  }
  convolutions->dnn = dnn;
  makeZeros(convolutions, *device.driver);
  convolutions->file = openChoices(device, "cudnn", int64_t(dnn->version()));
  for (int32_t kernel = 0; kernel < kernelCount; ++kernel) {
    const Convolution *ignored;
    if (int32_t first = convolutions->byKernel[kernel];
        first >= 0 && isFixed(convolutionsOf(desc)[first]))
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
  if (convolutions->dnn) {
    for (int64_t i = 0; i < convolutions->count; ++i)
      while (ConvolutionPlan *plan = convolutions->entries[i].plans) {
        convolutions->entries[i].plans = plan->next;
        if (plan->plan)
          convolutions->dnn->forget(plan->plan);
        free(plan);
      }
    convolutions->dnn->destroy(convolutions->handle);
  }
  ChoiceFile::close(convolutions->file);
  release(convolutions);
}

int32_t putConvolution(Convolutions &convolutions, const ConvolutionPlan &plan,
                       const LibraryOperands &operands, Stream stream) {
  const Dnn &dnn = *convolutions.dnn;
  int64_t ids[5];
  Pointer pointers[5];
  int64_t count = 0;
  auto add = [&](int64_t id, Pointer pointer) {
    if (pointer == 0)
      return;
    ids[count] = id;
    pointers[count++] = pointer;
  };
  add(inputId, operands.left);
  add(filterId, operands.right);
  add(resultId, operands.result);
  add(addendId, operands.addend);
  add(biasId, operands.bias);
  Lock lock(convolutions.mutex);
  DnnDescriptor pack = nullptr;
  if (int32_t error = dnn.describe(dnn::variantPack, &pack))
    return error;
  int32_t error = dnn.set(pack, dnn::packIds, dnn::typeInt64, count, ids);
  if (!error)
    error = dnn.set(pack, dnn::packPointers, dnn::typePointer, count, pointers);
  if (!error)
    error = dnn.set(pack, dnn::packWorkspace, dnn::typePointer, 1, &operands.workspace);
  if (!error)
    error = dnn.finalize(pack);
  if (!error)
    error = dnn.setStream(convolutions.handle, stream);
  if (!error)
    error = dnn.execute(convolutions.handle, plan.plan, pack);
  dnn.forget(pack);
  return error;
}

} // namespace weir::rt::cuda
