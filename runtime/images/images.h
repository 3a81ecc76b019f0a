//===- images.h - decoding and encoding of images ---------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What decoders and encoders share. Each format is a file of its own, over its
// usual library (libjpeg-turbo, libpng, giflib, libwebp, libtiff), which the build
// may lack: then the format is refused by name. BMP and PNM are read here.
//
// Libraries report errors by longjmp: between their setjmp and their calls no
// object lives that has a destructor.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_IMAGES_IMAGES_H
#define WEIR_RUNTIME_IMAGES_IMAGES_H

#include "kernels/string_support.h"

namespace weir::rt {

/// What a model may ask of a decoder.
struct DecodeOptions {
  int32_t channels = 0;   ///< 0: as the file has them
  int32_t bits = 8;       ///< of a sample that is wanted: 8 or 16
  bool allFrames = false; ///< of an animation; else the first
  // JPEG
  int32_t ratio = 1;             ///< 1, 2, 4, 8: that many times smaller
  bool fancyUpscaling = true;    ///< chroma by interpolation
  bool fastDct = false;          ///< the less exact integer transform
  bool recovers = false;         ///< rows that miss are filled
  const int64_t *crop = nullptr; ///< y, x, height, width of the part that is wanted
};

/// A decoded image: frames of rows of pixels of samples. The memory is the run's.
class Image {
public:
  explicit Image(weir_context *ctx) : ctx(ctx) {}
  ~Image() { weir_rt_free(ctx, data); }
  Image(const Image &) = delete;

  /// Sets the sizes and allocates; false: they cannot be, or there is no memory,
  /// and `problem` or the run tells.
  bool make(int64_t frames, int64_t height, int64_t width, int32_t channels, int32_t bits = 8);
  int64_t rowBytes() const { return width * channels * (bits / 8); }
  uint8_t *row(int64_t y) { return data + y * rowBytes(); }

  /// Why decoding failed; empty: for want of memory, where it failed. For those
  /// who decode to write to; cut at its end.
  bool fail(const char *what, const char *more = "");
  int32_t code = WEIR_INVALID_ARGUMENT;
  char problem[240] = "";

  int64_t frames = 0, height = 0, width = 0;
  int32_t channels = 0, bits = 8;
  uint8_t *data = nullptr;

  weir_context *const ctx;
};

enum class ImageFormat : uint8_t { Unknown, Jpeg, Png, Gif, Bmp, Webp, Pnm, Tiff, Jpeg2000 };
/// Told by the first bytes.
ImageFormat formatOf(const weir_string &contents);

// Decoders. False: see `problem`.
bool decodeJpeg(const weir_string &contents, const DecodeOptions &options, Image &image);
bool decodePng(const weir_string &contents, const DecodeOptions &options, Image &image);
bool decodeGif(const weir_string &contents, const DecodeOptions &options, Image &image);
bool decodeBmp(const weir_string &contents, const DecodeOptions &options, Image &image);
bool decodeWebp(const weir_string &contents, const DecodeOptions &options, Image &image);
bool decodePnm(const weir_string &contents, const DecodeOptions &options, Image &image);
bool decodeTiff(const weir_string &contents, const DecodeOptions &options, Image &image);

/// Width, height and channels of a JPEG, without decoding it.
bool readJpegShape(const weir_string &contents, Image &image);

struct JpegOptions {
  int32_t format; ///< 0: as the image has channels, 1: gray, 3: colour
  int32_t quality;
  bool progressive, optimizeSize, chromaDownsampling;
  bool inCentimetres; ///< the unit of densities; else inches
  int32_t xDensity, yDensity;
  weir_string xmp;
};
/// Appends a file of `channels` 8-bit samples. False: see `problem` of `image`.
bool encodeJpeg(Image &image, const uint8_t *pixels, const JpegOptions &options, Growing &out);
bool encodePng(Image &image, const uint8_t *pixels, int32_t compression, Growing &out);

} // namespace weir::rt

#endif // WEIR_RUNTIME_IMAGES_IMAGES_H
