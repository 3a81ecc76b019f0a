//===- stochastic_cast.cpp - floats to integers, rounded by chance --------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which random number an element gets hangs on the vectors of TensorFlow's kernel (on
// processors with AVX, for which its packages are built): of types whose conversion it
// does by vectors, a block of the generator serves one, its numbers over and over; of
// others, and behind the last whole vector, each element that has a fraction takes the
// first number of a block.
//
//===----------------------------------------------------------------------===//

#include "kernels/random_numbers.h"
#include "weir/numerics.h"

#include <limits.h>

using namespace weir::rt;

namespace {

/// As processors convert: what 32 bits do not hold is the lowest number, then the low bits.
void storeInteger(weir_tensor &result, int64_t i, double value) {
  int32_t wide = value >= -2147483648.0 && value < 2147483648.0 ? int32_t(value) : INT_MIN;
  if (result.dtype == WEIR_I8)
    static_cast<int8_t *>(result.data)[i] = int8_t(wide);
  else if (result.dtype == WEIR_I16)
    static_cast<int16_t *>(result.data)[i] = int16_t(wide);
  else
    static_cast<int32_t *>(result.data)[i] = wide;
}

template <typename T>
void castAll(Philox generator, const weir_tensor &x, weir_tensor &result, int64_t lanes) {
  using Number = typename T::Number;
  int bits = result.dtype == WEIR_I8 ? 7 : result.dtype == WEIR_I16 ? 15 : 31;
  // The limits are numbers of the operand's type.
  Number most = T::round(Number((int64_t(1) << bits) - 1)),
         least = T::round(-Number(int64_t(1) << bits));
  // Results are written by vectors of eight.
  int64_t count = elementCountOf(x), whole = lanes > 1 ? count / 8 * 8 : 0;
  Philox::Block block = {};
  for (int64_t i = 0; i < count; ++i) {
    Number value = T::load(x.data, i), r = value;
    bool inVector = i < whole;
    if (inVector && i % lanes == 0)
      block = generator.next();
    if (isnan(value))
      r = 0;
    else if (value >= most)
      r = most;
    else if (value <= least)
      r = least;
    else if (Number(floor(double(value))) != value) {
      if (!inVector)
        block = generator.next();
      Number chance = T::unit(block, inVector ? int(i % lanes % T::numbers) : 0), sum;
      if (value < 0)
        sum = T::round(value + chance);
      else if (inVector)
        sum = T::round(value + T::round(1 - chance));
      else
        sum = T::round(T::round(value + 1) - chance);
      r = Number(floor(double(sum)));
    }
    storeInteger(result, i, double(r));
  }
}

} // namespace

int32_t weir_kernel_stochastic_cast(weir_context *ctx, const weir_tensor *operands,
                                    int32_t operand_count, weir_tensor *results,
                                    int32_t result_count, const int64_t *) {
  Philox generator(0, 0, 0);
  if (operand_count != 2 || result_count != 1 || !readState(operands[0], &generator))
    return failState(ctx);
  const weir_tensor &x = operands[1];
  weir_tensor &result = results[0];
  if (result.dtype != WEIR_I8 && result.dtype != WEIR_I16 && result.dtype != WEIR_I32)
    return failDtype(ctx, "a conversion by chance", result.dtype);
  if (!shapeResult(ctx, result, x.rank, x.dims))
    return WEIR_RESOURCE_EXHAUSTED;
  bool isWide = result.dtype == WEIR_I32;
  switch (x.dtype) {
  case WEIR_F16:
    castAll<Half>(generator, x, result, 1);
    break;
  case WEIR_BF16:
    castAll<Bfloat>(generator, x, result, 1);
    break;
  case WEIR_F32:
    castAll<Single>(generator, x, result, isWide ? 8 : 1);
    break;
  case WEIR_F64:
    castAll<Double>(generator, x, result, isWide ? 4 : 1);
    break;
  default:
    return failDtype(ctx, "a conversion by chance", x.dtype);
  }
  return WEIR_OK;
}
