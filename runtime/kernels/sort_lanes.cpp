//===- sort_lanes.cpp - several lines sorted side by side -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/sort_lanes.h"
#include "kernels/by_vectors.h"

#include <string.h>
#include <type_traits>

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

/// Inserts lines into what is kept of the columns, which is in registers meanwhile.
template <typename Word, int64_t lanes, int64_t kept>
[[gnu::always_inline]] inline void insertLines(Word *least, const Word *words, int64_t count) {
  typedef Word Vector __attribute__((vector_size(sizeof(Word) * lanes)));
  Vector best[kept];
  memcpy(best, least, sizeof(best));
  for (int64_t i = 0; i < count; ++i) {
    Vector next;
    memcpy(&next, words + i * lanes, sizeof(next));
#pragma GCC unroll 8
    for (int64_t j = 0; j < kept; ++j) {
      Vector less = next < best[j] ? next : best[j];
      next = next < best[j] ? best[j] : next;
      best[j] = less;
    }
  }
  memcpy(least, best, sizeof(best));
}

template <int64_t kept>
[[gnu::always_inline]] inline void insertKeyLines(int64_t *least, int64_t *indices,
                                                  const int64_t *keys, int64_t begin,
                                                  int64_t count) {
  typedef int64_t Vector __attribute__((vector_size(sizeof(int64_t) * wideLanes)));
  Vector best[kept], places[kept];
  int64_t done = 0;
  if (begin > 0) {
    memcpy(best, least, sizeof(best));
    memcpy(places, indices, sizeof(places));
  } else {
    // The first lines are put in order: equal keys are not exchanged.
    done = kept;
    memcpy(best, keys, sizeof(best));
#pragma GCC unroll 8
    for (int64_t i = 0; i < kept; ++i) {
      places[i] = Vector{} + i;
#pragma GCC unroll 8
      for (int64_t j = i; j > 0; --j) {
        auto turned = best[j] < best[j - 1];
        Vector key = turned ? best[j - 1] : best[j], place = turned ? places[j - 1] : places[j];
        best[j - 1] = turned ? best[j] : best[j - 1];
        places[j - 1] = turned ? places[j] : places[j - 1];
        best[j] = key;
        places[j] = place;
      }
    }
  }
  for (int64_t i = done; i < count; ++i) {
    Vector next, place = Vector{} + (begin + i);
    memcpy(&next, keys + i * wideLanes, sizeof(next));
    // Behind keys that are equal. What is moved on keeps its order, whatever it is equal to.
#pragma GCC unroll 8
    for (int64_t j = kept - 1; j > 0; --j) {
      auto moves = next < best[j - 1], enters = next < best[j];
      Vector key = moves ? best[j - 1] : next, from = moves ? places[j - 1] : place;
      best[j] = enters ? key : best[j];
      places[j] = enters ? from : places[j];
    }
    auto isFirst = next < best[0];
    best[0] = isFirst ? next : best[0];
    places[0] = isFirst ? place : places[0];
  }
  memcpy(least, best, sizeof(best));
  memcpy(indices, places, sizeof(places));
}

/// Calls `body` with the number of kept elements as a constant.
template <typename Body> void withKept(int64_t kept, Body body) {
  switch (kept) {
  case 1:
    return body(std::integral_constant<int64_t, 1>());
  case 2:
    return body(std::integral_constant<int64_t, 2>());
  case 3:
    return body(std::integral_constant<int64_t, 3>());
  case 4:
    return body(std::integral_constant<int64_t, 4>());
  case 5:
    return body(std::integral_constant<int64_t, 5>());
  case 6:
    return body(std::integral_constant<int64_t, 6>());
  case 7:
    return body(std::integral_constant<int64_t, 7>());
  default:
    return body(std::integral_constant<int64_t, mostKept>());
  }
}

template <typename Word, int64_t lanes>
void insertWords(Word *least, int64_t kept, const Word *words, int64_t count) {
  withKept(kept, [=](auto constant) {
    byVectors([=]() __attribute__((always_inline)) {
      insertLines<Word, lanes, constant.value>(least, words, count);
    });
  });
}

template <typename Word, int64_t lanes> void sortWords(Word *words, int64_t count) {
  byVectors([=]() __attribute__((always_inline)) { mergeExchange<Word, lanes>(words, count); });
}

} // namespace

void insertColumns(int32_t *least, int64_t kept, const int32_t *words, int64_t count) {
  insertWords<int32_t, narrowLanes>(least, kept, words, count);
}
void insertColumns(int64_t *least, int64_t kept, const int64_t *words, int64_t count) {
  insertWords<int64_t, wideLanes>(least, kept, words, count);
}
void insertKeys(int64_t *least, int64_t *indices, int64_t kept, const int64_t *keys, int64_t begin,
                int64_t count) {
  withKept(kept, [=](auto constant) {
    byVectors([=]() __attribute__((always_inline)) {
      insertKeyLines<constant.value>(least, indices, keys, begin, count);
    });
  });
}

void sortColumns(int32_t *words, int64_t count) { sortWords<int32_t, narrowLanes>(words, count); }
void sortColumns(int64_t *words, int64_t count) { sortWords<int64_t, wideLanes>(words, count); }

} // namespace weir::rt
