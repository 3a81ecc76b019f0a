//===- Simulate.cpp - weir-bench simulate ---------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-bench/Simulate.h"

#include "tools/common/Files.h"
#include "tools/common/FlagParser.h"
#include "tools/weir-bench/JobModel.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdio>

using namespace weir;
using namespace weir::tools;

namespace {

struct Settings {
  int64_t hosts = 1000, rounds = 5, seed = 1, shown = 16;
  std::string topology, trace;
};

int fail(const std::string &file, const std::string &text) {
  std::fprintf(stderr, "%s: error W0854: %s\n", file.c_str(), text.c_str());
  return 1;
}

/// For ui.perfetto.dev: a process a host, with a track for it and one for its link.
std::string traceOf(const std::vector<SimulatedSpan> &spans) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os);
  json.object([&] {
    json.attribute("displayTimeUnit", "ms");
    json.attributeArray("traceEvents", [&] {
      for (const SimulatedSpan &span : spans)
        json.object([&] {
          json.attribute("name", span.name);
          json.attribute("cat", span.isLink ? "link" : "host");
          json.attribute("ph", "X");
          json.attribute("ts", span.begin * 1e6);
          json.attribute("dur", (span.end - span.begin) * 1e6);
          json.attribute("pid", span.host);
          json.attribute("tid", span.isLink ? 1 : 0);
        });
    });
  });
  os.flush();
  return text + "\n";
}

void printRow(int64_t hosts, const SimulatedStep &step, const Endurance &endurance, double one) {
  std::printf("%8lld %12.3f %12.3f %9.1f %12.3f %9.1f", static_cast<long long>(hosts),
              step.seconds * 1e3, step.compute * 1e3, step.bubble * 100, step.exposed * 1e3,
              step.seconds > 0 ? 100 * one / step.seconds : 0);
  if (endurance.jobHours > 0)
    std::printf(" %10.1f %12.1f %10.2f %10.2f", endurance.jobHours, endurance.interval,
                endurance.efficiency * 100, endurance.simulated * 100);
  std::printf("\n");
}

} // namespace

int runSimulate(int argc, char **argv) {
  Settings settings;
  FlagParser parser("weir-bench simulate", "--topology=F [flags]",
                    "Predicts how long a training's step takes on many hosts, and what failures "
                    "cost; docs/distributed.md says what F has. Rows are 1, 2, 4 … hosts.");
  parser.group("Simulating");
  parser.text("--topology", "F.json", "hosts, links, a step, failures, checkpoints",
              settings.topology);
  parser.number("--hosts", "N", "the most hosts (default: 1000)", settings.hosts, 1, 1000000);
  parser.number("--rounds", "N", "steps that are simulated of each, of which the mean is shown",
                settings.rounds, 1, 1000);
  parser.number("--seed", "N", "of what is drawn", settings.seed, 1, int64_t(1) << 62);
  parser.text("--trace", "t.json", "writes the last step, for ui.perfetto.dev", settings.trace);
  parser.number("--shown", "N", "hosts that the trace has", settings.shown, 1, 10000);
  parser.exitCode(0, "simulated");
  parser.exitCode(1, "an error was printed");
  int status = 0;
  if (!parser.parse(argc, argv, status))
    return status;
  if (settings.topology.empty())
    return fail("weir-bench", "found no --topology; possible: a file as in docs/distributed.md");
  Topology topology;
  std::string error;
  if (!Topology::read(settings.topology, topology, error))
    return fail(settings.topology, error);
  if (settings.hosts < topology.stages)
    return fail(settings.topology, "found " + std::to_string(topology.stages) + " stages on " +
                                       std::to_string(settings.hosts) +
                                       " hosts; possible: a host a stage, or more");
  std::mt19937_64 random(uint64_t(settings.seed));
  std::printf("%8s %12s %12s %9s %12s %9s", "hosts", "step ms", "compute ms", "bubble %",
              "exposed ms", "scaling %");
  if (topology.hostHours > 0)
    std::printf(" %10s %12s %10s %10s", "MTBF h", "interval s", "kept %", "drawn %");
  std::printf("\n");
  double one = 0;
  for (int64_t hosts = topology.stages;; hosts *= 2) {
    bool isLast = hosts >= settings.hosts;
    hosts = isLast ? settings.hosts / topology.stages * topology.stages : hosts;
    SimulatedStep mean;
    std::vector<SimulatedSpan> spans;
    for (int64_t round = 0; round < settings.rounds; ++round) {
      bool shows = isLast && round + 1 == settings.rounds && !settings.trace.empty();
      SimulatedStep step =
          simulateStep(topology, hosts, random, settings.shown, shows ? &spans : nullptr);
      auto share = 1 / double(settings.rounds);
      mean.seconds += step.seconds * share;
      mean.compute += step.compute * share;
      mean.bubble += step.bubble * share;
      mean.exposed += step.exposed * share;
    }
    one = one > 0 ? one : mean.seconds;
    printRow(hosts, mean, endure(topology, hosts, mean.seconds, random), one);
    if (!isLast)
      continue;
    if (!settings.trace.empty() && !writeFile(settings.trace, traceOf(spans), error))
      return fail(settings.trace, "cannot be written: " + error);
    return 0;
  }
}
