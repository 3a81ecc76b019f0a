//===- Columns.h - columns that the run counts ------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gates of recurrent cells lie side by side, as many columns each as there are cells; channels of
// colours as an image has them. How many that is only the run may know.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_COLUMNS_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_COLUMNS_H

#include "compiler/frontend/TensorBuilder.h"

namespace weir::tf {

/// `count` times a size, tensor<1xi64>; a constant where that is one.
inline mlir::Value sizeTimes(frontend::TensorBuilder &t, mlir::Value size, int64_t count) {
  auto known = constantIntegers(size);
  return known ? t.ints({(*known)[0] * count}) : t.mul(size, static_cast<double>(count));
}

/// Columns [begin, end) of a matrix.
inline mlir::Value columns(frontend::TensorBuilder &t, mlir::Value v, mlir::Value begin,
                           mlir::Value end) {
  return t.op<SliceOp>(v, begin, end, t.ints({1}), t.list({1}), t.flag(false));
}

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_COLUMNS_H
