//===- dense.cpp - small dense matrices of complex numbers ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/dense.h"

namespace weir::rt {

double Matrix::norm() const {
  double largest = 0;
  for (int64_t j = 0; j < columns; ++j) {
    double sum = 0;
    for (int64_t i = 0; i < rows; ++i)
      sum += (*this)(i, j).magnitude();
    // A sum that is no number is the norm, too.
    if (!(sum <= largest))
      largest = sum;
  }
  return largest;
}

void multiply(const Matrix &a, const Matrix &b, const Matrix &to) {
  to.clear();
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t k = 0; k < a.columns; ++k) {
      Complex factor = a(i, k);
      for (int64_t j = 0; j < b.columns; ++j)
        to(i, j) = to(i, j) + factor * b(k, j);
    }
}

void multiplyAdjoint(const Matrix &a, const Matrix &b, const Matrix &to) {
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < b.rows; ++j) {
      Complex sum;
      for (int64_t k = 0; k < a.columns; ++k)
        sum = sum + a(i, k) * b(j, k).conj();
      to(i, j) = sum;
    }
}

bool isDenseType(int32_t dtype) {
  return dtype == WEIR_F32 || dtype == WEIR_F64 || dtype == WEIR_C64 || dtype == WEIR_C128;
}

void loadMatrix(const weir_tensor &tensor, int64_t k, const Matrix &to) {
  int64_t first = k * to.size();
  for (int64_t i = 0; i < to.size(); ++i) {
    int64_t at = first + i;
    switch (tensor.dtype) {
    case WEIR_F32:
      to.data[i] = {double(static_cast<const float *>(tensor.data)[at]), 0};
      break;
    case WEIR_F64:
      to.data[i] = {static_cast<const double *>(tensor.data)[at], 0};
      break;
    case WEIR_C64: {
      auto *pair = static_cast<const float *>(tensor.data) + 2 * at;
      to.data[i] = {double(pair[0]), double(pair[1])};
      break;
    }
    default: {
      auto *pair = static_cast<const double *>(tensor.data) + 2 * at;
      to.data[i] = {pair[0], pair[1]};
    }
    }
  }
}

void storeNumbers(weir_tensor &tensor, int64_t at, const Complex *from, int64_t count) {
  for (int64_t i = 0; i < count; ++i, ++at)
    switch (tensor.dtype) {
    case WEIR_F32:
      static_cast<float *>(tensor.data)[at] = float(from[i].re);
      break;
    case WEIR_F64:
      static_cast<double *>(tensor.data)[at] = from[i].re;
      break;
    case WEIR_C64:
      static_cast<float *>(tensor.data)[2 * at] = float(from[i].re);
      static_cast<float *>(tensor.data)[2 * at + 1] = float(from[i].im);
      break;
    default:
      static_cast<double *>(tensor.data)[2 * at] = from[i].re;
      static_cast<double *>(tensor.data)[2 * at + 1] = from[i].im;
    }
}

bool readMatrices(weir_context *ctx, const weir_tensor &tensor, bool square, Matrices *matrices) {
  if (!isDenseType(tensor.dtype)) {
    failDtype(ctx, "matrices", tensor.dtype);
    return false;
  }
  if (tensor.rank < 2) {
    failMessage(ctx, WEIR_INVALID_ARGUMENT, "the input must be matrices");
    return false;
  }
  matrices->rank = tensor.rank;
  matrices->rows = tensor.dims[tensor.rank - 2];
  matrices->columns = tensor.dims[tensor.rank - 1];
  matrices->count = 1;
  for (int32_t i = 0; i < tensor.rank - 2; ++i)
    matrices->count *= tensor.dims[i];
  if (square && matrices->rows != matrices->columns) {
    failMessage(ctx, WEIR_INVALID_ARGUMENT, "the matrices must be square");
    return false;
  }
  return true;
}

bool shapeBatch(weir_context *ctx, const weir_tensor &like, weir_tensor &result,
                const int64_t *tail, int32_t tailRank) {
  int64_t dims[WEIR_MAX_RANK];
  int32_t rank = like.rank - 2;
  for (int32_t i = 0; i < rank; ++i)
    dims[i] = like.dims[i];
  for (int32_t i = 0; i < tailRank; ++i)
    dims[rank++] = tail[i];
  return shapeResult(ctx, result, rank, dims);
}

//===----------------------------------------------------------------------===//
// Schur form
//===----------------------------------------------------------------------===//

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
bool schur(const Matrix &a, const Matrix &z) {
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

} // namespace weir::rt
