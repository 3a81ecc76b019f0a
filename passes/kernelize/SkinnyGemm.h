//===- SkinnyGemm.h - products by few rows ------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_KERNELIZE_SKINNYGEMM_H
#define WEIR_PASSES_KERNELIZE_SKINNYGEMM_H

#include "dialects/weir/Weir.h"
#include <optional>

namespace weir {

/// A product of which one side has few lines: it is as fast as the other side is read.
struct SkinnyGemm {
  struct Side {
    mlir::Value tensor;
    /// Its dimensions, of which lines lie along `contract`.
    llvm::SmallVector<int64_t> batch, free, contract;
    llvm::SmallVector<int64_t> batchOfResult, ofResult; ///< those of the result
    bool isDense = false; ///< a line's elements lie next to each other, in order
  };
  DotGeneralOp dot;
  Side matrix, few;
  int64_t depth = 1; ///< of a line
  int64_t rows = 1;  ///< lines of `few`, for each batch
  int64_t lines = 1; ///< of the matrix, for each batch; -1: open
};

/// Nothing: it is no product of floats with one side of at most `mostRows` lines
/// (GemmLimits::mostSkinnyRows), whose depth is known. Where both sides have few, the matrix is
/// the one with more.
std::optional<SkinnyGemm> skinnyGemmOf(DotGeneralOp dot, int64_t mostRows);

} // namespace weir

#endif // WEIR_PASSES_KERNELIZE_SKINNYGEMM_H
