//===- queue_operations.cpp - operations on a session's queues
//---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/queue_call.h"
#include "kernels/string_support.h"

#include <stdlib.h>
#include <string.h>

using namespace weir::rt;

namespace {

/// Whether components are what the queue holds, or batches of it.
int32_t checkComponents(weir_context *ctx, const QueueCall &call, const weir_tensor *components,
                        int32_t count) {
  bool isBatch = call.mode == QueueCall::Batch;
  if (count != call.components || count < 1)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "the number of components is not the queue's");
  for (int32_t i = 0; i < count; ++i) {
    const weir_tensor &given = components[i];
    const int64_t *spec = call.spec(i);
    int32_t rank = given.rank - isBatch;
    bool fits = rank >= 0 && (spec[0] < 0 || spec[0] == rank);
    for (int32_t d = 0; fits && spec[0] >= 0 && d < rank; ++d)
      fits = spec[1 + d] < 0 || spec[1 + d] == given.dims[d + isBatch];
    if (!fits) {
      char text[160];
      Text(text, sizeof(text)) << "component " << i << " does not have the queue's shape";
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, text);
    }
    if (isBatch && given.dims[0] != components[0].dims[0])
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, "components are batches of different sizes");
  }
  if (call.parameters.kind == WEIR_QUEUE_PRIORITY && components[0].dtype != WEIR_I64)
    return failDtype(ctx, "a priority", components[0].dtype);
  return WEIR_OK;
}

/// Copies a block of `from`'s shape into the front corner of one of `dims`.
bool copyBlock(Contents &contents, const weir_tensor &from, uint8_t *to, const int64_t *dims,
               int32_t d, const uint8_t *&source) {
  int64_t size = weir_dtype_size(from.dtype);
  if (d == from.rank) {
    if (from.dtype == WEIR_STRING) {
      auto &text = *reinterpret_cast<const weir_string *>(source);
      if (!contents.copy(text.data, text.size, reinterpret_cast<weir_string *>(to)))
        return false;
    } else {
      memcpy(to, source, size_t(size));
    }
    source += size;
    return true;
  }
  // Rows that fit are copied whole.
  if (d + 1 == from.rank && from.dtype != WEIR_STRING) {
    memcpy(to, source, size_t(size * from.dims[d]));
    source += size * from.dims[d];
    return true;
  }
  int64_t stride = size;
  for (int32_t e = d + 1; e < from.rank; ++e)
    stride *= dims[e];
  for (int64_t i = 0; i < from.dims[d]; ++i)
    if (!copyBlock(contents, from, to + i * stride, dims, d + 1, source))
      return false;
  return true;
}

/// Component `c` of what was taken, one tensor or a batch.
int32_t giveComponent(weir_context *ctx, const QueueCall &call, const QueueAttempt &attempt,
                      int32_t c, weir_tensor &result) {
  int64_t dims[WEIR_MAX_RANK + 1] = {};
  int32_t rank = 0;
  bool isFirst = true;
  for (const QueueElement *at = attempt.first; at; at = at->next) {
    const weir_tensor &one = at->components[c];
    if (one.dtype != result.dtype)
      return failDtype(ctx, "an element", one.dtype);
    bool fits = isFirst || one.rank == rank;
    if (isFirst)
      rank = one.rank;
    for (int32_t d = 0; fits && d < rank; ++d) {
      fits = isFirst || one.dims[d] == dims[d + 1] || call.parameters.kind == WEIR_QUEUE_PADDING;
      if (one.dims[d] > dims[d + 1])
        dims[d + 1] = one.dims[d];
    }
    if (!fits || rank >= WEIR_MAX_RANK)
      return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                         "elements of different shapes do not make a batch");
    isFirst = false;
  }
  if (isFirst) {
    const int64_t *spec = call.spec(c);
    rank = spec[0] > 0 ? int32_t(spec[0]) : 0;
    for (int32_t d = 0; d < rank; ++d)
      dims[d + 1] = spec[1 + d] > 0 ? spec[1 + d] : 0;
  }
  dims[0] = attempt.taken;
  bool shaped = attempt.isBatch ? shapeResult(ctx, result, rank + 1, dims)
                                : shapeResult(ctx, result, rank, dims + 1);
  if (!shaped)
    return WEIR_RESOURCE_EXHAUSTED;
  // Zeros and empty strings where an element is smaller than its place.
  if (call.parameters.kind == WEIR_QUEUE_PADDING && result.bytes > 0)
    memset(result.data, 0, size_t(result.bytes));
  int64_t step = attempt.taken > 0 ? result.bytes / attempt.taken : 0;
  auto *to = static_cast<uint8_t *>(result.data);
  Contents contents(ctx);
  for (const QueueElement *at = attempt.first; at; at = at->next, to += step) {
    const auto *source = static_cast<const uint8_t *>(at->components[c].data);
    if (at->components[c].bytes > 0 &&
        !copyBlock(contents, at->components[c], to, dims + 1, 0, source))
      return WEIR_RESOURCE_EXHAUSTED;
  }
  return WEIR_OK;
}

} // namespace

int32_t weir_kernel_queue_enqueue(weir_context *ctx, const weir_tensor *operands,
                                  int32_t operand_count, weir_tensor *results, int32_t,
                                  const int64_t *attributes) {
  QueueCall call(attributes);
  const weir_tensor *components = operands + 1;
  int32_t count = operand_count - 1;
  int32_t code = checkComponents(ctx, call, components, count);
  if (code != WEIR_OK)
    return code;
  QueueAttempt *attempt =
      makeAttempt(ctx, operands[0], call, QueueAttempt::Kind::Enqueue, results[0], &code);
  if (!attempt)
    return code;
  bool isBatch = call.mode == QueueCall::Batch;
  int64_t elements = isBatch ? components[0].dims[0] : 1;
  for (int64_t i = 0; i < elements; ++i) {
    QueueElement *element = makeElement(components, count, isBatch ? i : -1);
    if (!element) {
      freeAttempt(attempt);
      return failQueueMemory(ctx);
    }
    if (call.parameters.kind == WEIR_QUEUE_PRIORITY && element->components[0].bytes > 0)
      element->priority = *static_cast<const int64_t *>(element->components[0].data);
    attempt->append(element);
  }
  beginWait(ctx, attempt);
  attempt->queue->begin(attempt);
  return WEIR_OK;
}

int32_t weir_kernel_queue_dequeue(weir_context *ctx, const weir_tensor *operands,
                                  int32_t operand_count, weir_tensor *results, int32_t,
                                  const int64_t *attributes) {
  QueueCall call(attributes);
  int64_t wanted = 1;
  if (call.mode != QueueCall::Single &&
      (operand_count != 2 || !loadInteger(operands[1], &wanted) || wanted < 0))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "the number of elements to dequeue is negative");
  int32_t code;
  QueueAttempt *attempt =
      makeAttempt(ctx, operands[0], call, QueueAttempt::Kind::Dequeue, results[0], &code);
  if (!attempt)
    return code;
  attempt->wanted = wanted;
  attempt->isBatch = call.mode != QueueCall::Single;
  attempt->takesFewer = call.mode == QueueCall::UpTo;
  beginWait(ctx, attempt);
  attempt->queue->begin(attempt);
  return WEIR_OK;
}

int32_t weir_kernel_queue_close(weir_context *ctx, const weir_tensor *operands, int32_t,
                                weir_tensor *results, int32_t, const int64_t *attributes) {
  QueueCall call(attributes);
  int32_t code;
  QueueAttempt *attempt =
      makeAttempt(ctx, operands[0], call, QueueAttempt::Kind::Close, results[0], &code);
  if (!attempt)
    return code;
  beginWait(ctx, attempt);
  if (call.mode == QueueCall::Batch)
    attempt->queue->closeAndCancel(attempt);
  else
    attempt->queue->begin(attempt);
  return WEIR_OK;
}

int32_t weir_kernel_queue_finish(weir_context *ctx, const weir_tensor *operands, int32_t,
                                 weir_tensor *results, int32_t result_count,
                                 const int64_t *attributes) {
  auto *attempt =
      reinterpret_cast<QueueAttempt *>(uintptr_t(*static_cast<const int64_t *>(operands[0].data)));
  // Resumed because the run was aborted: its end withdraws the attempt.
  if (!hasEnded(attempt))
    return failMessage(ctx, WEIR_CANCELLED, "the run ended while it waited");
  int32_t code = outcomeOf(ctx, *attempt);
  if (code == WEIR_OK && attempt->kind == QueueAttempt::Kind::Dequeue) {
    QueueCall call(attributes);
    for (int32_t c = 0; c < result_count; ++c)
      if (int32_t problem = giveComponent(ctx, call, *attempt, c, results[c]))
        return problem;
  }
  removeWait(attempt);
  freeAttempt(attempt);
  return code;
}

int32_t weir_kernel_queue_size(weir_context *ctx, const weir_tensor *operands, int32_t,
                               weir_tensor *results, int32_t, const int64_t *attributes) {
  QueueCall call(attributes);
  int32_t code;
  Queue *queue = openQueue(ctx, operands[0], call, &code);
  if (!queue)
    return code;
  if (!shapeResult(ctx, results[0], 0, nullptr))
    return WEIR_RESOURCE_EXHAUSTED;
  storeIndex(results[0], 0, queue->size());
  return WEIR_OK;
}

int32_t weir_kernel_queue_is_closed(weir_context *ctx, const weir_tensor *operands, int32_t,
                                    weir_tensor *results, int32_t, const int64_t *attributes) {
  QueueCall call(attributes);
  int32_t code;
  Queue *queue = openQueue(ctx, operands[0], call, &code);
  if (!queue)
    return code;
  if (!shapeResult(ctx, results[0], 0, nullptr))
    return WEIR_RESOURCE_EXHAUSTED;
  *static_cast<uint8_t *>(results[0].data) = queue->isClosed();
  return WEIR_OK;
}
