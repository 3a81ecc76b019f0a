//===- string_hash.cpp - buckets and fingerprints --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/hashes.h"
#include "kernels/string_support.h"

using namespace weir::rt;

int32_t weir_kernel_string_hash(weir_context *ctx, const weir_tensor *operands,
                                int32_t operand_count, weir_tensor *results, int32_t result_count,
                                const int64_t *attributes) {
  if (operand_count != 1 || result_count != 1 || !allStrings(operands, 1) ||
      results[0].dtype != WEIR_I64 || attributes[1] <= 0)
    return failOperands(ctx, operands, operand_count);
  if (!shapeResult(ctx, results[0], operands[0].rank, operands[0].dims))
    return WEIR_RESOURCE_EXHAUSTED;
  auto *out = static_cast<int64_t *>(results[0].data);
  auto buckets = uint64_t(attributes[1]);
  int64_t count = elementCountOf(operands[0]);
  for (int64_t i = 0; i < count; ++i) {
    const weir_string &text = stringsOf(operands[0])[i];
    uint64_t hash;
    switch (attributes[0]) {
    case 0:
      hash = murmur64(text.data, text.size, 0xdecafcaffe);
      break;
    case 1:
      hash = farmFingerprint64(text.data, text.size);
      break;
    default:
      hash = sipHash24(text.data, text.size, uint64_t(attributes[2]), uint64_t(attributes[3]));
    }
    out[i] = int64_t(hash % buckets);
  }
  return WEIR_OK;
}

int32_t weir_kernel_murmur3(weir_context *ctx, const weir_tensor *operands, int32_t operand_count,
                            weir_tensor *results, int32_t result_count, const int64_t *attributes) {
  const weir_tensor &data = operands[0];
  int64_t size = data.dtype == WEIR_STRING ? 0 : weir_dtype_size(data.dtype);
  if (operand_count != 1 || result_count != 1 ||
      (results[0].dtype != WEIR_I32 && results[0].dtype != WEIR_U32) ||
      (size != 0 && size != 4 && size != 8))
    return failDtype(ctx, "what is hashed", data.dtype);
  if (!shapeResult(ctx, results[0], data.rank, data.dims))
    return WEIR_RESOURCE_EXHAUSTED;
  auto *out = static_cast<uint32_t *>(results[0].data);
  auto seed = uint32_t(attributes[0]);
  int64_t count = elementCountOf(data);
  for (int64_t i = 0; i < count; ++i)
    out[i] = size ? murmur3(static_cast<const uint8_t *>(data.data) + i * size, size, seed)
                  : murmur3(stringsOf(data)[i].data, stringsOf(data)[i].size, seed);
  return WEIR_OK;
}

int32_t weir_kernel_fingerprint(weir_context *ctx, const weir_tensor *operands,
                                int32_t operand_count, weir_tensor *results, int32_t result_count,
                                const int64_t *) {
  weir_string method;
  if (operand_count != 2 || result_count != 1 || results[0].dtype != WEIR_U8 ||
      operands[0].rank < 1 || !loadString(operands[1], &method))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "the data is a scalar, or the method no string");
  if (!equalStrings(method, stringOf("farmhash64")))
    return failString(ctx, "expected the method farmhash64, got ", method, "");
  const weir_tensor &data = operands[0];
  int64_t dims[2] = {data.dims[0], 8}, rows = data.dims[0];
  int64_t count = elementCountOf(data), inner = rows ? count / rows : 0;
  if (!shapeResult(ctx, results[0], 2, dims))
    return WEIR_RESOURCE_EXHAUSTED;
  auto *out = static_cast<uint8_t *>(results[0].data);
  if (data.dtype != WEIR_STRING) {
    int64_t bytes = inner * weir_dtype_size(data.dtype);
    for (int64_t r = 0; r < rows; ++r) {
      uint64_t hash = farmFingerprint64(static_cast<const uint8_t *>(data.data) + r * bytes, bytes);
      memcpy(out + 8 * r, &hash, 8);
    }
    return WEIR_OK;
  }
  // Strings are fingerprinted one by one, and a row of several of them by the
  // fingerprints.
  Scratch<uint64_t> hashes(ctx, count);
  if (!hashes.data)
    return WEIR_RESOURCE_EXHAUSTED;
  for (int64_t i = 0; i < count; ++i)
    hashes[i] = farmFingerprint64(stringsOf(data)[i].data, stringsOf(data)[i].size);
  for (int64_t r = 0; r < rows; ++r) {
    uint64_t hash =
        data.rank == 1 ? hashes[r] : farmFingerprint64(hashes.data + r * inner, inner * 8);
    memcpy(out + 8 * r, &hash, 8);
  }
  return WEIR_OK;
}
