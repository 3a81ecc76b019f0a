//===- Variables.h - the variables a node reads and changes -----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_VARIABLES_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_VARIABLES_H

#include "compiler/frontend/tensorflow/NodeImport.h"

#include <string>

namespace weir::tf {

/// What tells variables apart in a session, beside their container. Version-two
/// handles without a shared name are all the same variable, as TensorFlow has it;
/// those of version one go by their node.
std::string variableName(const NodeImport &n);

/// Input `i` as a variable of known shape; null, with a report, where it is none.
Imported *variableAt(NodeImport &n, size_t i);

/// A read, in the order of the graph's other reads and writes.
Value currentValue(NodeImport &n, const Imported &variable);

/// Makes `value` the variable's; fails for a null one, and with a report where
/// it is of another type.
LogicalResult assignValue(NodeImport &n, const Imported &variable, Value value);

/// Ends an operation that changed a variable: version one hands it on.
LogicalResult passOn(NodeImport &n, const Imported &variable);

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_VARIABLES_H
