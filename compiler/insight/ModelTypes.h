//===- ModelTypes.h - types of values, as the compiler finds them -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_INSIGHT_MODELTYPES_H
#define WEIR_COMPILER_INSIGHT_MODELTYPES_H

#include "compiler/driver/Options.h"
#include "compiler/emit/Program.h"
#include "compiler/frontend/Diagnostic.h"

#include <string>
#include <vector>

namespace weir::insight {

/// Finds the types of values of a model, in their order, by compiling it up to where
/// shapes are known, with these values as fetches. `options` says what of the model, and
/// sizes. False after a report.
bool findTypes(const driver::Options &options, const std::vector<std::string> &values,
               DiagnosticSink &sink, std::vector<TensorInfo> &types);

} // namespace weir::insight

#endif // WEIR_COMPILER_INSIGHT_MODELTYPES_H
