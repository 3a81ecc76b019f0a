//===- Strategy.h - a way to compute kernels on a CPU ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A strategy is one object in one file of this folder: which kernels it computes, how it
// cuts and packs them, on which buffers they work, and how their code is emitted. The table
// in Strategies.cpp lists all; of those that match, the first takes a kernel.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_STRATEGY_H
#define WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_STRATEGY_H

#include "compiler/codegen/cpu/schedule/RegisterTiles.h"
#include "compiler/codegen/cpu/schedule/TileChoice.h"
#include "compiler/codegen/kernel/KernelBuilder.h"
#include "passes/analysis/KernelSchedules.h"

namespace weir {

/// A kernel that needs a strategy.
struct KernelRequest {
  explicit KernelRequest(const FormedKernel &formed);

  mlir::Block &body() const;
  /// The constant that the kernel gets as `argument`, which it reads once; or null.
  ConstantOp constantOf(mlir::Value argument) const;

  mlir::OpBuilder &b; ///< where its launch will stand
  plan::KernelOp kernel;
  llvm::SmallVectorImpl<mlir::Value> &operands; ///< of the launch
  bool isHost;       ///< else an accelerator's, of which only the host's form is asked here
  VectorUnit unit;   ///< of the target
  TileChoice choice; ///< by measurements
  mlir::Operation *anchor = nullptr; ///< the costly operation: the last one; or null
  mlir::RankedTensorType type;       ///< of the first result
  int64_t flops = 0;
  /// Whether every operation has the element of its operands where the result has its own, or
  /// one that broadcasts where sizes are open: then a number is place enough.
  bool isFlat = false;
};

/// Sizes that must be equal where the code of a strategy runs.
class SizeEqualities {
public:
  explicit SizeEqualities(KernelBuilder &r) : r(r) {}
  void add(mlir::Value x, mlir::Value y);
  /// Dimension `i` of `tensor` is dimension `j` of `like`; nothing is asked where both follow
  /// from the same size of an operand.
  void addSizes(mlir::Value tensor, unsigned i, mlir::Value like, unsigned j);
  /// The open sizes of `tensor` are those of `like`, of the same rank.
  void addShape(mlir::Value tensor, mlir::Value like);
  void clear() { every = {}; }
  /// Null: there is none that is not.
  mlir::Value all() const { return every; }

private:
  KernelBuilder &r;
  mlir::Value every;
};

/// From any thread.
class KernelStrategy {
public:
  virtual ~KernelStrategy() = default;
  virtual plan::ScheduleKind kind() const = 0;
  /// How it computes kernels, in plain words, for reports.
  virtual llvm::StringRef summary() const = 0;

  // While kernels are formed.

  /// Whether the strategy computes the kernel. Never, where passes make such kernels themselves.
  virtual bool matches(const KernelRequest &) const { return false; }
  /// Whether a kernel of the use's owner would be of this strategy, and would read each element
  /// of the value once: see KernelSchedules.
  virtual bool readsOnce(mlir::OpOperand &) const { return false; }
  /// Chooses tiles and the like, and returns the parts that the range counts; none: elements.
  /// A grain follows from the parts, where it is not chosen here.
  virtual std::optional<llvm::SmallVector<int64_t>> schedule(plan::ScheduleBuilder &,
                                                             const KernelRequest &) const {
    return std::nullopt;
  }
  /// Brings operands into the order in which the kernel, which has its schedule, reads them;
  /// for kernels of the host. See KernelSchedules::schedule.
  virtual mlir::Operation *packOperands(KernelRequest &) const { return nullptr; }

  // Buffers.

  /// See KernelSchedules.
  virtual bool takesPart(plan::KernelOp, unsigned, llvm::ArrayRef<int64_t>) const { return false; }
  virtual bool readsSlice(plan::KernelOp, unsigned, int64_t) const { return false; }
  /// The same, of a kernel of one result, or where storesLast(). Where this is not overridden,
  /// elementwise paths alone lead from the argument to results, and operations that `mayReadAhead`
  /// lets through.
  virtual bool readsInPlace(plan::KernelOp kernel, unsigned argument, unsigned result) const;
  /// Whether kernels of several results have computed those of an index, all that hang on an
  /// element of it among them, before they store the first.
  virtual bool storesLast() const { return false; }

  /// See KernelSchedules; of kernels with an image's parts.
  virtual StageForm stageForm(plan::KernelOp) const { return StageForm::None; }

  // Code.

  /// An extension of the processor, as LLVM names it, that the kernel's code needs beside
  /// what the target is taken to have; empty: none.
  virtual llvm::StringRef feature(plan::KernelOp) const { return ""; }
  /// Adds which sizes must be equal for `emit` to be right: the anchor's result has the shape
  /// of the kernel's. Where running shows that they are not, the kernel goes element by element.
  virtual void requireSizes(KernelBuilder &r, plan::KernelOp kernel, SizeEqualities &sizes) const;
  /// Emits, at the builder's insertion point, the part [begin, end) of the kernel's range.
  virtual mlir::LogicalResult emit(KernelBuilder &r, plan::KernelOp kernel, mlir::Value begin,
                                   mlir::Value end) const = 0;

protected:
  /// Whether `user` has read all that it reads of an operand before the result is written.
  virtual bool mayReadAhead(mlir::Operation *) const { return false; }
};

const KernelStrategy &strategyOf(plan::ScheduleKind kind);
inline const KernelStrategy &strategyOf(plan::KernelOp kernel) {
  return strategyOf(kernel.getSchedule().getKind());
}

/// What passes ask, by the table of strategies.
const KernelSchedules &cpuSchedules();

/// See KernelSchedules::chain.
std::optional<ChainSchedule> chainSchedule(llvm::ArrayRef<plan::KernelOp> stages,
                                           llvm::ArrayRef<mlir::RankedTensorType> images);

/// Extensions of the processor that the module's kernels need, each once, in the table's order.
llvm::SmallVector<llvm::StringRef> featuresOf(mlir::ModuleOp module);

/// Results of a kernel that hang together: by what they are computed of, but for constants and
/// tensors of one element.
struct ResultGroup {
  llvm::SmallVector<mlir::Value> results;
  llvm::SmallPtrSet<mlir::Value, 8> operands; ///< the kernel's; of several groups alone
  bool isFlat = false;                        ///< a number is place enough: see KernelRequest
};
/// In the order of their first results.
llvm::SmallVector<ResultGroup> resultGroups(mlir::Block &body);

/// Whether the operation has the element of its operands where its result, of the shape of `type`,
/// has its own; an operand of one element has that everywhere.
bool isElementwiseOver(mlir::Operation *op, mlir::RankedTensorType type);

/// Whether a kernel of one result works on a part of a buffer: everywhere but where it reads
/// right operands, and left ones whose rows lie at several distances.
bool takesPartOfTiles(plan::KernelOp kernel, unsigned index, llvm::ArrayRef<int64_t> extents,
                      bool seesLines);
/// Whether an operand of the kernel of `body` has a size that only running tells.
bool hasOpenOperand(mlir::Block &body);

/// A last dimension of fewer elements is too short a loop.
inline constexpr int64_t shortRow = 16;

/// Whether the value is nothing but shapes that others are stretched to: no element of it is read,
/// as of one that folding has left without users.
bool isOnlyShape(mlir::Value value);
/// Whether the kernel is of elementwise operations of known shapes with a short last dimension, of
/// which more than that is one loop (emitFlatElements), but not all: an operand is stretched along
/// leading ones.
bool isStretchedElementwise(mlir::Block &body);
/// Whether operations around the product are a kernel that products by register tiles compute,
/// however many of the product's shape are results.
bool isGemmOfSeveral(llvm::ArrayRef<mlir::Operation *> operations, DotGeneralOp dot);
/// Whether the kernel has one result.
bool hasOneResult(plan::KernelOp kernel);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_STRATEGY_H
