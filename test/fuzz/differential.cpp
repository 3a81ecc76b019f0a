//===- differential.cpp - many graphs, compiled in several ways -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Generates graphs by number, and compares the forms of each in a forked child:
// a crash loses one graph. Of those that are wrong it then looks for the fewest
// steps that are.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/Differential.h"
#include "compiler/execute/ForkServer.h"
#include "tools/common/FlagParser.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace weir;
using namespace weir::fuzz;
using namespace weir::tools;

namespace {

struct Settings {
  int64_t graphs = 100, first = 0, seed = 1, jobs = 1, steps = 12;
  std::string write;
  bool open = false, graphDef = false;
};

std::string choicesOf(const Settings &settings, size_t graph) {
  uint64_t state = static_cast<uint64_t>(settings.seed);
  return choicesOfSeed(splitMix(state) + settings.first + graph);
}

/// Writes models, and beside each what is fed.
bool writeGraphs(const Settings &settings) {
  std::error_code code;
  fs::create_directories(settings.write, code);
  for (int64_t i = 0; i < settings.graphs; ++i) {
    GraphForm form;
    if (settings.open)
      form = {true, true, true};
    form.graphDef = settings.graphDef;
    GeneratedGraph graph =
        generateGraph(choicesOf(settings, i), form, static_cast<unsigned>(settings.steps));
    fs::path stem = fs::path(settings.write) / std::to_string(settings.first + i);
    std::ofstream file(stem.string() + (form.graphDef ? ".pb" : ".onnx"), std::ios::binary);
    file << graph.model;
    std::string error;
    if (!file.flush() || !writeNpzFile(stem.string() + ".npz", graph.feeds, error)) {
      std::fprintf(stderr, "%s: cannot be written\n", stem.c_str());
      return false;
    }
  }
  return true;
}

std::string describe(const ForkedResult &result) {
  return result.kind == ForkedResult::Kind::Done       ? result.text
         : result.kind == ForkedResult::Kind::TimedOut ? result.text
                                                       : "crashed: " + result.text;
}

/// One graph and its number of steps.
struct Case {
  size_t graph;
  int64_t steps;
  std::string problem;
};

bool runCases(const Settings &settings, std::vector<Case> &cases) {
  std::string pattern = (fs::temp_directory_path() / "weir-differential-XXXXXX").string();
  if (!mkdtemp(pattern.data()))
    return false;
  ForkOptions options;
  options.jobs = static_cast<unsigned>(settings.jobs);
  options.secondsPerCase = 120;
  options.memoryLimit = int64_t(4) << 30;
  bool good = runForked(
      cases.size(), options,
      [&](size_t index) {
        DifferentialOptions comparison;
        comparison.model = pattern + "/" + std::to_string(getpid()) + ".onnx";
        comparison.steps = static_cast<unsigned>(cases[index].steps);
        return compareForms(choicesOf(settings, cases[index].graph), comparison);
      },
      [&](size_t index, const ForkedResult &result) { cases[index].problem = describe(result); });
  std::error_code ignored;
  fs::remove_all(pattern, ignored);
  return good;
}

} // namespace

int main(int argc, char **argv) {
  Settings settings;
  FlagParser flags("differential", "[flags]",
                   "Compiles random graphs in several ways and compares what they compute.");
  flags.number("--graphs", "N", "how many", settings.graphs, 1, 100000000);
  flags.number("--first", "N", "number of the first", settings.first, 0, 1000000000);
  flags.number("--seed", "N", "another seed makes other graphs", settings.seed, 0, 1000000000);
  flags.number("--steps", "N", "operations a graph at most", settings.steps, 1, 1000);
  flags.number("-j, --jobs", "N", "children at once", settings.jobs, 1, 256);
  flags.text("--write", "DIR", "write the models and their feeds, run nothing", settings.write);
  flags.flag("--open", "write the form with open sizes", settings.open);
  flags.flag("--graphdef", "write what TensorFlow can say of it", settings.graphDef);
  flags.exitCode(0, "no differences");
  flags.exitCode(1, "some, or a wrong command line");
  int status = 0;
  if (!flags.parse(argc, argv, status))
    return status;
  if (!settings.write.empty())
    return writeGraphs(settings) ? 0 : 1;

  std::vector<Case> cases;
  for (int64_t i = 0; i < settings.graphs; ++i)
    cases.push_back({static_cast<size_t>(i), settings.steps, ""});
  if (!runCases(settings, cases)) {
    std::fprintf(stderr, "differential: no process can be made\n");
    return 1;
  }
  // The fewest steps of those that are wrong, of the first of them: the others
  // are often the same.
  constexpr size_t reduced = 40;
  std::vector<Case> wrong, open;
  for (const Case &test : cases)
    if (!test.problem.empty())
      wrong.push_back(test);
  for (int64_t steps = 1; steps < settings.steps; ++steps) {
    open.clear();
    for (size_t i = 0; i < std::min(reduced, wrong.size()); ++i)
      if (wrong[i].steps > steps)
        open.push_back({wrong[i].graph, steps, ""});
    if (open.empty() || !runCases(settings, open))
      break;
    for (const Case &test : open)
      if (!test.problem.empty())
        *std::find_if(wrong.begin(), wrong.end(),
                      [&](const Case &other) { return other.graph == test.graph; }) = test;
  }
  for (const Case &test : wrong)
    std::printf("graph %lld, --steps=%lld: %s\n",
                static_cast<long long>(settings.first + static_cast<int64_t>(test.graph)),
                static_cast<long long>(test.steps), test.problem.c_str());
  std::printf("graphs: %s, %zu compared, %zu wrong\n", wrong.empty() ? "passed" : "failed",
              cases.size(), wrong.size());
  return wrong.empty() ? 0 : 1;
}
