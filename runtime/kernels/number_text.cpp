//===- number_text.cpp - numbers as text, and text as numbers --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/number_text.h"

#include <stdio.h>
#include <stdlib.h>

namespace weir::rt {

template <typename T> static T elementOf(const weir_tensor &tensor, int64_t i) {
  return static_cast<const T *>(tensor.data)[i];
}

Number numberAt(const weir_tensor &tensor, int64_t i) {
  Number number;
  auto real = [&](double value) {
    number.kind = Number::Kind::Float;
    number.real = value;
  };
  auto complex = [&](double re, double im) {
    number.kind = Number::Kind::Complex;
    number.real = re;
    number.imaginary = im;
  };
  auto integer = [&](Number::Kind kind, int64_t value) {
    number.kind = kind;
    number.integer = value;
  };
  using enum Number::Kind;
  switch (tensor.dtype) {
  case WEIR_I8:
    integer(Signed, elementOf<int8_t>(tensor, i));
    break;
  case WEIR_I16:
    integer(Signed, elementOf<int16_t>(tensor, i));
    break;
  case WEIR_I32:
    integer(Signed, elementOf<int32_t>(tensor, i));
    break;
  case WEIR_I64:
    integer(Signed, elementOf<int64_t>(tensor, i));
    break;
  case WEIR_U8:
    integer(Unsigned, elementOf<uint8_t>(tensor, i));
    break;
  case WEIR_U16:
    integer(Unsigned, elementOf<uint16_t>(tensor, i));
    break;
  case WEIR_U32:
    integer(Unsigned, elementOf<uint32_t>(tensor, i));
    break;
  case WEIR_U64:
    integer(Unsigned, elementOf<int64_t>(tensor, i));
    break;
  case WEIR_BOOL:
    integer(Bool, elementOf<uint8_t>(tensor, i));
    break;
  case WEIR_F16:
    real(double(floatOfHalf(elementOf<uint16_t>(tensor, i))));
    break;
  case WEIR_BF16:
    real(double(floatOfBfloat(elementOf<uint16_t>(tensor, i))));
    break;
  case WEIR_F32:
    real(double(elementOf<float>(tensor, i)));
    break;
  case WEIR_F64:
    real(elementOf<double>(tensor, i));
    break;
  case WEIR_C64:
    complex(double(elementOf<float>(tensor, 2 * i)), double(elementOf<float>(tensor, 2 * i + 1)));
    break;
  case WEIR_C128:
    complex(elementOf<double>(tensor, 2 * i), elementOf<double>(tensor, 2 * i + 1));
    break;
  default:
    break;
  }
  return number;
}

int32_t printShortest(double value, bool narrow, int32_t digits, bool likeNumPy, char *to,
                      int32_t capacity) {
  if (value != value)
    return snprintf(to, size_t(capacity), "nan");
  double magnitude = value < 0 ? -value : value;
  if (magnitude > 1.7976931348623157e308)
    return snprintf(to, size_t(capacity), value < 0 ? "-inf" : "inf");
  int32_t most = narrow ? 9 : 17;
  char text[40];
  for (;; digits = likeNumPy ? digits + 1 : most) {
    snprintf(text, sizeof(text), "%.*g", int(digits), value);
    if (digits >= most ||
        (narrow ? strtof(text, nullptr) == float(value) : strtod(text, nullptr) == value))
      break;
  }
  if (!likeNumPy)
    return snprintf(to, size_t(capacity), "%s", text);
  if (magnitude != 0 && (magnitude < 1e-4 || magnitude >= 1e16))
    return snprintf(to, size_t(capacity), "%.*e", int(digits) - 1, value);
  // Places behind the point: what the digits leave, at least one.
  int32_t before = 1;
  for (double power = 10; magnitude >= power; power *= 10)
    ++before;
  for (double power = 1; magnitude != 0 && magnitude < power; power /= 10)
    --before;
  int32_t places = digits - before;
  return snprintf(to, size_t(capacity), "%.*f", places > 1 ? int(places) : 1, value);
}

/// Without blanks at both ends, and zero-terminated in `to`. False: too long.
static bool trim(const weir_string &text, char *to, int64_t capacity) {
  int64_t begin = 0, end = text.size;
  while (begin < end && isSpace(text.data[begin]))
    ++begin;
  while (end > begin && isSpace(text.data[end - 1]))
    --end;
  if (end == begin || end - begin >= capacity)
    return false;
  memcpy(to, text.data + begin, size_t(end - begin));
  to[end - begin] = 0;
  return memchr(to, 0, size_t(end - begin)) == nullptr;
}

bool parseFloat(const weir_string &text, bool narrow, double *value) {
  char copy[512];
  if (!trim(text, copy, sizeof(copy)))
    return false;
  // strtod takes more than a number's own grammar ("nan(1)").
  if (strchr(copy, '('))
    return false;
  char *end;
  *value = narrow ? double(strtof(copy, &end)) : strtod(copy, &end);
  return end != copy && *end == 0;
}

bool parseInteger(const weir_string &text, int64_t low, uint64_t high, int64_t *value) {
  char copy[64];
  if (!trim(text, copy, sizeof(copy)))
    return false;
  const char *at = copy;
  bool negative = *at == '-';
  at += *at == '-' || *at == '+';
  if (!*at)
    return false;
  uint64_t magnitude = 0;
  for (; *at; ++at)
    if (*at < '0' || *at > '9' || __builtin_mul_overflow(magnitude, uint64_t(10), &magnitude) ||
        __builtin_add_overflow(magnitude, uint64_t(*at - '0'), &magnitude))
      return false;
  if (negative ? magnitude > uint64_t(-(low + 1)) + 1 || (low == 0 && magnitude) : magnitude > high)
    return false;
  *value = int64_t(negative ? -magnitude : magnitude);
  return true;
}

} // namespace weir::rt
