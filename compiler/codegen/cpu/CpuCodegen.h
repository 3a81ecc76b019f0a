//===- CpuCodegen.h - native CPU code of a planned module --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_CPUCODEGEN_H
#define WEIR_COMPILER_CODEGEN_CPU_CPUCODEGEN_H

#include "compiler/codegen/host/StepLowering.h"
#include "compiler/emit/Program.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"
#include <memory>

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace weir {

struct CpuOptions {
  std::string prefix; ///< of all symbols, a C identifier
  llvm::TargetMachine *machine = nullptr;
  int optLevel = 3;
  unsigned jobs = 1; ///< threads of passes over functions, while generateCpu runs
  bool sanitizeAddress = false;
  std::string debugFile; ///< whose lines are the program's nodes (NodeLines.h); empty: none
  std::vector<std::string> *nodeLines = nullptr; ///< of that file
  StepRewriterFactory otherSteps;                ///< for steps of accelerators
  FunctionDeclarer otherFunctions;               ///< that such steps call
  std::function<void()> haveConstants; ///< called once the program has all of them; may be empty
};

/// Lowers a module whose memory is planned to LLVM IR in `llvmContext`, and
/// fills in `program`: entries, devices, slots, error sites, kernels, blobs.
/// Blobs that it has already keep their offsets.
/// The module is consumed. Null, with diagnostics on the module's context,
/// where something cannot be emitted.
std::unique_ptr<llvm::Module> generateCpu(mlir::ModuleOp module, const CpuOptions &options,
                                          llvm::LLVMContext &llvmContext, Program &program);

/// Fills in `program` as generateCpu does, but for error sites and what only code refers to, of a
/// module whose memory is planned. The module stays as it is.
void describeCpu(mlir::ModuleOp module, llvm::StringRef prefix, Program &program);

/// Registers what generateCpu translates from with a context's registry.
void registerCpuDialects(mlir::DialectRegistry &registry);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_CPUCODEGEN_H
