//===- Driver.cpp - entry points of the recording driver ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/cuda/recorder/Recorder.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

using namespace recorder;

/// Contexts of the thread, the current one last.
static thread_local std::vector<Context> current;

int recorder::currentDevice() { return current.empty() ? -1 : current.back()->device; }

int recorder::capability() {
  const char *text = std::getenv("WEIR_RECORDER_CAPABILITY");
  return text ? std::atoi(text) : 90;
}

std::function<void(Operation &)> recorder::copyWork(Pointer to, Pointer from, size_t bytes) {
  return [=](Operation &) {
    Recorder &r = recorder::recorder();
    r.touch(from, bytes, false);
    r.touch(to, bytes, true);
    std::memmove(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), bytes);
  };
}

std::function<void(Operation &)> recorder::fillWork(Pointer to, uint64_t value, size_t width,
                                                    size_t count) {
  return [=](Operation &) {
    if (to % width)
      throw std::runtime_error("not aligned");
    recorder::recorder().touch(to, width * count, true);
    for (size_t i = 0; i < count; ++i)
      std::memcpy(reinterpret_cast<uint8_t *>(to) + i * width, &value, width);
  };
}

static int multiprocessorCount() {
  const char *text = std::getenv("WEIR_RECORDER_MULTIPROCESSORS");
  return text ? std::atoi(text) : 132;
}
unsigned recorder::mostTogether() { return unsigned(multiprocessorCount()); }

extern "C" {

Result cuInit(unsigned) { return 0; }
Result cuGetErrorName(Result error, const char **text) {
  *text = error == 2     ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == 209 ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
          : error == 719 ? "CUDA_ERROR_LAUNCH_FAILED"
                         : "CUDA_ERROR_INVALID_VALUE";
  return 0;
}
Result cuGetErrorString(Result error, const char **text) {
  *text = error == 2 ? "out of memory" : error == 719 ? "unspecified launch failure" : "invalid";
  return 0;
}
Result cuDeviceGetCount(int *count) {
  const char *text = std::getenv("WEIR_RECORDER_DEVICES");
  *count = text ? std::atoi(text) : 1;
  return 0;
}
Result cuDeviceGet(Device *device, int number) {
  int count;
  cuDeviceGetCount(&count);
  *device = number;
  return number < count ? 0 : 101;
}
Result cuDeviceGetName(char *name, int size, Device) {
  std::snprintf(name, size_t(size), "recorder");
  return 0;
}
Result cuDeviceGetAttribute(int *value, int which, Device) {
  *value = which == capabilityMajor     ? capability() / 10
           : which == capabilityMinor   ? capability() % 10
           : which == multiprocessors   ? multiprocessorCount()
           : which == cooperativeLaunch ? !std::getenv("WEIR_RECORDER_NO_TOGETHER")
           : which == virtualMemory     ? !std::getenv("WEIR_RECORDER_NO_MAP")
                                        : 0;
  return 0;
}
Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *count, Function, int, size_t) {
  *count = 1;
  return 0;
}
Result cuDevicePrimaryCtxRetain(Context *context, Device device) {
  ENTER("cuDevicePrimaryCtxRetain");
  r.start();
  ++r.retained;
  r.contexts[device].device = device;
  *context = &r.contexts[device];
  return 0;
}
Result cuDevicePrimaryCtxRelease_v2(Device) {
  Recorder &r = recorder::recorder();
  std::unique_lock<std::mutex> lock(r.mutex);
  if (--r.retained == 0) {
    r.report();
    r.stopping = true;
    r.changed.notify_all();
    std::thread worker = std::move(r.worker);
    lock.unlock();
    worker.join();
    lock.lock();
    r.stopping = false;
  }
  return 0;
}
Result cuDriverGetVersion(int *version) {
  const char *text = std::getenv("WEIR_RECORDER_VERSION");
  *version = text ? std::atoi(text) : 13000;
  return 0;
}
Result cuCtxPushCurrent_v2(Context context) {
  current.push_back(context);
  return 0;
}
Result cuCtxPopCurrent_v2(Context *) {
  current.pop_back();
  return 0;
}
Result cuDeviceCanAccessPeer(int *can, Device from, Device to) {
  *can = from != to && !std::getenv("WEIR_RECORDER_NO_PEERS");
  return 0;
}
Result cuCtxEnablePeerAccess(Context peer, unsigned) {
  ENTER("cuCtxEnablePeerAccess");
  NEEDS_CONTEXT()
  return r.peers.insert({currentDevice(), peer->device}).second ? 0 : peerAccessIsThere;
}

Result cuMemAlloc_v2(Pointer *data, size_t bytes) {
  ENTER("cuMemAlloc");
  NEEDS_CONTEXT()
  if (bytes > r.limit - r.used[currentDevice()])
    return outOfMemory;
  void *memory = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  if (!memory)
    return outOfMemory;
  // What no one has written is recognisable.
  std::memset(memory, 0xab, bytes);
  r.used[currentDevice()] += bytes;
  *data = Pointer(memory);
  r.addMemory(*data, bytes, currentDevice());
  return 0;
}
Result cuMemFree_v2(Pointer data) {
  Recorder &r = recorder::recorder();
  std::unique_lock<std::mutex> lock(r.mutex);
  auto it = r.memory.find(data);
  if (it == r.memory.end()) {
    r.problem("frees what is no memory of the GPU");
    return 1;
  }
  // As the driver does: not before all that was put is done.
  for (StreamTag *stream : std::set<StreamTag *>(r.streams))
    r.drain(lock, stream);
  r.used[it->second.device] -= it->second.bytes;
  std::free(reinterpret_cast<void *>(data));
  r.memory.erase(it);
  return 0;
}
Result cuDeviceTotalMem_v2(size_t *bytes, Device) {
  uint64_t limit = recorder::recorder().limit;
  *bytes = limit == UINT64_MAX ? size_t(80) << 30 : limit;
  return 0;
}

Result cuMemGetInfo_v2(size_t *free, size_t *total) {
  ENTER("cuMemGetInfo");
  NEEDS_CONTEXT()
  cuDeviceTotalMem_v2(total, 0);
  *free = *total; // nobody but us has any
  return 0;
}
Result cuPointerGetAttribute(void *value, int attribute, Pointer data) {
  ENTER("cuPointerGetAttribute");
  NEEDS_CONTEXT()
  constexpr unsigned host = 1, device = 2;
  bool isHost = r.isPinned(data), isDevice = r.find(data);
  // Memory that the driver does not know is an error.
  if (attribute != pointerMemoryType || (!isHost && !isDevice))
    return 1;
  *static_cast<unsigned *>(value) = isHost ? host : device;
  return 0;
}

/// Of mapped memory; a GPU's is 2 MiB.
constexpr size_t mapGranularity = 64 << 10;

Result cuMemGetAllocationGranularity(size_t *bytes, const MemoryProperties *properties, int) {
  *bytes = mapGranularity;
  return properties->type == memoryPinned && properties->location.type == locationDevice ? 0 : 1;
}
Result cuMemAddressReserve(Pointer *address, size_t bytes, size_t, Pointer, unsigned long long) {
  ENTER("cuMemAddressReserve");
  NEEDS_CONTEXT()
  // Pages are smaller than what is mapped: the ends that are left stay.
  void *range = mmap(nullptr, bytes + mapGranularity, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED || bytes % mapGranularity)
    return outOfMemory;
  *address = (Pointer(range) + mapGranularity - 1) / mapGranularity * mapGranularity;
  r.ranges[*address] = bytes;
  return 0;
}
Result cuMemAddressFree(Pointer address, size_t bytes) {
  Recorder &r = recorder::recorder();
  std::unique_lock<std::mutex> lock(r.mutex);
  if (!r.ranges.erase(address))
    r.problem("frees addresses that were not set aside");
  munmap(reinterpret_cast<void *>(address), bytes);
  return 0;
}
Result cuMemCreate(uint64_t *handle, size_t bytes, const MemoryProperties *properties,
                   unsigned long long) {
  ENTER("cuMemCreate");
  NEEDS_CONTEXT()
  int device = properties->location.id;
  if (bytes % mapGranularity || bytes > r.limit - r.used[device])
    return outOfMemory;
  static uint64_t next = 1;
  r.used[device] += bytes;
  r.physical[ *handle = next++] = {bytes, device};
  return 0;
}
Result cuMemRelease(uint64_t handle) {
  Recorder &r = recorder::recorder();
  std::unique_lock<std::mutex> lock(r.mutex);
  auto it = r.physical.find(handle);
  if (it == r.physical.end()) {
    r.problem("releases what is no memory");
    return 1;
  }
  r.used[it->second.device] -= it->second.bytes;
  r.physical.erase(it);
  return 0;
}
Result cuMemMap(Pointer address, size_t bytes, size_t, uint64_t handle, unsigned long long) {
  ENTER("cuMemMap");
  NEEDS_CONTEXT()
  auto range = r.ranges.upper_bound(address);
  bool inside =
      range != r.ranges.begin() && (--range, address + bytes <= range->first + range->second);
  auto above = r.memory.lower_bound(address);
  bool taken = r.find(address) || (above != r.memory.end() && above->first < address + bytes);
  if (!inside || taken || address % mapGranularity || r.physical[handle].bytes != bytes) {
    r.problem("maps memory where it cannot be");
    return 1;
  }
  r.addMemory(address, bytes, r.physical[handle].device);
  return 0;
}
Result cuMemSetAccess(Pointer address, size_t bytes, const MemoryAccess *access, size_t count) {
  ENTER("cuMemSetAccess");
  NEEDS_CONTEXT()
  if (!r.holds(address, bytes))
    return 1;
  for (size_t i = 0; i < count; ++i) {
    if (access[i].flags != accessReadWrite || access[i].location.type != locationDevice)
      return 1;
    r.find(address)->accessible.insert(access[i].location.id);
  }
  auto *memory = reinterpret_cast<void *>(address);
  if (mprotect(memory, bytes, PROT_READ | PROT_WRITE) != 0)
    return outOfMemory;
  std::memset(memory, 0xab, bytes);
  return 0;
}
Result cuMemUnmap(Pointer address, size_t bytes) {
  Recorder &r = recorder::recorder();
  std::unique_lock<std::mutex> lock(r.mutex);
  auto it = r.memory.find(address);
  if (it == r.memory.end() || it->second.bytes != bytes) {
    r.problem("unmaps what is not mapped");
    return 1;
  }
  auto *memory = reinterpret_cast<void *>(address);
  madvise(memory, bytes, MADV_DONTNEED);
  mprotect(memory, bytes, PROT_NONE);
  r.memory.erase(it);
  return 0;
}
Result cuMemHostAlloc(void **data, size_t bytes, unsigned) {
  ENTER("cuMemHostAlloc");
  NEEDS_CONTEXT()
  *data = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  auto begin = uint64_t(*data);
  r.pinned.insert_or_assign(begin, Allocation{begin, bytes, Lines(bytes), -1, {}});
  return *data ? 0 : outOfMemory;
}
Result cuMemFreeHost(void *data) {
  Recorder &r = recorder::recorder();
  std::unique_lock<std::mutex> lock(r.mutex);
  if (!r.pinned.erase(uint64_t(data)))
    r.problem("frees what is no pinned memory");
  else
    std::free(data);
  return 0;
}

Result cuMemcpyHtoD_v2(Pointer to, const void *from, size_t bytes) {
  ENTER("cuMemcpyHtoD");
  NEEDS_CONTEXT()
  if (!r.holds(to, bytes)) {
    r.problem("a copy to where no memory of the GPU is");
    return 1;
  }
  std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  return 0;
}
Result cuMemcpyHtoDAsync_v2(Pointer to, const void *from, size_t bytes, Stream stream) {
  ENTER("cuMemcpyHtoDAsync");
  NEEDS_CONTEXT()
  ++r.copiesIn;
  r.put(stream, "a copy in", [=, &r](Operation &) {
    r.touchHost(from, bytes, false);
    r.touch(to, bytes, true);
    std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  });
  return 0;
}
Result cuMemcpyDtoHAsync_v2(void *to, Pointer from, size_t bytes, Stream stream) {
  ENTER("cuMemcpyDtoHAsync");
  NEEDS_CONTEXT()
  ++r.copiesOut;
  r.put(stream, "a copy out", [=, &r](Operation &) {
    r.touch(from, bytes, false);
    r.touchHost(to, bytes, true);
    std::memcpy(to, reinterpret_cast<void *>(from), bytes);
  });
  return 0;
}
Result cuMemcpyDtoDAsync_v2(Pointer to, Pointer from, size_t bytes, Stream stream) {
  ENTER("cuMemcpyDtoDAsync");
  NEEDS_CONTEXT()
  ++r.copies;
  r.put(stream, "a copy", copyWork(to, from, bytes));
  return 0;
}
Result cuMemcpyPeerAsync(Pointer to, Context toContext, Pointer from, Context fromContext,
                         size_t bytes, Stream stream) {
  ENTER("cuMemcpyPeerAsync");
  NEEDS_CONTEXT()
  ++r.peerCopies;
  int target = toContext->device, source = fromContext->device;
  // Memory that is not mapped is accessible where the whole context is.
  if (Allocation *found = r.find(to);
      found && r.peers.count({stream->device, target}) && !r.isMapped(to))
    found->accessible.insert(stream->device);
  r.put(stream, "a copy to a peer", [=, &r](Operation &) {
    r.touch(from, bytes, false, source);
    r.touchPeer(to, bytes, target);
    std::memcpy(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), bytes);
  });
  return 0;
}
static Result fill(const char *name, Pointer to, uint64_t value, size_t width, size_t count,
                   Stream stream) {
  ENTER(name);
  NEEDS_CONTEXT()
  r.put(stream, "a fill", fillWork(to, value, width, count));
  return 0;
}
Result cuMemsetD8Async(Pointer to, unsigned char value, size_t count, Stream stream) {
  return fill("cuMemsetD8Async", to, value, 1, count, stream);
}
Result cuMemsetD16Async(Pointer to, unsigned short value, size_t count, Stream stream) {
  return fill("cuMemsetD16Async", to, value, 2, count, stream);
}
Result cuMemsetD32Async(Pointer to, unsigned value, size_t count, Stream stream) {
  return fill("cuMemsetD32Async", to, value, 4, count, stream);
}

Result cuStreamCreate(Stream *stream, unsigned) {
  ENTER("cuStreamCreate");
  NEEDS_CONTEXT()
  *stream = new StreamTag();
  (*stream)->device = currentDevice();
  r.streams.insert(*stream);
  return 0;
}
Result cuStreamGetCtx(Stream stream, Context *context) {
  ENTER("cuStreamGetCtx");
  NEEDS_CONTEXT()
  *context = &r.contexts[stream->device];
  return 0;
}
Result cuStreamDestroy_v2(Stream stream) {
  Recorder &r = recorder::recorder();
  std::unique_lock<std::mutex> lock(r.mutex);
  r.drain(lock, stream);
  r.streams.erase(stream);
  return 0; // kept: lines of memory remember it
}
Result cuStreamSynchronize(Stream stream) {
  ENTER("cuStreamSynchronize");
  NEEDS_CONTEXT()
  // The null stream has what copies that wait left, which is nothing here.
  if (!stream)
    return 0;
  NOT_CAPTURED(stream)
  r.drain(lock, stream);
  return r.sticky;
}
Result cuStreamWaitEvent(Stream stream, Event event, unsigned) {
  ENTER("cuStreamWaitEvent");
  NEEDS_CONTEXT()
  if (!r.events.count(event) || !event->stream || r.leavesOut("cuStreamWaitEvent"))
    return 0;
  NOT_CAPTURED(stream)
  ++r.waits;
  r.put(stream, "a wait", {});
  // The record that was put last when the wait was.
  stream->queue.back().target[event->stream] = event->number;
  stream->queue.back().awaited = event;
  return 0;
}
Result cuStreamAddCallback(Stream stream, StreamCallback callback, void *data, unsigned) {
  ENTER("cuStreamAddCallback");
  NEEDS_CONTEXT()
  NOT_CAPTURED(stream)
  ++r.callbacks;
  // Called whatever happened before.
  r.putCallback(stream, [=](Result status) { callback(stream, status, data); });
  return 0;
}
Result cuEventCreate(Event *event, unsigned) {
  ENTER("cuEventCreate");
  NEEDS_CONTEXT()
  *event = new EventTag();
  (*event)->device = currentDevice();
  r.events.insert(*event);
  return 0;
}
Result cuEventElapsedTime(float *milliseconds, Event from, Event to) {
  ENTER("cuEventElapsedTime");
  NEEDS_CONTEXT()
  *milliseconds = std::chrono::duration<float, std::milli>(to->time - from->time).count();
  return 0;
}
Result cuEventDestroy_v2(Event event) {
  Recorder &r = recorder::recorder();
  std::unique_lock<std::mutex> lock(r.mutex);
  r.events.erase(event);
  return 0;
}
Result cuEventRecord(Event event, Stream stream) {
  ENTER("cuEventRecord");
  NEEDS_CONTEXT()
  NOT_CAPTURED(stream)
  if (event->device != stream->device)
    r.problem("records an event of another GPU");
  r.put(stream, "a record", [=, &r](Operation &operation) {
    std::lock_guard<std::mutex> guard(r.mutex);
    event->recorded = operation.clock;
    event->time = std::chrono::steady_clock::now();
  });
  event->stream = stream;
  event->number = stream->put;
  return 0;
}

} // extern "C"
