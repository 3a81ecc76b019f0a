//===- Explain.cpp - weirc explain ----------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weirc/Commands.h"

#include "compiler/driver/Driver.h"
#include "tools/common/Files.h"
#include "tools/common/ModelFlags.h"
#include "tools/common/Terminal.h"

#include <cstdio>
#include <set>

using namespace weir;
using namespace weir::tools;

namespace {

constexpr const char *toolName = "weirc explain";

std::string deviceName(const Report &report, int device) {
  bool known = device >= 0 && static_cast<size_t>(device) < report.devices.size();
  return known ? report.devices[device].name : "device " + std::to_string(device);
}

/// What placement decided for a node, and why; false where it has nothing.
bool explainPlacement(const PlacementInfo &placement, const std::string &name) {
  for (const PlacedNode &node : placement.nodes) {
    if (node.name != name)
      continue;
    std::printf("runs on %s\n", node.device.c_str());
    std::printf("  %s %.3f us, from %.3f to %.3f us of a step of %.3f us\n",
                node.measured ? "measured" : "estimated", node.seconds * 1e6, node.start * 1e6,
                node.end * 1e6, placement.makespan * 1e6);
    if (placement.oneDeviceMakespan >= 0)
      std::printf("  the step on one device: %.3f us\n", placement.oneDeviceMakespan * 1e6);
    if (!node.waitsFor.empty())
      std::printf("  its last input comes from node \"%s\" on %s\n", node.waitsFor.c_str(),
                  node.waitsForDevice.c_str());
    for (const auto &[device, seconds] : node.others)
      std::printf("  possible: %s, %.3f us\n", device.c_str(), seconds * 1e6);
    if (node.others.empty())
      std::printf("  no other device was possible\n");
    for (const std::string &reason : node.reasons)
      std::printf("  %s\n", reason.c_str());
    return true;
  }
  return false;
}

/// Says what the report has of a node; false where it has nothing.
bool explainNode(const Report &report, const std::string &node) {
  bool severalDevices = report.devices.size() > 1;
  bool known = severalDevices && explainPlacement(report.placement, node);
  for (const KernelInfo &kernel : report.kernels) {
    std::vector<std::string_view> nodes = splitFields(kernel.nodes, ';');
    bool serves = false;
    for (std::string_view name : nodes)
      serves |= name == node;
    if (!serves)
      continue;
    known = true;
    std::printf("kernel %s\n", kernel.name.c_str());
    if (nodes.size() > 1) {
      std::printf("  fused with");
      for (std::string_view name : nodes)
        if (name != node)
          std::printf(" %.*s", static_cast<int>(name.size()), name.data());
      std::printf("\n");
    }
    if (kernel.flops >= 0)
      std::printf("  %lld floating-point operations", static_cast<long long>(kernel.flops));
    if (kernel.bytes >= 0)
      std::printf("%s%lld bytes read and written", kernel.flops >= 0 ? ", " : "  ",
                  static_cast<long long>(kernel.bytes));
    if (kernel.flops >= 0 || kernel.bytes >= 0)
      std::printf("\n");
  }
  for (const BufferInfo &buffer : report.buffers) {
    if (buffer.node != node)
      continue;
    known = true;
    std::printf("buffer of %lld bytes at %lld of the arena of %s, live from "
                "step %lld to %lld\n",
                static_cast<long long>(buffer.bytes), static_cast<long long>(buffer.offset),
                deviceName(report, buffer.device).c_str(), static_cast<long long>(buffer.firstUse),
                static_cast<long long>(buffer.lastUse));
  }
  if (known && !severalDevices)
    std::printf("runs on %s, the only device of the program\n", report.devices[0].name.c_str());
  return known;
}

std::vector<std::string> nodeNames(const Report &report) {
  std::set<std::string> names;
  for (const KernelInfo &kernel : report.kernels)
    for (std::string_view name : splitFields(kernel.nodes, ';'))
      names.emplace(name);
  for (const BufferInfo &buffer : report.buffers)
    names.insert(buffer.node);
  for (const PlacedNode &node : report.placement.nodes)
    names.insert(node.name);
  return {names.begin(), names.end()};
}

} // namespace

int weir::tools::runExplain(int argc, char **argv) {
  driver::Options options;
  FlagParser parser(toolName, "MODEL NODE [flags]",
                    "Says where a node of a model runs, with what it was "
                    "fused, and what it costs.");
  std::vector<std::string> arguments;
  parser.positionals("MODEL NODE", "a model as weirc takes it; a node's name", 2, 2, arguments);
  addEntryFlags(parser, options, driver::frontendFlags());
  addTrainingFlags(parser, options);
  addCodeFlags(parser, options, driver::deviceFlags());
  addWarningFlags(parser, options);
  parser.exitCode(0, "the node was found");
  parser.exitCode(1, "an error was printed");
  int status = 0;
  if (!parser.parse(argc, argv, status))
    return status;
  options.input = arguments[0];
  options.name = "model";
  options.describePlacement = true;
  DiagnosticSink sink;
  driver::Result result;
  bool good = driver::compile(options, sink, result);
  printDiagnostics(sink);
  if (!good)
    return 1;
  if (explainNode(result.report, arguments[1]))
    return 0;
  std::string nearest = nearestTo(arguments[1], nodeNames(result.report));
  printError(toolName,
             "the compiled program has no part of node \"" + arguments[1] + "\"" +
                 (nearest.empty() ? "" : "; did you mean \"" + nearest + "\"?"),
             {"a node that was folded, or that nothing needs, leaves nothing"});
  return 1;
}
