//===- ExpandBf16.h - bf16 by integers and f32 ------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_EMIT_EXPANDBF16_H
#define WEIR_COMPILER_EMIT_EXPANDBF16_H

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace weir {

/// Rewrites what is done with bf16 on x86 into operations on integers and on f32. All that widens
/// or compares it: LLVM would make comparisons of bf16 again of those of what was widened, whose
/// vectors it takes apart, lane by lane. And what rounds to it (conversions, and arithmetic, which
/// is that of f32 and a conversion; to the nearest, ties to even; NaN stays NaN, quiet), for
/// processors without an instruction for it: LLVM calls __truncsfbf2, a function that libgcc has
/// since version 13 only. LLVM's passes narrow what was made wide, so that it is done before them
/// and behind.
void expandBf16(llvm::Module &module, const llvm::TargetMachine &machine);

/// Gives a module with values of bf16 a function of its own for what rounding LLVM finds
/// no other way for when it writes machine code, as where it takes vectors apart: local, and
/// called as libgcc's would be. Behind all passes, which would drop it. Nothing on
/// processors that round by an instruction.
void defineBf16Rounding(llvm::Module &module, const llvm::TargetMachine &machine);

} // namespace weir

#endif // WEIR_COMPILER_EMIT_EXPANDBF16_H
