//===- CudaLibrary.h - kernels that libraries may compute --*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What descriptions of products and of convolutions have in common: sizes as a
// launch has them, and what follows the one operation that the library is asked
// for, as far as the library knows it.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CUDA_CUDALIBRARY_H
#define WEIR_COMPILER_CODEGEN_CUDA_CUDALIBRARY_H

#include "dialects/plan/Plan.h"
#include "weir/cuda.h"
#include <optional>

namespace weir {

/// A number without open sizes.
weir_extent fixedExtent(int64_t value);

/// The number that all elements of a constant of floats are; nothing: it is another.
std::optional<double> splatOf(mlir::Value value);

/// Sizes of a kernel's tensors, as a launch has them: open ones are numbered in
/// the order of operands, results and dimensions.
class LaunchSizes {
public:
  explicit LaunchSizes(plan::KernelOp kernel);

  int32_t bufferOf(mlir::Value tensor) const { return int32_t(buffers.lookup(tensor)); }
  /// The product of the sizes of `dims`. False: too many are open.
  bool extent(mlir::Value tensor, llvm::ArrayRef<int64_t> dims, weir_extent &out) const;
  /// Elements from one index of `dim` to the next.
  bool stride(mlir::Value tensor, int64_t dim, weir_extent &out) const;

private:
  llvm::DenseMap<mlir::Value, unsigned> buffers;
  llvm::DenseMap<mlir::Value, int32_t> first;
};

/// What follows an operation, as a library computes it along with that. Each
/// `take` looks at the one reader of what there is, and moves on behind it.
class Epilogue {
public:
  /// After `anchor`, whose operands are of `dtype`. `isBias`: whether a tensor of
  /// this type has a number for each column or channel of the result.
  Epilogue(plan::KernelOp kernel, const LaunchSizes &sizes, mlir::Value anchor, int32_t dtype,
           llvm::function_ref<bool(mlir::RankedTensorType)> isBias)
      : kernel(kernel), sizes(sizes), isBias(isBias), dtype(dtype), anchor(anchor.getDefiningOp()),
        end(anchor) {}

  /// What reads the last value alone, if it computes a value of that shape.
  mlir::Operation *next() const;
  /// A rounding to the operands' type, where nothing was added yet.
  bool takeCast(mlir::Operation *user);
  /// An addend of the result's shape, or a bias.
  bool takeAdd(mlir::Operation *user);
  bool takeActivation(mlir::Operation *user, weir_cuda_activation kind);
  void moveTo(mlir::Operation *user) { end = user->getResult(0); }
  bool isPlain() const { return bias < 0 && addend < 0 && activation == 0; }

  /// Where the last value goes, and how much is left to compute. False: what is
  /// left cannot be launched.
  bool place(bool &hasRest, int32_t &result, weir_extent &restCount) const;

private:
  mutable plan::KernelOp kernel; ///< MLIR's handles know no const
  const LaunchSizes &sizes;
  llvm::function_ref<bool(mlir::RankedTensorType)> isBias;
  int32_t dtype;
  mlir::Operation *anchor;

public:
  mlir::Value end;
  int32_t bias = -1, addend = -1, activation = WEIR_CUDA_NO_ACTIVATION;
};

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CUDA_CUDALIBRARY_H
