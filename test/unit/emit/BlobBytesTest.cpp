//===- BlobBytesTest.cpp - constants as buffers hold them -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/BlobBytes.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/WinogradFilter.h"
#include "weir/weir.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace weir;

namespace {

using weir::BlobAttr; // not MLIR's

class BlobBytes : public ::testing::Test {
protected:
  BlobBytes() : b(&context) { context.loadDialect<WeirDialect>(); }

  RankedTensorType tensor(int64_t size, Type element) {
    return RankedTensorType::get({size}, element);
  }

  /// `length` bytes at `offset` of a file.
  BlobAttr blob(Type type, int64_t offset, int64_t length) {
    return BlobAttr::get(type, llvm::StringRef("m.onnx"), offset, length, llvm::StringRef("hash"));
  }

  /// The bytes of one constant; those of blobs are "0123456789".
  std::string bytesOf(Attribute value) {
    std::string out;
    auto resolve = [](BlobAttr blob) -> llvm::Expected<llvm::ArrayRef<char>> {
      static const char file[] = "0123456789";
      return llvm::ArrayRef<char>(file + blob.getOffset(), blob.getLength());
    };
    llvm::Error error =
        writeBlob(value, 100, resolve, [&](int64_t offset, llvm::ArrayRef<char> bytes) {
          EXPECT_EQ(offset, int64_t(100 + out.size())) << "in order, no gaps";
          out.append(bytes.begin(), bytes.end());
          return llvm::Error::success();
        });
    EXPECT_FALSE(bool(error)) << llvm::toString(std::move(error));
    return out;
  }

  MLIRContext context;
  Builder b;
};

TEST_F(BlobBytes, FloatsAreTheirBytes) {
  float values[] = {1.0f, -2.5f};
  auto dense = DenseElementsAttr::get(tensor(2, b.getF32Type()), llvm::ArrayRef<float>(values));
  EXPECT_EQ(bytesOf(dense), std::string(reinterpret_cast<char *>(values), sizeof(values)));
}

TEST_F(BlobBytes, BooleansTakeAByteEach) {
  bool values[] = {true, false, true, true, false, false, true, false, true};
  auto dense = DenseElementsAttr::get(tensor(9, b.getI1Type()), llvm::ArrayRef<bool>(values));
  EXPECT_EQ(bytesOf(dense), std::string("\1\0\1\1\0\0\1\0\1", 9));
}

TEST_F(BlobBytes, SplatsAreWrittenOut) {
  auto ones = DenseElementsAttr::get(tensor(3, b.getI1Type()), true);
  EXPECT_EQ(bytesOf(ones), "\1\1\1");
  auto halves =
      DenseElementsAttr::get(tensor(2, b.getF16Type()), b.getF16FloatAttr(0.5f).getValue());
  EXPECT_EQ(bytesOf(halves), std::string("\x00\x38\x00\x38", 4));
  auto shorts = DenseElementsAttr::get(tensor(2, b.getI16Type()), int16_t(0x1234));
  EXPECT_EQ(bytesOf(shorts), "\x34\x12\x34\x12");
}

TEST_F(BlobBytes, SplatsLargerThanOnePiece) {
  auto zeros = DenseElementsAttr::get(tensor(3'000'001, b.getI8Type()), int8_t(7));
  EXPECT_EQ(bytesOf(zeros), std::string(3'000'001, '\7'));
}

TEST_F(BlobBytes, NarrowIntegersAreExtendedByTheirSign) {
  llvm::APInt numbers[] = {llvm::APInt(4, 3), llvm::APInt(4, 15)};
  llvm::ArrayRef<llvm::APInt> values(numbers);
  auto isSigned = DenseElementsAttr::get(tensor(2, b.getIntegerType(4)), values);
  EXPECT_EQ(bytesOf(isSigned), "\x03\xff");
  auto isUnsigned = DenseElementsAttr::get(
      tensor(2, IntegerType::get(&context, 4, IntegerType::Unsigned)), values);
  EXPECT_EQ(bytesOf(isUnsigned), "\x03\x0f");
}

TEST_F(BlobBytes, ComplexPartsAlternate) {
  std::complex<float> values[] = {{1, 2}, {3, 4}};
  auto dense = DenseElementsAttr::get(tensor(2, ComplexType::get(b.getF32Type())),
                                      llvm::ArrayRef<std::complex<float>>(values));
  EXPECT_EQ(bytesOf(dense), std::string(reinterpret_cast<char *>(values), sizeof(values)));
}

TEST_F(BlobBytes, BlobsComeFromTheirFile) {
  EXPECT_EQ(bytesOf(blob(tensor(4, b.getI8Type()), 3, 4)), "3456");
}

TEST_F(BlobBytes, BlobsAreScaledAsTheyAreWritten) {
  // By itself, and in an order of its own.
  auto type = RankedTensorType::get({2, 1}, b.getF32Type());
  auto scaled = ScaledAttr::get(blob(type, 1, 8), {2.0f, 4.0f}, 0);
  float parts[2];
  std::memcpy(parts, "12345678", sizeof(parts));
  float want[2] = {parts[0] * 2, parts[1] * 4};
  std::string text(reinterpret_cast<char *>(want), sizeof(want));
  EXPECT_EQ(bytesOf(scaled), text);
  auto reversed = RankedTensorType::get({2}, b.getF32Type());
  EXPECT_EQ(bytesOf(ArrangedAttr::get(reversed, scaled, {1}, {})), text);
}

TEST_F(BlobBytes, FiltersAreTransformedAsTheyAreWritten) {
  auto type = RankedTensorType::get({3, 3, 2, 20}, b.getF32Type());
  std::vector<float> values(type.getNumElements());
  for (auto [i, value] : llvm::enumerate(values))
    value = float(i % 7);
  auto dense = DenseElementsAttr::get(type, llvm::ArrayRef<float>(values));
  auto same = DenseElementsAttr::get(type, 2.0f);
  for (TypedAttr filter : {TypedAttr(dense), TypedAttr(same)})
    for (bool isPairs : {false, true}) {
      TypedAttr made = winogradConstant(filter, 2, 16, isPairs);
      llvm::ArrayRef<char> want = materializedConstant(made).getRawData();
      EXPECT_EQ(bytesOf(made), llvm::StringRef(want.data(), want.size()));
    }
  // Of a file, read when it is written: there are ten bytes.
  auto few = winogradConstant(blob(type, 0, 10), 2, 16, false);
  auto resolve = [](BlobAttr) -> llvm::Expected<llvm::ArrayRef<char>> {
    return llvm::ArrayRef<char>("0123456789", 10);
  };
  llvm::Error error = writeBlob(few, 0, resolve, [](int64_t, llvm::ArrayRef<char>) {
    return llvm::createStringError("written");
  });
  EXPECT_EQ(llvm::toString(std::move(error)), "a filter has 10 bytes of 1440");
}

TEST_F(BlobBytes, SizesAreThoseOfBuffers) {
  auto bytes = [&](Attribute value) { return llvm::cantFail(blobBytes(value)); };
  EXPECT_EQ(bytes(DenseElementsAttr::get(tensor(5, b.getI1Type()), true)), 5);
  EXPECT_EQ(bytes(blob(tensor(4, b.getF64Type()), 0, 32)), 32);
  llvm::Expected<int64_t> strings = blobBytes(blob(tensor(4, StringType::get(&context)), 0, 4));
  EXPECT_FALSE(bool(strings));
  llvm::consumeError(strings.takeError());
}

TEST_F(BlobBytes, ProgramsAreChecked) {
  auto resolve = [](BlobAttr) -> llvm::Expected<llvm::ArrayRef<char>> {
    return llvm::ArrayRef<char>("0123", 4);
  };
  auto write = [&](const Program &program) {
    llvm::Error error = writeBlobs(
        program, resolve, [](int64_t, llvm::ArrayRef<char>) { return llvm::Error::success(); });
    return llvm::toString(std::move(error));
  };
  auto four = blob(tensor(4, b.getI8Type()), 0, 4);
  Program program;
  program.blobBytes = 68;
  program.blobs = {{four, 64, 4}, {four, 0, 4}};
  EXPECT_EQ(write(program), "");
  program.blobs = {{four, 2, 4}, {four, 0, 4}};
  EXPECT_NE(write(program), "") << "they overlap";
  program.blobs = {{four, 65, 4}};
  EXPECT_NE(write(program), "") << "it ends behind the section";
  // The file has four bytes where the type needs eight.
  auto eight = blob(tensor(8, b.getI8Type()), 0, 8);
  program.blobs = {{eight, 0, 8}};
  EXPECT_NE(write(program), "");
}

} // namespace
