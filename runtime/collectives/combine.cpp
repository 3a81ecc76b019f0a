//===- combine.cpp - elements of two tensors, reduced ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "collectives/combine.h"

#include "kernels/kernel_support.h"
#include "weir/abi.h"

namespace weir::rt {

namespace {

struct Sum {
  template <typename T> static T of(T a, T b) { return T(a + b); }
};
struct Prod {
  template <typename T> static T of(T a, T b) { return T(a * b); }
};
// NaN in either gives NaN.
struct Max {
  template <typename T> static T of(T a, T b) { return a > b || a != a ? a : b; }
};
struct Min {
  template <typename T> static T of(T a, T b) { return a < b || a != a ? a : b; }
};

/// Elements as they are.
template <typename T> struct Plain {
  using Stored = T;
  static T load(T value) { return value; }
  static T store(T value) { return value; }
};
struct Half {
  using Stored = uint16_t;
  static float load(uint16_t value) { return floatOfHalf(value); }
  static uint16_t store(float value) { return halfOfFloat(value); }
};
struct Bf16 {
  using Stored = uint16_t;
  static float load(uint16_t value) { return floatOfBfloat(value); }
  static uint16_t store(float value) { return bfloatOfFloat(value); }
};

template <typename Format, typename Operation, bool isBefore>
void combine(void *into, const void *others, int64_t count) {
  auto *to = static_cast<typename Format::Stored *>(into);
  auto *from = static_cast<const typename Format::Stored *>(others);
  for (int64_t i = 0; i < count; ++i) {
    auto own = Format::load(to[i]), other = Format::load(from[i]);
    to[i] = Format::store(isBefore ? Operation::of(other, own) : Operation::of(own, other));
  }
}

template <typename Format, typename Operation> constexpr Combine both() {
  return {combine<Format, Operation, false>, combine<Format, Operation, true>};
}

template <typename Format> Combine of(int32_t reduction) {
  switch (reduction) {
  case WEIR_REDUCE_SUM:
    return both<Format, Sum>();
  case WEIR_REDUCE_PROD:
    return both<Format, Prod>();
  case WEIR_REDUCE_MAX:
    return both<Format, Max>();
  case WEIR_REDUCE_MIN:
    return both<Format, Min>();
  default:
    return {};
  }
}

} // namespace

// Signed integers go as unsigned where that is the same: sums and products wrap around.
Combine combineFn(int32_t dtype, int32_t reduction) {
  bool wraps = reduction == WEIR_REDUCE_SUM || reduction == WEIR_REDUCE_PROD;
  switch (dtype) {
  case WEIR_F32:
    return of<Plain<float>>(reduction);
  case WEIR_F64:
    return of<Plain<double>>(reduction);
  case WEIR_F16:
    return of<Half>(reduction);
  case WEIR_BF16:
    return of<Bf16>(reduction);
  case WEIR_I32:
    return wraps ? of<Plain<uint32_t>>(reduction) : of<Plain<int32_t>>(reduction);
  case WEIR_U32:
    return of<Plain<uint32_t>>(reduction);
  case WEIR_I64:
    return wraps ? of<Plain<uint64_t>>(reduction) : of<Plain<int64_t>>(reduction);
  case WEIR_U64:
    return of<Plain<uint64_t>>(reduction);
  default:
    return {};
  }
}

} // namespace weir::rt
