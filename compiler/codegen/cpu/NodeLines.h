//===- NodeLines.h - nodes of the model as lines of a file ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_NODELINES_H
#define WEIR_COMPILER_CODEGEN_CPU_NODELINES_H

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace weir {

/// What debuggers and profilers show as the source of a program: a file with one node of
/// the model a line. Gives every function of a module in LLVM's dialect a subprogram (DWARF
/// with line tables alone), and every operation in it the line of its node in `file`. Line n
/// is `lines[n - 1]`; names that are not there yet are appended in the order of the code.
void addNodeLines(mlir::ModuleOp module, llvm::StringRef file, std::vector<std::string> &lines);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_NODELINES_H
