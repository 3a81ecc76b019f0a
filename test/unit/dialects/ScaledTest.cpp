//===- ScaledTest.cpp - constants times factors ---------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Scaled.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/BlobStore.h"
#include "dialects/weir/HostTensor.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/WinogradFilter.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace weir;

namespace {

class ScaledTest : public ::testing::Test {
protected:
  ScaledTest() { context.loadDialect<WeirDialect>(); }

  static std::vector<float> numbers(int64_t count) {
    std::vector<float> made(count);
    for (int64_t i = 0; i < count; ++i)
      made[i] = float(i * 37 % 101 - 50) / 7;
    return made;
  }
  static ArrayRef<char> bytesOf(ArrayRef<float> values) {
    return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(float)};
  }

  /// A blob of `values` in a file of its own, where elements are not aligned.
  TypedAttr blob(ArrayRef<int64_t> shape, ArrayRef<float> values) {
    llvm::SmallString<128> path;
    int file;
    EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("scaled", "bin", file, path));
    llvm::raw_fd_ostream os(file, /*shouldClose=*/true);
    os << '!' << StringRef(bytesOf(values).data(), bytesOf(values).size());
    os.close();
    files.push_back(std::make_unique<llvm::FileRemover>(path));
    return weir::BlobAttr::get(RankedTensorType::get(shape, Float32Type::get(&context)), path, 1,
                               int64_t(values.size() * sizeof(float)), blobHash(bytesOf(values)));
  }
  /// The same, scaled when it is made.
  TypedAttr eager(ArrayRef<int64_t> shape, std::vector<float> values, ArrayRef<float> factors,
                  int64_t behind) {
    for (auto [i, value] : llvm::enumerate(values))
      value *= factors[int64_t(i) / behind % int64_t(factors.size())];
    return DenseElementsAttr::get(RankedTensorType::get(shape, Float32Type::get(&context)),
                                  ArrayRef<float>(values));
  }

  MLIRContext context;
  std::vector<std::unique_ptr<llvm::FileRemover>> files;
};

TEST_F(ScaledTest, AnyDimension) {
  // More than one piece, whose ends lie within an entry's elements.
  const SmallVector<int64_t> shape{3, 5, 7, 211};
  int64_t behind = 3 * 5 * 7 * 211;
  std::vector<float> values = numbers(behind);
  TypedAttr source = blob(shape, values);
  for (int64_t axis = 0; axis < 4; ++axis) {
    behind /= shape[axis];
    std::vector<float> factors = numbers(shape[axis]);
    TypedAttr scaled = scaledConstant(source, factors, axis);
    ASSERT_TRUE(scaled);
    EXPECT_EQ(elementsPerFactor(cast<ScaledAttr>(scaled)), behind);
    TypedAttr want = eager(shape, values, factors, behind);
    EXPECT_EQ(TypedAttr(materializedConstant(scaled)), want);
    // In another order, too, and in panels.
    EXPECT_EQ(materializedConstant(transposedConstant(scaled, {2, 3, 1, 0})),
              materializedConstant(transposedConstant(want, {2, 3, 1, 0})));
    EXPECT_EQ(materializedConstant(packedConstant(scaled, 16)),
              materializedConstant(packedConstant(want, 16)));
    auto read = HostTensor::read(scaled, 1 << 20);
    ASSERT_TRUE(read);
    EXPECT_EQ(float(read->elements[4321].real),
              cast<DenseElementsAttr>(want).getValues<float>()[4321]);
  }
  // Back in its own order it is what it was.
  TypedAttr scaled = scaledConstant(source, numbers(3), 0);
  EXPECT_EQ(transposedConstant(transposedConstant(scaled, {1, 0, 2, 3}), {1, 0, 2, 3}), scaled);
}

TEST_F(ScaledTest, FiltersInWinogradsForm) {
  const int64_t channels = 5, columns = 37;
  std::vector<float> values = numbers(9 * channels * columns);
  // Factors of columns, as a model has them behind a filter of either order, and of what no
  // normalisation scales: each tap's is found then.
  struct {
    SmallVector<int64_t> shape, order;
    int64_t axis, behind;
  } const cases[] = {{{columns, channels, 3, 3}, {2, 3, 1, 0}, 0, channels * 9},
                     {{3, 3, channels, columns}, {0, 1, 2, 3}, 3, 1},
                     {{columns, channels, 3, 3}, {2, 3, 1, 0}, 1, 9}};
  for (const auto &c : cases) {
    std::vector<float> factors = numbers(c.shape[c.axis]);
    TypedAttr scaled = scaledConstant(blob(c.shape, values), factors, c.axis);
    TypedAttr want = eager(c.shape, values, factors, c.behind);
    for (int64_t results : {2, 4})
      EXPECT_EQ(materializedConstant(
                    winogradConstant(transposedConstant(scaled, c.order), results, 16, false)),
                materializedConstant(
                    winogradConstant(transposedConstant(want, c.order), results, 16, false)));
  }
}

TEST_F(ScaledTest, WhatStaysAsItIs) {
  auto dense = DenseElementsAttr::get(RankedTensorType::get({2}, Float32Type::get(&context)),
                                      ArrayRef<float>{1, 2});
  EXPECT_FALSE(scaledConstant(dense, {1, 2}, 0));
  auto words = weir::BlobAttr::get(RankedTensorType::get({2}, IntegerType::get(&context, 32)),
                                   "m.onnx", 0, 8, "00");
  EXPECT_FALSE(scaledConstant(words, {1, 2}, 0));
  EXPECT_FALSE(scaledConstant(blob({2}, {1, 2}), {1, HUGE_VALF}, 0));
}

TEST_F(ScaledTest, BytesMustBeThoseOfTheSource) {
  auto scaled = cast<ScaledAttr>(scaledConstant(blob({2, 3}, numbers(6)), {1, 2}, 0));
  auto full = [](ArrayRef<char>) { return llvm::createStringError("full"); };
  std::vector<char> few(23), all(24);
  EXPECT_EQ(llvm::toString(scaleBytes(scaled, few, full)), "a scaled constant has 23 bytes of 24");
  EXPECT_EQ(llvm::toString(scaleBytes(scaled, all, full)), "full");
}

} // namespace
