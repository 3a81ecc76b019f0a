//===- fractional_pool.cpp - pooling over windows of different sizes ------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Graham, "Fractional max-pooling", 2014. Where windows begin is drawn as TensorFlow
// draws it: rows first, then columns.
//
//===----------------------------------------------------------------------===//

#include "kernels/philox.h"
#include "weir/numerics.h"

using namespace weir::rt;

namespace {

/// Where windows begin, and the end: `outputs` + 1 places of `inputs`. Takes words of
/// `generator` as TensorFlow does, a block of four at a time.
void drawPlaces(Philox &generator, int64_t inputs, int64_t outputs, bool isPseudo,
                int64_t *places) {
  int64_t size = inputs / outputs;
  places[0] = 0;
  if (inputs % outputs == 0) {
    for (int64_t i = 1; i <= outputs; ++i)
      places[i] = size * i;
    return;
  }
  PhiloxNumbers numbers(generator);
  if (isPseudo) {
    generator.skip(1);
    double alpha = double(inputs) / double(outputs);
    double first = double(size + 2) / alpha - 1;
    double second = double(inputs + 1 - size) / alpha - double(outputs - 1);
    double u = numbers.wideUnit() * (first < second ? first : second);
    for (int64_t i = 1; i < outputs; ++i)
      places[i] = int64_t(ceil(alpha * (double(i) + u))) - 1;
    places[outputs] = inputs;
    return;
  }
  generator.skip(uint64_t(outputs + 3) / 4);
  // Sizes, the larger ones first, then shuffled.
  for (int64_t i = 0; i < outputs; ++i)
    places[1 + i] = size + (i < inputs % outputs);
  for (int64_t i = 0; i + 1 < outputs; ++i) {
    int64_t from = i + int64_t(numbers.word() % uint32_t(outputs - i));
    int64_t held = places[1 + i];
    places[1 + i] = places[1 + from];
    places[1 + from] = held;
  }
  for (int64_t i = 1; i <= outputs; ++i)
    places[i] += places[i - 1];
}

struct Window {
  int64_t begin, end;
};

Window windowAt(const int64_t *places, int64_t i, int64_t size, bool overlaps) {
  int64_t end = places[i + 1] + overlaps;
  return {places[i], end < size ? end : size};
}

template <typename T>
void pool(const weir_tensor &x, weir_tensor &y, const int64_t *rows, const int64_t *columns,
          bool isMax, bool overlaps) {
  int64_t height = x.dims[1], width = x.dims[2], channels = x.dims[3];
  auto *from = static_cast<const T *>(x.data);
  auto *to = static_cast<T *>(y.data);
  for (int64_t b = 0; b < y.dims[0]; ++b, from += height * width * channels)
    for (int64_t i = 0; i < y.dims[1]; ++i)
      for (int64_t j = 0; j < y.dims[2]; ++j, to += channels) {
        Window down = windowAt(rows, i, height, overlaps),
               along = windowAt(columns, j, width, overlaps);
        int64_t count = 0;
        for (int64_t r = down.begin; r < down.end; ++r)
          for (int64_t c = along.begin; c < along.end; ++c, ++count)
            for (int64_t k = 0; k < channels; ++k) {
              T value = from[(r * width + c) * channels + k];
              if (count == 0)
                to[k] = value;
              else if (isMax)
                to[k] = to[k] < value ? value : to[k];
              else
                to[k] += value;
            }
        for (int64_t k = 0; !isMax && count > 0 && k < channels; ++k)
          to[k] /= T(count);
      }
}

} // namespace

int32_t weir_kernel_fractional_pool(weir_context *ctx, const weir_tensor *operands,
                                    int32_t operand_count, weir_tensor *results,
                                    int32_t result_count, const int64_t *attributes) {
  Philox generator(0, 0, 0);
  if (operand_count != 3 || result_count != 3 || !readState(operands[1], &generator))
    return failState(ctx);
  const weir_tensor &x = operands[0], &ratios = operands[2];
  if (x.rank != 4 || ratios.dtype != WEIR_F32 || elementCountOf(ratios) != 2)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "value must be 4-dimensional");
  bool isMax = attributes[0] != 0, overlaps = attributes[1] != 0, isPseudo = attributes[2] != 0;
  int64_t dims[4] = {x.dims[0], 0, 0, x.dims[3]};
  for (int i = 0; i < 2; ++i) {
    dims[1 + i] =
        int64_t(floorf(float(x.dims[1 + i]) / static_cast<const float *>(ratios.data)[i]));
    if (dims[1 + i] < 1 || dims[1 + i] > x.dims[1 + i])
      return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                         "an image's side is smaller than its pooling ratio");
    int64_t places = dims[1 + i] + 1;
    if (!shapeResult(ctx, results[1 + i], 1, &places))
      return WEIR_RESOURCE_EXHAUSTED;
  }
  if (!shapeResult(ctx, results[0], 4, dims))
    return WEIR_RESOURCE_EXHAUSTED;
  auto *rows = static_cast<int64_t *>(results[1].data);
  auto *columns = static_cast<int64_t *>(results[2].data);
  drawPlaces(generator, x.dims[1], dims[1], isPseudo, rows);
  drawPlaces(generator, x.dims[2], dims[2], isPseudo, columns);
  switch (x.dtype) {
  case WEIR_F32:
    pool<float>(x, results[0], rows, columns, isMax, overlaps);
    break;
  case WEIR_F64:
    pool<double>(x, results[0], rows, columns, isMax, overlaps);
    break;
  case WEIR_I32:
    pool<int32_t>(x, results[0], rows, columns, isMax, overlaps);
    break;
  case WEIR_I64:
    pool<int64_t>(x, results[0], rows, columns, isMax, overlaps);
    break;
  default:
    return failDtype(ctx, "an image", x.dtype);
  }
  return WEIR_OK;
}
