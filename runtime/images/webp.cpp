//===- webp.cpp - WebP, by libwebp ----------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "images/images.h"

#ifdef WEIR_HAS_WEBP

#include <webp/decode.h>

namespace weir::rt {

bool decodeWebp(const weir_string &contents, const DecodeOptions &options, Image &image) {
  auto *data = reinterpret_cast<const uint8_t *>(contents.data);
  auto size = size_t(contents.size);
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(data, size, &features) != VP8_STATUS_OK)
    return image.fail("Invalid WebP data: no header");
  if (features.has_animation) {
    image.code = WEIR_UNIMPLEMENTED;
    return image.fail("animated WebP is not supported");
  }
  int32_t channels = options.channels ? options.channels : features.has_alpha ? 4 : 3;
  if (channels != 3 && channels != 4)
    return image.fail("channels must be 0, 3 or 4 for WebP");
  if (!image.make(1, features.height, features.width, channels))
    return false;
  auto bytes = size_t(image.height * image.rowBytes());
  auto stride = int(image.rowBytes());
  uint8_t *made = channels == 4 ? WebPDecodeRGBAInto(data, size, image.data, bytes, stride)
                                : WebPDecodeRGBInto(data, size, image.data, bytes, stride);
  return made || image.fail("Invalid WebP data");
}

} // namespace weir::rt

#else

namespace weir::rt {
bool decodeWebp(const weir_string &, const DecodeOptions &, Image &image) {
  image.code = WEIR_UNIMPLEMENTED;
  return image.fail("this runtime was built without libwebp: no WebP");
}
} // namespace weir::rt

#endif
