//===- Measure.h - runs that are timed --------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIRRUN_MEASURE_H
#define WEIR_TOOLS_WEIRRUN_MEASURE_H

#include "tools/common/FlagParser.h"
#include "tools/weir-run/Checkpoints.h"

#include <string>
#include <vector>

namespace weir::tools {

struct MeasureFlags {
  int64_t repeat = 0;  ///< runs that are timed, over all streams; 0: one that is not
  int64_t warmUp = 0;  ///< runs before them, on each stream
  int64_t streams = 1; ///< threads that run at once
  bool latencies = false;
};

void addMeasureFlags(FlagParser &parser, MeasureFlags &flags);

/// Times of runs in milliseconds.
struct Times {
  double first = 0;         ///< the first run of all, warm-up included
  std::vector<double> runs; ///< sorted
  double wall = 0;          ///< from the first timed run's begin to the last one's end

  /// The nearest-rank percentile, in ms: the smallest time that `percent` of the runs
  /// do not exceed.
  double percentile(double percent) const;
  /// "load_ms=… first_ms=… median_ms=… min_ms=… runs=N\n"
  std::string line(double loadMs) const;
  /// "latency_ms mean=… p50=… p90=… p95=… p99=… max=… runs_per_s=… streams=N\n"
  std::string latencyLine(int64_t streams) const;
};

/// Runs an entry as the flags say, on threads of their own where there are several
/// streams, each with results of its own. `fetches` becomes the results of the first
/// stream's last run. Checkpoints are between runs of a single stream.
RunStatus measure(Session &session, int entry, std::vector<HostTensor> &feeds,
                  const MeasureFlags &flags, Checkpoints &checkpoints, NamedTensors &fetches,
                  Times &times);

} // namespace weir::tools

#endif // WEIR_TOOLS_WEIRRUN_MEASURE_H
