//===- Contraction.cpp - groups of a product's dimensions -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Contraction.h"
#include "dialects/weir/Pch.h"

using namespace mlir;

SmallVector<int64_t> weir::freeDims(int64_t rank, ArrayRef<int64_t> batch,
                                    ArrayRef<int64_t> contract) {
  SmallVector<int64_t> free;
  for (int64_t i = 0; i < rank; ++i)
    if (!llvm::is_contained(batch, i) && !llvm::is_contained(contract, i))
      free.push_back(i);
  return free;
}

int64_t weir::knownCount(RankedTensorType type, ArrayRef<int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count = count < 0 || type.isDynamicDim(dim) ? -1 : count * type.getDimSize(dim);
  return count;
}

bool weir::isDenseAlong(RankedTensorType type, ArrayRef<int64_t> dims) {
  int64_t next = type.getRank();
  for (int64_t dim : llvm::reverse(dims)) {
    for (int64_t between = dim + 1; between < next; ++between)
      if (type.getDimSize(between) != 1)
        return false;
    if (dim >= next)
      return false;
    next = dim;
  }
  return true;
}
