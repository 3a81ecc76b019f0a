//===- TensorBoard.cpp - a run as TensorBoard shows it --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Field numbers are those of TensorFlow's graph.proto, node_def.proto, config.proto,
// step_stats.proto, tensor_description.proto and allocation_description.proto.
//
//===----------------------------------------------------------------------===//

#include "tools/weir-run/TensorBoard.h"

#include "compiler/insight/ModelGraph.h"
#include "tools/common/EventFile.h"
#include "tools/common/Files.h"

#include "support/wire_format.h"

#include <algorithm>
#include <map>
#include <set>

using namespace weir;
using namespace weir::tools;

namespace {

/// A message that is being written.
struct Message {
  Message &operator<<(const weir_string &piece) {
    bytes.append(piece.data, size_t(piece.size));
    return *this;
  }
  Message &operator<<(char c) {
    bytes += c;
    return *this;
  }
  std::string bytes;
};

void text(Message &out, uint32_t field, std::string_view value) {
  rt::writeBytes(out, field, weir_string{value.data(), int64_t(value.size())});
}

void message(Message &out, uint32_t field, const Message &value) { text(out, field, value.bytes); }

void number(Message &out, uint32_t field, int64_t value) {
  rt::writeNumber(out, field, uint64_t(value));
}

/// A NodeDef.
void addNode(Message &graph, std::string_view name, std::string_view op,
             const std::vector<std::string> &inputs, std::string_view device) {
  Message node;
  text(node, 1, name);
  text(node, 2, op);
  for (const std::string &input : inputs)
    text(node, 3, input);
  text(node, 4, device);
  message(graph, 1, node);
}

/// Nodes read each other by node and output. What nothing of the graph makes is a feed.
std::string graphDef(const insight::ModelGraph &graph, const Report &report) {
  std::map<std::string, std::string> devices;
  for (const PlacedNode &node : report.placement.nodes)
    devices[node.name] = node.device;
  std::string usual = report.devices.empty() ? "" : report.devices[0].name;
  Message out;
  std::set<std::string> fed;
  for (const std::string &input : graph.inputs)
    if (graph.producer(input) < 0 && fed.insert(input).second)
      addNode(out, input, "Placeholder", {}, "");
  for (size_t i = 0; i < graph.mainNodes; ++i) {
    const insight::GraphNode &node = graph.nodes[i];
    std::vector<std::string> inputs;
    for (const std::string &input : node.inputs) {
      int64_t from = graph.producer(input);
      if (from < 0) {
        if (fed.count(input))
          inputs.push_back(input);
        continue; // weights of ONNX
      }
      const insight::GraphNode &maker = graph.nodes[size_t(from)];
      auto port = std::find(maker.outputs.begin(), maker.outputs.end(), input);
      auto at = port == maker.outputs.end() ? 0 : port - maker.outputs.begin();
      inputs.push_back(at ? maker.name + ":" + std::to_string(at) : maker.name);
    }
    for (const std::string &control : node.controls)
      inputs.push_back("^" + control);
    auto device = devices.find(node.name);
    addNode(out, node.name, node.op, inputs, device == devices.end() ? usual : device->second);
  }
  Message versions;
  number(versions, 1, 1); // producer
  message(out, 4, versions);
  return out.bytes;
}

/// What a node's buffers take.
struct Bytes {
  int64_t total = 0, largest = 0;
};

/// A NodeExecStats: when a node ran, in microseconds, and its memory.
Message nodeStats(std::string_view name, int64_t start, int64_t duration, int64_t startNanos,
                  int64_t durationNanos, std::string_view label, int32_t thread, const Bytes &bytes,
                  std::string_view device) {
  Message stats;
  text(stats, 1, name);
  number(stats, 2, start);
  number(stats, 4, duration);
  number(stats, 5, duration);
  if (bytes.total) {
    Message used, allocation, description, output;
    text(used, 1, device);
    number(used, 2, bytes.total);
    number(used, 3, bytes.largest);
    message(stats, 6, used);
    number(allocation, 1, bytes.total);
    number(allocation, 2, bytes.total);
    text(allocation, 3, device);
    message(description, 4, allocation);
    message(output, 3, description);
    message(stats, 7, output);
  }
  text(stats, 8, label);
  number(stats, 10, thread);
  number(stats, 13, startNanos);
  number(stats, 15, durationNanos);
  number(stats, 16, durationNanos);
  return stats;
}

/// A RunMetadata of the last run.
std::string runMetadata(const Report &report,
                        const std::vector<const TraceRecorder::Event *> &run) {
  std::map<std::string, Bytes> bytes;
  for (const BufferInfo &buffer : report.buffers) {
    Bytes &own = bytes[buffer.node];
    own.total += buffer.bytes;
    own.largest = std::max(own.largest, buffer.bytes);
  }
  std::map<std::string, Message> devices;
  std::set<std::string> told; // nodes whose memory has been
  for (const TraceRecorder::Event *event : run) {
    if (event->kind == WEIR_TRACE_RUN)
      continue;
    Message &device = devices[event->device];
    int64_t start = event->start / 1000, duration = (event->duration + 999) / 1000;
    bool isFirst = true;
    std::vector<std::string_view> nodes = splitFields(std::string_view(event->nodes), ';');
    if (nodes.empty() || nodes[0].empty())
      nodes = {event->name};
    for (std::string_view node : nodes) {
      std::string name(node);
      Bytes own;
      if (auto known = bytes.find(name); known != bytes.end() && told.insert(name).second)
        own = known->second;
      message(device, 2,
              nodeStats(name, isFirst ? start : start + duration, isFirst ? duration : 0,
                        event->start, isFirst ? event->duration : 0, event->name, event->thread,
                        own, event->device));
      isFirst = false;
    }
  }
  Message stats, metadata;
  for (auto &[name, nodes] : devices) {
    Message device;
    text(device, 1, name);
    device.bytes += nodes.bytes;
    message(stats, 1, device);
  }
  message(metadata, 1, stats);
  return metadata.bytes;
}

/// The end of a device's name: CPU:0.
std::string shortName(const std::string &device) {
  size_t at = device.rfind("device:");
  return at == std::string::npos ? device : device.substr(at + 7);
}

bool writeMemory(EventFile &events, const Report &report, const Session &session,
                 std::string &error) {
  for (size_t d = 0; d < report.devices.size(); ++d) {
    std::string tag = "memory/" + shortName(report.devices[d].name) + "/";
    std::map<int64_t, int64_t> changes;
    for (const BufferInfo &buffer : report.buffers)
      if (buffer.device == int(d)) {
        changes[buffer.firstUse] += buffer.bytes;
        changes[buffer.lastUse + 1] -= buffer.bytes;
      }
    int64_t alive = 0;
    for (const auto &[moment, change] : changes) {
      alive += change;
      if (!events.scalar(moment, tag + "bytes_alive_in_plan", double(alive), error))
        return false;
    }
    if (!events.scalar(0, tag + "arena_bytes", double(report.devices[d].arenaBytes), error) ||
        !events.scalar(0, tag + "peak_bytes_in_use", double(session.peakMemory(int32_t(d))), error))
      return false;
  }
  return true;
}

} // namespace

bool weir::tools::writeTensorBoard(const std::string &folder, const driver::Options &options,
                                   const Report &report, const TraceRecorder &recorder,
                                   const Session &session, DiagnosticSink &sink) {
  std::optional<insight::ModelGraph> graph = insight::readModelGraph(
      options.input, options.frontendFlags, sink, insight::Calls::AreInlined);
  if (!graph)
    return false;
  std::string why;
  std::unique_ptr<EventFile> events = EventFile::create(folder, why);
  std::vector<const TraceRecorder::Event *> run = recorder.lastRun();
  int64_t step = run.empty() ? 0 : run.front()->step;
  if (events && events->graph(graphDef(*graph, report), why) &&
      events->runMetadata(step, "step " + std::to_string(step), runMetadata(report, run), why) &&
      writeMemory(*events, report, session, why))
    return true;
  sink.report({"W0707", folder, "", "", "cannot be written: " + why, {}});
  return false;
}
