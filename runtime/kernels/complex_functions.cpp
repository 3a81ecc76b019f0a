//===- complex_functions.cpp - functions of complex numbers ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// C's functions, whose branch cuts, infinities and signs of zeros the standard
// says (ISO C, annex G), and what it has none for: log(1 + z) (Goldberg, "What
// every computer scientist should know about floating-point arithmetic",
// theorem 4), e^z - 1 from its real parts, 1 / sqrt(z), and the logistic function.
//
//===----------------------------------------------------------------------===//

#include "kernels/kernel_support.h"

#include <math.h>

using namespace weir::rt;

namespace {

// _Complex, not std::complex: no C++ library is needed.
using C64 = float _Complex;
using C128 = double _Complex;

float real(C64 z) { return __real__ z; }
float imag(C64 z) { return __imag__ z; }
double real(C128 z) { return __real__ z; }
double imag(C128 z) { return __imag__ z; }

template <typename T> struct PairOf {
  using Type = C64;
};
template <> struct PairOf<double> {
  using Type = C128;
};
/// The complex number of two T.
template <typename T> using Pair = typename PairOf<T>::Type;

template <typename T> Pair<T> make(T re, T im) {
  Pair<T> z;
  __real__ z = re;
  __imag__ z = im;
  return z;
}

#define WEIR_COMPLEX_FUNCTION(name)                                                                \
  C64 name##Of(C64 z) { return __builtin_c##name##f(z); }                                          \
  C128 name##Of(C128 z) { return __builtin_c##name(z); }
WEIR_COMPLEX_FUNCTION(acos)
WEIR_COMPLEX_FUNCTION(acosh)
WEIR_COMPLEX_FUNCTION(asin)
WEIR_COMPLEX_FUNCTION(asinh)
WEIR_COMPLEX_FUNCTION(atan)
WEIR_COMPLEX_FUNCTION(atanh)
WEIR_COMPLEX_FUNCTION(cos)
WEIR_COMPLEX_FUNCTION(cosh)
WEIR_COMPLEX_FUNCTION(exp)
WEIR_COMPLEX_FUNCTION(log)
WEIR_COMPLEX_FUNCTION(sin)
WEIR_COMPLEX_FUNCTION(sinh)
WEIR_COMPLEX_FUNCTION(tan)
WEIR_COMPLEX_FUNCTION(tanh)
#undef WEIR_COMPLEX_FUNCTION

// Of an infinite real part, TensorFlow's root has a positive imaginary one.
template <typename C, typename T> bool isInfiniteRoot(C z, T &re, T &im) {
  if (!__builtin_isinf(real(z)) || !__builtin_isfinite(imag(z)))
    return false;
  re = real(z) > 0 ? real(z) : 0;
  im = real(z) > 0 ? 0 : -real(z);
  return true;
}

C64 powOf(C64 x, C64 y) { return __builtin_cpowf(x, y); }
C128 powOf(C128 x, C128 y) { return __builtin_cpow(x, y); }
float magnitude(C64 z) { return __builtin_cabsf(z); }
double magnitude(C128 z) { return __builtin_cabs(z); }

C64 sqrtOf(C64 z) {
  float re, im;
  return isInfiniteRoot(z, re, im) ? make<float>(re, im) : __builtin_csqrtf(z);
}
C128 sqrtOf(C128 z) {
  double re, im;
  return isInfiniteRoot(z, re, im) ? make<double>(re, im) : __builtin_csqrt(z);
}

template <typename T> bool isEqual(Pair<T> x, T re, T im) { return real(x) == re && imag(x) == im; }

template <typename T> Pair<T> log1pOf(Pair<T> z) {
  Pair<T> sum = make<T>(real(z) + 1, imag(z)), log = logOf(sum);
  if (isEqual<T>(sum, 1, 0) || isEqual<T>(sum, real(log), imag(log)))
    return z;
  return z * (log / make<T>(real(sum) - 1, imag(sum)));
}

template <typename T> Pair<T> expm1Of(Pair<T> z) {
  T small, half, sine;
  if constexpr (sizeof(T) == sizeof(float)) {
    small = expm1f(real(z));
    half = sinf(imag(z) / 2);
    sine = sinf(imag(z));
  } else {
    small = expm1(real(z));
    half = sin(imag(z) / 2);
    sine = sin(imag(z));
  }
  // cos y = 1 - 2 sin^2(y / 2)
  T whole = small + 1;
  return make<T>(small - 2 * whole * (half * half), whole * sine);
}

template <typename T> Pair<T> rsqrtOf(Pair<T> z) {
  T x = real(z), y = imag(z), length = magnitude(z), zero = 0;
  if (length == 0)
    return make<T>(T(INFINITY), T(NAN));
  if (__builtin_isinf(x) || __builtin_isinf(y))
    return make<T>(zero, zero);
  T w = T(sqrt(((x < 0 ? -x : x) + length) / 2)), part = w / length;
  T other = y < 0 ? part : -part;
  if (x == 0)
    return make<T>(part, other);
  if (x > 0)
    return make<T>(part, -y / (2 * w * length));
  return make<T>((y < 0 ? -y : y) / (2 * w * length), other);
}

/// e^z / (1 + e^z), and 1 where that is infinite.
template <typename T> Pair<T> logisticOf(Pair<T> z) {
  Pair<T> e = expOf(z);
  if (__builtin_isinf(real(e)) || __builtin_isinf(imag(e)))
    return make<T>(1, 0);
  return e / make<T>(real(e) + 1, imag(e));
}

template <typename T> Pair<T> xlog1pyOf(Pair<T> x, Pair<T> y) {
  return isEqual<T>(x, 0, 0) ? make<T>(0, 0) : x * log1pOf<T>(y);
}

template <typename T> Pair<T> apply(int64_t function, Pair<T> x) {
  switch (function) {
  case 0:
    return acosOf(x);
  case 1:
    return acoshOf(x);
  case 2:
    return asinOf(x);
  case 3:
    return asinhOf(x);
  case 4:
    return atanOf(x);
  case 5:
    return atanhOf(x);
  case 6:
    return cosOf(x);
  case 7:
    return coshOf(x);
  case 8:
    return expOf(x);
  case 9:
    return expm1Of<T>(x);
  case 10:
    return logOf(x);
  case 11:
    return log1pOf<T>(x);
  case 12:
    return logisticOf<T>(x);
  case 13:
    return rsqrtOf<T>(x);
  case 14:
    return sinOf(x);
  case 15:
    return sinhOf(x);
  case 16:
    return sqrtOf(x);
  case 17:
    return tanOf(x);
  default:
    return tanhOf(x);
  }
}

template <typename T>
void applyAll(int64_t function, const weir_tensor *operands, int64_t count, weir_tensor &result) {
  auto *x = static_cast<const Pair<T> *>(operands[0].data);
  auto *to = static_cast<Pair<T> *>(result.data);
  if (function < 19) {
    for (int64_t i = 0; i < count; ++i)
      to[i] = apply<T>(function, x[i]);
    return;
  }
  auto *y = static_cast<const Pair<T> *>(operands[1].data);
  for (int64_t i = 0; i < count; ++i)
    to[i] = function == 19 ? powOf(x[i], y[i]) : xlog1pyOf<T>(x[i], y[i]);
}

} // namespace

int32_t weir_kernel_complex_function(weir_context *ctx, const weir_tensor *operands,
                                     int32_t operand_count, weir_tensor *results,
                                     int32_t result_count, const int64_t *attributes) {
  int64_t function = attributes[0];
  bool isBinary = function >= 19;
  if (operand_count < (isBinary ? 2 : 1) || result_count < 1 || function < 0 || function > 20)
    return failMessage(ctx, WEIR_INTERNAL, "operands or results are missing");
  int32_t dtype = operands[0].dtype;
  if ((dtype != WEIR_C64 && dtype != WEIR_C128) || results[0].dtype != dtype ||
      (isBinary && operands[1].dtype != dtype))
    return failDtype(ctx, "complex numbers", dtype);
  int64_t count = elementCountOf(operands[0]);
  if (isBinary && elementCountOf(operands[1]) != count)
    return failMessage(ctx, WEIR_INTERNAL, "operands differ in size");
  if (!shapeResult(ctx, results[0], operands[0].rank, operands[0].dims))
    return WEIR_RESOURCE_EXHAUSTED;
  if (dtype == WEIR_C64)
    applyAll<float>(function, operands, count, results[0]);
  else
    applyAll<double>(function, operands, count, results[0]);
  return WEIR_OK;
}
