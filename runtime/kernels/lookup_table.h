//===- lookup_table.h - maps from keys to values ----------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_KERNELS_LOOKUP_TABLE_H
#define WEIR_RUNTIME_KERNELS_LOOKUP_TABLE_H

#include "kernels/string_support.h"
#include "session/resources.h"
#include "support/sync.h"

namespace weir::rt {

/// Pairs of a key (one element) and a value (elements of a fixed shape), in the
/// order of insertion; of a removed one the last takes the place. A hash table
/// with linear probing of entry numbers. Not thread-safe by itself.
class LookupMap {
public:
  LookupMap(int32_t keyType, int32_t valueType, int64_t valueCount);
  ~LookupMap();
  LookupMap(const LookupMap &) = delete;
  LookupMap &operator=(const LookupMap &) = delete;

  int64_t size() const { return count; }
  void clear();
  /// Number of the entry of `key`, -1: none.
  int64_t find(const void *key) const;
  /// Sets the value of `key`; copies both. False: no memory.
  bool insert(const void *key, const void *value);
  void remove(const void *key);

  const void *keyAt(int64_t entry) const { return keys + entry * keySize; }
  const void *valueAt(int64_t entry) const { return values + entry * valueSize; }
  /// Whether the value of an entry is `value`, in every bit.
  bool hasValue(int64_t entry, const void *value) const;

  const int32_t keyType, valueType;
  const int64_t valueCount; ///< elements a value

private:
  bool grow();
  uint64_t hash(const void *key) const;
  bool areEqual(const void *a, const void *b) const;
  bool copyElements(int32_t dtype, void *to, const void *from, int64_t elements);
  static void freeElements(int32_t dtype, void *at, int64_t elements);
  int64_t slotOf(const void *key) const;

  const int64_t keySize, valueSize;
  uint8_t *keys = nullptr, *values = nullptr;
  int64_t *slots = nullptr; ///< entry numbers + 1, 0: free
  int64_t count = 0, capacity = 0, slotCount = 0;
};

} // namespace weir::rt

#endif // WEIR_RUNTIME_KERNELS_LOOKUP_TABLE_H
