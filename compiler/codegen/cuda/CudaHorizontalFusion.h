//===- CudaHorizontalFusion.h - launches that become one ----- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CUDA_CUDAHORIZONTALFUSION_H
#define WEIR_COMPILER_CODEGEN_CUDA_CUDAHORIZONTALFUSION_H

#include "compiler/codegen/cuda/CudaKernel.h"
#include "compiler/emit/Program.h"

namespace weir {

/// Of a weir_plan.run that stands for several launches: their kernels' symbols in the plan, in
/// order. Its operands are theirs, one launch's behind the other's.
inline constexpr char fusedLaunchesAttribute[] = "weir.fused_launches";

/// A kernel of the image that does the work of several: the first blocks are the first one's, or,
/// where it has phases, all blocks go from one to the next (see CudaPhases.h).
struct FusedKernel {
  llvm::SmallVector<std::string> members;                ///< symbols in the plan
  llvm::SmallVector<std::pair<size_t, size_t>> operands; ///< inputs and outputs of each
  std::string name;                                      ///< theirs, joined by '+'
  int32_t number = -1; ///< among weir_program_desc::kernels, behind those of the plan
  int64_t threads = 1;
  llvm::SmallVector<std::string> phases; ///< functions whose launches it takes in, by number
  llvm::SmallVector<std::string> row;    ///< kernels of the longest row of phases, as they come
  int64_t launches = 1;                  ///< that this row takes
};
using FusedKernels = std::vector<FusedKernel>;

/// Replaces small launches of `steps` that need nothing of each other by launches of kernels that
/// this adds to `image`, and names to `names`, which has one for each kernel of the plan. Kernels
/// that nothing launches any more go, and lose their names. `module` has the plan's kernels, and
/// the host's steps that feed `steps`.
FusedKernels fuseLaunches(llvm::ArrayRef<mlir::func::FuncOp> steps, mlir::ModuleOp module,
                          const llvm::StringMap<LaunchShape> &launches,
                          mlir::gpu::GPUModuleOp image, std::vector<std::string> &names);

/// Emits the body of kernel `function` at the builder, with `arguments` for its own, as block
/// number `block`; `thread`: the thread's number in it, null: as it is. What its blocks share is
/// added to the kernel around the builder.
void inlineKernel(mlir::OpBuilder &b, mlir::gpu::GPUFuncOp function, mlir::ValueRange arguments,
                  mlir::Value block, mlir::Value thread = {});

/// The kernel that a launch with fusedLaunchesAttribute `members` is of.
const FusedKernel &fusedKernelOf(const FusedKernels &fused, mlir::ArrayAttr members);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CUDA_CUDAHORIZONTALFUSION_H
