//===- KernelSchedules.h - who decides how kernels are computed --*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which operations share a kernel is decided here, in passes; how a kernel is computed, by
// the kind of device whose code computes it. This is what passes ask of it. Kernels of other
// devices have a form for the host, too, which stands in for one that is missing: their
// schedules are the host's.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_ANALYSIS_KERNELSCHEDULES_H
#define WEIR_PASSES_ANALYSIS_KERNELSCHEDULES_H

#include "dialects/plan/Plan.h"

namespace weir {

/// A kernel that was just formed, before anything launches it.
struct FormedKernel {
  mlir::OpBuilder &b;                           ///< where its launch will stand
  plan::KernelOp kernel;                        ///< its schedule is made
  llvm::SmallVectorImpl<mlir::Value> &operands; ///< of the launch
  bool isHost = true;                           ///< whether the host's steps launch it
};

/// What a kernel over an image [N, H, W, C] needs of it for a line of its result.
enum class StageForm {
  None,     ///< it does not go by lines
  Window,   ///< neighbouring lines
  Position, ///< the same line
};

/// How kernels, each of which makes the image that the next goes over, compute a few lines of
/// the last one's result at a time.
struct ChainSchedule {
  plan::ScheduleAttr whole;                        ///< of the kernel that they become stages of
  llvm::SmallVector<plan::ScheduleAttr, 3> stages; ///< of each, in parts of a line
};

/// From any thread, as all of a kind's functions.
class KernelSchedules {
public:
  virtual ~KernelSchedules() = default;

  /// Gives the kernel its schedule. Brings operands into the order in which it reads them:
  /// constants at once; what the program computes by an operation that is returned, and
  /// needs a kernel of its own. Null: there is none.
  virtual mlir::Operation *schedule(FormedKernel formed) const = 0;

  /// Whether a kernel of the use's owner reads each element of the value once, as only its
  /// strategy knows (traits::ReadsElementsRepeatedly says otherwise of the operation): then
  /// what defines the value may be computed inside. Before kernels are formed.
  virtual bool readsOnce(mlir::OpOperand &use) const = 0;

  /// Whether a kernel of the convolution, which has no padding and reads a border of zeros (`pads`:
  /// before and behind each spatial dimension) that an operation before it adds, would rather
  /// have these as its own and read what is inside. Before kernels are formed.
  virtual bool mindsBorder(ConvOp conv, llvm::ArrayRef<int64_t> pads) const = 0;

  /// Whether `operations`, of which `dot` is the one product and all others are elementwise, may be
  /// one kernel with several results. Before kernels are formed.
  virtual bool mayGiveSeveral(llvm::ArrayRef<mlir::Operation *> operations,
                              DotGeneralOp dot) const = 0;

  /// Whether the kernel finds the elements of buffer `index` (arguments, then results) when
  /// that is a part of a buffer of the sizes `extents`.
  virtual bool takesPart(plan::KernelOp kernel, unsigned index,
                         llvm::ArrayRef<int64_t> extents) const = 0;

  /// Whether the kernel can read argument `index` as a slice of another along `axis`, which it cuts
  /// out by itself: as an operation that the argument's uses are uses of.
  virtual bool readsSlice(plan::KernelOp kernel, unsigned index, int64_t axis) const = 0;

  /// Whether the kernel reads `argument` only at the index that it computes, so that `result`
  /// may be written over it.
  virtual bool readsInPlace(plan::KernelOp kernel, unsigned argument, unsigned result) const = 0;

  /// How the kernel is computed, in plain words.
  virtual llvm::StringRef describe(plan::KernelOp kernel) const = 0;

  /// Whether the kernel can be a stage of a chain.
  virtual StageForm stageForm(plan::KernelOp kernel) const = 0;
  /// Nothing: the images between them need no chain, or too much of a thread's stack. `images`
  /// are what stages make, of known sizes: where these are open, the usual ones.
  virtual std::optional<ChainSchedule>
  chain(llvm::ArrayRef<plan::KernelOp> stages,
        llvm::ArrayRef<mlir::RankedTensorType> images) const = 0;
};

/// The host's: those of the kind that says so (DeviceKind::isHost). Null: none is registered.
const KernelSchedules *hostSchedules();

} // namespace weir

#endif // WEIR_PASSES_ANALYSIS_KERNELSCHEDULES_H
