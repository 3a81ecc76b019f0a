//===- device_memory.h - where a GPU's memory comes from ----- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A GPU's addresses are set aside once, for twice its memory; memory is mapped
// there as it is needed. What is mapped touches what was mapped before, so that
// the allocator above sees one region that grows, and a request needs new memory
// only for what the free end of that region lacks. Where the driver cannot map
// (attribute 102), regions come from cuMemAlloc, each at an address of its own.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CUDA_DEVICE_MEMORY_H
#define WEIR_RUNTIME_CUDA_DEVICE_MEMORY_H

#include "bfc/sub_allocator.h"
#include "cuda/driver_api.h"

namespace weir::rt::cuda {

struct CudaDevice;

/// Memory that lies at one end of the range, or in a gap. Its functions are
/// called one at a time (SubAllocator).
class DeviceMemory {
public:
  /// Sets addresses aside, where the driver can. The device's context is current.
  void open(const CudaDevice &device);
  /// After all memory was given back. The context is current.
  void close();
  /// Memory from now on may be written by `peer`, too, where it is mapped. False:
  /// there are too many.
  bool admit(Device peer);
  /// `this` must not move while the result is in use.
  SubAllocator source();
  /// The largest limit up to `limit` that pieces of memory can fill; 0 stays 0.
  int64_t fitLimit(int64_t limit) const;

private:
  /// One piece of physical memory, mapped. In a list by address.
  struct Mapping {
    Mapping *next;
    Pointer begin;
    uint64_t bytes, handle;
  };
  static void *allocate(void *self, int64_t alignment, int64_t bytes, int64_t *received);
  static void *extend(void *self, void *end, int64_t bytes, int64_t *received);
  static void release(void *self, void *data, int64_t bytes);
  static int64_t spare(void *self);
  void *map(Mapping **place, Pointer at, uint64_t bytes, int64_t *received);

  static constexpr size_t mostAccesses = 16;

  const CudaDevice *device;
  MemoryProperties properties;
  MemoryAccess accesses[mostAccesses]; ///< the device's own first
  size_t accessCount;
  Pointer begin; ///< 0: memory comes from cuMemAlloc
  uint64_t range, granularity;
  Mapping *mappings;
};

/// The limit for a GPU: what the session asks for, and what $WEIR_CUDA_MEMORY
/// does: bytes ("8G", with K, M, G or T) or a fraction of the GPU's ("0.5"). 0:
/// none. The context is current.
int64_t memoryLimitOf(const CudaDevice &device, int64_t ofSession);

} // namespace weir::rt::cuda

#endif // WEIR_RUNTIME_CUDA_DEVICE_MEMORY_H
