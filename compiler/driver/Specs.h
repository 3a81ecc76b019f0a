//===- Specs.h - what importers are told ------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_SPECS_H
#define WEIR_COMPILER_DRIVER_SPECS_H

#include "compiler/driver/Options.h"
#include "compiler/frontend/Import.h"

namespace weir::driver {

/// What importers are to be told. False, with W0113 and W0116, where a type, shape or
/// bound is none, or custom operations cannot be read.
bool importOptions(const Options &options, DiagnosticSink &sink, ImportOptions &result);

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_SPECS_H
