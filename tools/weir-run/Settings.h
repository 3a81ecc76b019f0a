//===- Settings.h - what weir-run is asked for -------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIRRUN_SETTINGS_H
#define WEIR_TOOLS_WEIRRUN_SETTINGS_H

#include "tools/common/LoadedModel.h"
#include "tools/insight/Numerics.h"
#include "tools/weir-run/Checkpoints.h"
#include "tools/weir-run/Expect.h"
#include "tools/weir-run/Measure.h"
#include "tools/weir-run/Steps.h"

#include <map>
#include <string>
#include <vector>

namespace weir::tools {

inline constexpr const char *toolName = "weir-run";

struct Settings {
  driver::Options options;
  std::vector<std::string> inputs, entries;
  std::string output, trace, profile, tensorBoard, cluster, task, secret;
  std::map<std::string, std::string> deviceProfiles; ///< files, by type of device
  CheckpointFlags checkpoints;
  StepFlags steps;
  MeasureFlags measure;
  ExpectFlags expect;
  int64_t metricsPort = 0; ///< 0: none
  int64_t topSeconds = 0;  ///< 0: no table of kernels
  bool memory = false;
  JitListener listener = JitListener::None;
  bool compareF32 = false;
  bool showNumbers = false; ///< values of nodes instead of results
  NumericsOptions numerics;
};

/// Fills `settings`. False where that is all that is to be done, with the exit status.
bool parseCommandLine(int argc, char **argv, Settings &settings, int &status);

} // namespace weir::tools

#endif // WEIR_TOOLS_WEIRRUN_SETTINGS_H
