//===- CodeUnits.h - machine code by parts ----------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program's kernels do not know each other: each becomes machine code by
// itself, on any thread, or comes out of the cache. How a module is cut depends
// on the module alone, so the bytes that come out do not depend on who made
// them, or in which order.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_EMIT_CODEUNITS_H
#define WEIR_COMPILER_EMIT_CODEUNITS_H

#include "compiler/emit/CodeCache.h"
#include "compiler/emit/MachineCode.h"

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weir {

/// What becomes one object: a function and all that only it needs, or what is
/// left of a module without those.
struct CodeUnit {
  llvm::SmallVector<char, 0> bitcode;
  /// Names under which the unit's one function is called: several where kernels
  /// are equal. None: the unit is the rest of a module and keeps its own names.
  std::vector<std::string> symbols;
  std::string key;                   ///< equal for equal code, and else different
  llvm::SmallVector<char, 0> object; ///< filled by compileUnits
};

struct UnitOptions {
  /// Makes a code generator; called once a thread, from that thread.
  std::function<std::unique_ptr<llvm::TargetMachine>()> machine;
  std::string flags; ///< all that shapes the code beside the bitcode
  int optLevel = 3;
  bool sanitizeAddress = false;
  int jobs = 1;                 ///< threads
  CodeCache *cache = nullptr;   ///< may be null
  std::function<void()> beside; ///< what else one of the threads does, first of all; may be empty
};

/// Takes the functions `kernels` and what only they use out of the module, one
/// unit for each that differs from those before it. They are declarations in the
/// module afterwards, and have names of their own no more: equal kernels of two
/// models are equal bytes. What a kernel calls must be its own (internal) or
/// external to the module. With `shares` kernels that differ in a few numbers are one unit, too,
/// and stay behind as jumps to it (SharedBodies.h).
std::vector<CodeUnit> splitKernels(llvm::Module &module, llvm::ArrayRef<std::string> kernels,
                                   bool shares = false);

/// The module as a unit.
CodeUnit wholeUnit(llvm::Module &module);

/// Optimises the units and makes objects of them, `jobs` at a time. What LLVM
/// has to say comes back as an error.
llvm::Error compileUnits(llvm::MutableArrayRef<CodeUnit> units, const UnitOptions &options);

/// One relocatable object out of the units': sections of one name become one,
/// references between units are resolved and become local symbols.
llvm::Error mergeUnits(llvm::ArrayRef<CodeUnit> units, llvm::SmallVectorImpl<char> &object);

} // namespace weir

#endif // WEIR_COMPILER_EMIT_CODEUNITS_H
