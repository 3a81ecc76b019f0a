//===- checkpoint_call.h - operands of kernels for checkpoints --*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_KERNELS_CHECKPOINT_CALL_H
#define WEIR_RUNTIME_KERNELS_CHECKPOINT_CALL_H

#include "checkpoint/slice.h"
#include "kernels/string_support.h"

namespace weir::rt {

/// What kernels that save and restore tensors begin with: where, and what of which.
struct CheckpointCall {
  weir_string prefix;
  const weir_string *names;
  const weir_string *slices; ///< null: whole tensors; else one a name, "": all of it
  int64_t count;
};

/// Reads operands 0, 1 and, with `hasSlices`, 2; `tensors` is how many the node has. 0, or
/// the run has failed as TensorFlow would.
int32_t readCall(weir_context *ctx, const weir_tensor *operands, bool hasSlices, int64_t tensors,
                 CheckpointCall *call);

/// Fails the run with what a function of runtime/checkpoint has said.
inline int32_t failStatus(weir_context *ctx, const weir_status &status) {
  return failMessage(ctx, status.code, status.message);
}

/// The shape of an operand.
StoredShape shapeOfTensor(const weir_tensor &tensor);

/// The part of tensor `i` that is meant: all of `shape` or of the operand's own, or what
/// `slices` say. Returns a weir_code.
int32_t partOfTensor(const CheckpointCall &call, int64_t i, StoredShape *shape, TensorSlice *slice,
                     StoredShape *sliced, weir_status *status);

} // namespace weir::rt

#endif // WEIR_RUNTIME_KERNELS_CHECKPOINT_CALL_H
