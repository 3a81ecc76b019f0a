//===- BlockWork.h - the launches of a block as work to order ----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between the IR and passes/memory, which knows none: operations of a block are
// nodes, their results values. Views (reshapes, gates) are no work: whoever reads
// one reads what it looks at, and it is made in front of its first reader.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PLAN_BLOCKWORK_H
#define WEIR_PASSES_PLAN_BLOCKWORK_H

#include "dialects/plan/Plan.h"
#include "passes/analysis/DeviceSet.h"
#include "passes/memory/Recompute.h"
#include "llvm/ADT/DenseMap.h"

namespace weir::plan {

/// Bytes of fixed size that a step on an offload device receives into memory beside its
/// arena, as its allocator rounds them; 0 on the host, where nothing is copied.
int64_t receivedBytes(mlir::func::FuncOp function);

class BlockWork {
public:
  /// `peaks`: most bytes alive in blocks inside of the operations of this one.
  BlockWork(mlir::Block &block, mlir::SymbolTable &symbols,
            const llvm::DenseMap<mlir::Block *, int64_t> &peaks);

  std::vector<memory::OrderNode> nodes;
  std::vector<memory::OrderValue> values;

  /// What another execution of each node takes, below 0 where it must not be: by the
  /// cost model on `device`, in nanoseconds; without one arithmetic operations, and
  /// four for each byte read or written.
  std::vector<double> costs(const ClusterDevice *device = nullptr) const;
  /// What it takes on `device` to copy values to the host and back, in nanoseconds.
  memory::Transfers transfers(const ClusterDevice &device, const placement::Link &out,
                              const placement::Link &in) const;
  /// The node with the largest operands and results together, and their bytes;
  /// no order and nothing computed again needs less.
  std::pair<mlir::Operation *, int64_t> largest() const;
  /// Bytes of results that leave the step as a launch makes them.
  int64_t resultBytes() const { return returned; }

  /// The operations of the nodes, by number.
  llvm::ArrayRef<mlir::Operation *> launched() const { return operations; }

  /// Puts the block's operations into that order.
  void reorder(llvm::ArrayRef<int> order);
  /// The same, clones what runs again, and copies out and back what was copied.
  void rewrite(const memory::Recomputation &made);

private:
  int64_t sizeOf(mlir::Value value) const;
  double timeOf(LaunchOp launch, const ClusterDevice *device, bool *repeatable) const;
  void add(mlir::Operation *op, const llvm::DenseMap<mlir::Block *, int64_t> &peaks);
  bool isView(mlir::Value value) const;
  std::optional<int> overwrittenRead(LaunchOp launch, mlir::OpResult result) const;
  void leaveToCaller(int value, bool isPart);
  bool isLaunched(int value, bool byProduct) const;
  bool isJoin(LaunchOp launch) const;
  void waitForReaders();
  void settleUpdates();
  void addReads(mlir::Value value, llvm::SmallVectorImpl<int> &reads) const;

  mlir::Block &block;
  mlir::SymbolTable &symbols;
  llvm::SmallVector<mlir::Operation *> operations; ///< one a node
  llvm::DenseMap<mlir::Value, int> numbers;        ///< of values
  /// Nodes that write over variables, and the values that these had, by number.
  llvm::SmallVector<std::pair<int, int>> updates;
  int lastEffect = -1;
  bool offloaded = false; ///< on a device that receives beside its arena
  int64_t returned = 0;
};

} // namespace weir::plan

#endif // WEIR_PASSES_PLAN_BLOCKWORK_H
