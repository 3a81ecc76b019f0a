//===- lapack.h - the functions of LAPACK that kernels call -----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fortran's own names, so that any LAPACK will do: the reference, OpenBLAS, MKL. Integers
// have 32 bits; behind the arguments stand the lengths of those that are text. Matrices are
// stored by columns.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_LINALG_LAPACK_H
#define WEIR_RUNTIME_LINALG_LAPACK_H

#include "kernels/decompositions.h"

extern "C" {
using LapackInt = int32_t;
using LapackComplex = weir::rt::Complex;

void dsyevd_(const char *vectors, const char *half, const LapackInt *n, double *a,
             const LapackInt *lda, double *values, double *work, const LapackInt *workSize,
             LapackInt *integers, const LapackInt *integersSize, LapackInt *info, size_t, size_t);
void zheevd_(const char *vectors, const char *half, const LapackInt *n, LapackComplex *a,
             const LapackInt *lda, double *values, LapackComplex *work, const LapackInt *workSize,
             double *reals, const LapackInt *realsSize, LapackInt *integers,
             const LapackInt *integersSize, LapackInt *info, size_t, size_t);
void dgesdd_(const char *vectors, const LapackInt *m, const LapackInt *n, double *a,
             const LapackInt *lda, double *values, double *u, const LapackInt *ldu, double *vt,
             const LapackInt *ldvt, double *work, const LapackInt *workSize, LapackInt *integers,
             LapackInt *info, size_t);
void zgesdd_(const char *vectors, const LapackInt *m, const LapackInt *n, LapackComplex *a,
             const LapackInt *lda, double *values, LapackComplex *u, const LapackInt *ldu,
             LapackComplex *vt, const LapackInt *ldvt, LapackComplex *work,
             const LapackInt *workSize, double *reals, LapackInt *integers, LapackInt *info,
             size_t);
void zgeev_(const char *left, const char *right, const LapackInt *n, LapackComplex *a,
            const LapackInt *lda, LapackComplex *values, LapackComplex *vl, const LapackInt *ldvl,
            LapackComplex *vr, const LapackInt *ldvr, LapackComplex *work,
            const LapackInt *workSize, double *reals, LapackInt *info, size_t, size_t);
void zgees_(const char *vectors, const char *sort, LapackInt (*select)(const LapackComplex *),
            const LapackInt *n, LapackComplex *a, const LapackInt *lda, LapackInt *selected,
            LapackComplex *values, LapackComplex *z, const LapackInt *ldz, LapackComplex *work,
            const LapackInt *workSize, double *reals, LapackInt *flags, LapackInt *info, size_t,
            size_t);
void dgeqrf_(const LapackInt *m, const LapackInt *n, double *a, const LapackInt *lda, double *tau,
             double *work, const LapackInt *workSize, LapackInt *info);
void zgeqrf_(const LapackInt *m, const LapackInt *n, LapackComplex *a, const LapackInt *lda,
             LapackComplex *tau, LapackComplex *work, const LapackInt *workSize, LapackInt *info);
void dorgqr_(const LapackInt *m, const LapackInt *n, const LapackInt *k, double *a,
             const LapackInt *lda, const double *tau, double *work, const LapackInt *workSize,
             LapackInt *info);
void zungqr_(const LapackInt *m, const LapackInt *n, const LapackInt *k, LapackComplex *a,
             const LapackInt *lda, const LapackComplex *tau, LapackComplex *work,
             const LapackInt *workSize, LapackInt *info);
void sgetrf_(const LapackInt *m, const LapackInt *n, float *a, const LapackInt *lda,
             LapackInt *pivots, LapackInt *info);
void dgetrf_(const LapackInt *m, const LapackInt *n, double *a, const LapackInt *lda,
             LapackInt *pivots, LapackInt *info);
}

#endif // WEIR_RUNTIME_LINALG_LAPACK_H
