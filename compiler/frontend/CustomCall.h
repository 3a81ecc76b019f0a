//===- CustomCall.h - calls of operations that users bring -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_CUSTOMCALL_H
#define WEIR_COMPILER_FRONTEND_CUSTOMCALL_H

#include "compiler/frontend/CustomOperation.h"
#include "dialects/weir/Weir.h"

namespace weir {

/// The operation that is declared under `name`, or null.
const CustomOperation *findCustomOperation(const std::vector<CustomOperation> &operations,
                                           llvm::StringRef name);

/// What a call is given besides its inputs, in the description's order.
struct CustomArguments {
  llvm::SmallVector<int64_t> numbers;
  llvm::SmallVector<mlir::Value> tensors;

  /// Adds an attribute's value, which must be what its type needs: lists for lists, one
  /// for others; not for tensors, which go to `tensors` as they are.
  void add(mlir::OpBuilder &b, mlir::Location loc, const CustomOperation::Attribute &attribute,
           const CustomOperation::Constant &value);
};

/// weir's name of an element type, "f32"; "" for one that has none.
std::string customTypeName(mlir::Type type);

/// A call of `operation`'s function. Fails with `error` set where an output
/// refers to an input that is not there or to a type that does not exist.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
buildCustomCall(mlir::OpBuilder &b, mlir::Location loc, const CustomOperation &operation,
                mlir::ValueRange inputs, const CustomArguments &arguments, std::string &error);

} // namespace weir

#endif // WEIR_COMPILER_FRONTEND_CUSTOMCALL_H
