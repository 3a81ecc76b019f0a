//===- staging.cpp - staging areas ----------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TensorFlow's StagingArea and MapStagingArea: what one run puts in another
// takes out, in the order it came or by a key; who puts waits for room, who
// takes for what it wants.
//
//===----------------------------------------------------------------------===//

#include "kernels/queue.h"
#include "stores/sorted_list.h"
#include "stores/store.h"

#include <stdlib.h>

using namespace weir::rt;

namespace {

struct Parameters {
  weir_stage_kind kind;
  int64_t capacity, memoryLimit;
  int32_t components;

  explicit Parameters(const int64_t *a)
      : kind(weir_stage_kind(a[0])), capacity(a[1]), memoryLimit(a[2]), components(int32_t(a[3])) {}
};
constexpr int32_t parameterCount = 4;

/// A tuple; each component in memory of its own, null: not given, or taken.
struct Entry {
  Entry *earlier, *later; ///< in the order they were completed
  int64_t key, bytes;
  int32_t given; ///< components that are there
  QueueElement *components[1];

  int64_t compare(int64_t other) const { return key < other ? -1 : key > other; }
};

void freeEntry(Entry *entry, int32_t components) {
  for (int32_t i = 0; entry && i < components; ++i)
    free(entry->components[i]);
  free(entry);
}

class StagingArea : public Store {
public:
  explicit StagingArea(const Parameters &parameters) : Store(false), given(parameters) {}

  const Parameters given;
  Entry *oldest = nullptr, *newest = nullptr; ///< of complete tuples
  int64_t count = 0, bytes = 0;               ///< of those, and of the others' components
  SortedList<Entry> complete, incomplete;     ///< by key; FIFO: unused

  bool isMap() const { return given.kind != WEIR_STAGE_FIFO; }
  bool hasRoom(int64_t more) const {
    return (given.capacity <= 0 || count < given.capacity) && hasMemory(more);
  }
  bool hasMemory(int64_t more) const {
    return given.memoryLimit <= 0 || bytes + more <= given.memoryLimit;
  }
  void append(Entry *entry) {
    entry->earlier = newest;
    entry->later = nullptr;
    (newest ? newest->later : oldest) = entry;
    newest = entry;
    ++count;
  }
  void unlink(Entry *entry) {
    (entry->earlier ? entry->earlier->later : oldest) = entry->later;
    (entry->later ? entry->later->earlier : newest) = entry->earlier;
    --count;
  }
  void clear() {
    while (Entry *entry = oldest) {
      unlink(entry);
      freeEntry(entry, given.components);
    }
    complete.clear();
    for (int64_t i = 0; i < incomplete.size(); ++i)
      freeEntry(incomplete[i], given.components);
    incomplete.clear();
    bytes = 0;
  }

  ~StagingArea() { clear(); }
  void startAnew() { clear(); }
  static Resource *make(void *data) {
    return newStore<StagingArea>(*static_cast<const Parameters *>(data));
  }
};

struct StageAttempt : StoreAttempt {
  StagingArea &area() const { return *static_cast<StagingArea *>(store); }
  Entry *entry;      ///< to be put in, or taken out
  bool isAny, stays; ///< of one who takes: any key; what is taken stays
  int64_t wanted;    ///< the key, or the place from the front
  int32_t count;     ///< of `numbers`
  int32_t *numbers;  ///< components to be put in or taken, ascending; malloc
};

void discardStage(StoreAttempt &self) {
  auto &attempt = static_cast<StageAttempt &>(self);
  freeEntry(attempt.entry, attempt.area().given.components);
  free(attempt.numbers);
}

StagingArea *openArea(weir_context *ctx, const weir_tensor &name, const int64_t *attributes,
                      int32_t *code) {
  Parameters parameters(attributes);
  auto *area =
      static_cast<StagingArea *>(openStore(ctx, name, StagingArea::make, &parameters, code));
  if (area && area->given.components != parameters.components) {
    *code = failMessage(ctx, WEIR_INVALID_ARGUMENT,
                        "the staging area of this name has another number of components");
    return nullptr;
  }
  return area;
}

//===----------------------------------------------------------------------===//
// Putting
//===----------------------------------------------------------------------===//

bool putInOrder(StoreAttempt &self, bool &changes) {
  auto &attempt = static_cast<StageAttempt &>(self);
  StagingArea &area = attempt.area();
  if (!area.hasRoom(attempt.entry->bytes))
    return false;
  area.bytes += attempt.entry->bytes;
  area.append(attempt.entry);
  attempt.entry = nullptr;
  return changes = true;
}

/// A whole tuple at once. A key that is there already keeps what it has.
bool putComplete(StageAttempt &attempt, bool &changes) {
  StagingArea &area = attempt.area();
  if (!area.hasRoom(attempt.entry->bytes))
    return false;
  bool isNew;
  if (!area.complete.insert(attempt.entry->key, attempt.entry, &isNew))
    return attempt.fail(WEIR_RESOURCE_EXHAUSTED, "no memory for a staging area");
  if (isNew) {
    area.bytes += attempt.entry->bytes;
    area.append(attempt.entry);
    attempt.entry = nullptr;
    changes = true;
  }
  return true;
}

/// Some components of a tuple.
bool putPart(StageAttempt &attempt, bool &changes) {
  StagingArea &area = attempt.area();
  Entry *entry = attempt.entry;
  Entry *known = area.incomplete.find(entry->key);
  if (!area.hasMemory(entry->bytes))
    return false;
  if (!known) {
    if (!area.incomplete.insert(entry->key, entry, nullptr))
      return attempt.fail(WEIR_RESOURCE_EXHAUSTED, "no memory for a staging area");
    area.bytes += entry->bytes;
    attempt.entry = nullptr;
    return changes = true;
  }
  for (int32_t i = 0; i < area.given.components; ++i)
    if (entry->components[i] && known->components[i])
      return attempt.fail(WEIR_INVALID_ARGUMENT,
                          "a tensor for this index and key was already initialized");
  bool completes = known->given + entry->given == area.given.components;
  if (completes && area.given.capacity > 0 && area.count >= area.given.capacity)
    return false;
  if (completes && !area.complete.insert(known->key, known, nullptr))
    return attempt.fail(WEIR_RESOURCE_EXHAUSTED, "no memory for a staging area");
  for (int32_t i = 0; i < area.given.components; ++i)
    if (entry->components[i]) {
      known->components[i] = entry->components[i];
      entry->components[i] = nullptr;
    }
  known->given += entry->given;
  known->bytes += entry->bytes;
  area.bytes += entry->bytes;
  if (completes) {
    area.incomplete.remove(known->key);
    area.append(known);
  }
  return changes = true;
}

bool putByKey(StoreAttempt &self, bool &changes) {
  auto &attempt = static_cast<StageAttempt &>(self);
  return attempt.entry->given == attempt.area().given.components ? putComplete(attempt, changes)
                                                                 : putPart(attempt, changes);
}

//===----------------------------------------------------------------------===//
// Taking
//===----------------------------------------------------------------------===//

QueueElement *copyOf(const QueueElement *element) {
  return makeElement(element->components, element->count, -1);
}

/// Gives the attempt the components that it wants of `from`.
bool takeFrom(StageAttempt &attempt, Entry *from, bool &changes) {
  StagingArea &area = attempt.area();
  for (int32_t i = 0; i < attempt.count; ++i)
    if (!from->components[attempt.numbers[i]])
      return attempt.fail(WEIR_INVALID_ARGUMENT,
                          "a tensor of this index and key has already been removed");
  attempt.entry->key = from->key;
  for (int32_t i = 0; i < attempt.count; ++i) {
    QueueElement *&component = from->components[attempt.numbers[i]];
    QueueElement *&to = attempt.entry->components[attempt.numbers[i]];
    if (attempt.stays) {
      if (!(to = copyOf(component)))
        return attempt.fail(WEIR_RESOURCE_EXHAUSTED, "no memory for a staging area");
      continue;
    }
    int64_t bytes = component->components[0].bytes;
    to = component;
    component = nullptr;
    area.bytes -= bytes;
    from->bytes -= bytes;
    --from->given;
  }
  if (attempt.stays)
    return true;
  if (from->given == 0) {
    if (area.isMap())
      area.complete.remove(from->key);
    area.unlink(from);
    area.bytes -= from->bytes;
    freeEntry(from, area.given.components);
  }
  return changes = true;
}

bool takeOne(StoreAttempt &self, bool &changes) {
  auto &attempt = static_cast<StageAttempt &>(self);
  StagingArea &area = attempt.area();
  Entry *found = nullptr;
  if (!area.isMap()) {
    found = area.oldest;
    for (int64_t i = 0; found && i < attempt.wanted; ++i)
      found = found->later;
  } else if (!attempt.isAny) {
    found = area.complete.find(attempt.wanted);
  } else if (area.count > 0) {
    found = area.given.kind == WEIR_STAGE_ORDERED_MAP ? area.complete[0] : area.newest;
  }
  return found && takeFrom(attempt, found, changes);
}

/// The components' numbers that an operand names, or all.
int32_t readNumbers(weir_context *ctx, StageAttempt &attempt, const weir_tensor *operand) {
  int32_t components = attempt.area().given.components;
  int64_t count = operand ? elementCountOf(*operand) : components;
  if (count > components || (operand && operand->dtype != WEIR_I32))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "more indices than the tuple has components");
  attempt.numbers = static_cast<int32_t *>(malloc(size_t(count ? count : 1) * sizeof(int32_t)));
  if (!attempt.numbers)
    return failStoreMemory(ctx);
  for (int64_t i = 0; i < count; ++i) {
    int64_t number = operand ? integerAt(*operand, i) : i;
    if (number < 0 || number >= components)
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, "an index of a component is out of bounds");
    if (i > 0 && number <= attempt.numbers[i - 1])
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, "indices are not strictly ordered");
    attempt.numbers[i] = int32_t(number);
  }
  attempt.count = int32_t(count);
  return WEIR_OK;
}

int32_t abandon(StageAttempt *attempt, int32_t code) {
  discardStage(*attempt);
  free(attempt);
  return code;
}

/// An attempt with an entry that is empty; null: the run has failed, with `code`.
StageAttempt *makeStageAttempt(weir_context *ctx, StagingArea *area, weir_tensor &ticket,
                               const weir_tensor *numbers, int32_t *code) {
  auto *attempt = makeAttemptOf<StageAttempt>(ctx, area, ticket, code);
  if (!attempt)
    return nullptr;
  attempt->discard = discardStage;
  size_t components = size_t(area->given.components);
  attempt->entry =
      static_cast<Entry *>(calloc(1, sizeof(Entry) + components * sizeof(QueueElement *)));
  *code = attempt->entry ? readNumbers(ctx, *attempt, numbers) : failStoreMemory(ctx);
  if (*code == WEIR_OK)
    return attempt;
  abandon(attempt, *code);
  return nullptr;
}

} // namespace

int32_t weir_kernel_stage_put(weir_context *ctx, const weir_tensor *operands, int32_t operand_count,
                              weir_tensor *results, int32_t, const int64_t *attributes) {
  int32_t code;
  StagingArea *area = openArea(ctx, operands[0], attributes, &code);
  if (!area)
    return code;
  const weir_tensor *components = operands + (area->isMap() ? 3 : 1);
  int64_t key = 0;
  if (area->isMap() && !loadInteger(operands[1], &key))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "key must be an int64 scalar");
  StageAttempt *attempt =
      makeStageAttempt(ctx, area, results[0], area->isMap() ? &operands[2] : nullptr, &code);
  if (!attempt)
    return code;
  if (attempt->count != operands + operand_count - components)
    return abandon(attempt, failMessage(ctx, WEIR_INVALID_ARGUMENT,
                                        "the number of indices is not that of the values"));
  Entry *entry = attempt->entry;
  entry->key = key;
  entry->given = attempt->count;
  for (int32_t i = 0; i < attempt->count; ++i) {
    entry->bytes += components[i].bytes;
    if (!(entry->components[attempt->numbers[i]] = makeElement(components + i, 1, -1)))
      return abandon(attempt, failStoreMemory(ctx));
  }
  if (area->given.memoryLimit > 0 && entry->bytes > area->given.memoryLimit)
    return abandon(attempt, failMessage(ctx, WEIR_RESOURCE_EXHAUSTED,
                                        "attempted to insert tensors of a combined size above the "
                                        "staging area's memory limit"));
  attempt->attempt = area->isMap() ? putByKey : putInOrder;
  area->begin(ctx, attempt);
  return WEIR_OK;
}

int32_t weir_kernel_stage_take(weir_context *ctx, const weir_tensor *operands,
                               int32_t operand_count, weir_tensor *results, int32_t,
                               const int64_t *attributes) {
  int32_t code;
  StagingArea *area = openArea(ctx, operands[0], attributes, &code);
  if (!area)
    return code;
  StageAttempt *attempt = makeStageAttempt(
      ctx, area, results[0], area->isMap() ? &operands[operand_count - 1] : nullptr, &code);
  if (!attempt)
    return code;
  attempt->stays = attributes[parameterCount] != 0;
  attempt->isAny = area->isMap() && operand_count == 2;
  bool isNamed = area->isMap() ? operand_count == 3 : operand_count == 2;
  if (isNamed &&
      (!loadInteger(operands[1], &attempt->wanted) || (!area->isMap() && attempt->wanted < 0)))
    return abandon(attempt, failMessage(ctx, WEIR_INVALID_ARGUMENT,
                                        area->isMap() ? "key must be an int64 scalar"
                                                      : "index must not be negative"));
  attempt->attempt = takeOne;
  area->begin(ctx, attempt);
  return WEIR_OK;
}

int32_t weir_kernel_stage_finish(weir_context *ctx, const weir_tensor *operands, int32_t,
                                 weir_tensor *results, int32_t result_count, const int64_t *) {
  int32_t code;
  auto *attempt = static_cast<StageAttempt *>(endedAttempt(ctx, operands[0], &code));
  if (!attempt)
    return code;
  int32_t first = 0;
  if (attempt->isAny && result_count > 0) {
    if (!shapeResult(ctx, results[0], 0, nullptr))
      return WEIR_RESOURCE_EXHAUSTED;
    storeIndex(results[0], 0, attempt->entry->key);
    first = 1;
  }
  for (int32_t i = first; i < result_count; ++i) {
    const QueueElement *component = attempt->entry->components[attempt->numbers[i - first]];
    if (int32_t problem = giveTensor(ctx, component->components[0], results[i]))
      return problem;
  }
  freeAttempt(attempt);
  return WEIR_OK;
}

int32_t weir_kernel_stage_size(weir_context *ctx, const weir_tensor *operands, int32_t,
                               weir_tensor *results, int32_t, const int64_t *attributes) {
  int32_t code;
  StagingArea *area = openArea(ctx, operands[0], attributes, &code);
  if (!area)
    return code;
  return giveCount(ctx, *area, results[0], [&] {
    return attributes[parameterCount] ? area->incomplete.size() : area->count;
  });
}

int32_t weir_kernel_stage_clear(weir_context *ctx, const weir_tensor *operands, int32_t,
                                weir_tensor *, int32_t, const int64_t *attributes) {
  int32_t code;
  StagingArea *area = openArea(ctx, operands[0], attributes, &code);
  if (!area)
    return code;
  Task *ready = nullptr;
  {
    Lock lock(area->mutex);
    area->clear();
    area->serve(&ready);
  }
  postTasks(ready);
  return WEIR_OK;
}
