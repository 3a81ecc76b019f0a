//===- Expect.h - results against recorded ones -----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIRRUN_EXPECT_H
#define WEIR_TOOLS_WEIRRUN_EXPECT_H

#include "compiler/frontend/Diagnostic.h"
#include "tools/common/FlagParser.h"
#include "tools/common/Npy.h"

#include <string>

namespace weir::tools {

struct ExpectFlags {
  std::string file; ///< .npz, keys are names of results
  double relative = 1e-3, absolute = 1e-5;
};

void addExpectFlags(FlagParser &parser, ExpectFlags &flags);

/// Compares what the file has with the results of that name, |got - want| <= relative
/// |want| + absolute, others than floats exactly. Prints a line a result. False, with
/// diagnostics, where one differs or there is none of that name.
bool meetsExpectations(const ExpectFlags &flags, const NamedTensors &results, DiagnosticSink &sink);

} // namespace weir::tools

#endif // WEIR_TOOLS_WEIRRUN_EXPECT_H
