//===- queue_call.h - what operations on queues share -----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_KERNELS_QUEUE_CALL_H
#define WEIR_RUNTIME_KERNELS_QUEUE_CALL_H

#include "kernels/queue.h"

namespace weir::rt {

/// What every operation says of its queue: the attributes of weir/kernels.h.
struct QueueCall {
  enum Mode : int64_t { Single = 0, Batch = 1, UpTo = 2 };
  int64_t mode;
  Queue::Parameters parameters;
  int32_t components;
  const int64_t *specs; ///< of each: rank, sizes

  explicit QueueCall(const int64_t *a)
      : mode(a[0]), parameters{weir_queue_kind(a[1]), a[2], a[3], a[4]}, components(int32_t(a[5])),
        specs(a + 6) {
    // Behind the sizes of all components come their types.
    const int64_t *end = spec(components) + components;
    parameters.description = specs;
    parameters.described = end - specs;
  }

  /// The specification behind `spec`.
  static const int64_t *next(const int64_t *spec) { return spec + 1 + (spec[0] > 0 ? spec[0] : 0); }
  const int64_t *spec(int32_t component) const {
    const int64_t *at = specs;
    for (; component > 0; --component)
      at = next(at);
    return at;
  }
};

/// The queue of a call; null: the run has failed, with `code`. Names of queues
/// begin with a letter that no other resource's does.
Queue *openQueue(weir_context *ctx, const weir_tensor &handle, QueueCall &call, int32_t *code);

/// An attempt at the call's queue, whose ticket is given already: what follows
/// cannot fail. Null: the run has failed, with `code`.
QueueAttempt *makeAttempt(weir_context *ctx, const weir_tensor &handle, QueueCall &call,
                          QueueAttempt::Kind kind, weir_tensor &ticket, int32_t *code);

/// The same for a queue that is open already.
QueueAttempt *makeAttempt(weir_context *ctx, Queue &queue, QueueAttempt::Kind kind,
                          weir_tensor &ticket, int32_t *code);

/// WEIR_OK, or the failure of an attempt that has ended.
int32_t outcomeOf(weir_context *ctx, const QueueAttempt &attempt);

void freeAttempt(QueueAttempt *attempt);

int32_t failQueueMemory(weir_context *ctx);

} // namespace weir::rt

#endif // WEIR_RUNTIME_KERNELS_QUEUE_CALL_H
