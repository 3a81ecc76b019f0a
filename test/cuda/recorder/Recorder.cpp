//===- Recorder.cpp - a CUDA driver that checks ------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stands in for libcuda.so.1 where there is no GPU: $WEIR_CUDA_DRIVER names it.
// Streams are queues that a thread of its own empties, always the ready stream
// that the seed picks, so that order holds only where streams and events make it.
// Copies copy, kernels run as PTX. Every access to the GPU's memory must be to
// memory that is there, and to a line that no unordered operation touched in a
// way that conflicts. What is found goes to $WEIR_CUDA_RECORD when the last
// context is released, and makes the operation fail.
//
// $WEIR_RECORDER_SEED, _MEMORY (bytes of the GPU), _FAIL=cuX:N (the N-th call of
// cuX fails, from 1), _CAPABILITY (90), _DEVICES (1).
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/driver_api.h"
#include "test/cuda/recorder/Ptx.h"

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

using namespace weir::rt::cuda;

namespace weir::rt::cuda {
/// How far each stream had come.
using Clock = std::map<StreamTag *, uint64_t>;

struct Operation {
  const char *what;
  std::function<void(Operation &)> work;
  std::function<void(Result)> always; ///< carried out after errors, too
  EventTag *awaited = nullptr;
  Clock target; ///< of a wait
  uint64_t number = 0;
  StreamTag *stream = nullptr;
  Clock clock; ///< what happened before it
};

struct StreamTag {
  std::deque<Operation> queue;
  uint64_t put = 0, done = 0;
  Clock clock; ///< after what was done last
  bool alive = true;
};
struct EventTag {
  Clock recorded;
  /// The record that was put last: its stream and number.
  StreamTag *stream = nullptr;
  uint64_t number = 0;
};
struct FunctionTag {
  std::string name;
  const ptx::Function *code;
};
struct ModuleTag {
  ptx::Module code;
  std::map<std::string, FunctionTag> functions;
};
struct ContextTag {};
} // namespace weir::rt::cuda

namespace {

constexpr uint64_t lineBytes = 32;

/// Who touched a line last.
struct Line {
  StreamTag *writer = nullptr;
  uint64_t written = 0;
  std::map<StreamTag *, uint64_t> readers;
  const Operation *last = nullptr;
  bool lastWrote = false;
};

struct Allocation {
  uint64_t begin, bytes;
  std::vector<Line> lines;
};

class Recorder : public ptx::Watcher {
public:
  std::mutex mutex;
  std::condition_variable changed;
  std::map<uint64_t, Allocation> memory; ///< by begin
  std::set<void *> pinned;
  std::set<StreamTag *> streams;
  std::set<EventTag *> events;
  ContextTag context;
  int retained = 0, modules = 0;
  uint64_t used = 0, limit = UINT64_MAX;
  uint64_t random = 1;
  std::map<std::string, int> calls;
  std::string failing;
  int failingCall = 0;
  int launches = 0, copiesIn = 0, copiesOut = 0, copies = 0, callbacks = 0, waits = 0;
  std::vector<std::string> problems;
  Result sticky = 0;
  std::thread worker;
  bool stopping = false;
  StreamTag *running = nullptr;
  Operation *current = nullptr;

  Recorder() {
    auto number = [](const char *name, uint64_t usual) {
      const char *text = std::getenv(name);
      return text ? std::strtoull(text, nullptr, 0) : usual;
    };
    random = number("WEIR_RECORDER_SEED", 1);
    limit = number("WEIR_RECORDER_MEMORY", UINT64_MAX);
    if (const char *text = std::getenv("WEIR_RECORDER_FAIL")) {
      failing = text;
      size_t colon = failing.find(':');
      failingCall = colon == std::string::npos ? 1 : std::atoi(failing.c_str() + colon + 1);
      failing.resize(std::min(colon, failing.size()));
    }
  }

  /// Counts a call; true: it is to fail.
  bool fails(const char *name) {
    return ++calls[name] == failingCall && failing == name;
  }

  void problem(const std::string &text) {
    if (problems.size() < 20)
      problems.push_back(text);
  }

  //===-- Streams ---------------------------------------------------------===//

  void start() {
    if (!worker.joinable())
      worker = std::thread([this] { work(); });
  }

  /// The mutex is held.
  void put(StreamTag *stream, const char *what, std::function<void(Operation &)> work) {
    Operation operation;
    operation.what = what;
    operation.work = std::move(work);
    operation.number = ++stream->put;
    operation.stream = stream;
    stream->queue.push_back(std::move(operation));
    changed.notify_all();
  }

  bool isReady(const StreamTag *stream) const {
    if (stream->queue.empty())
      return false;
    for (auto [other, number] : stream->queue.front().target)
      if (streams.count(other) && other->done < number)
        return false;
    return true;
  }

  void work() {
    std::unique_lock<std::mutex> lock(mutex);
    for (;;) {
      std::vector<StreamTag *> ready;
      for (StreamTag *stream : streams)
        if (isReady(stream))
          ready.push_back(stream);
      if (ready.empty()) {
        if (stopping)
          return;
        changed.wait(lock);
        continue;
      }
      random = random * 6364136223846793005u + 1442695040888963407u;
      StreamTag *stream = ready[(random >> 33) % ready.size()];
      Operation operation = std::move(stream->queue.front());
      stream->queue.pop_front();
      // Program order, and what was waited for.
      operation.clock = stream->clock;
      if (operation.awaited && events.count(operation.awaited))
        for (auto [other, number] : operation.awaited->recorded)
          operation.clock[other] = std::max(operation.clock[other], number);
      for (auto [other, number] : operation.target)
        operation.clock[other] = std::max(operation.clock[other], number);
      operation.clock[stream] = operation.number;
      running = stream;
      current = &operation;
      lock.unlock();
      // Others may put and wait meanwhile; nothing else is carried out.
      try {
        if (operation.always)
          operation.always(sticky);
        else if (operation.work && !sticky)
          operation.work(operation);
      } catch (const std::exception &error) {
        std::lock_guard<std::mutex> guard(mutex);
        problem(std::string(operation.what) + ": " + error.what());
        sticky = 719; // CUDA_ERROR_LAUNCH_FAILED
      }
      lock.lock();
      current = nullptr;
      running = nullptr;
      stream->clock = operation.clock;
      stream->done = operation.number;
      changed.notify_all();
    }
  }

  void drain(std::unique_lock<std::mutex> &lock, StreamTag *stream) {
    uint64_t until = stream->put;
    changed.wait(lock, [&] { return stream->done >= until; });
  }

  //===-- Memory ----------------------------------------------------------===//

  Allocation *find(uint64_t address, uint64_t bytes) {
    auto it = memory.upper_bound(address);
    if (it == memory.begin())
      return nullptr;
    --it;
    Allocation &found = it->second;
    return address + bytes <= found.begin + found.bytes ? &found : nullptr;
  }

  void access(uint64_t address, int bytes, bool writes) override {
    touch(address, uint64_t(bytes), writes);
  }

  void touch(uint64_t address, uint64_t bytes, bool writes) {
    std::lock_guard<std::mutex> guard(mutex);
    Allocation *found = find(address, bytes);
    if (!found)
      throw std::runtime_error(writes ? "writes where no memory of the GPU is"
                                      : "reads where no memory of the GPU is");
    uint64_t first = (address - found->begin) / lineBytes,
             last = (address + bytes - 1 - found->begin) / lineBytes;
    for (uint64_t l = first; l <= last; ++l) {
      Line &line = found->lines[l];
      if (line.last == current && (line.lastWrote || !writes))
        continue;
      auto before = [&](StreamTag *stream, uint64_t number) {
        if (stream == current->stream)
          return true;
        auto it = current->clock.find(stream);
        return it != current->clock.end() && it->second >= number;
      };
      if (line.writer && !before(line.writer, line.written))
        throw std::runtime_error("touches what another stream may still write");
      if (writes)
        for (auto [stream, number] : line.readers)
          if (!before(stream, number))
            throw std::runtime_error("writes over what another stream may still read");
      if (writes) {
        line.writer = current->stream;
        line.written = current->number;
        line.readers.clear();
      } else {
        line.readers[current->stream] = current->number;
      }
      line.lastWrote = line.last == current ? (line.lastWrote || writes) : writes;
      line.last = current;
    }
  }

  void report() {
    const char *name = std::getenv("WEIR_CUDA_RECORD");
    FILE *file = name ? std::fopen(name, "a") : nullptr;
    if (!file)
      return;
    std::fprintf(file,
                 "launches %d, copies in %d, copies out %d, copies %d, callbacks %d\n",
                 launches, copiesIn, copiesOut, copies, callbacks);
    std::fprintf(file, "left: allocations %zu, pinned %zu, streams %zu, events %zu, modules %d\n",
                 memory.size(), pinned.size(), streams.size(), events.size(), modules);
    for (const std::string &text : problems)
      std::fprintf(file, "problem: %s\n", text.c_str());
    std::fprintf(file, "problems %zu\n", problems.size());
    std::fclose(file);
  }
};

/// Never destroyed: the driver outlives what unloads it.
Recorder &recorder() {
  static Recorder *it = new Recorder();
  return *it;
}

/// Reads what an image holds: entries of machine code and PTX. Layout: a header
/// of 16 bytes with the magic number, then entries, each with a header that says
/// its kind, its own size, the payload's, and the architecture.
Result readImage(const uint8_t *image, int capability, std::string &text) {
  uint32_t magic;
  uint64_t size;
  std::memcpy(&magic, image, 4);
  if (magic != 0xba55ed50)
    return 200;
  std::memcpy(&size, image + 8, 8);
  const uint8_t *at = image + 16, *end = at + size;
  bool fits = false;
  while (at < end) {
    uint16_t kind;
    uint32_t headerBytes, architecture;
    uint64_t bytes;
    std::memcpy(&kind, at, 2);
    std::memcpy(&headerBytes, at + 4, 4);
    std::memcpy(&bytes, at + 8, 8);
    std::memcpy(&architecture, at + 28, 4);
    // Machine code runs on later chips of its generation, PTX on all later ones.
    if (kind == 2)
      fits |= int(architecture) / 10 == capability / 10 && int(architecture) <= capability;
    if (kind == 1) {
      text.assign(reinterpret_cast<const char *>(at + headerBytes), bytes);
      text = text.c_str();
      fits |= int(architecture) <= capability;
    }
    at += headerBytes + bytes;
  }
  return !fits ? noBinaryForGpu : text.empty() ? 200 : 0;
}

} // namespace

#define ENTER(name)                                                            \
  Recorder &r = recorder();                                                    \
  std::unique_lock<std::mutex> lock(r.mutex);                                  \
  if (r.fails(name))                                                           \
    return 719;                                                                \
  if (r.sticky)                                                                \
  return r.sticky

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
static int capability() {
  const char *text = std::getenv("WEIR_RECORDER_CAPABILITY");
  return text ? std::atoi(text) : 90;
}
Result cuDeviceGetAttribute(int *value, int which, Device) {
  *value = which == capabilityMajor ? capability() / 10 : which == capabilityMinor ? capability() % 10 : 0;
  return 0;
}
Result cuDevicePrimaryCtxRetain(Context *context, Device) {
  ENTER("cuDevicePrimaryCtxRetain");
  r.start();
  ++r.retained;
  *context = &r.context;
  return 0;
}
Result cuDevicePrimaryCtxRelease_v2(Device) {
  Recorder &r = recorder();
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
static thread_local int currentDepth = 0;
Result cuCtxPushCurrent_v2(Context) {
  ++currentDepth;
  return 0;
}
Result cuCtxPopCurrent_v2(Context *) {
  --currentDepth;
  return 0;
}
/// Calls that need a context on the thread.
#define NEEDS_CONTEXT()                                                        \
  if (currentDepth <= 0) {                                                     \
    r.problem("a call without a context");                                     \
    return 201;                                                                \
  }                                                                            \
  if (r.current && r.worker.get_id() == std::this_thread::get_id()) {          \
    r.problem("a callback calls the driver");                                  \
    return 800;                                                                \
  }

Result cuModuleLoadData(Module *module, const void *image) {
  ENTER("cuModuleLoadData");
  NEEDS_CONTEXT()
  std::string text;
  if (Result error = readImage(static_cast<const uint8_t *>(image), capability(), text))
    return error;
  auto made = std::make_unique<ModuleTag>();
  try {
    made->code = ptx::parse(text);
  } catch (const std::exception &error) {
    r.problem(error.what());
    return 218;
  }
  ++r.modules;
  // Constants of the module are the GPU's memory, too.
  for (const auto &global : made->code.globals) {
    auto begin = uint64_t(global->data());
    uint64_t bytes = global->size() * 8;
    r.memory[begin] = {begin, bytes, std::vector<Line>(bytes / lineBytes + 2)};
  }
  *module = made.release();
  return 0;
}
Result cuModuleUnload(Module module) {
  Recorder &r = recorder();
  std::unique_lock<std::mutex> lock(r.mutex);
  for (const auto &global : module->code.globals)
    r.memory.erase(uint64_t(global->data()));
  --r.modules;
  delete module;
  return 0;
}
Result cuModuleGetFunction(Function *function, Module module, const char *name) {
  auto it = module->code.functions.find(name);
  if (it == module->code.functions.end())
    return 500;
  FunctionTag &tag = module->functions[name];
  tag = {name, &it->second};
  *function = &tag;
  return 0;
}

Result cuMemAlloc_v2(Pointer *data, size_t bytes) {
  ENTER("cuMemAlloc");
  NEEDS_CONTEXT()
  if (bytes > r.limit - r.used)
    return outOfMemory;
  void *memory = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  if (!memory)
    return outOfMemory;
  // What no one has written is recognisable.
  std::memset(memory, 0xab, bytes);
  r.used += bytes;
  *data = Pointer(memory);
  r.memory[*data] = {*data, bytes, std::vector<Line>(bytes / lineBytes + 2)};
  return 0;
}
Result cuMemFree_v2(Pointer data) {
  Recorder &r = recorder();
  std::unique_lock<std::mutex> lock(r.mutex);
  auto it = r.memory.find(data);
  if (it == r.memory.end()) {
    r.problem("frees what is no memory of the GPU");
    return 1;
  }
  // As the driver does: not before all that was put is done.
  for (StreamTag *stream : std::set<StreamTag *>(r.streams))
    r.drain(lock, stream);
  r.used -= it->second.bytes;
  std::free(reinterpret_cast<void *>(data));
  r.memory.erase(it);
  return 0;
}
Result cuMemHostAlloc(void **data, size_t bytes, unsigned) {
  ENTER("cuMemHostAlloc");
  NEEDS_CONTEXT()
  *data = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  r.pinned.insert(*data);
  return *data ? 0 : outOfMemory;
}
Result cuMemFreeHost(void *data) {
  Recorder &r = recorder();
  std::unique_lock<std::mutex> lock(r.mutex);
  if (!r.pinned.erase(data))
    r.problem("frees what is no pinned memory");
  else
    std::free(data);
  return 0;
}

Result cuMemcpyHtoD_v2(Pointer to, const void *from, size_t bytes) {
  ENTER("cuMemcpyHtoD");
  NEEDS_CONTEXT()
  if (!r.find(to, bytes)) {
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
    std::memcpy(to, reinterpret_cast<void *>(from), bytes);
  });
  return 0;
}
Result cuMemcpyDtoDAsync_v2(Pointer to, Pointer from, size_t bytes, Stream stream) {
  ENTER("cuMemcpyDtoDAsync");
  NEEDS_CONTEXT()
  ++r.copies;
  r.put(stream, "a copy", [=, &r](Operation &) {
    r.touch(from, bytes, false);
    r.touch(to, bytes, true);
    std::memmove(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), bytes);
  });
  return 0;
}
static Result fill(const char *name, Pointer to, uint64_t value, size_t width, size_t count,
                   Stream stream) {
  ENTER(name);
  NEEDS_CONTEXT()
  r.put(stream, "a fill", [=, &r](Operation &) {
    if (to % width)
      throw std::runtime_error("not aligned");
    r.touch(to, width * count, true);
    for (size_t i = 0; i < count; ++i)
      std::memcpy(reinterpret_cast<uint8_t *>(to) + i * width, &value, width);
  });
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
  r.streams.insert(*stream);
  return 0;
}
Result cuStreamDestroy_v2(Stream stream) {
  Recorder &r = recorder();
  std::unique_lock<std::mutex> lock(r.mutex);
  r.drain(lock, stream);
  r.streams.erase(stream);
  return 0; // kept: lines of memory remember it
}
Result cuStreamSynchronize(Stream stream) {
  ENTER("cuStreamSynchronize");
  NEEDS_CONTEXT()
  r.drain(lock, stream);
  return r.sticky;
}
Result cuStreamWaitEvent(Stream stream, Event event, unsigned) {
  ENTER("cuStreamWaitEvent");
  NEEDS_CONTEXT()
  if (!r.events.count(event) || !event->stream)
    return 0;
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
  ++r.callbacks;
  Operation operation;
  operation.what = "a callback";
  operation.number = ++stream->put;
  operation.stream = stream;
  // Called whatever happened before.
  operation.always = [=](Result status) { callback(stream, status, data); };
  stream->queue.push_back(std::move(operation));
  r.changed.notify_all();
  return 0;
}
Result cuEventCreate(Event *event, unsigned) {
  ENTER("cuEventCreate");
  NEEDS_CONTEXT()
  *event = new EventTag();
  r.events.insert(*event);
  return 0;
}
Result cuEventDestroy_v2(Event event) {
  Recorder &r = recorder();
  std::unique_lock<std::mutex> lock(r.mutex);
  r.events.erase(event);
  return 0;
}
Result cuEventRecord(Event event, Stream stream) {
  ENTER("cuEventRecord");
  NEEDS_CONTEXT()
  r.put(stream, "a record", [=, &r](Operation &operation) {
    std::lock_guard<std::mutex> guard(r.mutex);
    event->recorded = operation.clock;
  });
  event->stream = stream;
  event->number = stream->put;
  return 0;
}

Result cuLaunchKernel(Function function, unsigned blocks, unsigned, unsigned, unsigned threads,
                      unsigned, unsigned, unsigned, Stream stream, void **values, void **) {
  ENTER("cuLaunchKernel");
  NEEDS_CONTEXT()
  if (blocks == 0 || threads == 0 || threads > 1024)
    return 1;
  ++r.launches;
  std::vector<uint8_t> parameters(size_t(function->code->parameterBytes));
  for (size_t i = 0; i < function->code->parameters.size(); ++i) {
    const ptx::Parameter &p = function->code->parameters[i];
    std::memcpy(parameters.data() + p.offset, values[i], size_t(p.bytes));
  }
  r.put(stream, function->name.c_str(), [=, &r](Operation &) {
    ptx::run(*function->code, parameters, blocks, threads, r);
  });
  return 0;
}

} // extern "C"
