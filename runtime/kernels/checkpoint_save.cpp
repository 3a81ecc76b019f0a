//===- checkpoint_save.cpp - writing tensors to checkpoints ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkpoint/bundle.h"
#include "kernels/checkpoint_call.h"

using namespace weir::rt;

int32_t weir_kernel_save(weir_context *ctx, const weir_tensor *operands, int32_t operand_count,
                         weir_tensor *, int32_t, const int64_t *attributes) {
  CheckpointCall call;
  const weir_tensor *tensors = operands + 3;
  if (int32_t code = readCall(ctx, operands, true, operand_count - 3, &call))
    return code;
  weir_status status = WEIR_STATUS_INIT;
  BundleWriter writer;
  int32_t code = writer.open(call.prefix, &status);
  for (int64_t i = 0; i < call.count && !code; ++i) {
    StoredShape own = shapeOfTensor(tensors[i]), shape = own, sliced;
    TensorSlice slice;
    code = partOfTensor(call, i, &shape, &slice, &sliced, &status);
    if (!code && !(sliced == own))
      return failString(ctx, "slice ", call.slices[i],
                        " is of another shape than the tensor that is to be saved");
    if (!code)
      code = writer.addSlice(call.names[i], int32_t(attributes[i]), shape, slice, tensors[i].data,
                             &status);
  }
  if (!code)
    code = writer.finish(&status);
  return code ? failStatus(ctx, status) : int32_t(WEIR_OK);
}
