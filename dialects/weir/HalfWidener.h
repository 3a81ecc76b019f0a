//===- HalfWidener.h - f16 and bf16 computed in f32 -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_HALFWIDENER_H
#define WEIR_DIALECTS_WEIR_HALFWIDENER_H

#include "dialects/weir/Weir.h"
#include "llvm/ADT/DenseMap.h"

namespace weir {

/// Operations on f16 or bf16 whose emitted code computes in f32 and rounds results once,
/// so that one of f32 between casts gives the same.
bool isHalfArithmetic(mlir::Operation *op);

/// Makes operations of halves ones of f32 between casts. A value becomes f32 once, however
/// many read it.
class HalfWidener {
public:
  /// `op` is half arithmetic.
  void rewrite(mlir::Operation *op);

private:
  mlir::Value wide(mlir::Value value, mlir::Operation *user);
  llvm::DenseMap<mlir::Value, mlir::Value> widened;
};

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_HALFWIDENER_H
