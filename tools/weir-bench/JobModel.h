//===- JobModel.h - a training on many hosts, simulated ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIR_BENCH_JOBMODEL_H
#define WEIR_TOOLS_WEIR_BENCH_JOBMODEL_H

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace weir::tools {

/// What a file of --topology says; seconds and bytes.
struct Topology {
  /// The way between two hosts that first have this level in common, the innermost first.
  struct Level {
    int64_t count = 1;    ///< how many of the level inside are one of this
    double bandwidth = 0; ///< of one flow, bytes a second
    double latency = 0;
  };
  std::vector<Level> levels;
  double combine = 1e10; ///< bytes a second that a host adds up as they arrive
  /// Bytes a second that a host's processors can send, and take in at once, whatever the links.
  double transport = std::numeric_limits<double>::infinity();
  /// The share of the time that a host sends, takes in and adds up by which its passes take longer:
  /// 1 where the same processors compute.
  double busy = 0;

  // A step of one replica, on one host (or over `stages` of them).
  double forward = 0, backward = 0, update = 0, jitter = 0; ///< jitter: a share of the time
  double gradients = 0, bucket = 1 << 20;                   ///< bytes
  /// Buckets as they are, instead: the bytes of each, and which share of the backward pass is over
  /// when they are there.
  std::vector<std::pair<double, double>> buckets;
  int64_t stages = 1, microBatches = 1;
  double activations = 0; ///< bytes of a micro-batch between two stages

  double hostHours = 0, restart = 0; ///< mean time between a host's failures; 0: never
  double checkpoint = 0, disk = 1e9; ///< bytes, and bytes a second of a host
  double blocking = 0;               ///< that steps wait for each checkpoint
  bool byTask = true;                ///< all write at once

  /// The level that joins two hosts.
  const Level &between(int64_t a, int64_t b) const;
  /// False, with the reason.
  static bool read(const std::string &file, Topology &topology, std::string &error);
};

/// Something that a host does from `begin` to `end`.
struct SimulatedSpan {
  int64_t host;
  bool isLink; ///< on its way to the next one; else on the host
  std::string name;
  double begin, end;
};

struct SimulatedStep {
  double seconds = 0;
  double compute = 0; ///< the slowest host's, of that
  double bubble = 0;  ///< mean share of a host that waits for other stages, of its pipeline
  double exposed = 0; ///< seconds that the slowest host waits for gradients
};

/// Simulates one step of `hosts` hosts: forward and backward pass (1F1B over the stages: Narayanan
/// and others, 2019), gradients in buckets by collectives as runtime/collectives sends them, the
/// update. `spans`, where not null, gets what `shown` hosts do.
SimulatedStep simulateStep(const Topology &topology, int64_t hosts, std::mt19937_64 &random,
                           int64_t shown, std::vector<SimulatedSpan> *spans);

/// What failures cost.
struct Endurance {
  double interval = 0;   ///< seconds between checkpoints: sqrt(2 · cost · MTBF) (Young, 1974)
  double jobHours = 0;   ///< mean time between failures of any host
  double efficiency = 1; ///< the share of time in which steps are done that last, by the formula
  double simulated = 1;  ///< the same, of failures that were drawn
};
Endurance endure(const Topology &topology, int64_t hosts, double step, std::mt19937_64 &random);

} // namespace weir::tools

#endif // WEIR_TOOLS_WEIR_BENCH_JOBMODEL_H
