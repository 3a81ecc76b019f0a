//===- SliceReads.h - slices that products read where they lie ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a slice ends may be known to the run alone, as of a cache of which a decoder reads
// the lines that are filled. No view shows such a part, as its matrices lie apart by sizes
// that are the whole's; but a kernel may cut the slice out itself, where it only has to
// begin each matrix elsewhere.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PLAN_SLICEREADS_H
#define WEIR_PASSES_PLAN_SLICEREADS_H

#include "dialects/plan/Plan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

namespace weir::plan {

/// Lets kernels that can (KernelSchedules::readsSlice) read the wholes that slices along one
/// axis copy parts of, with the slice as their own first operation, where all readers of
/// the copy can, none writes to the whole in between, and no buffer of the step but those of bounds
/// lives longer by it. Returns how many copies are gone. Kernels that nothing runs any more stay.
int64_t readSlicesInPlace(mlir::func::FuncOp function, mlir::SymbolTable &symbols);

} // namespace weir::plan

#endif // WEIR_PASSES_PLAN_SLICEREADS_H
