//===- Bf16Rounding.h - rounding to bf16 by integers -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_BF16ROUNDING_H
#define WEIR_COMPILER_CODEGEN_CPU_BF16ROUNDING_H

namespace llvm {
class Module;
}

namespace weir {

/// Rewrites all that rounds to bf16 (conversions, and arithmetic, which is that of
/// f32 and a conversion) into operations on integers: to the nearest, ties to even;
/// NaN stays NaN, quiet. For processors without an instruction that rounds, for
/// which LLVM calls __truncsfbf2, a function that libgcc has since version 13 only.
void roundToBf16Inline(llvm::Module &module);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_BF16ROUNDING_H
