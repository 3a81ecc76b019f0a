//===- decompositions.h - of dense matrices, one at a time ---- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What kernels of linear algebra ask of an engine. There are two: the runtime's own, in
// jacobi.cpp, schur.cpp, householder.cpp and elimination.cpp, and LAPACK, in
// libweir_runtime_linalg.a, which holds the same kernels, compiled with WEIR_LAPACK, and
// stands in for the runtime's where a program links it first. Names differ, so that both
// may be in one program.
//
// An object is made for matrices of one size and used for each of a batch: it holds what
// the engine needs in between. Not to be shared between threads.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_KERNELS_DECOMPOSITIONS_H
#define WEIR_RUNTIME_KERNELS_DECOMPOSITIONS_H

#include "kernels/dense.h"

#ifdef WEIR_LAPACK
#define WEIR_ENGINE_NAMESPACE by_lapack
#else
#define WEIR_ENGINE_NAMESPACE by_weir
#endif

namespace weir::rt {
inline namespace WEIR_ENGINE_NAMESPACE {

/// Room that an engine works in.
class Decomposition {
public:
  /// There was no memory: the run has failed.
  bool failed() const { return !numbers.data || !reals.data || !integers.data; }

protected:
  struct Room {
    int64_t numbers = 0, reals = 0, integers = 0;
    int32_t work = 0; ///< of the numbers or reals, what LAPACK has asked for beside the matrices
  };
  Decomposition(weir_context *ctx, Room room, bool isReal = false)
      : room(room), isReal(isReal), numbers(ctx, room.numbers), reals(ctx, room.reals),
        integers(ctx, room.integers) {}

  const Room room;
  const bool isReal; ///< nothing in the matrices is imaginary

  Scratch<Complex> numbers;
  Scratch<double> reals;
  Scratch<int64_t> integers;
};

/// a = v diag(values) v* of Hermitian matrices of n rows; of symmetric ones with `isReal`.
class HermitianEigen : public Decomposition {
public:
  HermitianEigen(weir_context *ctx, int64_t n, bool isReal);
  /// Reads the lower half of `a`, which is lost. Values rise; vectors are columns, and
  /// not wanted without data. False: not finite, or no convergence.
  bool run(const Matrix &a, double *values, const Matrix &vectors);
};

/// a = left diag(values) right* of matrices of m rows and n <= m columns.
class SingularValues : public Decomposition {
public:
  /// `full`: columns of `left`, n or m; 0: no vectors are wanted.
  SingularValues(weir_context *ctx, int64_t m, int64_t n, int64_t full, bool isReal);
  /// Row j of `a`, which is lost, is column j of the matrix. Values fall. False: not
  /// finite, or no convergence.
  bool run(const Matrix &a, double *values, const Matrix &left, const Matrix &right);
};

/// a v = v diag(values) of any square matrices; vectors of length 1.
class GeneralEigen : public Decomposition {
public:
  GeneralEigen(weir_context *ctx, int64_t n, bool vectors);
  /// `a` is lost; vectors are columns, and not wanted without data. False: not finite, or
  /// no convergence.
  bool run(const Matrix &a, Complex *values, const Matrix &vectors);
};

/// a = z t z*, t upper triangular, of any square matrices.
class SchurForm : public Decomposition {
public:
  SchurForm(weir_context *ctx, int64_t n);
  /// `a` becomes t. False: no convergence.
  bool run(const Matrix &a, const Matrix &z);
};

/// a = q r of matrices of m rows and n columns, `kept` columns of q: min(m, n), or m.
class OrthogonalTriangular : public Decomposition {
public:
  OrthogonalTriangular(weir_context *ctx, int64_t m, int64_t n, int64_t kept, bool isReal);
  /// The first `kept` rows of `a` become r.
  void run(const Matrix &a, const Matrix &q);
};

/// Of a row-major matrix of n rows, which is lost. `room` has n entries.
float determinantOf(float *a, int64_t n, int32_t *room);
double determinantOf(double *a, int64_t n, int32_t *room);

} // namespace WEIR_ENGINE_NAMESPACE
} // namespace weir::rt

#endif // WEIR_RUNTIME_KERNELS_DECOMPOSITIONS_H
