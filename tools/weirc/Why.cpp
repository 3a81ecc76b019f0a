//===- Why.cpp - weirc why ------------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Driver.h"
#include "compiler/insight/NodeTrace.h"
#include "tools/common/Files.h"
#include "tools/common/ModelFlags.h"
#include "tools/common/Terminal.h"
#include "tools/weirc/Commands.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <set>

using namespace weir;
using namespace weir::tools;
using insight::NodeFate;

namespace {

struct Answer {
  bool sameKernel = false, sameDevice = false, sameBuffer = false;
  std::vector<std::string> kernel, device, buffer; ///< sentences
};

std::string quoted(const std::string &text) { return "\"" + text + "\""; }

const NodeFate *find(const insight::NodeTrace &trace, const std::string &node) {
  for (const NodeFate &fate : trace.fates)
    if (fate.node == node)
      return &fate;
  return nullptr;
}

/// Nodes of the main graph that read a value of `node`.
std::vector<std::string> readersOf(const insight::ModelGraph &graph, size_t node) {
  std::vector<std::string> readers;
  for (size_t i = 0; i < graph.mainNodes; ++i)
    for (const std::string &output : graph.nodes[node].outputs)
      if (!output.empty() &&
          std::count(graph.nodes[i].inputs.begin(), graph.nodes[i].inputs.end(), output)) {
        readers.push_back(graph.nodes[i].name);
        break;
      }
  return readers;
}

/// Where a kernel ends on the way from one node to another that does not read it.
void explainBetween(const insight::ModelGraph &graph, const insight::NodeTrace &trace, size_t from,
                    size_t to, Answer &answer) {
  constexpr size_t most = 2; // the first ends it; more are for orientation
  std::set<size_t> needed = graph.cone(graph.nodes[to].outputs), way = {from};
  for (size_t at : needed) // in an order in which each comes after what it reads
    for (const std::string &input : graph.nodes[at].inputs)
      if (int64_t by = graph.producer(input); by >= 0 && way.count(size_t(by)))
        way.insert(at);
  std::vector<std::pair<size_t, std::string>> ends;
  for (const auto &[names, rule] : trace.obstacles) {
    int64_t x = graph.find(names.first), y = graph.find(names.second);
    if (x >= 0 && y >= 0 && way.count(size_t(x)) && way.count(size_t(y)))
      ends.emplace_back(size_t(y), "between them " + quoted(names.second) + " reads " +
                                       quoted(names.first) + ": " + rule);
  }
  std::sort(ends.begin(), ends.end());
  for (size_t i = 0; i < ends.size() && i < most; ++i)
    answer.kernel.push_back(ends[i].second);
}

/// Why what `from` gives is stored before `to` reads it.
void explainBoundary(const insight::ModelGraph &graph, const insight::NodeTrace &trace, size_t from,
                     size_t to, Answer &answer) {
  const insight::GraphNode &a = graph.nodes[from], &b = graph.nodes[to];
  std::vector<std::string> readers = readersOf(graph, from);
  std::set<std::string> kernels;
  for (const std::string &reader : readers)
    if (const NodeFate *fate = find(trace, reader))
      kernels.insert(fate->kernels.begin(), fate->kernels.end());
  for (const std::string &output : a.outputs)
    if (std::count(graph.outputs.begin(), graph.outputs.end(), output))
      answer.kernel.push_back(quoted(a.name) + " is a result of the model: it has a buffer");
  if (readers.size() > 1 && kernels.size() > 1)
    answer.kernel.push_back(quoted(a.name) + " is read by " + std::to_string(readers.size()) +
                            " nodes in " + std::to_string(kernels.size()) +
                            " kernels: it is computed once and stored");
  if (auto rule = trace.obstacles.find({a.name, b.name}); rule != trace.obstacles.end())
    answer.kernel.push_back(quoted(b.name) + " (" + b.op + ") reads " + quoted(a.name) + ": " +
                            rule->second);
  if (!std::count(readers.begin(), readers.end(), b.name))
    explainBetween(graph, trace, from, to, answer);
  if (answer.kernel.empty())
    answer.kernel.push_back("what lies between " + quoted(a.name) + " and " + quoted(b.name) +
                            " ends a kernel: a change of order, a border, a kernel that is full");
}

void explainKernels(const insight::ModelGraph &graph, const insight::NodeTrace &trace,
                    const NodeFate &a, const NodeFate &b, Answer &answer) {
  std::vector<std::string> shared;
  for (const std::string &kernel : a.kernels)
    if (std::count(b.kernels.begin(), b.kernels.end(), kernel))
      shared.push_back(kernel);
  for (const insight::KernelPlace &kernel : trace.kernels)
    if (std::count(shared.begin(), shared.end(), kernel.name)) {
      answer.sameKernel = true;
      answer.kernel.push_back("kernel " + kernel.name + " (" + kernel.howComputed +
                              ") computes both: what one gives is read by the other alone, and "
                              "stays in registers");
    }
  if (answer.sameKernel)
    return;
  for (const NodeFate *fate : {&a, &b})
    if (fate->fate != insight::Fate::Kernel)
      answer.kernel.push_back(quoted(fate->node) + " has no kernel: " + fate->text());
  if (!answer.kernel.empty())
    return;
  int64_t first = graph.find(a.node), second = graph.find(b.node);
  if (first < 0 || second < 0)
    return;
  bool isBefore = graph.cone(graph.nodes[second].outputs).count(size_t(first)),
       isBehind = graph.cone(graph.nodes[first].outputs).count(size_t(second));
  if (!isBefore && !isBehind)
    answer.kernel.push_back("neither reads what comes of the other: they are apart in the graph");
  else if (isBefore)
    explainBoundary(graph, trace, size_t(first), size_t(second), answer);
  else
    explainBoundary(graph, trace, size_t(second), size_t(first), answer);
}

void explainDevices(const Report &report, const std::string &a, const std::string &b,
                    Answer &answer) {
  if (report.devices.size() < 2) {
    answer.sameDevice = true;
    answer.device.push_back("the program has one device, " +
                            (report.devices.empty() ? "" : report.devices[0].name));
    return;
  }
  std::string first, second;
  for (const PlacedNode &node : report.placement.nodes)
    for (const auto &[name, device] : {std::pair(&a, &first), {&b, &second}})
      if (node.name == *name) {
        *device = node.device;
        for (const std::string &reason : node.reasons)
          answer.device.push_back(quoted(node.name) + ": " + reason);
        if (node.others.empty())
          answer.device.push_back(quoted(node.name) + ": no other device was possible");
      }
  answer.sameDevice = !first.empty() && first == second;
  answer.device.insert(answer.device.begin(),
                       quoted(a) + " on " + (first.empty() ? "none" : first) + ", " + quoted(b) +
                           " on " + (second.empty() ? "none" : second));
}

void explainBuffers(const Report &report, const std::string &a, const std::string &b,
                    Answer &answer) {
  bool any = false;
  for (const BufferInfo &x : report.buffers)
    for (const BufferInfo &y : report.buffers) {
      if (x.node != a || y.node != b || x.device != y.device)
        continue;
      any = true;
      bool inSpace = x.offset < y.offset + y.bytes && y.offset < x.offset + x.bytes,
           inTime = x.firstUse < y.lastUse && y.firstUse < x.lastUse;
      answer.sameBuffer |= inSpace;
      auto life = [](const BufferInfo &buffer) {
        return std::to_string(buffer.firstUse) + " to " + std::to_string(buffer.lastUse);
      };
      if (inSpace)
        answer.buffer.push_back("they share bytes of the arena: one lives from step " + life(x) +
                                ", the other from " + life(y));
      else
        answer.buffer.push_back(std::string("they share no bytes: ") +
                                (inTime
                                     ? "both are alive at once (" + life(x) + ", " + life(y) + ")"
                                     : "other buffers lay better there"));
    }
  for (const std::string *node : {&a, &b})
    if (std::none_of(report.buffers.begin(), report.buffers.end(),
                     [&](const BufferInfo &buffer) { return buffer.node == *node; }))
      answer.buffer.push_back(quoted(*node) +
                              " has no planned buffer: it lives inside of a kernel, over another "
                              "one's bytes, in the caller's memory, or its size is open");
  if (!any && answer.buffer.empty())
    answer.buffer.push_back("their buffers are of different devices");
}

void print(const char *what, bool same, const std::vector<std::string> &reasons) {
  llvm::outs() << (same ? "one " : "not one ") << what << "\n";
  for (const std::string &reason : reasons)
    llvm::outs() << "  " << reason << "\n";
}

} // namespace

int weir::tools::runWhy(int argc, char **argv) {
  driver::Options options;
  bool json = false;
  FlagParser parser("weirc why", "MODEL NODE NODE [flags]",
                    "Says why two nodes are, or are not, in one kernel, on one device, in one "
                    "buffer.");
  std::vector<std::string> arguments;
  parser.positionals("MODEL NODE NODE", "a model as weirc takes it; two names of nodes", 3, 3,
                     arguments);
  parser.group("Output");
  parser.flag("--json", "for programs", json);
  addEntryFlags(parser, options, driver::frontendFlags());
  addCodeFlags(parser, options, driver::deviceFlags());
  addWarningFlags(parser, options);
  parser.exitCode(0, "both were found");
  parser.exitCode(1, "an error was printed");
  int status = 0;
  if (!parser.parse(argc, argv, status))
    return status;
  options.input = arguments[0];
  options.name = "model";
  options.describePlacement = true;
  DiagnosticSink sink;
  sink.setWarnings(options.warnings);
  std::optional<insight::ModelGraph> graph =
      insight::readModelGraph(options.input, options.frontendFlags, sink);
  insight::NodeTrace trace;
  driver::Result result;
  bool good = graph && insight::traceNodes(options, *graph, {}, sink, trace) &&
              driver::compile(options, sink, result);
  const NodeFate *found[2] = {};
  std::vector<std::string> names;
  for (const NodeFate &fate : trace.fates)
    names.push_back(fate.node);
  for (int i = 0; good && i < 2; ++i)
    if (!(found[i] = find(trace, arguments[i + 1]))) {
      std::string nearest = nearestTo(arguments[i + 1], names);
      sink.report({"W0151",
                   options.input,
                   "",
                   "",
                   "found NODE=" + arguments[i + 1] + ", and no node of that name" +
                       (nearest.empty() ? "" : "; did you mean \"" + nearest + "\"?"),
                   {}});
    }
  printDiagnostics(sink);
  if (!good || !found[0] || !found[1])
    return 1;
  Answer answer;
  explainKernels(*graph, trace, *found[0], *found[1], answer);
  explainDevices(result.report, found[0]->node, found[1]->node, answer);
  explainBuffers(result.report, found[0]->node, found[1]->node, answer);
  if (!json) {
    print("kernel", answer.sameKernel, answer.kernel);
    print("device", answer.sameDevice, answer.device);
    print("buffer", answer.sameBuffer, answer.buffer);
    return 0;
  }
  auto object = [](bool same, const std::vector<std::string> &reasons) {
    return llvm::json::Object{{"same", same}, {"reasons", llvm::json::Array(reasons)}};
  };
  llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(llvm::json::Object{
                                             {"a", found[0]->node},
                                             {"b", found[1]->node},
                                             {"kernel", object(answer.sameKernel, answer.kernel)},
                                             {"device", object(answer.sameDevice, answer.device)},
                                             {"buffer", object(answer.sameBuffer, answer.buffer)}}))
               << "\n";
  return 0;
}
