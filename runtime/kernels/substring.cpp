//===- substring.cpp - parts and lengths of strings -------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/string_support.h"
#include "kernels/unicode.h"

using namespace weir::rt;

/// Moves over up to `count` characters from `at`; false: there are fewer.
static bool skipCharacters(const weir_string &text, int64_t &at, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (at >= text.size)
      return false;
    do
      ++at;
    while (at < text.size && isContinuation(text.data[at]));
  }
  return true;
}

/// Turns a position and a length in characters into ones in bytes. False: the
/// position lies outside of the text.
static bool toBytes(const weir_string &text, int64_t &at, int64_t &size) {
  int64_t begin = 0;
  if (at >= 0) {
    if (at > text.size || !skipCharacters(text, begin, at))
      return false;
  } else {
    int64_t left = at;
    begin = text.size;
    while (left < 0 && begin > 0) {
      do
        --begin;
      while (begin > 0 && isContinuation(text.data[begin]));
      ++left;
    }
    if (left < 0)
      return false;
  }
  int64_t end = begin;
  if (size < 0 || size > text.size)
    end = text.size;
  else
    skipCharacters(text, end, size);
  at = begin;
  size = end - begin;
  return true;
}

int32_t weir_kernel_string_slice(weir_context *ctx, const weir_tensor *operands,
                                 int32_t operand_count, weir_tensor *results, int32_t result_count,
                                 const int64_t *attributes) {
  Broadcast whole;
  if (operand_count != 3 || result_count != 1 || !allStrings(operands, 1) ||
      results[0].dtype != WEIR_STRING || !whole.init(operands, 3))
    return failOperands(ctx, operands, 1);
  if (!sameShape(operands[1], operands[2]))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "positions and lengths have different shapes");
  if (!shapeResult(ctx, results[0], whole.rank, whole.dims))
    return WEIR_RESOURCE_EXHAUSTED;
  int64_t count = whole.count();
  Contents contents(ctx);
  for (int64_t i = 0; i < count; ++i) {
    const weir_string &text = whole.at(0, i);
    int64_t at = integerAt(operands[1], whole.element(1, i));
    int64_t size = integerAt(operands[2], whole.element(2, i));
    int64_t given = at;
    bool fits = true;
    if (attributes[0]) {
      fits = toBytes(text, at, size);
    } else {
      at += at < 0 ? text.size : 0;
      fits = at >= 0 && at <= text.size;
      if (size < 0 || size > text.size - at)
        size = text.size - at;
    }
    if (!fits) {
      char message[64];
      Text(message, sizeof(message)) << "position " << given << " is outside of string ";
      return failString(ctx, message, text);
    }
    if (!contents.copy(text.data + at, size, &stringResult(results[0])[i]))
      return WEIR_RESOURCE_EXHAUSTED;
  }
  return WEIR_OK;
}

int32_t weir_kernel_string_length(weir_context *ctx, const weir_tensor *operands,
                                  int32_t operand_count, weir_tensor *results, int32_t result_count,
                                  const int64_t *attributes) {
  if (operand_count != 1 || result_count != 1 || !allStrings(operands, 1) ||
      !isIndexType(results[0].dtype))
    return failOperands(ctx, operands, operand_count);
  if (!shapeResult(ctx, results[0], operands[0].rank, operands[0].dims))
    return WEIR_RESOURCE_EXHAUSTED;
  int64_t count = elementCountOf(operands[0]);
  for (int64_t i = 0; i < count; ++i) {
    const weir_string &text = stringsOf(operands[0])[i];
    storeIndex(results[0], i, attributes[0] ? countUtf8(text) : text.size);
  }
  return WEIR_OK;
}

int32_t weir_kernel_string_strip(weir_context *ctx, const weir_tensor *operands,
                                 int32_t operand_count, weir_tensor *results, int32_t result_count,
                                 const int64_t *) {
  if (int32_t code = openStringMap(ctx, operands, operand_count, results, result_count))
    return code;
  int64_t count = elementCountOf(operands[0]);
  Contents contents(ctx);
  for (int64_t i = 0; i < count; ++i) {
    const weir_string &text = stringsOf(operands[0])[i];
    int64_t begin = 0, end = text.size;
    while (begin < end && isSpace(text.data[begin]))
      ++begin;
    while (end > begin && isSpace(text.data[end - 1]))
      --end;
    if (!contents.copy(text.data + begin, end - begin, &stringResult(results[0])[i]))
      return WEIR_RESOURCE_EXHAUSTED;
  }
  return WEIR_OK;
}
