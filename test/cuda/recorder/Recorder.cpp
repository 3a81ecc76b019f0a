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
// cuX fails, from 1), _LEAVE_OUT=cuStreamWaitEvent:N (that wait, or launch of a kernel of that
// name, is not put: what was to be found is), _CAPABILITY (90), _VERSION (of the driver, 13000),
// _MULTIPROCESSORS (132), _NO_TOGETHER (blocks of a launch cannot be made to run at the same time),
// _DEVICES (1), _NO_MAP (memory cannot be mapped), _NO_PEERS (GPUs cannot
// access each other's memory), _NAMES=1 (the record says how often each kernel was launched), _PTX
// (a file that is loaded in place of any image).
//
//===----------------------------------------------------------------------===//

#include "test/cuda/recorder/Recorder.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace recorder;

Recorder::Recorder() {
  auto number = [](const char *name, uint64_t usual) {
    const char *text = std::getenv(name);
    return text ? std::strtoull(text, nullptr, 0) : usual;
  };
  random = number("WEIR_RECORDER_SEED", 1);
  limit = number("WEIR_RECORDER_MEMORY", UINT64_MAX);
  auto call = [](const char *name, std::string &which, int &number) {
    const char *text = std::getenv(name);
    which = text ? text : "";
    size_t colon = which.find(':');
    number = colon == std::string::npos ? 1 : std::atoi(which.c_str() + colon + 1);
    which.resize(std::min(colon, which.size()));
  };
  call("WEIR_RECORDER_FAIL", failing, failingCall);
  call("WEIR_RECORDER_LEAVE_OUT", leftOut, leftOutCall);
}

Recorder &recorder::recorder() {
  static Recorder *it = new Recorder();
  return *it;
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

void Recorder::start() {
  if (!worker.joinable())
    worker = std::thread([this] { work(); });
}

void Recorder::put(StreamTag *stream, const char *what, std::function<void(Operation &)> work,
                   const void *code, bool mayBegin, bool together) {
  if (stream->device != currentDevice())
    problem("puts into a stream of another GPU than the context's");
  if (stream->capturing) {
    stream->capturing->nodes.push_back({what, code, std::move(work), ++nodes, mayBegin, together});
    if (tracer)
      tracer->nodeCreated(stream->capturing->nodes.back());
    return;
  }
  Operation operation;
  operation.what = what;
  operation.work = std::move(work);
  operation.correlation = ++correlations;
  if (tracer)
    tracer->called(correlations);
  putOperation(stream, std::move(operation));
}

void Recorder::putNodes(StreamTag *stream, const std::vector<CapturedNode> &nodes) {
  if (stream->device != currentDevice())
    problem("puts into a stream of another GPU than the context's");
  ++correlations;
  if (tracer)
    tracer->called(correlations);
  for (const CapturedNode &node : nodes) {
    Operation operation = operationOf(node);
    operation.correlation = correlations;
    putOperation(stream, std::move(operation));
  }
}

Operation Recorder::operationOf(const CapturedNode &node) {
  Operation operation;
  operation.what = node.what;
  operation.work = node.work;
  operation.node = node.id;
  if (node.handle)
    operation.conditional = std::make_shared<const CapturedNode>(node);
  return operation;
}

bool Recorder::decide(StreamTag *stream, Operation &operation) {
  constexpr uint64_t mostTurns = 100'000;
  std::shared_ptr<const CapturedNode> held = operation.conditional;
  const CapturedNode &node = *held;
  Condition &condition = conditions[node.handle];
  if (!operation.turns++)
    ++decided;
  bool isRead = condition.isSet;
  condition.isSet = false;
  if (!isRead || operation.turns > mostTurns) {
    problem(isRead ? "a loop does not end" : "a condition that nothing has set is read");
    sticky = 719;
  }
  if (sticky || !condition.value)
    return false;
  ++turns;
  uint64_t within = operation.within;
  uint32_t correlation = operation.correlation;
  Clock host = operation.host;
  if (!node.isLoop)
    operation.conditional = nullptr; // what is left is its end
  stream->queue.push_front(operation);
  for (size_t i = node.body.size(); i-- > 0;) {
    Operation each = operationOf(node.body[i]);
    each.correlation = correlation;
    each.host = host;
    each.number = each.within = within;
    each.stream = stream;
    stream->queue.push_front(std::move(each));
  }
  return true;
}

uint64_t Recorder::ticks() {
  // Far from the host's.
  constexpr uint64_t ahead = 1'000'000'000'000'000;
  return ahead + uint64_t(std::chrono::steady_clock::now().time_since_epoch().count());
}

void Recorder::putOperation(StreamTag *stream, Operation operation) {
  // What lies in a conditional node is before its end, and behind what was before.
  if (operation.conditional)
    operation.within = ++stream->put;
  operation.number = ++stream->put;
  operation.stream = stream;
  operation.host = host;
  stream->queue.push_back(std::move(operation));
  changed.notify_all();
}

void Recorder::putCallback(StreamTag *stream, std::function<void(Result)> callback) {
  put(stream, "a callback", {});
  stream->queue.back().always = std::move(callback);
}

static void join(Clock &clock, const Clock &other) {
  for (auto [stream, number] : other)
    clock[stream] = std::max(clock[stream], number);
}

void Recorder::tellHost(const Clock &clock) { join(host, clock); }

bool Recorder::isReady(const StreamTag *stream) const {
  if (stream->queue.empty())
    return false;
  for (auto [other, number] : stream->queue.front().target)
    if (streams.count(other) && other->done < number)
      return false;
  return true;
}

void Recorder::work() {
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
    if (operation.conditional && decide(stream, operation))
      continue;
    // Program order, what was waited for, and what the host knew.
    operation.serial = ++carriedOut;
    operation.clock = stream->clock;
    join(operation.clock, operation.host);
    if (operation.awaited && events.count(operation.awaited))
      join(operation.clock, operation.awaited->recorded);
    join(operation.clock, operation.target);
    operation.clock[stream] = operation.number;
    // Before it is called: what it sets free may put at once.
    if (operation.always)
      tellHost(operation.clock);
    running = stream;
    current = &operation;
    uint64_t begin = ticks();
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
    if (tracer && operation.work)
      tracer->did(operation, begin, std::max(begin + 1, ticks()));
    current = nullptr;
    running = nullptr;
    stream->clock = operation.clock;
    stream->done = operation.number;
    changed.notify_all();
  }
}

void Recorder::drain(std::unique_lock<std::mutex> &lock, StreamTag *stream) {
  uint64_t until = stream->put;
  changed.wait(lock, [&] { return stream->done >= until; });
  tellHost(stream->clock);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void Recorder::addMemory(uint64_t begin, uint64_t bytes, int device) {
  memory.insert_or_assign(begin, Allocation{begin, bytes, Lines(bytes), device, {}});
}

Allocation *Recorder::find(uint64_t address) { return find(memory, address); }

Allocation *Recorder::find(Memory &in, uint64_t address) {
  auto it = in.upper_bound(address);
  if (it == in.begin())
    return nullptr;
  --it;
  return address < it->second.begin + it->second.bytes ? &it->second : nullptr;
}

bool Recorder::holds(uint64_t address, uint64_t bytes) {
  for (uint64_t at = address; at < address + bytes;) {
    Allocation *found = find(at);
    if (!found)
      return false;
    at = found->begin + found->bytes;
  }
  return true;
}

void Recorder::setCondition(uint64_t handle, uint32_t value) {
  std::lock_guard<std::mutex> guard(mutex);
  auto it = conditions.find(handle);
  if (it == conditions.end())
    throw std::runtime_error("sets a condition of no graph");
  it->second.isSet = true;
  it->second.value = value;
}

void Recorder::access(uint64_t address, int bytes, bool writes) {
  touch(address, uint64_t(bytes), writes);
}

void Recorder::touch(uint64_t address, uint64_t bytes, bool writes, int device) {
  std::lock_guard<std::mutex> guard(mutex);
  if (device < 0)
    device = current->stream->device;
  Allocation *found = find(address);
  if (found && found->device != device)
    throw std::runtime_error("touches the memory of another GPU");
  // Nearly all that kernels touch.
  if (found && found->holds(address, bytes))
    return touchLines(*found, address, bytes, writes);
  if (!holds(address, bytes)) {
    // Of pinned memory kernels read what the host writes meanwhile.
    if (!writes && isPinned(address))
      return;
    throw std::runtime_error(writes ? "writes where no memory of the GPU is"
                                    : "reads where no memory of the GPU is");
  }
  for (uint64_t at = address, end = address + bytes; at < end;) {
    Allocation &piece = *find(at);
    uint64_t count = std::min(end, piece.begin + piece.bytes) - at;
    touchLines(piece, at, count, writes);
    at += count;
  }
}

void Recorder::touchPeer(uint64_t address, uint64_t bytes, int device) {
  {
    std::lock_guard<std::mutex> guard(mutex);
    Allocation *found = find(address);
    if (found && !found->accessible.count(current->stream->device))
      throw std::runtime_error("writes to a GPU that has not given access");
  }
  touch(address, bytes, true, device);
}

void Recorder::touchHost(const void *address, uint64_t bytes, bool writes) {
  std::lock_guard<std::mutex> guard(mutex);
  Allocation *found = find(pinned, uint64_t(address));
  if (!found)
    return;
  if (!found->holds(uint64_t(address), bytes))
    throw std::runtime_error("copies beyond the end of pinned memory");
  touchLines(*found, uint64_t(address), bytes, writes);
}

void Recorder::touchLines(Allocation &in, uint64_t address, uint64_t bytes, bool writes) {
  if (bytes == 0)
    return;
  const uint64_t first = (address - in.begin) / lineBytes,
                 last = (address + bytes - 1 - in.begin) / lineBytes;
  for (uint64_t number = first; number <= last; ++number) {
    Line &line = in.lines[number];
    if (line.last == current->serial && (line.lastWrote || !writes))
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
      auto own = std::find_if(line.readers.begin(), line.readers.end(),
                              [&](const auto &reader) { return reader.first == current->stream; });
      if (own == line.readers.end())
        line.readers.emplace_back(current->stream, current->number);
      else
        own->second = current->number;
    }
    line.lastWrote = line.last == current->serial ? (line.lastWrote || writes) : writes;
    line.last = current->serial;
  }
}

void Recorder::report() {
  const char *name = std::getenv("WEIR_CUDA_RECORD");
  FILE *file = name ? std::fopen(name, "a") : nullptr;
  if (!file)
    return;
  std::fprintf(file, "launches %d, copies in %d, copies out %d, copies %d, callbacks %d\n",
               launches, copiesIn, copiesOut, copies, callbacks);
  if (peerCopies)
    std::fprintf(file, "copies to peers %d\n", peerCopies);
  std::fprintf(
      file, "left: allocations %zu, pinned %zu, streams %zu, events %zu, modules %d, graphs %d\n",
      memory.size() + physical.size() + ranges.size(), pinned.size(), streams.size(), events.size(),
      modules, graphs + instances);
  for (const std::string &text : problems)
    std::fprintf(file, "problem: %s\n", text.c_str());
  std::fprintf(file, "problems %zu\n", problems.size());
  std::fprintf(file, "graphs: captured %d, updated %d, launched %d\n", captured, updated,
               graphLaunches);
  if (adjusted)
    std::fprintf(file, "launches that were set in graphs %d\n", adjusted);
  if (decided)
    std::fprintf(file, "conditional nodes %d, bodies %d\n", decided, turns);
  if (leaving[leftOut] >= leftOutCall && leftOutCall > 0 && !leftOut.empty())
    std::fprintf(file, "left out 1\n");
  for (const auto &[name, count] : libraryCalls)
    std::fprintf(file, "%s %d\n", name.c_str(), count);
  std::fprintf(file, "modules loaded %d\n", modulesLoaded);
  if (mayBegin)
    std::fprintf(file, "launches that may begin early %d\n", mayBegin);
  if (together)
    std::fprintf(file, "launches whose blocks run at the same time %d\n", together);
  for (const auto &[name, count] : launched)
    if (std::getenv("WEIR_RECORDER_NAMES"))
      std::fprintf(file, "launched %s %d\n", name.c_str(), count);
  std::fclose(file);
}
