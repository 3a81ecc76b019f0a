//===- Frontends.h - the formats of models that weir reads ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_FRONTENDS_H
#define WEIR_COMPILER_DRIVER_FRONTENDS_H

#include "compiler/frontend/Frontend.h"

namespace weir::driver {

/// Registers weir's formats, once however often it is called, and returns them with those
/// that others have registered. Thread-safe.
llvm::SmallVector<const Frontend *> allFrontends();

/// As weir::frontendOf, of all formats.
const Frontend *formatOf(const std::string &path, std::string &why);

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_FRONTENDS_H
