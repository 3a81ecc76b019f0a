//===- CudaCodegen.h - GPU code of a planned module ------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Steps that the plan gives to GPUs get a second form: kernels of the GPU, in
// one image for all architectures, and host code that launches them. The first
// form stays, for machines without a GPU.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CUDA_CUDACODEGEN_H
#define WEIR_COMPILER_CODEGEN_CUDA_CUDACODEGEN_H

#include "compiler/codegen/cuda/Assemble.h"
#include "compiler/codegen/device/DeviceBackend.h"
#include "mlir/IR/BuiltinOps.h"

namespace weir {

struct CudaOptions {
  std::string prefix;                          ///< of all symbols, a C identifier
  std::vector<CudaArchitecture> architectures; ///< ascending
  int optLevel = 3;
  std::vector<DeviceProfile> profiles; ///< GPUs that plans of libraries are made for
  bool tf32 = false;                   ///< products of f32 may round their operands to TF32
  /// Told what each step on the way left: name, suffix of a file, text.
  std::function<void(llvm::StringRef, llvm::StringRef, llvm::StringRef)> log;
  /// DeviceCodeOptions::forecast.
  std::function<void(llvm::StringRef, KernelForecast)> forecast;
  /// DeviceCodeOptions::code.
  std::function<void(llvm::StringRef, DeviceKernel)> code;
};

/// Adds to `program` the image of the kernels that GPU steps of the planned
/// `module` launch, and to the module the host's form of these steps; nothing
/// where there are none. `kind` is that of GPUs. See DeviceBackend::generate.
mlir::FailureOr<StepRewriterFactory> generateCuda(mlir::ModuleOp module, const DeviceKind &kind,
                                                  const CudaOptions &options, Program &program);

/// Registers what generateCuda translates from with a context's registry.
void registerCudaDialects(mlir::DialectRegistry &registry);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CUDA_CUDACODEGEN_H
