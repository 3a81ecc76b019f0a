//===- sort_lanes.cpp - several lines sorted side by side -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/sort_lanes.h"
#include "session/cpu_features.h"
#include "weir/abi.h"

#include <atomic>
#include <string.h>

namespace weir::rt {

namespace {

/// Sorts by Batcher's odd-even merge exchange, of any number of lines (Knuth, The Art of Computer
/// Programming, volume 3, algorithm 5.2.2M).
template <typename Word, int64_t lanes>
[[gnu::always_inline]] inline void mergeExchange(Word *words, int64_t count) {
  typedef Word Vector __attribute__((vector_size(sizeof(Word) * lanes)));
  auto exchange = [&](int64_t i, int64_t j) __attribute__((always_inline)) {
    Vector a, b;
    memcpy(&a, words + i * lanes, sizeof(Vector));
    memcpy(&b, words + j * lanes, sizeof(Vector));
    Vector less = a < b ? a : b, more = a < b ? b : a;
    memcpy(words + i * lanes, &less, sizeof(Vector));
    memcpy(words + j * lanes, &more, sizeof(Vector));
  };
  if (count < 2)
    return;
  int64_t top = int64_t(1) << (63 - __builtin_clzll(uint64_t(count - 1)));
  for (int64_t p = top; p > 0; p /= 2) {
    // Pairs `d` apart, of those whose number has or lacks the bit p, as `r` says.
    for (int64_t q = top, r = 0, d = p;; d = q - p, q /= 2, r = p) {
      for (int64_t block = r; block < count - d; block += 2 * p)
        for (int64_t i = block; i < block + p && i < count - d; ++i)
          exchange(i, i + d);
      if (q == p)
        break;
    }
  }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void sortByAvx2(int32_t *words, int64_t count) {
  mergeExchange<int32_t, narrowLanes>(words, count);
}
__attribute__((target("avx2"))) void sortByAvx2(int64_t *words, int64_t count) {
  mergeExchange<int64_t, wideLanes>(words, count);
}
// Has the less and the more of 64 bits as one instruction each.
__attribute__((target("avx512f"))) void sortByAvx512(int32_t *words, int64_t count) {
  mergeExchange<int32_t, narrowLanes>(words, count);
}
__attribute__((target("avx512f"))) void sortByAvx512(int64_t *words, int64_t count) {
  mergeExchange<int64_t, wideLanes>(words, count);
}

/// Which of WEIR_CPU_AVX2 and WEIR_CPU_AVX512 the processor has.
uint64_t features() {
  // CPUID takes long where a hypervisor answers it: once.
  constexpr uint64_t asked = 1; // no bit of the answer
  static std::atomic<uint64_t> known{0};
  uint64_t answer = known.load(std::memory_order_relaxed);
  if (!answer) {
    uint64_t wanted = WEIR_CPU_AVX2 | WEIR_CPU_AVX512;
    answer = (usableCpuFeatures(wanted) & wanted) | asked;
    known.store(answer, std::memory_order_relaxed);
  }
  return answer;
}
#endif

template <typename Word, int64_t lanes> void sortWords(Word *words, int64_t count) {
#if defined(__x86_64__)
  if (features() & WEIR_CPU_AVX512)
    return sortByAvx512(words, count);
  if (features() & WEIR_CPU_AVX2)
    return sortByAvx2(words, count);
#endif
  mergeExchange<Word, lanes>(words, count);
}

} // namespace

void sortColumns(int32_t *words, int64_t count) { sortWords<int32_t, narrowLanes>(words, count); }
void sortColumns(int64_t *words, int64_t count) { sortWords<int64_t, wideLanes>(words, count); }

} // namespace weir::rt
