//===- MlirFrontend.h - weir's own IR as a format ---------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_MLIR_MLIRFRONTEND_H
#define WEIR_COMPILER_FRONTEND_MLIR_MLIRFRONTEND_H

#include "compiler/frontend/Frontend.h"

namespace weir {

/// .mlir: what --dump-ir and --stop-after wrote, or a hand. W0110 where it is no module.
const Frontend &mlirFrontend();

} // namespace weir

#endif // WEIR_COMPILER_FRONTEND_MLIR_MLIRFRONTEND_H
