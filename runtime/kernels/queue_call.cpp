//===- queue_call.cpp - what operations on queues share -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/queue_call.h"

#include "kernels/string_support.h"

#include <stdlib.h>
#include <string.h>

namespace weir::rt {

int32_t failQueueMemory(weir_context *ctx) {
  return failMessage(ctx, WEIR_RESOURCE_EXHAUSTED, "no memory for a queue");
}

static Resource *makeQueue(void *data) {
  return Queue::create(*static_cast<const Queue::Parameters *>(data));
}

/// What a queue was made as and the call does not say of it; null: nothing.
static const char *differenceOf(const Queue::Parameters &made, const QueueCall &call) {
  const Queue::Parameters &asked = call.parameters;
  if (made.kind != asked.kind)
    return "the queue of this shared name is of another kind";
  if (made.capacity != asked.capacity)
    return "the queue of this shared name has another capacity";
  if (made.remainder != asked.remainder)
    return "the queue of this shared name keeps another number of elements behind";
  int64_t sizes = asked.described - call.components;
  bool sameTypes = made.described >= call.components &&
                   memcmp(made.description + made.described - call.components,
                          asked.description + sizes, size_t(call.components) * 8) == 0;
  if (!sameTypes)
    return "the queue of this shared name has components of other types";
  if (made.described != asked.described ||
      memcmp(made.description, asked.description, size_t(sizes) * 8) != 0)
    return "the queue of this shared name has components of other shapes";
  return nullptr;
}

Queue *openQueue(weir_context *ctx, const weir_tensor &handle, QueueCall &call, int32_t *code) {
  weir_string name;
  if (!loadString(handle, &name)) {
    *code = failMessage(ctx, WEIR_INVALID_ARGUMENT, "a queue's handle is not one");
    return nullptr;
  }
  Resource *known = resourceOf(ctx, name.data, name.size, makeQueue, &call.parameters);
  if (!known) {
    *code = failQueueMemory(ctx);
    return nullptr;
  }
  // Another node may have made it, and must have said the same of it.
  auto *queue = static_cast<Queue *>(known);
  if (const char *other = differenceOf(queue->given(), call)) {
    *code = failMessage(ctx, WEIR_INVALID_ARGUMENT, other);
    return nullptr;
  }
  return queue;
}

static void dropAttempt(Wait *wait) {
  auto *attempt = static_cast<QueueAttempt *>(wait);
  attempt->queue->withdraw(attempt);
  free(attempt);
}

QueueAttempt *makeAttempt(weir_context *ctx, const weir_tensor &handle, QueueCall &call,
                          QueueAttempt::Kind kind, weir_tensor &ticket, int32_t *code) {
  Queue *queue = openQueue(ctx, handle, call, code);
  return queue ? makeAttempt(ctx, *queue, kind, ticket, code) : nullptr;
}

QueueAttempt *makeAttempt(weir_context *ctx, Queue &queue, QueueAttempt::Kind kind,
                          weir_tensor &ticket, int32_t *code) {
  *code = WEIR_RESOURCE_EXHAUSTED;
  if (!shapeResult(ctx, ticket, 0, nullptr))
    return nullptr;
  auto *attempt = static_cast<QueueAttempt *>(calloc(1, sizeof(QueueAttempt)));
  if (!attempt) {
    *code = failQueueMemory(ctx);
    return nullptr;
  }
  attempt->kind = kind;
  attempt->queue = &queue;
  attempt->drop = dropAttempt;
  *static_cast<int64_t *>(ticket.data) = int64_t(uintptr_t(attempt));
  return attempt;
}

void freeAttempt(QueueAttempt *attempt) {
  while (QueueElement *element = attempt->first) {
    attempt->first = element->next;
    free(element);
  }
  free(attempt);
}

int32_t outcomeOf(weir_context *ctx, const QueueAttempt &attempt) {
  switch (attempt.code) {
  case WEIR_OK:
    return WEIR_OK;
  case WEIR_CANCELLED:
    return failMessage(ctx, WEIR_CANCELLED,
                       attempt.kind == QueueAttempt::Kind::Close ? "the queue is closed already"
                                                                 : "the queue is closed");
  case WEIR_OUT_OF_RANGE:
    return failMessage(ctx, WEIR_OUT_OF_RANGE, "the queue is closed and has too few elements");
  default:
    return failQueueMemory(ctx);
  }
}

} // namespace weir::rt
