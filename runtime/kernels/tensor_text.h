//===- tensor_text.h - tensors as text ----------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TensorFlow's two ways of writing a tensor. Both want a PlainLocale around them; where
// memory ends, `out` says so.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_KERNELS_TENSOR_TEXT_H
#define WEIR_RUNTIME_KERNELS_TENSOR_TEXT_H

#include "kernels/string_support.h"

namespace weir::rt {

/// The first and last `ends` elements of each dimension, in brackets and lines, strings in
/// quotes; negative: all. StringFormat.
void printEnds(const weir_tensor &tensor, int64_t ends, Growing &out);

/// The first `most` elements in row-major order, in one line, the outermost dimension
/// without brackets; negative: all. Print.
void printFirst(const weir_tensor &tensor, int64_t most, Growing &out);

} // namespace weir::rt

#endif // WEIR_RUNTIME_KERNELS_TENSOR_TEXT_H
