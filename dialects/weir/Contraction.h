//===- Contraction.h - groups of a product's dimensions --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_CONTRACTION_H
#define WEIR_DIALECTS_WEIR_CONTRACTION_H

#include "mlir/IR/BuiltinTypes.h"

namespace weir {

/// The dimensions of an operand that are neither batch nor contracted.
llvm::SmallVector<int64_t> freeDims(int64_t rank, llvm::ArrayRef<int64_t> batch,
                                    llvm::ArrayRef<int64_t> contract);

/// Number of elements in `dims`, -1 where that is open.
int64_t knownCount(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> dims);

/// Whether neighbours along `dims`, taken as one dimension, lie next to each other.
bool isDenseAlong(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> dims);

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_CONTRACTION_H
