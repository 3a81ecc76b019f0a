//===- cuda_launch.cpp - work of steps on GPUs -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/cuda_launch.h"
#include "cuda/phases.h"

using namespace weir::rt;
using namespace weir::rt::cuda;

int32_t weir::rt::cuda::flushWork(weir_context *ctx) {
  CudaRun *part = partOf(ctx);
  if (part->pending.count == 0)
    return publishValues(ctx);
  Result error = closeOut(part);
  if (error)
    return fail(ctx, "work cannot be put", error);
  WorkFailure failure;
  if (flush(part, &failure))
    return publishValues(ctx);
  const char *nodes = failure.kernel < 0 ? nullptr : nodesOf(ctx, failure.kernel);
  if (!isLibrarys(failure.kind))
    return fail(ctx, nodes ? "the kernel cannot be launched" : "work cannot be put", failure.error,
                nodes);
  char text[1016];
  Text out(text, sizeof(text));
  bool isProduct = failure.kind == WorkKind::Product;
  const char *what = isProduct                               ? "cuBLASLt refuses the product on "
                     : failure.kind == WorkKind::Convolution ? "cuDNN refuses the convolution on "
                     : failure.kind == WorkKind::Pooling     ? "cuDNN refuses the pooling on "
                                                             : "cuDNN refuses the attention on ";
  out << "node \"" << nodes << "\": " << what
      << ctx->run->session->program->devices[ctx->device].name << " (status " << failure.error
      << "); " << (isProduct ? "WEIR_CUBLASLT" : "WEIR_CUDNN") << "=off does without it";
  return abortRun(ctx->run, WEIR_INTERNAL, text);
}

int32_t weir::rt::cuda::awaitWork(weir_context *ctx, const char *nodes) {
  CudaRun *part = partOf(ctx);
  const Driver &driver = *part->device->driver;
  Current current(*part->device);
  if (int32_t code = flushWork(ctx))
    return code;
  Result error =
      driver.copyOutAsync(part->error, part->errorOnDevice, sizeof(weir_cuda_error), part->work);
  if (!error)
    error = driver.streamSynchronize(part->work);
  if (error)
    return fail(ctx, "the kernel failed", error, nodes);
  if (!part->error->taken)
    return WEIR_OK;
  return weir_rt_error(ctx, part->error->site, part->error->value0, part->error->value1);
}

bool weir::rt::cuda::noteLaunch(weir_context *ctx, Function function, int32_t number,
                                const Arguments &arguments, const MoreParameters &more,
                                int64_t blocks, int32_t threads) {
  CudaRun *part = partOf(ctx);
  int32_t mapBytes = more.mapCount * WEIR_CUDA_MAP_BYTES;
  int32_t count = 1 + arguments.bufferCount + arguments.sizeCount + more.count + mapBytes / 8;
  auto *record = static_cast<LaunchRecord *>(note(part->pending, WorkKind::Launch,
                                                  int64_t(sizeof(LaunchRecord)) + 8 * count,
                                                  arguments.kernel));
  if (!record)
    return false;
  record->parameters = count;
  record->function = function;
  record->blocks = uint32_t(blocks);
  record->threads = uint32_t(threads);
  record->shared = more.shared;
  record->maps = uint32_t(more.mapCount);
  if (const Phases *phases = part->device->phases)
    record->phase = phaseOf(*phases, number);
  auto *values = reinterpret_cast<uint64_t *>(record + 1);
  *values++ = part->errorOnDevice;
  for (int32_t i = 0; i < arguments.bufferCount; ++i)
    *values++ = uint64_t(arguments.buffers[i]);
  for (int32_t i = 0; i < arguments.sizeCount; ++i)
    *values++ = uint64_t(arguments.sizes[i]);
  for (int32_t i = 0; i < more.count; ++i)
    *values++ = more.values[i];
  if (mapBytes)
    memcpy(values, more.maps, size_t(mapBytes));
  return true;
}

Function weir::rt::cuda::functionOf(CudaDevice &device, int32_t number) {
  MoreFunctions &more = device.more;
  Lock lock(more.mutex);
  int32_t place = number % MoreFunctions::places;
  if (more.numbers[place] == number)
    return more.functions[place];
  Function function = nullptr;
  Current current(device);
  if (device.driver->moduleFunction(&function, device.module, device.desc->kernels[number]) != 0)
    return nullptr;
  if (!more.numbers[place]) {
    more.numbers[place] = number;
    more.functions[place] = function;
  }
  return function;
}

/// What a library does in place of a kernel.
struct LibraryCall {
  WorkKind kind;
  void *plan;
  LibraryOperands operands; ///< without workspace; result 0: memory that `rest` reads
  int64_t workspace, resultBytes;
  Function rest; ///< null: nothing is left to compute
  int64_t restBlocks;
  int32_t restThreads;
};

/// Notes the call, and what it leaves to compute. False: the kernel is to do it
/// all. `code`: 0, or the run was aborted.
static bool noteCall(weir_context *ctx, const Arguments &arguments, LibraryCall call,
                     Scratch &scratch, int32_t *code) {
  const char *nodes = nodesOf(ctx, arguments.kernel);
  if (call.workspace > 0 && !(call.operands.workspace = scratch.take(call.workspace, nodes)))
    return false;
  if (!call.operands.result && !(call.operands.result = scratch.take(call.resultBytes, nodes)))
    return false;
  auto *record = static_cast<LibraryRecord *>(
      note(partOf(ctx)->pending, call.kind, sizeof(LibraryRecord), arguments.kernel));
  bool noted = record;
  if (noted) {
    record->plan = call.plan;
    record->operands = call.operands;
  }
  if (noted && call.rest)
    noted = noteLaunch(ctx, call.rest, -1, arguments, MoreParameters::pointer(call.operands.result),
                       call.restBlocks, call.restThreads);
  *code = noted ? int32_t(WEIR_OK) : outOfHostMemory(ctx);
  return true;
}

/// Blocks of the kernel that computes what is left.
template <typename Desc> static int64_t restBlocks(const Desc &desc, const int64_t *sizes) {
  return desc.rest
             ? (extentOf(desc.rest_count, sizes) + desc.rest_elements - 1) / desc.rest_elements
             : 0;
}

static bool noteProduct(weir_context *ctx, const Arguments &arguments, int32_t *code) {
  Products &products = *partOf(ctx)->device->products;
  if (!products.blas || products.byKernel[arguments.kernel] < 0)
    return false;
  Product &entry = products.entries[products.byKernel[arguments.kernel]];
  const weir_cuda_product &desc = *entry.desc;
  ProductPlan *plan = planProduct(&products, entry, arguments.sizes);
  if (!plan)
    return false;
  LibraryOperands operands = {
      arguments.buffer(desc.left.buffer),   arguments.buffer(desc.right.buffer),
      arguments.buffer(desc.addend.buffer), arguments.buffer(desc.bias),
      arguments.buffer(desc.result),        0};
  Scratch scratch(ctx);
  return noteCall(ctx, arguments,
                  {WorkKind::Product, plan, operands, plan->workspace, resultBytes(*plan),
                   entry.rest, restBlocks(desc, arguments.sizes), desc.rest_threads},
                  scratch, code);
}

static bool isConstant(const CudaDevice &device, Pointer data) {
  return device.constants && data >= device.constants &&
         data < device.constants + uint64_t(device.desc->segment_bytes);
}

/// Where a filter lies as who multiplies wants it: a constant's is arranged once a session, another
/// one's by a launch, into memory of the step. 0: there is none, or the run was aborted with
/// `code`.
static Pointer arrangeFilter(weir_context *ctx, const Arguments &arguments,
                             const FilterArrangement &how, int64_t bytes, Pointer filter,
                             Scratch &scratch, int32_t *code) {
  CudaRun *part = partOf(ctx);
  if (isConstant(*part->device, filter))
    return arrangedFilter(*part->device, how, bytes, filter, part->errorOnDevice);
  Pointer arranged = scratch.take(bytes, nodesOf(ctx, arguments.kernel));
  void *buffers[] = {reinterpret_cast<void *>(filter), reinterpret_cast<void *>(arranged)};
  if (!arranged || noteLaunch(ctx, how.function, -1, {arguments.kernel, buffers, 2, nullptr, 0}, {},
                              how.blocks, how.threads))
    return arranged;
  *code = outOfHostMemory(ctx);
  return 0;
}

static bool noteConvolution(weir_context *ctx, const Arguments &arguments, int32_t *code) {
  const CudaDevice &device = *partOf(ctx)->device;
  const Convolution *entry;
  ConvolutionPlan *plan =
      planConvolution(device.convolutions, arguments.kernel, arguments.sizes, &entry);
  if (!plan)
    return false;
  const weir_cuda_convolution &desc = *entry->desc;
  LibraryOperands operands = {arguments.buffer(desc.input),  arguments.buffer(desc.filter),
                              arguments.buffer(desc.addend), arguments.buffer(desc.bias),
                              arguments.buffer(desc.result), 0};
  if (desc.bias == WEIR_CUDA_ZEROS)
    operands.bias = device.convolutions->zeros;
  Scratch scratch(ctx);
  if (entry->arrange.function) {
    operands.right = arrangeFilter(ctx, arguments, entry->arrange, filterBytes(desc, plan->shape),
                                   operands.right, scratch, code);
    if (!operands.right)
      return *code != WEIR_OK;
  }
  return noteCall(ctx, arguments,
                  {WorkKind::Convolution, plan, operands, plan->workspace, resultBytes(*plan),
                   entry->rest, restBlocks(desc, arguments.sizes), desc.rest_threads},
                  scratch, code);
}

/// A pooling or an attention.
static bool noteDnnCall(weir_context *ctx, const Arguments &arguments, int32_t *code) {
  DnnCall *call = callOf(partOf(ctx)->device->calls, arguments.kernel);
  if (!call)
    return false;
  LibraryOperands operands = {};
  if (const weir_cuda_pooling *desc = call->pooling) {
    operands.left = arguments.buffer(desc->input);
    operands.result = arguments.buffer(desc->result);
  } else {
    const weir_cuda_attention &attention = *call->attention;
    operands.left = arguments.buffer(attention.queries) + attention.query_offset;
    operands.right = arguments.buffer(attention.keys) + attention.key_offset;
    operands.values = arguments.buffer(attention.values) + attention.value_offset;
    operands.addend = arguments.buffer(attention.mask);
    operands.result = arguments.buffer(attention.result);
  }
  WorkKind kind = call->pooling ? WorkKind::Pooling : WorkKind::Attention;
  Scratch scratch(ctx);
  return noteCall(ctx, arguments, {kind, call, operands, call->workspace, 0, nullptr, 0, 0},
                  scratch, code);
}

/// A kernel's second form, where the GPU has it and operands fit.
static bool noteWideKernel(weir_context *ctx, const Arguments &arguments, int32_t *code) {
  WideKernels &kernels = *partOf(ctx)->device->wideKernels;
  int64_t tiles;
  WideKernel *entry = findWideKernel(kernels, arguments.kernel, arguments.sizes, &tiles);
  if (!entry)
    return false;
  Scratch scratch(ctx);
  Pointer filter = 0;
  if (entry->arrange.function) {
    filter = arrangeFilter(ctx, arguments, entry->arrange, wideFilterBytes(*entry->desc),
                           arguments.buffer(entry->desc->right.buffer), scratch, code);
    if (!filter)
      return *code != WEIR_OK;
  }
  WideLaunch launch;
  if (!planWideKernel(kernels, *entry, tiles, arguments.buffers, arguments.sizes, filter, &launch))
    return false;
  MoreParameters more = {{}, 0, launch.maps[0], launch.mapCount, uint32_t(launch.shared)};
  bool noted = noteLaunch(ctx, launch.function, -1, arguments, more, launch.blocks, launch.threads);
  *code = noted ? int32_t(WEIR_OK) : outOfHostMemory(ctx);
  return true;
}

static int32_t launch(weir_context *ctx, const Arguments &arguments, int64_t blocks,
                      int32_t threads, const Ways &ways) {
  if (int32_t code = checkStop(ctx->run))
    return code;
  if (blocks <= 0)
    return WEIR_OK;
  const CudaDevice &device = *partOf(ctx)->device;
  const weir_kernel_desc &desc = ctx->run->session->program->kernels[arguments.kernel];
  constexpr int32_t most = 440; // a kernel's parameters take up to 4 KiB, three maps among them
  constexpr int64_t mostBlocks = 0x7fffffff;
  if (arguments.bufferCount + arguments.sizeCount > most || blocks > mostBlocks)
    return fail(ctx, "the kernel cannot be launched", 1, desc.nodes);
  // No context is current: what is known already asks nothing of the driver.
  int32_t code = WEIR_OK;
  Function function = device.functions[arguments.kernel];
  bool isByParts = leavesIdle(ways.parts), done = true;
  if (ways.sort)
    code = noteSort(ctx, arguments, *ways.sort, function, blocks, threads);
  else
    done = (isByParts && noteParts(ctx, arguments, ways.parts, &code)) ||
           noteProduct(ctx, arguments, &code) || noteConvolution(ctx, arguments, &code) ||
           noteDnnCall(ctx, arguments, &code) ||
           (!isByParts && noteParts(ctx, arguments, ways.parts, &code)) ||
           noteSplit(ctx, arguments, ways.split, &code) || noteWideKernel(ctx, arguments, &code) ||
           noteLaunch(ctx, function, arguments.kernel, arguments, {}, blocks, threads);
  if (!done)
    return outOfHostMemory(ctx);
  bool waits = device.waitsAlways && partOf(ctx)->openCount == 0;
  return code || !waits ? code : awaitWork(ctx, desc.nodes);
}

int32_t weir_cuda_launch(weir_context *ctx, int32_t kernel, void *const *buffers,
                         int32_t buffer_count, const int64_t *sizes, int32_t size_count,
                         int64_t blocks, int32_t threads) {
  return launch(ctx, {kernel, buffers, buffer_count, sizes, size_count}, blocks, threads, {});
}

int32_t weir_cuda_launch_parts(weir_context *ctx, int32_t kernel, void *const *buffers,
                               int32_t buffer_count, const int64_t *sizes, int32_t size_count,
                               int64_t blocks, int32_t threads, const weir_cuda_parts *parts) {
  return launch(ctx, {kernel, buffers, buffer_count, sizes, size_count}, blocks, threads,
                {parts, nullptr, nullptr});
}

int32_t weir_cuda_launch_split(weir_context *ctx, int32_t kernel, void *const *buffers,
                               int32_t buffer_count, const int64_t *sizes, int32_t size_count,
                               int64_t blocks, int32_t threads, const weir_cuda_split *split) {
  return launch(ctx, {kernel, buffers, buffer_count, sizes, size_count}, blocks, threads,
                {nullptr, split, nullptr});
}

int32_t weir_cuda_launch_sort(weir_context *ctx, int32_t kernel, void *const *buffers,
                              int32_t buffer_count, const int64_t *sizes, int32_t size_count,
                              int64_t blocks, int32_t threads, const weir_cuda_sort *sort) {
  return launch(ctx, {kernel, buffers, buffer_count, sizes, size_count}, blocks, threads,
                {nullptr, nullptr, sort});
}

void *weir_cuda_alloc(weir_context *ctx, int64_t bytes, int32_t site) {
  const char *tag = nodeOf(ctx->run, site);
  bool used;
  if (uint8_t *data = takePiece(ctx, bytes, tag, true, &used))
    return data;
  abortOutOfMemory(ctx->run, *partOf(ctx)->device, bytes, tag, site);
  return nullptr;
}

void weir_cuda_free(weir_context *ctx, void *data) {
  for (Piece *piece = partOf(ctx)->pieces; piece; piece = piece->next)
    if (piece->data == data)
      piece->free = true;
}

int32_t weir_cuda_copy(weir_context *ctx, void *to, const void *from, int64_t bytes) {
  if (bytes <= 0)
    return WEIR_OK;
  auto *record =
      static_cast<CopyRecord *>(note(partOf(ctx)->pending, WorkKind::Copy, sizeof(CopyRecord), -1));
  if (!record)
    return outOfHostMemory(ctx);
  record->to = Pointer(to);
  record->from = Pointer(from);
  record->size = uint64_t(bytes);
  return WEIR_OK;
}

int32_t weir_cuda_store(weir_context *ctx, void *to, int32_t bytes, int64_t value) {
  auto *record = static_cast<StoreRecord *>(
      note(partOf(ctx)->pending, WorkKind::Store, sizeof(StoreRecord), -1));
  if (!record)
    return outOfHostMemory(ctx);
  record->to = Pointer(to);
  record->size = uint64_t(bytes);
  record->value = uint64_t(value);
  return WEIR_OK;
}
