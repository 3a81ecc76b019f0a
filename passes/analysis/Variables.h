//===- Variables.h - which variable a resource is ----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_ANALYSIS_VARIABLES_H
#define WEIR_PASSES_ANALYSIS_VARIABLES_H

#include "dialects/weir/Weir.h"

namespace weir {

/// The variable behind a resource, through loops and conditionals; null: unknown.
VariableOp variableOf(mlir::Value resource);

/// What makes a variable the same one, its name and its container; nulls: unknown.
using VariableName = std::pair<mlir::Attribute, mlir::Attribute>;
VariableName variableName(mlir::Value resource);

} // namespace weir

#endif // WEIR_PASSES_ANALYSIS_VARIABLES_H
