//===- list.h - lists that grow ---------------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_SUPPORT_LIST_H
#define WEIR_RUNTIME_SUPPORT_LIST_H

#include "weir/weir.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <utility>

namespace weir::rt {

/// A list of plain values. Memory has `void *allocate(int64_t bytes)`, null when
/// there is none, and `void release(void *)`, which takes null. After a failure
/// to grow the list takes no more.
template <typename T, typename Memory> class BasicList {
public:
  explicit BasicList(Memory memory = Memory()) : memory(memory) {}
  ~BasicList() { memory.release(items); }
  BasicList(const BasicList &) = delete;
  BasicList &operator=(const BasicList &) = delete;

  bool reserve(int64_t wanted) {
    if (wanted <= capacity)
      return true;
    int64_t larger = capacity * 2 > wanted ? capacity * 2 : wanted;
    if (larger < 16)
      larger = 16;
    T *grown = isFailed ? nullptr : static_cast<T *>(memory.allocate(larger * int64_t(sizeof(T))));
    if (!grown) {
      isFailed = true;
      return false;
    }
    if (count > 0)
      memcpy(static_cast<void *>(grown), items, size_t(count) * sizeof(T));
    memory.release(items);
    items = grown;
    capacity = larger;
    return true;
  }
  bool push(const T &item) {
    if (count == capacity) {
      T kept = item; // may lie in the list
      if (!reserve(count + 1))
        return false;
      items[count++] = kept;
      return true;
    }
    items[count++] = item;
    return true;
  }
  bool append(const T *more, int64_t size) {
    if (size <= 0)
      return !isFailed;
    if (!reserve(count + size))
      return false;
    memcpy(static_cast<void *>(items + count), more, size_t(size) * sizeof(T));
    count += size;
    return true;
  }
  void resize(int64_t size) { count = size; } ///< to no more than reserved
  /// By `compare`, as that of qsort_r, which is given `context`.
  void sort(int (*compare)(const void *a, const void *b, void *context), void *context) {
    if (count > 1)
      qsort_r(items, size_t(count), sizeof(T), compare, context);
  }
  void clear() { count = 0; }
  /// Gives the memory back; it may grow again.
  void reset() {
    memory.release(items);
    items = nullptr;
    count = capacity = 0;
    isFailed = false;
  }
  void swap(BasicList &other) {
    std::swap(memory, other.memory);
    std::swap(items, other.items);
    std::swap(count, other.count);
    std::swap(capacity, other.capacity);
    std::swap(isFailed, other.isFailed);
  }
  bool failed() const { return isFailed; }
  void fail() { isFailed = true; } ///< of what was to be put in
  int64_t size() const { return count; }
  T *data() { return items; }
  const T *data() const { return items; }
  T &operator[](int64_t i) { return items[i]; }
  const T &operator[](int64_t i) const { return items[i]; }

private:
  Memory memory;
  T *items = nullptr;
  int64_t count = 0, capacity = 0;
  bool isFailed = false;
};

/// Memory of the C library.
struct HeapMemory {
  void *allocate(int64_t bytes) { return malloc(size_t(bytes)); }
  void release(void *data) { free(data); }
};

template <typename T> using HeapList = BasicList<T, HeapMemory>;

/// A string that grows, over any list of characters.
template <typename Characters> class GrowingText : public Characters {
public:
  using Characters::Characters;
  GrowingText &operator<<(const weir_string &string) {
    this->append(string.data, string.size);
    return *this;
  }
  GrowingText &operator<<(const char *text) {
    this->append(text, int64_t(strlen(text)));
    return *this;
  }
  GrowingText &operator<<(char c) {
    this->push(c);
    return *this;
  }
  weir_string view() const { return {this->data(), this->size()}; }
};

using HeapText = GrowingText<HeapList<char>>;

} // namespace weir::rt

#endif // WEIR_RUNTIME_SUPPORT_LIST_H
