//===- schur.cpp - triangular forms, eigenvalues of any matrix ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/decompositions.h"

using namespace weir::rt;

namespace {

/// m (I - scale v v*), v in column k of `of`, below its diagonal.
void reflectColumns(const Matrix &m, const Matrix &of, int64_t k, double scale) {
  for (int64_t i = 0; i < m.rows; ++i) {
    Complex sum;
    for (int64_t j = k + 1; j < m.columns; ++j)
      sum = sum + m(i, j) * of(j, k);
    sum = sum * scale;
    for (int64_t j = k + 1; j < m.columns; ++j)
      m(i, j) = m(i, j) - sum * of(j, k).conj();
  }
}

/// Householder: a = z h z*, h zero below its first subdiagonal.
void reduceToHessenberg(const Matrix &a, const Matrix &z) {
  int64_t n = a.rows;
  z.setIdentity();
  for (int64_t k = 0; k + 2 < n; ++k) {
    double below = 0;
    for (int64_t i = k + 2; i < n; ++i)
      below += a(i, k).square();
    if (below == 0)
      continue;
    // v = x + e^(i arg x1) |x| e1, kept in column k; H = I - 2 v v* / v*v.
    Complex head = a(k + 1, k);
    double length = sqrt(head.square() + below), size = head.magnitude();
    Complex phase = size == 0 ? Complex{1, 0} : head * (1 / size);
    Complex first = head + phase * length;
    double scale = 2 / (first.square() + below);
    a(k + 1, k) = first;
    for (int64_t j = k + 1; j < n; ++j) {
      Complex sum;
      for (int64_t i = k + 1; i < n; ++i)
        sum = sum + a(i, k).conj() * a(i, j);
      sum = sum * scale;
      for (int64_t i = k + 1; i < n; ++i)
        a(i, j) = a(i, j) - a(i, k) * sum;
    }
    reflectColumns(a, a, k, scale);
    reflectColumns(z, a, k, scale);
    a(k + 1, k) = phase * -length;
    for (int64_t i = k + 2; i < n; ++i)
      a(i, k) = {};
  }
}

/// The eigenvalue of the last two rows and columns up to `high` that is nearer
/// to the last element (Wilkinson).
Complex shiftAt(const Matrix &a, int64_t high) {
  Complex p = a(high - 1, high - 1), q = a(high - 1, high), r = a(high, high - 1),
          s = a(high, high);
  Complex half = (p - s) * 0.5;
  Complex d = root(half * half + q * r);
  Complex sum = half + d, difference = half - d;
  Complex far = sum.square() > difference.square() ? sum : difference;
  return far.square() == 0 ? s : s - divide(q * r, far);
}

/// [c, s; -conj(s), c] takes (x, y) to (r, 0).
struct Rotation {
  double c;
  Complex s;
};

Rotation rotationOf(Complex x, Complex y) {
  double length = sqrt(x.square() + y.square()), size = x.magnitude();
  if (length == 0)
    return {1, {}};
  if (size == 0)
    return {0, y.conj() * (1 / length)};
  Complex phase = x * (1 / size);
  return {size / length, phase * y.conj() * (1 / length)};
}

/// Rotates columns k and k + 1 of the first `end` rows.
void rotateColumns(const Matrix &m, int64_t k, int64_t end, Rotation g) {
  for (int64_t i = 0; i < end; ++i) {
    Complex x = m(i, k), y = m(i, k + 1);
    m(i, k) = x * g.c + y * g.s.conj();
    m(i, k + 1) = y * g.c - x * g.s;
  }
}

/// One QR step of rows and columns low to high, shifted. Columns follow one
/// rotation behind the rows, which still need them.
void step(const Matrix &a, const Matrix &z, int64_t low, int64_t high, Complex shift) {
  int64_t n = a.rows;
  for (int64_t k = low; k <= high; ++k)
    a(k, k) = a(k, k) - shift;
  Rotation previous = {1, {}};
  for (int64_t k = low; k < high; ++k) {
    Rotation g = rotationOf(a(k, k), a(k + 1, k));
    for (int64_t j = k; j < n; ++j) {
      Complex x = a(k, j), y = a(k + 1, j);
      a(k, j) = x * g.c + g.s * y;
      a(k + 1, j) = y * g.c - g.s.conj() * x;
    }
    if (k > low)
      rotateColumns(a, k - 1, k + 1, previous);
    rotateColumns(z, k, n, g);
    previous = g;
  }
  rotateColumns(a, high - 1, high + 1, previous);
  for (int64_t k = low; k <= high; ++k)
    a(k, k) = a(k, k) + shift;
}

} // namespace

/// Golub and Van Loan, "Matrix computations", 7.5: Hessenberg form, then QR
/// steps with Wilkinson's shift, and with an arbitrary one where that stands.
static bool schur(const Matrix &a, const Matrix &z) {
  int64_t n = a.rows;
  reduceToHessenberg(a, z);
  constexpr double epsilon = 0x1p-52;
  bool converged = true;
  int64_t high = n - 1;
  for (int tries = 0; high > 0 && converged;) {
    int64_t low = high;
    for (; low > 0; --low) {
      double around = a(low - 1, low - 1).magnitude() + a(low, low).magnitude();
      if (a(low, low - 1).magnitude() <= epsilon * around) {
        a(low, low - 1) = {};
        break;
      }
    }
    if (low == high) {
      --high;
      tries = 0;
      continue;
    }
    Complex shift = shiftAt(a, high);
    if (++tries % 10 == 0)
      shift = {a(high, high - 1).magnitude() + a(high, high).re, a(high, high).im};
    converged = tries < 300;
    step(a, z, low, high, shift);
  }
  return converged;
}

SchurForm::SchurForm(weir_context *ctx, int64_t) : Decomposition(ctx, {}) {}

bool SchurForm::run(const Matrix &a, const Matrix &z) { return schur(a, z); }

GeneralEigen::GeneralEigen(weir_context *ctx, int64_t n, bool vectors)
    : Decomposition(ctx, {(vectors ? 2 : 1) * n * n, 0, 0}) {}

bool GeneralEigen::run(const Matrix &a, Complex *values, const Matrix &vectors) {
  int64_t n = a.rows;
  Matrix z = {numbers.data, n, n};
  double norm = a.norm();
  if (!(norm < INFINITY) || !schur(a, z))
    return false;
  for (int64_t i = 0; i < n; ++i)
    values[i] = a(i, i);
  if (!vectors.data)
    return true;
  // Substitution in (t - value) y = 0, from the value's own place upwards.
  Matrix y = {z.data + n * n, n, n};
  y.clear();
  double least = 0x1p-52 * (norm > 0 ? norm : 1);
  for (int64_t j = 0; j < n; ++j) {
    y(j, j) = {1, 0};
    for (int64_t i = j; i-- > 0;) {
      Complex sum;
      for (int64_t l = i + 1; l <= j; ++l)
        sum = sum + a(i, l) * y(l, j);
      Complex gap = a(j, j) - a(i, i);
      if (gap.magnitude() < least)
        gap = {least, 0};
      y(i, j) = divide(sum, gap);
    }
  }
  multiply(z, y, vectors);
  for (int64_t j = 0; j < n; ++j) {
    double length = 0;
    for (int64_t i = 0; i < n; ++i)
      length += vectors(i, j).square();
    length = sqrt(length);
    for (int64_t i = 0; i < n; ++i)
      vectors(i, j) = vectors(i, j) * (1 / length);
  }
  return true;
}
