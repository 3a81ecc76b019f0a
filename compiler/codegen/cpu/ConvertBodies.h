//===- ConvertBodies.h - what functions hold, into LLVM's dialect -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_CONVERTBODIES_H
#define WEIR_COMPILER_CODEGEN_CPU_CONVERTBODIES_H

#include <memory>

namespace mlir {
class Operation;
class Pass;
} // namespace mlir

namespace weir {

/// Brings what a function holds into LLVM's dialect: arith, cf, vector, and operations of math that
/// are instructions, all in one walk; MLIR's own passes take one each, and each looks at all there
/// is. Vectors of several dimensions, and parts, masks and transfers of vectors, go through MLIR's
/// pass for vectors first. Functions themselves, memrefs and complex numbers stay for others.
std::unique_ptr<mlir::Pass> createConvertBodies();

/// Whether some operation of math within `within` is none that createConvertBodies converts.
bool hasMathFunctions(mlir::Operation *within);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_CONVERTBODIES_H
