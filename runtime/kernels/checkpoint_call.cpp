//===- checkpoint_call.cpp - operands of kernels for checkpoints ----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/checkpoint_call.h"

namespace weir::rt {

int32_t readCall(weir_context *ctx, const weir_tensor *operands, bool hasSlices, int64_t tensors,
                 CheckpointCall *call) {
  char text[200];
  Text out(text, sizeof(text));
  int32_t strings = hasSlices ? 3 : 2;
  if (!allStrings(operands, strings))
    return failOperands(ctx, operands, strings);
  call->count = elementCountOf(operands[1]);
  call->names = stringsOf(operands[1]);
  call->slices = hasSlices ? stringsOf(operands[2]) : nullptr;
  if (elementCountOf(operands[0]) != 1)
    out << "expected one name of a checkpoint, got " << elementCountOf(operands[0]);
  else if (hasSlices && elementCountOf(operands[2]) != call->count)
    out << "found " << call->count << " names of tensors, and " << elementCountOf(operands[2])
        << " specifications of slices";
  else if (call->count != tensors)
    out << "found " << call->count << " names, and " << tensors << " tensors";
  else {
    call->prefix = stringsOf(operands[0])[0];
    return WEIR_OK;
  }
  return failMessage(ctx, WEIR_INVALID_ARGUMENT, text);
}

StoredShape shapeOfTensor(const weir_tensor &tensor) {
  StoredShape shape;
  shape.rank = tensor.rank;
  memcpy(shape.dims, tensor.dims, size_t(tensor.rank) * sizeof(int64_t));
  return shape;
}

int32_t partOfTensor(const CheckpointCall &call, int64_t i, StoredShape *shape, TensorSlice *slice,
                     StoredShape *sliced, weir_status *status) {
  if (call.slices && call.slices[i].size > 0)
    return parseShapeAndSlice(call.slices[i], shape, slice, sliced, status);
  *slice = TensorSlice::whole(shape->rank);
  *sliced = *shape;
  return WEIR_OK;
}

} // namespace weir::rt
