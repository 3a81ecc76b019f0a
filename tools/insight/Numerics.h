//===- Numerics.h - what numbers a run computes, node by node ---*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_INSIGHT_NUMERICS_H
#define WEIR_TOOLS_INSIGHT_NUMERICS_H

#include "tools/insight/Reference.h"

#include <optional>
#include <string>

namespace weir::tools {

/// What the elements of a value are like.
struct Numbers {
  int64_t count = 0, nans = 0, infinities = 0, subnormals = 0;
  int64_t saturated = 0;                ///< at the largest magnitude of a type of 16 or fewer bits
  double least = 0, most = 0, mean = 0; ///< of those that are finite
  std::vector<int64_t> histogram;       ///< 16 bins from `least` to `most`
};
Numbers numbersOf(const HostTensor &tensor);

/// How far a value is from another one of its shape: the largest distance, and the root of
/// the mean square of distances over that of the values.
struct Distance {
  double largest = 0, relative = 0;
};
std::optional<Distance> distanceOf(const HostTensor &got, const HostTensor &want);

struct NumericsOptions {
  std::vector<std::string> inputs;    ///< of --input
  std::optional<Reference> reference; ///< empty: f64, or O0 where it does not compute in f64
  bool stopAtNan = false;
  bool compareOnly = false; ///< only what leaves the tolerance
  double tolerance = 1e-3;  ///< relative, with a twentieth of the largest magnitude
  std::string json;         ///< file; empty: none
};

/// Prints a line for every value of a model in a run: range, mean, NaNs, infinities,
/// subnormals, and the distance from a reference. False after a report, which names the
/// first node that makes a NaN, where that is asked for, or that leaves the tolerance.
bool printNumerics(const driver::Options &options, const NumericsOptions &numerics,
                   DiagnosticSink &sink);

} // namespace weir::tools

#endif // WEIR_TOOLS_INSIGHT_NUMERICS_H
