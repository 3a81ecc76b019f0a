//===- reader_operations.cpp - operations on a session's readers ----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "input/reader.h"
#include "kernels/queue_call.h"
#include "weir/input.h"

#include <stdlib.h>

using namespace weir::rt;

namespace {

/// What every operation says of its reader.
constexpr int32_t parameterCount = 7;
Reader::Parameters parametersOf(const int64_t *a) {
  return {weir_reader_kind(a[0]), Encoding(a[1]), a[2], a[3], a[4], a[5], a[6]};
}

Resource *makeReader(void *data) {
  return Reader::create(*static_cast<const Reader::Parameters *>(data));
}

/// The reader of a call; null: the run has failed, with `code`.
Reader *open(weir_context *ctx, const weir_tensor &handle, const int64_t *attributes,
             int32_t *code) {
  weir_string name;
  if (!loadString(handle, &name)) {
    *code = failMessage(ctx, WEIR_INVALID_ARGUMENT, "a reader's handle is not one");
    return nullptr;
  }
  Reader::Parameters parameters = parametersOf(attributes);
  Resource *known = resourceOf(ctx, name.data, name.size, makeReader, &parameters);
  if (!known)
    *code = failMessage(ctx, WEIR_RESOURCE_EXHAUSTED, "no memory for a reader");
  return static_cast<Reader *>(known);
}

void dropAttempt(Wait *wait) {
  auto *attempt = static_cast<ReaderAttempt *>(wait);
  attempt->reader->end(attempt);
  free(attempt);
}

ReaderAttempt *attemptOf(const weir_tensor &ticket) {
  return reinterpret_cast<ReaderAttempt *>(uintptr_t(*static_cast<const int64_t *>(ticket.data)));
}

/// Begins the work whose name has come out of the queue.
int32_t takeName(weir_context *ctx, ReaderAttempt &attempt) {
  QueueAttempt *question = attempt.question;
  if (int32_t code = outcomeOf(ctx, *question))
    return code;
  const QueueElement *element = question->first;
  weir_string name;
  int32_t code;
  if (!element || element->count != 1)
    code = failMessage(ctx, WEIR_INVALID_ARGUMENT, "Expected single component queue");
  else if (element->components[0].dtype != WEIR_STRING)
    code = failMessage(ctx, WEIR_INVALID_ARGUMENT, "Expected queue with single string component");
  else if (!loadString(element->components[0], &name))
    code =
        failMessage(ctx, WEIR_INVALID_ARGUMENT, "Expected to dequeue a one-element string tensor");
  else {
    Lock lock(attempt.reader->mutex);
    code = attempt.reader->startWork(ctx, name);
  }
  attempt.question = nullptr;
  removeWait(question);
  freeAttempt(question);
  return code;
}

/// Records of one call.
struct Records {
  List<weir_string> keys, values;
  Contents contents;
  explicit Records(weir_context *ctx) : keys(ctx), values(ctx), contents(ctx) {}

  bool add(Growing &key, Growing &value) {
    weir_string k, v;
    return contents.copy(key.data(), key.size(), &k) &&
           contents.copy(value.data(), value.size(), &v) && keys.push(k) && values.push(v);
  }
};

/// Reads records, `wanted` at most and all of one file. `isDone`: none are to
/// come; else there is no file to read from.
int32_t readRecords(weir_context *ctx, Reader &reader, int64_t wanted, Records &records,
                    bool *isDone) {
  Lock lock(reader.mutex);
  Growing key(ctx), value(ctx);
  while (records.keys.size() < wanted) {
    if (!reader.hasWork()) {
      *isDone = false;
      return WEIR_OK;
    }
    bool isProduced, isLast;
    if (int32_t code = reader.read(ctx, key, value, &isProduced, &isLast))
      return code;
    if (isProduced && !records.add(key, value))
      return WEIR_RESOURCE_EXHAUSTED;
    if (isLast && records.keys.size() > 0)
      break;
  }
  *isDone = true;
  return WEIR_OK;
}

int32_t giveStrings(weir_context *ctx, List<weir_string> &strings, bool isBatch,
                    weir_tensor &result) {
  int64_t size = strings.size();
  if (!shapeResult(ctx, result, isBatch ? 1 : 0, &size))
    return WEIR_RESOURCE_EXHAUSTED;
  if (!isBatch && size == 0)
    *stringResult(result) = {};
  else if (size > 0)
    memcpy(result.data, strings.data(), size_t(size) * sizeof(weir_string));
  return WEIR_OK;
}

} // namespace

int32_t weir_kernel_reader_begin(weir_context *ctx, const weir_tensor *operands, int32_t,
                                 weir_tensor *results, int32_t, const int64_t *attributes) {
  int32_t code;
  Reader *reader = open(ctx, operands[0], attributes, &code);
  if (!reader)
    return code;
  if (!shapeResult(ctx, results[0], 0, nullptr))
    return WEIR_RESOURCE_EXHAUSTED;
  auto *attempt = static_cast<ReaderAttempt *>(calloc(1, sizeof(ReaderAttempt)));
  if (!attempt)
    return failMessage(ctx, WEIR_RESOURCE_EXHAUSTED, "no memory for a reader");
  attempt->reader = reader;
  attempt->drop = dropAttempt;
  *static_cast<int64_t *>(results[0].data) = int64_t(uintptr_t(attempt));
  beginWait(ctx, attempt);
  reader->begin(attempt);
  return WEIR_OK;
}

int32_t weir_kernel_reader_advance(weir_context *ctx, const weir_tensor *operands,
                                   int32_t operand_count, weir_tensor *results, int32_t,
                                   const int64_t *attributes) {
  ReaderAttempt *attempt = attemptOf(operands[0]);
  bool isBatch = operand_count == 3;
  int64_t wanted = 1;
  if (isBatch && (!loadInteger(operands[2], &wanted) || wanted < 0))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "the number of records to read is negative");
  // Resumed because the run was aborted: its end withdraws what is waited for.
  if (!hasEnded(attempt) || (attempt->question && !hasEnded(attempt->question)))
    return failMessage(ctx, WEIR_CANCELLED, "the run ended while it waited");
  if (attempt->question)
    if (int32_t code = takeName(ctx, *attempt))
      return code;
  Records records(ctx);
  bool isDone;
  if (int32_t code = readRecords(ctx, *attempt->reader, wanted, records, &isDone))
    return code;
  if (giveStrings(ctx, records.keys, isBatch, results[1]) ||
      giveStrings(ctx, records.values, isBatch, results[2]))
    return WEIR_RESOURCE_EXHAUSTED;
  if (isDone) {
    if (!shapeResult(ctx, results[0], 0, nullptr))
      return WEIR_RESOURCE_EXHAUSTED;
    *static_cast<int64_t *>(results[0].data) = 0;
    removeWait(attempt);
    dropAttempt(attempt);
    return WEIR_OK;
  }
  QueueCall call(attributes);
  int32_t code;
  QueueAttempt *question =
      makeAttempt(ctx, operands[1], call, QueueAttempt::Kind::Dequeue, results[0], &code);
  if (!question)
    return code;
  question->wanted = 1;
  attempt->question = question;
  beginWait(ctx, question);
  question->queue->begin(question);
  return WEIR_OK;
}

int32_t weir_kernel_reader_reset(weir_context *ctx, const weir_tensor *operands, int32_t,
                                 weir_tensor *, int32_t, const int64_t *attributes) {
  int32_t code;
  Reader *reader = open(ctx, operands[0], attributes, &code);
  if (!reader)
    return code;
  Lock lock(reader->mutex);
  reader->resetState();
  return WEIR_OK;
}

int32_t weir_kernel_reader_count(weir_context *ctx, const weir_tensor *operands, int32_t,
                                 weir_tensor *results, int32_t, const int64_t *attributes) {
  int32_t code;
  Reader *reader = open(ctx, operands[0], attributes, &code);
  if (!reader)
    return code;
  if (!shapeResult(ctx, results[0], 0, nullptr))
    return WEIR_RESOURCE_EXHAUSTED;
  Lock lock(reader->mutex);
  storeIndex(results[0], 0, attributes[parameterCount] ? reader->finished : reader->produced);
  return WEIR_OK;
}

int32_t weir_kernel_reader_serialize(weir_context *ctx, const weir_tensor *operands, int32_t,
                                     weir_tensor *results, int32_t, const int64_t *attributes) {
  int32_t code;
  Reader *reader = open(ctx, operands[0], attributes, &code);
  if (!reader)
    return code;
  Lock lock(reader->mutex);
  return reader->serialize(ctx, results[0]);
}

int32_t weir_kernel_reader_restore(weir_context *ctx, const weir_tensor *operands, int32_t,
                                   weir_tensor *, int32_t, const int64_t *attributes) {
  int32_t code;
  weir_string state;
  Reader *reader = open(ctx, operands[0], attributes, &code);
  if (!reader)
    return code;
  if (!loadString(operands[1], &state))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "Reader state must be scalar");
  Lock lock(reader->mutex);
  return reader->restore(ctx, state);
}
