//===- IntegerLimits.h - what an integer type holds -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_LOWERING_INTEGERLIMITS_H
#define WEIR_COMPILER_FRONTEND_LOWERING_INTEGERLIMITS_H

#include "mlir/IR/BuiltinTypes.h"

#include <cmath>

namespace weir::frontend {

/// The least and the largest number of an integer type, as quantisation counts with them.
/// Of another type, or none, both are zero: what is computed with them has no type, and
/// fails.
struct IntegerLimits {
  explicit IntegerLimits(mlir::Type type) {
    auto integer = llvm::dyn_cast_if_present<mlir::IntegerType>(type);
    if (!integer)
      return;
    int width = static_cast<int>(integer.getWidth());
    bool isUnsigned = integer.isUnsigned();
    lowest = isUnsigned ? 0 : -std::ldexp(1.0, width - 1);
    highest = std::ldexp(1.0, isUnsigned ? width : width - 1) - 1;
  }
  double lowest = 0, highest = 0;
  /// How many numbers there are.
  double steps() const { return highest - lowest + 1; }
};

} // namespace weir::frontend

#endif // WEIR_COMPILER_FRONTEND_LOWERING_INTEGERLIMITS_H
