//===- wide_kernels.cpp - kernels that the copy engine feeds --------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/wide_kernels.h"
#include "cuda/cuda_device.h"

#include <new>
#include <stdlib.h>

namespace weir::rt::cuda {

static constexpr int64_t lineBytes = 128, acrossLines = 64, chunkBytes = 16;

WideKernels *openWideKernels(const CudaDevice &device, int32_t kernelCount) {
  const weir_cuda_record &record = *device.record;
  void *memory = calloc(1, sizeof(WideKernels));
  if (!memory)
    return nullptr;
  auto *kernels = new (memory) WideKernels();
  kernels->device = &device;
  kernels->byKernel = static_cast<int32_t *>(malloc(sizeof(int32_t) * size_t(kernelCount + 1)));
  kernels->entries =
      static_cast<WideKernel *>(calloc(size_t(record.wide_product_count) + 1, sizeof(WideKernel)));
  if (!kernels->byKernel || !kernels->entries) {
    closeWideKernels(kernels);
    return nullptr;
  }
  for (int32_t i = 0; i < kernelCount; ++i)
    kernels->byKernel[i] = -1;
  const char *wanted = getenv("WEIR_CUDA_WIDE");
  if (wanted && strcmp(wanted, "off") == 0)
    return kernels;
  int count = 0;
  device.driver->deviceAttribute(&count, multiprocessors, device.device);
  kernels->multiprocessors = count;
  const weir_cuda_wide_kernel *descs = record.wide_products;
  for (int64_t i = 0; i < record.wide_product_count; ++i) {
    WideKernel &entry = kernels->entries[i];
    entry.desc = &descs[i];
    // Code of other architectures lacks them.
    if (device.driver->moduleFunction(&entry.function, device.module, descs[i].name) != 0 ||
        device.driver->functionSet(entry.function, functionMostShared, descs[i].shared) != 0)
      continue;
    entry.arrange = {nullptr, descs[i].arrange_blocks, descs[i].arrange_threads};
    if (descs[i].arrange && device.driver->moduleFunction(&entry.arrange.function, device.module,
                                                          descs[i].arrange) != 0)
      continue;
    kernels->byKernel[descs[i].kernel] = int32_t(i);
  }
  return kernels;
}

void closeWideKernels(WideKernels *kernels) {
  if (!kernels)
    return;
  free(kernels->byKernel);
  free(kernels->entries);
  kernels->~WideKernels();
  free(kernels);
}

/// Whether the engine reads what lies so.
static bool isRead(const EngineTensor &tensor) {
  constexpr uint64_t mostStride = uint64_t(1) << 40, mostSize = uint64_t(1) << 31;
  for (uint32_t i = 0; i < tensor.rank; ++i)
    if (tensor.sizes[i] == 0 || tensor.sizes[i] >= mostSize)
      return false;
  for (uint32_t i = 0; i + 1 < tensor.rank; ++i)
    if (tensor.strides[i] == 0 || tensor.strides[i] % chunkBytes || tensor.strides[i] >= mostStride)
      return false;
  return tensor.base % chunkBytes == 0;
}

static uint32_t elementsOfLine(int32_t dtype) {
  return uint32_t(lineBytes / weir_dtype_size(dtype));
}

/// False: the engine does not read what lies so.
static bool matrixOf(const weir_cuda_wide_kernel &desc, const weir_cuda_matrix &matrix,
                     bool alongDepth, int64_t free, int64_t depth, int64_t batches, int64_t boxFree,
                     void *const *buffers, const int64_t *sizes, EngineTensor *tensor) {
  int64_t bytes = weir_dtype_size(desc.dtype);
  int64_t inner = alongDepth ? depth : free, lines = alongDepth ? free : depth;
  int64_t line = lines > 1 ? extentOf(matrix.line, sizes) * bytes
                           : (inner * bytes + chunkBytes - 1) / chunkBytes * chunkBytes;
  int64_t batch = extentOf(matrix.batch, sizes) * bytes;
  bool isOne = batch == 0 || batches == 1;
  *tensor = {uint64_t(buffers[matrix.buffer]),
             {uint64_t(inner), uint64_t(lines), isOne ? 1 : uint64_t(batches), 0, 0},
             {uint64_t(line), uint64_t(isOne ? line * lines : batch), 0, 0},
             3,
             {elementsOfLine(desc.dtype), uint32_t(alongDepth ? boxFree : acrossLines), 1, 0, 0},
             desc.dtype,
             0};
  return isRead(*tensor);
}

/// The same of a convolution's images.
static bool imagesOf(const weir_cuda_wide_kernel &desc, void *const *buffers, const int64_t *sizes,
                     EngineTensor *tensor) {
  *tensor = {uint64_t(buffers[desc.left.buffer]),
             {},
             {},
             4,
             {elementsOfLine(desc.dtype), uint32_t(desc.tile_rows), 1, 1, 0},
             desc.dtype,
             1};
  uint64_t stride = uint64_t(weir_dtype_size(desc.dtype));
  for (int32_t i = 0; i < 4; ++i) {
    // Innermost first: channels, columns, rows, images.
    tensor->sizes[i] = uint64_t(extentOf(desc.window.images[3 - i], sizes));
    stride *= tensor->sizes[i];
    if (i < 3)
      tensor->strides[i] = stride;
  }
  return isRead(*tensor);
}

/// The same of an attention's operand.
static bool headsOf(const weir_cuda_engine_tensor &desc, int32_t dtype, void *const *buffers,
                    const int64_t *sizes, EngineTensor *tensor) {
  uint64_t bytes = uint64_t(weir_dtype_size(dtype));
  *tensor = {uint64_t(buffers[desc.buffer]) + uint64_t(desc.offset),
             {},
             {},
             uint32_t(desc.rank),
             {},
             dtype,
             0};
  for (int32_t i = 0; i < desc.rank; ++i) {
    tensor->sizes[i] = uint64_t(extentOf(desc.sizes[i], sizes));
    tensor->box[i] = uint32_t(desc.box[i]);
    if (i == 0)
      continue;
    // Of one index no distance is wanted, but the engine wants some.
    tensor->strides[i - 1] = tensor->sizes[i] == 1
                                 ? uint64_t(lineBytes)
                                 : uint64_t(extentOf(desc.strides[i - 1], sizes)) * bytes;
  }
  return isRead(*tensor);
}

static Result encode(const Driver &driver, const WideKernel &entry, const EngineTensor &tensor,
                     uint8_t *map) {
  int type = tensor.dtype == WEIR_F16    ? engineF16
             : tensor.dtype == WEIR_BF16 ? engineBF16
                                         : engineBytes;
  if (!tensor.window) {
    uint32_t steps[5] = {1, 1, 1, 1, 1};
    return driver.tensorMap(map, type, tensor.rank, tensor.base, tensor.sizes, tensor.strides,
                            tensor.box, steps, 0, engineTurn128, engineFetch256, 0);
  }
  const weir_cuda_window &w = entry.desc->window;
  int low[2], high[2]; // where windows begin: columns first
  uint32_t steps[4] = {1, uint32_t(w.strides[1]), uint32_t(w.strides[0]), 1};
  for (int32_t i = 0; i < 2; ++i) {
    low[i] = -w.pads[1 - i];
    high[i] = w.pads_behind[1 - i] - w.dilations[1 - i] * (w.size[1 - i] - 1);
  }
  return driver.windowMap(map, type, tensor.rank, tensor.base, tensor.sizes, tensor.strides, low,
                          high, tensor.box[0], tensor.box[1], steps, 0, engineTurn128,
                          engineFetch256, 0);
}

static bool describe(WideKernels &kernels, WideKernel &entry, int32_t which,
                     const EngineTensor &tensor, WideLaunch *launch) {
  Lock lock(kernels.mutex);
  for (int32_t i = 0; i < WideKernel::kept; ++i)
    if (memcmp(&entry.tensors[which][i], &tensor, sizeof(tensor)) == 0) {
      memcpy(launch->maps[which], entry.maps[which][i], WEIR_CUDA_MAP_BYTES);
      return true;
    }
  alignas(64) uint8_t made[WEIR_CUDA_MAP_BYTES];
  if (encode(*kernels.device->driver, entry, tensor, made) != 0)
    return false;
  int32_t &next = entry.next[which];
  entry.tensors[which][next] = tensor;
  memcpy(entry.maps[which][next], made, sizeof(made));
  next = (next + 1) % WideKernel::kept;
  memcpy(launch->maps[which], made, sizeof(made));
  return true;
}

/// Tiles of a launch; 0: it is none for this form.
static int64_t countTiles(const weir_cuda_wide_kernel &desc, const int64_t *sizes) {
  int64_t rows = extentOf(desc.rows, sizes), batches = extentOf(desc.batches, sizes);
  if (rows <= 0 || batches <= 0)
    return 0;
  int64_t tiles = batches * ((rows + desc.tile_rows - 1) / desc.tile_rows);
  if (desc.kind == WEIR_CUDA_WIDE_ATTENTION)
    return rows * 2 < desc.tile_rows ? 0 : tiles;
  int64_t columns = extentOf(desc.columns, sizes);
  return columns <= 0 || extentOf(desc.depth, sizes) <= 0
             ? 0
             : tiles * ((columns + desc.tile_columns - 1) / desc.tile_columns);
}

WideKernel *findWideKernel(WideKernels &kernels, int32_t kernel, const int64_t *sizes,
                           int64_t *tiles) {
  if (kernels.byKernel[kernel] < 0)
    return nullptr;
  WideKernel &entry = kernels.entries[kernels.byKernel[kernel]];
  // Of few tiles smaller ones leave fewer multiprocessors without work.
  *tiles = countTiles(*entry.desc, sizes);
  return *tiles > 0 && *tiles * 2 >= kernels.multiprocessors ? &entry : nullptr;
}

int64_t wideFilterBytes(const weir_cuda_wide_kernel &desc) {
  return desc.window.size[0] * desc.window.size[1] * desc.depth.factor * desc.columns.factor *
         weir_dtype_size(desc.dtype);
}

static bool planProductOf(WideKernels &kernels, WideKernel &entry, void *const *buffers,
                          const int64_t *sizes, Pointer filter, WideLaunch *launch) {
  const weir_cuda_wide_kernel &desc = *entry.desc;
  int64_t rows = extentOf(desc.rows, sizes), columns = extentOf(desc.columns, sizes),
          depth = extentOf(desc.depth, sizes), batches = extentOf(desc.batches, sizes);
  EngineTensor left, right;
  bool isWindow = desc.window.is_used;
  // Places of a window are the filter's batches.
  int64_t filters = isWindow ? desc.window.size[0] * desc.window.size[1] : batches;
  launch->threads = desc.threads;
  launch->shared = desc.shared;
  launch->mapCount = 2;
  if (!(isWindow ? imagesOf(desc, buffers, sizes, &left)
                 : matrixOf(desc, desc.left, !desc.left.transposed, rows, depth, batches,
                            desc.tile_rows, buffers, sizes, &left)) ||
      !matrixOf(desc, desc.right, desc.right.transposed, columns, depth, filters, desc.tile_columns,
                buffers, sizes, &right))
    return false;
  if (filter)
    right.base = filter;
  return describe(kernels, entry, 0, left, launch) && describe(kernels, entry, 1, right, launch);
}

static bool planAttentionOf(WideKernels &kernels, WideKernel &entry, void *const *buffers,
                            const int64_t *sizes, WideLaunch *launch) {
  const weir_cuda_wide_kernel &desc = *entry.desc;
  launch->threads = desc.threads;
  launch->shared = desc.shared;
  launch->mapCount = 3;
  for (int32_t i = 0; i < launch->mapCount; ++i) {
    EngineTensor tensor;
    if (!headsOf(desc.heads[i], desc.dtype, buffers, sizes, &tensor) ||
        !describe(kernels, entry, i, tensor, launch))
      return false;
  }
  return true;
}

bool planWideKernel(WideKernels &kernels, WideKernel &entry, int64_t tiles, void *const *buffers,
                    const int64_t *sizes, Pointer filter, WideLaunch *launch) {
  launch->function = entry.function;
  // As many blocks as there are multiprocessors go along all tiles.
  launch->blocks = tiles < kernels.multiprocessors ? tiles : kernels.multiprocessors;
  return entry.desc->kind == WEIR_CUDA_WIDE_PRODUCT
             ? planProductOf(kernels, entry, buffers, sizes, filter, launch)
             : planAttentionOf(kernels, entry, buffers, sizes, launch);
}

} // namespace weir::rt::cuda
