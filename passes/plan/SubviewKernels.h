//===- SubviewKernels.h - kernels that work on parts of a buffer ----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PLAN_SUBVIEWKERNELS_H
#define WEIR_PASSES_PLAN_SUBVIEWKERNELS_H

#include "dialects/plan/Plan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

namespace weir::plan {

/// Sizes of the buffer that another is a part of; empty: it is a whole. Behind them, where that
/// depends on open sizes, stand the indices in the whole at which the part begins.
using Extents = llvm::SmallVector<int64_t, 4>;

/// The type of a view of a part.
mlir::MemRefType withExtents(mlir::MemRefType type, const Extents &extents);

/// The buffers of a run: what it reads, then what it writes.
llvm::SmallVector<mlir::Value> buffersOf(RunOp run);

/// What all of `value` is, perhaps in another shape; null where it is a part, or another
/// shape of an open size.
mlir::Value wholeOf(mlir::Value value);

/// Where `value` begins behind its root, in bytes.
int64_t offsetInRoot(mlir::Value value);

/// Which runs work on parts whose rows lie apart.
class PartKernels {
public:
  explicit PartKernels(mlir::SymbolTable &symbols) : symbols(symbols) {}

  KernelOp kernelOf(RunOp run) { return symbols.lookup<KernelOp>(run.getKernel()); }
  bool hasParts(RunOp run) const { return extents.count(run); }
  /// Of buffer `index` of the run; empty: it is a whole.
  Extents of(RunOp run, unsigned index) const;
  void set(RunOp run, unsigned index, const Extents &own);
  void forget(RunOp run) { extents.erase(run); }

  /// Whether the run's kernel finds the elements of buffer `index` by the general rule for
  /// indices, or as a left operand whose rows lie apart as `own` says.
  bool canWorkOn(RunOp run, unsigned index, const Extents &own);

  /// Gives such runs kernels of their own: where parts lie is known when these are
  /// compiled.
  void make(mlir::func::FuncOp function);

  /// Gives `run` the kernel that writes no more than the border of `pad`, which is all of
  /// its present one but for a concatenation in front, and the operands `copied` of that.
  void writePadBorder(RunOp run, PadOp pad, llvm::ArrayRef<int64_t> copied);

private:
  /// The kernel for buffers that lie so: made, or known from another run.
  KernelOp partOf(KernelOp kernel, llvm::ArrayRef<Extents> own);

  mlir::SymbolTable &symbols;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<Extents>> extents;
};

} // namespace weir::plan

#endif // WEIR_PASSES_PLAN_SUBVIEWKERNELS_H
