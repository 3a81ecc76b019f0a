//===- VectorProducts.h - products that are no GEMM --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_LAYOUT_VECTORPRODUCTS_H
#define WEIR_PASSES_LAYOUT_VECTORPRODUCTS_H

#include "dialects/weir/Weir.h"

namespace weir {

/// Replaces a product that vectors compute faster than tiles do, by elementwise operations and
/// sums: of a matrix and a vector, of one row by one column, of a few columns by as few rows.
/// False where `dot` is none, and stays.
bool elementwiseProduct(DotGeneralOp dot);

/// `value` with each of `groups`, neighbouring dimensions in order, as one dimension; an
/// empty group is a dimension of size 1.
mlir::Value merged(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value,
                   llvm::ArrayRef<llvm::SmallVector<int64_t>> groups);

/// `made` under the sizes of the product, from those of its operands.
mlir::Value reshapedToResult(mlir::OpBuilder &b, DotGeneralOp dot, mlir::Value made);

/// Puts `made`, which has the product's sizes, in its place.
void replaceProduct(DotGeneralOp dot, mlir::Value made);

} // namespace weir

#endif // WEIR_PASSES_LAYOUT_VECTORPRODUCTS_H
