//===- sharded_name.cpp - names of shards ---------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkpoint/bundle.h"
#include "kernels/string_support.h"

using namespace weir::rt;

int32_t weir_kernel_sharded_name(weir_context *ctx, const weir_tensor *operands,
                                 int32_t operand_count, weir_tensor *results, int32_t,
                                 const int64_t *) {
  weir_string base;
  for (int32_t i = 0; i < operand_count; ++i)
    if (operands[i].rank != 0)
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, "wanted are scalars");
  if (!loadString(operands[0], &base))
    return failOperands(ctx, operands, 1);
  HeapText name;
  name << base << '-';
  if (operand_count == 3)
    writeFiveDigits(name, integerAt(operands[1], 0));
  else
    name << "?????";
  name << "-of-";
  writeFiveDigits(name, integerAt(operands[operand_count - 1], 0));
  Contents contents(ctx);
  if (name.failed())
    return failMessage(ctx, WEIR_RESOURCE_EXHAUSTED, "no memory for a name");
  return shapeResult(ctx, results[0], 0, nullptr) &&
                 contents.copy(name.data(), name.size(), stringResult(results[0]))
             ? int32_t(WEIR_OK)
             : int32_t(WEIR_RESOURCE_EXHAUSTED);
}
