//===- main.cpp - weir-bench ----------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/common/FlagParser.h"
#include "tools/common/Terminal.h"
#include "tools/weir-bench/Alloc.h"
#include "tools/weir-bench/Calibrate.h"
#include "tools/weir-bench/Cliffs.h"
#include "tools/weir-bench/Collectives.h"
#include "tools/weir-bench/Convolutions.h"
#include "tools/weir-bench/MemoryPlan.h"
#include "tools/weir-bench/Model.h"
#include "tools/weir-bench/Operations.h"
#include "tools/weir-bench/Placement.h"
#include "tools/weir-bench/Products.h"
#include "tools/weir-bench/Simulate.h"
#include "tools/weir-bench/Steps.h"
#include "tools/weir-bench/Transport.h"

#include <cstdio>
#include <string>
#include <string_view>

using namespace weir::tools;

namespace {

struct Command {
  const char *name, *summary;
  int (*run)(int argc, char **argv);
};

constexpr Command commands[] = {
    {"model", "time of whole models, ours and other engines'", runModelBenchmark},
    {"ops", "time of single operations, ours and ONNX Runtime's", runOperationsBenchmark},
    {"cliffs", "operations that a generator drew, where another engine is much faster",
     runCliffsBenchmark},
    {"gemm", "matrix products as a share of what one core can multiply and add",
     runProductsBenchmark},
    {"conv", "ResNet-50's convolutions, ours and oneDNN's", runConvolutionsBenchmark},
    {"alloc", "the allocator of devices, and malloc", runAllocatorBenchmark},
    {"memory-plan", "offsets for the buffers of a CSV file, within a capacity", runMemoryPlan},
    {"placement", "devices for the nodes of a measured graph", runPlacement},
    {"calibrate", "this machine's devices and links, as a cluster file", runCalibrate},
    {"steps", "several steps in flight over two devices", runSteps},
    {"transport", "tensors between two processes, and UCX's own figures", runTransport},
    {"collectives", "all_reduce among processes, and the same messages alone", runCollectives},
    {"simulate", "a training's step on many hosts, by a file of links and times", runSimulate},
};

void printHelp() {
  std::printf("Measures weir.\n\nUsage: weir-bench COMMAND ...\n\n");
  for (const Command &command : commands)
    std::printf("  %-12s %s\n", command.name, command.summary);
  std::printf("\nweir-bench COMMAND --help tells more.\n");
}

} // namespace

static int runTool(int argc, char **argv) {
  std::string_view name = argc > 1 ? argv[1] : "";
  if (name == "--help" || name == "-h") {
    printHelp();
    return 0;
  }
  if (name == "--version") {
    std::fputs(versionText("weir-bench").c_str(), stdout);
    return 0;
  }
  std::vector<std::string> names;
  std::string all;
  for (const Command &command : commands) {
    if (name == command.name)
      return command.run(argc - 1, argv + 1);
    names.emplace_back(command.name);
    all += (all.empty() ? "" : ", ") + std::string(command.name);
  }
  std::string nearest = nearestTo(name, names);
  printError("weir-bench",
             name.empty() ? "no command given"
                          : "unknown command '" + std::string(name) + "'" +
                                (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"),
             {"possible: " + all});
  return 1;
}

int main(int argc, char **argv) { return finishOutput("weir-bench", runTool(argc, argv)); }
