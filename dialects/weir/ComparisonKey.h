//===- ComparisonKey.h - how readers remember comparisons -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_COMPARISONKEY_H
#define WEIR_DIALECTS_WEIR_COMPARISONKEY_H

#include "dialects/weir/EmittedValues.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace weir {

/// Under which key an ElementReader keeps the outcome of comparing two indices:
/// who knows the outcome beforehand may put it there.
EmittedValues::Key comparisonKey(mlir::arith::CmpIPredicate predicate, mlir::Value lhs,
                                 mlir::Value rhs);

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_COMPARISONKEY_H
