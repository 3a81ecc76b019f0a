//===- combine.h - elements of two tensors, reduced -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_COLLECTIVES_COMBINE_H
#define WEIR_RUNTIME_COLLECTIVES_COMBINE_H

#include <stdint.h>

namespace weir::rt {

/// into[i] = into[i] ∘ other[i] for `count` elements that do not overlap. Half
/// precision is computed in f32 and rounded to nearest even, each time.
using CombineFn = void (*)(void *into, const void *other, int64_t count);

/// The same, and into[i] = other[i] ∘ into[i]: of zeros of both signs and of NaNs the order
/// decides which one is the result.
struct Combine {
  CombineFn behind, before;
};

/// Of a weir_dtype and a weir_reduction; null: elements of that type are not reduced.
Combine combineFn(int32_t dtype, int32_t reduction);

} // namespace weir::rt

#endif // WEIR_RUNTIME_COLLECTIVES_COMBINE_H
