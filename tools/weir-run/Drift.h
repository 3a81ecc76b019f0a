//===- Drift.h - how a training leaves its reference ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIRRUN_DRIFT_H
#define WEIR_TOOLS_WEIRRUN_DRIFT_H

#include "tools/insight/Numerics.h"
#include "tools/weir-run/Steps.h"

namespace weir::tools {

/// Runs the steps in the program and in its reference (f64 within a step, with variables of their
/// own types; O0 where the model does not compute in f64), each on state of its own that begins
/// alike, and prints after at most ten of them how far fetches and variables are apart, those that
/// are furthest first. `entry`: "" means train_step, else the first. False after a report: also of
/// the first NaN that a fetch or variable has, where that is asked for, and of what leaves the
/// tolerance of --compare.
bool printDrift(const driver::Options &options, const NumericsOptions &numerics,
                const StepFlags &steps, const std::string &entry, DiagnosticSink &sink);

} // namespace weir::tools

#endif // WEIR_TOOLS_WEIRRUN_DRIFT_H
