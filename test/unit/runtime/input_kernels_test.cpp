//===- input_kernels_test.cpp - kernels that read and parse ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "input/inflate.h"
#include "kernel_call.h"

#include "weir/input.h"

#include <random>
#include <zlib.h>

using namespace weir::rt;
using namespace weir::rt::test;

namespace {

using Texts = std::vector<std::string>;
using Sizes = std::vector<int64_t>;

/// A string tensor that points into what it keeps.
struct Strings {
  Strings(Texts values, Sizes dims) : values(std::move(values)), dims(std::move(dims)) {
    for (const std::string &value : this->values)
      strings.push_back({value.data(), int64_t(value.size())});
  }
  operator weir_tensor() { return dense(strings, WEIR_STRING, dims); }
  Texts values;
  Sizes dims;
  std::vector<weir_string> strings;
};

Strings one(std::string text) { return Strings({std::move(text)}, {}); }
Strings list(Texts texts) {
  auto size = int64_t(texts.size());
  return Strings(std::move(texts), {size});
}

//===----------------------------------------------------------------------===//
// Decompression, against zlib
//===----------------------------------------------------------------------===//

constexpr int zlibBits = 15, gzipBits = 31;

std::string deflateOf(const std::string &text, int level, int strategy, int windowBits) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, level, Z_DEFLATED, windowBits, 8, strategy), Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(text.data()));
  stream.avail_in = uInt(text.size());
  stream.next_out = reinterpret_cast<Bytef *>(out.data());
  stream.avail_out = uInt(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// Reads in pieces of `step` bytes.
std::string inflated(const std::string &packed, Inflater::Format format, int64_t step,
                     const char **damage) {
  auto inflater = std::make_unique<Inflater>();
  ByteSupply supply;
  supply.next = reinterpret_cast<const uint8_t *>(packed.data());
  supply.end = supply.next + packed.size();
  inflater->init(format, &supply);
  std::string out;
  std::vector<uint8_t> piece(static_cast<size_t>(step));
  while (int64_t size = inflater->read(piece.data(), step))
    out.append(reinterpret_cast<const char *>(piece.data()), size_t(size));
  *damage = inflater->damage();
  return out;
}

std::vector<std::string> samples() {
  std::mt19937 random(1);
  std::string noise(70000, '\0'), words;
  for (char &c : noise)
    c = char(random());
  while (words.size() < 100000)
    words += std::to_string(random() % 300) + " and ";
  return {"", "a", "abcabcabcabc", std::string(40000, 'x'), noise, words};
}

TEST(Inflate, UndoesWhatZlibDoes) {
  for (const std::string &text : samples())
    for (int level : {0, 1, 6, 9})
      for (int strategy : {Z_DEFAULT_STRATEGY, Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED})
        for (int64_t step : {int64_t(7), int64_t(1 << 16)}) {
          const char *damage;
          EXPECT_EQ(inflated(deflateOf(text, level, strategy, zlibBits), Inflater::Format::Zlib,
                             step, &damage),
                    text);
          EXPECT_EQ(damage, nullptr);
          EXPECT_EQ(inflated(deflateOf(text, level, strategy, gzipBits), Inflater::Format::Gzip,
                             step, &damage),
                    text);
          EXPECT_EQ(damage, nullptr);
        }
}

TEST(Inflate, TakesMembersOfGzipForOneStream) {
  const char *damage;
  std::string two = deflateOf("one, ", 6, 0, gzipBits) + deflateOf("two", 6, 0, gzipBits);
  EXPECT_EQ(inflated(two, Inflater::Format::Gzip, 3, &damage), "one, two");
  EXPECT_EQ(damage, nullptr);
}

TEST(Inflate, TellsDamageFromWhatIsCutShort) {
  const char *damage;
  std::string packed = deflateOf("some text, some text", 6, 0, zlibBits);
  std::string wrong = packed;
  wrong.back() ^= 1;
  (void)inflated(wrong, Inflater::Format::Zlib, 100, &damage);
  EXPECT_STREQ(damage, "incorrect data check");
  (void)inflated("junk", Inflater::Format::Zlib, 100, &damage);
  EXPECT_STREQ(damage, "incorrect header check");
  std::string begin =
      inflated(packed.substr(0, packed.size() - 5), Inflater::Format::Zlib, 100, &damage);
  EXPECT_EQ(damage, nullptr);
  EXPECT_EQ(std::string("some text, some text").compare(0, begin.size(), begin), 0);
}

TEST(Inflate, SurvivesAnyBytes) {
  std::mt19937 random(2);
  for (const std::string &text : samples())
    for (int i = 0; i < 60; ++i) {
      std::string packed = deflateOf(text.substr(0, 3000), int(random() % 10), 0, zlibBits);
      for (int k = 0; k < 3; ++k)
        packed[random() % packed.size()] = char(random());
      const char *damage;
      EXPECT_LE(inflated(packed, Inflater::Format::Zlib, 4096, &damage).size(), size_t(1) << 24);
    }
}

TEST(Inflate, KernelGivesDataLoss) {
  Strings good = list({deflateOf("x", 6, 0, gzipBits), ""});
  Call call(weir_kernel_decompress, {good}, {WEIR_STRING}, {2});
  ASSERT_EQ(call.code, WEIR_OK) << call.message;
  EXPECT_EQ(call.results[0].strings, (Texts{"x", ""}));
  Strings bad = one("no gzip");
  Call failing(weir_kernel_decompress, {bad}, {WEIR_STRING}, {2});
  EXPECT_EQ(failing.code, WEIR_DATA_LOSS);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

TEST(DecodeCsv, TakesQuotesDefaultsAndChosenColumns) {
  Strings records = list({"1.5,7,\"a \"\"b\"\", c\"", ",8,"}), absent = one(""), text = list({"d"});
  std::vector<float> real{9};
  std::vector<int32_t> integers;
  Call call(weir_kernel_decode_csv,
            {records, absent, dense(real, WEIR_F32, {1}), dense(integers, WEIR_I32, {0}), text},
            {WEIR_F32, WEIR_I32, WEIR_STRING}, {',', 1, 0});
  ASSERT_EQ(call.code, WEIR_OK) << call.message;
  EXPECT_EQ(call.results[0].as<float>(), (std::vector<float>{1.5f, 9}));
  EXPECT_EQ(call.results[1].as<int32_t>(), (std::vector<int32_t>{7, 8}));
  EXPECT_EQ(call.results[2].strings, (Texts{"a \"b\", c", "d"}));

  Strings few = list({"1,2,3"});
  Call chosen(weir_kernel_decode_csv, {few, absent, dense(integers, WEIR_I32, {0})}, {WEIR_I32},
              {',', 1, 1, 2});
  ASSERT_EQ(chosen.code, WEIR_OK) << chosen.message;
  EXPECT_EQ(chosen.results[0].as<int32_t>(), std::vector<int32_t>{3});
  Call missing(weir_kernel_decode_csv, {few, absent, dense(integers, WEIR_I32, {0})}, {WEIR_I32},
               {',', 1, 0});
  EXPECT_EQ(missing.code, WEIR_INVALID_ARGUMENT);
  EXPECT_NE(missing.message.find("Expect 1 fields but have 3 in record 0"), std::string::npos);
}

//===----------------------------------------------------------------------===//
// Examples
//===----------------------------------------------------------------------===//

std::string field(int number, const std::string &bytes) {
  return std::string(1, char(number << 3 | 2)) + char(bytes.size()) + bytes;
}
std::string floats(std::vector<float> values) {
  std::string packed(values.size() * 4, '\0');
  if (!values.empty())
    std::memcpy(packed.data(), values.data(), packed.size());
  return field(2, field(1, packed));
}
std::string integers(const std::string &varints) { return field(3, field(1, varints)); }
std::string feature(const std::string &name, const std::string &list) {
  return field(1, field(1, name) + field(2, list));
}
std::string example(const std::string &features) { return field(1, features); }

/// One sparse feature of integers `s`, one dense of two floats `d` with a default.
Call parse(Strings serialized, std::vector<float> standard, Sizes standardDims) {
  Strings names = list({}), sparse = list({"s"}), densed = list({"d"}), ragged = list({});
  return Call(weir_kernel_parse_example,
              {serialized, names, sparse, densed, ragged, dense(standard, WEIR_F32, standardDims)},
              {WEIR_I64, WEIR_I64, WEIR_I64, WEIR_F32}, {1, 1, 0, 1, 2});
}

TEST(ParseExample, GivesSparseAndDenseFeatures) {
  Call call = parse(list({example(feature("d", floats({1, 2})) + feature("s", integers("\5\6"))),
                          example(feature("s", integers("\7")))}),
                    {8, 9}, {2});
  ASSERT_EQ(call.code, WEIR_OK) << call.message;
  EXPECT_EQ(call.results[0].as<int64_t>(), (Sizes{0, 0, 0, 1, 1, 0}));
  EXPECT_EQ(call.results[1].as<int64_t>(), (Sizes{5, 6, 7}));
  EXPECT_EQ(call.results[2].as<int64_t>(), (Sizes{2, 2}));
  EXPECT_EQ(call.results[3].as<float>(), (std::vector<float>{1, 2, 8, 9}));
}

TEST(ParseExample, RefusesAsTensorFlowDoes) {
  auto message = [](std::string serialized) {
    Call call = parse(list({std::move(serialized)}), {}, {0});
    EXPECT_EQ(call.code, WEIR_INVALID_ARGUMENT);
    return call.message;
  };
  EXPECT_NE(message(example("")).find("Feature: d (data type: float) is required but could not be"),
            std::string::npos);
  EXPECT_NE(
      message(example(feature("d", floats({1})))).find("Values size: 1 but output shape: [2]"),
      std::string::npos);
  EXPECT_NE(message(example(feature("d", integers("\1\2")))).find("Data types don't match"),
            std::string::npos);
  EXPECT_NE(message("\x0a\x05\x0a\xff").find("Could not parse example input"), std::string::npos);
}

TEST(ParseExample, SurvivesAnyBytes) {
  std::mt19937 random(3);
  std::string good =
      example(feature("d", floats({1, 2})) + feature("s", integers("\5\6")) + feature("x", ""));
  for (int i = 0; i < 400; ++i) {
    std::string bytes = good.substr(0, 1 + random() % good.size());
    bytes[random() % bytes.size()] = char(random());
    Call call = parse(list({bytes}), {8, 9}, {2});
    EXPECT_TRUE(call.code == WEIR_OK || call.code == WEIR_INVALID_ARGUMENT) << call.message;
  }
}

//===----------------------------------------------------------------------===//
// Tensors and sound
//===----------------------------------------------------------------------===//

TEST(SerializedTensor, IsTensorFlowsMessage) {
  std::vector<float> values{1.5f};
  Call call(weir_kernel_serialize_tensor, {dense(values, WEIR_F32, {1})}, {WEIR_STRING}, {1});
  ASSERT_EQ(call.code, WEIR_OK);
  EXPECT_EQ(call.results[0].strings[0],
            std::string("\x08\x01\x12\x04\x12\x02\x08\x01\"\x04\x00\x00\xc0\x3f", 14));
}

TEST(SerializedTensor, SurvivesAnyBytes) {
  std::mt19937 random(4);
  std::string good("\x08\x01\x12\x04\x12\x02\x08\x02\"\x08\x00\x00\xc0\x3f\x00\x00\xc0\x3f", 18);
  for (int i = 0; i < 400; ++i) {
    std::string bytes = good.substr(0, 1 + random() % good.size());
    bytes[random() % bytes.size()] = char(random());
    Strings text = one(bytes);
    Call call(weir_kernel_parse_tensor, {text}, {WEIR_TENSOR}, {1});
    EXPECT_TRUE(call.code == WEIR_OK || call.code == WEIR_INVALID_ARGUMENT ||
                call.code == WEIR_RESOURCE_EXHAUSTED)
        << call.message;
  }
}

TEST(Wav, ReadsWhatItWrites) {
  std::vector<float> samples{0, 0.5f, -1, 2};
  std::vector<int32_t> rate{8000};
  Call written(weir_kernel_encode_wav,
               {dense(samples, WEIR_F32, {2, 2}), dense(rate, WEIR_I32, {})}, {WEIR_STRING}, {});
  ASSERT_EQ(written.code, WEIR_OK) << written.message;
  Strings file = one(written.results[0].strings[0]);
  Call read(weir_kernel_decode_wav, {file}, {WEIR_F32, WEIR_I32}, {-1, 3});
  ASSERT_EQ(read.code, WEIR_OK) << read.message;
  EXPECT_EQ(read.results[0].dims, (Sizes{3, 2}));
  EXPECT_EQ(read.results[0].as<float>(), (std::vector<float>{0, 0.5f, -1, 32767.0f / 32768, 0, 0}));
  EXPECT_EQ(read.results[1].as<int32_t>(), std::vector<int32_t>{8000});
  for (size_t size = 0; size < file.values[0].size(); ++size) {
    Strings cut = one(file.values[0].substr(0, size));
    Call failing(weir_kernel_decode_wav, {cut}, {WEIR_F32, WEIR_I32}, {-1, -1});
    EXPECT_EQ(failing.code, WEIR_INVALID_ARGUMENT) << size;
  }
}

} // namespace
