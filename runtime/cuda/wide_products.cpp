//===- wide_products.cpp - products that the copy engine feeds ------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/wide_products.h"
#include "cuda/cuda_device.h"

#include <new>
#include <stdlib.h>

namespace weir::rt::cuda {

static constexpr int64_t lineBytes = 128, acrossLines = 64, chunkBytes = 16;

WideProducts *openWideProducts(const CudaDevice &device, int32_t kernelCount) {
  const weir_cuda_record &record = *device.record;
  void *memory = calloc(1, sizeof(WideProducts));
  if (!memory)
    return nullptr;
  auto *products = new (memory) WideProducts();
  products->device = &device;
  products->byKernel = static_cast<int32_t *>(malloc(sizeof(int32_t) * size_t(kernelCount + 1)));
  products->entries = static_cast<WideProduct *>(
      calloc(size_t(record.wide_product_count) + 1, sizeof(WideProduct)));
  if (!products->byKernel || !products->entries) {
    closeWideProducts(products);
    return nullptr;
  }
  for (int32_t i = 0; i < kernelCount; ++i)
    products->byKernel[i] = -1;
  const char *wanted = getenv("WEIR_CUDA_WIDE");
  if (wanted && strcmp(wanted, "off") == 0)
    return products;
  int count = 0;
  device.driver->deviceAttribute(&count, multiprocessors, device.device);
  products->multiprocessors = count;
  const weir_cuda_wide_product *descs = record.wide_products;
  for (int64_t i = 0; i < record.wide_product_count; ++i) {
    WideProduct &entry = products->entries[i];
    entry.desc = &descs[i];
    // Code of other architectures lacks them.
    if (device.driver->moduleFunction(&entry.function, device.module, descs[i].name) != 0 ||
        device.driver->functionSet(entry.function, functionMostShared, descs[i].shared) != 0)
      continue;
    products->byKernel[descs[i].kernel] = int32_t(i);
    products->count = i + 1;
  }
  return products;
}

void closeWideProducts(WideProducts *products) {
  if (!products)
    return;
  free(products->byKernel);
  free(products->entries);
  products->~WideProducts();
  free(products);
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

/// False: the engine does not read what lies so.
static bool tensorOf(const weir_cuda_wide_product &desc, const weir_cuda_matrix &matrix,
                     bool alongDepth, int64_t free, int64_t depth, int64_t batches, int64_t boxFree,
                     void *const *buffers, const int64_t *sizes, EngineTensor *tensor) {
  int64_t bytes = weir_dtype_size(desc.dtype);
  int64_t inner = alongDepth ? depth : free, lines = alongDepth ? free : depth;
  int64_t line = lines > 1 ? extentOf(matrix.line, sizes) * bytes
                           : (inner * bytes + chunkBytes - 1) / chunkBytes * chunkBytes;
  int64_t batch = extentOf(matrix.batch, sizes) * bytes;
  bool isOne = batch == 0 || batches == 1;
  *tensor = {uint64_t(buffers[matrix.buffer]),
             {uint64_t(inner), uint64_t(lines), isOne ? 1 : uint64_t(batches), 0},
             {uint64_t(line), uint64_t(isOne ? line * lines : batch), 0},
             3,
             uint32_t(alongDepth ? boxFree : acrossLines),
             desc.dtype,
             0};
  return isRead(*tensor);
}

/// The same of a convolution's images.
static bool imagesOf(const weir_cuda_wide_product &desc, void *const *buffers, const int64_t *sizes,
                     EngineTensor *tensor) {
  *tensor = {
      uint64_t(buffers[desc.left.buffer]), {}, {}, 4, uint32_t(desc.tile_rows), desc.dtype, 1};
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

static Result encode(const Driver &driver, const weir_cuda_wide_product &desc,
                     const EngineTensor &tensor, uint8_t *map) {
  int type = tensor.dtype == WEIR_F16    ? engineF16
             : tensor.dtype == WEIR_BF16 ? engineBF16
                                         : engineBytes;
  auto inner = uint32_t(lineBytes / weir_dtype_size(tensor.dtype));
  if (!tensor.window) {
    uint32_t box[3] = {inner, tensor.boxLines, 1}, steps[3] = {1, 1, 1};
    return driver.tensorMap(map, type, tensor.rank, tensor.base, tensor.sizes, tensor.strides, box,
                            steps, 0, engineTurn128, engineFetch256, 0);
  }
  const weir_cuda_window &w = desc.window;
  int low[2], high[2]; // where windows begin: columns first
  uint32_t steps[4] = {1, uint32_t(w.strides[1]), uint32_t(w.strides[0]), 1};
  for (int32_t i = 0; i < 2; ++i) {
    low[i] = -w.pads[1 - i];
    high[i] = w.pads_behind[1 - i] - w.dilations[1 - i] * (w.size[1 - i] - 1);
  }
  return driver.windowMap(map, type, tensor.rank, tensor.base, tensor.sizes, tensor.strides, low,
                          high, inner, tensor.boxLines, steps, 0, engineTurn128, engineFetch256, 0);
}

static bool describe(WideProducts &products, WideProduct &entry, int32_t which,
                     const EngineTensor &tensor, uint8_t *map) {
  Lock lock(products.mutex);
  for (int32_t i = 0; i < WideProduct::kept; ++i)
    if (memcmp(&entry.tensors[which][i], &tensor, sizeof(tensor)) == 0) {
      memcpy(map, entry.maps[which][i], WEIR_CUDA_MAP_BYTES);
      return true;
    }
  alignas(64) uint8_t made[WEIR_CUDA_MAP_BYTES];
  if (encode(*products.device->driver, *entry.desc, tensor, made) != 0)
    return false;
  int32_t &next = entry.next[which];
  entry.tensors[which][next] = tensor;
  memcpy(entry.maps[which][next], made, sizeof(made));
  next = (next + 1) % WideProduct::kept;
  memcpy(map, made, sizeof(made));
  return true;
}

bool planWideProduct(WideProducts &products, int32_t kernel, void *const *buffers,
                     const int64_t *sizes, WideLaunch *launch) {
  if (products.byKernel[kernel] < 0)
    return false;
  WideProduct &entry = products.entries[products.byKernel[kernel]];
  const weir_cuda_wide_product &desc = *entry.desc;
  int64_t rows = extentOf(desc.rows, sizes), columns = extentOf(desc.columns, sizes),
          depth = extentOf(desc.depth, sizes), batches = extentOf(desc.batches, sizes);
  if (rows <= 0 || columns <= 0 || depth <= 0 || batches <= 0)
    return false;
  int64_t tiles = batches * ((rows + desc.tile_rows - 1) / desc.tile_rows) *
                  ((columns + desc.tile_columns - 1) / desc.tile_columns);
  // Smaller tiles leave fewer multiprocessors without work.
  if (tiles * 2 < products.multiprocessors)
    return false;
  EngineTensor left, right;
  bool isWindow = desc.window.is_used;
  // Places of a window are the filter's batches.
  int64_t filters = isWindow ? desc.window.size[0] * desc.window.size[1] : batches;
  if (!(isWindow ? imagesOf(desc, buffers, sizes, &left)
                 : tensorOf(desc, desc.left, !desc.left.transposed, rows, depth, batches,
                            desc.tile_rows, buffers, sizes, &left)) ||
      !tensorOf(desc, desc.right, desc.right.transposed, columns, depth, filters, desc.tile_columns,
                buffers, sizes, &right) ||
      !describe(products, entry, 0, left, launch->maps[0]) ||
      !describe(products, entry, 1, right, launch->maps[1]))
    return false;
  launch->function = entry.function;
  launch->blocks = tiles < products.multiprocessors ? tiles : products.multiprocessors;
  launch->threads = desc.threads;
  launch->shared = desc.shared;
  return true;
}

} // namespace weir::rt::cuda
