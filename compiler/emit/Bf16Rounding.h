//===- Bf16Rounding.h - rounding to bf16 by integers -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_EMIT_BF16ROUNDING_H
#define WEIR_COMPILER_EMIT_BF16ROUNDING_H

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace weir {

/// Rewrites all that rounds to bf16 (conversions, and arithmetic, which is that of
/// f32 and a conversion) into operations on integers: to the nearest, ties to even;
/// NaN stays NaN, quiet. For processors without an instruction that rounds, for
/// which LLVM calls __truncsfbf2, a function that libgcc has since version 13 only; on
/// others nothing is done. LLVM's passes narrow what was made wide, so that it is done
/// before them and behind.
void roundToBf16Inline(llvm::Module &module, const llvm::TargetMachine &machine);

/// Gives a module with values of bf16 a function of its own for what rounding LLVM finds
/// no other way for when it writes machine code, as where it takes vectors apart: local, and
/// called as libgcc's would be. Behind all passes, which would drop it. Nothing on
/// processors that round by an instruction.
void defineBf16Rounding(llvm::Module &module, const llvm::TargetMachine &machine);

} // namespace weir

#endif // WEIR_COMPILER_EMIT_BF16ROUNDING_H
