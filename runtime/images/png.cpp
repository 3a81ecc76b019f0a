//===- png.cpp - PNG, by libpng -------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "images/images.h"

#ifdef WEIR_HAS_PNG

#include <png.h>
#include <stdlib.h>

namespace weir::rt {

namespace {

/// What the codec's callbacks see.
struct PngState {
  const uint8_t *next, *end;
  Growing *out;
  char text[120];
};

void fail(png_structp png, png_const_charp message) {
  auto *state = static_cast<PngState *>(png_get_error_ptr(png));
  Text(state->text, sizeof(state->text)) << message;
  longjmp(png_jmpbuf(png), 1);
}

void beQuiet(png_structp, png_const_charp) {}

void readBytes(png_structp png, png_bytep to, png_size_t size) {
  auto *state = static_cast<PngState *>(png_get_io_ptr(png));
  if (size > size_t(state->end - state->next))
    png_error(png, "the file ends too early");
  memcpy(to, state->next, size);
  state->next += size;
}

void writeBytes(png_structp png, png_bytep from, png_size_t size) {
  auto *state = static_cast<PngState *>(png_get_io_ptr(png));
  if (!state->out->append(reinterpret_cast<const char *>(from), int64_t(size)))
    png_error(png, "no memory");
}

void flush(png_structp) {}

/// Channels of a file that is asked for none in particular.
int32_t ownChannels(png_structp png, png_infop info) {
  if (png_get_color_type(png, info) != PNG_COLOR_TYPE_PALETTE)
    return png_get_channels(png, info);
  return png_get_valid(png, info, PNG_INFO_tRNS) ? 4 : 3;
}

/// Has the codec turn what the file holds into what is wanted.
void transform(png_structp png, png_infop info, int32_t channels, int32_t wantedBits) {
  int32_t colour = png_get_color_type(png, info), bits = png_get_bit_depth(png, info);
  bool hasTransparency = png_get_valid(png, info, PNG_INFO_tRNS) != 0;
  bool hasAlpha = (colour & PNG_COLOR_MASK_ALPHA) != 0;
  bool isGray = !(colour & PNG_COLOR_MASK_COLOR);
  if (channels % 2 == 0) {
    if (hasTransparency)
      png_set_tRNS_to_alpha(png);
    else if (!hasAlpha)
      png_set_add_alpha(png, (1u << bits) - 1, PNG_FILLER_AFTER);
  } else if (hasAlpha || hasTransparency) {
    png_set_strip_alpha(png);
  }
  if (bits > 8 && wantedBits <= 8)
    png_set_strip_16(png);
  png_set_packing(png);
  (void)png_set_interlace_handling(png);
  if (bits > 8 && wantedBits > 8 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
    png_set_swap(png);
  if (colour == PNG_COLOR_TYPE_PALETTE)
    png_set_palette_to_rgb(png);
  if (isGray && bits < 8)
    png_set_expand_gray_1_2_4_to_8(png);
  // The weights are those that TensorFlow gives the codec.
  if (channels < 3 && !isGray)
    png_set_rgb_to_gray(png, 1, 0.299, 0.587);
  if (channels >= 3 && isGray)
    png_set_gray_to_rgb(png);
  png_read_update_info(png, info);
}

/// Samples of 8 bits in the front half of a buffer of 16-bit ones, made wide.
void widen(Image &image) {
  int64_t count = image.frames * image.height * image.width * image.channels;
  auto *wide = reinterpret_cast<uint16_t *>(image.data);
  for (int64_t i = count; i-- > 0;)
    wide[i] = uint16_t(image.data[i] * 257);
}

} // namespace

bool decodePng(const weir_string &contents, const DecodeOptions &options, Image &image) {
  PngState state{reinterpret_cast<const uint8_t *>(contents.data),
                 reinterpret_cast<const uint8_t *>(contents.data) + contents.size, nullptr, ""};
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &state, fail, beQuiet);
  png_infop info = png ? png_create_info_struct(png) : nullptr;
  png_bytep *volatile rows = nullptr;
  if (!info) {
    png_destroy_read_struct(&png, nullptr, nullptr);
    return image.fail("no memory for an image");
  }
  if (setjmp(png_jmpbuf(png))) {
    png_destroy_read_struct(&png, &info, nullptr);
    free(rows);
    return image.fail("Invalid PNG data: ", state.text);
  }
  png_set_read_fn(png, &state, readBytes);
  png_read_info(png, info);
  int32_t channels = options.channels ? options.channels : ownChannels(png, info);
  bool isNarrow = png_get_bit_depth(png, info) <= 8;
  transform(png, info, channels, options.bits);
  bool good = image.make(1, png_get_image_height(png, info), png_get_image_width(png, info),
                         channels, options.bits);
  int64_t rowBytes = image.width * channels * (isNarrow ? 1 : options.bits / 8);
  if (good && int64_t(png_get_rowbytes(png, info)) != rowBytes)
    good = image.fail("Invalid PNG data: unexpected size of rows");
  if (good) {
    rows = static_cast<png_bytep *>(malloc(size_t(image.height) * sizeof(png_bytep)));
    good = rows || image.fail("no memory for an image");
  }
  if (good) {
    for (int64_t y = 0; y < image.height; ++y)
      rows[y] = image.data + y * rowBytes;
    png_read_image(png, rows);
    png_read_end(png, info);
  }
  png_destroy_read_struct(&png, &info, nullptr);
  free(rows);
  if (good && isNarrow && options.bits == 16)
    widen(image);
  return good;
}

bool encodePng(Image &image, const uint8_t *pixels, int32_t compression, Growing &out) {
  static constexpr int32_t colours[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                        PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
  PngState state{nullptr, nullptr, &out, ""};
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &state, fail, beQuiet);
  png_infop info = png ? png_create_info_struct(png) : nullptr;
  if (!info) {
    png_destroy_write_struct(&png, nullptr);
    return image.fail("no memory for an image");
  }
  if (setjmp(png_jmpbuf(png))) {
    png_destroy_write_struct(&png, &info);
    return image.fail("PNG encoding failed: ", state.text);
  }
  png_set_write_fn(png, &state, writeBytes, flush);
  png_set_compression_level(png, compression);
  png_set_compression_mem_level(png, 9); // as TensorFlow has it
  png_set_IHDR(png, info, png_uint_32(image.width), png_uint_32(image.height), image.bits,
               colours[image.channels - 1], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  if (image.bits > 8 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
    png_set_swap(png);
  for (int64_t y = 0; y < image.height; ++y)
    png_write_row(png, const_cast<png_bytep>(pixels + y * image.rowBytes()));
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return true;
}

} // namespace weir::rt

#else

namespace weir::rt {
static bool refuse(Image &image) {
  image.code = WEIR_UNIMPLEMENTED;
  return image.fail("this runtime was built without libpng: no PNG");
}
bool decodePng(const weir_string &, const DecodeOptions &, Image &image) { return refuse(image); }
bool encodePng(Image &image, const uint8_t *, int32_t, Growing &) { return refuse(image); }
} // namespace weir::rt

#endif
