//===- BatchProduct.h - products whose batches are broadcast ----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_BATCHPRODUCT_H
#define WEIR_COMPILER_FRONTEND_BATCHPRODUCT_H

#include "compiler/frontend/TensorBuilder.h"

namespace weir::frontend {

/// `x` [batch…, rows…, terms…] by `y` [batch…, terms…, columns…], of which `batches` and `terms`
/// dimensions are the first and the middle ones: [batch…, rows…, columns…]. Of two sizes of a batch
/// one may be 1, which the run may find; that those of the terms are equal is the caller's to
/// check. Null where an operand is.
Value batchProduct(TensorBuilder &t, Value x, Value y, int64_t batches, int64_t terms);

} // namespace weir::frontend

#endif // WEIR_COMPILER_FRONTEND_BATCHPRODUCT_H
