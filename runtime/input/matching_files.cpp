//===- matching_files.cpp - the files whose names match a pattern ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/string_support.h"
#include "support/files.h"
#include "weir/input.h"

using namespace weir::rt;

int32_t weir_kernel_matching_files(weir_context *ctx, const weir_tensor *operands,
                                   int32_t operand_count, weir_tensor *results, int32_t,
                                   const int64_t *) {
  if (operand_count != 1 || !allStrings(operands, 1))
    return failOperands(ctx, operands, operand_count);
  MatchingFiles files;
  weir_status status = WEIR_STATUS_INIT;
  for (int64_t i = 0; i < elementCountOf(operands[0]); ++i)
    if (files.add(stringsOf(operands[0])[i], &status) != WEIR_OK)
      return failMessage(ctx, status.code, status.message);
  files.sort();
  int64_t count = files.size();
  if (!shapeResult(ctx, results[0], 1, &count))
    return WEIR_RESOURCE_EXHAUSTED;
  Contents contents(ctx);
  for (int64_t i = 0; i < count; ++i)
    if (!contents.copy(files[i], int64_t(strlen(files[i])), &stringResult(results[0])[i]))
      return WEIR_RESOURCE_EXHAUSTED;
  return WEIR_OK;
}
