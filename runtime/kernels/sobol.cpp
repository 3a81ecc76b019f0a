//===- sobol.cpp - Sobol sequences ----------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In the order of Gray codes, so that a point differs from the one before by one
// direction number a dimension (Antonov and Saleev, "An economic method of
// computing LPτ-sequences", 1979).
//
//===----------------------------------------------------------------------===//

#include "kernels/kernel_support.h"
#include "weir/numerics.h"

using namespace weir::rt;

namespace {

constexpr int kBits = 32;
constexpr int64_t kDimensions = 1111;

constexpr uint16_t table[] = {
#include "kernels/sobol_table.inc"
};

int degreeOf(uint32_t polynomial) { return 31 - __builtin_clz(polynomial); }

/// The direction numbers of all dimensions, [dimensions, kBits].
void fillDirections(int64_t dimensions, uint32_t *v) {
  for (int k = 0; k < kBits; ++k)
    v[k] = 1u << (kBits - 1 - k);
  const uint16_t *row = table;
  for (int64_t d = 1; d < dimensions; ++d) {
    uint32_t polynomial = row[0];
    int degree = degreeOf(polynomial);
    uint32_t *own = v + d * kBits;
    for (int k = 0; k < kBits; ++k) {
      if (k < degree) {
        own[k] = uint32_t(row[1 + k]) << (kBits - 1 - k);
        continue;
      }
      own[k] = own[k - degree] ^ own[k - degree] >> degree;
      for (int i = 1; i < degree; ++i)
        if (polynomial >> (degree - i) & 1)
          own[k] ^= own[k - i];
    }
    row += 1 + degree;
  }
}

template <typename T>
void fillPoints(const uint32_t *directions, uint32_t *point, int64_t dimensions, int64_t count,
                uint32_t skip, T *to) {
  // The point before the first, at once.
  uint32_t gray = skip ^ skip >> 1;
  for (int64_t d = 0; d < dimensions; ++d)
    for (int k = 0; k < kBits; ++k)
      if (gray >> k & 1)
        point[d] ^= directions[d * kBits + k];
  for (int64_t i = 0; i < count; ++i, ++skip) {
    // The bit of the Gray code that changes is the lowest that is not set.
    int bit = skip == ~0u ? kBits - 1 : __builtin_ctz(~skip);
    for (int64_t d = 0; d < dimensions; ++d) {
      point[d] ^= directions[d * kBits + bit];
      to[i * dimensions + d] = T(point[d]) * T(0x1p-32);
    }
  }
}

} // namespace

int32_t weir_kernel_sobol(weir_context *ctx, const weir_tensor *operands, int32_t operand_count,
                          weir_tensor *results, int32_t result_count, const int64_t *) {
  int64_t dimensions = 0, count = 0, skip = 0;
  if (operand_count != 3 || result_count != 1 || !loadInteger(operands[0], &dimensions) ||
      !loadInteger(operands[1], &count) || !loadInteger(operands[2], &skip))
    return failMessage(ctx, WEIR_INTERNAL, "operands or results are missing");
  if (dimensions < 1)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "dim must be at least one");
  if (count < 1)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "num_results must be at least one");
  if (skip < 0)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "skip must be non-negative");
  if (count > INT32_MAX || skip >= INT32_MAX - count)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "num_results + skip must be less than 2^31 - 1");
  if (dimensions > kDimensions)
    return failMessage(ctx, WEIR_UNIMPLEMENTED, "a Sobol sequence of more than 1111 dimensions");
  if (results[0].dtype != WEIR_F32 && results[0].dtype != WEIR_F64)
    return failDtype(ctx, "points", results[0].dtype);
  int64_t dims[2] = {count, dimensions};
  if (!shapeResult(ctx, results[0], 2, dims))
    return WEIR_RESOURCE_EXHAUSTED;
  Scratch<uint32_t> room(ctx, dimensions * (kBits + 1));
  if (!room.data)
    return WEIR_RESOURCE_EXHAUSTED;
  uint32_t *point = room.data + dimensions * kBits;
  for (int64_t d = 0; d < dimensions; ++d)
    point[d] = 0;
  fillDirections(dimensions, room.data);
  if (results[0].dtype == WEIR_F32)
    fillPoints(room.data, point, dimensions, count, uint32_t(skip),
               static_cast<float *>(results[0].data));
  else
    fillPoints(room.data, point, dimensions, count, uint32_t(skip),
               static_cast<double *>(results[0].data));
  return WEIR_OK;
}
