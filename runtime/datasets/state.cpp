//===- state.cpp - where iterations stand ---------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "datasets/state.h"

#include <string.h>

namespace weir::rt {

void OverInput::keep(StateWriter &out) { saveSource(input, out); }
bool OverInput::resume(StateReader &in, Failure &failure) { return loadSource(input, in, failure); }

void writeElement(StateWriter &out, const Element *element) {
  out.number(element ? element->count : -1);
  for (int32_t i = 0; element && i < element->count; ++i) {
    const weir_tensor &tensor = element->components[i];
    out.number(tensor.dtype);
    out.number(tensor.rank);
    for (int32_t d = 0; d < tensor.rank; ++d)
      out.number(tensor.dims[d]);
    // Pointers, of strings say, are places in the copy.
    int64_t bytes = copyBytes(tensor);
    void *copy = malloc(size_t(bytes | !bytes));
    if (!copy)
      return out.fail();
    copyElements(tensor, copy);
    pointersToOffsets(tensor, copy);
    out.text({static_cast<const char *>(copy), bytes});
    free(copy);
  }
}

/// A component's head, and its bytes as they lie in the state.
static bool readComponent(StateReader &in, weir_tensor &tensor, weir_string &bytes) {
  tensor = {};
  tensor.dtype = int32_t(in.number());
  int64_t rank = in.number();
  if (rank < 0 || rank > WEIR_MAX_RANK)
    return false;
  tensor.rank = int32_t(rank);
  for (int32_t d = 0; d < tensor.rank; ++d)
    tensor.dims[d] = in.number();
  bytes = in.text();
  int64_t size = weir_dtype_size(tensor.dtype), count = elementCount(tensor.rank, tensor.dims);
  if (in.failed() || size <= 0 || count < 0 || __builtin_mul_overflow(count, size, &tensor.bytes) ||
      tensor.bytes > bytes.size)
    return false;
  return true;
}

Element *readElement(StateReader &in) {
  int64_t count = in.number();
  if (in.failed() || count == -1)
    return nullptr;
  if (count < 0 || count > INT32_MAX)
    return in.fail(), nullptr;
  StateReader ahead = in;
  int64_t room = 0;
  weir_tensor tensor;
  weir_string bytes;
  for (int64_t i = 0; i < count; ++i) {
    if (!readComponent(ahead, tensor, bytes))
      return in.fail(), nullptr;
    room += alignedBytes(bytes.size);
  }
  Element *made = newElement(int32_t(count), room);
  if (!made)
    return in.fail(), nullptr;
  uint8_t *to = made->room;
  for (int32_t i = 0; i < made->count; ++i) {
    weir_tensor &own = made->components[i];
    (void)readComponent(in, own, bytes);
    if (bytes.size > 0)
      memcpy(to, bytes.data, size_t(bytes.size));
    own.data = to;
    if (!offsetsToPointers(own, bytes.size))
      return in.fail(), release(made), nullptr;
    to += alignedBytes(bytes.size);
  }
  return made;
}

void writeOutcome(StateWriter &out, const Outcome &outcome) {
  out.number(int64_t(outcome.kind));
  if (outcome.kind == Next::Element)
    writeElement(out, outcome.element);
  if (outcome.kind != Next::Failed)
    return;
  out.number(outcome.failure.code);
  out.text({outcome.failure.text, int64_t(strlen(outcome.failure.text))});
}

bool readOutcome(StateReader &in, Outcome &outcome) {
  int64_t kind = in.number();
  outcome.element = nullptr;
  outcome.failure = Failure();
  if (kind < int64_t(Next::Element) || kind > int64_t(Next::Failed))
    in.fail();
  outcome.kind = Next(kind);
  if (outcome.kind == Next::Element) {
    outcome.element = readElement(in);
    return outcome.element != nullptr;
  }
  if (outcome.kind == Next::Failed) {
    int32_t code = int32_t(in.number());
    weir_string text = in.text();
    outcome.failure.fail(code).append(text.data, text.size);
  }
  return !in.failed();
}

void writeWords(StateWriter &out, const PhiloxWords &words) {
  out.text({reinterpret_cast<const char *>(&words), int64_t(sizeof(words))});
}

void readWords(StateReader &in, PhiloxWords &words) {
  weir_string bytes = in.text();
  PhiloxWords read = words;
  if (bytes.size != int64_t(sizeof(words)))
    return in.fail();
  memcpy(static_cast<void *>(&read), bytes.data, sizeof(read));
  if (!read.isValid())
    return in.fail();
  words = read;
}

void writeShared(StateWriter &out, Dataset &dataset) {
  out.number(dataset.kind);
  out.number(dataset.inputCount);
  if (SeedGenerator *seeds = dataset.seeds) {
    Lock lock(seeds->mutex);
    out.number(int64_t(seeds->seed));
    out.number(int64_t(seeds->seed2));
    writeWords(out, seeds->words);
  }
  if (dataset.kind == WEIR_DATASET_CACHE) {
    Cache &cache = dataset.cache;
    Lock lock(cache.mutex);
    out.number(cache.isWhole);
    writeElements(out, cache.count, [&](int64_t i) { return cache.elements[i]; });
  }
  for (int32_t i = 0; i < dataset.inputCount; ++i)
    writeShared(out, *dataset.inputs[i]);
}

bool readShared(StateReader &in, Dataset &dataset) {
  if (in.number() != dataset.kind || in.number() != dataset.inputCount)
    return in.fail(), false;
  if (SeedGenerator *seeds = dataset.seeds) {
    Lock lock(seeds->mutex);
    seeds->seed = uint64_t(in.number());
    seeds->seed2 = uint64_t(in.number());
    readWords(in, seeds->words);
  }
  if (dataset.kind == WEIR_DATASET_CACHE) {
    Cache &cache = dataset.cache;
    Lock lock(cache.mutex);
    cache.clear();
    bool isWhole = in.number() != 0;
    if (!readElements(in, [&](Element *element) { return cache.add(element); }))
      return in.fail(), false;
    cache.isWhole = isWhole;
  }
  for (int32_t i = 0; !in.failed() && i < dataset.inputCount; ++i)
    (void)readShared(in, *dataset.inputs[i]);
  return !in.failed();
}

} // namespace weir::rt
