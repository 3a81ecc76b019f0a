//===- decode_raw.cpp - bytes of strings as numbers ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/string_support.h"

using namespace weir::rt;

/// Bytes of the parts whose order of bytes counts.
static int64_t partSize(int32_t dtype) {
  int64_t size = weir_dtype_size(dtype);
  return dtype == WEIR_C64 || dtype == WEIR_C128 ? size / 2 : size;
}

int32_t weir_kernel_decode_raw(weir_context *ctx, const weir_tensor *operands,
                               int32_t operand_count, weir_tensor *results, int32_t result_count,
                               const int64_t *attributes) {
  bool isPadded = operand_count == 2;
  if ((operand_count != 1 && !isPadded) || result_count != 1 || !allStrings(operands, 1) ||
      results[0].dtype == WEIR_STRING || operands[0].rank >= WEIR_MAX_RANK)
    return failOperands(ctx, operands, operand_count);
  const weir_tensor &data = operands[0];
  int64_t count = elementCountOf(data), bytes = 0;
  int64_t size = weir_dtype_size(results[0].dtype);
  char message[200];
  Text out(message, sizeof(message));
  if (isPadded) {
    if (!loadInteger(operands[1], &bytes) || bytes <= 0 || bytes % size != 0) {
      out << "expected a length that is a positive multiple of " << size << " bytes, got " << bytes;
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, message);
    }
  } else {
    for (int64_t i = 0; i < count; ++i) {
      int64_t own = stringsOf(data)[i].size;
      bytes = i == 0 ? own : bytes;
      if (own == bytes)
        continue;
      out << "string " << i << " has " << own << " bytes, and the first has " << bytes
          << "; they must be the same";
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, message);
    }
    if (bytes % size != 0) {
      out << "the strings have " << bytes << " bytes, which is no multiple of " << size;
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, message);
    }
  }
  int64_t dims[WEIR_MAX_RANK];
  for (int32_t d = 0; d < data.rank; ++d)
    dims[d] = data.dims[d];
  dims[data.rank] = bytes / size;
  if (!shapeResult(ctx, results[0], data.rank + 1, dims))
    return WEIR_RESOURCE_EXHAUSTED;
  auto *to = static_cast<uint8_t *>(results[0].data);
  for (int64_t i = 0; i < count; ++i, to += bytes) {
    const weir_string &text = stringsOf(data)[i];
    int64_t own = text.size < bytes ? text.size : bytes;
    if (own > 0)
      memcpy(to, text.data, size_t(own));
    memset(to + own, 0, size_t(bytes - own));
    int64_t part = partSize(results[0].dtype);
    for (int64_t k = 0; !attributes[0] && part > 1 && k < bytes; k += part)
      for (int64_t b = 0; b < part / 2; ++b) {
        uint8_t kept = to[k + b];
        to[k + b] = to[k + part - 1 - b];
        to[k + part - 1 - b] = kept;
      }
  }
  return WEIR_OK;
}
