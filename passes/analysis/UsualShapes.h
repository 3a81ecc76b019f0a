//===- UsualShapes.h - open tensors at usual sizes ---------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where sizes are open, what pays is decided for usual ones; what is right holds for all.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_ANALYSIS_USUALSHAPES_H
#define WEIR_PASSES_ANALYSIS_USUALSHAPES_H

#include "dialects/plan/Plan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"

namespace weir {

/// An open dimension's: one image or sequence; of an image a side, of a sequence the length. Where
/// feeds have bounds, no more than these allow.
int64_t usualSize(int64_t dim, std::optional<int64_t> upper = std::nullopt);

/// The types that values of a function have where its feeds are of usual sizes.
class UsualShapes {
public:
  UsualShapes(mlir::func::FuncOp function, mlir::SymbolTable &symbols);

  /// Null: some size follows from more than sizes of feeds.
  mlir::RankedTensorType of(mlir::Value tensor) const;

private:
  void visit(mlir::Operation *op);

  mlir::SymbolTable &symbols;
  llvm::DenseMap<mlir::Value, mlir::RankedTensorType> known; ///< of open tensors
  mlir::Block stand; ///< arguments that stand for operands while types are inferred
};

} // namespace weir

#endif // WEIR_PASSES_ANALYSIS_USUALSHAPES_H
