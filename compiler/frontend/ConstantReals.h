//===- ConstantReals.h - constants of a float type as numbers ---*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_CONSTANTREALS_H
#define WEIR_COMPILER_FRONTEND_CONSTANTREALS_H

#include "dialects/weir/HostTensor.h"
#include "dialects/weir/Training.h"
#include "dialects/weir/Weir.h"

namespace weir::frontend {

/// The elements of a constant of a float type, by value or a blob; nothing for any
/// other value, and for more than 2^22 of them (one number of a file may stand for
/// any number of elements).
inline std::optional<llvm::SmallVector<double>> constantReals(mlir::Value value) {
  value = behindWeight(value);
  auto constant = value ? value.getDefiningOp<ConstantOp>() : ConstantOp();
  auto tensor = constant ? HostTensor::read(constant.getValue(), int64_t(1) << 22) : std::nullopt;
  if (!tensor || !mlir::isa<mlir::FloatType>(tensor->elementType()))
    return std::nullopt;
  llvm::SmallVector<double> reals;
  for (const Number &number : tensor->elements)
    reals.push_back(number.real);
  return reals;
}

} // namespace weir::frontend

#endif // WEIR_COMPILER_FRONTEND_CONSTANTREALS_H
