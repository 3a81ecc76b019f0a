//===- number_text.h - numbers as text, and text as numbers -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_KERNELS_NUMBER_TEXT_H
#define WEIR_RUNTIME_KERNELS_NUMBER_TEXT_H

#include "kernels/string_support.h"

// All of this wants a PlainLocale around it.

namespace weir::rt {

/// One element of a tensor as what prints it.
struct Number {
  enum class Kind : uint8_t { Signed, Unsigned, Float, Complex, Bool, None };
  Kind kind = Kind::None;
  union {
    int64_t integer;
    double real;
  };
  double imaginary = 0;
};

Number numberAt(const weir_tensor &tensor, int64_t i);
inline bool isNarrow(int32_t dtype) {
  return dtype == WEIR_F32 || dtype == WEIR_F16 || dtype == WEIR_BF16 || dtype == WEIR_C64;
}

/// Writes at most `capacity` bytes of a number with the fewest digits, from
/// `digits` on, that read back as the same double (or, `narrow`, float); as C's
/// %g does, or (`like NumPy`) with a point and up to 16 places before it.
int32_t printShortest(double value, bool narrow, int32_t digits, bool likeNumPy, char *to,
                      int32_t capacity);

/// Text as a number, blanks at both ends left out: decimal or hexadecimal,
/// infinity and nan in any case. False: it is none. Beyond the range is infinity.
bool parseFloat(const weir_string &text, bool narrow, double *value);
/// Decimal, with a sign. False: none, or outside of [low, high].
bool parseInteger(const weir_string &text, int64_t low, uint64_t high, int64_t *value);

} // namespace weir::rt

#endif // WEIR_RUNTIME_KERNELS_NUMBER_TEXT_H
