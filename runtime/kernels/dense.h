//===- dense.h - small dense matrices of complex numbers --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decompositions work on complex f64 whatever the type of the tensors: one
// algorithm each, and results that are rounded once.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_KERNELS_DENSE_H
#define WEIR_RUNTIME_KERNELS_DENSE_H

#include "kernels/kernel_support.h"

#include <math.h>

namespace weir::rt {

struct Complex {
  double re = 0, im = 0;

  Complex operator+(Complex b) const { return {re + b.re, im + b.im}; }
  Complex operator-(Complex b) const { return {re - b.re, im - b.im}; }
  Complex operator*(Complex b) const { return {re * b.re - im * b.im, re * b.im + im * b.re}; }
  Complex operator*(double b) const { return {re * b, im * b}; }
  Complex conj() const { return {re, -im}; }
  double square() const { return re * re + im * im; }
  double magnitude() const { return hypot(re, im); }
};

/// Smith, "Algorithm 116: complex division", 1962.
inline Complex divide(Complex a, Complex b) {
  if (fabs(b.re) >= fabs(b.im)) {
    double r = b.im / b.re, d = b.re + b.im * r;
    return {(a.re + a.im * r) / d, (a.im - a.re * r) / d};
  }
  double r = b.re / b.im, d = b.re * r + b.im;
  return {(a.re * r + a.im) / d, (a.im * r - a.re) / d};
}

/// The principal root.
inline Complex root(Complex a) {
  double m = a.magnitude();
  if (m == 0)
    return {};
  double p = sqrt((m + fabs(a.re)) / 2), q = fabs(a.im) / (2 * p);
  if (a.re < 0) {
    double held = p;
    p = q, q = held;
  }
  return {p, a.im < 0 ? -q : q};
}

/// A row-major matrix over memory of someone else's.
struct Matrix {
  Complex *data;
  int64_t rows, columns;

  Complex &operator()(int64_t i, int64_t j) const { return data[i * columns + j]; }
  int64_t size() const { return rows * columns; }
  void clear() const {
    for (int64_t i = 0; i < size(); ++i)
      data[i] = {};
  }
  void setIdentity() const {
    clear();
    for (int64_t i = 0; i < rows && i < columns; ++i)
      (*this)(i, i) = {1, 0};
  }
  void copyFrom(const Matrix &other) const {
    for (int64_t i = 0; i < size(); ++i)
      data[i] = other.data[i];
  }
  /// The largest sum of magnitudes of a column.
  double norm() const;
};

/// to = a b; `to` is neither.
void multiply(const Matrix &a, const Matrix &b, const Matrix &to);
/// to = a b*.
void multiplyAdjoint(const Matrix &a, const Matrix &b, const Matrix &to);

/// Whether matrices of the dtype can be read: f32, f64 and their complex forms.
bool isDenseType(int32_t dtype);
/// Matrix number `k` of a tensor [..., rows, columns].
void loadMatrix(const weir_tensor &tensor, int64_t k, const Matrix &to);
/// Writes `count` numbers from element `at` on; real types lose what is
/// imaginary.
void storeNumbers(weir_tensor &tensor, int64_t at, const Complex *from, int64_t count);

/// Leading dimensions of [..., rows, columns] and how many matrices they are.
struct Matrices {
  int64_t count = 1, rows = 0, columns = 0;
  int32_t rank = 0;
};
/// False, with the run failed, where a tensor holds no matrices (or no square
/// ones).
bool readMatrices(weir_context *ctx, const weir_tensor &tensor, bool square, Matrices *matrices);
/// Shapes a result as the tensor's leading dimensions, then `tail`.
bool shapeBatch(weir_context *ctx, const weir_tensor &like, weir_tensor &result,
                const int64_t *tail, int32_t tailRank);

} // namespace weir::rt

#endif // WEIR_RUNTIME_KERNELS_DENSE_H
