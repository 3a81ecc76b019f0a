//===- jacobi.cpp - Hermitian eigenvalues, singular values ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Jacobi's methods: they are short, need no tuning, and find small values with a relative
// accuracy that reductions to bands lose (Demmel and Veselić, "Jacobi's method is more
// accurate than QR", 1992).
//
//===----------------------------------------------------------------------===//

#include "kernels/decompositions.h"

using namespace weir::rt;

namespace {

constexpr double kEpsilon = 0x1p-52;
constexpr int kMostSweeps = 60;
/// Squares of a column's length that are beyond rotations: of columns that depend on others
/// rounding is left, which shrinks in each sweep until its squares vanish.
constexpr double kVanished = 0x1p-960;

struct Turn {
  double c, s;
  Complex phase; ///< of the element between the two
};

/// The rotation that makes a Hermitian [app, apq; ., aqq] diagonal.
Turn turnOf(double app, double aqq, Complex apq) {
  double size = apq.magnitude();
  double tau = (aqq - app) / (2 * size);
  double t = (tau < 0 ? -1 : 1) / (fabs(tau) + hypot(1, tau));
  double c = 1 / sqrt(1 + t * t);
  return {c, t * c, apq * (1 / size)};
}

/// Columns p and q of m times [c, s; -s phase*, c phase*].
void turnColumns(const Matrix &m, int64_t p, int64_t q, Turn g) {
  Complex back = g.phase.conj();
  for (int64_t i = 0; i < m.rows; ++i) {
    Complex x = m(i, p), y = m(i, q) * back;
    m(i, p) = x * g.c - y * g.s;
    m(i, q) = x * g.s + y * g.c;
  }
}

void turnRows(const Matrix &m, int64_t p, int64_t q, Turn g) {
  for (int64_t j = 0; j < m.columns; ++j) {
    Complex x = m(p, j), y = m(q, j) * g.phase;
    m(p, j) = x * g.c - y * g.s;
    m(q, j) = x * g.s + y * g.c;
  }
}

/// turnColumns of the transposed matrix: what it calls columns are rows here.
void turnStored(const Matrix &m, int64_t p, int64_t q, Turn g) {
  g.phase = g.phase.conj();
  turnRows(m, p, q, g);
}

/// Divides `a` by a power of two, which is returned, where squares of its elements would
/// overflow or vanish.
double bringIntoRange(const Matrix &a) {
  double largest = 0;
  for (int64_t i = 0; i < a.size(); ++i) {
    largest = fmax(largest, fabs(a.data[i].re));
    largest = fmax(largest, fabs(a.data[i].im));
  }
  if (largest == 0 || !(largest < INFINITY) || (largest > 0x1p-100 && largest < 0x1p100))
    return 1;
  int exponent = ilogb(largest);
  for (int64_t i = 0; i < a.size(); ++i)
    a.data[i] = {ldexp(a.data[i].re, -exponent), ldexp(a.data[i].im, -exponent)};
  return ldexp(1.0, exponent);
}

/// a becomes diagonal, the rows of v the eigenvectors. Only the lower half of a
/// is read.
bool diagonalize(const Matrix &a, const Matrix &v) {
  int64_t n = a.rows;
  v.setIdentity();
  double all = 0;
  for (int64_t i = 0; i < n; ++i) {
    a(i, i).im = 0;
    for (int64_t j = 0; j < i; ++j) {
      a(j, i) = a(i, j).conj();
      all += 2 * a(i, j).square();
    }
    all += a(i, i).square();
  }
  if (!(all < INFINITY))
    return false;
  double tiny = kEpsilon * kEpsilon * all / double(n * n + 1);
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    bool turned = false;
    for (int64_t p = 0; p < n; ++p)
      for (int64_t q = p + 1; q < n; ++q) {
        Complex between = a(p, q);
        if (between.square() <= tiny)
          continue;
        turned = true;
        Turn g = turnOf(a(p, p).re, a(q, q).re, between);
        turnColumns(a, p, q, g);
        turnRows(a, p, q, g);
        turnStored(v, p, q, g);
        a(p, q) = a(q, p) = {};
      }
    if (!turned)
      return true;
  }
  return false;
}

/// Hestenes, "Inversion of matrices by biorthogonalization", 1958: the columns
/// become orthogonal, a V. Both matrices are stored column by column, so that
/// rotations run along memory. Columns count as orthogonal where their cosine is what
/// rounding makes of a sum of so many products (as in LAPACK's dgesvj); a column that has
/// vanished is orthogonal to all.
bool orthogonalize(const Matrix &a, const Matrix &v) {
  int64_t n = a.rows;
  double least = kEpsilon * sqrt(double(a.columns));
  v.setIdentity();
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    bool turned = false;
    for (int64_t p = 0; p < n; ++p)
      for (int64_t q = p + 1; q < n; ++q) {
        double app = 0, aqq = 0;
        Complex apq;
        for (int64_t i = 0; i < a.columns; ++i) {
          app += a(p, i).square();
          aqq += a(q, i).square();
          apq = apq + a(p, i).conj() * a(q, i);
        }
        if (!(app < INFINITY && aqq < INFINITY))
          return false;
        if (app < kVanished || aqq < kVanished || apq.magnitude() <= least * sqrt(app) * sqrt(aqq))
          continue;
        turned = true;
        Turn g = turnOf(app, aqq, apq);
        turnStored(a, p, q, g);
        turnStored(v, p, q, g);
      }
    if (!turned)
      return true;
  }
  return false;
}

/// The order of `values`, falling or rising.
void orderOf(const double *values, int64_t *order, int64_t count, bool falling) {
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = i;
    for (; at > 0; --at) {
      double other = values[order[at - 1]];
      if (falling ? other >= values[i] : other <= values[i])
        break;
      order[at] = order[at - 1];
    }
    order[at] = i;
  }
}

/// Fills columns `have` … of u with unit vectors orthogonal to those before:
/// of all axes the one that keeps most of itself, twice orthogonalized.
void completeBasis(const Matrix &u, int64_t have, Complex *scratch) {
  int64_t m = u.rows;
  for (int64_t j = have; j < u.columns; ++j) {
    int64_t best = 0;
    double most = -1;
    for (int64_t axis = 0; axis < m; ++axis) {
      double kept = 1;
      for (int64_t k = 0; k < j; ++k)
        kept -= u(axis, k).square();
      if (kept > most)
        most = kept, best = axis;
    }
    for (int64_t i = 0; i < m; ++i)
      scratch[i] = {i == best ? 1.0 : 0.0, 0};
    for (int pass = 0; pass < 2; ++pass)
      for (int64_t k = 0; k < j; ++k) {
        Complex sum;
        for (int64_t i = 0; i < m; ++i)
          sum = sum + u(i, k).conj() * scratch[i];
        for (int64_t i = 0; i < m; ++i)
          scratch[i] = scratch[i] - u(i, k) * sum;
      }
    double length = 0;
    for (int64_t i = 0; i < m; ++i)
      length += scratch[i].square();
    length = sqrt(length);
    for (int64_t i = 0; i < m; ++i)
      u(i, j) = scratch[i] * (1 / length);
  }
}

} // namespace

HermitianEigen::HermitianEigen(weir_context *ctx, int64_t n, bool isReal)
    : Decomposition(ctx, {n * n, n, n}, isReal) {}

bool HermitianEigen::run(const Matrix &a, double *values, const Matrix &vectors) {
  int64_t n = a.rows;
  Matrix v = {numbers.data, n, n};
  double scale = bringIntoRange(a);
  if (!diagonalize(a, v))
    return false;
  for (int64_t i = 0; i < n; ++i)
    reals[i] = a(i, i).re * scale;
  int64_t *order = integers.data;
  orderOf(reals.data, order, n, false);
  for (int64_t i = 0; i < n; ++i)
    values[i] = reals[order[i]];
  for (int64_t i = 0; vectors.data && i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      vectors(i, j) = v(order[j], i);
  return true;
}

SingularValues::SingularValues(weir_context *ctx, int64_t m, int64_t n, int64_t, bool isReal)
    : Decomposition(ctx, {n * n + m, n, n}, isReal) {}

bool SingularValues::run(const Matrix &a, double *values, const Matrix &left, const Matrix &right) {
  int64_t n = a.rows, m = a.columns;
  Matrix v = {numbers.data, n, n};
  double scale = bringIntoRange(a);
  if (!orthogonalize(a, v))
    return false;
  for (int64_t j = 0; j < n; ++j) {
    double sum = 0;
    for (int64_t i = 0; i < m; ++i)
      sum += a(j, i).square();
    reals[j] = sqrt(sum);
  }
  int64_t *order = integers.data;
  orderOf(reals.data, order, n, true);
  for (int64_t j = 0; j < n; ++j)
    values[j] = reals[order[j]] * scale;
  if (!left.data)
    return true;
  // Columns of nothing have no direction of their own.
  double least = n ? reals[order[0]] * kEpsilon * double(m) : 0;
  int64_t directed = 0;
  for (int64_t j = 0; j < n; ++j) {
    double length = reals[order[j]];
    bool counts = length > least;
    directed += counts;
    for (int64_t i = 0; i < n; ++i)
      right(i, j) = v(order[j], i);
    for (int64_t i = 0; i < m && counts; ++i)
      left(i, j) = a(order[j], i) * (1 / length);
  }
  completeBasis(left, directed, numbers.data + n * n);
  return true;
}
