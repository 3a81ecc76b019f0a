//===- Measure.h - ours and other engines in turn ---------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Engines take turns, round by round, so that a machine that slows down slows
// all of them; the first round of each warms up and does not count. A figure is
// the median over the runs of a round, then over rounds.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIR_BENCH_MEASURE_H
#define WEIR_TOOLS_WEIR_BENCH_MEASURE_H

#include "compiler/driver/Options.h"
#include "compiler/frontend/Diagnostic.h"
#include "tools/common/FlagParser.h"
#include "tools/common/Npy.h"
#include "tools/common/Session.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weir::tools {

/// Milliseconds of the clock that figures are taken from: that on the wall, or,
/// after `countProcessorTime`, the processor time of the process, which on a machine
/// that others use, too, is what a run on one thread would take alone.
double clockMs();
bool takesProcessorTime();
/// Here and in peers that are started from now on.
void countProcessorTime();
/// `--clock=wall|cpu` of a benchmark whose engines all have `threads` threads.
void addClockFlag(FlagParser &parser);

/// 0 for none.
double medianOf(std::vector<double> values);

/// A folder that is removed at the end; `path` is empty where none can be made.
struct Scratch {
  Scratch();
  ~Scratch();
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;
  std::string path;
};

/// Ours: the model linked in memory, its inputs and its results.
class Ours {
public:
  /// Compiles, links and runs once, on what `given` holds by name, and on random
  /// values for all other feeds. False with errors in `sink`.
  bool load(const driver::Options &options, int threads, DiagnosticSink &sink);
  ~Ours();

  /// Milliseconds of `count` runs.
  std::vector<double> run(int count);

  NamedTensors given, outputs;
  double compileMs = 0, loadMs = 0;

private:
  std::unique_ptr<LoadedModel> model;
  std::unique_ptr<Session> session;
  std::vector<HostTensor> feeds;
  std::vector<ViewStorage> storage;
  std::vector<weir_tensor> views, results;
};

/// How a peer's results, in an .npz file, differ from ours; "" where they agree.
std::string differenceOf(NamedTensors &ours, const std::string &file);

/// Milliseconds of so many runs; none when the engine is gone.
using Runner = std::function<std::vector<double>(int count)>;

/// Milliseconds of a run: the median over a round's runs, then over rounds, and the
/// shortest of all.
struct Times {
  double median = 0, least = 0;
};

/// The times of `runners`, which take turns for `rounds` rounds of some
/// `roundMs` milliseconds each. A null one is left out, and one that ends is made
/// null. `onRound` is told each round before it begins.
std::vector<Times> measureInTurn(std::vector<Runner> &runners, int64_t rounds, double roundMs,
                                 const std::function<void(int64_t)> &onRound = {});

} // namespace weir::tools

#endif // WEIR_TOOLS_WEIR_BENCH_MEASURE_H
