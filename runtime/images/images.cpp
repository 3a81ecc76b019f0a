//===- images.cpp - what formats of images share --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "images/images.h"

namespace weir::rt {

bool Image::fail(const char *what, const char *more) {
  Text(problem, sizeof(problem)) << what << more;
  return false;
}

bool Image::make(int64_t givenFrames, int64_t givenHeight, int64_t givenWidth,
                 int32_t givenChannels, int32_t givenBits) {
  constexpr int64_t most = int64_t(1) << 29; // of samples, as TensorFlow has it
  int64_t samples = givenChannels;
  bool fits = givenFrames > 0 && givenHeight > 0 && givenWidth > 0;
  fits = fits && !__builtin_mul_overflow(samples, givenWidth, &samples) &&
         !__builtin_mul_overflow(samples, givenHeight, &samples) &&
         !__builtin_mul_overflow(samples, givenFrames, &samples) && samples < most;
  if (!fits)
    return fail("the image has no pixels, or is too large");
  weir_rt_free(ctx, data);
  frames = givenFrames;
  height = givenHeight;
  width = givenWidth;
  channels = givenChannels;
  bits = givenBits;
  data = static_cast<uint8_t *>(weir_custom_alloc(ctx, samples * (bits / 8)));
  if (data)
    return true;
  code = WEIR_RESOURCE_EXHAUSTED;
  return fail("no memory for an image");
}

ImageFormat formatOf(const weir_string &contents) {
  auto begins = [&](const char *magic, int64_t size, int64_t at = 0) {
    return contents.size >= at + size && memcmp(contents.data + at, magic, size_t(size)) == 0;
  };
  if (begins("\xff\xd8\xff", 3))
    return ImageFormat::Jpeg;
  if (begins("\211PNG", 4))
    return ImageFormat::Png;
  if (begins("GIF8", 4))
    return ImageFormat::Gif;
  if (begins("BM", 2))
    return ImageFormat::Bmp;
  if (begins("RIFF", 4) && begins("WEBP", 4, 8))
    return ImageFormat::Webp;
  if (contents.size >= 2 && contents.data[0] == 'P' && contents.data[1] >= '1' &&
      contents.data[1] <= '7')
    return ImageFormat::Pnm;
  if (begins("II*\0", 4) || begins("MM\0*", 4))
    return ImageFormat::Tiff;
  if (begins("\0\0\0\x0cjP  ", 8) || begins("\xff\x4f\xff\x51", 4))
    return ImageFormat::Jpeg2000;
  return ImageFormat::Unknown;
}

} // namespace weir::rt
