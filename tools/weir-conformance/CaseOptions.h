//===- CaseOptions.h - what a case says about itself ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `options.txt` in a case's folder, where there is one; a line each:
//
//   dim N=1..64     as --dim
//   shape x=?x3     as --shape
//   epsilons 16     relative tolerance of floats, in epsilons of a result's type
//   steps 1         how far 8-bit results may be off
//   error INVALID_ARGUMENT   how runs end, or the compiler refuses what is wrong
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_CONFORMANCE_CASEOPTIONS_H
#define WEIR_TOOLS_CONFORMANCE_CASEOPTIONS_H

#include "compiler/driver/Options.h"
#include "tools/common/Compare.h"

#include <optional>
#include <string>

namespace weir::conformance {

struct CaseOptions {
  /// No options.txt leaves all as it is. A reason where a line is not known.
  std::string read(const std::string &folder);

  void apply(driver::Options &options) const;
  /// The case's own tolerance for a result, else `usual`.
  tools::Tolerance toleranceFor(int32_t dtype, const tools::Tolerance &usual) const;

  /// The code that runs end with; empty where they give results.
  std::string error;

private:
  std::map<std::string, DimBinding> dims;
  std::map<std::string, ShapeSpec> shapes;
  std::optional<double> epsilons;
  int64_t steps = 0;
};

} // namespace weir::conformance

#endif // WEIR_TOOLS_CONFORMANCE_CASEOPTIONS_H
