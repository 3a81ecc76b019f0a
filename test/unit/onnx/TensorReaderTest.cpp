//===- TensorReaderTest.cpp -----------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/TensorReader.h"
#include "compiler/frontend/WireReader.h"
#include "compiler/frontend/onnx/ValueReader.h"
#include "test/unit/onnx/ProtoWriter.h"

#include <gtest/gtest.h>

using namespace weir::onnx;
using weir::frontend::WireReader;
using namespace weir::onnx::test;

namespace {

constexpr int f32 = 1, ui8 = 2, i32 = 6, i64 = 7, string = 8, boolean = 9, f16 = 10, f64 = 11,
              ui64 = 13, c64 = 14, i4 = 22;

TEST(WireReader, RefusesWhatIsLongerThanTheMessage) {
  // A length of 2^63 in eleven bytes, and one that is one byte too long.
  for (const std::string &bytes :
       {varint(1 << 3 | 2) + varint(uint64_t(1) << 63), std::string("\x0a\x02x"),
        std::string("\x0d\0\0\0", 4), std::string("\x09\0\0\0", 4), std::string("\x08"),
        std::string(11, '\xff'), std::string("\x0b")}) {
    WireReader reader(bytes);
    while (reader.next()) {
    }
    EXPECT_TRUE(reader.malformed()) << bytes.size();
  }
}

TEST(WireReader, RefusesAFieldOfTheWrongEncoding) {
  std::string bytes = Proto().number(1, 5).data;
  WireReader reader(bytes);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.bytes(), "");
  EXPECT_TRUE(reader.malformed());
}

TEST(TensorReader, RawDataIsNotCopied) {
  std::string data = raw<float>({1, 2, 3, 4, 5, 6});
  std::string bytes = tensor("w", f32, {2, 3}, data).data;
  Tensor t;
  ASSERT_FALSE(readTensor(bytes, t));
  EXPECT_EQ(t.name, "w");
  EXPECT_EQ(t.count, 6);
  EXPECT_EQ(t.dims, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(t.raw, data);
  EXPECT_GE(t.raw.data(), bytes.data());
  EXPECT_LE(t.raw.data() + t.raw.size(), bytes.data() + bytes.size());
}

TEST(TensorReader, PackedFloatsAreReadInPlaceToo) {
  std::string data = raw<float>({1, 2});
  std::string bytes = Proto().number(1, 2).number(2, f32).bytes(4, data).data;
  Tensor t;
  ASSERT_FALSE(readTensor(bytes, t));
  EXPECT_FALSE(t.decode);
  EXPECT_EQ(t.raw, data);
}

TEST(TensorReader, TypedFieldsAreDecoded) {
  auto decoded = [](Proto proto) {
    Tensor t;
    MaybeProblem problem = readTensor(proto.data, t);
    EXPECT_FALSE(problem) << problem->text;
    std::string out;
    EXPECT_FALSE(decodeTensor(t, out));
    return out;
  };
  Proto one = Proto().number(1, 2);
  EXPECT_EQ(decoded(Proto(one).number(2, f32).real(4, 1).real(4, 2)), raw<float>({1, 2}));
  EXPECT_EQ(decoded(Proto(one).number(2, i64).number(7, -3).number(7, 9)), raw<int64_t>({-3, 9}));
  EXPECT_EQ(decoded(Proto(one).number(2, i64).bytes(7, varint(1) + varint(300))),
            raw<int64_t>({1, 300}));
  EXPECT_EQ(decoded(Proto(one).number(2, i32).number(5, -1).number(5, 7)), raw<int32_t>({-1, 7}));
  EXPECT_EQ(decoded(Proto(one).number(2, ui8).number(5, 255).number(5, 0)), raw<uint8_t>({255, 0}));
  EXPECT_EQ(decoded(Proto(one).number(2, boolean).number(5, 1).number(5, 0)), raw<uint8_t>({1, 0}));
  EXPECT_EQ(decoded(Proto(one).number(2, f16).number(5, 0x3c00).number(5, 0)),
            raw<uint16_t>({0x3c00, 0}));
  EXPECT_EQ(decoded(Proto(one).number(2, ui64).number(11, -1).number(11, 2)),
            raw<uint64_t>({~uint64_t(0), 2}));
  EXPECT_EQ(decoded(Proto(one).number(2, f64).bytes(10, raw<double>({3, 4}))), raw<double>({3, 4}));
  EXPECT_EQ(decoded(Proto(one).number(2, c64).bytes(4, raw<float>({1, 2, 3, 4}))),
            raw<float>({1, 2, 3, 4}));
  // Three 4-bit elements lie in two bytes.
  EXPECT_EQ(decoded(Proto().number(1, 3).number(2, i4).number(5, 0x21).number(5, 0x03)),
            raw<uint8_t>({0x21, 0x03}));
}

TEST(TensorReader, StringsAreViews) {
  std::string bytes = Proto().number(1, 2).number(2, string).bytes(6, "ab").bytes(6, "").data;
  Tensor t;
  ASSERT_FALSE(readTensor(bytes, t));
  std::vector<std::string_view> strings;
  ASSERT_FALSE(readStrings(t, strings));
  EXPECT_EQ(strings, (std::vector<std::string_view>{"ab", ""}));
}

int refusal(const Proto &proto) {
  Tensor t;
  MaybeProblem problem = readTensor(proto.data, t);
  return problem ? problem->code : 0;
}

TEST(TensorReader, RefusesSizesThatLie) {
  std::string four = raw<float>({1});
  // 2^60 elements in a few bytes, and products that overflow.
  EXPECT_EQ(refusal(tensor("w", f32, {int64_t(1) << 60}, four)), 305);
  EXPECT_EQ(refusal(tensor("w", f32, {int64_t(1) << 40, int64_t(1) << 40}, four)), 304);
  EXPECT_EQ(refusal(tensor("w", f32, {int64_t(1) << 61, 2}, four)), 304);
  EXPECT_EQ(refusal(tensor("w", f32, {-1}, four)), 304);
  EXPECT_EQ(refusal(tensor("w", f32, {2}, four)), 305);
  EXPECT_EQ(refusal(tensor("w", f32, std::vector<int64_t>(1000, 1), four)), 304);
  EXPECT_EQ(refusal(Proto().number(1, 3).number(2, i64).number(7, 1)), 305);
  EXPECT_EQ(refusal(Proto().number(1, 3).number(2, f32)), 305);
  EXPECT_EQ(refusal(tensor("w", string, {1}, "abcd")), 305);
  EXPECT_EQ(refusal(tensor("w", 99, {1}, four)), 306);
  EXPECT_EQ(refusal(tensor("w", 0, {1}, four)), 306);
  EXPECT_EQ(refusal(Proto().number(2, f32).bytes(4, "abc")), 301);
  // An empty tensor needs no values, whatever its other dimensions are.
  EXPECT_EQ(refusal(tensor("w", f32, {0, int64_t(1) << 60}, "")), 0);
}

TEST(TensorReader, SparseTensorsAreChecked) {
  auto sparse = [](std::vector<int64_t> shape, std::vector<int64_t> indices) {
    Proto proto = Proto().message(1, tensor("s", f32, {2}, raw<float>({1, 2})));
    proto.message(2, tensor("", i64, shape, raw<int64_t>(indices)));
    return proto.number(3, 3).number(3, 4);
  };
  SparseTensor t;
  EXPECT_FALSE(readSparseTensor(sparse({2}, {1, 5}).data, t));
  EXPECT_EQ(t.count, 12);
  SparseTensor rows;
  EXPECT_FALSE(readSparseTensor(sparse({2, 2}, {0, 1, 1, 1}).data, rows));
  SparseTensor wrong;
  ASSERT_TRUE(readSparseTensor(sparse({1}, {1}).data, wrong));
}

TEST(ValueReader, ReadsSequencesAndOptionals) {
  Proto element = tensor("", f32, {1}, raw<float>({1}));
  std::string sequence =
      Proto().bytes(1, "s").number(2, 1).message(3, element).message(3, element).data;
  DataValue value;
  ASSERT_FALSE(readValue(sequence, DataValue::Kind::Sequence, value));
  EXPECT_EQ(value.name, "s");
  EXPECT_EQ(value.elements.size(), 2u);
  std::string there = Proto().number(2, 1).message(3, element).data;
  ASSERT_FALSE(readValue(there, DataValue::Kind::Optional, value));
  EXPECT_EQ(value.elements.size(), 1u);
  ASSERT_FALSE(readValue(Proto().number(2, 1).data, DataValue::Kind::Optional, value));
  EXPECT_TRUE(value.elements.empty());
}

TEST(ValueReader, RefusesDeepNesting) {
  std::string bytes;
  for (int i = 0; i < 10000; ++i)
    bytes = Proto().bytes(5, bytes).data;
  DataValue value;
  MaybeProblem problem = readValue(bytes, DataValue::Kind::Sequence, value);
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->code, 303);
}

} // namespace
