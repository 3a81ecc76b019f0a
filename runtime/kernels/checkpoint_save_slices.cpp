//===- checkpoint_save_slices.cpp - writing checkpoints of format V1 ------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkpoint/slices_file.h"
#include "kernels/checkpoint_call.h"

using namespace weir::rt;

int32_t weir_kernel_save_slices(weir_context *ctx, const weir_tensor *operands,
                                int32_t operand_count, weir_tensor *, int32_t,
                                const int64_t *attributes) {
  CheckpointCall call;
  bool hasSlices = attributes[0] != 0;
  int32_t first = hasSlices ? 3 : 2;
  if (int32_t code = readCall(ctx, operands, hasSlices, operand_count - first, &call))
    return code;
  // By name; of one name in the order they came in.
  HeapList<int64_t> order;
  for (int64_t i = 0; i < call.count; ++i)
    order.push(i);
  if (order.failed())
    return failMessage(ctx, WEIR_RESOURCE_EXHAUSTED, "no memory for a checkpoint");
  order.sort(
      [](const void *a, const void *b, void *self) {
        auto *names = static_cast<const weir_string *>(self);
        int64_t i = *static_cast<const int64_t *>(a), k = *static_cast<const int64_t *>(b);
        int less = compareBytes(names[i], names[k]);
        return less ? less : i < k ? -1 : 1;
      },
      const_cast<weir_string *>(call.names));
  weir_status status = WEIR_STATUS_INIT;
  SlicesWriter writer;
  int32_t code = writer.open(call.prefix, &status);
  for (int64_t n = 0; n < call.count && !code; ++n) {
    int64_t i = order[n];
    const weir_tensor &tensor = operands[first + i];
    StoredShape own = shapeOfTensor(tensor), shape = own, sliced;
    TensorSlice slice;
    code = partOfTensor(call, i, &shape, &slice, &sliced, &status);
    if (!code && !(sliced == own))
      return failString(ctx, "slice ", call.slices[i],
                        " is of another shape than the tensor that is to be saved");
    if (!code)
      code =
          writer.add(call.names[i], int32_t(attributes[1 + i]), shape, slice, tensor.data, &status);
  }
  if (!code)
    code = writer.finish(&status);
  return code ? failStatus(ctx, status) : int32_t(WEIR_OK);
}
