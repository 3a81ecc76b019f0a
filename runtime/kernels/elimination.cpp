//===- elimination.cpp - determinants of matrices -------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elimination with the largest pivot of each column (Golub and Van Loan, "Matrix
// Computations", 3.4): the loop over a row becomes vectors.
//
//===----------------------------------------------------------------------===//

#include "kernels/decompositions.h"

using namespace weir::rt;

namespace {

template <typename T> T magnitude(T x) { return x < 0 ? -x : x; }

template <typename T> T determinant(T *a, int64_t n) {
  T product = 1;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; ++i)
      if (magnitude(a[i * n + k]) > magnitude(a[pivot * n + k]))
        pivot = i;
    T *__restrict top = a + pivot * n;
    T head = top[k];
    product *= pivot == k ? head : -head;
    if (head == 0)
      return product;
    if (pivot != k)
      for (int64_t j = k; j < n; ++j) {
        T held = a[k * n + j];
        a[k * n + j] = top[j];
        top[j] = held;
      }
    const T *__restrict row = a + k * n;
    for (int64_t i = k + 1; i < n; ++i) {
      T *__restrict own = a + i * n;
      T factor = own[k] / head;
      for (int64_t j = k + 1; j < n; ++j)
        own[j] -= factor * row[j];
    }
  }
  return product;
}

} // namespace

float weir::rt::WEIR_ENGINE_NAMESPACE::determinantOf(float *a, int64_t n, int32_t *) {
  return determinant(a, n);
}
double weir::rt::WEIR_ENGINE_NAMESPACE::determinantOf(double *a, int64_t n, int32_t *) {
  return determinant(a, n);
}
