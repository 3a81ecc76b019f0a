//===- OperandTypes.h - which types operators take --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The type constraints of ONNX's operators, held against the operands of a node.
// The rows (TypeTable.inc) are generated from ONNX's published schemas. Immutable
// data, thread-safe.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_OPERANDTYPES_H
#define WEIR_COMPILER_FRONTEND_ONNX_OPERANDTYPES_H

#include "compiler/frontend/onnx/DataType.h"
#include "compiler/frontend/onnx/OperatorTable.h"

namespace weir::onnx {

/// What is wrong with operands of these element types, for a message: a type that
/// the operator does not take, or two that must be one and are not. Undefined
/// stands for an operand that is left out, or that is no tensor. Nothing where all
/// is well, or where the table does not have the operator.
std::optional<std::string> faultyOperandTypes(const OperatorSpec &spec,
                                              const std::vector<DataType> &types);

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_OPERANDTYPES_H
