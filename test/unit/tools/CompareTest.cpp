//===- CompareTest.cpp ----------------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/common/Compare.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace weir::tools;

namespace {

HostTensor floats(std::vector<double> values, int32_t dtype = WEIR_F32) {
  HostTensor tensor = makeTensor(dtype, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i)
    setElement(tensor, i, values[i]);
  return tensor;
}

Tolerance relative(double value, double ofMax = 0) {
  Tolerance tolerance;
  tolerance.relative = value;
  tolerance.ofMax = ofMax;
  return tolerance;
}

TEST(Compare, RelativeToTheElementAndToTheLargest) {
  HostTensor want = floats({1, 100}), got = floats({1.01, 100});
  EXPECT_TRUE(compareTensors(got, want, relative(0.001)));
  // 0.001 * (1 + 0.2 * 100) allows 0.021.
  EXPECT_FALSE(compareTensors(got, want, relative(0.001, 0.2)));
  EXPECT_TRUE(compareTensors(got, want, relative(0.0001, 0.2)));
}

TEST(Compare, NamesTheWorstElement) {
  HostTensor want = floats({1, 2, 3, 4}), got = floats({1.5, 2, 5, 4});
  want.dims = got.dims = {2, 2};
  std::string text = *compareTensors(got, want, relative(1e-3));
  EXPECT_EQ(text, "2 of 4 elements differ, worst at [1, 0]: 5, expected 3");
}

TEST(Compare, SpecialValuesStandInTheSamePlaces) {
  HostTensor want = floats({NAN, INFINITY, -INFINITY, 0.0});
  EXPECT_FALSE(compareTensors(floats({NAN, INFINITY, -INFINITY, -0.0}), want, {}));
  EXPECT_TRUE(compareTensors(floats({0, INFINITY, -INFINITY, 0}), want, {}));
  EXPECT_TRUE(compareTensors(floats({NAN, -INFINITY, -INFINITY, 0}), want, {}));
  EXPECT_TRUE(compareTensors(floats({NAN, INFINITY, -INFINITY, NAN}), want, {}));
  EXPECT_TRUE(compareTensors(floats({NAN, 3e38, -INFINITY, 0}), want, relative(1e30, 1)));
}

TEST(Compare, SubnormalsEqualZero) {
  EXPECT_FALSE(compareTensors(floats({1e-40}), floats({0}), {}));
  EXPECT_TRUE(compareTensors(floats({1e-30}), floats({0}), {}));
}

TEST(Compare, TypesAndShapesAreExact) {
  EXPECT_TRUE(compareTensors(floats({1}), floats({1}, WEIR_F64), {}));
  HostTensor other = floats({1});
  other.dims = {1, 1};
  EXPECT_EQ(*compareTensors(other, floats({1}), {}), "found f32 1x1, expected f32 1");
}

TEST(Compare, IntegersByStepsEvenAtTheEnds) {
  HostTensor want = makeTensor(WEIR_I64, {2}), got = want;
  setElementFromText(want, 0, "9223372036854775807");
  setElementFromText(got, 0, "-9223372036854775808");
  EXPECT_TRUE(compareTensors(got, want, {}));
  Tolerance step;
  step.steps = 1;
  setElementFromText(got, 0, "9223372036854775806");
  EXPECT_FALSE(compareTensors(got, want, step));
  EXPECT_TRUE(compareTensors(got, want, {}));
}

TEST(Compare, BoolsIgnoreNoSteps) {
  HostTensor want = makeTensor(WEIR_BOOL, {1}), got = want;
  setElement(want, 0, 1);
  Tolerance step;
  step.steps = 1;
  EXPECT_TRUE(compareTensors(got, want, step));
}

TEST(Compare, ComplexByParts) {
  HostTensor want = makeTensor(WEIR_C64, {1}), got = want;
  ASSERT_TRUE(setElementFromText(want, 0, "(1-2j)"));
  ASSERT_TRUE(setElementFromText(got, 0, "(1-2.1j)"));
  EXPECT_TRUE(compareTensors(got, want, relative(0.01)));
  EXPECT_FALSE(compareTensors(got, want, relative(0.06)));
}

TEST(Compare, StringsExactly) {
  HostTensor want = makeTensor(WEIR_STRING, {1}), got = want;
  want.strings[0] = "a";
  EXPECT_TRUE(compareTensors(got, want, relative(1)));
  got.strings[0] = "a";
  EXPECT_FALSE(compareTensors(got, want, {}));
}

TEST(Compare, SortsRows) {
  HostTensor tensor = makeTensor(WEIR_U8, {3, 2});
  tensor.bytes = "cdabef";
  EXPECT_EQ(sortRows(tensor).bytes, "abcdef");
}

} // namespace
