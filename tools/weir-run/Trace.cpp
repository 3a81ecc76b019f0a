//===- Trace.cpp - recording a run's kernels ------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-run/Trace.h"

#include "tools/common/Files.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <set>
#include <sys/file.h>
#include <tuple>
#include <unistd.h>

using namespace weir::tools;

namespace {

const char *kindName(int32_t kind) {
  switch (kind) {
  case WEIR_TRACE_RUN:
    return "run";
  case WEIR_TRACE_KERNEL:
    return "kernel";
  case WEIR_TRACE_RECEIVE:
    return "receive";
  case WEIR_TRACE_CUSTOM:
    return "custom";
  case WEIR_TRACE_COPY:
    return "copy";
  case WEIR_TRACE_SEND:
    return "send";
  default:
    return "other";
  }
}

std::string receiveKey(const weir_trace_event &event) {
  return std::string(event.name) + "\n" + event.device + "\n" + std::to_string(event.step);
}

} // namespace

TraceRecorder::TraceRecorder() : origin(std::chrono::steady_clock::now()) {
  table.size = sizeof(table);
  table.reserved = 0;
  table.self = this;
  table.begin = [](void *self, const weir_trace_event *event) {
    static_cast<TraceRecorder *>(self)->begin(*event);
  };
  table.end = [](void *self, const weir_trace_event *event) {
    static_cast<TraceRecorder *>(self)->end(*event);
  };
  table.span = [](void *self, const weir_trace_event *event, int64_t begin, int64_t end) {
    static_cast<TraceRecorder *>(self)->span(*event, begin, end);
  };
}

TraceRecorder::~TraceRecorder() = default;

int64_t TraceRecorder::now() const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() -
                                                              origin)
      .count();
}

void TraceRecorder::begin(const weir_trace_event &event) {
  if (event.kind == WEIR_TRACE_RECEIVE) {
    std::lock_guard<std::mutex> lock(mutex);
    receives[receiveKey(event)] = now();
    return;
  }
  Lane &lane = lanes.ofThread();
  int64_t time = now();
  lane.open.push_back(time);
  // One sample a launch is enough.
  if (bytesInUse && event.kind == WEIR_TRACE_KERNEL && event.part_begin == 0)
    sampleMemory(lane, event.device, time);
}

void TraceRecorder::watchMemory(std::vector<std::string> devices,
                                std::function<int64_t(int32_t)> inUse) {
  watched = std::move(devices);
  bytesInUse = std::move(inUse);
}

void TraceRecorder::sampleMemory(Lane &lane, const char *device, int64_t time) const {
  size_t at = 0;
  while (at < watched.size() && watched[at] != device)
    ++at;
  if (at == watched.size())
    return;
  int64_t bytes = bytesInUse(int32_t(at));
  if (lane.samples.empty() || lane.samples.back().device != int32_t(at) ||
      lane.samples.back().bytes != bytes)
    lane.samples.push_back({int32_t(at), time, bytes});
}

void TraceRecorder::end(const weir_trace_event &event) {
  int64_t stop = now(), start = stop;
  Lane &lane = lanes.ofThread();
  if (event.kind == WEIR_TRACE_RECEIVE) {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = receives.find(receiveKey(event));
    if (found != receives.end()) {
      start = found->second;
      receives.erase(found);
    }
  } else if (!lane.open.empty()) {
    start = lane.open.back();
    lane.open.pop_back();
  }
  add(lane, event, start, stop - start);
}

void TraceRecorder::span(const weir_trace_event &event, int64_t begin, int64_t end) {
  // steady_clock is the monotonic clock that the runtime counts on.
  int64_t first =
      std::chrono::duration_cast<std::chrono::nanoseconds>(origin.time_since_epoch()).count();
  add(lanes.ofThread(), event, begin - first, end - begin);
}

void TraceRecorder::add(Lane &lane, const weir_trace_event &event, int64_t start,
                        int64_t duration) {
  lane.events.push_back({event.kind, event.thread, event.step, event.flops, event.bytes,
                         event.part_begin, event.part_end, event.name ? event.name : "",
                         event.nodes ? event.nodes : "", event.device ? event.device : "", start,
                         duration});
}

namespace {

/// The same number in every task for one tensor that crosses: FNV-1a (Fowler, Noll and Vo) of the
/// edge, the step and how many went before in it, as far as a double holds it.
int64_t flowNumber(const std::string &edge, int64_t step, int64_t count) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (char c : edge + "\n" + std::to_string(step) + "\n" + std::to_string(count))
    hash = (hash ^ uint8_t(c)) * 0x100000001b3u;
  return int64_t(hash & ((uint64_t(1) << 53) - 1));
}

/// A step of a counter.
struct Change {
  int64_t time;
  double by;
};

} // namespace

/// Bytes a second that kernels read and write: a part's share of a launch's bytes, over its time.
static std::map<std::string, std::vector<Change>>
bandwidthOf(const std::vector<const TraceRecorder::Event *> &events) {
  using Launch = std::tuple<int64_t, std::string, std::string>;
  std::map<Launch, int64_t> ranges;
  for (const TraceRecorder::Event *event : events) {
    int64_t &range = ranges[{event->step, event->name, event->nodes}];
    range = std::max(range, event->partEnd);
  }
  std::map<std::string, std::vector<Change>> changes;
  for (const TraceRecorder::Event *event : events) {
    int64_t range = ranges[{event->step, event->name, event->nodes}];
    if (event->kind != WEIR_TRACE_KERNEL || event->bytes <= 0 || event->duration <= 0 || !range)
      continue;
    double share = double(event->partEnd - event->partBegin) / double(range);
    double rate = double(event->bytes) * share / double(event->duration);
    changes[event->device].push_back({event->start, rate});
    changes[event->device].push_back({event->start + event->duration, -rate});
  }
  return changes;
}

std::vector<const TraceRecorder::Event *> TraceRecorder::lastRun() const {
  const Event *last = nullptr;
  for (const auto &lane : lanes.all())
    for (const Event &event : lane->events)
      if (event.kind == WEIR_TRACE_RUN && (!last || event.step > last->step))
        last = &event;
  std::vector<const Event *> found;
  if (!last)
    return found;
  for (const auto &lane : lanes.all())
    for (const Event &event : lane->events)
      if (event.step == last->step)
        found.push_back(&event);
  std::sort(found.begin(), found.end(),
            [](const Event *a, const Event *b) { return a->start < b->start; });
  // What encloses all comes first, though a clock may not tell it from what it encloses.
  std::stable_partition(found.begin(), found.end(), [&](const Event *one) { return one == last; });
  return found;
}

namespace {

/// Writes events in the form of Chrome's traces.
class EventWriter {
public:
  using Event = TraceRecorder::Event;
  using Events = std::vector<const Event *>;

  EventWriter(llvm::json::OStream &json, const TraceRecorder::Shared *shared, int64_t begin)
      : json(json), begin(begin), clockError(shared ? shared->clockError : 0) {
    if (shared)
      for (const std::string &name : shared->devices)
        devices.try_emplace(name, static_cast<int64_t>(devices.size()));
  }

  void slice(const Event &event);
  void transfers(const Events &events);
  void bandwidth(const Events &events);
  void count(const char *name, const char *unit, int64_t time, const std::string &device,
             double value);

private:
  int64_t process(const std::string &device);
  void describe(int64_t pid, const char *what, const char *key, const std::string &value);
  void stamp(const char *phase, const std::string &name, int64_t time, int64_t pid);

  llvm::json::OStream &json;
  int64_t begin, clockError;              ///< nanoseconds
  std::map<std::string, int64_t> devices; ///< one process each, so that viewers group their threads
  std::set<int64_t> named;
};

} // namespace

void EventWriter::describe(int64_t pid, const char *what, const char *key,
                           const std::string &value) {
  json.object([&] {
    json.attribute("name", what);
    json.attribute("ph", "M");
    json.attribute("pid", pid);
    json.attributeObject("args", [&] { json.attribute(key, llvm::json::fixUTF8(value)); });
  });
}

int64_t EventWriter::process(const std::string &device) {
  int64_t pid = devices.try_emplace(device, static_cast<int64_t>(devices.size())).first->second;
  if (named.insert(pid).second) {
    describe(pid, "process_name", "name", device);
    if (clockError > 0)
      describe(pid, "process_labels", "labels",
               "clock within " + std::to_string(clockError / 1000 + 1) + " us");
  }
  return pid;
}

void EventWriter::slice(const Event &event) {
  int64_t pid = process(event.device);
  json.object([&] {
    json.attribute("name", llvm::json::fixUTF8(event.name));
    json.attribute("cat", kindName(event.kind));
    json.attribute("ph", "X");
    json.attribute("ts", static_cast<double>(begin + event.start) / 1e3);
    json.attribute("dur", static_cast<double>(event.duration) / 1e3);
    json.attribute("pid", pid);
    json.attribute("tid", event.thread);
    json.attributeObject("args", [&] {
      json.attribute("step", event.step);
      if (!event.nodes.empty())
        json.attribute("nodes", llvm::json::fixUTF8(event.nodes));
      if (event.flops >= 0)
        json.attribute("flops", event.flops);
      if (event.bytes >= 0)
        json.attribute("bytes", event.bytes);
      if (event.kind == WEIR_TRACE_COPY && event.bytes > 0 && event.duration > 0)
        json.attribute("gigabytes_per_second", double(event.bytes) / double(event.duration));
      if (event.partEnd > event.partBegin) {
        json.attribute("part_begin", event.partBegin);
        json.attribute("part_end", event.partEnd);
      }
    });
  });
}

void EventWriter::stamp(const char *phase, const std::string &name, int64_t time, int64_t pid) {
  json.attribute("name", llvm::json::fixUTF8(name));
  json.attribute("ph", phase);
  json.attribute("ts", static_cast<double>(begin + time) / 1e3);
  json.attribute("pid", pid);
}

/// The n-th send of an edge in a step goes to its n-th receive. What waits on the sender's
/// device waits for room.
void EventWriter::transfers(const Events &events) {
  using Edge = std::pair<std::string, int64_t>;
  std::map<Edge, int64_t> sent, received;
  std::map<std::string, std::string> sources;
  for (const Event *event : events)
    if (event->kind == WEIR_TRACE_SEND)
      sources[event->name] = event->device;
  Events ends = events;
  std::sort(ends.begin(), ends.end(), [](const Event *a, const Event *b) {
    return a->start + a->duration < b->start + b->duration;
  });
  for (const Event *event : ends) {
    bool isSend = event->kind == WEIR_TRACE_SEND;
    auto source = sources.find(event->name);
    if (!isSend && (event->kind != WEIR_TRACE_RECEIVE ||
                    (source != sources.end() && source->second == event->device)))
      continue;
    int64_t number = (isSend ? sent : received)[{event->name, event->step}]++;
    json.object([&] {
      // Within the slice that it begins or ends at.
      int64_t at = isSend ? event->start : event->start + std::max<int64_t>(event->duration - 1, 0);
      stamp(isSend ? "s" : "f", event->name, at, devices[event->device]);
      json.attribute("cat", "transfer");
      json.attribute("id", flowNumber(event->name, event->step, number));
      json.attribute("tid", event->thread);
      if (!isSend)
        json.attribute("bp", "e");
    });
  }
}

void EventWriter::count(const char *name, const char *unit, int64_t time, const std::string &device,
                        double value) {
  json.object([&] {
    stamp("C", name, time, devices[device]);
    json.attributeObject("args", [&] { json.attribute(unit, value); });
  });
}

void EventWriter::bandwidth(const Events &events) {
  for (auto &[device, changes] : bandwidthOf(events)) {
    std::vector<Change> ordered = changes;
    std::stable_sort(ordered.begin(), ordered.end(),
                     [](const Change &a, const Change &b) { return a.time < b.time; });
    double rate = 0;
    for (size_t i = 0; i < ordered.size(); ++i) {
      rate += ordered[i].by;
      // Sums of many rates and their negatives are nothing but for rounding.
      if (i + 1 == ordered.size() || ordered[i + 1].time > ordered[i].time)
        count("bandwidth of kernels", "GB/s", ordered[i].time, device, rate < 1e-6 ? 0 : rate);
    }
  }
}

std::string TraceRecorder::eventsJson(const Shared *shared) const {
  std::vector<const Event *> events;
  std::vector<Sample> samples;
  for (const auto &lane : lanes.all()) {
    for (const Event &event : lane->events)
      events.push_back(&event);
    samples.insert(samples.end(), lane->samples.begin(), lane->samples.end());
  }
  // What encloses comes before what it encloses.
  std::sort(events.begin(), events.end(), [](const Event *a, const Event *b) {
    return a->start != b->start ? a->start < b->start : a->duration > b->duration;
  });
  std::sort(samples.begin(), samples.end(),
            [](const Sample &a, const Sample &b) { return a.time < b.time; });
  int64_t begin = 0;
  if (shared)
    begin =
        std::chrono::duration_cast<std::chrono::nanoseconds>(origin.time_since_epoch()).count() +
        shared->clockOffset;
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os);
  EventWriter writer(json, shared, begin);
  json.array([&] {
    for (const Event *event : events)
      writer.slice(*event);
    writer.transfers(events);
    writer.bandwidth(events);
    for (const Sample &sample : samples)
      writer.count("bytes alive", "bytes", sample.time, watched[size_t(sample.device)],
                   double(sample.bytes));
  });
  os.flush();
  return text.substr(1, text.size() - 2); // what is between the brackets
}

static constexpr const char *traceEnd = "]}\n";

std::string TraceRecorder::traceJson() const {
  return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[" + eventsJson(nullptr) + traceEnd;
}

bool TraceRecorder::writeShared(const std::string &path, const Shared &shared,
                                std::string &error) const {
  int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0 || ::flock(file, LOCK_EX) != 0) {
    error = std::strerror(errno);
    if (file >= 0)
      ::close(file);
    return false;
  }
  std::string begin = "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"job\":\"" +
                      std::to_string(shared.job) + "\"},\"traceEvents\":[";
  // In place: a file of its own that takes the name would have another lock.
  std::string text, own = eventsJson(&shared), ignored;
  readFile(path, text, ignored);
  if (text.starts_with(begin) && text.ends_with(traceEnd))
    text.resize(text.size() - std::strlen(traceEnd));
  else
    text = begin;
  text += (text.size() == begin.size() || own.empty() ? "" : ",") + own + traceEnd;
  bool good = ::ftruncate(file, 0) == 0;
  for (size_t at = 0; good && at < text.size();) {
    ssize_t put = ::write(file, text.data() + at, text.size() - at);
    good = put > 0;
    at += good ? static_cast<size_t>(put) : 0;
  }
  if (!good)
    error = std::strerror(errno);
  ::close(file);
  return good;
}

std::string TraceRecorder::profileJson() const {
  constexpr size_t mostEvents = 20000;
  struct Row {
    std::string nodes, device;
    std::set<std::string> seen;
    int64_t calls = 0, nanoseconds = 0, flops = -1, bytes = -1;
  };
  std::map<std::string, Row> rows;
  int64_t runs = 0;
  for (const auto &lane : lanes.all())
    for (const Event &event : lane->events) {
      runs += event.kind == WEIR_TRACE_RUN;
      if (event.kind != WEIR_TRACE_KERNEL && event.kind != WEIR_TRACE_CUSTOM)
        continue;
      Row &row = rows[event.name];
      // A kernel that several nodes share is one row.
      if (!event.nodes.empty() && row.seen.insert(event.nodes).second)
        row.nodes += (row.nodes.empty() ? "" : ";") + event.nodes;
      row.device = event.device;
      // A launch is counted by its first part.
      row.calls += event.partBegin == 0;
      row.nanoseconds += event.duration;
      row.flops = event.flops;
      row.bytes = event.bytes;
    }
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os, 1);
  json.object([&] {
    json.attribute("version", 1);
    json.attribute("runs", runs);
    json.attributeArray("kernels", [&] {
      for (const auto &[name, row] : rows)
        json.object([&] {
          json.attribute("name", llvm::json::fixUTF8(name));
          json.attribute("nodes", llvm::json::fixUTF8(row.nodes));
          json.attribute("device", llvm::json::fixUTF8(row.device));
          json.attribute("calls", row.calls);
          json.attribute("nanoseconds", row.nanoseconds);
          json.attribute("flops", row.flops);
          json.attribute("bytes", row.bytes);
        });
    });
    // What ran when in the last run, for weirc --report.
    std::vector<const Event *> timeline = lastRun();
    const Event *last = timeline.empty() ? nullptr : timeline.front();
    timeline.resize(std::min(timeline.size(), mostEvents));
    json.attributeArray("timeline", [&] {
      for (const Event *event : timeline)
        json.object([&] {
          json.attribute("kind", kindName(event->kind));
          json.attribute("name", llvm::json::fixUTF8(event->name));
          json.attribute("nodes", llvm::json::fixUTF8(event->nodes));
          json.attribute("device", llvm::json::fixUTF8(event->device));
          json.attribute("thread", event->thread);
          json.attribute("part_begin", event->partBegin);
          json.attribute("begin_us", double(event->start - last->start) / 1e3);
          json.attribute("end_us", double(event->start + event->duration - last->start) / 1e3);
        });
    });
  });
  os.flush();
  return text + "\n";
}
