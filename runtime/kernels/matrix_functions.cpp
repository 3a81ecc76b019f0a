//===- matrix_functions.cpp - roots, logarithms, powers of e --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Higham, "Functions of matrices", 2008: square roots of triangular matrices
// (algorithm 6.3), inverse scaling and squaring of logarithms (11.9), scaling
// and squaring of exponentials (10.20, with a Taylor polynomial).
//
//===----------------------------------------------------------------------===//

#include "kernels/decompositions.h"

using namespace weir::rt;

namespace {

/// r = the root of an upper triangular t.
void triangularRoot(const Matrix &t, const Matrix &r) {
  r.clear();
  for (int64_t j = 0; j < t.rows; ++j) {
    r(j, j) = root(t(j, j));
    for (int64_t i = j; i-- > 0;) {
      Complex rest = t(i, j);
      for (int64_t k = i + 1; k < j; ++k)
        rest = rest - r(i, k) * r(k, j);
      Complex sum = r(i, i) + r(j, j);
      r(i, j) = sum.square() == 0 ? Complex{} : divide(rest, sum);
    }
  }
}

/// The sum of w X (I + x X)^-1 over Gauss's nodes x in [0, 1]: a Padé
/// approximant of log(I + X), X upper triangular. `row` has a row's room.
void triangularLog(const Matrix &x, const Matrix &sum, Complex *row) {
  // Of the Legendre polynomial of degree 8.
  static const double places[] = {0.1834346424956498, 0.5255324099163290, 0.7966664774136267,
                                  0.9602898564975363};
  static const double weights[] = {0.3626837833783620, 0.3137066458778873, 0.2223810344533745,
                                   0.1012285362903763};
  int64_t n = x.rows;
  sum.clear();
  for (int node = 0; node < 8; ++node) {
    double place = 0.5 + (node < 4 ? 0.5 : -0.5) * places[node % 4];
    double weight = 0.5 * weights[node % 4];
    // Y (I + place X) = X, row by row, from the diagonal on.
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = i; j < n; ++j) {
        Complex rest = x(i, j);
        for (int64_t k = i; k < j; ++k)
          rest = rest - row[k] * x(k, j) * place;
        row[j] = divide(rest, Complex{1, 0} + x(j, j) * place);
        sum(i, j) = sum(i, j) + row[j] * weight;
      }
  }
}

enum Function { kRoot = 0, kLog = 1, kExp = 2 };

/// Scratch of five matrices.
struct Room {
  Matrix a, z, t, u, v;
};

/// e^a into `room.t`; a Taylor polynomial of degree 18 at norms up to 1/2.
void exponential(const Room &m) {
  int squarings = 0;
  double norm = m.a.norm();
  if (norm > 0.5 && norm < INFINITY)
    squarings = int(ceil(log2(norm))) + 1;
  double scale = ldexp(1, -squarings);
  for (int64_t i = 0; i < m.a.size(); ++i)
    m.a.data[i] = m.a.data[i] * scale;
  m.t.setIdentity();
  for (int degree = 18; degree > 0; --degree) {
    multiply(m.a, m.t, m.u);
    for (int64_t i = 0; i < m.u.size(); ++i)
      m.t.data[i] = m.u.data[i] * (1.0 / degree);
    for (int64_t i = 0; i < m.t.rows; ++i)
      m.t(i, i).re += 1;
  }
  for (int i = 0; i < squarings; ++i) {
    multiply(m.t, m.t, m.u);
    m.t.copyFrom(m.u);
  }
}

/// The root or the logarithm of a into `room.t`.
bool bySchurForm(const Room &m, SchurForm &schur, Function function) {
  if (!(m.a.norm() < INFINITY) || !schur.run(m.a, m.z))
    return false;
  if (function == kRoot) {
    triangularRoot(m.a, m.u);
  } else {
    double scale = 1;
    for (int i = 0; i < 100; ++i) {
      m.v.copyFrom(m.a);
      for (int64_t d = 0; d < m.v.rows; ++d)
        m.v(d, d).re -= 1;
      if (m.v.norm() < 0.25)
        break;
      triangularRoot(m.a, m.u);
      m.a.copyFrom(m.u);
      scale *= 2;
    }
    triangularLog(m.v, m.u, m.t.data);
    for (int64_t i = 0; i < m.u.size(); ++i)
      m.u.data[i] = m.u.data[i] * scale;
  }
  multiply(m.z, m.u, m.v);
  multiplyAdjoint(m.v, m.z, m.t);
  return true;
}

} // namespace

int32_t weir_kernel_matrix_function(weir_context *ctx, const weir_tensor *operands,
                                    int32_t operand_count, weir_tensor *results,
                                    int32_t result_count, const int64_t *attributes) {
  Matrices in;
  if (operand_count != 1 || result_count != 1 || !isDenseType(results[0].dtype) ||
      attributes[0] < kRoot || attributes[0] > kExp)
    return failMessage(ctx, WEIR_INTERNAL, "no such function of a matrix");
  if (!readMatrices(ctx, operands[0], true, &in))
    return WEIR_INVALID_ARGUMENT;
  int64_t n = in.rows, size = n * n, tail[2] = {n, n};
  if (!shapeBatch(ctx, operands[0], results[0], tail, 2))
    return WEIR_RESOURCE_EXHAUSTED;
  Scratch<Complex> memory(ctx, 5 * size);
  SchurForm schur(ctx, n);
  if (!memory.data || schur.failed())
    return WEIR_RESOURCE_EXHAUSTED;
  Complex *data = memory.data;
  Room room = {{data, n, n},
               {data + size, n, n},
               {data + 2 * size, n, n},
               {data + 3 * size, n, n},
               {data + 4 * size, n, n}};
  for (int64_t k = 0; k < in.count; ++k) {
    loadMatrix(operands[0], k, room.a);
    if (attributes[0] == kExp)
      exponential(room);
    else if (!bySchurForm(room, schur, Function(attributes[0])))
      return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                         "the input has no such function: it is not finite");
    storeNumbers(results[0], k * size, room.t.data, size);
  }
  return WEIR_OK;
}
