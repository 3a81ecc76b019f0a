//===- OptionalPasses.h - passes that results do not hang on ----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_OPTIONALPASSES_H
#define WEIR_COMPILER_DRIVER_OPTIONALPASSES_H

#include "llvm/ADT/StringRef.h"

namespace weir::driver {

/// Whether a pass of the pipeline, as the table names it, may be left out: a program that
/// is compiled without it has the same results up to rounding, and is slower or larger.
/// All others bring the program into a form that later ones ask for.
bool isOptionalPass(llvm::StringRef pass);

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_OPTIONALPASSES_H
