//===- Bisect.h - where an optimised program goes wrong ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_INSIGHT_BISECT_H
#define WEIR_TOOLS_INSIGHT_BISECT_H

#include "tools/insight/Reference.h"

#include <string>
#include <vector>

namespace weir::tools {

struct BisectOptions {
  std::vector<std::string> inputs; ///< of --input
  Reference reference;
  double tolerance = 1e-3; ///< relative, with a twentieth of the largest magnitude
  std::string output;      ///< prefix of the files that reproduce it; empty: none
};

/// What was found; `differs` false: the program is as its reference.
struct BisectResult {
  bool differs = false;
  std::string fetch, difference; ///< of the whole model, the first that differs
  /// The pass that makes it differ; empty: one that no program is compiled without.
  std::string pass;
  int64_t passIndex = 0, passCount = 0; ///< among those that may be left out, from 1
  std::string node, operation, value, valueDifference;
  /// Files that reproduce it, the nodes in the part, and whether it still differs there.
  std::string part, partInputs;
  std::vector<std::string> partNodes;
  bool partDiffers = false;
  int64_t compilations = 0;
};

/// Finds the first pass, then the first node, at which the optimised program leaves its
/// reference, and cuts the part around it out of the model, with the inputs that it has
/// there. False after a report.
bool bisect(const driver::Options &options, const BisectOptions &bisect, BisectResult &result,
            DiagnosticSink &sink);

} // namespace weir::tools

#endif // WEIR_TOOLS_INSIGHT_BISECT_H
