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

} // namespace weir::rt
