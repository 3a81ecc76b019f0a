//===- EmitNative.cpp - LLVM's optimisations and the object ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/CpuCodegen.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Instrumentation/AddressSanitizer.h"

using namespace weir;

bool weir::emitNative(llvm::Module &module, const CpuOptions &options,
                      llvm::SmallVectorImpl<char> &object, std::string &error) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = options.optLevel > 1;
  tuning.SLPVectorization = options.optLevel > 1;
  tuning.LoopUnrolling = options.optLevel > 1;
  llvm::PassBuilder builder(options.machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  llvm::OptimizationLevel level = options.optLevel <= 0   ? llvm::OptimizationLevel::O0
                                  : options.optLevel == 1 ? llvm::OptimizationLevel::O1
                                  : options.optLevel == 2 ? llvm::OptimizationLevel::O2
                                                          : llvm::OptimizationLevel::O3;
  llvm::ModulePassManager passes =
      options.optLevel <= 0 ? builder.buildO0DefaultPipeline(level)
                            : builder.buildPerModuleDefaultPipeline(level);
  if (options.sanitizeAddress)
    passes.addPass(llvm::AddressSanitizerPass(llvm::AddressSanitizerOptions()));
  passes.run(module, modules);

  llvm::legacy::PassManager emission;
  llvm::raw_svector_ostream stream(object);
  if (options.machine->addPassesToEmitFile(emission, stream, nullptr,
                                           llvm::CodeGenFileType::ObjectFile)) {
    error = "the target emits no object files";
    return false;
  }
  emission.run(module);
  return true;
}
