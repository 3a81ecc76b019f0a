//===- Pch.h - Dialects that code generation writes -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_KERNEL_PCH_H
#define WEIR_COMPILER_CODEGEN_KERNEL_PCH_H

#include "dialects/plan/Pch.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/StringExtras.h"

#endif // WEIR_COMPILER_CODEGEN_KERNEL_PCH_H
