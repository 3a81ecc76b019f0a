//===- jpeg.cpp - JPEG, by libjpeg-turbo ----------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "images/images.h"

#ifdef WEIR_HAS_JPEG

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

namespace weir::rt {

namespace {

/// What libjpeg calls when it fails, and where it goes then.
struct ErrorManager {
  jpeg_error_mgr base;
  jmp_buf back;
  char text[JMSG_LENGTH_MAX];
};

void leave(j_common_ptr codec) {
  auto *errors = reinterpret_cast<ErrorManager *>(codec->err);
  errors->base.format_message(codec, errors->text);
  longjmp(errors->back, 1);
}

void beQuiet(j_common_ptr) {}

void init(ErrorManager &errors) {
  jpeg_std_error(&errors.base);
  errors.base.error_exit = leave;
  errors.base.output_message = beQuiet;
  errors.text[0] = 0;
}

/// A file in memory. Where it ends too early, either decoding fails, or it is
/// told that the image ends.
struct Source {
  jpeg_source_mgr base;
  bool recovers;
};

void beginSource(j_decompress_ptr) {}

boolean refill(j_decompress_ptr decoder) {
  static const JOCTET end[2] = {0xff, JPEG_EOI};
  auto *source = reinterpret_cast<Source *>(decoder->src);
  if (!source->recovers) {
    snprintf(reinterpret_cast<ErrorManager *>(decoder->err)->text, JMSG_LENGTH_MAX,
             "the file ends too early");
    longjmp(reinterpret_cast<ErrorManager *>(decoder->err)->back, 1);
  }
  source->base.next_input_byte = end;
  source->base.bytes_in_buffer = sizeof(end);
  return TRUE;
}

void skip(j_decompress_ptr decoder, long count) {
  jpeg_source_mgr &source = *decoder->src;
  while (count > long(source.bytes_in_buffer)) {
    count -= long(source.bytes_in_buffer);
    refill(decoder);
  }
  if (count > 0) {
    source.next_input_byte += count;
    source.bytes_in_buffer -= size_t(count);
  }
}

void readFrom(j_decompress_ptr decoder, Source &source, const weir_string &contents,
              bool recovers) {
  source.base.init_source = beginSource;
  source.base.fill_input_buffer = refill;
  source.base.skip_input_data = skip;
  source.base.resync_to_restart = jpeg_resync_to_restart;
  source.base.term_source = beginSource;
  source.base.next_input_byte = reinterpret_cast<const JOCTET *>(contents.data);
  source.base.bytes_in_buffer = size_t(contents.size);
  source.recovers = recovers;
  decoder->src = &source.base;
}

/// Four inks to three lights. Adobe's files hold them inverted.
void toRgb(const uint8_t *inks, uint8_t *to, int64_t width, bool isInverted) {
  for (int64_t x = 0; x < width; ++x, inks += 4, to += 3)
    for (int32_t i = 0; i < 3; ++i)
      to[i] = isInverted ? uint8_t(inks[3] * inks[i] / 255)
                         : uint8_t((255 - inks[3]) * (255 - inks[i]) / 255);
}

/// The part of the codec's rows that is wanted: whole rows, or from `begin` on
/// what fits the image. In a function of its own: what longjmp leaves has no
/// variables that change.
bool readRows(jpeg_decompress_struct &decoder, Image &image, uint8_t *buffer, int64_t begin) {
  bool isCmyk = decoder.out_color_space == JCS_CMYK;
  for (int64_t y = 0; y < image.height; ++y) {
    JSAMPROW to = buffer;
    if (jpeg_read_scanlines(&decoder, &to, 1) == 0)
      return false;
    const uint8_t *from = buffer + begin * decoder.output_components;
    if (isCmyk)
      toRgb(from, image.row(y), image.width, decoder.saw_Adobe_marker);
    else
      memcpy(image.row(y), from, size_t(image.rowBytes()));
  }
  return true;
}

} // namespace

bool decodeJpeg(const weir_string &contents, const DecodeOptions &options, Image &image) {
  jpeg_decompress_struct decoder;
  ErrorManager errors;
  Source source;
  uint8_t *volatile buffer = nullptr;
  init(errors);
  decoder.err = &errors.base;
  if (setjmp(errors.back)) {
    jpeg_destroy_decompress(&decoder);
    free(buffer);
    return image.fail("Invalid JPEG data or crop window: ", errors.text);
  }
  jpeg_create_decompress(&decoder);
  readFrom(&decoder, source, contents, options.recovers);
  jpeg_read_header(&decoder, TRUE);
  int32_t channels = options.channels ? options.channels : decoder.num_components < 3 ? 1 : 3;
  bool hasInks = decoder.jpeg_color_space == JCS_CMYK || decoder.jpeg_color_space == JCS_YCCK;
  decoder.out_color_space = channels == 1 ? JCS_GRAYSCALE : hasInks ? JCS_CMYK : JCS_RGB;
  decoder.do_fancy_upsampling = options.fancyUpscaling;
  decoder.scale_num = 1;
  decoder.scale_denom = unsigned(options.ratio);
  decoder.dct_method = options.fastDct ? JDCT_IFAST : JDCT_ISLOW;
  jpeg_start_decompress(&decoder);
  int64_t height = decoder.output_height, width = decoder.output_width, begin = 0;
  bool good = true;
  if (const int64_t *crop = options.crop) {
    good = crop[0] >= 0 && crop[1] >= 0 && crop[2] > 0 && crop[3] > 0 &&
           crop[2] <= height - crop[0] && crop[3] <= width - crop[1];
    if (good) {
      height = crop[2];
      width = crop[3];
      // Columns are cut where blocks begin; what is left of it is cut by hand.
      JDIMENSION left = JDIMENSION(crop[1]), span = JDIMENSION(width);
      jpeg_crop_scanline(&decoder, &left, &span);
      begin = crop[1] - left;
      jpeg_skip_scanlines(&decoder, JDIMENSION(crop[0]));
    } else {
      (void)image.fail("Invalid JPEG data or crop window: the window is outside of the image");
    }
  }
  good = good && image.make(1, height, width, channels);
  if (good) {
    buffer = static_cast<uint8_t *>(
        malloc(size_t(decoder.output_width) * size_t(decoder.output_components)));
    good = buffer || image.fail("no memory for an image");
  }
  if (good)
    good = readRows(decoder, image, buffer, begin) || image.fail("Invalid JPEG data");
  if (good && !options.crop)
    jpeg_finish_decompress(&decoder);
  jpeg_destroy_decompress(&decoder);
  free(buffer);
  return good;
}

bool readJpegShape(const weir_string &contents, Image &image) {
  jpeg_decompress_struct decoder;
  ErrorManager errors;
  Source source;
  init(errors);
  decoder.err = &errors.base;
  if (setjmp(errors.back)) {
    jpeg_destroy_decompress(&decoder);
    return image.fail("Invalid JPEG data: ", errors.text);
  }
  jpeg_create_decompress(&decoder);
  readFrom(&decoder, source, contents, false);
  jpeg_read_header(&decoder, TRUE);
  jpeg_calc_output_dimensions(&decoder);
  image.height = decoder.output_height;
  image.width = decoder.output_width;
  image.channels = decoder.num_components;
  jpeg_destroy_decompress(&decoder);
  return true;
}

//===----------------------------------------------------------------------===//
// Encoding
//===----------------------------------------------------------------------===//

/// An XMP packet, in a marker of its own.
static void writeXmp(jpeg_compress_struct &encoder, const weir_string &xmp) {
  static const char name[] = "http://ns.adobe.com/xap/1.0/"; // and its zero
  constexpr int64_t most = 65533 - int64_t(sizeof(name));
  if (xmp.size == 0 || xmp.size > most)
    return;
  jpeg_write_m_header(&encoder, JPEG_APP0 + 1, unsigned(sizeof(name)) + unsigned(xmp.size));
  for (char c : name)
    jpeg_write_m_byte(&encoder, c);
  for (int64_t i = 0; i < xmp.size; ++i)
    jpeg_write_m_byte(&encoder, xmp.data[i]);
}

bool encodeJpeg(Image &image, const uint8_t *pixels, const JpegOptions &options, Growing &out) {
  jpeg_compress_struct encoder;
  ErrorManager errors;
  unsigned char *written = nullptr;
  unsigned long size = 0;
  init(errors);
  encoder.err = &errors.base;
  if (setjmp(errors.back)) {
    jpeg_destroy_compress(&encoder);
    free(written);
    return image.fail("JPEG encoding failed: ", errors.text);
  }
  jpeg_create_compress(&encoder);
  jpeg_mem_dest(&encoder, &written, &size);
  encoder.image_width = unsigned(image.width);
  encoder.image_height = unsigned(image.height);
  encoder.input_components = image.channels;
  encoder.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&encoder);
  if (options.optimizeSize)
    encoder.optimize_coding = TRUE;
  encoder.density_unit = options.inCentimetres ? 2 : 1;
  encoder.X_density = UINT16(options.xDensity);
  encoder.Y_density = UINT16(options.yDensity);
  jpeg_set_quality(&encoder, options.quality, TRUE);
  if (options.progressive)
    jpeg_simple_progression(&encoder);
  if (!options.chromaDownsampling)
    for (int32_t i = 0; i < encoder.num_components; ++i)
      encoder.comp_info[i].h_samp_factor = encoder.comp_info[i].v_samp_factor = 1;
  jpeg_start_compress(&encoder, TRUE);
  writeXmp(encoder, options.xmp);
  int64_t stride = image.width * image.channels;
  while (encoder.next_scanline < encoder.image_height) {
    auto *row = const_cast<JSAMPROW>(pixels + encoder.next_scanline * stride);
    jpeg_write_scanlines(&encoder, &row, 1);
  }
  jpeg_finish_compress(&encoder);
  jpeg_destroy_compress(&encoder);
  out.append(reinterpret_cast<const char *>(written), int64_t(size));
  free(written);
  return !out.failed();
}

} // namespace weir::rt

#else

namespace weir::rt {
static bool refuse(Image &image) {
  image.code = WEIR_UNIMPLEMENTED;
  return image.fail("this runtime was built without libjpeg: no JPEG");
}
bool decodeJpeg(const weir_string &, const DecodeOptions &, Image &image) { return refuse(image); }
bool readJpegShape(const weir_string &, Image &image) { return refuse(image); }
bool encodeJpeg(Image &image, const uint8_t *, const JpegOptions &, Growing &) {
  return refuse(image);
}
} // namespace weir::rt

#endif
