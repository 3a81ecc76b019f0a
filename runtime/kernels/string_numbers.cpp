//===- string_numbers.cpp - conversions between numbers and strings ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/number_text.h"

#include <stdio.h>

using namespace weir::rt;

namespace {

/// Prints one element. `bound` is room enough for what the formats can give.
constexpr int32_t bound = 512;

struct Format {
  char flag;         ///< 0, '0', '-', '+', ' ', '#'
  int32_t width;     ///< -1: none
  int32_t precision; ///< -1: none
  char conversion;   ///< of floats: f, e, g

  int32_t print(const Number &number, char *to) const {
    char spec[48];
    Text text(spec, sizeof(spec));
    text << '%';
    if (flag && width >= 0)
      text << flag;
    if (width >= 0)
      text << width;
    if (precision >= 0)
      text << '.' << precision;
    switch (number.kind) {
    case Number::Kind::Signed:
      text << "lld";
      return snprintf(to, bound, spec, (long long)number.integer);
    case Number::Kind::Unsigned:
      text << "llu";
      return snprintf(to, bound, spec, (unsigned long long)number.integer);
    case Number::Kind::Bool:
      return snprintf(to, bound, "%s", number.integer ? "true" : "false");
    default:
      text << conversion;
      return snprintf(to, bound, spec, number.real);
    }
  }
};

int32_t printComplex(const Format &format, const Number &number, char *to) {
  Number part = number;
  part.kind = Number::Kind::Float;
  char real[bound], imaginary[bound];
  format.print(part, real);
  part.real = number.imaginary;
  format.print(part, imaginary);
  return snprintf(to, 2 * bound + 8, "(%s,%s)", real, imaginary);
}

} // namespace

int32_t weir_kernel_as_string(weir_context *ctx, const weir_tensor *operands, int32_t operand_count,
                              weir_tensor *results, int32_t result_count,
                              const int64_t *attributes) {
  if (operand_count != 1 || result_count != 1 || results[0].dtype != WEIR_STRING)
    return failOperands(ctx, operands, operand_count);
  Format format{char(attributes[0]), int32_t(attributes[1]), int32_t(attributes[2]),
                char(attributes[3])};
  // More could not be printed in the space there is (a float has up to 309
  // places before the point).
  if (format.width > 180 || format.precision > 180)
    return failMessage(ctx, WEIR_UNIMPLEMENTED,
                       "a width or precision of more than 180 is not supported");
  const weir_tensor &data = operands[0];
  if (!shapeResult(ctx, results[0], data.rank, data.dims))
    return WEIR_RESOURCE_EXHAUSTED;
  PlainLocale locale;
  Contents contents(ctx);
  int64_t count = elementCountOf(data);
  for (int64_t i = 0; i < count; ++i) {
    weir_string *out = &stringResult(results[0])[i];
    char text[2 * bound + 8];
    if (data.dtype == WEIR_STRING) {
      const weir_string &in = stringsOf(data)[i];
      // A precision cuts, but only beside a width.
      int64_t kept = in.size;
      if (format.width > 0 && format.precision >= 0 && format.precision < kept)
        kept = format.precision;
      int64_t pad = format.width > kept ? format.width - kept : 0;
      char *to = contents.make(kept + pad);
      if (!to)
        return WEIR_RESOURCE_EXHAUSTED;
      bool isLeft = format.flag == '-';
      memset(isLeft ? to + kept : to, ' ', size_t(pad));
      if (kept > 0)
        memcpy(isLeft ? to : to + pad, in.data, size_t(kept));
      *out = {to, kept + pad};
      continue;
    }
    Number number = numberAt(data, i);
    if (number.kind == Number::Kind::None)
      return failDtype(ctx, "an operand", data.dtype);
    int32_t size = number.kind == Number::Kind::Complex ? printComplex(format, number, text)
                                                        : format.print(number, text);
    if (!contents.copy(text, size, out))
      return WEIR_RESOURCE_EXHAUSTED;
  }
  return WEIR_OK;
}

int32_t weir_kernel_number_to_string(weir_context *ctx, const weir_tensor *operands,
                                     int32_t operand_count, weir_tensor *results,
                                     int32_t result_count, const int64_t *) {
  if (operand_count != 1 || result_count != 1 || results[0].dtype != WEIR_STRING)
    return failOperands(ctx, operands, operand_count);
  const weir_tensor &data = operands[0];
  if (!shapeResult(ctx, results[0], data.rank, data.dims))
    return WEIR_RESOURCE_EXHAUSTED;
  PlainLocale locale;
  Contents contents(ctx);
  int64_t count = elementCountOf(data);
  for (int64_t i = 0; i < count; ++i) {
    Number number = numberAt(data, i);
    char text[bound];
    int32_t size;
    if (number.kind == Number::Kind::Float)
      size = printShortest(number.real, isNarrow(data.dtype), 1, true, text, bound);
    else if (number.kind == Number::Kind::Bool)
      size = snprintf(text, bound, number.integer ? "True" : "False");
    else if (number.kind == Number::Kind::Signed || number.kind == Number::Kind::Unsigned)
      size = Format{0, -1, -1, 'f'}.print(number, text);
    else
      return failDtype(ctx, "an operand", data.dtype);
    if (!contents.copy(text, size, &stringResult(results[0])[i]))
      return WEIR_RESOURCE_EXHAUSTED;
  }
  return WEIR_OK;
}

int32_t weir_kernel_string_to_number(weir_context *ctx, const weir_tensor *operands,
                                     int32_t operand_count, weir_tensor *results,
                                     int32_t result_count, const int64_t *) {
  if (operand_count != 1 || result_count != 1 || !allStrings(operands, 1))
    return failOperands(ctx, operands, operand_count);
  const weir_tensor &data = operands[0];
  if (!shapeResult(ctx, results[0], data.rank, data.dims))
    return WEIR_RESOURCE_EXHAUSTED;
  PlainLocale locale;
  int64_t count = elementCountOf(data);
  int32_t dtype = results[0].dtype;
  for (int64_t i = 0; i < count; ++i) {
    const weir_string &text = stringsOf(data)[i];
    double real = 0;
    int64_t integer = 0;
    bool isNumber = true;
    switch (dtype) {
    case WEIR_F32:
      isNumber = parseFloat(text, true, &real);
      static_cast<float *>(results[0].data)[i] = float(real);
      break;
    case WEIR_F64:
      isNumber = parseFloat(text, false, &real);
      static_cast<double *>(results[0].data)[i] = real;
      break;
    case WEIR_F16:
      isNumber = parseFloat(text, true, &real);
      static_cast<uint16_t *>(results[0].data)[i] = halfOfFloat(float(real));
      break;
    case WEIR_I32:
      isNumber = parseInteger(text, INT32_MIN, INT32_MAX, &integer);
      static_cast<int32_t *>(results[0].data)[i] = int32_t(integer);
      break;
    case WEIR_I64:
      isNumber = parseInteger(text, INT64_MIN, INT64_MAX, &integer);
      static_cast<int64_t *>(results[0].data)[i] = integer;
      break;
    case WEIR_U32:
      isNumber = parseInteger(text, 0, UINT32_MAX, &integer);
      static_cast<uint32_t *>(results[0].data)[i] = uint32_t(integer);
      break;
    case WEIR_U64:
      isNumber = parseInteger(text, 0, UINT64_MAX, &integer);
      static_cast<int64_t *>(results[0].data)[i] = integer;
      break;
    default:
      return failDtype(ctx, "a number", dtype);
    }
    if (!isNumber)
      return failString(ctx, "", text, " is no number of the result's type");
  }
  return WEIR_OK;
}
