//===- TensorDecoderTest.cpp - the values of a TensorProto --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/TensorDecoder.h"
#include "compiler/frontend/tensorflow/GraphReader.h"
#include "test/unit/tensorflow/GraphWriter.h"

#include <gtest/gtest.h>

using namespace weir::tf;
using namespace weir::tf::test;

namespace {

constexpr int64_t kFloat = 1, kInt32 = 3, kInt8 = 6, kString = 7, kHalf = 19;

struct Decoded {
  bool good = false;
  TensorValues values;
  std::string error;
};

Decoded decode(const std::string &message) {
  Decoded result;
  Tensor parsed;
  if (!readTensor(message, parsed)) {
    result.error = "malformed";
    return result;
  }
  result.good = decodeTensor(parsed, result.values, result.error);
  // What the view points into goes away with `message`.
  if (result.values.kind == TensorValues::Kind::View) {
    result.values.storage = std::string(result.values.view);
    result.values.kind = TensorValues::Kind::Owned;
  }
  return result;
}

} // namespace

TEST(TensorDecoder, TakesContentAsItIs) {
  std::string content = raw<float>({1.5f, -2.0f});
  Tensor parsed;
  std::string message = tensor(kFloat, {2}) + bytes(4, content);
  ASSERT_TRUE(readTensor(message, parsed));
  TensorValues values;
  std::string error;
  ASSERT_TRUE(decodeTensor(parsed, values, error));
  EXPECT_EQ(values.kind, TensorValues::Kind::View);
  EXPECT_EQ(values.number(DataType::Float, 1), -2.0);
}

TEST(TensorDecoder, RepeatsTheLastValue) {
  auto d = decode(tensor(kInt32, {2, 2}) + number(7, 5) + number(7, -3));
  ASSERT_TRUE(d.good) << d.error;
  std::vector<int64_t> found;
  for (int i = 0; i < 4; ++i)
    found.push_back(d.values.integer(DataType::Int32, i));
  EXPECT_EQ(found, (std::vector<int64_t>{5, -3, -3, -3}));
}

TEST(TensorDecoder, ASingleValueIsASplatHoweverLarge) {
  auto d = decode(tensor(kInt32, {1 << 20, 1 << 10}) + number(7, 9));
  ASSERT_TRUE(d.good) << d.error;
  EXPECT_EQ(d.values.kind, TensorValues::Kind::Splat);
  EXPECT_EQ(d.values.storage.size(), 4u);
  EXPECT_EQ(d.values.integer(DataType::Int32, 12345), 9);
}

TEST(TensorDecoder, NoValuesAreZeros) {
  auto d = decode(tensor(kFloat, {3}));
  ASSERT_TRUE(d.good);
  EXPECT_EQ(d.values.number(DataType::Float, 2), 0.0);
}

TEST(TensorDecoder, IgnoresSurplusValues) {
  auto d = decode(tensor(kInt8, {1}) + bytes(7, varint(4) + varint(5)));
  ASSERT_TRUE(d.good);
  EXPECT_EQ(d.values.integer(DataType::Int8, 0), 4);
  EXPECT_EQ(d.values.bytes().size(), 1u);
}

TEST(TensorDecoder, HalvesAreLowSixteenBits) {
  auto d = decode(tensor(kHalf, {1}) + number(13, 0x3c00));
  ASSERT_TRUE(d.good);
  EXPECT_EQ(d.values.bytes(), std::string("\x00\x3c", 2));
}

TEST(TensorDecoder, Strings) {
  auto d = decode(tensor(kString, {3}) + bytes(8, "a") + bytes(8, "bc"));
  ASSERT_TRUE(d.good);
  EXPECT_EQ(d.values.kind, TensorValues::Kind::Strings);
  ASSERT_EQ(d.values.strings.size(), 3u);
}

TEST(TensorDecoder, RefusesSizesThatLie) {
  EXPECT_FALSE(decode(tensor(kFloat, {2}) + bytes(4, "abc")).good);
  EXPECT_FALSE(decode(tensor(kFloat, {int64_t(1) << 60})).good);
  EXPECT_FALSE(decode(tensor(kFloat, {int64_t(1) << 40, int64_t(1) << 40})).good);
  EXPECT_FALSE(decode(tensor(kFloat, {-1})).good);
  // Two values that claim to be 2^38: no splat, and not in the file.
  EXPECT_FALSE(decode(tensor(kInt32, {int64_t(1) << 36}) + number(7, 1) + number(7, 2)).good);
  EXPECT_FALSE(decode(tensor(99, {1})).good);
}

TEST(TensorDecoder, AnEmptyDimensionEndsEveryProduct) {
  EXPECT_EQ(elementCount({int64_t(1) << 62, 0, int64_t(1) << 62}), 0);
  EXPECT_EQ(elementCount({}), 1);
  EXPECT_EQ(elementCount({3, -1}), -1);
}
