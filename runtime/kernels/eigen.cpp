//===- eigen.cpp - eigenvalues and singular values ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Jacobi's methods for Hermitian matrices and for singular values: they are
// short, need no tuning, and find small values with a relative accuracy that
// reductions to bands lose (Demmel and Veselić, "Jacobi's method is more
// accurate than QR", 1992). The Schur form for all others.
//
//===----------------------------------------------------------------------===//

#include "kernels/dense.h"

using namespace weir::rt;

namespace {

constexpr double kEpsilon = 0x1p-52;
constexpr int kMostSweeps = 60;

struct Turn {
  double c, s;
  Complex phase; ///< of the element between the two
};

/// The rotation that makes a Hermitian [app, apq; ., aqq] diagonal.
Turn turnOf(double app, double aqq, Complex apq) {
  double size = apq.magnitude();
  double tau = (aqq - app) / (2 * size);
  double t = (tau < 0 ? -1 : 1) / (fabs(tau) + sqrt(1 + tau * tau));
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
/// rotations run along memory.
bool orthogonalize(const Matrix &a, const Matrix &v) {
  int64_t n = a.rows;
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
        if (apq.magnitude() <= kEpsilon * sqrt(app) * sqrt(aqq))
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

/// Begins a decomposition of square matrices into eigenvalues and, as a second
/// result where there is one, eigenvectors. WEIR_OK, or the failure's code.
int32_t openEigen(weir_context *ctx, const weir_tensor *operands, int32_t operand_count,
                  weir_tensor *results, int32_t result_count, Matrices *in) {
  if (operand_count != 1 || result_count < 1 || result_count > 2 || !isDenseType(results[0].dtype))
    return failMessage(ctx, WEIR_INTERNAL, "eigenvalues of one operand");
  if (!readMatrices(ctx, operands[0], true, in))
    return WEIR_INVALID_ARGUMENT;
  int64_t tail[2] = {in->rows, in->rows};
  if (!shapeBatch(ctx, operands[0], results[0], tail, 1) ||
      (result_count > 1 && !shapeBatch(ctx, operands[0], results[1], tail, 2)))
    return WEIR_RESOURCE_EXHAUSTED;
  return WEIR_OK;
}

int32_t failConvergence(weir_context *ctx) {
  return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                     "the decomposition was not successful; the input might "
                     "not be valid");
}

} // namespace

int32_t weir_kernel_eigh(weir_context *ctx, const weir_tensor *operands, int32_t operand_count,
                         weir_tensor *results, int32_t result_count, const int64_t *) {
  Matrices in;
  if (int32_t code = openEigen(ctx, operands, operand_count, results, result_count, &in))
    return code;
  int64_t n = in.rows;
  Scratch<Complex> memory(ctx, 3 * n * n + n);
  Scratch<double> values(ctx, n);
  Scratch<int64_t> order(ctx, n);
  if (!memory.data || !values.data || !order.data)
    return WEIR_RESOURCE_EXHAUSTED;
  Matrix a = {memory.data, n, n}, v = {a.data + n * n, n, n}, sorted = {v.data + n * n, n, n};
  Complex *line = sorted.data + n * n;
  for (int64_t k = 0; k < in.count; ++k) {
    loadMatrix(operands[0], k, a);
    if (!diagonalize(a, v))
      return failConvergence(ctx);
    for (int64_t i = 0; i < n; ++i)
      values[i] = a(i, i).re;
    orderOf(values.data, order.data, n, false);
    for (int64_t i = 0; i < n; ++i)
      line[i] = {values[order[i]], 0};
    storeNumbers(results[0], k * n, line, n);
    if (result_count == 1)
      continue;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        sorted(i, j) = v(order[j], i);
    storeNumbers(results[1], k * n * n, sorted.data, n * n);
  }
  return WEIR_OK;
}

int32_t weir_kernel_svd(weir_context *ctx, const weir_tensor *operands, int32_t operand_count,
                        weir_tensor *results, int32_t result_count, const int64_t *attributes) {
  Matrices in;
  if (operand_count != 1 || (result_count != 1 && result_count != 3) ||
      !isDenseType(results[0].dtype))
    return failMessage(ctx, WEIR_INTERNAL, "singular values of one operand");
  if (!readMatrices(ctx, operands[0], false, &in))
    return WEIR_INVALID_ARGUMENT;
  // Of a matrix with more columns than rows its adjoint is decomposed.
  bool wide = in.columns > in.rows;
  int64_t m = wide ? in.columns : in.rows, n = wide ? in.rows : in.columns;
  int64_t full = attributes[0] ? m : n;
  bool vectors = result_count == 3;
  int64_t ofLong[2] = {m, full}, ofShort[2] = {n, n};
  if (!shapeBatch(ctx, operands[0], results[0], &n, 1) ||
      (vectors && (!shapeBatch(ctx, operands[0], results[wide ? 2 : 1], ofLong, 2) ||
                   !shapeBatch(ctx, operands[0], results[wide ? 1 : 2], ofShort, 2))))
    return WEIR_RESOURCE_EXHAUSTED;
  Scratch<Complex> memory(ctx, 2 * m * n + 2 * n * n + m * full + m + n);
  Scratch<double> values(ctx, n);
  Scratch<int64_t> order(ctx, n);
  if (!memory.data || !values.data || !order.data)
    return WEIR_RESOURCE_EXHAUSTED;
  Matrix given = {memory.data, in.rows, in.columns};
  Matrix a = {given.data + m * n, n, m}, v = {a.data + m * n, n, n}, right = {v.data + n * n, n, n},
         left = {right.data + n * n, m, full};
  Complex *line = left.data + m * full;
  for (int64_t k = 0; k < in.count; ++k) {
    loadMatrix(operands[0], k, given);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        a(j, i) = wide ? given(j, i).conj() : given(i, j);
    if (!orthogonalize(a, v))
      return failConvergence(ctx);
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t i = 0; i < m; ++i)
        sum += a(j, i).square();
      values[j] = sqrt(sum);
    }
    orderOf(values.data, order.data, n, true);
    for (int64_t j = 0; j < n; ++j)
      line[j] = {values[order[j]], 0};
    storeNumbers(results[0], k * n, line, n);
    if (!vectors)
      continue;
    // Columns of nothing have no direction of their own.
    double least = n ? values[order[0]] * kEpsilon * double(m) : 0;
    int64_t directed = 0;
    for (int64_t j = 0; j < n; ++j) {
      double size = values[order[j]];
      bool counts = size > least;
      directed += counts;
      for (int64_t i = 0; i < n; ++i)
        right(i, j) = v(order[j], i);
      for (int64_t i = 0; i < m && counts; ++i)
        left(i, j) = a(order[j], i) * (1 / size);
    }
    completeBasis(left, directed, line);
    storeNumbers(results[wide ? 2 : 1], k * m * full, left.data, m * full);
    storeNumbers(results[wide ? 1 : 2], k * n * n, right.data, n * n);
  }
  return WEIR_OK;
}

int32_t weir_kernel_eig(weir_context *ctx, const weir_tensor *operands, int32_t operand_count,
                        weir_tensor *results, int32_t result_count, const int64_t *) {
  Matrices in;
  if (int32_t code = openEigen(ctx, operands, operand_count, results, result_count, &in))
    return code;
  int64_t n = in.rows;
  Scratch<Complex> memory(ctx, 4 * n * n + n);
  if (!memory.data)
    return WEIR_RESOURCE_EXHAUSTED;
  Matrix t = {memory.data, n, n}, z = {t.data + n * n, n, n}, y = {z.data + n * n, n, n},
         v = {y.data + n * n, n, n};
  Complex *line = v.data + n * n;
  for (int64_t k = 0; k < in.count; ++k) {
    loadMatrix(operands[0], k, t);
    double norm = t.norm();
    if (!(norm < INFINITY) || !schur(t, z))
      return failConvergence(ctx);
    for (int64_t i = 0; i < n; ++i)
      line[i] = t(i, i);
    storeNumbers(results[0], k * n, line, n);
    if (result_count == 1)
      continue;
    // Substitution in (t - value) y = 0, from the value's own place upwards.
    y.clear();
    double least = kEpsilon * (norm > 0 ? norm : 1);
    for (int64_t j = 0; j < n; ++j) {
      y(j, j) = {1, 0};
      for (int64_t i = j; i-- > 0;) {
        Complex sum;
        for (int64_t l = i + 1; l <= j; ++l)
          sum = sum + t(i, l) * y(l, j);
        Complex gap = t(j, j) - t(i, i);
        if (gap.magnitude() < least)
          gap = {least, 0};
        y(i, j) = divide(sum, gap);
      }
    }
    multiply(z, y, v);
    for (int64_t j = 0; j < n; ++j) {
      double length = 0;
      for (int64_t i = 0; i < n; ++i)
        length += v(i, j).square();
      length = sqrt(length);
      for (int64_t i = 0; i < n; ++i)
        v(i, j) = v(i, j) * (1 / length);
    }
    storeNumbers(results[1], k * n * n, v.data, n * n);
  }
  return WEIR_OK;
}

/// Householder's reflections (Golub and Van Loan, 5.2).
int32_t weir_kernel_qr(weir_context *ctx, const weir_tensor *operands, int32_t operand_count,
                       weir_tensor *results, int32_t result_count, const int64_t *attributes) {
  Matrices in;
  if (operand_count != 1 || result_count != 2 || !isDenseType(results[0].dtype))
    return failMessage(ctx, WEIR_INTERNAL, "qr has two results");
  if (!readMatrices(ctx, operands[0], false, &in))
    return WEIR_INVALID_ARGUMENT;
  int64_t m = in.rows, n = in.columns, least = m < n ? m : n;
  int64_t kept = attributes[0] ? m : least;
  int64_t ofQ[2] = {m, kept}, ofR[2] = {kept, n};
  if (!shapeBatch(ctx, operands[0], results[0], ofQ, 2) ||
      !shapeBatch(ctx, operands[0], results[1], ofR, 2))
    return WEIR_RESOURCE_EXHAUSTED;
  Scratch<Complex> memory(ctx, m * n + m * kept + m);
  if (!memory.data)
    return WEIR_RESOURCE_EXHAUSTED;
  Matrix a = {memory.data, m, n}, q = {a.data + m * n, m, kept};
  Scratch<Complex> heads(ctx, least), tops(ctx, least);
  if (!heads.data || !tops.data)
    return WEIR_RESOURCE_EXHAUSTED;
  for (int64_t k = 0; k < in.count; ++k) {
    loadMatrix(operands[0], k, a);
    q.setIdentity();
    // Reflector c is heads[c], a(c + 1 …, c); tops[c] is what R has there.
    auto reflect = [&](const Matrix &to, int64_t c, int64_t first) {
      double size = heads[c].square();
      for (int64_t i = c + 1; i < m; ++i)
        size += a(i, c).square();
      if (size == 0)
        return;
      for (int64_t j = first; j < to.columns; ++j) {
        Complex sum = heads[c].conj() * to(c, j);
        for (int64_t i = c + 1; i < m; ++i)
          sum = sum + a(i, c).conj() * to(i, j);
        sum = sum * (2 / size);
        to(c, j) = to(c, j) - heads[c] * sum;
        for (int64_t i = c + 1; i < m; ++i)
          to(i, j) = to(i, j) - a(i, c) * sum;
      }
    };
    for (int64_t c = 0; c < least; ++c) {
      double below = 0;
      for (int64_t i = c + 1; i < m; ++i)
        below += a(i, c).square();
      Complex head = a(c, c);
      if (below == 0) {
        heads[c] = {};
        tops[c] = head;
        continue;
      }
      double length = sqrt(head.square() + below), size = head.magnitude();
      Complex phase = size == 0 ? Complex{1, 0} : head * (1 / size);
      heads[c] = head + phase * length;
      tops[c] = phase * -length;
      reflect(a, c, c + 1);
    }
    for (int64_t c = least; c-- > 0;)
      reflect(q, c, 0);
    storeNumbers(results[0], k * m * kept, q.data, m * kept);
    for (int64_t i = 0; i < least; ++i) {
      a(i, i) = tops[i];
      for (int64_t r = i + 1; r < m; ++r)
        a(r, i) = {};
    }
    storeNumbers(results[1], k * kept * n, a.data, kept * n);
  }
  return WEIR_OK;
}
