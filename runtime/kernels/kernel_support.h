//===- kernel_support.h - what library kernels share ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_KERNELS_KERNEL_SUPPORT_H
#define WEIR_RUNTIME_KERNELS_KERNEL_SUPPORT_H

#include "support/text.h"
#include "weir/abi.h"
#include "weir/kernels.h"

namespace weir::rt {

/// Scratch of a kernel, freed with the scope. Test `data` (null: the run has
/// failed for want of memory).
template <typename T> class Scratch {
public:
  Scratch(weir_context *ctx, int64_t count)
      : ctx(ctx), data(static_cast<T *>(weir_custom_alloc(ctx, count * int64_t(sizeof(T))))) {}
  ~Scratch() { weir_rt_free(ctx, data); }
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;
  T &operator[](int64_t i) { return data[i]; }

private:
  weir_context *const ctx;

public:
  T *const data;
};

inline int64_t elementCountOf(const weir_tensor &tensor) {
  int64_t count = 1;
  for (int32_t i = 0; i < tensor.rank; ++i)
    count *= tensor.dims[i];
  return count;
}

/// Sets rank, dims and bytes of a result, and allocates it where `data` is
/// null. False: no memory, the run has failed.
bool shapeResult(weir_context *ctx, weir_tensor &result, int32_t rank, const int64_t *dims);

/// Shapes a result by a list of sizes (i64); 0 or what failed.
int32_t shapeBy(weir_context *ctx, const weir_tensor &shape, weir_tensor &result);

/// Writes an index to element `i` of an i32 or i64 tensor.
inline void storeIndex(weir_tensor &tensor, int64_t i, int64_t value) {
  if (tensor.dtype == WEIR_I32)
    static_cast<int32_t *>(tensor.data)[i] = int32_t(value);
  else
    static_cast<int64_t *>(tensor.data)[i] = value;
}

/// Element 0 as an integer, or a float; for the small operands that steer.
bool loadInteger(const weir_tensor &tensor, int64_t *value);
bool loadFloat(const weir_tensor &tensor, double *value);

/// Conversions of our own: the compiler's would call into its run-time library,
/// which older ones lack.
float floatOfHalf(uint16_t half);
/// Rounds to nearest, ties to even.
uint16_t halfOfFloat(float value);
float floatOfBfloat(uint16_t value);
/// Rounds to nearest, ties to even; NaN stays NaN, quiet.
uint16_t bfloatOfFloat(float value);

/// Fails the run: "found …" with the dtype's name.
int32_t failDtype(weir_context *ctx, const char *what, int32_t dtype);
int32_t failMessage(weir_context *ctx, int32_t code, const char *message);

/// Whether a result that takes indices has a dtype for them.
inline bool isIndexType(int32_t dtype) { return dtype == WEIR_I32 || dtype == WEIR_I64; }

/// The dims of a tensor seen along an axis: [outer, size, inner].
struct AxisView {
  int64_t outer = 1, size = 1, inner = 1;
  int32_t axis;
};
/// False when the axis is out of range; counts from the end when negative.
bool viewAlong(const weir_tensor &tensor, int64_t axis, AxisView *view);

} // namespace weir::rt

#endif // WEIR_RUNTIME_KERNELS_KERNEL_SUPPORT_H
