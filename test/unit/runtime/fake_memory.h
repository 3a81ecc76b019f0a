//===- fake_memory.h - address space without memory -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A sub-allocator whose regions are numbers: the BFC allocator never touches
// what it hands out, and tests of its policy should not either.

#ifndef WEIR_TEST_UNIT_RUNTIME_FAKE_MEMORY_H
#define WEIR_TEST_UNIT_RUNTIME_FAKE_MEMORY_H

#include "bfc/sub_allocator.h"

#include <cstdint>
#include <map>
#include <optional>

namespace weir::rt::test {

class FakeMemory {
public:
  /// Holds at most `capacity` bytes; `adjacent` regions follow each other
  /// without a gap, and may be given back as one.
  FakeMemory(int64_t capacity, bool adjacent) : capacity(capacity), adjacent(adjacent) {}

  SubAllocator source() {
    return {this,
            [](void *self, int64_t, int64_t bytes, int64_t *received) {
              *received = bytes;
              return static_cast<FakeMemory *>(self)->allocate(bytes);
            },
            [](void *self, void *data, int64_t bytes) {
              static_cast<FakeMemory *>(self)->release(data, bytes);
            },
            adjacent};
  }

  void *allocate(int64_t bytes) {
    ++asked;
    if (held + bytes > capacity)
      return nullptr;
    held += bytes;
    uint64_t address = next;
    next += uint64_t(bytes) + (adjacent ? 0 : 4096);
    pieces[address] = bytes;
    return reinterpret_cast<void *>(address);
  }

  void release(void *data, int64_t bytes) {
    auto address = reinterpret_cast<uint64_t>(data);
    held -= bytes;
    // A joined region comes back whole: it must be pieces end to end.
    while (bytes > 0) {
      auto found = pieces.find(address);
      if (found == pieces.end() || found->second > bytes) {
        wrongReleases = true;
        return;
      }
      address += uint64_t(found->second);
      bytes -= found->second;
      pieces.erase(found);
    }
  }

  const int64_t capacity;
  const bool adjacent;
  int64_t held = 0;
  int64_t asked = 0;
  uint64_t next = uint64_t(1) << 32;
  std::map<uint64_t, int64_t> pieces;
  bool wrongReleases = false;
};

} // namespace weir::rt::test

#endif // WEIR_TEST_UNIT_RUNTIME_FAKE_MEMORY_H
