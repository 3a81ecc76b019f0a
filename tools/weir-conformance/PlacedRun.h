//===- PlacedRun.h - the same program over several devices ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_CONFORMANCE_PLACEDRUN_H
#define WEIR_TOOLS_CONFORMANCE_PLACEDRUN_H

#include "tools/weir-conformance/CompiledCase.h"

namespace weir::conformance {

/// How cases are compiled a second time; no devices: not at all.
struct RandomPlacement {
  int32_t devices = 0;
  uint64_t seed = 1;
  /// Each device is a process of its own; messages go over UCX, whose
  /// environment variables choose the way (UCX_TLS=tcp).
  bool inProcesses = false;
};

/// For all cases from here on. Before any runs.
void setRandomPlacement(RandomPlacement placement);
const RandomPlacement &randomPlacement();

/// The options with as many CPU devices, and nodes placed on them at random.
driver::Options placedAtRandom(driver::Options options);

/// Runs an entry of the placed program, which must come to the bits of `want`.
/// A verdict where it does not.
std::optional<Verdict> runPlaced(CompiledCase &compiled, int entry,
                                 std::vector<tools::HostTensor> &feeds, tools::NamedTensors &want);

} // namespace weir::conformance

#endif // WEIR_TOOLS_CONFORMANCE_PLACEDRUN_H
