//===- non_zero.cpp - where elements are not zero -------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/kernel_support.h"

using namespace weir::rt;

namespace {

/// Bits of an element that make it non-zero, in words of `bytes`; -0 is zero.
struct NonZeroBits {
  int32_t bytes; ///< 0: unknown dtype
  int32_t words; ///< an element has so many
  uint64_t mask;
};

NonZeroBits nonZeroBits(int32_t dtype) {
  switch (dtype) {
  case WEIR_F16:
  case WEIR_BF16:
    return {2, 1, 0x7fff};
  case WEIR_F32:
    return {4, 1, 0x7fffffff};
  case WEIR_C64:
    return {4, 2, 0x7fffffff};
  case WEIR_F64:
    return {8, 1, INT64_MAX};
  case WEIR_C128:
    return {8, 2, INT64_MAX};
  case WEIR_F8E4M3FN:
  case WEIR_F8E5M2:
    return {1, 1, 0x7f};
  case WEIR_F4E2M1:
    return {1, 1, 0x7};
  case WEIR_F8E8M0: // has no zero
    return {1, 1, 0};
  default: // integers, and the formats whose only zero is all zeros
    return {int32_t(weir_dtype_size(dtype)), 1, UINT64_MAX};
  }
}

/// The indices of the elements of type T that are not zero under the mask; false, with the run
/// failed, where there is no memory.
template <typename T, typename Index>
bool fillIndices(weir_context *ctx, const weir_tensor &data, uint64_t bits, weir_tensor &result) {
  auto *elements = static_cast<const T *>(data.data);
  T mask = T(bits);
  int64_t total = elementCountOf(data), count = 0;
  for (int64_t i = 0; i < total; ++i)
    count += (elements[i] & mask) != 0;
  int64_t dims[] = {count, data.rank};
  if (!shapeResult(ctx, result, 2, dims))
    return false;
  auto *out = static_cast<Index *>(result.data);
  // Of an element that is zero an index is written, too, and then written over.
  if (data.rank == 1) {
    for (int64_t i = 0, found = 0; found < count; ++i) {
      out[found] = Index(i);
      found += (elements[i] & mask) != 0;
    }
    return true;
  }
  int32_t last = data.rank - 1;
  int64_t line = data.dims[last], place[WEIR_MAX_RANK] = {};
  for (int64_t found = 0, row = 0; found < count; ++row, elements += line) {
    for (int64_t i = 0; i < line && found < count; ++i) {
      Index *here = out + found * data.rank;
      for (int32_t d = 0; d < last; ++d)
        here[d] = Index(place[d]);
      here[last] = Index(i);
      found += (elements[i] & mask) != 0;
    }
    for (int32_t d = last; d-- > 0;) {
      if (++place[d] < data.dims[d])
        break;
      place[d] = 0;
    }
  }
  return true;
}

template <typename T>
bool fillIndices(weir_context *ctx, const weir_tensor &data, uint64_t mask, weir_tensor &result) {
  return result.dtype == WEIR_I32 ? fillIndices<T, int32_t>(ctx, data, mask, result)
                                  : fillIndices<T, int64_t>(ctx, data, mask, result);
}

template <typename T> bool isNonZero(const void *data, int64_t i, uint64_t mask) {
  return static_cast<const T *>(data)[i] & T(mask);
}

bool isNonZero(const weir_tensor &tensor, NonZeroBits bits, int64_t element) {
  if (tensor.dtype == WEIR_STRING)
    return static_cast<const weir_string *>(tensor.data)[element].size > 0;
  if (bits.mask == 0)
    return true;
  for (int32_t word = 0; word < bits.words; ++word) {
    int64_t i = element * bits.words + word;
    if (bits.bytes == 1   ? isNonZero<uint8_t>(tensor.data, i, bits.mask)
        : bits.bytes == 2 ? isNonZero<uint16_t>(tensor.data, i, bits.mask)
        : bits.bytes == 4 ? isNonZero<uint32_t>(tensor.data, i, bits.mask)
                          : isNonZero<uint64_t>(tensor.data, i, bits.mask))
      return true;
  }
  return false;
}

} // namespace

int32_t weir_kernel_non_zero(weir_context *ctx, const weir_tensor *operands, int32_t operand_count,
                             weir_tensor *results, int32_t result_count, const int64_t *) {
  const weir_tensor &data = operands[0];
  NonZeroBits bits = nonZeroBits(data.dtype);
  if (operand_count != 1 || result_count != 1 || !isIndexType(results[0].dtype) || bits.bytes == 0)
    return failDtype(ctx, "non-zero elements", data.dtype);
  if (data.rank > 0 && data.dtype != WEIR_STRING && bits.words == 1 && bits.mask) {
    bool made = bits.bytes == 1   ? fillIndices<uint8_t>(ctx, data, bits.mask, results[0])
                : bits.bytes == 2 ? fillIndices<uint16_t>(ctx, data, bits.mask, results[0])
                : bits.bytes == 4 ? fillIndices<uint32_t>(ctx, data, bits.mask, results[0])
                                  : fillIndices<uint64_t>(ctx, data, bits.mask, results[0]);
    return made ? WEIR_OK : WEIR_RESOURCE_EXHAUSTED;
  }
  int64_t elements = elementCountOf(data), count = 0;
  for (int64_t i = 0; i < elements; ++i)
    count += isNonZero(data, bits, i);
  int64_t dims[] = {count, data.rank};
  if (!shapeResult(ctx, results[0], 2, dims))
    return WEIR_RESOURCE_EXHAUSTED;
  int64_t position[WEIR_MAX_RANK] = {}, out = 0;
  for (int64_t i = 0; i < elements; ++i) {
    if (isNonZero(data, bits, i))
      for (int32_t d = 0; d < data.rank; ++d)
        storeIndex(results[0], out++, position[d]);
    for (int32_t d = data.rank; d-- > 0;) {
      if (++position[d] < data.dims[d])
        break;
      position[d] = 0;
    }
  }
  return WEIR_OK;
}
