//===- decompositions.cpp - decompositions by LAPACK ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The engine behind the kernels of libweir_runtime_linalg.a (kernels/decompositions.h).
// Real matrices are decomposed as such, which takes a quarter of the work. A matrix of no
// elements never reaches LAPACK, which wants strides of one at least; numbers that are not
// finite do not, either: not all of its functions end on them.
//
//===----------------------------------------------------------------------===//

#include "linalg/lapack.h"

using namespace weir::rt;

namespace {

LapackInt sizeOf(int64_t size) { return LapackInt(size > 1 ? size : 1); }

bool isFinite(const Complex *data, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    if (!(fabs(data[i].re) < INFINITY && fabs(data[i].im) < INFINITY))
      return false;
  return true;
}

/// Doubles in the room of complex numbers.
double *asReals(Complex *numbers) { return &numbers->re; }
int64_t roomOf(int64_t reals) { return (reals + 1) / 2; }

/// The matrix, stored by columns.
void storeColumns(const Matrix &from, Complex *to) {
  for (int64_t i = 0; i < from.rows; ++i)
    for (int64_t j = 0; j < from.columns; ++j)
      to[j * from.rows + i] = from(i, j);
}
void loadColumns(const Complex *from, const Matrix &to) {
  for (int64_t i = 0; i < to.rows; ++i)
    for (int64_t j = 0; j < to.columns; ++j)
      to(i, j) = from[j * to.rows + i];
}
void loadColumns(const double *from, const Matrix &to) {
  for (int64_t i = 0; i < to.rows; ++i)
    for (int64_t j = 0; j < to.columns; ++j)
      to(i, j) = {from[j * to.rows + i], 0};
}

/// What a function that is asked for the size of its room says, and asked in vain, `least`.
LapackInt roomAsked(double asked, int64_t least) {
  return LapackInt(asked > double(least) ? asked : double(least));
}

//===----------------------------------------------------------------------===//
// Room
//===----------------------------------------------------------------------===//

/// With longer sides the room that LAPACK asks for has sizes beyond its 32 bits. No memory is
/// enough for them: the run fails for want of it.
constexpr int64_t longestSide = 20000, endless = INT64_MAX / 64;
bool isTooLarge(int64_t m, int64_t n) { return m > longestSide || n > longestSide; }

struct EigenRoom {
  LapackInt work, reals, integers;
};

EigenRoom hermitianRoom(int64_t size, bool isReal) {
  LapackInt n = sizeOf(size), ask = -1, integers = 0, info = 0;
  double values = 0, reals = 0;
  if (isReal) {
    double work = 0;
    dsyevd_("V", "U", &n, nullptr, &n, &values, &work, &ask, &integers, &ask, &info, 1, 1);
    return {roomAsked(work, 1), 1, integers};
  }
  Complex work;
  zheevd_("V", "U", &n, nullptr, &n, &values, &work, &ask, &reals, &ask, &integers, &ask, &info, 1,
          1);
  return {roomAsked(work.re, 1), roomAsked(reals, 1), integers};
}

/// Which vectors are wanted, as LAPACK has it.
const char *singularVectors(int64_t m, int64_t n, int64_t full) {
  return full == 0 ? "N" : full == m && m > n ? "A" : "S";
}

LapackInt singularRoom(int64_t rows, int64_t columns, int64_t full, bool isReal) {
  LapackInt m = sizeOf(rows), n = sizeOf(columns), ask = -1, integers = 0, info = 0;
  const char *vectors = singularVectors(rows, columns, full);
  double values = 0, reals = 0;
  if (isReal) {
    double work = 0;
    dgesdd_(vectors, &m, &n, nullptr, &m, &values, nullptr, &m, nullptr, &n, &work, &ask, &integers,
            &info, 1);
    return roomAsked(work, 1);
  }
  Complex work;
  zgesdd_(vectors, &m, &n, nullptr, &m, &values, nullptr, &m, nullptr, &n, &work, &ask, &reals,
          &integers, &info, 1);
  return roomAsked(work.re, 1);
}

LapackInt eigenRoom(int64_t size, bool vectors) {
  LapackInt n = sizeOf(size), ask = -1, info = 0;
  Complex work, values;
  double reals = 0;
  zgeev_("N", vectors ? "V" : "N", &n, nullptr, &n, &values, nullptr, &n, nullptr, &n, &work, &ask,
         &reals, &info, 1, 1);
  return roomAsked(work.re, 2 * n);
}

LapackInt schurRoom(int64_t size) {
  LapackInt n = sizeOf(size), ask = -1, selected = 0, flags = 0, info = 0;
  Complex work, values;
  double reals = 0;
  zgees_("V", "N", nullptr, &n, nullptr, &n, &selected, &values, nullptr, &n, &work, &ask, &reals,
         &flags, &info, 1, 1);
  return roomAsked(work.re, 2 * n);
}

LapackInt qrRoom(int64_t rows, int64_t columns, int64_t kept, bool isReal) {
  LapackInt m = sizeOf(rows), n = sizeOf(columns), k = sizeOf(kept), ask = -1, info = 0;
  LapackInt least = m < n ? m : n;
  if (isReal) {
    double tau = 0, first = 0, second = 0;
    dgeqrf_(&m, &n, nullptr, &m, &tau, &first, &ask, &info);
    dorgqr_(&m, &k, &least, nullptr, &m, &tau, &second, &ask, &info);
    return roomAsked(first > second ? first : second, n > k ? n : k);
  }
  Complex tau, first, second;
  zgeqrf_(&m, &n, nullptr, &m, &tau, &first, &ask, &info);
  zungqr_(&m, &k, &least, nullptr, &m, &tau, &second, &ask, &info);
  return roomAsked(first.re > second.re ? first.re : second.re, n > k ? n : k);
}

/// Words of 32 bits in the room of ones of 64.
LapackInt *asIntegers(int64_t *integers) { return reinterpret_cast<LapackInt *>(integers); }

} // namespace

//===----------------------------------------------------------------------===//
// Hermitian matrices
//===----------------------------------------------------------------------===//

HermitianEigen::HermitianEigen(weir_context *ctx, int64_t n, bool isReal)
    : Decomposition(
          ctx,
          [&]() -> Room {
            if (isTooLarge(n, n))
              return {endless, 0, 0};
            EigenRoom room = hermitianRoom(n, isReal);
            if (isReal)
              return {roomOf(n * n) + roomOf(room.work), 0, roomOf(room.integers), room.work};
            return {room.work, room.reals, roomOf(room.integers), room.work};
          }(),
          isReal) {}

bool HermitianEigen::run(const Matrix &a, double *values, const Matrix &vectors) {
  int64_t size = a.rows;
  if (size == 0)
    return true;
  for (int64_t i = 0; i < size; ++i)
    if (!isFinite(&a(i, 0), i + 1))
      return false;
  LapackInt n = sizeOf(size), info = 0, workSize = room.work, realCount = LapackInt(room.reals),
            integerCount = LapackInt(2 * room.integers);
  const char *wanted = vectors.data ? "V" : "N";
  // The lower half of rows is the upper half of columns.
  if (isReal) {
    double *m = asReals(numbers.data), *work = asReals(numbers.data + roomOf(size * size));
    for (int64_t i = 0; i < size; ++i)
      for (int64_t j = 0; j <= i; ++j)
        m[i * size + j] = a(i, j).re;
    dsyevd_(wanted, "U", &n, m, &n, values, work, &workSize, asIntegers(integers.data),
            &integerCount, &info, 1, 1);
    if (vectors.data)
      loadColumns(m, vectors);
    return info == 0;
  }
  // What columns hold is the conjugate of what rows do, and so are its vectors.
  zheevd_(wanted, "U", &n, a.data, &n, values, numbers.data, &workSize, reals.data, &realCount,
          asIntegers(integers.data), &integerCount, &info, 1, 1);
  for (int64_t i = 0; vectors.data && i < size; ++i)
    for (int64_t j = 0; j < size; ++j)
      vectors(i, j) = a(j, i).conj();
  return info == 0;
}

//===----------------------------------------------------------------------===//
// Singular values
//===----------------------------------------------------------------------===//

SingularValues::SingularValues(weir_context *ctx, int64_t m, int64_t n, int64_t full, bool isReal)
    : Decomposition(
          ctx,
          [&]() -> Room {
            if (isTooLarge(m, n))
              return {endless, 0, 0};
            LapackInt work = singularRoom(m, n, full, isReal);
            int64_t vectors = full ? m * full + n * n : 0;
            if (isReal)
              return {roomOf(m * n) + roomOf(vectors) + roomOf(work), 0, roomOf(8 * n), work};
            int64_t ofReals = 5 * n * n + 7 * n, ofBoth = 2 * m * n + 2 * n * n + n;
            return {vectors + work, ofReals > ofBoth ? ofReals : ofBoth, roomOf(8 * n), work};
          }(),
          isReal) {}

bool SingularValues::run(const Matrix &a, double *values, const Matrix &left, const Matrix &right) {
  int64_t rows = a.columns, columns = a.rows, full = left.data ? left.columns : 0;
  if (columns == 0) {
    if (left.data)
      left.setIdentity();
    return true;
  }
  if (!isFinite(a.data, a.size()))
    return false;
  LapackInt m = sizeOf(rows), n = sizeOf(columns), info = 0, workSize = room.work;
  const char *wanted = singularVectors(rows, columns, full);
  if (isReal) {
    double *given = asReals(numbers.data);
    double *u = asReals(numbers.data + roomOf(rows * columns)), *vt = u + rows * full;
    double *work = asReals(numbers.data + roomOf(rows * columns) +
                           roomOf(full ? rows * full + columns * columns : 0));
    for (int64_t i = 0; i < a.size(); ++i)
      given[i] = a.data[i].re;
    dgesdd_(wanted, &m, &n, given, &m, values, u, &m, vt, &n, work, &workSize,
            asIntegers(integers.data), &info, 1);
    if (info != 0 || !full)
      return info == 0;
    loadColumns(u, left);
    for (int64_t i = 0; i < right.size(); ++i)
      right.data[i] = {vt[i], 0};
    return true;
  }
  Complex *u = numbers.data, *vt = u + rows * full,
          *work = u + (full ? rows * full + columns * columns : 0);
  zgesdd_(wanted, &m, &n, a.data, &m, values, u, &m, vt, &n, work, &workSize, reals.data,
          asIntegers(integers.data), &info, 1);
  if (info != 0 || !full)
    return info == 0;
  loadColumns(u, left);
  // Columns of v* are rows of v, conjugate.
  for (int64_t i = 0; i < right.size(); ++i)
    right.data[i] = vt[i].conj();
  return true;
}

//===----------------------------------------------------------------------===//
// All square matrices
//===----------------------------------------------------------------------===//

GeneralEigen::GeneralEigen(weir_context *ctx, int64_t n, bool vectors)
    : Decomposition(ctx, [&]() -> Room {
        if (isTooLarge(n, n))
          return {endless, 0, 0};
        LapackInt work = eigenRoom(n, vectors);
        return {(vectors ? 2 : 1) * n * n + work, 2 * n, 0, work};
      }()) {}

bool GeneralEigen::run(const Matrix &a, Complex *values, const Matrix &vectors) {
  int64_t size = a.rows;
  if (size == 0)
    return true;
  if (!isFinite(a.data, a.size()))
    return false;
  LapackInt n = sizeOf(size), info = 0, workSize = room.work;
  Complex *given = numbers.data, *found = given + size * size,
          *work = found + (vectors.data ? size * size : 0);
  storeColumns(a, given);
  zgeev_("N", vectors.data ? "V" : "N", &n, given, &n, values, nullptr, &n, found, &n, work,
         &workSize, reals.data, &info, 1, 1);
  if (vectors.data)
    loadColumns(found, vectors);
  return info == 0;
}

SchurForm::SchurForm(weir_context *ctx, int64_t n)
    : Decomposition(ctx, [&]() -> Room {
        if (isTooLarge(n, n))
          return {endless, 0, 0};
        LapackInt work = schurRoom(n);
        return {2 * n * n + n + work, n, 0, work};
      }()) {}

bool SchurForm::run(const Matrix &a, const Matrix &z) {
  int64_t size = a.rows;
  if (size == 0)
    return true;
  LapackInt n = sizeOf(size), info = 0, selected = 0, flag = 0, workSize = room.work;
  Complex *t = numbers.data, *vectors = t + size * size, *values = vectors + size * size,
          *work = values + size;
  storeColumns(a, t);
  zgees_("V", "N", nullptr, &n, t, &n, &selected, values, vectors, &n, work, &workSize, reals.data,
         &flag, &info, 1, 1);
  loadColumns(t, a);
  loadColumns(vectors, z);
  return info == 0;
}

//===----------------------------------------------------------------------===//
// QR
//===----------------------------------------------------------------------===//

OrthogonalTriangular::OrthogonalTriangular(weir_context *ctx, int64_t m, int64_t n, int64_t kept,
                                           bool isReal)
    : Decomposition(
          ctx,
          [&]() -> Room {
            if (isTooLarge(m, n))
              return {endless, 0, 0};
            LapackInt work = qrRoom(m, n, kept, isReal);
            int64_t least = m < n ? m : n;
            if (isReal)
              return {roomOf(m * n) + roomOf(m * kept) + roomOf(least) + roomOf(work), 0, 0, work};
            return {m * n + m * kept + least + work, 0, 0, work};
          }(),
          isReal) {}

void OrthogonalTriangular::run(const Matrix &a, const Matrix &q) {
  int64_t rows = a.rows, columns = a.columns, least = rows < columns ? rows : columns;
  if (least == 0) {
    q.setIdentity();
    return;
  }
  LapackInt m = sizeOf(rows), n = sizeOf(columns), k = sizeOf(q.columns), l = sizeOf(least),
            info = 0, workSize = room.work;
  if (isReal) {
    double *given = asReals(numbers.data), *found = asReals(numbers.data + roomOf(rows * columns)),
           *tau = asReals(numbers.data + roomOf(rows * columns) + roomOf(rows * q.columns)),
           *work = asReals(numbers.data + roomOf(rows * columns) + roomOf(rows * q.columns) +
                           roomOf(least));
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        given[j * rows + i] = a(i, j).re;
    dgeqrf_(&m, &n, given, &m, tau, work, &workSize, &info);
    loadColumns(given, a);
    for (int64_t i = 0; i < rows * least; ++i)
      found[i] = given[i];
    dorgqr_(&m, &k, &l, found, &m, tau, work, &workSize, &info);
    loadColumns(found, q);
  } else {
    Complex *given = numbers.data, *found = given + rows * columns, *tau = found + rows * q.columns,
            *work = tau + least;
    storeColumns(a, given);
    zgeqrf_(&m, &n, given, &m, tau, work, &workSize, &info);
    loadColumns(given, a);
    for (int64_t i = 0; i < rows * least; ++i)
      found[i] = given[i];
    zungqr_(&m, &k, &l, found, &m, tau, work, &workSize, &info);
    loadColumns(found, q);
  }
  // Below the diagonal stand the reflectors.
  for (int64_t i = 1; i < rows; ++i)
    for (int64_t j = 0; j < i && j < columns; ++j)
      a(i, j) = {};
}

//===----------------------------------------------------------------------===//
// Determinants
//===----------------------------------------------------------------------===//

namespace {

/// The product of the diagonal, once for each exchange of rows with another sign.
template <typename T> T diagonalProduct(const T *a, int64_t n, const LapackInt *pivots) {
  T product = 1;
  for (int64_t i = 0; i < n; ++i)
    product *= pivots[i] == i + 1 ? a[i * n + i] : -a[i * n + i];
  return product;
}

} // namespace

// A matrix and its transpose have the same determinant: rows may be taken for columns.

float weir::rt::WEIR_ENGINE_NAMESPACE::determinantOf(float *a, int64_t n, int32_t *room) {
  LapackInt size = sizeOf(n), info = 0;
  if (n)
    sgetrf_(&size, &size, a, &size, room, &info);
  return diagonalProduct(a, n, room);
}

double weir::rt::WEIR_ENGINE_NAMESPACE::determinantOf(double *a, int64_t n, int32_t *room) {
  LapackInt size = sizeOf(n), info = 0;
  if (n)
    dgetrf_(&size, &size, a, &size, room, &info);
  return diagonalProduct(a, n, room);
}
