//===- ReshapedElementwise.h - elementwise operations in other shapes ----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reshape between elementwise operations, or before a reduction, costs a kernel:
// what it leads from is stored. Where dimensions of the one shape are made of those of
// the other, the operations are computed in a shape that serves both.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_KERNELIZE_RESHAPEDELEMENTWISE_H
#define WEIR_PASSES_KERNELIZE_RESHAPEDELEMENTWISE_H

#include "dialects/weir/Weir.h"
#include "llvm/ADT/SetVector.h"

namespace weir {

/// The shape with fewest dimensions of which those of both are products; both have as
/// many elements. Nothing: there is none.
std::optional<llvm::SmallVector<int64_t>> commonShape(llvm::ArrayRef<int64_t> a,
                                                      llvm::ArrayRef<int64_t> b);

/// Elementwise operations, and reshapes between them, that lead from the one that was
/// given to one result.
struct ElementRegion {
  llvm::SetVector<mlir::Operation *> operations;
  mlir::Value result; ///< the only one that others read; null: there is no region
  bool hasReshapes = false;
  /// Of all its shapes, as far as there is one.
  std::optional<llvm::SmallVector<int64_t>> shape;
};
/// What follows `first`, an elementwise operation, in its block, but for `other`, which
/// reads that, too. Beside `source`, of tensors of that size, it reads only such as are
/// stored anyway.
ElementRegion regionBehind(mlir::Operation *first, mlir::Value source, mlir::Operation *other);

/// Makes values again in another shape: those of a region, and what nothing else reads,
/// or takes less to compute than to store.
class Reshaper {
public:
  Reshaper(mlir::OpBuilder &b, llvm::ArrayRef<int64_t> shape) : b(b), shape(shape) {}

  /// Takes `made` for `value`.
  void know(mlir::Value value, mlir::Value made) { known[value] = made; }
  /// Of static shape, with as many elements.
  mlir::Value make(mlir::Value value, const ElementRegion &region = {});

private:
  mlir::Value make(mlir::Value value, llvm::ArrayRef<int64_t> from, const ElementRegion &region,
                   int depth);

  mlir::OpBuilder &b;
  llvm::SmallVector<int64_t> shape;
  llvm::DenseMap<mlir::Value, mlir::Value> known;
};

} // namespace weir

#endif // WEIR_PASSES_KERNELIZE_RESHAPEDELEMENTWISE_H
