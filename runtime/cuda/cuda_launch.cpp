//===- cuda_launch.cpp - work of steps on GPUs -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/cuda_device.h"

using namespace weir::rt;
using namespace weir::rt::cuda;

int32_t weir::rt::cuda::flushWork(weir_context *ctx) {
  CudaRun *part = partOf(ctx);
  if (part->pending.count == 0)
    return WEIR_OK;
  Result error = closeOut(part);
  if (error)
    return fail(ctx, "work cannot be put", error);
  WorkFailure failure;
  if (flush(part, &failure))
    return WEIR_OK;
  const char *nodes =
      failure.kernel < 0 ? nullptr : ctx->run->session->program->kernels[failure.kernel].nodes;
  if (!failure.isProduct)
    return fail(ctx, nodes ? "the kernel cannot be launched" : "work cannot be put",
                failure.error, nodes);
  char text[1016];
  Text out(text, sizeof(text));
  out << "node \"" << nodes << "\": cuBLASLt refuses the product on "
      << ctx->run->session->program->devices[ctx->device].name << " (status "
      << failure.error << "); WEIR_CUBLASLT=off does without it";
  return abortRun(ctx->run, WEIR_INTERNAL, text);
}

/// WEIR_CUDA_SYNC: puts what was noted last, waits for it and looks at what it
/// left.
static int32_t waitFor(weir_context *ctx, const char *nodes) {
  CudaRun *part = partOf(ctx);
  const Driver &driver = *part->device->driver;
  if (int32_t code = flushWork(ctx))
    return code;
  Result error = driver.copyOutAsync(part->error, part->errorOnDevice,
                                     sizeof(weir_cuda_error), part->work);
  if (!error)
    error = driver.streamSynchronize(part->work);
  if (error)
    return fail(ctx, "the kernel failed", error, nodes);
  if (!part->error->taken)
    return WEIR_OK;
  return weir_rt_error(ctx, part->error->site, part->error->value0,
                       part->error->value1);
}

static int32_t outOfHostMemory(weir_context *ctx) {
  return abortRun(ctx->run, WEIR_RESOURCE_EXHAUSTED, "no memory for a step's work");
}

/// Notes a launch; its parameters are a record for errors, the buffers, the sizes
/// and, where it is not 0, `last`.
static bool noteLaunch(weir_context *ctx, Function function, int32_t kernel,
                       void *const *buffers, int32_t bufferCount, const int64_t *sizes,
                       int32_t sizeCount, Pointer last, int64_t blocks, int32_t threads) {
  CudaRun *part = partOf(ctx);
  int32_t count = 1 + bufferCount + sizeCount + (last ? 1 : 0);
  auto *record = static_cast<LaunchRecord *>(
      note(part->pending, WorkKind::Launch, int64_t(sizeof(LaunchRecord)) + 8 * count, kernel));
  if (!record)
    return false;
  record->parameters = count;
  record->function = function;
  record->blocks = uint32_t(blocks);
  record->threads = uint32_t(threads);
  auto *values = reinterpret_cast<uint64_t *>(record + 1);
  *values++ = part->errorOnDevice;
  for (int32_t i = 0; i < bufferCount; ++i)
    *values++ = uint64_t(buffers[i]);
  for (int32_t i = 0; i < sizeCount; ++i)
    *values++ = uint64_t(sizes[i]);
  if (last)
    *values = last;
  return true;
}

/// Notes a product of the library, and what it leaves to compute. False: the
/// kernel is to do it all. `code`: 0, or the run was aborted.
static bool noteProduct(weir_context *ctx, int32_t kernel, void *const *buffers,
                        int32_t bufferCount, const int64_t *sizes, int32_t sizeCount,
                        int32_t *code) {
  CudaRun *part = partOf(ctx);
  Products &products = *part->device->products;
  if (!products.blas || products.byKernel[kernel] < 0)
    return false;
  Product &entry = products.entries[products.byKernel[kernel]];
  const weir_cuda_product &desc = *entry.desc;
  ProductPlan *plan = planProduct(&products, entry, sizes);
  if (!plan)
    return false;
  auto bufferOf = [&](int32_t number) {
    return number < 0 ? Pointer(0) : Pointer(buffers[number]);
  };
  ProductOperands operands = {bufferOf(desc.left.buffer), bufferOf(desc.right.buffer),
                              bufferOf(desc.addend.buffer), bufferOf(desc.bias),
                              bufferOf(desc.result), 0};
  // In the order of the step: free again for what is put behind it.
  const char *nodes = ctx->run->session->program->kernels[kernel].nodes;
  bool used;
  if (plan->workspace > 0) {
    operands.workspace = Pointer(takePiece(ctx, plan->workspace, nodes, true, &used));
    if (!operands.workspace)
      return false;
  }
  if (desc.result < 0) {
    operands.result = Pointer(takePiece(ctx, resultBytes(*plan), nodes, true, &used));
    if (!operands.result) {
      weir_cuda_free(ctx, reinterpret_cast<void *>(operands.workspace));
      return false;
    }
  }
  auto *record = static_cast<ProductRecord *>(
      note(part->pending, WorkKind::Product, sizeof(ProductRecord), kernel));
  bool noted = record;
  if (noted) {
    record->plan = plan;
    record->operands = operands;
  }
  if (noted && entry.rest) {
    int64_t count = extentOf(desc.rest_count, sizes);
    int64_t blocks = (count + desc.rest_elements - 1) / desc.rest_elements;
    noted = noteLaunch(ctx, entry.rest, kernel, buffers, bufferCount, sizes, sizeCount,
                       operands.result, blocks, desc.rest_threads);
  }
  if (operands.workspace)
    weir_cuda_free(ctx, reinterpret_cast<void *>(operands.workspace));
  if (desc.result < 0)
    weir_cuda_free(ctx, reinterpret_cast<void *>(operands.result));
  *code = noted ? int32_t(WEIR_OK) : outOfHostMemory(ctx);
  return true;
}

int32_t weir_cuda_launch(weir_context *ctx, int32_t kernel,
                         void *const *buffers, int32_t buffer_count,
                         const int64_t *sizes, int32_t size_count,
                         int64_t blocks, int32_t threads) {
  if (int32_t code = checkStop(ctx->run))
    return code;
  if (blocks <= 0)
    return WEIR_OK;
  const CudaDevice &device = *partOf(ctx)->device;
  const weir_kernel_desc &desc = ctx->run->session->program->kernels[kernel];
  constexpr int32_t most = 500; // a kernel's parameters take up to 4 KiB
  constexpr int64_t mostBlocks = 0x7fffffff;
  if (buffer_count + size_count > most || blocks > mostBlocks)
    return fail(ctx, "the kernel cannot be launched", 1, desc.nodes);
  Current current(device);
  int32_t code = WEIR_OK;
  if (!noteProduct(ctx, kernel, buffers, buffer_count, sizes, size_count, &code) &&
      !noteLaunch(ctx, device.functions[kernel], kernel, buffers, buffer_count, sizes,
                  size_count, 0, blocks, threads))
    return outOfHostMemory(ctx);
  return code || !device.waitsAlways ? code : waitFor(ctx, desc.nodes);
}

void *weir_cuda_alloc(weir_context *ctx, int64_t bytes, int32_t site) {
  const char *tag = nodeOf(ctx->run, site);
  bool used;
  if (uint8_t *data = takePiece(ctx, bytes, tag, true, &used))
    return data;
  AllocationRequest request;
  request.bytes = bytes;
  request.tag = tag;
  char text[1016];
  partOf(ctx)->device->memory->explainFailure(request, text, sizeof(text));
  abortRun(ctx->run, recordError(ctx->run, WEIR_RESOURCE_EXHAUSTED, site, text));
  return nullptr;
}

void weir_cuda_free(weir_context *ctx, void *data) {
  for (Piece *piece = partOf(ctx)->pieces; piece; piece = piece->next)
    if (piece->data == data)
      piece->free = true;
}

int32_t weir_cuda_copy(weir_context *ctx, void *to, const void *from,
                       int64_t bytes) {
  if (bytes <= 0)
    return WEIR_OK;
  auto *record = static_cast<CopyRecord *>(
      note(partOf(ctx)->pending, WorkKind::Copy, sizeof(CopyRecord), -1));
  if (!record)
    return outOfHostMemory(ctx);
  record->to = Pointer(to);
  record->from = Pointer(from);
  record->size = uint64_t(bytes);
  return WEIR_OK;
}

int32_t weir_cuda_store(weir_context *ctx, void *to, int32_t bytes,
                        int64_t value) {
  auto *record = static_cast<StoreRecord *>(
      note(partOf(ctx)->pending, WorkKind::Store, sizeof(StoreRecord), -1));
  if (!record)
    return outOfHostMemory(ctx);
  record->to = Pointer(to);
  record->size = uint64_t(bytes);
  record->value = uint64_t(value);
  return WEIR_OK;
}
