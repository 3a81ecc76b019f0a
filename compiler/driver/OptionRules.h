//===- OptionRules.h - what options say together ----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_OPTIONRULES_H
#define WEIR_COMPILER_DRIVER_OPTIONRULES_H

#include "compiler/driver/Options.h"
#include "compiler/frontend/Diagnostic.h"

namespace weir::driver {

/// Whether each option has one of its values, and what it needs beside it. False, with a
/// diagnostic for each that has not. Reads no file.
bool checkOptions(const Options &options, DiagnosticSink &sink);

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_OPTIONRULES_H
