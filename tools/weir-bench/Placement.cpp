//===- Placement.cpp - weir-bench placement -------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Places measured networks: JSON graphs of nodes with times on accelerators
// ("fpga") and on CPUs, sizes, colour classes that share a device, and edges
// whose cost is the time of one hop between an accelerator and host memory.
// From accelerator to accelerator are two hops, between CPUs none.
//
//===----------------------------------------------------------------------===//

#include "tools/weir-bench/Placement.h"

#include "passes/placement/Placement.h"
#include "tools/weir-bench/RandomPlacements.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <charconv>
#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace weir::placement;

namespace {

struct Graph {
  std::vector<int64_t> ids;
  std::vector<std::string> devices;
  Problem problem;
};

struct Arguments {
  std::vector<std::string> files;
  std::string output;
  Options options;
  bool greedy = false;
  int64_t random = 0, networks = 0;
};

/// Some five seconds.
constexpr int64_t defaultSteps = 600'000'000;
constexpr int64_t mostDevices = 4096;

int fail(const std::string &message) {
  std::fprintf(stderr, "weir-bench: error W0852: %s\n", message.c_str());
  return 1;
}

/// Returns what is wrong with the file, or nothing.
std::optional<std::string> readGraph(const std::string &path, Graph &graph) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return path + ": cannot read it";
  auto json = llvm::json::parse((*buffer)->getBuffer());
  if (!json)
    return path + ": no JSON: " + llvm::toString(json.takeError());
  const llvm::json::Object *root = json->getAsObject();
  const llvm::json::Array *nodes = root ? root->getArray("nodes") : nullptr;
  const llvm::json::Array *edges = root ? root->getArray("edges") : nullptr;
  std::optional<int64_t> accelerators, cpus;
  if (root) {
    accelerators = root->getInteger("maxFPGAs");
    cpus = root->getInteger("maxCPUs");
  }
  if (!nodes || !edges || !accelerators || !cpus)
    return path + ": found no \"nodes\", \"edges\", \"maxFPGAs\" or "
                  "\"maxCPUs\"; possible: a graph of measured nodes";
  if (*accelerators < 0 || *cpus < 0 || *accelerators > mostDevices || *cpus > mostDevices ||
      *accelerators + *cpus < 1)
    return path + ": found " + std::to_string(*accelerators) + " accelerators and " +
           std::to_string(*cpus) + " CPUs; possible: 1 to 4096";
  Problem &problem = graph.problem;
  auto isOffloadDevice = [&](int64_t d) { return d < *accelerators; };
  int64_t devices = *accelerators + *cpus;
  for (int64_t d = 0; d < devices; ++d) {
    graph.devices.push_back(isOffloadDevice(d) ? "acc:" + std::to_string(d)
                                               : "cpu:" + std::to_string(d - *accelerators));
    problem.memoryLimits.push_back(
        isOffloadDevice(d) ? root->getNumber("maxSizePerFPGA").value_or(never) : never);
  }
  for (int64_t from = 0; from < devices; ++from)
    for (int64_t to = 0; to < devices; ++to)
      problem.links.push_back(
          {0, from == to ? 0.0 : double(isOffloadDevice(from)) + isOffloadDevice(to)});
  std::map<int64_t, int32_t> numbers;
  for (const llvm::json::Value &value : *nodes) {
    const llvm::json::Object *node = value.getAsObject();
    std::optional<int64_t> id = node ? node->getInteger("id") : std::nullopt;
    std::optional<double> cpu = id ? node->getNumber("cpuLatency") : std::nullopt;
    std::optional<double> accelerator = id ? node->getNumber("fpgaLatency") : std::nullopt;
    std::string place = path + ": node " + std::to_string(graph.ids.size());
    if (!cpu || !accelerator)
      return place + ": found no \"id\", \"cpuLatency\" or \"fpgaLatency\"";
    if (!numbers.try_emplace(*id, int32_t(graph.ids.size())).second)
      return place + ": found the id " + std::to_string(*id) + " twice";
    graph.ids.push_back(*id);
    // A number in some files, a truth value in others.
    const llvm::json::Value *supported = node->get("supportedOnFpga");
    bool runs = !supported ||
                supported->getAsBoolean().value_or(supported->getAsInteger().value_or(0) != 0);
    Node entry;
    for (int64_t d = 0; d < devices; ++d)
      entry.times.push_back(!isOffloadDevice(d) ? *cpu : runs ? *accelerator : never);
    entry.memory = node->getNumber("size").value_or(0);
    entry.group = -1;
    if (std::optional<int64_t> color = node->getInteger("colorClass")) {
      if (*color < 0 || *color > INT32_MAX)
        return place + ": found colorClass " + std::to_string(*color) +
               "; possible: 0 to 2147483647";
      entry.group = int32_t(*color);
    }
    problem.nodes.push_back(std::move(entry));
  }
  for (const llvm::json::Value &value : *edges) {
    const llvm::json::Object *edge = value.getAsObject();
    auto end = [&](const char *name) -> std::optional<int32_t> {
      std::optional<int64_t> id = edge ? edge->getInteger(name) : std::nullopt;
      auto it = id ? numbers.find(*id) : numbers.end();
      if (it == numbers.end())
        return std::nullopt;
      return it->second;
    };
    std::optional<int32_t> source = end("sourceId"), dest = end("destId");
    std::optional<double> cost = edge ? edge->getNumber("cost") : std::nullopt;
    if (!source || !dest || !cost)
      return path + ": edge " + std::to_string(problem.edges.size()) +
             ": found no cost, or a sourceId or destId that is no node's";
    problem.edges.push_back({*source, *dest, *cost});
  }
  if (std::optional<std::string> defect = findDefect(problem))
    return path + ": " + *defect;
  return std::nullopt;
}

std::optional<std::string> writePlan(const std::string &path, const Graph &graph,
                                     const Plan &plan) {
  std::error_code error;
  llvm::raw_fd_ostream out(path, error);
  if (error)
    return path + ": cannot write it: " + error.message();
  llvm::json::OStream json(out, 1);
  json.object([&] {
    json.attributeObject("device", [&] {
      for (size_t i = 0; i < graph.ids.size(); ++i)
        json.attribute(std::to_string(graph.ids[i]), graph.devices[plan.device[i]]);
    });
    json.attributeObject("order", [&] {
      for (size_t d = 0; d < graph.devices.size(); ++d)
        json.attributeArray(graph.devices[d], [&] {
          for (int32_t node : plan.order)
            if (plan.device[node] == int32_t(d))
              json.value(graph.ids[node]);
        });
    });
  });
  out << "\n";
  out.close();
  if (out.has_error()) {
    std::string message = out.error().message();
    out.clear_error();
    return path + ": cannot write it: " + message;
  }
  return std::nullopt;
}

std::optional<std::string> parseArguments(int argc, char **argv, Arguments &arguments) {
  arguments.options.steps = defaultSteps;
  for (int i = 1; i < argc; ++i) {
    std::string_view arg = argv[i];
    std::optional<std::string> error;
    auto number = [&](std::string_view flag) -> int64_t {
      std::string_view text = arg.substr(flag.size());
      int64_t value = 0;
      auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (status != std::errc() || end != text.data() + text.size() || value < 0)
        error = "found '" + std::string(arg) + "'; possible: " + std::string(flag) +
                "N, a whole number";
      return value;
    };
    if (arg.starts_with("--steps="))
      arguments.options.steps = number("--steps=");
    else if (arg.starts_with("--seed="))
      arguments.options.seed = uint64_t(number("--seed="));
    else if (arg.starts_with("--random="))
      arguments.random = number("--random=");
    else if (arg.starts_with("--networks="))
      arguments.networks = number("--networks=");
    else if (arg == "--placer=greedy" || arg == "--placer=search")
      arguments.greedy = arg == "--placer=greedy";
    else if (arg == "-o") {
      if (++i == argc)
        return "-o needs a file";
      arguments.output = argv[i];
    } else if (arg.starts_with("-")) {
      return "found '" + std::string(arg) +
             "'; possible: -o PLAN.json, --placer=search|greedy, --seed=N, "
             "--steps=N, --random=COUNT, --networks=COUNT";
    } else {
      arguments.files.emplace_back(arg);
    }
    if (error)
      return error;
  }
  if (arguments.files.empty() && !arguments.random && !arguments.networks)
    return "placement needs a graph: a JSON file of nodes and edges";
  if (!arguments.output.empty() && arguments.files.size() != 1)
    return "-o takes the plan of one graph";
  return std::nullopt;
}

int placeFile(const std::string &path, const Arguments &arguments) {
  Graph graph;
  if (auto error = readGraph(path, graph))
    return fail(*error);
  auto begin = std::chrono::steady_clock::now();
  std::optional<Plan> plan =
      arguments.greedy ? placeGreedily(graph.problem) : search(graph.problem, arguments.options);
  std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  if (!plan)
    return fail(path + ": found no placement within the memory of the devices");
  double makespan;
  if (auto error = checkPlan(graph.problem, *plan, makespan))
    return fail(path + ": the plan is wrong: " + *error);
  if (!arguments.output.empty())
    if (auto error = writePlan(arguments.output, graph, *plan))
      return fail(*error);
  std::optional<Plan> single = placeOnOneDevice(graph.problem);
  std::printf("%s: %zu nodes, %zu edges, %zu devices", path.c_str(), graph.ids.size(),
              graph.problem.edges.size(), graph.devices.size());
  if (single)
    std::printf(", %.4f on one of them", single->makespan);
  std::printf("\nmakespan=%.4f bound=%.4f ms=%.1f\n", makespan, lowerBound(graph.problem),
              took.count());
  return 0;
}

} // namespace

int runPlacement(int argc, char **argv) {
  Arguments arguments;
  if (auto error = parseArguments(argc, argv, arguments))
    return fail(*error);
  if (arguments.random)
    return runRandomPlacements(arguments.random, arguments.options.seed, arguments.options.steps);
  if (arguments.networks)
    return runNetworkPlacements(arguments.networks, arguments.options.seed,
                                arguments.options.steps);
  int status = 0;
  for (const std::string &path : arguments.files)
    status = std::max(status, placeFile(path, arguments));
  return status;
}
