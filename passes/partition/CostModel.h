//===- CostModel.h - a module as a placement problem --------------*- C++
//-*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PARTITION_COSTMODEL_H
#define WEIR_PASSES_PARTITION_COSTMODEL_H

#include "passes/partition/Constraints.h"

namespace weir {

/// Bytes of a value, 0 for tokens; sizes that are open are taken as `openSize`.
double bytesOf(mlir::Type type);

/// The module's operations as nodes, in walk order. Times are in seconds, sizes
/// and memory in bytes.
struct CostModel {
  placement::Problem problem;
  std::vector<mlir::Operation *> operations; ///< one a node
  /// Bytes of results that a node stores: not of those that stay in a kernel.
  std::vector<double> stored;
  /// Nodes whose time was measured.
  std::vector<char> measured;
};

/// A node's time on a device is the roofline's: the larger of operations over
/// speed and bytes over bandwidth, plus a launch for what begins a kernel. What
/// shares a kernel reads and writes only at its borders. A profile
/// (`weir.profile`, node → seconds) replaces times, in the devices' proportion.
/// Loops are taken to run `usualTrips` times.
CostModel buildCostModel(mlir::ModuleOp module, const Constraints &constraints,
                         const llvm::DenseMap<mlir::Operation *, mlir::Operation *> &kernelOf);

/// Which kernel's root will compute an operation, after the analysis that
/// forms kernels. Operations without one compute alone.
llvm::DenseMap<mlir::Operation *, mlir::Operation *> kernelRoots(mlir::ModuleOp module);

/// The same, and has operations that will share a kernel go together, where they may.
llvm::DenseMap<mlir::Operation *, mlir::Operation *> uniteKernels(mlir::ModuleOp module,
                                                                  Constraints &constraints);

} // namespace weir

#endif // WEIR_PASSES_PARTITION_COSTMODEL_H
