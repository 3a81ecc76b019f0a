//===- base64.cpp - base64, with the alphabet that is safe in addresses ----===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// RFC 4648, section 5. Padding is optional.
//
//===----------------------------------------------------------------------===//

#include "kernels/string_support.h"

using namespace weir::rt;

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static int32_t valueOf(char c) {
  const char *at = c ? strchr(alphabet, c) : nullptr;
  return at ? int32_t(at - alphabet) : -1;
}

int32_t weir_kernel_encode_base64(weir_context *ctx, const weir_tensor *operands,
                                  int32_t operand_count, weir_tensor *results, int32_t result_count,
                                  const int64_t *attributes) {
  if (int32_t code = openStringMap(ctx, operands, operand_count, results, result_count))
    return code;
  int64_t count = elementCountOf(operands[0]);
  Contents contents(ctx);
  for (int64_t i = 0; i < count; ++i) {
    const weir_string &text = stringsOf(operands[0])[i];
    char *to = contents.make((text.size + 2) / 3 * 4), *at = to;
    if (!to)
      return WEIR_RESOURCE_EXHAUSTED;
    for (int64_t k = 0; k < text.size; k += 3) {
      int64_t bytes = text.size - k < 3 ? text.size - k : 3;
      uint32_t word = 0;
      for (int64_t b = 0; b < 3; ++b)
        word = word << 8 | (b < bytes ? uint8_t(text.data[k + b]) : 0u);
      for (int64_t c = 0; c < 4; ++c)
        if (c <= bytes)
          *at++ = alphabet[word >> (18 - 6 * c) & 63];
        else if (attributes[0])
          *at++ = '=';
    }
    stringResult(results[0])[i] = {to, at - to};
  }
  return WEIR_OK;
}

int32_t weir_kernel_decode_base64(weir_context *ctx, const weir_tensor *operands,
                                  int32_t operand_count, weir_tensor *results, int32_t result_count,
                                  const int64_t *) {
  if (int32_t code = openStringMap(ctx, operands, operand_count, results, result_count))
    return code;
  int64_t count = elementCountOf(operands[0]);
  Contents contents(ctx);
  for (int64_t i = 0; i < count; ++i) {
    const weir_string &text = stringsOf(operands[0])[i];
    int64_t size = text.size;
    if (size % 4 == 0)
      for (int k = 0; k < 2 && size > 0 && text.data[size - 1] == '='; ++k)
        --size;
    if (size % 4 == 1)
      return failString(ctx, "the length of ", text, " is 1 modulo 4, which base64 never has");
    char *to = contents.make(size / 4 * 3 + 3), *at = to;
    if (!to)
      return WEIR_RESOURCE_EXHAUSTED;
    uint32_t word = 0;
    int32_t bits = 0;
    for (int64_t k = 0; k < size; ++k) {
      int32_t value = valueOf(text.data[k]);
      if (value < 0)
        return failString(ctx, "found a character in ", text,
                          " that base64 (RFC 4648, section 5) does not have");
      word = word << 6 | uint32_t(value);
      bits += 6;
      if (bits >= 8) {
        bits -= 8;
        *at++ = char(word >> bits);
      }
    }
    stringResult(results[0])[i] = {to, at - to};
  }
  return WEIR_OK;
}
