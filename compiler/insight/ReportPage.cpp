//===- ReportPage.cpp - one page that shows a compilation -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/insight/ReportPage.h"
#include "compiler/driver/Driver.h"
#include "compiler/driver/Formats.h"
#include "compiler/emit/OutputFile.h"
#include "compiler/insight/NodeTrace.h"
#include "compiler/insight/ReportCode.h"
#include "compiler/insight/Timeline.h"
#include "passes/analysis/DeviceSet.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <map>

using namespace weir;
using namespace weir::insight;
namespace json = llvm::json;

static constexpr char page[] =
#include "page.inc"
    ;

namespace {

std::string utf8(const std::string &text) {
  return json::isUTF8(text) ? text : json::fixUTF8(text);
}

json::Array strings(const std::vector<std::string> &list) {
  json::Array array;
  for (const std::string &text : list)
    array.push_back(utf8(text));
  return array;
}

/// Speed of the device that costs are estimated for.
struct Machine {
  double flops, bandwidth, overhead; ///< a second; a second; seconds
};

struct KernelFigures {
  std::string schedule, howComputed; ///< as KernelPlace has them
  int64_t launches = 1;
  std::vector<std::string> launchNodes;
  double predicted = -1, measured = -1, roofline = -1; ///< us a run; share
  bool isBoundByMemory = false;
};

std::string amount(double value, const char *unit) {
  static const char *const prefixes[] = {"", "k", "M", "G"};
  unsigned i = 0;
  while (value >= 1000 && i + 1 < std::size(prefixes)) {
    value /= 1000;
    ++i;
  }
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.3g", value) << ' ' << prefixes[i] << unit;
  return text;
}

/// What weir-run --profile-out wrote; nothing where there is no such file.
json::Object readProfile(const std::string &path) {
  auto buffer = path.empty() ? llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>>(
                                   std::make_error_code(std::errc::no_such_file_or_directory))
                             : llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return {};
  llvm::Expected<json::Value> parsed = json::parse((*buffer)->getBuffer());
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return {};
  }
  json::Object *root = parsed->getAsObject();
  return root ? std::move(*root) : json::Object();
}

/// Kernels' times in a profile: nanoseconds a run.
std::map<std::string, double> timesOf(const json::Object &profile) {
  std::map<std::string, double> times;
  const json::Array *kernels = profile.getArray("kernels");
  if (!kernels)
    return times;
  double runs = double(std::max<int64_t>(profile.getInteger("runs").value_or(1), 1));
  for (const json::Value &value : *kernels)
    if (const json::Object *kernel = value.getAsObject())
      times[kernel->getString("name").value_or("").str()] =
          double(kernel->getInteger("nanoseconds").value_or(0)) / runs;
  return times;
}

std::map<std::string, KernelFigures> figuresOf(const json::Object &profile, const Report &report,
                                               const NodeTrace &trace, const Machine &machine) {
  std::map<std::string, KernelFigures> figures;
  for (const KernelPlace &place : trace.kernels) {
    figures[place.name].schedule = place.schedule;
    figures[place.name].howComputed = place.howComputed;
    figures[place.name].launches = std::max<int64_t>(place.launches, 1);
    figures[place.name].launchNodes = place.launchNodes;
  }
  std::map<std::string, double> measured = timesOf(profile);
  for (const KernelInfo &kernel : report.kernels) {
    KernelFigures &figure = figures[kernel.name];
    double launches = double(figure.launches), roofline = -1;
    if (kernel.flops >= 0 && kernel.bytes >= 0) {
      double compute = double(kernel.flops) / machine.flops,
             memory = double(kernel.bytes) / machine.bandwidth;
      figure.isBoundByMemory = memory >= compute;
      roofline = launches * std::max(compute, memory) * 1e6;
      figure.predicted = roofline + launches * machine.overhead * 1e6;
    }
    if (auto time = measured.find(kernel.name); time != measured.end()) {
      figure.measured = time->second / 1e3;
      if (roofline >= 0 && figure.measured > 0)
        figure.roofline = roofline / figure.measured;
    }
  }
  return figures;
}

//===----------------------------------------------------------------------===//
// Advice
//===----------------------------------------------------------------------===//

/// All that is open costs: kernels look up sizes, buffers come from the allocator.
void adviseSizes(const Report &report, std::vector<Advice> &advice) {
  int64_t open = std::count_if(report.kernels.begin(), report.kernels.end(),
                               [](const KernelInfo &kernel) { return kernel.flops < 0; });
  int64_t apart = report.dynamicBuffers - report.pooledBuffers;
  if (!open && !apart)
    return;
  std::string names;
  for (const EntryInfo &entry : report.entries)
    for (const TensorInfo &feed : entry.feeds)
      for (size_t d = 0; d < feed.dims.size(); ++d)
        if (feed.dims[d] < 0 && names.find(feed.name) == std::string::npos)
          names += (names.empty() ? "" : ", ") + feed.name;
  advice.push_back(
      {std::to_string(open) + " of " + std::to_string(report.kernels.size()) + " kernels",
       "have sizes that only a run knows, and " + std::to_string(apart) +
           " buffers are not planned: --dim or --shape settles those of " +
           (names.empty() ? "the feeds" : names),
       double(open) / double(std::max<size_t>(report.kernels.size(), 1))});
}

void adviseKernels(const Report &report, const std::map<std::string, KernelFigures> &figures,
                   std::vector<Advice> &advice) {
  double total = 0, moved = 0, small = 0;
  int64_t smallCount = 0, transpositions = 0;
  std::vector<std::pair<double, const KernelInfo *>> order;
  for (const KernelInfo &kernel : report.kernels) {
    const KernelFigures &figure = figures.at(kernel.name);
    double time = figure.measured >= 0 ? figure.measured : std::max(figure.predicted, 0.0);
    total += time;
    order.emplace_back(time, &kernel);
    if (llvm::StringRef(kernel.name).starts_with("transpose")) {
      ++transpositions;
      moved += time;
    }
    if (time > 0 && time < 3 * double(figure.launches)) {
      smallCount += figure.launches;
      small += time;
    }
  }
  if (total <= 0)
    return;
  auto percent = [&](double time) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%.1f %%", 100 * time / total);
    return text;
  };
  std::stable_sort(order.begin(), order.end(),
                   [](const auto &a, const auto &b) { return a.first > b.first; });
  for (size_t i = 0; i < order.size() && i < 3; ++i) {
    const auto &[time, kernel] = order[i];
    const KernelFigures &figure = figures.at(kernel->name);
    if (time <= 0)
      break;
    double lost = figure.roofline >= 0 ? time * std::max(0.0, 1 - figure.roofline) : time;
    std::string text =
        "of the time is kernel " + kernel->name + " (" +
        llvm::StringRef(kernel->nodes).split(';').first.str() + "), bound by " +
        (figure.isBoundByMemory ? "memory: " + amount(double(kernel->bytes), "B")
                                : "arithmetic: " + amount(double(kernel->flops), " operations"));
    if (figure.roofline >= 0)
      text += ", at " + std::to_string(int(100 * figure.roofline)) + " % of the roofline";
    text += figure.isBoundByMemory ? "; narrower types would halve it" : "; --tune looks for tiles";
    advice.push_back({percent(time), text, 0.9 * lost / total});
  }
  if (transpositions)
    advice.push_back({percent(moved),
                      "of the time stores tensors in another order, in " +
                          std::to_string(transpositions) +
                          " kernels: weirc why tells which nodes want which order",
                      moved / total});
  if (smallCount > 8)
    advice.push_back(
        {std::to_string(smallCount) + " launches",
         "take less than 3 us each, " + percent(small) + " of the time: larger batches share them",
         small / total});
}

void adviseMemory(const driver::Options &options, const Report &report,
                  std::vector<Advice> &advice) {
  int64_t arena = 0, bound = 0;
  for (const DeviceInfo &device : report.devices) {
    arena += device.arenaBytes;
    bound += device.lowerBound;
  }
  if (report.weightBytes > (1 << 20) && options.weightsFile.empty())
    advice.push_back(
        {amount(double(report.weightBytes), "B"),
         "of constants lie in the object: with --weights=FILE they lie beside it, and "
         "programs share them",
         0.02 + 0.1 * double(report.weightBytes) / double(report.weightBytes + arena)});
  if (arena > (1 << 20) && options.schedule != "memory")
    advice.push_back(
        {amount(double(arena), "B"),
         "of memory are planned, " + amount(double(bound), "B") +
             " are alive at once: --schedule=memory or --memory-limit change the order",
         0.05});
  if (report.placement.transfers)
    advice.push_back({std::to_string(report.placement.transfers) + " transfers",
                      "between devices: weirc why tells why nodes are apart", 0.3});
}

/// The cheapest questions that are always worth asking, where fewer than five things stand out.
void adviseAlways(const driver::Options &options, std::vector<Advice> &advice) {
  if (options.profileFile.empty())
    advice.push_back({"0 kernels",
                      "are measured: weir-run --profile-out=F, and weirc --profile=F "
                      "shows times and shares of the roofline here",
                      0.001});
  if (!options.tune && options.tuneFile.empty())
    advice.push_back(
        {"0 tiles", "are chosen by measurement: --tune=200 times others on this machine", 0.0009});
  if (options.cpu != "native")
    advice.push_back({"1 processor",
                      "(" + options.cpu +
                          ") is what code is made for: --cpu=native, "
                          "or a list, uses what others have",
                      0.0008});
  if (options.precision.empty())
    advice.push_back({"f32",
                      "is what products compute in: --precision=bf16 where processors have "
                      "tiles of it; weir-run --compare-f32 tells what it costs",
                      0.0007});
  if (options.optLevel < 3)
    advice.push_back({"-O" + std::to_string(options.optLevel), "is not -O3", 0.5});
}

std::vector<Advice> adviceFor(const driver::Options &options, const Report &report,
                              const std::map<std::string, KernelFigures> &figures) {
  std::vector<Advice> advice;
  adviseSizes(report, advice);
  adviseKernels(report, figures, advice);
  adviseMemory(options, report, advice);
  adviseAlways(options, advice);
  std::stable_sort(advice.begin(), advice.end(),
                   [](const Advice &a, const Advice &b) { return a.weight > b.weight; });
  constexpr size_t most = 5;
  advice.resize(std::min(advice.size(), most));
  return advice;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

/// Nodes with their fates; edges are places in the list.
json::Array nodesOf(const ModelGraph &graph, const NodeTrace &trace, const Report &report) {
  std::map<std::string, const PlacedNode *> places;
  for (const PlacedNode &node : report.placement.nodes)
    places[node.name] = &node;
  json::Array nodes;
  for (size_t i = 0; i < trace.fates.size(); ++i) {
    const NodeFate &fate = trace.fates[i];
    json::Array inputs;
    if (i < graph.mainNodes)
      for (const std::string &input : graph.nodes[i].inputs)
        if (int64_t from = graph.producer(input); from >= 0)
          inputs.push_back(from);
    std::string device = report.devices.empty() ? "" : report.devices[0].name;
    auto placed = places.find(fate.node);
    if (placed != places.end())
      device = placed->second->device;
    json::Object made{{"node", utf8(fate.node)},
                      {"operation", utf8(fate.operation)},
                      {"inside", utf8(fate.inside)},
                      {"fate", fateName(fate.fate)},
                      {"text", utf8(fate.text())},
                      {"pass", fate.pass},
                      {"device", device},
                      {"kernels", strings(fate.kernels)},
                      {"inputs", std::move(inputs)}};
    if (!fate.history.empty()) {
      json::Array history;
      for (auto [pass, form] : fate.history)
        history.push_back(json::Array{pass, form});
      made["history"] = std::move(history);
    }
    if (placed != places.end() && report.devices.size() > 1)
      made["placement"] = placementOf(report.placement, *placed->second);
    nodes.push_back(std::move(made));
  }
  return nodes;
}

void addKernels(json::Object &root, const std::map<std::string, KernelFigures> &figures) {
  json::Array *kernels = root.getArray("kernels");
  if (!kernels)
    return;
  for (json::Value &value : *kernels) {
    json::Object &kernel = *value.getAsObject();
    auto found = figures.find(kernel.getString("name").value_or("").str());
    if (found == figures.end())
      continue;
    const KernelFigures &figure = found->second;
    kernel["schedule"] = figure.schedule;
    kernel["schedule_text"] = figure.howComputed;
    kernel["launches"] = figure.launches;
    if (figure.launchNodes.size() > 1)
      kernel["launch_nodes"] = strings(figure.launchNodes);
    if (figure.predicted >= 0) {
      kernel["predicted_us"] = figure.predicted;
      kernel["bound"] = figure.isBoundByMemory ? "memory" : "arithmetic";
    }
    if (figure.measured >= 0)
      kernel["measured_us"] = figure.measured;
    if (figure.roofline >= 0)
      kernel["roofline_share"] = figure.roofline;
  }
}

std::string outputOf(const driver::Options &options) {
  return options.output.empty() ? driver::defaultOutput(options) : options.output;
}

std::string folderOf(const driver::Options &options) {
  if (!options.reportDir.empty())
    return options.reportDir;
  llvm::SmallString<256> path(outputOf(options));
  llvm::sys::path::replace_extension(path, ".report");
  return std::string(path);
}

/// What weir-run --numerics-out wrote: values of nodes, for the page.
bool addNumerics(const driver::Options &options, json::Object &root, DiagnosticSink &sink) {
  if (options.numericsFile.empty())
    return true;
  auto refuse = [&](const std::string &why) {
    sink.report({"W0604", options.numericsFile, "", "", why, {}});
    return false;
  };
  auto buffer = llvm::MemoryBuffer::getFile(options.numericsFile);
  if (!buffer)
    return refuse("cannot be read: " + buffer.getError().message());
  llvm::Expected<json::Value> parsed = json::parse((*buffer)->getBuffer());
  if (!parsed)
    return refuse(llvm::toString(parsed.takeError()));
  json::Object *file = parsed->getAsObject();
  if (!file || !file->getArray("values") || !file->getString("reference"))
    return refuse("found no reference and values; expected a file of weir-run --numerics-out");
  root["numerics"] = json::Object{{"reference", file->getString("reference")->str()},
                                  {"values", std::move(*file->getArray("values"))}};
  return true;
}

/// Within a script element nothing may look like its end.
std::string inScript(llvm::StringRef text) {
  std::string shown;
  for (char c : text)
    shown += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return shown;
}

} // namespace

json::Object insight::placementOf(const PlacementInfo &placement, const PlacedNode &node) {
  json::Array others;
  for (const auto &[device, seconds] : node.others)
    others.push_back(json::Object{{"device", device}, {"us", seconds * 1e6}});
  json::Object found{{"device", node.device},        {"us", node.seconds * 1e6},
                     {"is_measured", node.measured}, {"begin_us", node.start * 1e6},
                     {"end_us", node.end * 1e6},     {"step_us", placement.makespan * 1e6},
                     {"others", std::move(others)},  {"reasons", json::Array(node.reasons)}};
  if (placement.oneDeviceMakespan >= 0)
    found["one_device_us"] = placement.oneDeviceMakespan * 1e6;
  if (!node.waitsFor.empty()) {
    found["waits_for"] = node.waitsFor;
    found["waits_for_device"] = node.waitsForDevice;
  }
  return found;
}

std::optional<json::Value> insight::fullReport(const driver::Options &asked, const Report &report,
                                               DiagnosticSink &sink, json::Object *texts) {
  driver::Options options = asked;
  options.tune = 0;
  options.dumpIrDir.clear();
  options.dumpIrFilter.clear();
  options.placementOut.clear();
  options.timePasses = options.verbose = false;
  ModelGraph graph;
  NodeTrace trace;
  // Of a module there is no file with nodes.
  if (!driver::isOwnIr(options.input)) {
    DiagnosticSink again; // warnings have been told
    std::optional<ModelGraph> read = readModelGraph(options.input, options.frontendFlags, again);
    if (read)
      graph = std::move(*read);
    if (!read || !traceNodes(options, graph, {"", texts != nullptr}, again, trace)) {
      for (const Diagnostic &diagnostic : again.diagnostics())
        sink.report(diagnostic);
      return std::nullopt;
    }
  }
  ClusterDevice usual;
  json::Object profile = readProfile(options.profileFile);
  Machine machine{usual.flops, usual.bandwidth, usual.overhead};
  std::map<std::string, KernelFigures> figures = figuresOf(profile, report, trace, machine);
  llvm::Expected<json::Value> parsed = json::parse(report.json());
  if (!parsed) {
    sink.report({"W0199",
                 options.input,
                 "",
                 "",
                 "the report is no JSON: " + llvm::toString(parsed.takeError()),
                 {}});
    return std::nullopt;
  }
  json::Object &root = *parsed->getAsObject();
  root["version"] = 1;
  root["machine"] = json::Object{{"flops_per_second", machine.flops},
                                 {"bytes_per_second", machine.bandwidth},
                                 {"launch_us", machine.overhead * 1e6}};
  addKernels(root, figures);
  root["nodes"] = nodesOf(graph, trace, report);
  if (texts) {
    json::Array passes;
    for (const PassName &pass : trace.passes)
      passes.push_back(json::Object{{"stage", pass.stage}, {"pass", pass.pass}, {"why", pass.why}});
    root["passes"] = std::move(passes);
    root["forms"] = strings(trace.forms);
    if (!addMachineCode(outputOf(options), report, trace, root, *texts, sink) ||
        !addNumerics(options, root, sink))
      return std::nullopt;
  }
  json::Array boundaries;
  for (const auto &[names, rule] : trace.obstacles)
    boundaries.push_back(
        json::Object{{"from", utf8(names.first)}, {"to", utf8(names.second)}, {"rule", rule}});
  root["boundaries"] = std::move(boundaries);
  if (json::Value timeline = timelineOf(profile, trace, report); timeline.getAsObject())
    root["timeline"] = std::move(timeline);
  json::Array advice;
  for (const Advice &one : adviceFor(options, report, figures))
    advice.push_back(json::Object{{"gain", one.gain}, {"text", utf8(one.text)}});
  root["advice"] = std::move(advice);
  return std::move(*parsed);
}

bool insight::writeReportPage(const driver::Options &options, const Report &report,
                              DiagnosticSink &sink) {
  json::Object texts;
  std::optional<json::Value> full = fullReport(options, report, sink, &texts);
  if (!full)
    return false;
  std::string data, readable, code = packedCode(texts), readableCode;
  llvm::raw_string_ostream(readableCode)
      << llvm::formatv("{0:2}", json::Value(std::move(texts))) << "\n";
  llvm::raw_string_ostream(data) << *full;
  llvm::raw_string_ostream(readable) << llvm::formatv("{0:2}", *full) << "\n";
  std::string folder = folderOf(options);
  auto write = [&](const char *name, const std::string &text) {
    llvm::Error failed = writeFile(folder + "/" + name, text);
    if (!failed)
      return true;
    sink.report({"W0104", options.input, "", "", llvm::toString(std::move(failed)), {}});
    return false;
  };
  llvm::StringRef whole(page);
  auto [before, after] = whole.split("REPORT_DATA");
  auto [between, end] = after.split("CODE_DATA");
  return write("report.json", readable) && write("code.json", readableCode) &&
         write("index.html",
               before.str() + inScript(data) + between.str() + inScript(code) + end.str());
}
