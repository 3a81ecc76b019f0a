//===- Cupti.cpp - a CUPTI that tells of the recording driver -----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stands in for libcupti.so beside the recording driver: $WEIR_CUPTI names it.
// Records go to the client's buffers, from the thread that empties streams and those
// that call; times are the recording driver's own clock, far from the host's.
// $WEIR_RECORDER_CUPTI: `drop` loses every third thing that the GPU does and counts
// it, `silent` does not count it, `busy` has a subscriber already, `old` is a version
// whose records are not known.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/cupti_api.h"
#include "test/cuda/recorder/Recorder.h"

#include <cstdlib>
#include <cstring>
#include <tuple>
#include <utility>

using namespace recorder;

namespace {

bool mode(const char *name) {
  const char *text = std::getenv("WEIR_RECORDER_CUPTI");
  return text && !std::strcmp(text, name);
}

thread_local std::vector<std::pair<int32_t, uint64_t>> pushed;

/// What a record is in front of what comes behind it; the real ones are longer than
/// the runtime knows.
constexpr size_t recordBytes = 256;

struct Trace : Tracer {
  std::mutex mutex; ///< of what follows; taken after the recorder's
  std::set<int32_t> enabled;
  cupti::BufferRequested requested = nullptr;
  cupti::BufferCompleted completed = nullptr;
  cupti::Callback callback = nullptr;
  void *self = nullptr;
  std::set<uint32_t> callbacks;
  uint8_t *buffer = nullptr;
  size_t size = 0, valid = 0, dropped = 0, seen = 0;

  template <typename T> void write(const T &record) {
    static_assert(sizeof(T) <= recordBytes);
    std::unique_lock<std::mutex> lock(mutex);
    if (!enabled.count(record.kind))
      return;
    if (buffer && valid + recordBytes > size)
      complete(lock);
    if (!buffer) {
      size_t most;
      requested(&buffer, &size, &most);
    }
    if (!buffer) {
      ++dropped;
      return;
    }
    std::memset(buffer + valid, 0xee, recordBytes);
    std::memcpy(buffer + valid, &record, sizeof(T));
    valid += recordBytes;
  }

  void complete(std::unique_lock<std::mutex> &lock) {
    if (!buffer)
      return;
    uint8_t *full = std::exchange(buffer, nullptr);
    size_t bytes = std::exchange(valid, 0);
    lock.unlock();
    completed(nullptr, 0, full, size, bytes);
    lock.lock();
  }

  template <typename T>
  void writeTimed(int32_t kind, const Operation &operation, uint64_t begin, uint64_t end) {
    T record = {};
    record.kind = kind;
    record.start = begin;
    record.end = end;
    record.device = uint32_t(operation.stream->device);
    record.correlation = operation.correlation;
    record.graphNode = operation.node;
    write(record);
  }

  void called(uint32_t correlation) override {
    if (!enabled.count(cupti::driverKind) || pushed.empty())
      return;
    cupti::ExternalRecord record = {};
    record.kind = cupti::externalKind;
    std::tie(record.externalKind, record.id) = pushed.back();
    record.correlation = correlation;
    write(record);
  }

  void did(const Operation &operation, uint64_t begin, uint64_t end) override {
    std::string what = operation.what;
    if (what == "a record" || what == "a wait" || what == "a callback")
      return;
    if ((mode("drop") || mode("silent")) && ++seen % 3 == 0) {
      std::lock_guard<std::mutex> lock(mutex);
      dropped += mode("drop");
      return;
    }
    if (what == "a copy to a peer")
      writeTimed<cupti::PeerCopyRecord>(cupti::peerCopyKind, operation, begin, end);
    else if (what.rfind("a copy", 0) == 0)
      writeTimed<cupti::CopyRecord>(cupti::memcpyKind, operation, begin, end);
    else if (what == "a fill")
      writeTimed<cupti::SetRecord>(cupti::memsetKind, operation, begin, end);
    else
      writeTimed<cupti::KernelRecord>(cupti::kernelKind, operation, begin, end);
  }

  void tell(uint32_t id, const CapturedNode *node, const CapturedNode *original) {
    if (!callbacks.count(id))
      return;
    cupti::GraphData graph = {};
    graph.node = const_cast<CapturedNode *>(node);
    graph.originalNode = const_cast<CapturedNode *>(original);
    cupti::ResourceData data = {nullptr, nullptr, &graph};
    callback(self, cupti::resourceDomain, id, &data);
  }
  void nodeCreated(const CapturedNode &node) override { tell(cupti::nodeCreated, &node, nullptr); }
  void nodeCloned(const CapturedNode &node, const CapturedNode &original) override {
    tell(cupti::nodeCloned, &node, &original);
  }
};

Trace &trace() {
  static Trace *it = new Trace();
  return *it;
}

/// Calls that are allowed while subscribed alone.
int32_t counted(const char *name) { return recorder::recorder().failsLibrary(name) ? 999 : 0; }

} // namespace

extern "C" {

int32_t cuptiGetVersion(uint32_t *version) {
  *version = mode("old") ? 12 : 130001;
  return 0;
}

int32_t cuptiSubscribe(cupti::Subscriber *subscriber, cupti::Callback callback, void *self) {
  if (int32_t error = counted("cuptiSubscribe"))
    return error;
  Recorder &r = recorder::recorder();
  std::lock_guard<std::mutex> lock(r.mutex);
  if (mode("busy") || r.tracer)
    return cupti::multipleSubscribers;
  trace().callback = callback;
  trace().self = self;
  *subscriber = reinterpret_cast<cupti::Subscriber>(&trace());
  r.tracer = &trace();
  return 0;
}
int32_t cuptiUnsubscribe(cupti::Subscriber) {
  int32_t error = counted("cuptiUnsubscribe");
  Recorder &r = recorder::recorder();
  std::lock_guard<std::mutex> lock(r.mutex);
  if (!trace().enabled.empty() || trace().buffer)
    r.problem("unsubscribes from CUPTI with records on their way");
  r.tracer = nullptr;
  trace().callbacks.clear();
  return error;
}
int32_t cuptiEnableCallback(uint32_t enable, cupti::Subscriber, int32_t domain, uint32_t id) {
  Recorder &r = recorder::recorder();
  std::lock_guard<std::mutex> lock(r.mutex);
  if (domain == cupti::resourceDomain && enable)
    trace().callbacks.insert(id);
  return 0;
}
int32_t cuptiActivityRegisterCallbacks(cupti::BufferRequested requested,
                                       cupti::BufferCompleted completed) {
  trace().requested = requested;
  trace().completed = completed;
  return 0;
}

int32_t cuptiActivityEnable(int32_t kind) {
  if (int32_t error = counted("cuptiActivityEnable"))
    return error;
  Recorder &r = recorder::recorder();
  std::scoped_lock lock(r.mutex, trace().mutex);
  trace().enabled.insert(kind);
  return 0;
}
int32_t cuptiActivityDisable(int32_t kind) {
  Recorder &r = recorder::recorder();
  std::scoped_lock lock(r.mutex, trace().mutex);
  trace().enabled.erase(kind);
  return 0;
}

int32_t cuptiActivityFlushAll(uint32_t) {
  std::unique_lock<std::mutex> lock(trace().mutex);
  trace().complete(lock);
  return 0;
}
int32_t cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, cupti::Record **record) {
  auto *at = reinterpret_cast<uint8_t *>(*record);
  at = at ? at + recordBytes : buffer;
  if (at >= buffer + valid)
    return 12; // CUPTI_ERROR_MAX_LIMIT_REACHED
  *record = reinterpret_cast<cupti::Record *>(at);
  return 0;
}
int32_t cuptiActivityGetNumDroppedRecords(Context, uint32_t, size_t *dropped) {
  std::lock_guard<std::mutex> lock(trace().mutex);
  *dropped = std::exchange(trace().dropped, 0);
  return 0;
}

int32_t cuptiActivityPushExternalCorrelationId(int32_t kind, uint64_t id) {
  pushed.push_back({kind, id});
  return 0;
}
int32_t cuptiActivityPopExternalCorrelationId(int32_t, uint64_t *id) {
  if (pushed.empty())
    return 1;
  *id = pushed.back().second;
  pushed.pop_back();
  return 0;
}
int32_t cuptiGetGraphNodeId(void *node, uint64_t *id) {
  *id = static_cast<CapturedNode *>(node)->id;
  return 0;
}
int32_t cuptiGetTimestamp(uint64_t *time) {
  *time = Recorder::ticks();
  return 0;
}

} // extern "C"
