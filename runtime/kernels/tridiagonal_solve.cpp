//===- tridiagonal_solve.cpp - systems of three diagonals -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gaussian elimination (Thomas, 1949), with partial pivoting, which fills one more
// diagonal (Golub and Van Loan, "Matrix computations", section 4.3).
//
//===----------------------------------------------------------------------===//

#include "kernels/dense.h"

using namespace weir::rt;

namespace {

bool isZero(Complex a) { return a.re == 0 && a.im == 0; }

/// Solves for all columns of `x`, which holds the right-hand sides. `bands`: the
/// diagonal above the main one (from its first element on), the main one, the one
/// below (from its second element on). `upper`: room for three diagonals. False:
/// the matrix is singular.
bool solve(const Matrix &bands, const Matrix &x, const Matrix &upper, bool pivots) {
  int64_t n = x.rows, columns = x.columns;
  upper.clear();
  upper(0, 0) = bands(1, 0);
  if (n > 1)
    upper(0, 1) = bands(0, 0);
  for (int64_t i = 0; i + 1 < n; ++i) {
    Complex below = bands(2, i + 1), next = bands(1, i + 1),
            above = i + 2 < n ? bands(0, i + 1) : Complex{};
    if (!pivots || upper(i, 0).magnitude() >= below.magnitude()) {
      if (isZero(upper(i, 0)))
        return false;
      Complex factor = divide(below, upper(i, 0));
      upper(i + 1, 0) = next - factor * upper(i, 1);
      upper(i + 1, 1) = above;
      for (int64_t c = 0; c < columns; ++c)
        x(i + 1, c) = x(i + 1, c) - factor * x(i, c);
      continue;
    }
    // The two rows change places.
    Complex factor = divide(upper(i, 0), below), second = upper(i, 1);
    upper(i, 0) = below;
    upper(i, 1) = next;
    upper(i, 2) = above;
    upper(i + 1, 0) = second - factor * next;
    upper(i + 1, 1) = Complex{} - factor * above;
    for (int64_t c = 0; c < columns; ++c) {
      Complex held = x(i, c);
      x(i, c) = x(i + 1, c);
      x(i + 1, c) = held - factor * x(i, c);
    }
  }
  if (isZero(upper(n - 1, 0)))
    return false;
  for (int64_t i = n; i-- > 0;)
    for (int64_t c = 0; c < columns; ++c) {
      Complex rest = x(i, c);
      if (i + 1 < n)
        rest = rest - upper(i, 1) * x(i + 1, c);
      if (i + 2 < n)
        rest = rest - upper(i, 2) * x(i + 2, c);
      x(i, c) = divide(rest, upper(i, 0));
    }
  return true;
}

} // namespace

int32_t weir_kernel_tridiagonal_solve(weir_context *ctx, const weir_tensor *operands,
                                      int32_t operand_count, weir_tensor *results,
                                      int32_t result_count, const int64_t *attributes) {
  if (operand_count != 2 || result_count != 1)
    return failMessage(ctx, WEIR_INTERNAL, "operands or results are missing");
  const weir_tensor &diagonals = operands[0], &right = operands[1];
  if (!isDenseType(diagonals.dtype) || right.dtype != diagonals.dtype ||
      results[0].dtype != diagonals.dtype)
    return failDtype(ctx, "matrices", diagonals.dtype);
  int32_t rank = right.rank;
  bool fits = rank >= 2 && diagonals.rank == rank && diagonals.dims[rank - 2] == 3 &&
              diagonals.dims[rank - 1] == right.dims[rank - 2];
  int64_t batches = 1;
  for (int32_t i = 0; fits && i + 2 < rank; ++i) {
    fits = diagonals.dims[i] == right.dims[i];
    batches *= right.dims[i];
  }
  if (!fits)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       "diagonals [..., 3, n] and right-hand sides [..., n, k] do not fit each "
                       "other");
  int64_t n = right.dims[rank - 2], columns = right.dims[rank - 1];
  if (!shapeResult(ctx, results[0], rank, right.dims))
    return WEIR_RESOURCE_EXHAUSTED;
  Scratch<Complex> room(ctx, 6 * n + n * columns);
  if (!room.data)
    return WEIR_RESOURCE_EXHAUSTED;
  Matrix bands{room.data, 3, n}, upper{room.data + 3 * n, n, 3}, x{room.data + 6 * n, n, columns};
  // TensorFlow fills in its NaN of the type; of complex numbers that is zero.
  bool isReal = right.dtype == WEIR_F32 || right.dtype == WEIR_F64;
  for (int64_t batch = 0; batch < batches && n > 0; ++batch) {
    loadMatrix(diagonals, batch, bands);
    loadMatrix(right, batch, x);
    if (!solve(bands, x, upper, attributes[0] != 0))
      for (int64_t i = 0; i < x.size(); ++i)
        x.data[i] = {isReal ? double(NAN) : 0, 0};
    storeNumbers(results[0], batch * n * columns, x.data, x.size());
  }
  return WEIR_OK;
}
