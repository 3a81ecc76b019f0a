//===- device_memory.cpp - where a GPU's memory comes from ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/device_memory.h"
#include "cuda/cuda_device.h"

#include <stdlib.h>

namespace weir::rt::cuda {

static uint64_t roundUp(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

void DeviceMemory::open(const CudaDevice &owner) {
  device = &owner;
  const Driver &driver = *owner.driver;
  int canMap = 0;
  size_t total = 0, grain = 0;
  properties = {};
  properties.type = memoryPinned;
  properties.location = {locationDevice, owner.device};
  accesses[0] = {properties.location, accessReadWrite};
  accessCount = 1;
  if (driver.deviceAttribute(&canMap, virtualMemory, owner.device) != 0 || !canMap ||
      driver.totalMemory(&total, owner.device) != 0 ||
      driver.memGranularity(&grain, &properties, 0) != 0 || grain == 0)
    return;
  granularity = grain;
  range = roundUp(2 * uint64_t(total), granularity);
  if (driver.addressReserve(&begin, range, 0, 0, 0) != 0)
    begin = 0;
}

void DeviceMemory::close() {
  if (begin)
    device->driver->addressFree(begin, range);
  begin = 0;
}

bool DeviceMemory::admit(Device peer) {
  if (accessCount == mostAccesses)
    return false;
  accesses[accessCount++] = {{locationDevice, peer}, accessReadWrite};
  return true;
}

SubAllocator DeviceMemory::source() {
  return {this, allocate, release, begin != 0, begin ? extend : nullptr, spare};
}

int64_t DeviceMemory::fitLimit(int64_t limit) const {
  if (!begin || limit == 0)
    return limit;
  auto grain = int64_t(granularity);
  return limit < grain ? grain : limit / grain * grain;
}

/// Maps new memory at `at`, before the mapping that `place` points to.
void *DeviceMemory::map(Mapping **place, Pointer at, uint64_t bytes, int64_t *received) {
  const Driver &driver = *device->driver;
  auto *mapping = static_cast<Mapping *>(malloc(sizeof(Mapping)));
  uint64_t handle = 0;
  if (!mapping || driver.memCreate(&handle, bytes, &properties, 0) != 0) {
    free(mapping);
    return nullptr;
  }
  bool mapped = driver.memMap(at, bytes, 0, handle, 0) == 0;
  if (!mapped || driver.memAccess(at, bytes, accesses, accessCount) != 0) {
    if (mapped)
      driver.memUnmap(at, bytes);
    driver.memRelease(handle);
    free(mapping);
    return nullptr;
  }
  *mapping = {*place, at, bytes, handle};
  *place = mapping;
  *received = int64_t(bytes);
  return reinterpret_cast<void *>(at);
}

void *DeviceMemory::allocate(void *self, int64_t, int64_t bytes, int64_t *received) {
  auto &memory = *static_cast<DeviceMemory *>(self);
  Current current(*memory.device);
  if (!memory.begin) {
    Pointer data = 0;
    uint64_t rounded = roundUp(uint64_t(bytes), 256);
    if (memory.device->driver->memAlloc(&data, rounded) != 0)
      return nullptr;
    *received = int64_t(rounded);
    return reinterpret_cast<void *>(data);
  }
  // The first gap that is large enough: memory stays together.
  uint64_t rounded = roundUp(uint64_t(bytes), memory.granularity);
  Pointer at = memory.begin;
  Mapping **place = &memory.mappings;
  for (; *place && (*place)->begin - at < rounded; place = &(*place)->next)
    at = (*place)->begin + (*place)->bytes;
  if (memory.begin + memory.range - at < rounded)
    return nullptr;
  return memory.map(place, at, rounded, received);
}

/// The driver, libraries and other programs of the process need memory later on: code
/// that is loaded when it is first launched, graphs, workspaces.
int64_t DeviceMemory::spare(void *self) {
  auto &memory = *static_cast<DeviceMemory *>(self);
  constexpr int64_t least = int64_t(512) << 20;
  Current current(*memory.device);
  size_t free = 0, total = 0;
  if (memory.device->driver->memoryInfo(&free, &total) != 0)
    return 0;
  int64_t kept = int64_t(total / 20) > least ? int64_t(total / 20) : least;
  return int64_t(free) > kept ? int64_t(free) - kept : 0;
}

void *DeviceMemory::extend(void *self, void *end, int64_t bytes, int64_t *received) {
  auto &memory = *static_cast<DeviceMemory *>(self);
  Current current(*memory.device);
  uint64_t rounded = roundUp(uint64_t(bytes), memory.granularity);
  auto at = Pointer(end);
  Mapping **place = &memory.mappings;
  while (*place && (*place)->begin < at)
    place = &(*place)->next;
  Pointer bound = *place ? (*place)->begin : memory.begin + memory.range;
  return bound - at < rounded ? nullptr : memory.map(place, at, rounded, received);
}

void DeviceMemory::release(void *self, void *data, int64_t bytes) {
  auto &memory = *static_cast<DeviceMemory *>(self);
  const Driver &driver = *memory.device->driver;
  Current current(*memory.device);
  auto from = Pointer(data);
  if (!memory.begin) {
    driver.memFree(from);
    return;
  }
  for (Mapping **place = &memory.mappings; *place;) {
    Mapping *mapping = *place;
    if (mapping->begin < from || mapping->begin >= from + uint64_t(bytes)) {
      place = &mapping->next;
      continue;
    }
    driver.memUnmap(mapping->begin, mapping->bytes);
    driver.memRelease(mapping->handle);
    *place = mapping->next;
    free(mapping);
  }
}

/// Bytes, or -1: it is no size.
static int64_t parseLimit(const char *text, uint64_t total) {
  char *end;
  double value = strtod(text, &end);
  if (end == text || !(value > 0))
    return -1;
  if (*end == 0 && value <= 1)
    return int64_t(value * double(total));
  double unit = 1;
  for (const char *units = "KMGT"; *units && *end; ++units) {
    unit *= 1024;
    if (*end == *units && end[1] == 0)
      return int64_t(value * unit);
  }
  return *end == 0 ? int64_t(value) : -1;
}

int64_t memoryLimitOf(const CudaDevice &device, int64_t ofSession) {
  const char *text = getenv("WEIR_CUDA_MEMORY");
  size_t total = 0;
  if (!text || !*text || device.driver->totalMemory(&total, device.device) != 0)
    return ofSession;
  int64_t limit = parseLimit(text, total);
  return limit > 0 && (ofSession == 0 || limit < ofSession) ? limit : ofSession;
}

} // namespace weir::rt::cuda
