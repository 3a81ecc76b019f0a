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

/// From any thread, as all of a kind's functions.
class KernelSchedules {
public:
  virtual ~KernelSchedules() = default;

  /// Gives the kernel its schedule. Brings operands into the order in which it reads them:
  /// constants at once; what the program computes by an operation that is returned, and
  /// needs a kernel of its own. Null: there is none.
  virtual mlir::Operation *schedule(FormedKernel formed) const = 0;

  /// Whether the kernel finds the elements of buffer `index` (arguments, then results) when
  /// that is a part of a buffer of the sizes `extents`.
  virtual bool takesPart(plan::KernelOp kernel, unsigned index,
                         llvm::ArrayRef<int64_t> extents) const = 0;

  /// Whether the kernel reads `argument` only at the index that it computes, so that its one
  /// result may be written over it.
  virtual bool readsInPlace(plan::KernelOp kernel, unsigned argument) const = 0;
};

/// The host's: those of the kind that says so (DeviceKind::isHost). Null: none is registered.
const KernelSchedules *hostSchedules();

} // namespace weir

#endif // WEIR_PASSES_ANALYSIS_KERNELSCHEDULES_H
