//===- kernels_test.cpp - library kernels against plain definitions -------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernel_call.h"
#include "kernels/kernel_support.h"
#include "kernels/ordering.h"

#include "weir/kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <random>

using namespace weir::rt;
using namespace weir::rt::test;

namespace {

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

template <typename T> uint64_t keyOf(int32_t dtype, T value) {
  uint64_t key;
  makeKeys(dtype, &value, 1, 1, false, &key);
  return key;
}

TEST(Order, OfNumbersIsTheirValues) {
  float inf = INFINITY;
  float floats[] = {-inf, -3e38f, -1.5f, -1e-45f, 0, 1e-45f, 2, 3e38f, inf};
  for (size_t i = 1; i < std::size(floats); ++i)
    EXPECT_LT(keyOf(WEIR_F32, floats[i - 1]), keyOf(WEIR_F32, floats[i]));
  EXPECT_EQ(keyOf(WEIR_F32, -0.f), keyOf(WEIR_F32, 0.f));
  EXPECT_EQ(keyOf(WEIR_F32, NAN), keyOf(WEIR_F32, -NAN));
  EXPECT_GT(keyOf(WEIR_F32, -NAN), keyOf(WEIR_F32, inf));
  EXPECT_LT(keyOf(WEIR_I8, int8_t(-1)), keyOf(WEIR_I8, int8_t(0)));
  EXPECT_LT(keyOf(WEIR_I64, INT64_MIN), keyOf(WEIR_I64, int64_t(-1)));
  EXPECT_LT(keyOf(WEIR_U64, uint64_t(1)), keyOf(WEIR_U64, UINT64_MAX));
  EXPECT_LT(keyOf(WEIR_F64, -1.0), keyOf(WEIR_F64, 1e-300));
  EXPECT_FALSE(hasKeys(WEIR_STRING));
  EXPECT_FALSE(hasKeys(WEIR_C64));
}

/// Values of the 8-bit formats by their definitions (OCP 8-bit floating point;
/// the FNUZ forms after Graphcore's and AMD's proposal).
double smallFloat(int32_t dtype, uint8_t bits) {
  bool e5 = dtype == WEIR_F8E5M2 || dtype == WEIR_F8E5M2FNUZ;
  bool fnuz = dtype == WEIR_F8E4M3FNUZ || dtype == WEIR_F8E5M2FNUZ;
  int fractionBits = e5 ? 2 : 3;
  int bias = (e5 ? 15 : 7) + fnuz;
  int exponent = (bits & 0x7f) >> fractionBits;
  int fraction = bits & ((1 << fractionBits) - 1);
  if (fnuz ? bits == 0x80 : e5 ? exponent == 31 && fraction : (bits & 0x7f) == 0x7f)
    return NAN;
  double sign = bits & 0x80 ? -1 : 1;
  if (!fnuz && e5 && exponent == 31)
    return sign * INFINITY;
  double scale = std::ldexp(1, (exponent ? exponent : 1) - bias - fractionBits);
  return sign * scale * (exponent ? fraction + (1 << fractionBits) : fraction);
}

TEST(Order, OfEightBitFloatsIsTheirValues) {
  for (int32_t dtype : {WEIR_F8E4M3FN, WEIR_F8E4M3FNUZ, WEIR_F8E5M2, WEIR_F8E5M2FNUZ})
    for (int a = 0; a < 256; ++a)
      for (int b = 0; b < 256; ++b) {
        double x = smallFloat(dtype, uint8_t(a)), y = smallFloat(dtype, uint8_t(b));
        uint64_t kx = keyOf(dtype, uint8_t(a)), ky = keyOf(dtype, uint8_t(b));
        bool less = std::isnan(y) ? !std::isnan(x) : x < y;
        ASSERT_EQ(kx < ky, less) << dtype << ": " << a << ", " << b;
      }
}

TEST(Half, ConvertsBothWays) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    float value = floatOfHalf(uint16_t(bits));
    if (std::isnan(value))
      EXPECT_TRUE((bits & 0x7fff) > 0x7c00);
    else
      ASSERT_EQ(halfOfFloat(value), bits);
  }
  EXPECT_EQ(floatOfHalf(0x3c00), 1.0f);
  EXPECT_EQ(floatOfHalf(0x0001), 0x1p-24f);
  EXPECT_EQ(halfOfFloat(65519.9f), 0x7bff);
  EXPECT_EQ(halfOfFloat(65520.0f), 0x7c00);
  EXPECT_EQ(halfOfFloat(1 + 0x1p-11f), 0x3c00) << "ties go to even";
  EXPECT_EQ(halfOfFloat(1 + 3 * 0x1p-11f), 0x3c02);
  EXPECT_EQ(halfOfFloat(0x1p-25f), 0) << "half of the least, to even";
  EXPECT_EQ(halfOfFloat(0x1.8p-24f), 2);
  EXPECT_EQ(halfOfFloat(NAN) & 0x7fff, 0x7e00);
}

TEST(Sorting, MatchesTheStandardLibrary) {
  std::mt19937_64 random(3);
  for (int64_t count : {0, 1, 2, 3, 24, 25, 100, 1000, 20000})
    for (uint64_t distinct : {UINT64_C(1), UINT64_C(3), UINT64_MAX}) {
      std::vector<KeyIndex> items(static_cast<size_t>(count));
      for (int64_t i = 0; i < count; ++i)
        items[size_t(i)] = {random() % distinct, i};
      std::vector<KeyIndex> expected = items, selected = items;
      std::sort(expected.begin(), expected.end());
      int64_t k = count ? int64_t(random() % uint64_t(count + 1)) : 0;
      selectKeys(selected.data(), count, k);
      std::sort(selected.begin(), selected.begin() + k);
      for (int64_t i = 0; i < k; ++i)
        ASSERT_EQ(selected[size_t(i)].index, expected[size_t(i)].index);
      sortKeys(items.data(), count);
      for (size_t i = 0; i < items.size(); ++i)
        ASSERT_EQ(items[i].index, expected[i].index);
    }
  // Descending input, and organ pipes, are hard on naive quicksorts.
  std::vector<KeyIndex> pipe(100000);
  for (size_t i = 0; i < pipe.size(); ++i)
    pipe[i] = {std::min(i, pipe.size() - i), int64_t(i)};
  sortKeys(pipe.data(), int64_t(pipe.size()));
  EXPECT_TRUE(std::is_sorted(pipe.begin(), pipe.end()));
}

//===----------------------------------------------------------------------===//
// TopK and sort
//===----------------------------------------------------------------------===//

TEST(TopK, MatchesAPlainSortOnAllAxes) {
  std::mt19937 random(1);
  std::vector<int64_t> dims = {3, 40, 5};
  std::vector<float> data(600);
  for (float &x : data)
    x = float(int(random() % 21) - 10); // many equal
  for (int64_t axis : {0, 1, 2, -1})
    for (int64_t largest : {0, 1})
      for (int64_t sorted : {0, 1}) {
        size_t a = size_t(axis < 0 ? axis + 3 : axis);
        for (int64_t k : {int64_t(0), int64_t(1), dims[a] - 1, dims[a]}) {
          Call call(weir_kernel_top_k, {floats(data, dims), integer(k)}, {WEIR_F32, WEIR_I64},
                    {axis, largest, sorted});
          ASSERT_EQ(call.code, WEIR_OK) << call.message;
          std::vector<int64_t> shape = dims;
          shape[a] = k;
          ASSERT_EQ(call.results[0].dims, shape);
          auto values = call.results[0].as<float>();
          auto indices = call.results[1].as<int64_t>();
          int64_t inner = 1, outer = 1;
          for (size_t i = 0; i < 3; ++i)
            (i < a ? outer : inner) *= i == a ? 1 : dims[i];
          for (int64_t o = 0; o < outer; ++o)
            for (int64_t n = 0; n < inner; ++n) {
              auto at = [&](int64_t i) { return data[size_t((o * dims[a] + i) * inner + n)]; };
              std::vector<int64_t> order(size_t(dims[a]), 0);
              std::iota(order.begin(), order.end(), 0);
              std::sort(order.begin(), order.end(), [&](int64_t x, int64_t y) {
                if (at(x) == at(y))
                  return x < y;
                return largest ? at(x) > at(y) : at(x) < at(y);
              });
              order.resize(size_t(k));
              std::vector<int64_t> found;
              for (int64_t i = 0; i < k; ++i) {
                auto out = size_t((o * k + i) * inner + n);
                found.push_back(indices[out]);
                ASSERT_EQ(values[out], at(found.back()));
              }
              if (!sorted && k < dims[a]) {
                std::sort(found.begin(), found.end());
                std::sort(order.begin(), order.end());
              }
              ASSERT_EQ(found, order);
            }
        }
      }
}

// The orders are those of TensorFlow 2.21's top_k with sorted=False.
TEST(TopK, LeavesUnsortedAsTensorFlowDoes) {
  std::vector<float> data = {3, 9, 1, 7, 7, 2, 8, 5, 9, 4};
  std::vector<std::vector<int64_t>> orders = {
      {1}, {3, 6, 1, 8}, {5, 9, 0, 7, 4, 1, 6, 3, 8}, {1, 8, 6, 3, 4, 7, 9, 0, 5, 2}};
  for (const std::vector<int64_t> &order : orders) {
    auto k = int64_t(order.size());
    Call call(weir_kernel_top_k, {floats(data, {10}), integer(k)}, {WEIR_F32, WEIR_I64}, {0, 1, 0});
    EXPECT_EQ(call.results[1].as<int64_t>(), order);
  }
}

TEST(TopK, NansAreTheLargest) {
  std::vector<float> data = {1, NAN, -INFINITY, 5};
  int64_t k = 4;
  Call call(weir_kernel_top_k, {floats(data, {4}), integer(k)}, {WEIR_F32, WEIR_I32}, {0, 1, 1});
  EXPECT_EQ(call.results[1].as<int32_t>(), (std::vector<int32_t>{1, 3, 0, 2}));
  Call sort(weir_kernel_sort, {floats(data, {4})}, {WEIR_F32, WEIR_I64}, {0, 0});
  EXPECT_EQ(sort.results[1].as<int64_t>(), (std::vector<int64_t>{2, 0, 3, 1}));
  Call falling(weir_kernel_sort, {floats(data, {4})}, {WEIR_F32, WEIR_I64}, {0, 1});
  EXPECT_EQ(falling.results[1].as<int64_t>(), (std::vector<int64_t>{1, 3, 0, 2}));
}

TEST(TopK, RefusesWhatCannotBe) {
  std::vector<float> data = {1, 2, 3};
  int64_t k = 4;
  Call tooMany(weir_kernel_top_k, {floats(data, {3}), integer(k)}, {WEIR_F32, WEIR_I64}, {0, 1, 1});
  EXPECT_EQ(tooMany.code, WEIR_INVALID_ARGUMENT);
  EXPECT_EQ(tooMany.message, "node \"the/node\" (TheOp): expected k from 0 to 3, "
                             "the size of dimension 0, got 4");
  k = -1;
  Call negative(weir_kernel_top_k, {floats(data, {3}), integer(k)}, {WEIR_F32, WEIR_I64},
                {0, 1, 1});
  EXPECT_EQ(negative.code, WEIR_INVALID_ARGUMENT);
  k = 1;
  Call axis(weir_kernel_top_k, {floats(data, {3}), integer(k)}, {WEIR_F32, WEIR_I64}, {1, 1, 1});
  EXPECT_EQ(axis.code, WEIR_INVALID_ARGUMENT);
  std::vector<weir_string> strings = {{"a", 1}};
  Call type(weir_kernel_top_k, {tensorOf(strings, WEIR_STRING, {1}), integer(k)},
            {WEIR_STRING, WEIR_I64}, {0, 1, 1});
  EXPECT_EQ(type.code, WEIR_UNIMPLEMENTED);
  EXPECT_NE(type.message.find("string"), std::string::npos);
}

//===----------------------------------------------------------------------===//
// Unique
//===----------------------------------------------------------------------===//

TEST(Unique, FlattenedMatchesAMap) {
  std::mt19937 random(2);
  std::vector<int32_t> data(500);
  for (int32_t &x : data)
    x = int32_t(random() % 40) - 20;
  for (int64_t sorted : {0, 1}) {
    Call call(weir_kernel_unique, {tensorOf(data, WEIR_I32, {50, 10})},
              {WEIR_I32, WEIR_I64, WEIR_I32, WEIR_I64}, {-1, sorted});
    ASSERT_EQ(call.code, WEIR_OK) << call.message;
    std::vector<int32_t> values;
    std::map<int32_t, int64_t> first, counts;
    for (size_t i = 0; i < data.size(); ++i)
      if (counts[data[i]]++ == 0) {
        values.push_back(data[i]);
        first[data[i]] = int64_t(i);
      }
    if (sorted)
      std::sort(values.begin(), values.end());
    EXPECT_EQ(call.results[0].as<int32_t>(), values);
    auto firsts = call.results[1].as<int64_t>();
    auto inverse = call.results[2].as<int32_t>();
    auto counted = call.results[3].as<int64_t>();
    ASSERT_EQ(inverse.size(), data.size());
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(firsts[i], first[values[i]]);
      EXPECT_EQ(counted[i], counts[values[i]]);
    }
    for (size_t i = 0; i < data.size(); ++i)
      EXPECT_EQ(values[size_t(inverse[i])], data[i]);
  }
}

TEST(Unique, SlicesAlongAnAxis) {
  // ONNX's own example: rows, sorted; row 2 repeats row 0.
  std::vector<float> rows = {1, 0, 0, 1, 0, 0, 2, 3, 4};
  Call byRow(weir_kernel_unique, {floats(rows, {3, 3})}, {WEIR_F32, WEIR_I64, WEIR_I64, WEIR_I64},
             {0, 1});
  EXPECT_EQ(byRow.results[0].dims, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(byRow.results[0].as<float>(), (std::vector<float>{1, 0, 0, 2, 3, 4}));
  EXPECT_EQ(byRow.results[2].as<int64_t>(), (std::vector<int64_t>{0, 0, 1}));
  // Columns: [5 1 5], [6 2 6]: two distinct; unsorted keeps 5, 6 first.
  std::vector<int64_t> columns = {5, 1, 5, 6, 2, 6};
  for (int64_t sorted : {0, 1}) {
    Call call(weir_kernel_unique, {tensorOf(columns, WEIR_I64, {2, 3})},
              {WEIR_I64, WEIR_I64, WEIR_I64, WEIR_I64}, {1, sorted});
    EXPECT_EQ(call.results[0].dims, (std::vector<int64_t>{2, 2}));
    EXPECT_EQ(call.results[0].as<int64_t>(),
              sorted ? (std::vector<int64_t>{1, 5, 2, 6}) : (std::vector<int64_t>{5, 1, 6, 2}));
    EXPECT_EQ(call.results[1].as<int64_t>(),
              sorted ? (std::vector<int64_t>{1, 0}) : (std::vector<int64_t>{0, 1}));
    EXPECT_EQ(call.results[3].as<int64_t>(),
              sorted ? (std::vector<int64_t>{1, 2}) : (std::vector<int64_t>{2, 1}));
  }
}

TEST(Unique, StringsAndNothing) {
  std::vector<weir_string> data = {{"b", 1}, {"ab", 2}, {"", 0}, {"b", 1}, {"a", 1}};
  Call call(weir_kernel_unique, {tensorOf(data, WEIR_STRING, {5})},
            {WEIR_STRING, WEIR_I32, WEIR_I32, WEIR_I32}, {-1, 1});
  EXPECT_EQ(call.results[0].strings, (std::vector<std::string>{"", "a", "ab", "b"}));
  EXPECT_EQ(call.results[2].as<int32_t>(), (std::vector<int32_t>{3, 2, 0, 3, 1}));
  std::vector<float> none;
  Call empty(weir_kernel_unique, {floats(none, {0})}, {WEIR_F32, WEIR_I64, WEIR_I64, WEIR_I64},
             {-1, 0});
  EXPECT_EQ(empty.code, WEIR_OK);
  EXPECT_EQ(empty.results[0].dims, (std::vector<int64_t>{0}));
}

//===----------------------------------------------------------------------===//
// Guards of planned buffers
//===----------------------------------------------------------------------===//

TEST(GuardBuffer, NoticesWhatIsWrittenAroundIt) {
  // 100 bytes, which plans round up to 128, with 64 on either side.
  std::vector<uint8_t> arena(64 + 128 + 64, 0);
  weir_tensor buffer = {};
  buffer.data = arena.data() + 64;
  buffer.bytes = 100;
  buffer.dtype = WEIR_F32;
  buffer.rank = 1;
  buffer.dims[0] = 25;
  auto call = [&](int64_t isEnd) {
    return Call(weir_kernel_guard_buffer, {buffer}, {}, {isEnd}).code;
  };
  for (size_t wrong : {size_t(0), size_t(63), size_t(192), size_t(255)}) {
    EXPECT_EQ(call(0), WEIR_OK);
    EXPECT_EQ(arena[64], 0xff);
    EXPECT_EQ(arena[191], 0xff);
    arena[64] = arena[191] = 0; // its own
    EXPECT_EQ(call(1), WEIR_OK);
    EXPECT_EQ(arena[64], 0xff);
    arena[wrong] ^= 1;
    EXPECT_EQ(call(1), WEIR_INTERNAL) << wrong;
  }
}

//===----------------------------------------------------------------------===//
// NonZero
//===----------------------------------------------------------------------===//

TEST(NonZero, ListsIndicesRowByRow) {
  std::vector<float> data = {0, 1, -0.f, NAN, 0, 0, -2, 0};
  Call call(weir_kernel_non_zero, {floats(data, {2, 2, 2})}, {WEIR_I64}, {});
  EXPECT_EQ(call.results[0].dims, (std::vector<int64_t>{3, 3}));
  EXPECT_EQ(call.results[0].as<int64_t>(), (std::vector<int64_t>{0, 0, 1, 0, 1, 1, 1, 1, 0}));
  std::vector<uint8_t> flags = {1, 0, 1};
  Call bools(weir_kernel_non_zero, {tensorOf(flags, WEIR_BOOL, {3})}, {WEIR_I32}, {});
  EXPECT_EQ(bools.results[0].as<int32_t>(), (std::vector<int32_t>{0, 2}));
  std::vector<double> pairs = {0, -0., 0, 3};
  Call complexes(weir_kernel_non_zero, {tensorOf(pairs, WEIR_C128, {2})}, {WEIR_I64}, {});
  EXPECT_EQ(complexes.results[0].as<int64_t>(), (std::vector<int64_t>{1}));
  std::vector<int64_t> scalar = {7};
  Call one(weir_kernel_non_zero, {tensorOf(scalar, WEIR_I64, {})}, {WEIR_I64}, {});
  EXPECT_EQ(one.results[0].dims, (std::vector<int64_t>{1, 0}));
  std::vector<float> none;
  Call empty(weir_kernel_non_zero, {floats(none, {3, 0})}, {WEIR_I64}, {});
  EXPECT_EQ(empty.results[0].dims, (std::vector<int64_t>{0, 2}));
}

//===----------------------------------------------------------------------===//
// Non-maximum suppression
//===----------------------------------------------------------------------===//

// The six boxes of ONNX's and TensorFlow's own tests.
std::vector<float> sixBoxes = {0, 0,  1, 1,  0, 0.1f,  1, 1.1f,  0, -0.1f, 1, 0.9f,
                               0, 10, 1, 11, 0, 10.1f, 1, 11.1f, 0, 100,   1, 101};
std::vector<float> sixScores = {0.9f, 0.75f, 0.6f, 0.95f, 0.5f, 0.3f};

TEST(NonMaxSuppression, OnnxExamples) {
  int64_t most = 3;
  std::vector<float> iou = {0.5f}, score = {0};
  auto run = [&](std::vector<float> boxes, int64_t center) {
    return Call(weir_kernel_non_max_suppression,
                {floats(boxes, {1, 6, 4}), floats(sixScores, {1, 1, 6}), integer(most),
                 floats(iou, {1}), floats(score, {1})},
                {WEIR_I64}, {center});
  };
  using Indices = std::vector<int64_t>;
  EXPECT_EQ(run(sixBoxes, 0).results[0].as<int64_t>(), (Indices{0, 0, 3, 0, 0, 0, 0, 0, 5}));
  // Corners the other way round.
  std::vector<float> flipped = sixBoxes;
  for (size_t i = 0; i < 6; ++i) {
    std::swap(flipped[4 * i], flipped[4 * i + 2]);
    std::swap(flipped[4 * i + 1], flipped[4 * i + 3]);
  }
  EXPECT_EQ(run(flipped, 0).results[0].as<int64_t>(), (Indices{0, 0, 3, 0, 0, 0, 0, 0, 5}));
  std::vector<float> centers = {0.5f, 0.5f,  1, 1, 0.5f, 0.6f,  1, 1, 0.5f, 0.4f,   1, 1,
                                0.5f, 10.5f, 1, 1, 0.5f, 10.6f, 1, 1, 0.5f, 100.5f, 1, 1};
  EXPECT_EQ(run(centers, 1).results[0].as<int64_t>(), (Indices{0, 0, 3, 0, 0, 0, 0, 0, 5}));
  score[0] = 0.4f;
  EXPECT_EQ(run(sixBoxes, 0).results[0].as<int64_t>(), (Indices{0, 0, 3, 0, 0, 0}));
  most = 1;
  EXPECT_EQ(run(sixBoxes, 0).results[0].as<int64_t>(), (Indices{0, 0, 3}));
  most = 0;
  EXPECT_EQ(run(sixBoxes, 0).results[0].dims, (Indices{0, 3}));
  // Without the optional operands: none may be kept.
  Call bare(weir_kernel_non_max_suppression,
            {floats(sixBoxes, {1, 6, 4}), floats(sixScores, {1, 1, 6})}, {WEIR_I64}, {0});
  EXPECT_EQ(bare.results[0].dims, (Indices{0, 3}));
}

TEST(NonMaxSuppression, BatchesAndClasses) {
  std::vector<float> boxes = sixBoxes, scores = sixScores;
  boxes.insert(boxes.end(), sixBoxes.begin(), sixBoxes.end());
  scores.insert(scores.end(), sixScores.begin(), sixScores.end());
  std::vector<float> four = scores;
  four.insert(four.end(), scores.begin(), scores.end());
  int64_t most = 2;
  std::vector<float> iou = {0.5f}, score = {0};
  Call call(weir_kernel_non_max_suppression,
            {floats(boxes, {2, 6, 4}), floats(four, {2, 2, 6}), integer(most), floats(iou, {1}),
             floats(score, {1})},
            {WEIR_I64}, {0});
  EXPECT_EQ(call.results[0].as<int64_t>(),
            (std::vector<int64_t>{0, 0, 3, 0, 0, 0, 0, 1, 3, 0, 1, 0,
                                  1, 0, 3, 1, 0, 0, 1, 1, 3, 1, 1, 0}));
  Call wrong(weir_kernel_non_max_suppression,
             {floats(boxes, {2, 6, 4}), floats(four, {4, 1, 6}), integer(most)}, {WEIR_I64}, {0});
  EXPECT_EQ(wrong.code, WEIR_INVALID_ARGUMENT);
}

TEST(NonMaxSuppression, TensorFlowHardAndSoft) {
  std::vector<float> iou = {0.5f}, score = {0}, sigma = {0};
  int64_t most = 3;
  auto run = [&](int64_t pad) {
    return Call(weir_kernel_non_max_suppression_tf,
                {floats(sixBoxes, {6, 4}), floats(sixScores, {6}), integer(most), floats(iou, {}),
                 floats(score, {}), floats(sigma, {})},
                {WEIR_I32, WEIR_F32, WEIR_I32}, {pad});
  };
  using Indices = std::vector<int32_t>;
  Call hard = run(0);
  EXPECT_EQ(hard.results[0].as<int32_t>(), (Indices{3, 0, 5}));
  EXPECT_EQ(hard.results[1].as<float>(), (std::vector<float>{0.95f, 0.9f, 0.3f}));
  most = 5;
  Call padded = run(1);
  EXPECT_EQ(padded.results[0].as<int32_t>(), (Indices{3, 0, 5, 0, 0}));
  EXPECT_EQ(padded.results[2].as<int32_t>(), (Indices{3}));
  most = 6;
  iou[0] = 1;
  sigma[0] = 0.5f;
  // TensorFlow's test of soft suppression gives these.
  Call soft = run(0);
  EXPECT_EQ(soft.results[0].as<int32_t>(), (Indices{3, 0, 1, 5, 4, 2}));
  auto scores = soft.results[1].as<float>();
  float expected[] = {0.95f, 0.9f, 0.384f, 0.3f, 0.256f, 0.197f};
  for (size_t i = 0; i < 6; ++i)
    EXPECT_NEAR(scores[i], expected[i], 1e-3f);
  // Boxes that overlap more than the threshold lose score, too, and nothing else.
  iou[0] = 0.1f;
  EXPECT_EQ(run(0).results[0].as<int32_t>(), (Indices{3, 0, 1, 5, 4, 2}));
  iou[0] = 1.5f;
  EXPECT_EQ(run(0).code, WEIR_INVALID_ARGUMENT);
}

TEST(NonMaxSuppression, ByOverlaps) {
  // Box 1 overlaps with 0, box 2 with 1 only.
  std::vector<float> overlaps = {1, 0.8f, 0, 0.8f, 1, 0.9f, 0, 0.9f, 1};
  std::vector<float> scores = {0.9f, 0.8f, 0.7f}, limit = {0.5f}, least = {0};
  int64_t most = 3;
  Call call(weir_kernel_non_max_suppression_overlaps,
            {floats(overlaps, {3, 3}), floats(scores, {3}), integer(most), floats(limit, {}),
             floats(least, {})},
            {WEIR_I32}, {0});
  EXPECT_EQ(call.results[0].as<int32_t>(), (std::vector<int32_t>{0, 2}));
  Call wrong(weir_kernel_non_max_suppression_overlaps,
             {floats(overlaps, {3, 3}), floats(scores, {2}), integer(most)}, {WEIR_I32}, {0});
  EXPECT_EQ(wrong.code, WEIR_INVALID_ARGUMENT);
}

TEST(IsotonicRegression, PoolsWhatRises) {
  std::vector<float> values = {3, 2, 2.5f, 2.25f, 1, 2, 2, 1, 3, 1};
  Call call(weir_kernel_isotonic_regression, {floats(values, {2, 5})}, {WEIR_F32, WEIR_I32}, {});
  EXPECT_EQ(call.results[0].as<float>(),
            (std::vector<float>{3, 2.25f, 2.25f, 2.25f, 1, 2, 2, 2, 2, 1}));
  // What is equal without being pooled stays apart.
  EXPECT_EQ(call.results[1].as<int32_t>(), (std::vector<int32_t>{0, 1, 1, 2, 3, 0, 1, 2, 2, 3}));
}

//===----------------------------------------------------------------------===//
// Strings
//===----------------------------------------------------------------------===//

/// A string tensor that points into what it keeps.
struct Strings {
  Strings(std::vector<std::string> values, std::vector<int64_t> dims)
      : values(std::move(values)), dims(std::move(dims)) {
    for (const std::string &value : this->values)
      strings.push_back({value.data(), int64_t(value.size())});
  }
  operator weir_tensor() { return tensorOf(strings, WEIR_STRING, dims); }
  std::vector<std::string> values;
  std::vector<int64_t> dims;
  std::vector<weir_string> strings;
};
using Texts = std::vector<std::string>;

TEST(Strings, ConcatBroadcasts) {
  Strings a({"cat", "dog", "", "x"}, {2, 2}), b({"s", ""}, {2}), dot({"."}, {});
  Call call(weir_kernel_string_concat, {a, dot, b}, {WEIR_STRING}, {});
  ASSERT_EQ(call.code, WEIR_OK) << call.message;
  EXPECT_EQ(call.results[0].dims, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(call.results[0].strings, (Texts{"cat.s", "dog.", ".s", "x."}));
  Strings three({"1", "2", "3"}, {3}), none({}, {0, 1});
  Call wrong(weir_kernel_string_concat, {a, three}, {WEIR_STRING}, {});
  EXPECT_EQ(wrong.code, WEIR_INVALID_ARGUMENT);
  Call empty(weir_kernel_string_concat, {none, b}, {WEIR_STRING}, {});
  EXPECT_EQ(empty.results[0].dims, (std::vector<int64_t>{0, 2}));
  std::vector<float> numbers = {1, 2};
  Call type(weir_kernel_string_concat, {floats(numbers, {2}), b}, {WEIR_STRING}, {});
  EXPECT_EQ(type.code, WEIR_UNIMPLEMENTED);
}

TEST(Strings, EqualAndLength) {
  Strings a({"a", "", "ab", std::string("a\0b", 3)}, {4}), b({"ab"}, {1});
  Call call(weir_kernel_string_equal, {a, b}, {WEIR_BOOL}, {});
  EXPECT_EQ(call.results[0].bytes, (std::vector<uint8_t>{0, 0, 1, 0}));
  Call length(weir_kernel_string_length, {a}, {WEIR_I32}, {0});
  EXPECT_EQ(length.results[0].as<int32_t>(), (std::vector<int32_t>{1, 0, 2, 3}));
}

TEST(Strings, SplitAsPythonDoes) {
  auto split = [](Strings data, std::string by, int64_t most) {
    Strings delimiter({by}, {});
    return Call(weir_kernel_string_split, {data, delimiter}, {WEIR_STRING, WEIR_I64}, {most});
  };
  using Counts = std::vector<int64_t>;
  Call basic = split(Strings({"abc.com", "a.b.c"}, {2}), ".", -1);
  EXPECT_EQ(basic.results[0].dims, (Counts{2, 3}));
  EXPECT_EQ(basic.results[0].strings, (Texts{"abc", "com", "", "a", "b", "c"}));
  EXPECT_EQ(basic.results[1].as<int64_t>(), (Counts{2, 3}));

  Call once = split(Strings({"a.b.c", "x"}, {2, 1}), ".", 1);
  EXPECT_EQ(once.results[0].dims, (Counts{2, 1, 2}));
  EXPECT_EQ(once.results[0].strings, (Texts{"a", "b.c", "x", ""}));

  Call adjacent = split(Strings({"--a--", "-----"}, {2}), "--", -1);
  EXPECT_EQ(adjacent.results[0].strings, (Texts{"", "a", "", "", "", "-"}));

  Call space = split(Strings({" hello   world ", "", "\tx"}, {3}), "", -1);
  EXPECT_EQ(space.results[0].strings, (Texts{"hello", "world", "", "", "x", ""}));
  EXPECT_EQ(space.results[1].as<int64_t>(), (Counts{2, 0, 1}));

  Call spaceOnce = split(Strings({"  a  b  c  "}, {1}), "", 1);
  EXPECT_EQ(spaceOnce.results[0].strings, (Texts{"a", "b  c  "}));
  Call never = split(Strings({"  a b "}, {1}), "", 0);
  EXPECT_EQ(never.results[0].strings, (Texts{"a b "}));

  Call nothing = split(Strings({}, {0}), ".", -1);
  EXPECT_EQ(nothing.results[0].dims, (Counts{0, 0}));
}

} // namespace
