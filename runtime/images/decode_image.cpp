//===- decode_image.cpp - images as tensors -------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "images/images.h"
#include "kernels/sequence_support.h"
#include "weir/input.h"

using namespace weir::rt;

namespace {

/// Which operation asks: each takes some formats.
enum class Operation : int64_t { Any, Jpeg, Png, Gif, Bmp, Webp, CropJpeg, Onnx };
/// How colours are given, beside a number of channels.
enum class Colours : int64_t { Plain, Reversed, Luma };

struct Request {
  Operation operation;
  DecodeOptions options;
  Colours colours;
  bool expandsAnimations;
  int64_t rank; ///< of the result; -1: a sequence of one tensor of any rank

  explicit Request(const int64_t *a)
      : operation(Operation(a[0])), colours(Colours(a[7])), expandsAnimations(a[8]), rank(a[9]) {
    options.channels = int32_t(a[1]);
    options.ratio = int32_t(a[2]);
    options.fancyUpscaling = a[3];
    options.fastDct = a[4];
    options.recovers = a[5];
    options.bits = int32_t(a[6]);
  }
};

const char *nameOf(ImageFormat format) {
  static const char *const names[] = {"unknown", "JPEG", "PNG",  "GIF",      "BMP",
                                      "WebP",    "PNM",  "TIFF", "JPEG 2000"};
  return names[int32_t(format)];
}

/// Whether an operation decodes files of a format; reports where it does not.
bool accepts(Operation operation, ImageFormat format, Image &image) {
  bool isKnown = format == ImageFormat::Jpeg || format == ImageFormat::Png ||
                 format == ImageFormat::Gif || format == ImageFormat::Bmp ||
                 format == ImageFormat::Webp;
  bool good = false;
  switch (operation) {
  case Operation::Any:
    good = isKnown;
    break;
  case Operation::Jpeg:
  case Operation::Png:
  case Operation::Gif:
    good = format == ImageFormat::Jpeg || format == ImageFormat::Png || format == ImageFormat::Gif;
    break;
  case Operation::Bmp:
    good = format == ImageFormat::Bmp;
    break;
  case Operation::Webp:
    good = format == ImageFormat::Webp;
    break;
  case Operation::CropJpeg:
    good = format == ImageFormat::Jpeg;
    break;
  case Operation::Onnx:
    if (format == ImageFormat::Jpeg2000) {
      image.code = WEIR_UNIMPLEMENTED;
      return image.fail("expected BMP, JPEG, PNG, PNM, TIFF or WebP, got JPEG 2000");
    }
    good = format != ImageFormat::Unknown && format != ImageFormat::Gif;
    break;
  }
  if (good)
    return true;
  if (format == ImageFormat::Unknown || (operation == Operation::Any && !isKnown))
    return image.fail("Unknown image file format. One of JPEG, PNG, GIF, BMP, WebP required.");
  return image.fail("this operation does not decode files of the format ", nameOf(format));
}

bool decode(const Request &request, ImageFormat format, const weir_string &contents, Image &image) {
  DecodeOptions options = request.options;
  // A frame of colours, whatever the file.
  if (request.operation == Operation::Gif)
    options.channels = 3;
  options.allFrames = request.operation != Operation::Any || request.expandsAnimations;
  // Only PNG has samples of 16 bits.
  if (format != ImageFormat::Png)
    options.bits = 8;
  switch (format) {
  case ImageFormat::Jpeg:
    if (options.channels == 2 || options.channels == 4)
      return image.fail("channels must be 0, 1, or 3 for JPEG");
    return decodeJpeg(contents, options, image);
  case ImageFormat::Png:
    if (options.channels == 2)
      return image.fail("channels must be 0, 1, 3, or 4 for PNG");
    return decodePng(contents, options, image);
  case ImageFormat::Gif:
    if (options.channels != 0 && options.channels != 3)
      return image.fail("channels must be 0 or 3 for GIF");
    if (!decodeGif(contents, options, image))
      return false;
    return image.frames == 1 || request.operation == Operation::Gif ||
           request.operation == Operation::Any ||
           image.fail("animated gifs can only be decoded by decode_gif or decode_image");
  case ImageFormat::Bmp:
    return decodeBmp(contents, options, image);
  case ImageFormat::Webp:
    return decodeWebp(contents, options, image);
  case ImageFormat::Pnm:
    return decodePnm(contents, options, image);
  case ImageFormat::Tiff:
    return decodeTiff(contents, options, image);
  default:
    return false;
  }
}

/// Pixels of an ONNX image: of three channels, which may be reversed, or one
/// that is the luma of ITU-R 601.
bool recolour(Image &image, Colours colours) {
  int64_t count = image.frames * image.height * image.width;
  int32_t own = image.channels, wanted = colours == Colours::Luma ? 1 : 3;
  Scratch<uint8_t> made(image.ctx, count * wanted);
  if (!made.data)
    return image.fail("no memory for an image");
  for (int64_t i = 0; i < count; ++i) {
    const uint8_t *from = image.data + i * own;
    uint8_t rgb[3];
    for (int32_t c = 0; c < 3; ++c)
      rgb[c] = from[own < 3 ? 0 : c];
    uint8_t *to = made.data + i * wanted;
    if (colours == Colours::Luma)
      to[0] = own < 3 ? rgb[0]
                      : uint8_t((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16);
    else
      for (int32_t c = 0; c < 3; ++c)
        to[c] = rgb[colours == Colours::Reversed ? 2 - c : c];
  }
  memcpy(image.data, made.data, size_t(count * (wanted < own ? wanted : own)));
  if (wanted > own) {
    int32_t channels = wanted;
    if (!image.make(image.frames, image.height, image.width, channels))
      return false;
    memcpy(image.data, made.data, size_t(count * wanted));
  }
  image.channels = wanted;
  return true;
}

/// Samples as elements of the result: integers of 8 or 16 bits, or floats from 0
/// to 1.
void store(const Image &image, int64_t first, int64_t count, int32_t dtype, void *to) {
  const auto *narrow = image.data + first;
  const auto *wide = reinterpret_cast<const uint16_t *>(image.data) + first;
  bool isWide = image.bits == 16;
  for (int64_t i = 0; i < count; ++i)
    if (dtype == WEIR_F32)
      static_cast<float *>(to)[i] =
          isWide ? float(wide[i]) * (1.0f / 65535.0f) : float(narrow[i]) * (1.0f / 255.0f);
    else if (dtype == WEIR_U16)
      static_cast<uint16_t *>(to)[i] = isWide ? wide[i] : uint16_t(narrow[i] * 256);
    else
      static_cast<uint8_t *>(to)[i] = narrow[i];
}

int32_t give(weir_context *ctx, const Image &image, const Request &request, bool isGif,
             int32_t dtype, weir_tensor &result) {
  bool isAnimation = request.operation == Operation::Gif ||
                     (request.operation == Operation::Any && request.expandsAnimations && isGif);
  int64_t dims[4] = {image.frames, image.height, image.width, image.channels};
  int32_t rank = isAnimation ? 4 : 3;
  if (request.rank > 0 && rank != request.rank)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "the image has another rank than was expected");
  int64_t count = image.height * image.width * image.channels * (isAnimation ? image.frames : 1);
  if (request.rank > 0) {
    if (!shapeResult(ctx, result, rank, dims + 4 - rank))
      return WEIR_RESOURCE_EXHAUSTED;
    store(image, 0, count, dtype, result.data);
    return WEIR_OK;
  }
  weir_tensor made = {};
  made.dtype = dtype;
  made.rank = rank;
  memcpy(made.dims, dims + 4 - rank, size_t(rank) * sizeof(int64_t));
  int64_t one = 1;
  weir_tensor *boxed = newElement(ctx, made, count * weir_dtype_size(dtype));
  if (!boxed || !shapeResult(ctx, result, 1, &one))
    return WEIR_RESOURCE_EXHAUSTED;
  store(image, 0, count, dtype, boxed->data);
  *static_cast<weir_tensor_ref *>(result.data) = boxed;
  return WEIR_OK;
}

} // namespace

int32_t weir_kernel_decode_image(weir_context *ctx, const weir_tensor *operands,
                                 int32_t operand_count, weir_tensor *results, int32_t,
                                 const int64_t *attributes) {
  Request request(attributes);
  weir_string contents;
  // ONNX has files as bytes.
  if (operands[0].dtype == WEIR_U8)
    contents = {static_cast<const char *>(operands[0].data), elementCountOf(operands[0])};
  else if (!loadString(operands[0], &contents))
    return failOperands(ctx, operands, operand_count);
  Image image(ctx);
  ImageFormat format = formatOf(contents);
  int64_t window[4];
  if (operand_count == 2) {
    if (elementCountOf(operands[1]) != 4)
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, "the crop window must be four numbers");
    for (int32_t i = 0; i < 4; ++i)
      window[i] = integerAt(operands[1], i);
    request.options.crop = window;
  }
  bool good = accepts(request.operation, format, image) && decode(request, format, contents, image);
  if (good && request.operation == Operation::Onnx)
    good = recolour(image, request.colours);
  if (!good)
    return failMessage(ctx, image.code, image.problem);
  return give(ctx, image, request, format == ImageFormat::Gif, int32_t(attributes[10]), results[0]);
}

int32_t weir_kernel_jpeg_shape(weir_context *ctx, const weir_tensor *operands,
                               int32_t operand_count, weir_tensor *results, int32_t,
                               const int64_t *) {
  weir_string contents;
  if (!loadString(operands[0], &contents))
    return failOperands(ctx, operands, operand_count);
  Image image(ctx);
  if (!readJpegShape(contents, image))
    return failMessage(ctx, image.code, image.problem);
  int64_t size = 3;
  if (!shapeResult(ctx, results[0], 1, &size))
    return WEIR_RESOURCE_EXHAUSTED;
  storeIndex(results[0], 0, image.height);
  storeIndex(results[0], 1, image.width);
  storeIndex(results[0], 2, image.channels);
  return WEIR_OK;
}
