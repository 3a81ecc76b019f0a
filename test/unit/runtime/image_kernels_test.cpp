//===- image_kernels_test.cpp - kernels of images -------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernel_call.h"

#include "weir/input.h"

#include <random>

using namespace weir::rt::test;

namespace {

using Sizes = std::vector<int64_t>;

/// Which operation asks (weir/input.h).
enum Operation : int64_t { Any, Jpeg, Png, Gif, Bmp, Webp, Crop, Onnx };

struct File {
  explicit File(std::string bytes) : bytes(std::move(bytes)) {
    string = {{this->bytes.data(), int64_t(this->bytes.size())}};
  }
  operator weir_tensor() { return dense(string, WEIR_STRING, {}); }
  std::string bytes;
  std::vector<weir_string> string;
};

Call decode(std::string bytes, Operation operation, int64_t channels = 0) {
  File file(std::move(bytes));
  return Call(weir_kernel_decode_image, {file}, {WEIR_U8},
              {operation, channels, 1, 1, 1, 0, 8, 0, 0, operation == Gif ? 4 : 3, WEIR_U8});
}

std::vector<uint8_t> pixels() {
  std::mt19937 random(1);
  std::vector<uint8_t> made(9 * 7 * 3);
  for (uint8_t &value : made)
    value = uint8_t(random());
  return made;
}

std::string png() {
  std::vector<uint8_t> values = pixels();
  Call call(weir_kernel_encode_png, {dense(values, WEIR_U8, {9, 7, 3})}, {WEIR_STRING}, {-1});
  if (call.code == WEIR_UNIMPLEMENTED)
    return "";
  EXPECT_EQ(call.code, WEIR_OK) << call.message;
  return call.results[0].strings[0];
}

std::string jpeg() {
  std::vector<uint8_t> values = pixels();
  File xmp("");
  Call call(weir_kernel_encode_jpeg, {dense(values, WEIR_U8, {9, 7, 3}), xmp}, {WEIR_STRING},
            {0, 95, 0, 0, 1, 0, 300, 300});
  if (call.code == WEIR_UNIMPLEMENTED)
    return "";
  EXPECT_EQ(call.code, WEIR_OK) << call.message;
  return call.results[0].strings[0];
}

/// 2 x 2 pixels of 24 bits, the lower row first.
std::string bmp() {
  std::string file("BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x02\0\0\0\x02\0\0\0\x01\0\x18\0", 30);
  file.resize(54, '\0');
  return file + std::string("\1\2\3\4\5\6\0\0\7\10\11\12\13\14\0\0", 16);
}

/// 2 x 1 pixels of a map of four colours.
std::string gif() {
  return std::string("GIF89a\2\0\1\0\x81\0\0\0\0\0\xff\0\0\0\xff\0\0\0\xff,\0\0\0\0\2\0\1\0\0"
                     "\2\2\x8c\n\0;",
                     41);
}

TEST(Png, IsDecodedExactly) {
  std::string file = png();
  if (file.empty())
    GTEST_SKIP() << "built without libpng";
  Call call = decode(file, Png);
  ASSERT_EQ(call.code, WEIR_OK) << call.message;
  EXPECT_EQ(call.results[0].dims, (Sizes{9, 7, 3}));
  EXPECT_EQ(call.results[0].bytes, pixels());
  EXPECT_EQ(decode(file, Png, 4).results[0].dims, (Sizes{9, 7, 4}));
  EXPECT_EQ(decode(file, Gif).results[0].dims, (Sizes{1, 9, 7, 3}));
  EXPECT_EQ(decode(file, Bmp).code, WEIR_INVALID_ARGUMENT);
}

TEST(Jpeg, HasItsShapeAndPartsOfIt) {
  std::string file = jpeg();
  if (file.empty())
    GTEST_SKIP() << "built without libjpeg";
  EXPECT_EQ(decode(file, Jpeg).results[0].dims, (Sizes{9, 7, 3}));
  File bytes(file);
  Call shape(weir_kernel_jpeg_shape, {bytes}, {WEIR_I32}, {});
  EXPECT_EQ(shape.results[0].as<int32_t>(), (std::vector<int32_t>{9, 7, 3}));
  auto crop = [&](std::vector<int32_t> window) {
    return Call(weir_kernel_decode_image, {bytes, dense(window, WEIR_I32, {4})}, {WEIR_U8},
                {Crop, 0, 1, 1, 1, 0, 8, 0, 0, 3, WEIR_U8});
  };
  EXPECT_EQ(crop({2, 1, 4, 5}).results[0].dims, (Sizes{4, 5, 3}));
  EXPECT_EQ(crop({2, 1, 8, 5}).code, WEIR_INVALID_ARGUMENT);
  EXPECT_EQ(decode(file.substr(0, file.size() / 2), Jpeg).code, WEIR_INVALID_ARGUMENT);
}

TEST(Bmp, TurnsRowsAndColours) {
  Call call = decode(bmp(), Bmp);
  ASSERT_EQ(call.code, WEIR_OK) << call.message;
  EXPECT_EQ(call.results[0].bytes, (std::vector<uint8_t>{9, 8, 7, 12, 11, 10, 3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(decode(bmp().substr(0, 60), Bmp).code, WEIR_INVALID_ARGUMENT);
}

TEST(Pnm, ComesAsTextAndAsBytes) {
  std::vector<uint8_t> expected{255, 0, 0, 0, 128, 255};
  EXPECT_EQ(decode("P3 # two\n2 1 255\n255 0 0 0 128 255\n", Onnx).results[0].bytes, expected);
  EXPECT_EQ(decode(std::string("P6 2 1 255\n\xff\0\0\0\x80\xff", 17), Onnx).results[0].bytes,
            expected);
  EXPECT_EQ(decode("P6 2 1 255\nx", Onnx).code, WEIR_INVALID_ARGUMENT);
}

TEST(Images, OfAnyBytesGiveAStatus) {
  std::mt19937 random(5);
  for (const std::string &good : {png(), jpeg(), bmp(), gif()})
    for (int i = 0; i < 300 && !good.empty(); ++i) {
      std::string bytes = good;
      if (random() % 2)
        bytes.resize(random() % bytes.size() + 1);
      for (int k = 0; k < 2; ++k)
        bytes[random() % bytes.size()] = char(random());
      for (Operation operation : {Any, Gif, Onnx}) {
        int32_t code = decode(bytes, operation).code;
        EXPECT_TRUE(code == WEIR_OK || code == WEIR_INVALID_ARGUMENT ||
                    code == WEIR_RESOURCE_EXHAUSTED || code == WEIR_UNIMPLEMENTED)
            << code;
      }
    }
}

TEST(Images, OfNoKnownFormatAreRefused) {
  EXPECT_EQ(decode("", Any).code, WEIR_INVALID_ARGUMENT);
  Call call = decode("no image at all", Any);
  EXPECT_NE(call.message.find("Unknown image file format"), std::string::npos);
}

} // namespace
