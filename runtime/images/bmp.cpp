//===- bmp.cpp - BMP ------------------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "images/images.h"

namespace weir::rt {

static int32_t number(const weir_string &contents, int64_t at, int32_t bytes) {
  uint32_t value = 0;
  for (int32_t i = 0; i < bytes; ++i)
    value |= uint32_t(uint8_t(contents.data[at + i])) << (8 * i);
  return int32_t(value);
}

/// Files of 8, 24 and 32 bits a pixel, without compression. Rows are blue, green,
/// red(, alpha), filled up to four bytes, the lowest first where the height is
/// positive.
bool decodeBmp(const weir_string &contents, const DecodeOptions &options, Image &image) {
  if (contents.size < 32 || contents.data[0] != 'B' || contents.data[1] != 'M')
    return image.fail("Invalid BMP data: no header");
  int64_t begin = number(contents, 10, 4), width = number(contents, 18, 4);
  int64_t height = number(contents, 22, 4);
  int32_t channels = (number(contents, 28, 4) & 0xffff) / 8;
  if (channels != 1 && channels != 3 && channels != 4)
    return image.fail("Invalid BMP data: the number of channels inherent in the image must be 1, "
                      "3 or 4");
  if (options.channels == 1)
    return image.fail("channels must be 0, 3 or 4 for BMP");
  int32_t wanted = options.channels ? options.channels : channels;
  bool isTopDown = height < 0;
  height = isTopDown ? -height : height;
  if (!image.make(1, height, width, wanted))
    return false;
  int64_t stride = (width * channels + 3) / 4 * 4;
  if (begin < 0 || begin > contents.size || contents.size - begin < stride * height)
    return image.fail("Invalid BMP data: the file ends too early");
  for (int64_t y = 0; y < height; ++y) {
    auto *from = reinterpret_cast<const uint8_t *>(contents.data) + begin +
                 (isTopDown ? y : height - 1 - y) * stride;
    uint8_t *to = image.row(y);
    for (int64_t x = 0; x < width; ++x, from += channels, to += wanted) {
      for (int32_t c = 0; c < wanted && c < 3; ++c)
        to[c] = from[channels == 1 ? 0 : 2 - c];
      if (wanted == 4)
        to[3] = channels == 4 ? from[3] : 255;
    }
  }
  return true;
}

} // namespace weir::rt
