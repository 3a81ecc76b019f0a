//===- Measure.cpp - ours and other engines in turn -----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-bench/Measure.h"

#include "tools/common/Compare.h"
#include "tools/common/LoadProgram.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>

namespace fs = std::filesystem;
using namespace weir;
using namespace weir::tools;

static constexpr int leastRuns = 3, mostRuns = 2000;

double weir::tools::medianOf(std::vector<double> values) {
  if (values.empty())
    return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

static bool countsProcessorTime = false;

double weir::tools::clockMs() {
  timespec time{};
  clock_gettime(countsProcessorTime ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

bool weir::tools::takesProcessorTime() { return countsProcessorTime; }

void weir::tools::countProcessorTime() {
  countsProcessorTime = true;
  setenv("WEIR_BENCH_CLOCK", "cpu", 1);
}

void weir::tools::addClockFlag(FlagParser &parser) {
  parser.value("--clock", "wall|cpu",
               "cpu: processor time, for one thread on a machine that others use, too "
               "(default wall)",
               [](std::string_view value) -> std::string {
                 if (value == "cpu")
                   countProcessorTime();
                 else if (value != "wall")
                   return "is unknown; possible: wall, cpu";
                 return "";
               });
}

Scratch::Scratch() {
  path = (fs::temp_directory_path() / "weir-bench-XXXXXX").string();
  if (!mkdtemp(path.data()))
    path.clear();
}
Scratch::~Scratch() {
  std::error_code code;
  if (!path.empty())
    fs::remove_all(path, code);
}

bool Ours::load(const driver::Options &options, int threads, DiagnosticSink &sink) {
  double start = clockMs();
  model = loadProgram(options, sink);
  if (!model)
    return false;
  compileMs = clockMs() - start;
  start = clockMs();
  weir_session_options sessionOptions = WEIR_SESSION_OPTIONS_INIT;
  sessionOptions.threads = threads;
  RunStatus status;
  session = Session::create(*model, sessionOptions, status);
  if (!session) {
    sink.report({"W0706", options.input, "", "", "no session can be made: " + status.text(), {}});
    return false;
  }
  loadMs = clockMs() - start;
  const LoadedEntry &entry = session->entries()[0];
  for (const LoadedTensor &feed : entry.feeds) {
    std::vector<int64_t> dims = feed.dims;
    for (size_t d = 0; d < dims.size(); ++d)
      if (dims[d] < 0)
        dims[d] = std::max<int64_t>(feed.lower[d], 1);
    HostTensor *known = findTensor(given, feed.name);
    feeds.push_back(known ? *known : randomTensor(feed.dtype, dims, feeds.size() + 1));
    if (!known)
      given.emplace_back(feed.name, feeds.back());
  }
  storage.resize(feeds.size());
  for (size_t i = 0; i < feeds.size(); ++i)
    views.push_back(viewOf(feeds[i], storage[i]));
  results.resize(entry.fetches.size());
  status = session->runRaw(0, views, results);
  if (!status.ok()) {
    sink.report({"W0704",
                 options.input,
                 "",
                 "",
                 "entry \"" + entry.name + "\" failed: " + status.text(),
                 {}});
    return false;
  }
  for (size_t i = 0; i < results.size(); ++i)
    outputs.emplace_back(entry.fetches[i].name, copyOf(results[i]));
  return true;
}

Ours::~Ours() {
  if (session)
    session->release(results);
}

std::vector<double> Ours::run(int count) {
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    double start = clockMs();
    session->runRaw(0, views, results);
    times.push_back(clockMs() - start);
  }
  return times;
}

std::string weir::tools::differenceOf(NamedTensors &ours, const std::string &file) {
  NamedTensors theirs;
  std::string error;
  if (!readNpzFile(file, theirs, error))
    return error;
  Tolerance tolerance;
  tolerance.relative = 1e-3;
  tolerance.absolute = 1e-5;
  for (auto &[name, tensor] : theirs)
    if (HostTensor *mine = findTensor(ours, name))
      if (auto difference = compareTensors(*mine, tensor, tolerance))
        return "\"" + name + "\": " + *difference;
  return "";
}

std::vector<Times> weir::tools::measureInTurn(std::vector<Runner> &runners, int64_t rounds,
                                              double roundMs,
                                              const std::function<void(int64_t)> &onRound) {
  std::vector<std::vector<double>> medians(runners.size());
  std::vector<double> estimate(runners.size(), 0);
  std::vector<Times> figures(runners.size());
  for (int64_t round = 0; round <= rounds; ++round) {
    if (onRound)
      onRound(round);
    for (size_t i = 0; i < runners.size(); ++i) {
      if (!runners[i])
        continue;
      int count = leastRuns;
      if (round > 0)
        count = std::clamp(static_cast<int>(roundMs / std::max(estimate[i], 1e-3)), leastRuns,
                           mostRuns);
      std::vector<double> times = runners[i](count);
      if (times.empty()) {
        runners[i] = nullptr;
        continue;
      }
      estimate[i] = medianOf(times);
      if (round == 0)
        continue;
      medians[i].push_back(estimate[i]);
      double least = *std::min_element(times.begin(), times.end());
      figures[i].least = round == 1 ? least : std::min(figures[i].least, least);
    }
  }
  for (size_t i = 0; i < runners.size(); ++i)
    figures[i].median = medianOf(medians[i]);
  return figures;
}
