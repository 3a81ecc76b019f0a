//===- zeta.cpp - Hurwitz' zeta function ----------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Terms one after the other until they no longer count, then Euler and Maclaurin's
// sum (Abramowitz and Stegun, 23.2.9 and 25.4). Where q is negative the number of
// terms is TensorFlow's, which decides how good the result is there: in f32 nine, in
// f64 until q is past nine.
//
//===----------------------------------------------------------------------===//

#include "kernels/kernel_support.h"
#include "weir/numerics.h"

#include <math.h>

using namespace weir::rt;

namespace {

float power(float a, float b) { return powf(a, b); }
double power(double a, double b) { return pow(a, b); }
/// Half of the distance from 1 to the next number.
float precision(float) { return 0x1p-24f; }
double precision(double) { return 0x1p-53; }
bool needsMore(int terms, float) { return terms < 9; }
bool needsMore(int terms, double a) { return terms < 9 || a <= 9; }

template <typename T> T zeta(T s, T q) {
  // (2k)! / B(2k)
  static constexpr double factors[] = {12.0,
                                       -720.0,
                                       30240.0,
                                       -1209600.0,
                                       47900160.0,
                                       -1307674368000.0 / 691,
                                       74724249600.0,
                                       -10670622842880000.0 / 3617,
                                       5109094217170944000.0 / 43867,
                                       -802857662698291200000.0 / 174611,
                                       14101100039391805440000.0 / 77683,
                                       -1693824136731743669452800000.0 / 236364091};
  const T nan = T(NAN), infinity = T(INFINITY), least = precision(T(0));
  if (s == 1)
    return infinity;
  if (s < 1)
    return nan;
  if (isnan(s) || isnan(q))
    return nan;
  if (isinf(q) && q > 0)
    return 0;
  if (isinf(s)) // of (q + k)^-s the largest alone
    return q > 1 ? T(0) : q == 1 ? T(1) : infinity;
  if (q <= 0) {
    if (q == floor(q))
      return s == floor(s) && fmod(s, T(2)) == 0 ? infinity : nan;
    if (s != floor(s))
      return nan;
  }
  T sum = power(q, -s), a = q, term = 0;
  if (q > 0 && sum == 0) // terms behind the first are smaller
    return 0;
  for (int terms = 0; needsMore(terms, a); ++terms) {
    a += 1;
    term = power(a, -s);
    sum += term;
    if (fabs(term / sum) < least)
      return sum;
  }
  T w = a;
  sum += term * w / (s - 1);
  sum -= T(0.5) * term;
  T factor = 1;
  for (int k = 0; k < 24; k += 2) {
    factor *= s + T(k);
    term /= w;
    T step = factor * term / T(factors[k / 2]);
    sum += step;
    if (fabs(step / sum) < least)
      return sum;
    factor *= s + T(k + 1);
    term /= w;
  }
  return sum;
}

template <typename T> void fill(const weir_tensor *operands, weir_tensor &result, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    static_cast<T *>(result.data)[i] = zeta(static_cast<const T *>(operands[0].data)[i],
                                            static_cast<const T *>(operands[1].data)[i]);
}

} // namespace

int32_t weir_kernel_zeta(weir_context *ctx, const weir_tensor *operands, int32_t operand_count,
                         weir_tensor *results, int32_t result_count, const int64_t *) {
  int64_t count = elementCountOf(operands[0]);
  if (operand_count != 2 || result_count != 1 || elementCountOf(operands[1]) != count ||
      operands[0].dtype != operands[1].dtype || operands[0].dtype != results[0].dtype)
    return failMessage(ctx, WEIR_INTERNAL, "operands or results are missing");
  if (operands[0].dtype != WEIR_F32 && operands[0].dtype != WEIR_F64)
    return failDtype(ctx, "zeta's arguments", operands[0].dtype);
  if (!shapeResult(ctx, results[0], operands[0].rank, operands[0].dims))
    return WEIR_RESOURCE_EXHAUSTED;
  if (operands[0].dtype == WEIR_F32)
    fill<float>(operands, results[0], count);
  else
    fill<double>(operands, results[0], count);
  return WEIR_OK;
}
