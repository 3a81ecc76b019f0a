//===- Fingerprint.h - a hash of a program ----------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_EMIT_FINGERPRINT_H
#define WEIR_COMPILER_EMIT_FINGERPRINT_H

#include "compiler/emit/Program.h"

#include "llvm/IR/Module.h"

namespace weir {

/// Fills `program.hash` with a hash of the code (as LLVM IR, before
/// descriptors), the constants and `flags`. Programs that behave differently
/// differ in it; equal inputs give equal hashes on every machine.
void fingerprint(const llvm::Module &module, llvm::StringRef flags, Program &program);

} // namespace weir

#endif // WEIR_COMPILER_EMIT_FINGERPRINT_H
