//===- ArrangedTest.cpp - constants in another order ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"
#include "mlir/AsmParser/AsmParser.h"
#include "gtest/gtest.h"
#include <numeric>
#include <random>

using namespace mlir;
using namespace weir;

namespace {

class ArrangedTest : public ::testing::Test {
protected:
  ArrangedTest() { context.loadDialect<WeirDialect>(); }

  /// 0, 1, 2… in `shape`.
  TypedAttr counted(ArrayRef<int64_t> shape) {
    auto type = RankedTensorType::get(shape, IntegerType::get(&context, 32));
    std::vector<int32_t> numbers(type.getNumElements());
    std::iota(numbers.begin(), numbers.end(), 0);
    return DenseElementsAttr::get(type, ArrayRef(numbers));
  }

  static ArrayRef<int64_t> shapeOf(TypedAttr value) {
    return cast<RankedTensorType>(value.getType()).getShape();
  }

  static std::vector<int32_t> elements(TypedAttr value) {
    std::vector<char> bytes;
    if (auto arranged = dyn_cast<ArrangedAttr>(value)) {
      auto source = sourceBytes(value);
      EXPECT_TRUE(bool(source));
      llvm::Error error = arrangeBytes(arranged, *source, [&](ArrayRef<char> piece) {
        bytes.insert(bytes.end(), piece.begin(), piece.end());
        return llvm::Error::success();
      });
      EXPECT_FALSE(bool(error));
    } else {
      ArrayRef<char> raw = cast<DenseElementsAttr>(value).getRawData();
      bytes.assign(raw.begin(), raw.end());
    }
    std::vector<int32_t> numbers(bytes.size() / 4);
    std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return numbers;
  }

  MLIRContext context;
};

std::vector<int32_t> transposed(const std::vector<int32_t> &from, ArrayRef<int64_t> shape,
                                ArrayRef<int64_t> permutation) {
  int64_t rank = shape.size();
  std::vector<int64_t> strides(rank, 1), at(rank, 0);
  for (int64_t i = rank - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  std::vector<int32_t> to;
  for (size_t n = 0; n < from.size(); ++n) {
    int64_t offset = 0;
    for (int64_t i = 0; i < rank; ++i)
      offset += at[i] * strides[permutation[i]];
    to.push_back(from[offset]);
    for (int64_t i = rank - 1; i >= 0 && ++at[i] == shape[permutation[i]]; --i)
      at[i] = 0;
  }
  return to;
}

TEST_F(ArrangedTest, PanelsOfColumns) {
  // [2, 5] in panels of 3: columns 0 to 2, then 3, 4 and a column of zeros.
  TypedAttr packed = packedConstant(counted({2, 5}), 3);
  ASSERT_TRUE(packed);
  EXPECT_EQ(shapeOf(packed), ArrayRef<int64_t>({2, 2, 3}));
  EXPECT_EQ(elements(packed), (std::vector<int32_t>{0, 1, 2, 5, 6, 7, 3, 4, 0, 8, 9, 0}));
}

TEST_F(ArrangedTest, PanelsSideBySide) {
  // More panels than are made together, lines of two dimensions, and a last panel that is not
  // full; narrowed, too.
  const int64_t a = 20, b = 30, columns = 1509, width = 16, panels = (columns + width - 1) / width;
  std::vector<int32_t> want(panels * a * b * width, 0);
  for (int64_t line = 0; line < a * b; ++line)
    for (int64_t k = 0; k < columns; ++k)
      want[(k / width * a * b + line) * width + k % width] = line * columns + k;
  TypedAttr packed = packedConstant(counted({a, b, columns}), width);
  ASSERT_TRUE(packed);
  size_t largest = 0, total = 0;
  llvm::Error error =
      arrangeBytes(cast<ArrangedAttr>(packed), *sourceBytes(packed), [&](ArrayRef<char> piece) {
        largest = std::max(largest, piece.size());
        total += piece.size();
        return llvm::Error::success();
      });
  EXPECT_FALSE(bool(error));
  EXPECT_EQ(largest, size_t(1) << 20);
  EXPECT_EQ(total, want.size() * 4);
  EXPECT_EQ(elements(packed), want);

  auto type = RankedTensorType::get({2, 3, 40}, Float32Type::get(&context));
  std::vector<float> numbers(240);
  std::iota(numbers.begin(), numbers.end(), 1.0f);
  TypedAttr narrow =
      packedConstant(narrowedConstant(DenseElementsAttr::get(type, ArrayRef(numbers))), 16);
  ASSERT_TRUE(narrow);
  auto made = materializedConstant(narrow).getValues<APFloat>();
  for (int64_t line = 0; line < 6; ++line)
    for (int64_t k = 0; k < 48; ++k)
      EXPECT_EQ(made[(k / 16 * 6 + line) * 16 + k % 16].convertToFloat(),
                k < 40 ? line * 40 + k + 1 : 0);
}

TEST_F(ArrangedTest, PanelsMove) {
  // The two dimensions of a panel may stand anywhere afterwards.
  TypedAttr packed = packedConstant(counted({2, 5}), 3);
  for (const auto &permutation : {SmallVector<int64_t>{2, 1, 0}, {1, 0, 2}, {2, 0, 1}, {0, 2, 1}}) {
    TypedAttr moved = transposedConstant(packed, permutation);
    ASSERT_TRUE(moved);
    EXPECT_EQ(elements(moved), transposed(elements(packed), shapeOf(packed), permutation));
  }
}

TEST_F(ArrangedTest, ReshapesThatStridesDescribe) {
  TypedAttr matrix = transposedConstant(counted({6, 4}), {1, 0});
  TypedAttr split =
      reshapedConstant(matrix, RankedTensorType::get({4, 1, 2, 3}, IntegerType::get(&context, 32)));
  ASSERT_TRUE(split);
  EXPECT_EQ(elements(split), elements(matrix));
  // 4 and 6 cannot be read as one dimension: their order was exchanged.
  EXPECT_FALSE(
      reshapedConstant(matrix, RankedTensorType::get({24}, IntegerType::get(&context, 32))));
}

TEST_F(ArrangedTest, ChainsOfMoves) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    // At least two elements: a single one is a splat.
    SmallVector<int64_t> shape{2 + (int64_t)(random() % 3)};
    for (int64_t rank = 1 + random() % 3; rank > 0; --rank)
      shape.push_back(1 + random() % 5);
    TypedAttr value = counted(shape);
    std::vector<int32_t> want = elements(value);
    for (int moves = 0; moves < 4 && !want.empty(); ++moves) {
      SmallVector<int64_t> now(shapeOf(value)), permutation(now.size());
      std::iota(permutation.begin(), permutation.end(), 0);
      std::shuffle(permutation.begin(), permutation.end(), random);
      want = transposed(want, now, permutation);
      value = transposedConstant(value, permutation);
      ASSERT_TRUE(value);
      ASSERT_EQ(elements(value), want) << "round " << round;
      // A new shape of the same elements, where strides give one.
      SmallVector<int64_t> other(shapeOf(value));
      int64_t dim = random() % other.size();
      if (other[dim] % 2 == 0) {
        other[dim] /= 2;
        other.insert(other.begin() + dim + 1, 2);
        TypedAttr reshaped =
            reshapedConstant(value, RankedTensorType::get(other, IntegerType::get(&context, 32)));
        ASSERT_TRUE(reshaped);
        value = reshaped;
        ASSERT_EQ(elements(value), want) << "round " << round;
      }
    }
  }
}

TEST_F(ArrangedTest, ManyPieces) {
  // More than one piece of the writer's buffer, in runs that do not divide it.
  TypedAttr value = counted({700, 1001});
  TypedAttr packed = packedConstant(value, 48);
  std::vector<int32_t> have = elements(packed);
  ASSERT_EQ(have.size(), 21u * 700 * 48);
  for (int64_t p = 0; p < 21; ++p)
    for (int64_t k = 0; k < 700; k += 53)
      for (int64_t w = 0; w < 48; ++w) {
        int64_t n = p * 48 + w;
        ASSERT_EQ(have[(p * 700 + k) * 48 + w], n < 1001 ? k * 1001 + n : 0);
      }
}

TEST_F(ArrangedTest, RefusesWhatLeadsOutside) {
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
  auto made = [&](StringRef order) {
    std::string text = ("#weir.arranged<dense<[[0, 1], [2, 3]]> : tensor<2x2xi32>, " + order +
                        "> : tensor<2x2xi32>")
                           .str();
    return (bool)parseAttribute(text, &context);
  };
  EXPECT_TRUE(made("[1, 2], []"));
  EXPECT_TRUE(made("[2, 1], [0, 1, 3]"));
  EXPECT_FALSE(made("[2, 2], []"));
  EXPECT_FALSE(made("[2], []"));
  EXPECT_FALSE(made("[-1, 1], []"));
  EXPECT_FALSE(made("[9223372036854775807, 9223372036854775807], []"));
  EXPECT_FALSE(made("[2, 1], [0, 0, 4]"));
  EXPECT_FALSE(made("[2, 1], [0, 2, 4]"));
  // The two do not count one dimension together, or count beyond the source.
  EXPECT_FALSE(made("[1, 1], [0, 1, 2]"));
  EXPECT_FALSE(made("[4, 2], [0, 1, 4]"));
}

TEST_F(ArrangedTest, NarrowsToNearestEven) {
  uint32_t given[] = {0x3f800000, 0x3f808000, 0x3f818000, 0x3f808001, 0x7f7fffff,
                      0x7f800000, 0xff800000, 0x7f800001, 0x80000000, 0x00000001};
  uint16_t wanted[] = {0x3f80, 0x3f80, 0x3f82, 0x3f81, 0x7f80,
                       0x7f80, 0xff80, 0x7fc0, 0x8000, 0x0000};
  auto type = RankedTensorType::get({10}, Float32Type::get(&context));
  std::vector<char> raw(sizeof(given));
  std::memcpy(raw.data(), given, sizeof(given));
  TypedAttr value = narrowedConstant(DenseElementsAttr::getFromRawBuffer(type, raw));
  ASSERT_TRUE(value);
  EXPECT_TRUE(cast<RankedTensorType>(value.getType()).getElementType().isBF16());
  std::vector<char> bytes;
  auto source = sourceBytes(value);
  ASSERT_TRUE(bool(source));
  EXPECT_FALSE(bool(arrangeBytes(cast<ArrangedAttr>(value), *source, [&](ArrayRef<char> piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
    return llvm::Error::success();
  })));
  ASSERT_EQ(bytes.size(), sizeof(wanted));
  EXPECT_EQ(std::memcmp(bytes.data(), wanted, sizeof(wanted)), 0);
}

TEST_F(ArrangedTest, NarrowsWhatStaysTheSame) {
  auto type = RankedTensorType::get({3}, Float32Type::get(&context));
  auto exactly = [&](std::vector<float> numbers, bool isBrain) {
    return exactlyNarrowed(DenseElementsAttr::get(type, ArrayRef(numbers)), isBrain);
  };
  // Eight bits of a fraction, eleven, a number that f16 has no exponent for, and one that it has
  // as a subnormal.
  EXPECT_TRUE(exactly({1.0f, -2.5f, 0.0078125f}, true));
  EXPECT_FALSE(exactly({1.0f, -2.5f, 1.00390625f}, true));
  EXPECT_FALSE(exactly({1.0f, -2.5f, 0x1p20f}, false));
  EXPECT_FALSE(exactly({1.0f, -2.5f, 0.1f}, false));
  TypedAttr halves = exactly({1.00390625f, -2.5f, 0x1p-24f}, false);
  ASSERT_TRUE(halves);
  EXPECT_TRUE(getElementTypeOrSelf(halves.getType()).isF16());
  auto made = materializedConstant(halves).getValues<APFloat>();
  EXPECT_EQ(made[0].convertToDouble(), 1.00390625);
  EXPECT_EQ(made[1].convertToDouble(), -2.5);
  EXPECT_EQ(made[2].convertToDouble(), 0x1p-24);
}

TEST_F(ArrangedTest, PairsRows) {
  TypedAttr value = interleavedConstant(counted({3, 4, 64}), 2, 32);
  ASSERT_TRUE(value);
  EXPECT_EQ(shapeOf(value), ArrayRef<int64_t>({2, 3, 2, 32, 2}));
  std::vector<int32_t> numbers = elements(value);
  size_t at = 0;
  for (int panel = 0; panel < 2; ++panel)
    for (int a = 0; a < 3; ++a)
      for (int pair = 0; pair < 2; ++pair)
        for (int column = 0; column < 32; ++column)
          for (int half = 0; half < 2; ++half)
            ASSERT_EQ(numbers[at++], (a * 4 + pair * 2 + half) * 64 + panel * 32 + column);
  EXPECT_FALSE(interleavedConstant(counted({3, 64}), 2, 32));
  // What no column is in has zeros.
  std::vector<int32_t> rest = elements(interleavedConstant(counted({4, 48}), 2, 32));
  ASSERT_EQ(rest.size(), 2u * 2 * 32 * 2);
  EXPECT_EQ(rest[2 * 32 * 2 + 1], 48 + 32);
  EXPECT_EQ(rest[2 * 32 * 2 + 16 * 2], 0);
}

TEST_F(ArrangedTest, WeavesLines) {
  // More than a piece of the writer's buffer, which no panel's line divides, and a last panel that
  // is not full; three lines go element by element.
  for (int64_t lines : {2, 3, 4}) {
    const int64_t steps = 301, width = 48, columns = 445, panels = (columns + width - 1) / width;
    TypedAttr value = interleavedConstant(counted({steps * lines, columns}), lines, width);
    ASSERT_TRUE(value);
    std::vector<int32_t> numbers = elements(value);
    ASSERT_EQ(numbers.size(), size_t(panels * steps * width * lines));
    size_t at = 0;
    for (int64_t panel = 0; panel < panels; ++panel)
      for (int64_t step = 0; step < steps; ++step)
        for (int64_t w = 0; w < width; ++w)
          for (int64_t line = 0; line < lines; ++line, ++at) {
            int64_t n = panel * width + w;
            ASSERT_EQ(numbers[at], n < columns ? (step * lines + line) * columns + n : 0);
          }
  }
}

TEST_F(ArrangedTest, TurnsLines) {
  // Blocks that rows and columns fill or not, rows that a piece of the buffer has no room for, and
  // elements that lie apart, as those of a filter do.
  for (int64_t rows : {8, 16, 301, 20000})
    for (int64_t columns : {7, 8, 33, 200})
      for (int64_t window : {1, 9}) {
        TypedAttr value = transposedConstant(counted({rows, columns, window}), {2, 1, 0});
        ASSERT_TRUE(value);
        std::vector<int32_t> numbers = elements(value);
        ASSERT_EQ(numbers.size(), size_t(rows * columns * window));
        size_t at = 0;
        for (int64_t w = 0; w < window; ++w)
          for (int64_t c = 0; c < columns; ++c)
            for (int64_t r = 0; r < rows; ++r, ++at)
              ASSERT_EQ(numbers[at], (r * columns + c) * window + w);
      }
}

} // namespace
