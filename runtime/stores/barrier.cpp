//===- barrier.cpp - tuples whose components come one by one --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TensorFlow's Barrier: components of a tuple are inserted under its key. Whole
// tuples lie in a queue, by the number of the insertion that brought the key.
//
//===----------------------------------------------------------------------===//

#include "kernels/queue_call.h"
#include "stores/sorted_list.h"
#include "stores/store.h"

#include <stdlib.h>
#include <string.h>

using namespace weir::rt;

namespace {

/// In a tuple the insertion's number and the key come before the values.
constexpr int32_t firstValue = 2;

/// A tuple that still lacks components.
struct Entry {
  weir_string key; ///< owned
  int64_t number;  ///< of the insertion that brought the key
  QueueElement *values[1];

  int64_t compare(const weir_string &other) const {
    int64_t shorter = key.size < other.size ? key.size : other.size;
    int order = shorter > 0 ? memcmp(key.data, other.data, size_t(shorter)) : 0;
    return order != 0 ? order : key.size - other.size;
  }
};

class Barrier : public Store {
public:
  Barrier(Queue *ready, int32_t values) : Store(true), ready(ready), values(values) {}

  Queue *const ready; ///< of whole tuples
  const int32_t values;
  SortedList<Entry> incomplete;
  int64_t number = INT64_MIN; ///< of the next insertion of a new key
  bool isClosed = false, cancels = false;

  ~Barrier() {
    dropIncomplete();
    ready->destroy(ready);
  }
  void startAnew() {
    dropIncomplete();
    ready->reset(ready);
    number = INT64_MIN;
    isClosed = cancels = false;
  }

  Entry *addKey(const weir_string &key);
  void freeEntry(Entry *entry);
  void dropIncomplete() {
    for (int64_t i = 0; i < incomplete.size(); ++i)
      freeEntry(incomplete[i]);
    incomplete.clear();
  }
  int32_t insertOne(weir_context *ctx, const weir_string &key, int32_t component,
                    const weir_tensor &values, int64_t row, bool &isNew, QueueElement *&whole);
  QueueElement *join(const Entry &entry);

  static Resource *make(void *data);
};

Resource *Barrier::make(void *data) {
  auto *call = static_cast<QueueCall *>(data);
  Queue *ready = Queue::create(call->parameters);
  if (!ready)
    return nullptr;
  auto *barrier = newStore<Barrier>(ready, call->components - firstValue);
  if (!barrier)
    ready->destroy(ready);
  return barrier;
}

Entry *Barrier::addKey(const weir_string &key) {
  size_t size = sizeof(Entry) + size_t(values) * sizeof(QueueElement *);
  auto *entry = static_cast<Entry *>(calloc(1, size + size_t(key.size)));
  if (!entry)
    return nullptr;
  char *text = reinterpret_cast<char *>(entry) + size;
  if (key.size > 0)
    memcpy(text, key.data, size_t(key.size));
  entry->key = {text, key.size};
  entry->number = number;
  if (incomplete.insert(entry->key, entry, nullptr))
    return entry;
  ::free(entry);
  return nullptr;
}

void Barrier::freeEntry(Entry *entry) {
  for (int32_t i = 0; i < values; ++i)
    ::free(entry->values[i]);
  ::free(entry);
}

/// The tuple of an entry that lacks nothing; null: no memory.
QueueElement *Barrier::join(const Entry &entry) {
  auto *all = static_cast<weir_tensor *>(calloc(size_t(values + firstValue), sizeof(weir_tensor)));
  if (!all)
    return nullptr;
  int64_t number = entry.number;
  weir_string key = entry.key;
  all[0].dtype = WEIR_I64;
  all[0].bytes = sizeof(number);
  all[0].data = &number;
  all[1].dtype = WEIR_STRING;
  all[1].bytes = sizeof(key);
  all[1].data = &key;
  for (int32_t i = 0; i < values; ++i)
    all[firstValue + i] = entry.values[i]->components[0];
  QueueElement *whole = makeElement(all, values + firstValue, -1);
  if (whole)
    whole->priority = number;
  ::free(all);
  return whole;
}

/// Inserts row `row` of `rows`. `whole`: the tuple that it completes, if it does.
int32_t Barrier::insertOne(weir_context *ctx, const weir_string &key, int32_t component,
                           const weir_tensor &rows, int64_t row, bool &isNew,
                           QueueElement *&whole) {
  Entry *entry = incomplete.find(key);
  if (!entry && isClosed)
    return failMessage(ctx, WEIR_CANCELLED, "the barrier is closed and takes no new key");
  if (!entry) {
    if (!(entry = addKey(key)))
      return failStoreMemory(ctx);
    isNew = true;
  }
  QueueElement *&place = entry->values[component];
  // One without elements counts as not given.
  if (place && place->components[0].bytes > 0)
    return failString(ctx, "key ", key, " already has a value for this component");
  QueueElement *value = makeElement(&rows, 1, row);
  if (!value)
    return failStoreMemory(ctx);
  ::free(place);
  place = value;
  for (int32_t i = 0; i < values; ++i)
    if (!entry->values[i] || entry->values[i]->components[0].bytes == 0)
      return WEIR_OK;
  if (!(whole = join(*entry)))
    return failStoreMemory(ctx);
  incomplete.remove(entry->key);
  freeEntry(entry);
  return WEIR_OK;
}

Barrier *openBarrier(weir_context *ctx, const weir_tensor &name, QueueCall &call, int32_t *code) {
  auto *barrier = static_cast<Barrier *>(openStore(ctx, name, Barrier::make, &call, code));
  if (barrier && barrier->values != call.components - firstValue) {
    *code = failMessage(ctx, WEIR_INVALID_ARGUMENT,
                        "the barrier of this shared name has another number of components");
    return nullptr;
  }
  return barrier;
}

/// Whether rows are what the barrier holds as its component, one for each key.
int32_t checkRows(weir_context *ctx, const QueueCall &call, const weir_tensor &keys,
                  const weir_tensor &rows) {
  if (keys.dtype != WEIR_STRING || keys.rank != 1)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "the keys of a barrier are a vector of strings");
  const int64_t *spec = call.spec(int32_t(call.mode) + firstValue);
  bool fits =
      rows.rank >= 1 && rows.dims[0] == keys.dims[0] && (spec[0] < 0 || spec[0] == rows.rank - 1);
  for (int32_t d = 0; fits && d < spec[0]; ++d)
    fits = spec[1 + d] < 0 || spec[1 + d] == rows.dims[d + 1];
  if (!fits)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       "the values do not have the barrier's shape, one for each key");
  return WEIR_OK;
}

} // namespace

int32_t weir_kernel_barrier_insert(weir_context *ctx, const weir_tensor *operands, int32_t,
                                   weir_tensor *, int32_t, const int64_t *attributes) {
  QueueCall call(attributes);
  int32_t code;
  Barrier *barrier = openBarrier(ctx, operands[0], call, &code);
  if (!barrier)
    return code;
  const weir_tensor &keys = operands[1], &rows = operands[2];
  if (int32_t problem = checkRows(ctx, call, keys, rows))
    return problem;
  int64_t count = keys.dims[0];
  Lock lock(barrier->mutex);
  if (barrier->isClosed && (barrier->cancels || (count > 0 && barrier->incomplete.size() == 0)))
    return failMessage(ctx, WEIR_CANCELLED, "the barrier is closed");
  code = WEIR_OK;
  bool isNew = false;
  QueueElement *first = nullptr, *last = nullptr;
  for (int64_t i = 0; i < count && code == WEIR_OK; ++i) {
    QueueElement *whole = nullptr;
    const weir_string &key = stringsOf(keys)[i];
    code = barrier->insertOne(ctx, key, int32_t(call.mode), rows, i, isNew, whole);
    if (whole) {
      (first ? last->next : first) = whole;
      last = whole;
    }
  }
  if (isNew)
    ++barrier->number;
  if (!barrier->ready->put(first)) {
    while (QueueElement *element = first) {
      first = element->next;
      free(element);
    }
    code = failStoreMemory(ctx);
  }
  if (barrier->isClosed && barrier->incomplete.size() == 0)
    barrier->ready->close();
  return code;
}

int32_t weir_kernel_barrier_take(weir_context *ctx, const weir_tensor *operands, int32_t,
                                 weir_tensor *results, int32_t, const int64_t *attributes) {
  QueueCall call(attributes);
  int32_t code;
  Barrier *barrier = openBarrier(ctx, operands[0], call, &code);
  if (!barrier)
    return code;
  int64_t wanted;
  if (!loadInteger(operands[1], &wanted) || wanted < 0)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "the number of tuples to take is negative");
  bool takesFewer = call.mode == QueueCall::UpTo;
  {
    Lock lock(barrier->mutex);
    if (barrier->isClosed) {
      int64_t available = barrier->ready->size();
      if (!takesFewer)
        available += barrier->incomplete.size();
      else if (wanted > available)
        wanted = available;
      if (available < (wanted > 1 ? wanted : 1))
        return failMessage(ctx, WEIR_OUT_OF_RANGE,
                           "the barrier is closed and has insufficient elements");
    }
  }
  QueueAttempt *attempt =
      makeAttempt(ctx, *barrier->ready, QueueAttempt::Kind::Dequeue, results[0], &code);
  if (!attempt)
    return code;
  attempt->wanted = wanted;
  attempt->isBatch = true;
  attempt->takesFewer = takesFewer;
  beginWait(ctx, attempt);
  barrier->ready->begin(attempt);
  return WEIR_OK;
}

int32_t weir_kernel_barrier_close(weir_context *ctx, const weir_tensor *operands, int32_t,
                                  weir_tensor *, int32_t, const int64_t *attributes) {
  QueueCall call(attributes);
  int32_t code;
  Barrier *barrier = openBarrier(ctx, operands[0], call, &code);
  if (!barrier)
    return code;
  bool cancels = call.mode == QueueCall::Batch;
  Lock lock(barrier->mutex);
  // It may be closed twice where only the second time cancels.
  if (barrier->isClosed && (barrier->cancels || !cancels))
    return failMessage(ctx, WEIR_CANCELLED, "the barrier is already closed");
  barrier->isClosed = true;
  barrier->cancels = cancels;
  if (cancels)
    barrier->dropIncomplete();
  if (barrier->incomplete.size() == 0)
    barrier->ready->close();
  return WEIR_OK;
}

int32_t weir_kernel_barrier_size(weir_context *ctx, const weir_tensor *operands, int32_t,
                                 weir_tensor *results, int32_t, const int64_t *attributes) {
  QueueCall call(attributes);
  int32_t code;
  Barrier *barrier = openBarrier(ctx, operands[0], call, &code);
  if (!barrier)
    return code;
  return giveCount(ctx, *barrier, results[0], [&] {
    return call.mode == 0 ? barrier->ready->size() : barrier->incomplete.size();
  });
}
