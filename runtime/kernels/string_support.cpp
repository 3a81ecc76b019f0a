//===- string_support.cpp - what kernels of strings share ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/string_support.h"

namespace weir::rt {

bool allStrings(const weir_tensor *operands, int32_t count) {
  for (int32_t i = 0; i < count; ++i)
    if (operands[i].dtype != WEIR_STRING)
      return false;
  return true;
}

bool loadString(const weir_tensor &tensor, weir_string *value) {
  if (tensor.dtype != WEIR_STRING || elementCountOf(tensor) != 1)
    return false;
  *value = stringsOf(tensor)[0];
  return true;
}

int64_t integerAt(const weir_tensor &tensor, int64_t i) {
  weir_tensor one = tensor;
  one.rank = 0;
  one.data = static_cast<uint8_t *>(tensor.data) + i * weir_dtype_size(tensor.dtype);
  int64_t value = 0;
  loadInteger(one, &value);
  return value;
}

int32_t failOperands(weir_context *ctx, const weir_tensor *operands, int32_t count) {
  for (int32_t i = 0; i < count; ++i)
    if (operands[i].dtype != WEIR_STRING)
      return failDtype(ctx, "a string operand", operands[i].dtype);
  return failMessage(ctx, WEIR_INVALID_ARGUMENT, "the operands' shapes do not fit each other");
}

int32_t openStringMap(weir_context *ctx, const weir_tensor *operands, int32_t operand_count,
                      weir_tensor *results, int32_t result_count) {
  if (operand_count != 1 || result_count != 1 || !allStrings(operands, 1) ||
      results[0].dtype != WEIR_STRING)
    return failOperands(ctx, operands, operand_count);
  return shapeResult(ctx, results[0], operands[0].rank, operands[0].dims) ? WEIR_OK
                                                                          : WEIR_RESOURCE_EXHAUSTED;
}

int32_t failString(weir_context *ctx, const char *before, const weir_string &string,
                   const char *after) {
  char text[400];
  Text out(text, sizeof(text));
  out << before << '"';
  out.append(string.data, string.size < 200 ? string.size : 200) << '"' << after;
  return weir_custom_error(ctx, WEIR_INVALID_ARGUMENT, text);
}

bool Broadcast::init(const weir_tensor *tensors, int32_t count) {
  operands = tensors;
  for (int32_t t = 0; t < count; ++t)
    rank = tensors[t].rank > rank ? tensors[t].rank : rank;
  for (int32_t d = 0; d < rank; ++d) {
    dims[d] = 1;
    for (int32_t t = 0; t < count; ++t) {
      int64_t size = sizeOf(t, d);
      if (size == 1 || size == dims[d])
        continue;
      if (dims[d] != 1)
        return false;
      dims[d] = size;
    }
  }
  return true;
}

int64_t Broadcast::count() const {
  int64_t result = 1;
  for (int32_t d = 0; d < rank; ++d)
    result *= dims[d];
  return result;
}

int64_t Broadcast::element(int32_t t, int64_t index) const {
  int64_t element = 0, stride = 1;
  for (int32_t d = rank; d-- > 0; index /= dims[d]) {
    int64_t size = sizeOf(t, d);
    if (size != 1)
      element += index % dims[d] * stride;
    stride *= size;
  }
  return element;
}

char *Contents::make(int64_t size) {
  if (size > left || !next) {
    piece = piece < (1 << 20) ? piece * 2 : piece;
    int64_t wanted = size > piece ? size : piece;
    next = static_cast<char *>(weir_custom_alloc(ctx, wanted));
    left = next ? wanted : 0;
    if (!next)
      return nullptr;
  }
  char *made = next;
  next += size;
  left -= size;
  return made;
}

} // namespace weir::rt
