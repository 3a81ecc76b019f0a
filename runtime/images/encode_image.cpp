//===- encode_image.cpp - tensors as files of images ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "images/images.h"
#include "kernels/give_string.h"
#include "weir/input.h"

using namespace weir::rt;

/// Sizes of one image as `image` has them. False: it cannot be encoded.
static bool describe(const int64_t *dims, int32_t bits, Image &image) {
  image.height = dims[0];
  image.width = dims[1];
  image.channels = int32_t(dims[2]);
  image.bits = bits;
  constexpr int64_t most = int64_t(1) << 29;
  if (dims[0] > 0 && dims[1] > 0 && dims[0] < most && dims[1] < most / dims[0] / 4)
    return true;
  image.code = WEIR_INTERNAL; // as TensorFlow's encoders end
  return image.fail("image is empty, or too large to encode");
}

int32_t weir_kernel_encode_jpeg(weir_context *ctx, const weir_tensor *operands,
                                int32_t operand_count, weir_tensor *results, int32_t,
                                const int64_t *attributes) {
  const weir_tensor &pixels = operands[0];
  // Behind the pixels: the XMP packet, or the quality, which then is the only
  // thing asked for.
  weir_string xmp = {};
  int64_t quality = attributes[1];
  if (operand_count != 2 || pixels.dtype != WEIR_U8 || pixels.rank != 3 ||
      (operands[1].dtype == WEIR_STRING ? !loadString(operands[1], &xmp)
                                        : !loadInteger(operands[1], &quality)))
    return failOperands(ctx, operands, operand_count);
  if (quality < 0 || quality > 100)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "quality must be in [0,100]");
  Image image(ctx);
  int64_t channels = pixels.dims[2];
  if (attributes[0] != 0 && attributes[0] != channels)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       "format expects another number of channels than the image has");
  if (channels != 1 && channels != 3)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "image must have 1 or 3 channels");
  JpegOptions options{int32_t(attributes[0]), int32_t(quality),       bool(attributes[2]),
                      bool(attributes[3]),    bool(attributes[4]),    bool(attributes[5]),
                      int32_t(attributes[6]), int32_t(attributes[7]), xmp};
  Growing file(ctx);
  if (!describe(pixels.dims, 8, image) ||
      !encodeJpeg(image, static_cast<const uint8_t *>(pixels.data), options, file))
    return file.failed() ? int32_t(WEIR_RESOURCE_EXHAUSTED)
                         : failMessage(ctx, image.code, image.problem);
  return giveString(ctx, file, results[0]);
}

int32_t weir_kernel_encode_png(weir_context *ctx, const weir_tensor *operands,
                               int32_t operand_count, weir_tensor *results, int32_t,
                               const int64_t *attributes) {
  const weir_tensor &pixels = operands[0];
  bool isWide = pixels.dtype == WEIR_U16;
  if (operand_count != 1 || pixels.rank < 3 || (pixels.dtype != WEIR_U8 && !isWide))
    return failOperands(ctx, operands, operand_count);
  int32_t outer = pixels.rank - 3;
  const int64_t *dims = pixels.dims + outer;
  if (dims[2] < 1 || dims[2] > 4)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "image must have 1, 2, 3, or 4 channels");
  Image image(ctx);
  if (!shapeResult(ctx, results[0], outer, pixels.dims))
    return WEIR_RESOURCE_EXHAUSTED;
  int64_t count = elementCountOf(results[0]), bytes = dims[0] * dims[1] * dims[2] * (isWide + 1);
  Contents contents(ctx);
  for (int64_t i = 0; i < count; ++i) {
    Growing file(ctx);
    if (!describe(dims, isWide ? 16 : 8, image) ||
        !encodePng(image, static_cast<const uint8_t *>(pixels.data) + i * bytes,
                   int32_t(attributes[0]), file))
      return file.failed() ? int32_t(WEIR_RESOURCE_EXHAUSTED)
                           : failMessage(ctx, image.code, image.problem);
    if (!contents.copy(file.data(), file.size(), &stringResult(results[0])[i]))
      return WEIR_RESOURCE_EXHAUSTED;
  }
  return WEIR_OK;
}
