//===- Clusters.h - which operations will share a kernel ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The analysis that kernelize and placement share: operations that fuse run on
// one device and cost one launch.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_ANALYSIS_CLUSTERS_H
#define WEIR_PASSES_ANALYSIS_CLUSTERS_H

#include "dialects/weir/Weir.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SetVector.h"
#include <memory>
#include <optional>
#include <vector>

namespace weir {

/// Operations of one block that one kernel computes, in block order. The last
/// one is the root: its results are the kernel's, and `others` behind them.
struct Cluster {
  llvm::SmallVector<mlir::Operation *> operations;
  llvm::SmallVector<mlir::Value> others;
  mlir::Operation *root() const { return operations.back(); }
  llvm::SmallVector<mlir::Value> results() const {
    llvm::SmallVector<mlir::Value> all(root()->getResults());
    all.append(others);
    return all;
  }
};

/// Who performs an operation.
enum class OperationRole {
  Step,     ///< the step itself: state, control flow, calls, views
  Scalar,   ///< the step, as scalar code: few host integers
  Kernel,   ///< a kernel
  Constant, ///< nobody: data
};
OperationRole roleOf(mlir::Operation *op);

/// The number of a tensor's elements; nothing where it is open.
std::optional<int64_t> staticCount(mlir::Type type);

/// Clusters of the block's operations that are for kernels (regions inside are
/// other blocks), in the order of their roots. Constants and cheap leaves may
/// stand in several clusters: they are computed in each. Nothing is fused into a
/// kernel that would then read more than `mostInputs` tensors (0: any number),
/// all of which are alive at once; attentions are whole in any case.
std::vector<Cluster> clusterBlock(mlir::Block &block, unsigned mostInputs = 0);

/// Why what defines the operand is not computed inside of the kernel of its owner, in words for
/// people; null where it may be, if no other kernel reads it.
const char *fusionObstacle(mlir::OpOperand &use);

/// Operations on f16 and bf16 of a block on an offload device that would belong to a kernel of
/// lines, were they of f32, in block order.
std::vector<mlir::Operation *> halvesOfRowReductions(mlir::Block &block, unsigned mostInputs = 0);

/// A transposition of many elements that moves the last dimension has a strategy of its own,
/// which reads and writes by blocks, and a kernel of its own.
bool isBlockTransposition(mlir::Operation *op);

/// Whether the operation is of f32 and may follow a product or a convolution on the registers
/// that hold its sums (an epilogue).
bool isF32EpilogueElementwise(mlir::Operation *op);

/// Whether registers hold sums of a product of this type: f32, f64, integers of as many bits.
bool isGemmElement(mlir::Type element);
/// Whether operands and sums of the product are of one such type.
bool isGemmOfOneType(DotGeneralOp dot);
/// Whether the operation may follow such a product on its sums.
bool isEpilogueElementwise(mlir::Operation *op);

} // namespace weir

#endif // WEIR_PASSES_ANALYSIS_CLUSTERS_H
