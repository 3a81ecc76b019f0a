//===- CudaBackend.cpp - NVIDIA GPUs as a kind of device ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaBackend.h"
#include "compiler/codegen/cuda/CudaCodegen.h"
#include "compiler/codegen/cuda/CudaStep.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Weir.h"

using namespace mlir;
using namespace weir;

namespace {

class CudaBackend : public DeviceBackend {
public:
  StringRef type() const override { return "GPU"; }

  std::string whyNot(Operation *op) const override {
    // Their order is one element after the other.
    if (isa<ScatterNdOp, ScatterElementsOp>(op))
      return "has no GPU kernel";
    return "";
  }

  StringRef flag() const override { return "--cuda"; }
  StringRef flagValue() const override { return "sm_90[,sm_80]"; }
  StringRef flagHelp() const override {
    return "GPU architectures to make code for";
  }
  std::string possibleInsteadOf(StringRef targets) const override {
    return parseArchitectures(targets) ? ""
                                       : "one or more of " + knownArchitectures();
  }
  StringRef usualTargets() const override { return "sm_80,sm_90"; }
  StringRef variable() const override { return "WEIR_CUDA"; }

  /// Of a size that a data centre has.
  Usual usual() const override { return {2e13, 1.5e12, 3e-6, 2e10, 1e-5}; }

  void registerDialects(DialectRegistry &registry) const override {
    registerCudaDialects(registry);
  }

  void declareFunctions(OpBuilder &b, ModuleOp module) const override {
    declareCudaFunctions(b, module);
  }

  FailureOr<StepRewriterFactory> generate(ModuleOp module,
                                          const DeviceCodeOptions &options,
                                          Program &program) const override {
    CudaOptions cuda;
    cuda.prefix = options.prefix;
    cuda.architectures = *parseArchitectures(options.targets);
    cuda.optLevel = options.optLevel;
    cuda.tf32 = options.precision == "tf32";
    cuda.log = options.log;
    return generateCuda(module, *this, cuda, program);
  }
};

} // namespace

const DeviceBackend &weir::cudaBackend() {
  static const CudaBackend backend;
  return backend;
}
