//===- checkpoint_merge.cpp - one checkpoint of several -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkpoint/bundle.h"
#include "kernels/checkpoint_call.h"

#include <unistd.h>

using namespace weir::rt;

int32_t weir_kernel_merge_checkpoints(weir_context *ctx, const weir_tensor *operands,
                                      int32_t operand_count, weir_tensor *, int32_t,
                                      const int64_t *attributes) {
  weir_string merged;
  if (operand_count != 2 || !allStrings(operands, 2))
    return failOperands(ctx, operands, operand_count);
  if (operands[0].rank != 1 || operands[1].rank != 0 || !loadString(operands[1], &merged))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       "wanted are a vector of checkpoints and one name of what they become");
  const weir_string *prefixes = stringsOf(operands[0]);
  int64_t count = elementCountOf(operands[0]);
  weir_status status = WEIR_STATUS_INIT;
  if (mergeBundles(prefixes, count, merged, attributes[1] != 0, &status))
    return failStatus(ctx, status);
  // Folders of the parts, where they are empty now and others than that of the whole.
  weir_string home = folderOf(merged);
  for (int64_t i = 0; i < count && attributes[0]; ++i) {
    weir_string folder = folderOf(prefixes[i]);
    HeapText path;
    path << folder << '\0';
    if (folder.size > 0 && !path.failed() && compareBytes(folder, home) != 0)
      rmdir(path.data());
  }
  return WEIR_OK;
}
