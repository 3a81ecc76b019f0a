//===- sub_allocator.cpp - where the BFC allocator gets its regions -------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "bfc/sub_allocator.h"

#include <sys/mman.h>

namespace weir::rt {

static constexpr int64_t pageBytes = 4096;
static constexpr int64_t hugePageBytes = int64_t(2) << 20;

static int64_t roundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

static void *systemAllocate(void *, int64_t alignment, int64_t bytes, int64_t *received) {
  int64_t wanted = roundUp(bytes, pageBytes);
  if (wanted >= hugePageBytes && alignment < hugePageBytes)
    alignment = hugePageBytes;
  // Maps more than asked for and unmaps both ends, for want of an aligned mmap.
  int64_t slack = alignment > pageBytes ? alignment : 0;
  void *mapped = mmap(nullptr, size_t(wanted + slack), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED)
    return nullptr;
  auto begin = uintptr_t(mapped);
  auto aligned = uintptr_t(roundUp(int64_t(begin), alignment));
  if (aligned != begin)
    munmap(mapped, aligned - begin);
  uintptr_t end = begin + uintptr_t(wanted + slack);
  uintptr_t alignedEnd = aligned + uintptr_t(wanted);
  if (alignedEnd != end)
    munmap(reinterpret_cast<void *>(alignedEnd), end - alignedEnd);
  // The rest of the last page stays unused: limits are kept to the byte.
  *received = bytes;
  return reinterpret_cast<void *>(aligned);
}

static void systemRelease(void *, void *data, int64_t bytes) { munmap(data, size_t(bytes)); }

static void systemEnlarge(void *, void *data, int64_t bytes) {
  madvise(data, size_t(bytes), MADV_HUGEPAGE);
}

SubAllocator systemSubAllocator() {
  SubAllocator source{nullptr, systemAllocate, systemRelease, /*coalesces=*/true};
  source.largePage = hugePageBytes;
  source.enlarge = systemEnlarge;
  return source;
}

static void *callerAllocate(void *self, int64_t alignment, int64_t bytes, int64_t *received) {
  auto *allocator = static_cast<const weir_allocator *>(self);
  void *data = allocator->allocate(allocator->self, bytes, alignment);
  if (data && uintptr_t(data) % uintptr_t(alignment)) {
    // Breaks its promise: without alignment no address below would hold ours.
    allocator->release(allocator->self, data, bytes);
    return nullptr;
  }
  *received = bytes;
  return data;
}

static void callerRelease(void *self, void *data, int64_t bytes) {
  auto *allocator = static_cast<const weir_allocator *>(self);
  allocator->release(allocator->self, data, bytes);
}

SubAllocator callerSubAllocator(const weir_allocator *allocator) {
  return {const_cast<weir_allocator *>(allocator), callerAllocate, callerRelease,
          /*coalesces=*/false};
}

} // namespace weir::rt
