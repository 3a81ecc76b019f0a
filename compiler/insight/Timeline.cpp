//===- Timeline.cpp - what ran when in a measured step --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/insight/Timeline.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace weir;
using namespace weir::insight;
namespace json = llvm::json;

namespace {

/// Microseconds below which threads do not count as idle, and events as one behind the other.
constexpr double shortest = 1, tolerance = 0.05;

struct Event {
  std::string kind, name, nodes, device;
  int64_t thread = 0, partBegin = 0;
  double begin = 0, end = 0; ///< us from the run's begin
  int64_t launch = -1;       ///< of its device, in their order
  bool isCritical = false;
};

struct Lane {
  std::string device;
  int64_t thread = 0;
  std::vector<size_t> events; ///< by begin
  double busy = 0;
};

struct Timeline {
  std::vector<Event> events; ///< kernels, custom operations and copies, by begin
  std::vector<Event> receives;
  std::vector<Lane> lanes;
  double wall = 0;
};

Timeline read(const json::Array &list) {
  Timeline timeline;
  for (const json::Value &value : list) {
    const json::Object *from = value.getAsObject();
    if (!from)
      continue;
    Event event;
    auto text = [&](const char *key) { return from->getString(key).value_or("").str(); };
    event.kind = text("kind");
    event.name = text("name");
    event.nodes = text("nodes");
    event.device = text("device");
    event.thread = from->getInteger("thread").value_or(0);
    event.partBegin = from->getInteger("part_begin").value_or(0);
    event.begin = from->getNumber("begin_us").value_or(0);
    event.end = std::max(event.begin, from->getNumber("end_us").value_or(0));
    timeline.wall = std::max(timeline.wall, event.end);
    if (event.kind == "receive")
      timeline.receives.push_back(std::move(event));
    else if (event.kind != "run")
      timeline.events.push_back(std::move(event));
  }
  std::stable_sort(timeline.events.begin(), timeline.events.end(),
                   [](const Event &a, const Event &b) { return a.begin < b.begin; });
  std::map<std::pair<std::string, int64_t>, size_t> known;
  for (const Event &event : timeline.events)
    known.try_emplace({event.device, event.thread}, 0);
  for (auto &[key, number] : known) {
    number = timeline.lanes.size();
    timeline.lanes.push_back({key.first, key.second, {}, 0});
  }
  for (size_t i = 0; i < timeline.events.size(); ++i) {
    const Event &event = timeline.events[i];
    Lane &lane = timeline.lanes[known[{event.device, event.thread}]];
    lane.events.push_back(i);
    lane.busy += event.end - event.begin;
  }
  return timeline;
}

/// A launch has one part that begins at 0, which need not be the first to run.
void numberLaunches(Timeline &timeline) {
  struct Last {
    int64_t number = -1;
    std::string name, nodes;
    bool hasBegin = false;
  };
  std::map<std::string, Last> last;
  for (Event &event : timeline.events) {
    if (event.kind != "kernel")
      continue;
    Last &now = last[event.device];
    bool isBegin = event.partBegin == 0;
    if (now.number < 0 || event.name != now.name || event.nodes != now.nodes ||
        (isBegin && now.hasBegin))
      now = {now.number + 1, event.name, event.nodes, false};
    now.hasBegin |= isBegin;
    event.launch = now.number;
  }
}

/// From what ends last back to what ended last before it began, and so on: shortening any of
/// these shortens the step, as far as the machine is not busy with others.
double markCritical(Timeline &timeline) {
  std::vector<size_t> byEnd(timeline.events.size());
  for (size_t i = 0; i < byEnd.size(); ++i)
    byEnd[i] = i;
  std::stable_sort(byEnd.begin(), byEnd.end(), [&](size_t a, size_t b) {
    return timeline.events[a].end < timeline.events[b].end;
  });
  double length = 0, before = INFINITY;
  for (size_t i = byEnd.size(); i-- > 0;) {
    Event &event = timeline.events[byEnd[i]];
    if (event.end > before + tolerance)
      continue;
    event.isCritical = true;
    length += event.end - event.begin;
    before = event.begin;
  }
  return length;
}

double overlap(const Event &event, double begin, double end) {
  return std::min(event.end, end) - std::max(event.begin, begin);
}

/// Why a thread did nothing from `begin` to `end`: what most of that time passed with.
std::string causeOf(const Timeline &timeline, const Lane &lane, double begin, double end) {
  double half = (end - begin) / 2;
  for (const Event &receive : timeline.receives)
    if (receive.device == lane.device && overlap(receive, begin, end) > half)
      return "waits for " + receive.name;
  const Event *longest = nullptr;
  double most = 0;
  for (const Event &event : timeline.events)
    if (event.device == lane.device && event.thread != lane.thread)
      if (double shared = overlap(event, begin, end); shared > most) {
        most = shared;
        longest = &event;
      }
  if (longest && most > half)
    return "waits for other threads, which compute " + longest->name;
  return lane.thread == 0 ? "the step between launches" : "no launch has work for it";
}

json::Array idleOf(const Timeline &timeline) {
  json::Array idle;
  for (size_t i = 0; i < timeline.lanes.size(); ++i) {
    const Lane &lane = timeline.lanes[i];
    double at = 0;
    auto add = [&](double until) {
      if (until - at >= shortest)
        idle.push_back(json::Object{{"lane", int64_t(i)},
                                    {"begin_us", at},
                                    {"end_us", until},
                                    {"cause", causeOf(timeline, lane, at, until)}});
    };
    for (size_t number : lane.events) {
      add(timeline.events[number].begin);
      at = std::max(at, timeline.events[number].end);
    }
    add(timeline.wall);
  }
  return idle;
}

/// When the plan's launches began, by device: [us, time in the plan]. Left out where launches
/// that ran are not as many as the plan's, as in loops.
json::Array clockOf(const Timeline &timeline, const NodeTrace &trace, const Report &report) {
  json::Array clocks;
  for (size_t d = 0; d < report.devices.size(); ++d) {
    std::vector<int64_t> planned;
    for (const LaunchPlace &launch : trace.launches)
      if (launch.device == int64_t(d))
        planned.push_back(launch.time);
    std::vector<double> begins;
    for (const Event &event : timeline.events)
      if (event.device == report.devices[d].name && event.launch >= int64_t(begins.size()))
        begins.push_back(event.begin);
    if (planned.empty() || planned.size() != begins.size())
      continue;
    json::Array at;
    for (size_t i = 0; i < planned.size(); ++i)
      at.push_back(json::Array{begins[i], planned[i]});
    clocks.push_back(json::Object{{"device", int64_t(d)}, {"at", std::move(at)}});
  }
  return clocks;
}

} // namespace

json::Value insight::timelineOf(const json::Object &profile, const NodeTrace &trace,
                                const Report &report) {
  const json::Array *list = profile.getArray("timeline");
  if (!list || list->empty())
    return nullptr;
  Timeline timeline = read(*list);
  numberLaunches(timeline);
  double critical = markCritical(timeline);
  std::map<std::pair<std::string, int64_t>, int64_t> laneOf;
  json::Array lanes, events;
  for (const Lane &lane : timeline.lanes) {
    laneOf[{lane.device, lane.thread}] = int64_t(lanes.size());
    lanes.push_back(json::Object{
        {"device", json::fixUTF8(lane.device)}, {"thread", lane.thread}, {"busy_us", lane.busy}});
  }
  auto add = [&](const Event &event, int64_t lane) {
    events.push_back(json::Object{{"kind", event.kind},
                                  {"name", json::fixUTF8(event.name)},
                                  {"nodes", json::fixUTF8(event.nodes)},
                                  {"lane", lane},
                                  {"begin_us", event.begin},
                                  {"end_us", event.end},
                                  {"is_critical", event.isCritical}});
  };
  for (const Event &event : timeline.events)
    add(event, laneOf[{event.device, event.thread}]);
  // Receives span what others do on their threads: they stand by their device's first one.
  for (const Event &receive : timeline.receives)
    for (size_t i = 0; i < timeline.lanes.size(); ++i)
      if (timeline.lanes[i].device == receive.device) {
        add(receive, int64_t(i));
        break;
      }
  return json::Object{{"wall_us", timeline.wall},  {"critical_us", critical},
                      {"lanes", std::move(lanes)}, {"events", std::move(events)},
                      {"idle", idleOf(timeline)},  {"clock", clockOf(timeline, trace, report)}};
}
