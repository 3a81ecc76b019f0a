//===- MachineCode.h - from LLVM IR to object bytes -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's own passes and code generation, set up the way weir needs them.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_EMIT_MACHINECODE_H
#define WEIR_COMPILER_EMIT_MACHINECODE_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>
#include <string>

namespace weir {

/// The instruction set that functions are compiled for.
struct CodeTarget {
  std::string cpu;          ///< the architecture's baseline
  std::string features;     ///< "+avx2,+fma,…"; nothing else is used
  std::string tuneCpu;      ///< schedules and costs are this processor's
  int preferVectorBits = 0; ///< 0: LLVM's choice
  int vectorBytes = 32;     ///< of a register, for tiles
  int vectorRegisters = 16;
  bool sanitizeAddress = false;
};

/// Gives every function of the module the attributes of the target. To be
/// called before optimize.
void setTargetAttributes(llvm::Module &module, const CodeTarget &target);

/// Runs LLVM's standard pipeline for -O`level`; with `sanitizeAddress`, loads
/// and stores are instrumented at its end.
void optimize(llvm::Module &module, llvm::TargetMachine &machine, int level, bool sanitizeAddress);

/// The same for a processor's kernels and steps, in less time from -O1 on: functions that their
/// emitter wrote in vectors, whose loops are what they are to be, get few passes, others those that
/// find something to do in loops (KernelPasses.cpp). Returns whether all are in vectors.
bool optimizeKernels(llvm::Module &module, llvm::TargetMachine &machine, int level,
                     bool sanitizeAddress);

/// Object or assembly of the module.
llvm::Error generateMachineCode(llvm::Module &module, llvm::TargetMachine &machine,
                                llvm::CodeGenFileType type, llvm::SmallVectorImpl<char> &out);

/// Writes objects of modules, one after the other. LLVM's hundred passes are put together for the
/// first one only, which takes as long as the code of a small kernel.
class ObjectWriter {
public:
  explicit ObjectWriter(llvm::TargetMachine &machine);
  ~ObjectWriter();

  /// `inVectors`: what optimizeKernels returned; such code is not searched for other induction
  /// variables.
  llvm::Error write(llvm::Module &module, llvm::SmallVectorImpl<char> &out, bool inVectors);

private:
  struct Passes;

  llvm::TargetMachine &machine;
  std::unique_ptr<Passes> ofVectors, ofAll;
};

} // namespace weir

#endif // WEIR_COMPILER_EMIT_MACHINECODE_H
