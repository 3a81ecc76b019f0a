//===- LibraryCall.h - what calls of library functions share ----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_KERNEL_LIBRARYCALL_H
#define WEIR_COMPILER_CODEGEN_KERNEL_LIBRARYCALL_H

#include "compiler/codegen/kernel/KernelBuilder.h"

namespace weir {

/// Declares the weir_library_fn `name` in `module`, which may know it already.
void declareLibraryFunction(mlir::ModuleOp module, mlir::Location loc, llvm::StringRef name);

/// Writes a weir_tensor of the given sizes (i64) to where `tensor` points.
void storeTensor(mlir::OpBuilder &b, mlir::Location loc, mlir::Value tensor, mlir::Value data,
                 mlir::Type element, mlir::ValueRange dims);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_KERNEL_LIBRARYCALL_H
