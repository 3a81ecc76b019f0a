//===- Folding.h - what operations fold to ----------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fallback that serves every operation's fold, and what passes rewrite alike.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_FOLDING_H
#define WEIR_DIALECTS_WEIR_FOLDING_H

#include "dialects/weir/Weir.h"
#include "mlir/Interfaces/FoldInterfaces.h"

namespace weir {

/// In this order: the operation changes nothing and is its operand; its
/// operands are small constants and so is its result; its result is shape
/// arithmetic that is known although its operands are not.
struct WeirFolder : mlir::DialectFoldInterface {
  using DialectFoldInterface::DialectFoldInterface;
  llvm::LogicalResult fold(mlir::Operation *op, llvm::ArrayRef<mlir::Attribute> operands,
                           llvm::SmallVectorImpl<mlir::OpFoldResult> &results) const final;
};

/// The product that is a square, or a cube, on its power's device.
mlir::Value powerAsProduct(mlir::OpBuilder &b, PowOp power, bool isCube);

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_FOLDING_H
