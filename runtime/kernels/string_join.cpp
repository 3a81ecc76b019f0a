//===- string_join.cpp - strings put together along dimensions --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/string_support.h"

using namespace weir::rt;

int32_t weir_kernel_string_join(weir_context *ctx, const weir_tensor *operands,
                                int32_t operand_count, weir_tensor *results, int32_t result_count,
                                const int64_t *) {
  weir_string separator;
  if (operand_count < 2 || result_count != 1 || results[0].dtype != WEIR_STRING ||
      !allStrings(operands, operand_count) || !loadString(operands[0], &separator))
    return failOperands(ctx, operands, operand_count);
  // Scalars go with any shape; all others have one.
  const weir_tensor *shape = &operands[1];
  for (int32_t t = 1; t < operand_count; ++t)
    if (operands[t].rank > 0)
      shape = &operands[t];
  for (int32_t t = 1; t < operand_count; ++t)
    if (operands[t].rank > 0 && !sameShape(operands[t], *shape))
      return failOperands(ctx, operands, operand_count);
  if (!shapeResult(ctx, results[0], shape->rank, shape->dims))
    return WEIR_RESOURCE_EXHAUSTED;
  int64_t count = elementCountOf(*shape);
  Contents contents(ctx);
  Growing text(ctx);
  for (int64_t i = 0; i < count; ++i) {
    text.clear();
    for (int32_t t = 1; t < operand_count; ++t) {
      if (t > 1)
        text << separator;
      text << stringsOf(operands[t])[operands[t].rank > 0 ? i : 0];
    }
    if (text.failed() || !contents.copy(text.data(), text.size(), &stringResult(results[0])[i]))
      return WEIR_RESOURCE_EXHAUSTED;
  }
  return WEIR_OK;
}

int32_t weir_kernel_string_reduce_join(weir_context *ctx, const weir_tensor *operands,
                                       int32_t operand_count, weir_tensor *results,
                                       int32_t result_count, const int64_t *attributes) {
  weir_string separator;
  if (operand_count != 2 || result_count != 1 || results[0].dtype != WEIR_STRING ||
      !allStrings(operands, 2) || !loadString(operands[1], &separator))
    return failOperands(ctx, operands, operand_count);
  const weir_tensor &data = operands[0];
  bool keepDims = attributes[0];
  const int64_t *axes = attributes + 2;
  auto axisCount = int32_t(attributes[1]);
  bool isReduced[WEIR_MAX_RANK] = {};
  int64_t strides[WEIR_MAX_RANK], dims[WEIR_MAX_RANK], inner = 1, stride = 1;
  for (int32_t d = data.rank; d-- > 0; stride *= data.dims[d])
    strides[d] = stride;
  for (int32_t a = 0; a < axisCount; ++a) {
    if (axes[a] < 0 || axes[a] >= data.rank || isReduced[axes[a]])
      return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                         "an axis is outside of the rank, or there twice");
    isReduced[axes[a]] = true;
    inner *= data.dims[axes[a]];
  }
  int32_t rank = 0;
  int64_t count = 1;
  for (int32_t d = 0; d < data.rank; ++d) {
    if (!isReduced[d])
      count *= data.dims[d];
    if (!isReduced[d] || keepDims)
      dims[rank++] = isReduced[d] ? 1 : data.dims[d];
  }
  if (!shapeResult(ctx, results[0], rank, dims))
    return WEIR_RESOURCE_EXHAUSTED;
  Contents contents(ctx);
  Growing text(ctx);
  for (int64_t i = 0; i < count; ++i) {
    int64_t base = 0, rest = i;
    for (int32_t d = data.rank; d-- > 0;)
      if (!isReduced[d]) {
        base += rest % data.dims[d] * strides[d];
        rest /= data.dims[d];
      }
    text.clear();
    // The axes' order is that of joining: the first varies fastest.
    for (int64_t k = 0; k < inner; ++k) {
      int64_t at = base;
      rest = k;
      for (int32_t a = 0; a < axisCount; rest /= data.dims[axes[a++]])
        at += rest % data.dims[axes[a]] * strides[axes[a]];
      if (k > 0)
        text << separator;
      text << stringsOf(data)[at];
    }
    if (text.failed() || !contents.copy(text.data(), text.size(), &stringResult(results[0])[i]))
      return WEIR_RESOURCE_EXHAUSTED;
  }
  return WEIR_OK;
}

int32_t weir_kernel_string_segment_join(weir_context *ctx, const weir_tensor *operands,
                                        int32_t operand_count, weir_tensor *results,
                                        int32_t result_count, const int64_t *) {
  weir_string separator;
  int64_t segments;
  if (operand_count != 4 || result_count != 1 || results[0].dtype != WEIR_STRING ||
      !allStrings(operands, 1) || !loadInteger(operands[2], &segments) ||
      !loadString(operands[3], &separator))
    return failOperands(ctx, operands, 1);
  const weir_tensor &data = operands[0], &ids = operands[1];
  bool fits = ids.rank <= data.rank && segments >= 0;
  for (int32_t d = 0; fits && d < ids.rank; ++d)
    fits = ids.dims[d] == data.dims[d];
  if (!fits)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       "the shape of the segment ids does not begin that of "
                       "the data, or there are less than 0 segments");
  int64_t dims[WEIR_MAX_RANK], inner = 1;
  int32_t rank = 0;
  dims[rank++] = segments;
  for (int32_t d = ids.rank; d < data.rank; ++d) {
    dims[rank++] = data.dims[d];
    inner *= data.dims[d];
  }
  int64_t idCount = elementCountOf(ids);
  for (int64_t i = 0; i < idCount; ++i) {
    int64_t id = integerAt(ids, i);
    if (id < 0 || id >= segments) {
      char message[128];
      Text(message, sizeof(message))
          << "segment id " << id << " is outside of [0, " << segments << ')';
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, message);
    }
  }
  // Rows by segment, in order: counted, then placed.
  Scratch<int64_t> begin(ctx, segments + 1), rows(ctx, idCount);
  if (!begin.data || !rows.data || !shapeResult(ctx, results[0], rank, dims))
    return WEIR_RESOURCE_EXHAUSTED;
  memset(begin.data, 0, size_t(segments + 1) * sizeof(int64_t));
  for (int64_t i = 0; i < idCount; ++i)
    ++begin[integerAt(ids, i) + 1];
  for (int64_t s = 0; s < segments; ++s)
    begin[s + 1] += begin[s];
  for (int64_t i = idCount; i-- > 0;)
    rows[--begin[integerAt(ids, i) + 1]] = i;
  Contents contents(ctx);
  Growing text(ctx);
  for (int64_t s = 0; s < segments; ++s) {
    int64_t from = begin[s + 1];
    int64_t to = s + 1 < segments ? begin[s + 2] : idCount;
    for (int64_t k = 0; k < inner; ++k) {
      text.clear();
      for (int64_t r = from; r < to; ++r) {
        if (text.size()) // as TensorFlow has it: no separator behind empty strings alone
          text << separator;
        text << stringsOf(data)[rows[r] * inner + k];
      }
      if (text.failed() ||
          !contents.copy(text.data(), text.size(), &stringResult(results[0])[s * inner + k]))
        return WEIR_RESOURCE_EXHAUSTED;
    }
  }
  return WEIR_OK;
}
