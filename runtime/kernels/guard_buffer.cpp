//===- guard_buffer.cpp - watches planned buffers at run time -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/kernel_support.h"

#include <string.h>

using namespace weir::rt;

namespace {

constexpr int64_t guardBytes = 64;
constexpr uint8_t guardByte = 0xa5;
/// A NaN in every float format, -1 in integers.
constexpr uint8_t poison = 0xff;

bool isWhole(const uint8_t *guard) {
  uint8_t wrong = 0;
  for (int64_t i = 0; i < guardBytes; ++i)
    wrong |= guard[i] ^ guardByte;
  return !wrong;
}

} // namespace

int32_t weir_kernel_guard_buffer(weir_context *ctx, const weir_tensor *operands, int32_t,
                                 weir_tensor *, int32_t, const int64_t *attributes) {
  // The one function that writes to its operand: the plan's own, not a value.
  auto *data = static_cast<uint8_t *>(operands[0].data);
  int64_t bytes = elementCountOf(operands[0]) * weir_dtype_size(operands[0].dtype);
  // Plans round sizes up.
  uint8_t *end = data + (bytes + 63) / 64 * 64;
  bool isEnd = attributes[0];
  if (isEnd && !isWhole(data - guardBytes))
    return failMessage(ctx, WEIR_INTERNAL, "something was written in front of its planned buffer");
  if (isEnd && !isWhole(end))
    return failMessage(ctx, WEIR_INTERNAL, "something was written behind its planned buffer");
  if (!isEnd) {
    memset(data - guardBytes, guardByte, guardBytes);
    memset(end, guardByte, guardBytes);
  }
  memset(data, poison, size_t(end - data));
  return WEIR_OK;
}
