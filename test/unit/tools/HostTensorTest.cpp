//===- HostTensorTest.cpp -------------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/common/HostTensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace weir::tools;

namespace {

TEST(HostTensor, NarrowFloatsRoundToNearestEven) {
  HostTensor tensor = makeTensor(WEIR_F16, {2});
  setElement(tensor, 0, 1 + 0x1p-11); // half way: down to even
  setElement(tensor, 1, 1 + 3 * 0x1p-11);
  EXPECT_EQ(elementAsDouble(tensor, 0), 1);
  EXPECT_EQ(elementAsDouble(tensor, 1), 1 + 0x1p-9);
  tensor = makeTensor(WEIR_BF16, {1});
  setElement(tensor, 0, 3.0e38);
  EXPECT_NEAR(elementAsDouble(tensor, 0), 3.0e38, 1e36);
  tensor = makeTensor(WEIR_F8E4M3FN, {1});
  setElement(tensor, 0, 448);
  EXPECT_EQ(tensor.bytes, "\x7e");
  tensor = makeTensor(WEIR_F4E2M1, {1});
  setElement(tensor, 0, -6);
  EXPECT_EQ(elementAsDouble(tensor, 0), -6);
}

TEST(HostTensor, TextOfEveryKind) {
  HostTensor tensor = makeTensor(WEIR_U64, {1});
  ASSERT_TRUE(setElementFromText(tensor, 0, "18446744073709551615"));
  EXPECT_EQ(static_cast<uint64_t>(elementAsInteger(tensor, 0)), UINT64_MAX);
  tensor = makeTensor(WEIR_F32, {1});
  ASSERT_TRUE(setElementFromText(tensor, 0, "5e-324"));
  EXPECT_EQ(elementAsDouble(tensor, 0), 0);
  ASSERT_TRUE(setElementFromText(tensor, 0, " -nan"));
  EXPECT_TRUE(std::isnan(elementAsDouble(tensor, 0)));
  ASSERT_TRUE(setElementFromText(tensor, 0, "-inf\r"));
  EXPECT_EQ(elementAsDouble(tensor, 0), -INFINITY);
  EXPECT_FALSE(setElementFromText(tensor, 0, "1.5x"));
  tensor = makeTensor(WEIR_BOOL, {1});
  ASSERT_TRUE(setElementFromText(tensor, 0, "True"));
  EXPECT_EQ(elementAsInteger(tensor, 0), 1);
  tensor = makeTensor(WEIR_C128, {1});
  ASSERT_TRUE(setElementFromText(tensor, 0, "(1e-05-2.5e+3j)"));
  double parts[2];
  std::memcpy(parts, tensor.bytes.data(), 16);
  EXPECT_EQ(parts[0], 1e-5);
  EXPECT_EQ(parts[1], -2.5e3);
}

TEST(HostTensor, FloatTextRoundsOnce) {
  // Just above the middle of two floats; through a double it would be the
  // middle itself, and round down.
  HostTensor tensor = makeTensor(WEIR_F32, {1});
  ASSERT_TRUE(setElementFromText(tensor, 0, "1.00000005960464477540000000000001"));
  EXPECT_EQ(elementAsDouble(tensor, 0), 1 + 0x1p-23);
}

TEST(HostTensor, CountsRefuseWhatDoesNotFit) {
  EXPECT_EQ(productOf({}), 1);
  EXPECT_EQ(productOf({3, 0, int64_t(1) << 62, 4}), 0);
  EXPECT_EQ(productOf({int64_t(1) << 40, int64_t(1) << 40}), -1);
  EXPECT_EQ(productOf({2, -1}), -1);
}

TEST(HostTensor, RandomValuesAreReproducible) {
  HostTensor a = randomTensor(WEIR_F32, {1000}, 3);
  EXPECT_EQ(a, randomTensor(WEIR_F32, {1000}, 3));
  EXPECT_NE(a, randomTensor(WEIR_F32, {1000}, 4));
  double sum = 0;
  for (int i = 0; i < 1000; ++i) {
    double value = elementAsDouble(a, i);
    EXPECT_GE(value, 0);
    EXPECT_LE(value, 1);
    sum += value;
  }
  EXPECT_NEAR(sum / 1000, 0.5, 0.05);
}

TEST(HostTensor, NamesOfTypes) {
  EXPECT_EQ(dtypeOfName("float32"), WEIR_F32);
  EXPECT_EQ(dtypeOfName("half"), WEIR_F16);
  EXPECT_EQ(dtypeOfName("qint32"), WEIR_I32);
  EXPECT_EQ(dtypeOfName(""), WEIR_INVALID);
  EXPECT_EQ(dtypeOfName("f33"), WEIR_INVALID);
  for (int32_t dtype = WEIR_F32; dtype <= WEIR_I2; ++dtype)
    EXPECT_EQ(dtypeOfName(dtypeName(dtype)), dtype);
}

TEST(HostTensor, ViewsGoThereAndBack) {
  HostTensor tensor = makeTensor(WEIR_STRING, {2});
  tensor.strings = {"a", std::string("b\0c", 3)};
  ViewStorage storage;
  weir_tensor view = viewOf(tensor, storage);
  EXPECT_EQ(copyOf(view), tensor);
  HostTensor numbers = randomTensor(WEIR_I16, {3, 1, 2}, 1);
  view = viewOf(numbers, storage);
  EXPECT_EQ(view.bytes, 12);
  EXPECT_EQ(copyOf(view), numbers);
}

} // namespace
