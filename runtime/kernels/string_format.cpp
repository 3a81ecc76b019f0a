//===- string_format.cpp - tensors in running text -------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/tensor_text.h"

using namespace weir::rt;

int32_t weir_kernel_string_format(weir_context *ctx, const weir_tensor *operands,
                                  int32_t operand_count, weir_tensor *results, int32_t result_count,
                                  const int64_t *attributes) {
  weir_string pattern, placeholder;
  if (operand_count < 2 || result_count != 1 || results[0].dtype != WEIR_STRING ||
      !loadString(operands[0], &pattern) || !loadString(operands[1], &placeholder))
    return failOperands(ctx, operands, 2);
  if (!shapeResult(ctx, results[0], 0, nullptr))
    return WEIR_RESOURCE_EXHAUSTED;
  PlainLocale locale;
  Growing text(ctx);
  int32_t next = 2;
  int64_t found = 0;
  for (int64_t i = 0; i < pattern.size;) {
    if (placeholder.size == 0 || i + placeholder.size > pattern.size ||
        memcmp(pattern.data + i, placeholder.data, size_t(placeholder.size))) {
      text << pattern.data[i++];
      continue;
    }
    i += placeholder.size;
    ++found;
    if (next < operand_count)
      printEnds(operands[next++], attributes[0], text);
  }
  if (found != operand_count - 2) {
    char message[128];
    Text(message, sizeof(message))
        << "the template has " << found << " placeholders for " << operand_count - 2 << " tensors";
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, message);
  }
  Contents contents(ctx);
  if (text.failed() || !contents.copy(text.data(), text.size(), stringResult(results[0])))
    return WEIR_RESOURCE_EXHAUSTED;
  return WEIR_OK;
}
