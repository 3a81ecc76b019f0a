//===- WinogradFilterTest.cpp - constant filters in Winograd's form -------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/WinogradFilter.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Halves.h"
#include "dialects/weir/Pch.h"
#include "mlir/IR/Diagnostics.h"
#include "gtest/gtest.h"
#include <cstring>

using namespace mlir;
using namespace weir;

namespace {

class WinogradFilterTest : public ::testing::Test {
protected:
  WinogradFilterTest() { context.loadDialect<WeirDialect>(); }

  /// Small multiples of 1/8, which halves hold, [3, 3, channels, columns].
  std::vector<float> taps(int64_t channels, int64_t columns) {
    std::vector<float> numbers(9 * channels * columns);
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = float(int(i * 37 % 41) - 20) / 8;
    return numbers;
  }

  TypedAttr dense(ArrayRef<int64_t> shape, ArrayRef<float> numbers) {
    return DenseElementsAttr::get(RankedTensorType::get(shape, Float32Type::get(&context)),
                                  numbers);
  }

  /// `numbers` in a type of 16 bits, widened as a model's cast is.
  TypedAttr widened(ArrayRef<int64_t> shape, ArrayRef<float> numbers, bool isBrain) {
    std::vector<uint16_t> words;
    for (float number : numbers) {
      auto bits = llvm::bit_cast<uint32_t>(number);
      words.push_back(isBrain ? brainFromFloat(bits) : halfFromFloat(bits));
    }
    Type element = isBrain ? Type(BFloat16Type::get(&context)) : Type(Float16Type::get(&context));
    return widenedConstant(DenseElementsAttr::getFromRawBuffer(
        RankedTensorType::get(shape, element),
        ArrayRef<char>(reinterpret_cast<const char *>(words.data()), words.size() * 2)));
  }

  /// What panels of `width` columns have, one column of `numbers` at a time.
  std::vector<float> expected(ArrayRef<float> numbers, int64_t channels, int64_t columns,
                              int64_t results, int64_t width) {
    const WinogradForm form{results};
    int64_t panels = (columns + width - 1) / width, matrices = form.matrices();
    std::vector<float> made(panels * matrices * channels * width, 0.0f);
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t k = 0; k < columns; ++k) {
        WinogradForm::Taps taps = {};
        WinogradForm::Transformed to;
        for (int64_t i = 0; i < 9; ++i)
          taps[i / 3][i % 3][0] = numbers[(i * channels + c) * columns + k];
        form.transformFilters(taps, to);
        for (int64_t i = 0; i < matrices; ++i)
          made[((k / width * matrices + i) * channels + c) * width + k % width] =
              float(to[i / form.square()][i % form.square()][0]);
      }
    return made;
  }

  template <typename T> static std::vector<T> elements(TypedAttr value) {
    DenseElementsAttr made = materializedConstant(value);
    EXPECT_TRUE(made);
    ArrayRef<char> raw = made.getRawData();
    std::vector<T> numbers(raw.size() / sizeof(T));
    std::memcpy(numbers.data(), raw.data(), raw.size());
    return numbers;
  }

  MLIRContext context;
};

TEST_F(WinogradFilterTest, PanelsOfMatrices) {
  // Columns that are no multiple of a panel, panels that are none of the columns transformed at
  // once.
  const int64_t channels = 3, columns = 41;
  std::vector<float> numbers = taps(channels, columns);
  TypedAttr filter = dense({3, 3, channels, columns}, numbers);
  for (int64_t results : {2, 4})
    for (int64_t width : {8, 16, 24, 48, 64}) {
      TypedAttr made = winogradConstant(filter, results, width, false);
      int64_t panels = (columns + width - 1) / width;
      EXPECT_EQ(cast<RankedTensorType>(made.getType()).getShape(),
                ArrayRef<int64_t>({panels, (results + 2) * (results + 2), channels, width}));
      EXPECT_EQ(elements<float>(made), expected(numbers, channels, columns, results, width));
    }
}

TEST_F(WinogradFilterTest, OrdersAndTypesOfTheModel) {
  const int64_t channels = 4, columns = 20;
  std::vector<float> numbers = taps(channels, columns);
  std::vector<float> want = expected(numbers, channels, columns, 4, 16);
  // [K, C, 3, 3], as ONNX has them.
  std::vector<float> model(numbers.size());
  for (int64_t i = 0; i < 9; ++i)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t k = 0; k < columns; ++k)
        model[(k * channels + c) * 9 + i] = numbers[(i * channels + c) * columns + k];
  SmallVector<int64_t> shape{columns, channels, 3, 3};
  for (TypedAttr value :
       {dense(shape, model), widened(shape, model, false), widened(shape, model, true)}) {
    TypedAttr filter = transposedConstant(value, {2, 3, 1, 0});
    ASSERT_TRUE(filter);
    EXPECT_EQ(elements<float>(winogradConstant(filter, 4, 16, false)), want);
  }
}

TEST_F(WinogradFilterTest, OneNumberForAll) {
  TypedAttr filter = dense({3, 3, 2, 20}, {2.0f});
  std::vector<float> numbers(9 * 2 * 20, 2.0f);
  EXPECT_EQ(elements<float>(winogradConstant(filter, 2, 16, false)),
            expected(numbers, 2, 20, 2, 16));
}

TEST_F(WinogradFilterTest, PairsOfChannels) {
  const int64_t channels = 6, columns = 20, width = 16;
  std::vector<float> numbers = taps(channels, columns);
  TypedAttr made =
      winogradConstant(dense({3, 3, channels, columns}, numbers), 2, width, /*isPairs=*/true);
  EXPECT_EQ(cast<RankedTensorType>(made.getType()).getShape(),
            ArrayRef<int64_t>({2, 16, channels / 2, width, 2}));
  std::vector<float> plain = expected(numbers, channels, columns, 2, width);
  std::vector<uint16_t> words = elements<uint16_t>(made);
  ASSERT_EQ(words.size(), plain.size());
  for (int64_t row = 0; row < 2 * 16 * channels; ++row)
    for (int64_t k = 0; k < width; ++k)
      ASSERT_EQ(words[(row / 2 * width + k) * 2 + row % 2],
                brainFromFloat(llvm::bit_cast<uint32_t>(plain[row * width + k])));
}

TEST_F(WinogradFilterTest, BytesMustBeThoseOfTheSource) {
  auto made = cast<WinogradAttr>(
      winogradConstant(dense({3, 3, 2, 20}, taps(2, 20)), 2, 16, /*isPairs=*/false));
  auto none = [](ArrayRef<char>) { return llvm::Error::success(); };
  std::vector<char> few(9 * 2 * 20 * 4 - 1);
  llvm::Error error = transformBytes(made, few, none);
  EXPECT_EQ(llvm::toString(std::move(error)), "a filter has 1439 bytes of 1440");
  auto full = [](ArrayRef<char>) { return llvm::createStringError("full"); };
  error = transformBytes(made, cast<DenseElementsAttr>(made.getSource()).getRawData(), full);
  EXPECT_EQ(llvm::toString(std::move(error)), "full");
}

} // namespace
