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
  makeKeys(dtype, line, stride, size, keys.data());
  std::vector<int64_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    uint64_t x = keys[size_t(a)], y = keys[size_t(b)];
    return x == y ? a < b : largest ? x > y : x < y;
  });
  order.resize(size_t(k));
  return order;
}

void expectOrder(int32_t dtype, std::vector<int64_t> dims, int64_t k, bool largest, int32_t index,
                 std::mt19937 &random) {
  int64_t bytes = weir_dtype_size(dtype), size = dims[1], inner = dims[2];
  auto data = bitsOf(size_t(dims[0] * size * inner), bytes, random);
  Call call(weir_kernel_top_k, {dense(data, dtype, dims), integer(k)}, {dtype, index},
            {1, largest, 1});
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
