//===- sort_test.cpp - lines sorted side by side --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernel_call.h"
#include "kernels/ordering.h"
#include "kernels/sort_lanes.h"

#include "weir/kernels.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

using namespace weir::rt;
using namespace weir::rt::test;

namespace {

/// Random bits, of which few differ, so that keys are equal; every NaN is among them.
std::vector<uint8_t> bitsOf(size_t count, int64_t bytes, std::mt19937 &random) {
  std::vector<uint8_t> data(count * size_t(bytes));
  for (uint8_t &byte : data)
    byte = uint8_t(random() % 2 ? random() : random() % 4 * 0x55);
  return data;
}

/// Which `k` of a line come first, by keys and then indices.
std::vector<int64_t> orderOf(int32_t dtype, const uint8_t *line, int64_t stride, int64_t size,
                             bool largest, int64_t k) {
  std::vector<uint64_t> keys(static_cast<size_t>(size));
  makeKeys(dtype, line, stride, size, false, keys.data());
  std::vector<int64_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    uint64_t x = keys[size_t(a)], y = keys[size_t(b)];
    return x == y ? a < b : largest ? x > y : x < y;
  });
  order.resize(size_t(k));
  return order;
}

/// Of `data` by dimension 1 of three.
void expectOrder(int32_t dtype, std::vector<uint8_t> data, std::vector<int64_t> dims, int64_t k,
                 bool largest, int32_t index, int32_t threads = 1) {
  int64_t bytes = weir_dtype_size(dtype), size = dims[1], inner = dims[2];
  Call call(weir_kernel_top_k, {dense(data, dtype, dims), integer(k)}, {dtype, index},
            {1, largest, 1}, threads);
  ASSERT_EQ(call.code, WEIR_OK) << call.message;
  const std::vector<uint8_t> &values = call.results[0].bytes;
  auto wide = call.results[1].as<int64_t>();
  auto narrow = call.results[1].as<int32_t>();
  for (int64_t line = 0; line < dims[0] * inner; ++line) {
    int64_t outer = line / inner, first = outer * size * inner + line % inner;
    auto order = orderOf(dtype, data.data() + first * bytes, inner, size, largest, k);
    for (int64_t i = 0; i < k; ++i) {
      auto out = size_t(outer * k * inner + line % inner + i * inner);
      int64_t found = index == WEIR_I32 ? narrow[out] : wide[out];
      ASSERT_EQ(found, order[size_t(i)]) << "type " << dtype << ", line " << line << ", " << i;
      ASSERT_TRUE(std::equal(&values[out * size_t(bytes)], &values[out * size_t(bytes)] + bytes,
                             &data[size_t((first + found * inner) * bytes)]));
    }
  }
}

void expectOrder(int32_t dtype, std::vector<int64_t> dims, int64_t k, bool largest, int32_t index,
                 std::mt19937 &random) {
  int64_t count = dims[0] * dims[1] * dims[2];
  expectOrder(dtype, bitsOf(size_t(count), weir_dtype_size(dtype), random), dims, k, largest,
              index);
}

// All types, lines along the last dimension and across it, fewer and more of them than lanes.
TEST(SideBySide, OrdersAsKeysDo) {
  std::mt19937 random(11);
  for (int32_t dtype :
       {WEIR_BOOL,     WEIR_U8,     WEIR_U4,         WEIR_U2,         WEIR_F8E8M0, WEIR_U16,
        WEIR_U32,      WEIR_U64,    WEIR_I8,         WEIR_I4,         WEIR_I2,     WEIR_I16,
        WEIR_I32,      WEIR_I64,    WEIR_F16,        WEIR_BF16,       WEIR_F32,    WEIR_F64,
        WEIR_F8E4M3FN, WEIR_F8E5M2, WEIR_F8E4M3FNUZ, WEIR_F8E5M2FNUZ, WEIR_F4E2M1})
    for (const std::vector<int64_t> &dims :
         {std::vector<int64_t>{37, 65, 1}, {3, 64, 21}, {2, 2, 16}, {5, 1, 9}, {2, 300, 3}})
      for (bool largest : {false, true})
        expectOrder(dtype, dims, (dims[1] + 1) / 2, largest, largest ? WEIR_I32 : WEIR_I64, random);
}

// The first few of lines, each put among those so far: as many of them as there are forms, beyond
// what is read at once, and where all keys are equal.
TEST(SideBySide, OrdersTheFirstFew) {
  std::mt19937 random(14);
  for (int32_t dtype : {WEIR_BOOL, WEIR_I8, WEIR_F16, WEIR_F32, WEIR_I64, WEIR_U64, WEIR_F64})
    for (const std::vector<int64_t> &dims :
         {std::vector<int64_t>{3, 9, 21}, {1, 300, 37}, {20, 12, 1}, {2, 8, 5}})
      for (int64_t k = 1; k <= 8; ++k)
        for (bool largest : {false, true})
          expectOrder(dtype, dims, k, largest, largest ? WEIR_I32 : WEIR_I64, random);
}

// Lengths at which one way gives way to another.
TEST(SideBySide, OrdersLongLines) {
  std::mt19937 random(12);
  for (int64_t size : {256, 257, 2048, 2049})
    for (int64_t k : {int64_t(1), size / 16, size / 16 + 1, size})
      for (int32_t dtype : {WEIR_I8, WEIR_F32})
        expectOrder(dtype, {11, size, 1}, k, true, WEIR_I64, random);
}

// Few of many, one line after the other: as many as are put in their places, and more, of types
// of each kind and size, along the last dimension and across it.
TEST(LineByLine, OrdersTheFirstOfMany) {
  std::mt19937 random(15);
  for (int32_t dtype : {WEIR_U8, WEIR_I16, WEIR_BF16, WEIR_U32, WEIR_F32, WEIR_I64, WEIR_F64})
    for (const std::vector<int64_t> &dims :
         {std::vector<int64_t>{1, 1500, 1}, {2, 4099, 1}, {1, 3000, 3}})
      for (int64_t k : {1, 9, 32, 33, 93})
        for (bool largest : {false, true})
          expectOrder(dtype, dims, k, largest, largest ? WEIR_I32 : WEIR_I64, random);
}

// More are kept than are read at once; each that is kept is displaced, or none; all are equal, or
// NaN, which is the last key.
TEST(LineByLine, OrdersTheFirstOfSortedAndOfEqualElements) {
  constexpr int64_t size = 40000;
  std::vector<float> rising(size), falling(size), equal(size, 1), nan(size, NAN);
  std::iota(rising.begin(), rising.end(), -100.f);
  std::copy(rising.rbegin(), rising.rend(), falling.begin());
  for (const std::vector<float> *line : {&rising, &falling, &equal, &nan})
    for (int64_t k : {7, 32, 600, 2500})
      for (bool largest : {false, true}) {
        auto *bytes = reinterpret_cast<const uint8_t *>(line->data());
        expectOrder(WEIR_F32, std::vector<uint8_t>(bytes, bytes + size * 4), {1, size, 1}, k,
                    largest, WEIR_I64);
      }
}

// Each thread has a range of lines, which begins within those of one outer index, and may be less
// than there are lanes.
TEST(Lines, AreSharedByThreads) {
  std::mt19937 random(16);
  for (int32_t dtype : {WEIR_I8, WEIR_F32, WEIR_I64})
    for (const std::vector<int64_t> &dims : {std::vector<int64_t>{7, 900, 61},
                                             {601, 200, 1},
                                             {5, 20000, 1},
                                             {3, 5000, 2},
                                             {37, 4000, 1}})
      for (int64_t k : {3, 40})
        for (int32_t threads : {2, 3}) {
          int64_t count = dims[0] * dims[1] * dims[2];
          expectOrder(dtype, bitsOf(size_t(count), weir_dtype_size(dtype), random), dims, k, true,
                      WEIR_I64, threads);
        }
}

template <typename Word> void expectSorted(int64_t lanes) {
  std::mt19937_64 random(13);
  for (int64_t count = 0; count < 140; ++count) {
    std::vector<Word> words(size_t(count * lanes));
    for (Word &word : words)
      word = Word(random());
    std::vector<Word> sorted = words;
    sortColumns(sorted.data(), count);
    for (int64_t l = 0; l < lanes; ++l) {
      std::vector<Word> expected, found;
      for (int64_t i = 0; i < count; ++i) {
        expected.push_back(words[size_t(i * lanes + l)]);
        found.push_back(sorted[size_t(i * lanes + l)]);
      }
      std::sort(expected.begin(), expected.end());
      ASSERT_EQ(found, expected) << count << " numbers, lane " << l;
    }
  }
}

TEST(SideBySide, SortsAnyLength) {
  expectSorted<int32_t>(narrowLanes);
  expectSorted<int64_t>(wideLanes);
}

} // namespace
