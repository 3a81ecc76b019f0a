//===- tensors.cpp - sizes and copies of tensors --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/session.h"

namespace weir::rt {

int64_t elementCount(int32_t rank, const int64_t *dims) {
  int64_t count = 1;
  bool overflow = false, empty = false;
  for (int32_t i = 0; i < rank; ++i) {
    if (dims[i] < 0)
      return -1;
    empty |= dims[i] == 0;
    overflow |= __builtin_mul_overflow(count, dims[i], &count);
  }
  // One 0 makes an empty tensor of what would have been too many.
  return empty ? 0 : overflow ? -1 : count;
}

static bool isString(const weir_tensor &tensor) {
  return tensor.dtype == WEIR_STRING;
}

int64_t copyBytes(const weir_tensor &tensor) {
  int64_t bytes = tensor.bytes;
  if (isString(tensor)) {
    auto *strings = static_cast<const weir_string *>(tensor.data);
    int64_t count = tensor.bytes / int64_t(sizeof(weir_string));
    for (int64_t i = 0; i < count; ++i)
      bytes += strings[i].size;
  }
  return bytes;
}

void copyElements(const weir_tensor &tensor, void *to) {
  if (tensor.bytes > 0)
    memcpy(to, tensor.data, size_t(tensor.bytes));
  if (!isString(tensor))
    return;
  // The contents follow the elements, which then point to them.
  auto *strings = static_cast<weir_string *>(to);
  auto *contents = static_cast<char *>(to) + tensor.bytes;
  int64_t count = tensor.bytes / int64_t(sizeof(weir_string));
  for (int64_t i = 0; i < count; ++i) {
    if (strings[i].size > 0)
      memcpy(contents, strings[i].data, size_t(strings[i].size));
    strings[i].data = contents;
    contents += strings[i].size;
  }
}

} // namespace weir::rt
