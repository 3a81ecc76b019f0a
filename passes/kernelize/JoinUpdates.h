//===- JoinUpdates.h - what updates variables, in few kernels ---*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An optimizer makes of a gradient new values of several variables: moments, and the weight that
// hangs on them. Each is assigned, and so would be the end of a kernel. Here they become results of
// one kernel, which goes over memory once; a gradient that is a product, and asked for by them
// alone, is in the kernel, too, and never in memory; and small variables' kernels, which a launch
// costs as much as their work, become one (horizontal fusion).
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_KERNELIZE_JOINUPDATES_H
#define WEIR_PASSES_KERNELIZE_JOINUPDATES_H

#include "passes/analysis/Clusters.h"
#include "passes/analysis/KernelSchedules.h"

namespace weir {

/// Of `clusters`, those of `block` in the order of their roots, joins those of the host that update
/// variables of fixed size. Assignments move behind the kernels that make their values, as far as
/// nothing in between can tell. No kernel comes to read more than `mostInputs` tensors (0: any
/// number). `schedules` says which products may join, too; null: none does.
void joinUpdates(mlir::Block &block, std::vector<Cluster> &clusters, unsigned mostInputs,
                 const KernelSchedules *schedules);

} // namespace weir

#endif // WEIR_PASSES_KERNELIZE_JOINUPDATES_H
