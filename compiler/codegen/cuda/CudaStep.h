//===- CudaStep.h - steps that feed a GPU ------------------ -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CUDA_CUDASTEP_H
#define WEIR_COMPILER_CODEGEN_CUDA_CUDASTEP_H

#include "compiler/codegen/cuda/CudaHorizontalFusion.h"
#include "compiler/codegen/host/StepRewriter.h"

namespace weir {

/// The kernel as code for GPUs computes it: a convolution that knows what was
/// padded reads that. Null: as it is. Not in any module.
mlir::OwningOpRef<plan::KernelOp> withoutPadding(plan::KernelOp kernel);

/// Drops the paddings of a step for a GPU that no kernel of it reads.
void dropPaddings(mlir::func::FuncOp step);

/// What a step for a GPU writes for variables is not its own to free.
void keepValues(mlir::func::FuncOp step);

/// Of a conditional that the GPU decides the host puts both sides, one behind the other; of a loop
/// the body once. Each condition is read right in front of what it decides, with the number of
/// its loop, or how far its conditional has come.
void noteBothSides(mlir::func::FuncOp step);

/// How the kernels of a module are launched, by their symbols in the plan.
using LaunchTable = llvm::StringMap<LaunchShape>;

/// Host code of a step whose buffers lie in a GPU's memory: nothing in it waits
/// for the GPU but its end, and the receives of other devices.
class CudaStepRewriter : public StepRewriter {
public:
  CudaStepRewriter(mlir::func::FuncOp function, StepTables &tables, const LaunchTable &launches,
                   const FusedKernels &fused)
      : StepRewriter(function, tables), launches(launches), fused(fused) {
    function.walk([&](plan::VariableAssignOp) { assigns = true; });
  }

protected:
  bool rewriteOtherwise(mlir::Operation *op) override;
  bool alwaysWaits() const override { return true; }
  bool launchesByTable() const override { return false; }
  llvm::StringRef readFunction() const override { return "weir_cuda_variable_read"; }
  llvm::StringRef assignFunction() const override { return "weir_cuda_variable_assign"; }
  mlir::Value finish(mlir::Value code) override;

private:
  /// What a launch is given: pointers, and the sizes that types leave open.
  struct Parameters {
    llvm::SmallVector<mlir::Value> pointers, sizes;
  };
  /// Adds those of a kernel's operands; returns the first result's sizes.
  llvm::SmallVector<mlir::Value> addOperands(mlir::ValueRange inputs, mlir::ValueRange outputs,
                                             Parameters &to);
  mlir::Value blocksOf(const LaunchShape &shape, llvm::ArrayRef<mlir::Value> firstSizes);
  /// The arguments of weir_cuda_launch.
  llvm::SmallVector<mlir::Value> argumentsOf(int kernel, const Parameters &parameters,
                                             mlir::Value blocks, int64_t threads);
  void launch(plan::RunOp op);
  void launchFused(plan::RunOp op, mlir::ArrayAttr members);
  /// The number of a kernel that fuses several: their rows of the program become one more.
  int rowOf(const FusedKernel &kernel);
  mlir::Value describeParts(plan::RunOp op, const LaunchShape &shape,
                            llvm::ArrayRef<mlir::Value> sizes);
  mlir::Value describeSplit(plan::RunOp op, const LaunchSplit &split,
                            llvm::ArrayRef<mlir::Value> sizes);
  mlir::Value describeSort(plan::RunOp op, const LaunchSort &sort,
                           llvm::ArrayRef<mlir::Value> sizes);
  mlir::Value productOf(llvm::ArrayRef<mlir::Value> sizes, int64_t without = -1);
  bool rewriteSwap(mlir::Operation *op);
  bool rewriteControl(mlir::Operation *op);
  bool rewriteCollective(mlir::Operation *op);
  bool rewriteMemory(mlir::Operation *op);
  bool rewriteMessage(mlir::Operation *op);
  void reduceTogether(plan::AllReduceOp op);
  void awaitTogether(plan::AwaitReduceOp op);
  void placeFetched(plan::BufferOp op, mlir::IntegerAttr edge);
  void allocate(plan::AllocOp op);
  void storeElement(plan::StoreOp op);
  bool goesToPeer(plan::SendOp send);
  AcceleratorInfo &accelerator();
  int64_t deviceOffset(plan::BlobOp op);
  void keepOnDevice(int64_t slot);

  const LaunchTable &launches;
  const FusedKernels &fused;
  bool assigns = false; ///< variables
};

/// Declares what such steps call.
void declareCudaFunctions(mlir::OpBuilder &b, mlir::ModuleOp module);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CUDA_CUDASTEP_H
