//===- kernel_support.cpp - what library kernels share --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/kernel_support.h"

namespace weir::rt {

bool shapeResult(weir_context *ctx, weir_tensor &result, int32_t rank, const int64_t *dims) {
  int64_t bytes = weir_dtype_size(result.dtype);
  bool isBeyond = false;
  result.rank = rank;
  for (int32_t i = 0; i < rank; ++i) {
    result.dims[i] = dims[i];
    isBeyond |= __builtin_mul_overflow(bytes, dims[i], &bytes);
  }
  if (isBeyond) {
    failMessage(ctx, WEIR_RESOURCE_EXHAUSTED, "the result has more bytes than 63 bits count");
    return false;
  }
  result.bytes = bytes;
  if (!result.data)
    result.data = weir_custom_alloc(ctx, result.bytes);
  return result.data != nullptr;
}

bool loadInteger(const weir_tensor &tensor, int64_t *value) {
  if (elementCountOf(tensor) != 1)
    return false;
  switch (tensor.dtype) {
  case WEIR_I8:
    *value = *static_cast<const int8_t *>(tensor.data);
    return true;
  case WEIR_U8:
    *value = *static_cast<const uint8_t *>(tensor.data);
    return true;
  case WEIR_I16:
    *value = *static_cast<const int16_t *>(tensor.data);
    return true;
  case WEIR_U16:
    *value = *static_cast<const uint16_t *>(tensor.data);
    return true;
  case WEIR_I32:
    *value = *static_cast<const int32_t *>(tensor.data);
    return true;
  case WEIR_U32:
    *value = *static_cast<const uint32_t *>(tensor.data);
    return true;
  case WEIR_I64:
  case WEIR_U64:
    *value = *static_cast<const int64_t *>(tensor.data);
    return true;
  default:
    return false;
  }
}

bool loadFloat(const weir_tensor &tensor, double *value) {
  if (elementCountOf(tensor) != 1)
    return false;
  switch (tensor.dtype) {
  case WEIR_F32:
    *value = *static_cast<const float *>(tensor.data);
    return true;
  case WEIR_F64:
    *value = *static_cast<const double *>(tensor.data);
    return true;
  case WEIR_F16:
    *value = double(floatOfHalf(*static_cast<const uint16_t *>(tensor.data)));
    return true;
  default:
    return false;
  }
}

int32_t shapeBy(weir_context *ctx, const weir_tensor &shape, weir_tensor &result) {
  auto *sizes = static_cast<const int64_t *>(shape.data);
  if (shape.dtype != WEIR_I64 || shape.rank != 1 || shape.dims[0] > WEIR_MAX_RANK)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "the shape is no list of sizes");
  int64_t count = 1;
  for (int64_t i = 0; i < shape.dims[0]; ++i) {
    if (sizes[i] < 0)
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, "a size is negative");
    if (__builtin_mul_overflow(count, sizes[i], &count))
      return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                         "the shape has more elements than 63 bits count");
  }
  return shapeResult(ctx, result, int32_t(shape.dims[0]), sizes) ? 0 : WEIR_RESOURCE_EXHAUSTED;
}

float floatOfHalf(uint16_t half) {
  uint32_t exponent = half >> 10 & 31, fraction = half & 1023;
  uint32_t sign = uint32_t(half >> 15) << 31;
  if (exponent == 0) {
    // Subnormals are fraction * 2^-24, exactly a float.
    float magnitude = float(fraction) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  uint32_t bits = sign | fraction << 13 | (exponent == 31 ? 255u << 23 : (exponent + 112) << 23);
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

uint16_t halfOfFloat(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  auto sign = uint16_t(bits >> 16 & 0x8000);
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return sign | 0x7e00; // NaN
  if (magnitude >= 0x477ff000)
    return sign | 0x7c00; // from 65520 on: infinity
  if (magnitude < 0x38800000) {
    // Below 2^-14: adding 0.5 leaves a float whose last bit is worth 2^-24.
    float shifted;
    memcpy(&shifted, &magnitude, sizeof(shifted));
    shifted += 0.5f;
    memcpy(&magnitude, &shifted, sizeof(magnitude));
    return uint16_t(sign | (magnitude - 0x3f000000));
  }
  uint32_t odd = magnitude >> 13 & 1;
  return uint16_t(sign | ((magnitude + 0xfff + odd - (112u << 23)) >> 13));
}

float floatOfBfloat(uint16_t value) {
  uint32_t bits = uint32_t(value) << 16;
  float wide;
  memcpy(&wide, &bits, sizeof(wide));
  return wide;
}

uint16_t bfloatOfFloat(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  if ((bits & 0x7fffffff) > 0x7f800000)
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

int32_t failMessage(weir_context *ctx, int32_t code, const char *message) {
  return weir_custom_error(ctx, code, message);
}

int32_t failDtype(weir_context *ctx, const char *what, int32_t dtype) {
  char text[160];
  Text(text, sizeof(text)) << what << " of type " << weir_dtype_name(dtype) << " is not supported";
  return weir_custom_error(ctx, WEIR_UNIMPLEMENTED, text);
}

bool viewAlong(const weir_tensor &tensor, int64_t axis, AxisView *view) {
  if (axis < 0)
    axis += tensor.rank;
  if (axis < 0 || axis >= tensor.rank)
    return false;
  *view = {};
  view->axis = int32_t(axis);
  view->size = tensor.dims[axis];
  for (int32_t i = 0; i < tensor.rank; ++i)
    (i < axis ? view->outer : view->inner) *= i == axis ? 1 : tensor.dims[i];
  return true;
}

} // namespace weir::rt
