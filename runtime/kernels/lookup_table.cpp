//===- lookup_table.cpp - maps from keys to values --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/lookup_table.h"
#include "kernels/hashes.h"

#include <stdlib.h>

namespace weir::rt {

LookupMap::LookupMap(int32_t keyType, int32_t valueType, int64_t valueCount)
    : keyType(keyType), valueType(valueType), valueCount(valueCount),
      keySize(weir_dtype_size(keyType)), valueSize(weir_dtype_size(valueType) * valueCount) {}

LookupMap::~LookupMap() {
  clear();
  free(keys);
  free(values);
  free(slots);
}

void LookupMap::freeElements(int32_t dtype, void *at, int64_t elements) {
  if (dtype == WEIR_STRING)
    for (int64_t i = 0; i < elements; ++i)
      free(const_cast<char *>(static_cast<weir_string *>(at)[i].data));
}

bool LookupMap::copyElements(int32_t dtype, void *to, const void *from, int64_t elements) {
  if (dtype != WEIR_STRING) {
    memcpy(to, from, size_t(elements * weir_dtype_size(dtype)));
    return true;
  }
  auto *out = static_cast<weir_string *>(to);
  auto *in = static_cast<const weir_string *>(from);
  for (int64_t i = 0; i < elements; ++i) {
    auto *contents = static_cast<char *>(malloc(size_t(in[i].size | !in[i].size)));
    if (!contents) {
      freeElements(dtype, to, i);
      return false;
    }
    if (in[i].size > 0)
      memcpy(contents, in[i].data, size_t(in[i].size));
    out[i] = {contents, in[i].size};
  }
  return true;
}

void LookupMap::clear() {
  freeElements(keyType, keys, count);
  freeElements(valueType, values, count * valueCount);
  count = 0;
  if (slotCount > 0)
    memset(slots, 0, size_t(slotCount) * sizeof(int64_t));
}

uint64_t LookupMap::hash(const void *key) const {
  if (keyType != WEIR_STRING)
    return farmFingerprint64(key, keySize);
  auto *text = static_cast<const weir_string *>(key);
  return farmFingerprint64(text->data, text->size);
}

bool LookupMap::areEqual(const void *a, const void *b) const {
  return keyType == WEIR_STRING ? equalStrings(*static_cast<const weir_string *>(a),
                                               *static_cast<const weir_string *>(b))
                                : memcmp(a, b, size_t(keySize)) == 0;
}

/// The slot of `key`, or the free one where it would be.
int64_t LookupMap::slotOf(const void *key) const {
  auto slot = int64_t(hash(key) & uint64_t(slotCount - 1));
  while (slots[slot] && !areEqual(keyAt(slots[slot] - 1), key))
    slot = (slot + 1) & (slotCount - 1);
  return slot;
}

int64_t LookupMap::find(const void *key) const { return slotCount ? slots[slotOf(key)] - 1 : -1; }

bool LookupMap::hasValue(int64_t entry, const void *value) const {
  if (valueType != WEIR_STRING)
    return memcmp(valueAt(entry), value, size_t(valueSize)) == 0;
  for (int64_t i = 0; i < valueCount; ++i)
    if (!equalStrings(static_cast<const weir_string *>(valueAt(entry))[i],
                      static_cast<const weir_string *>(value)[i]))
      return false;
  return true;
}

bool LookupMap::grow() {
  int64_t wanted = capacity ? capacity * 2 : 16;
  auto *grownKeys = static_cast<uint8_t *>(realloc(keys, size_t(wanted * keySize)));
  if (!grownKeys)
    return false;
  keys = grownKeys;
  auto *grownValues =
      static_cast<uint8_t *>(realloc(values, size_t(wanted * valueSize | !valueSize)));
  if (!grownValues)
    return false;
  values = grownValues;
  auto *grownSlots = static_cast<int64_t *>(calloc(size_t(wanted) * 2, sizeof(int64_t)));
  if (!grownSlots)
    return false;
  free(slots);
  slots = grownSlots;
  capacity = wanted;
  slotCount = wanted * 2; // a power of two, never more than half full
  for (int64_t entry = 0; entry < count; ++entry)
    slots[slotOf(keyAt(entry))] = entry + 1;
  return true;
}

bool LookupMap::insert(const void *key, const void *value) {
  int64_t entry = find(key);
  if (entry < 0 && count == capacity && !grow())
    return false;
  uint8_t *place = values + (entry < 0 ? count : entry) * valueSize;
  if (entry >= 0) {
    // The new one first: `value` may be what is replaced.
    auto *fresh = static_cast<uint8_t *>(malloc(size_t(valueSize | !valueSize)));
    if (!fresh || !copyElements(valueType, fresh, value, valueCount)) {
      free(fresh);
      return false;
    }
    freeElements(valueType, place, valueCount);
    memcpy(place, fresh, size_t(valueSize));
    free(fresh);
    return true;
  }
  if (!copyElements(keyType, keys + count * keySize, key, 1))
    return false;
  if (!copyElements(valueType, place, value, valueCount)) {
    freeElements(keyType, keys + count * keySize, 1);
    return false;
  }
  slots[slotOf(key)] = ++count;
  return true;
}

void LookupMap::remove(const void *key) {
  int64_t entry = find(key);
  if (entry < 0)
    return;
  int64_t hole = slotOf(key);
  // What was pushed past the hole moves back into it (Knuth, volume 3, 6.4,
  // algorithm R).
  for (int64_t at = hole;;) {
    at = (at + 1) & (slotCount - 1);
    if (!slots[at])
      break;
    auto home = int64_t(hash(keyAt(slots[at] - 1)) & uint64_t(slotCount - 1));
    bool staysPut = hole <= at ? hole < home && home <= at : hole < home || home <= at;
    if (staysPut)
      continue;
    slots[hole] = slots[at];
    hole = at;
  }
  slots[hole] = 0;
  freeElements(keyType, keys + entry * keySize, 1);
  freeElements(valueType, values + entry * valueSize, valueCount);
  int64_t last = --count;
  if (entry == last)
    return;
  slots[slotOf(keyAt(last))] = entry + 1;
  memcpy(keys + entry * keySize, keys + last * keySize, size_t(keySize));
  memcpy(values + entry * valueSize, values + last * valueSize, size_t(valueSize));
}

} // namespace weir::rt
