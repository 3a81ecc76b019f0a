//===- tiff.cpp - TIFF, by libtiff ----------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "images/images.h"

#ifdef WEIR_HAS_TIFF

#include <stdio.h>
#include <tiffio.h>

namespace weir::rt {

namespace {

/// A file in memory.
struct TiffBytes {
  const weir_string &contents;
  int64_t at = 0;
};

tmsize_t readBytes(thandle_t handle, void *to, tmsize_t size) {
  auto *bytes = static_cast<TiffBytes *>(handle);
  int64_t left = bytes->contents.size - bytes->at;
  int64_t part = left < 0 ? 0 : left < size ? left : size;
  if (part > 0)
    memcpy(to, bytes->contents.data + bytes->at, size_t(part));
  bytes->at += part;
  return part;
}

tmsize_t writeBytes(thandle_t, void *, tmsize_t) { return 0; }

toff_t seek(thandle_t handle, toff_t offset, int whence) {
  auto *bytes = static_cast<TiffBytes *>(handle);
  int64_t base = whence == SEEK_CUR ? bytes->at : whence == SEEK_END ? bytes->contents.size : 0;
  bytes->at = base + int64_t(offset);
  return toff_t(bytes->at);
}

int close(thandle_t) { return 0; }

toff_t sizeOf(thandle_t handle) { return toff_t(static_cast<TiffBytes *>(handle)->contents.size); }

/// Says nothing on the program's error output.
int beQuiet(TIFF *, void *, const char *, const char *, va_list) { return 1; }

} // namespace

/// The file's first image, as red, green, blue.
bool decodeTiff(const weir_string &contents, const DecodeOptions &, Image &image) {
  TiffBytes bytes{contents};
  TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
  if (!options)
    return image.fail("no memory for an image");
  TIFFOpenOptionsSetErrorHandlerExtR(options, beQuiet, nullptr);
  TIFFOpenOptionsSetWarningHandlerExtR(options, beQuiet, nullptr);
  TIFF *file = TIFFClientOpenExt("memory", "rm", &bytes, readBytes, writeBytes, seek, close, sizeOf,
                                 nullptr, nullptr, options);
  TIFFOpenOptionsFree(options);
  if (!file)
    return image.fail("Invalid TIFF data");
  uint32_t width = 0, height = 0;
  TIFFGetField(file, TIFFTAG_IMAGEWIDTH, &width);
  TIFFGetField(file, TIFFTAG_IMAGELENGTH, &height);
  bool good = image.make(1, height, width, 3);
  auto *raster = static_cast<uint32_t *>(
      good ? weir_custom_alloc(image.ctx, int64_t(width) * height * 4) : nullptr);
  if (good && !raster)
    good = image.fail("no memory for an image");
  if (good && !TIFFReadRGBAImageOriented(file, width, height, raster, ORIENTATION_TOPLEFT, 1))
    good = image.fail("Invalid TIFF data, or a kind of it that is not supported");
  TIFFClose(file);
  for (int64_t i = 0; good && i < int64_t(width) * height; ++i) {
    image.data[3 * i] = uint8_t(TIFFGetR(raster[i]));
    image.data[3 * i + 1] = uint8_t(TIFFGetG(raster[i]));
    image.data[3 * i + 2] = uint8_t(TIFFGetB(raster[i]));
  }
  weir_rt_free(image.ctx, raster);
  return good;
}

} // namespace weir::rt

#else

namespace weir::rt {
bool decodeTiff(const weir_string &, const DecodeOptions &, Image &image) {
  image.code = WEIR_UNIMPLEMENTED;
  return image.fail("this runtime was built without libtiff: no TIFF");
}
} // namespace weir::rt

#endif
