//===- sorted_list.h - pointers by key --------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_STORES_SORTED_LIST_H
#define WEIR_RUNTIME_STORES_SORTED_LIST_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

namespace weir::rt {

/// Pointers to T, each key once, ascending by `T::compare(key)` (negative, zero,
/// positive: of T's key to the other). Owns none of them. Not thread-safe.
template <typename T> class SortedList {
public:
  ~SortedList() { ::free(items); }

  int64_t size() const { return count; }
  T *operator[](int64_t i) const { return items[i]; }
  void clear() { count = 0; }

  template <typename Key> T *find(const Key &key) const {
    int64_t at = place(key);
    return at < count && items[at]->compare(key) == 0 ? items[at] : nullptr;
  }
  /// Puts `item` in, where its key is not there yet (`isNew`; may be null). False:
  /// no memory.
  template <typename Key> bool insert(const Key &key, T *item, bool *isNew) {
    int64_t at = place(key);
    bool isMissing = at == count || items[at]->compare(key) != 0;
    if (isNew)
      *isNew = isMissing;
    if (!isMissing)
      return true;
    if (count == capacity) {
      int64_t larger = capacity ? capacity * 2 : 16;
      auto *grown = static_cast<T **>(realloc(items, size_t(larger) * sizeof(T *)));
      if (!grown)
        return false;
      items = grown;
      capacity = larger;
    }
    memmove(items + at + 1, items + at, size_t(count - at) * sizeof(T *));
    items[at] = item;
    ++count;
    return true;
  }
  template <typename Key> void remove(const Key &key) {
    int64_t at = place(key);
    if (at == count || items[at]->compare(key) != 0)
      return;
    --count;
    memmove(items + at, items + at + 1, size_t(count - at) * sizeof(T *));
  }

private:
  /// The first place whose key is not below.
  template <typename Key> int64_t place(const Key &key) const {
    int64_t low = 0, high = count;
    while (low < high) {
      int64_t middle = low + (high - low) / 2;
      if (items[middle]->compare(key) < 0)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

  T **items = nullptr;
  int64_t count = 0, capacity = 0;
};

} // namespace weir::rt

#endif // WEIR_RUNTIME_STORES_SORTED_LIST_H
