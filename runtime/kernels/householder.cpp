//===- householder.cpp - QR by reflections --------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/decompositions.h"

using namespace weir::rt;

OrthogonalTriangular::OrthogonalTriangular(weir_context *ctx, int64_t m, int64_t n, int64_t,
                                           bool isReal)
    : Decomposition(ctx, {2 * (m < n ? m : n), 0, 0}, isReal) {}

/// Golub and Van Loan, "Matrix computations", 5.2.
void OrthogonalTriangular::run(const Matrix &a, const Matrix &q) {
  int64_t m = a.rows, n = a.columns, least = m < n ? m : n;
  Complex *heads = numbers.data, *tops = heads + least;
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
  for (int64_t i = 0; i < least; ++i) {
    a(i, i) = tops[i];
    for (int64_t r = i + 1; r < m; ++r)
      a(r, i) = {};
  }
}
