//===- strings.cpp - strings put together and taken apart -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/string_support.h"

using namespace weir::rt;

namespace {

/// Calls part(data, size) for each part of a string; returns how many.
template <typename Part>
int64_t splitString(const weir_string &string, const weir_string &delimiter, int64_t most,
                    Part part) {
  int64_t count = 0, at = 0;
  if (delimiter.size == 0) {
    for (;;) {
      while (at < string.size && isSpace(string.data[at]))
        ++at;
      if (at == string.size)
        return count;
      int64_t end = at;
      // What remains after the last split is one part, white space and all.
      if (most >= 0 && count == most) {
        part(string.data + at, string.size - at);
        return count + 1;
      }
      while (end < string.size && !isSpace(string.data[end]))
        ++end;
      part(string.data + at, end - at);
      ++count;
      at = end;
    }
  }
  for (int64_t end = 0; end + delimiter.size <= string.size;) {
    if ((most >= 0 && count == most) ||
        memcmp(string.data + end, delimiter.data, size_t(delimiter.size))) {
      ++end;
      continue;
    }
    part(string.data + at, end - at);
    ++count;
    at = end += delimiter.size;
  }
  part(string.data + at, string.size - at);
  return count + 1;
}

} // namespace

int32_t weir_kernel_string_concat(weir_context *ctx, const weir_tensor *operands,
                                  int32_t operand_count, weir_tensor *results, int32_t result_count,
                                  const int64_t *) {
  Broadcast whole;
  if (operand_count < 1 || result_count != 1 || results[0].dtype != WEIR_STRING ||
      !allStrings(operands, operand_count) || !whole.init(operands, operand_count))
    return failOperands(ctx, operands, operand_count);
  int64_t count = whole.count(), bytes = 0;
  for (int64_t i = 0; i < count; ++i)
    for (int32_t t = 0; t < operand_count; ++t)
      bytes += whole.at(t, i).size;
  auto *contents = static_cast<char *>(weir_custom_alloc(ctx, bytes));
  if (!contents || !shapeResult(ctx, results[0], whole.rank, whole.dims))
    return WEIR_RESOURCE_EXHAUSTED;
  auto *out = static_cast<weir_string *>(results[0].data);
  for (int64_t i = 0; i < count; ++i) {
    out[i].data = contents;
    for (int32_t t = 0; t < operand_count; ++t) {
      const weir_string &part = whole.at(t, i);
      if (part.size > 0)
        memcpy(contents, part.data, size_t(part.size));
      contents += part.size;
    }
    out[i].size = contents - out[i].data;
  }
  return WEIR_OK;
}

int32_t weir_kernel_string_equal(weir_context *ctx, const weir_tensor *operands,
                                 int32_t operand_count, weir_tensor *results, int32_t result_count,
                                 const int64_t *) {
  Broadcast whole;
  if (operand_count != 2 || result_count != 1 || results[0].dtype != WEIR_BOOL ||
      !allStrings(operands, 2) || !whole.init(operands, 2))
    return failOperands(ctx, operands, operand_count);
  if (!shapeResult(ctx, results[0], whole.rank, whole.dims))
    return WEIR_RESOURCE_EXHAUSTED;
  auto *out = static_cast<uint8_t *>(results[0].data);
  int64_t count = whole.count();
  for (int64_t i = 0; i < count; ++i) {
    const weir_string &a = whole.at(0, i), &b = whole.at(1, i);
    out[i] = a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, size_t(a.size)) == 0);
  }
  return WEIR_OK;
}

int32_t weir_kernel_string_split(weir_context *ctx, const weir_tensor *operands,
                                 int32_t operand_count, weir_tensor *results, int32_t result_count,
                                 const int64_t *attributes) {
  if (operand_count != 2 || result_count != 2 || !allStrings(operands, 2) ||
      results[0].dtype != WEIR_STRING || !isIndexType(results[1].dtype) ||
      elementCountOf(operands[1]) != 1 || operands[0].rank >= WEIR_MAX_RANK)
    return failOperands(ctx, operands, operand_count);
  const weir_tensor &data = operands[0];
  const weir_string &delimiter = stringsOf(operands[1])[0];
  int64_t count = elementCountOf(data), width = 0, bytes = 0;
  for (int64_t i = 0; i < count; ++i) {
    int64_t parts = splitString(stringsOf(data)[i], delimiter, attributes[0],
                                [&](const char *, int64_t size) { bytes += size; });
    width = parts > width ? parts : width;
  }
  int64_t dims[WEIR_MAX_RANK];
  for (int32_t d = 0; d < data.rank; ++d)
    dims[d] = data.dims[d];
  dims[data.rank] = width;
  // A copy: a result must not point into operands, which its reader may not
  // have.
  auto *contents = static_cast<char *>(weir_custom_alloc(ctx, bytes));
  if (!contents || !shapeResult(ctx, results[0], data.rank + 1, dims) ||
      !shapeResult(ctx, results[1], data.rank, dims))
    return WEIR_RESOURCE_EXHAUSTED;
  auto *out = static_cast<weir_string *>(results[0].data);
  for (int64_t i = 0; i < count; ++i) {
    int64_t parts = 0;
    splitString(stringsOf(data)[i], delimiter, attributes[0], [&](const char *part, int64_t size) {
      if (size > 0)
        memcpy(contents, part, size_t(size));
      out[i * width + parts++] = {contents, size};
      contents += size;
    });
    storeIndex(results[1], i, parts);
    for (; parts < width; ++parts)
      out[i * width + parts] = {contents, 0};
  }
  return WEIR_OK;
}
