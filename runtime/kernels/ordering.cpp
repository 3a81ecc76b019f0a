//===- ordering.cpp - elements as keys that sort --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/ordering.h"
#include "kernels/by_vectors.h"
#include "kernels/sort_lanes.h"

#include <limits>
#include <string.h>

namespace weir::rt {

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

namespace {

/// How a type's bit patterns are ordered.
struct Pattern {
  enum Kind : uint8_t { None, Unsigned, Signed, SignMagnitude } kind;
  uint8_t bytes;
  uint8_t bits; ///< that count, from the lowest
  /// SignMagnitude: the largest magnitude that is a number.
  uint64_t largest;
  /// The unsigned zero formats have one NaN, where -0 would be.
  bool negativeZeroIsNan;
};

} // namespace

static Pattern patternOf(int32_t dtype) {
  switch (dtype) {
  case WEIR_BOOL:
  case WEIR_U8:
  case WEIR_U4:
  case WEIR_U2:
    return {Pattern::Unsigned, 1, 8, 0, false};
  case WEIR_F8E8M0: // exponents; all ones are NaN, the largest already
    return {Pattern::Unsigned, 1, 8, 0, false};
  case WEIR_U16:
    return {Pattern::Unsigned, 2, 16, 0, false};
  case WEIR_U32:
    return {Pattern::Unsigned, 4, 32, 0, false};
  case WEIR_U64:
    return {Pattern::Unsigned, 8, 64, 0, false};
  case WEIR_I8:
  case WEIR_I4:
  case WEIR_I2:
    return {Pattern::Signed, 1, 8, 0, false};
  case WEIR_I16:
    return {Pattern::Signed, 2, 16, 0, false};
  case WEIR_I32:
    return {Pattern::Signed, 4, 32, 0, false};
  case WEIR_I64:
    return {Pattern::Signed, 8, 64, 0, false};
  case WEIR_F16:
    return {Pattern::SignMagnitude, 2, 16, 0x7c00, false};
  case WEIR_BF16:
    return {Pattern::SignMagnitude, 2, 16, 0x7f80, false};
  case WEIR_F32:
    return {Pattern::SignMagnitude, 4, 32, 0x7f800000, false};
  case WEIR_F64:
    return {Pattern::SignMagnitude, 8, 64, 0x7ff0000000000000, false};
  case WEIR_F8E4M3FN:
    return {Pattern::SignMagnitude, 1, 8, 0x7e, false};
  case WEIR_F8E5M2:
    return {Pattern::SignMagnitude, 1, 8, 0x7c, false};
  case WEIR_F8E4M3FNUZ:
  case WEIR_F8E5M2FNUZ:
    return {Pattern::SignMagnitude, 1, 8, 0x7f, true};
  case WEIR_F4E2M1:
    return {Pattern::SignMagnitude, 1, 4, 0x7, false};
  default:
    return {Pattern::None, 0, 0, 0, false};
  }
}

bool hasKeys(int32_t dtype) { return patternOf(dtype).kind != Pattern::None; }

/// A vector of as many numbers as lanesOf<Word>().
template <typename Word, typename T = Word>
using LaneVector __attribute__((vector_size(sizeof(T) * lanesOf<Word>()))) = T;

/// What turns bit patterns into signed keys.
template <typename Word> struct SignedKeys {
  Word sign, below, mask, largest, nan, last, turn;

  /// Keys of `width` bits, falling where `falls`. NaN has the last of them.
  SignedKeys(const Pattern &pattern, size_t width, bool falls)
      : sign(Word(UINT64_C(1) << (pattern.bits - 1))),
        below(Word((UINT64_C(1) << (pattern.bits - 1)) - 1)),
        mask(Word(~UINT64_C(0) >> (64 - pattern.bits))), largest(Word(pattern.largest)),
        // All ones are a NaN where they are not more bits than the pattern has.
        nan(pattern.negativeZeroIsNan ? sign : -1), last(Word((UINT64_C(1) << (width - 1)) - 1)),
        turn(falls ? -1 : 0) {}

  /// The keys of `bits`, whose other bits than the pattern's are zero.
  template <Pattern::Kind kind, typename Vector>
  [[gnu::always_inline]] Vector of(Vector bits) const {
    if constexpr (kind == Pattern::Unsigned)
      return (bits - sign) ^ turn;
    if constexpr (kind == Pattern::Signed)
      return (((bits & mask) ^ sign) - sign) ^ turn;
    Vector magnitude = bits & below;
    auto isNan = (magnitude > largest) | ((bits & mask) == nan);
    Vector key = (bits & sign) != 0 ? -magnitude : magnitude;
    return (isNan ? Vector{} + last : key) ^ turn;
  }
};

/// keys[i] of elements i * stride.
template <typename T, Pattern::Kind kind>
static void fillKeys(const Pattern &pattern, const void *data, int64_t stride, int64_t count,
                     bool falls, uint64_t *keys) {
  constexpr int64_t lanes = lanesOf<int64_t>();
  using Bits = LaneVector<int64_t, T>;
  SignedKeys<int64_t> make(pattern, 64, falls);
  auto *elements = static_cast<const T *>(data);
  byVectors([=]() __attribute__((always_inline)) {
    auto keysOf = [=](const T *line) __attribute__((always_inline)) {
      Bits bits;
      memcpy(&bits, line, sizeof(bits));
      auto wide = __builtin_convertvector(bits, LaneVector<int64_t>);
      return make.template of<kind>(wide) ^ std::numeric_limits<int64_t>::min();
    };
    auto gather = [=](int64_t i, int64_t valid, T *line) __attribute__((always_inline)) {
      for (int64_t l = 0; l < valid; ++l)
        line[l] = elements[(i + l) * stride];
    };
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
      T line[lanes];
      if (stride != 1)
        gather(i, lanes, line);
      auto made = keysOf(stride == 1 ? elements + i : line);
      memcpy(keys + i, &made, sizeof(made));
    }
    if (i == count)
      return;
    T line[lanes] = {};
    gather(i, count - i, line);
    auto made = keysOf(line);
    memcpy(keys + i, &made, size_t(count - i) * sizeof(*keys));
  });
}

template <typename T>
static void fillKeysOf(const Pattern &pattern, const void *data, int64_t stride, int64_t count,
                       bool falls, uint64_t *keys) {
  if (pattern.kind == Pattern::Unsigned)
    return fillKeys<T, Pattern::Unsigned>(pattern, data, stride, count, falls, keys);
  if (pattern.kind == Pattern::Signed)
    return fillKeys<T, Pattern::Signed>(pattern, data, stride, count, falls, keys);
  fillKeys<T, Pattern::SignMagnitude>(pattern, data, stride, count, falls, keys);
}

void makeKeys(int32_t dtype, const void *data, int64_t stride, int64_t count, bool falls,
              uint64_t *keys) {
  Pattern pattern = patternOf(dtype);
  switch (pattern.bytes) {
  case 1:
    return fillKeysOf<uint8_t>(pattern, data, stride, count, falls, keys);
  case 2:
    return fillKeysOf<uint16_t>(pattern, data, stride, count, falls, keys);
  case 4:
    return fillKeysOf<uint32_t>(pattern, data, stride, count, falls, keys);
  case 8:
    return fillKeysOf<uint64_t>(pattern, data, stride, count, falls, keys);
  }
}

int64_t countNotBelow(const uint64_t *keys, int64_t count, uint64_t bound) {
  int64_t i = 0;
  byVectors([=, &i]() __attribute__((always_inline)) {
    for (; i + keyGroup <= count; i += keyGroup) {
      uint64_t below = 0;
      for (int64_t l = 0; l < keyGroup; ++l)
        below |= uint64_t(keys[i + l] < bound);
      if (below)
        return;
    }
  });
  return i;
}

//===----------------------------------------------------------------------===//
// Keys and indices in one number
//===----------------------------------------------------------------------===//

/// to[(i - begin) * lanesOf<Word>() + l] = make(elements i of all columns, i).
template <typename T, typename Word, typename Make>
static void fillLanes(const void *data, const Columns &columns, Word *to, Make make) {
  constexpr int64_t lanes = lanesOf<Word>();
  auto *elements = static_cast<const T *>(data);
  byVectors([=]() __attribute__((always_inline)) {
    auto fill = [=](int64_t i, const T *line) __attribute__((always_inline)) {
      LaneVector<Word, T> bits;
      memcpy(&bits, line, sizeof(bits));
      auto words = make(__builtin_convertvector(bits, LaneVector<Word>), columns.begin + i);
      memcpy(to + i * lanes, &words, sizeof(words));
    };
    const T *line = elements + columns.begin * columns.step;
    for (int64_t i = 0; i < columns.count; ++i, line += columns.step) {
      if (columns.neighbours) {
        fill(i, line + columns.firsts[0]);
        continue;
      }
      T together[lanes];
      for (int64_t l = 0; l < lanes; ++l)
        together[l] = line[columns.firsts[l]];
      fill(i, together);
    }
  });
}

template <typename Word, typename T, Pattern::Kind kind>
static void fillWords(const Pattern &pattern, const void *data, const Columns &columns,
                      bool largest, Word *words) {
  constexpr size_t half = sizeof(Word) * 4;
  SignedKeys<Word> keys(pattern, half, largest);
  fillLanes<T>(data, columns, words,
               [=](LaneVector<Word> bits, int64_t i) __attribute__((always_inline)) {
                 return keys.template of<kind>(bits) << half | Word(i);
               });
}

template <typename Word> bool hasWords(int32_t dtype, int64_t count) {
  Pattern pattern = patternOf(dtype);
  return pattern.kind != Pattern::None && pattern.bytes * 2 <= sizeof(Word) &&
         count <= int64_t(1) << (sizeof(Word) * 4);
}

template <typename Word, typename T>
static void fillWordsOf(const Pattern &pattern, const void *data, const Columns &columns,
                        bool largest, Word *words) {
  if (pattern.kind == Pattern::Unsigned)
    return fillWords<Word, T, Pattern::Unsigned>(pattern, data, columns, largest, words);
  if (pattern.kind == Pattern::Signed)
    return fillWords<Word, T, Pattern::Signed>(pattern, data, columns, largest, words);
  fillWords<Word, T, Pattern::SignMagnitude>(pattern, data, columns, largest, words);
}

template <typename Word>
void makeWords(int32_t dtype, const void *data, const Columns &columns, bool largest, Word *words) {
  Pattern pattern = patternOf(dtype);
  if (pattern.bytes == 1)
    return fillWordsOf<Word, uint8_t>(pattern, data, columns, largest, words);
  if (pattern.bytes == 2)
    return fillWordsOf<Word, uint16_t>(pattern, data, columns, largest, words);
  if constexpr (sizeof(Word) == 8)
    fillWordsOf<Word, uint32_t>(pattern, data, columns, largest, words);
}

template bool hasWords<int32_t>(int32_t, int64_t);
template bool hasWords<int64_t>(int32_t, int64_t);
template void makeWords(int32_t, const void *, const Columns &, bool, int32_t *);
template void makeWords(int32_t, const void *, const Columns &, bool, int64_t *);

template <Pattern::Kind kind>
static void fillWideKeys(const Pattern &pattern, const void *data, const Columns &columns,
                         bool largest, int64_t *keys) {
  SignedKeys<int64_t> signedKeys(pattern, 64, largest);
  fillLanes<int64_t>(data, columns, keys,
                     [=](LaneVector<int64_t> bits, int64_t)
                         __attribute__((always_inline)) { return signedKeys.of<kind>(bits); });
}

void makeWideKeys(int32_t dtype, const void *data, const Columns &columns, bool largest,
                  int64_t *keys) {
  Pattern pattern = patternOf(dtype);
  if (pattern.kind == Pattern::Unsigned)
    return fillWideKeys<Pattern::Unsigned>(pattern, data, columns, largest, keys);
  if (pattern.kind == Pattern::Signed)
    return fillWideKeys<Pattern::Signed>(pattern, data, columns, largest, keys);
  fillWideKeys<Pattern::SignMagnitude>(pattern, data, columns, largest, keys);
}

//===----------------------------------------------------------------------===//
// Sorting keys: quicksort that gives way to heapsort (Musser's introsort)
//===----------------------------------------------------------------------===//

static void swapItems(KeyIndex &a, KeyIndex &b) {
  KeyIndex item = a;
  a = b;
  b = item;
}

static void insertionSort(KeyIndex *items, int64_t count) {
  for (int64_t i = 1; i < count; ++i) {
    KeyIndex item = items[i];
    int64_t j = i;
    for (; j > 0 && item < items[j - 1]; --j)
      items[j] = items[j - 1];
    items[j] = item;
  }
}

static void siftDown(KeyIndex *items, int64_t root, int64_t count) {
  for (;;) {
    int64_t child = 2 * root + 1;
    if (child >= count)
      return;
    if (child + 1 < count && items[child] < items[child + 1])
      ++child;
    if (!(items[root] < items[child]))
      return;
    swapItems(items[root], items[child]);
    root = child;
  }
}

void makeHeap(KeyIndex *items, int64_t count) {
  for (int64_t i = count / 2; i-- > 0;)
    siftDown(items, i, count);
}

void replaceFirst(KeyIndex *heap, int64_t count, KeyIndex item) {
  heap[0] = item;
  siftDown(heap, 0, count);
}

static void heapSort(KeyIndex *items, int64_t count) {
  makeHeap(items, count);
  for (int64_t end = count; end-- > 1;) {
    swapItems(items[0], items[end]);
    siftDown(items, 0, end);
  }
}

/// Hoare's partition around the median of three; both sides are not empty, and
/// no item of the left one, of which the length is returned, is larger than one
/// of the right. count >= 3.
static int64_t partition(KeyIndex *items, int64_t count) {
  KeyIndex a = items[0], b = items[count / 2], c = items[count - 1];
  KeyIndex pivot = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
  int64_t low = -1, high = count;
  for (;;) {
    while (items[++low] < pivot)
      ;
    while (pivot < items[--high])
      ;
    if (low >= high)
      return high + 1;
    swapItems(items[low], items[high]);
  }
}

static int depthLimit(int64_t count) { return 2 * (64 - __builtin_clzll(uint64_t(count) | 1)); }

static void introSort(KeyIndex *items, int64_t count, int depth) {
  while (count > 24) {
    if (depth-- == 0)
      return heapSort(items, count);
    int64_t left = partition(items, count);
    // Recurses into the smaller side: the stack stays logarithmic.
    if (left < count - left) {
      introSort(items, left, depth);
      items += left;
      count -= left;
    } else {
      introSort(items + left, count - left, depth);
      count = left;
    }
  }
  insertionSort(items, count);
}

void sortKeys(KeyIndex *items, int64_t count) { introSort(items, count, depthLimit(count)); }

void selectKeys(KeyIndex *items, int64_t count, int64_t k) {
  int depth = depthLimit(count);
  while (count > 24 && k > 0 && k < count) {
    if (depth-- == 0)
      return heapSort(items, count);
    int64_t left = partition(items, count);
    if (k < left) {
      count = left;
    } else {
      items += left;
      count -= left;
      k -= left;
    }
  }
  if (k > 0 && k < count)
    insertionSort(items, count);
}

//===----------------------------------------------------------------------===//
// Sorting by comparison: merge sort from the bottom up
//===----------------------------------------------------------------------===//

void sortIndices(int64_t *indices, int64_t *scratch, int64_t count, CompareFn compare,
                 const void *argument) {
  int64_t *from = indices, *to = scratch;
  for (int64_t width = 1; width < count; width *= 2) {
    for (int64_t begin = 0; begin < count; begin += 2 * width) {
      int64_t middle = begin + width < count ? begin + width : count;
      int64_t end = begin + 2 * width < count ? begin + 2 * width : count;
      int64_t left = begin, right = middle;
      for (int64_t i = begin; i < end; ++i) {
        bool takeLeft =
            left < middle && (right >= end || compare(argument, from[left], from[right]) <= 0);
        to[i] = takeLeft ? from[left++] : from[right++];
      }
    }
    int64_t *swapped = from;
    from = to;
    to = swapped;
  }
  if (from != indices)
    memcpy(indices, from, size_t(count) * sizeof(int64_t));
}

} // namespace weir::rt
