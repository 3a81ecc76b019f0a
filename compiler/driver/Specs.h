//===- Specs.h - shapes, dimensions and types as users write them *- C++
//-*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_SPECS_H
#define WEIR_COMPILER_DRIVER_SPECS_H

#include "compiler/driver/Options.h"
#include "compiler/frontend/Import.h"

#include "llvm/ADT/StringRef.h"

namespace weir::driver {

/// "1x3x224x224", "?x3", "scalar" or "" (rank 0): sizes, -1 where not fixed.
/// Empty optional: malformed.
std::optional<std::vector<int64_t>> parseShape(llvm::StringRef text);
/// "5", "1..64", "1..": bounds.
std::optional<DimBinding> parseDim(llvm::StringRef text);

/// What importers are to be told. False, with diagnostics, where something is
/// malformed.
bool importOptions(const Options &options, DiagnosticSink &sink, ImportOptions &result);

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_SPECS_H
