//===- weir/numerics.h - Library functions of numbers -----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Library functions in the form of weir/kernels.h whose steps hang on the
// numbers: transforms, series, searches, and samples that are drawn until they
// fit. All are pure, and thread-safe as all library functions are.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_NUMERICS_H
#define WEIR_NUMERICS_H

#include "weir/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Discrete Fourier transforms along some axes. What is longer than the
/// transform is cut, what is shorter is filled up with zeros; without lengths all
/// are those of the operand.
/// operands: x; axes (i64, [n], from the end where negative); lengths of the
///           transform (i64, [n], or [0])
/// results:  c64 or c128; of kind 2 f32 or f64
/// attributes: kind (0: complex to complex; 1: real to the first half of the last
///           axis; 2: from such a half to real numbers), whether inverse (divided
///           by the length)
/// TensorFlow's FFT, RFFT and IRFFT families.
WEIR_LIBRARY_FUNCTION(weir_kernel_fft);

/// Hurwitz' zeta function, element by element.
/// operands: s, q (f32 or f64, of one shape)
/// results:  of the same shape
WEIR_LIBRARY_FUNCTION(weir_kernel_zeta);

/// Running log(Σ exp(x)) along an axis, one step after the other.
/// operands: x (f32 or f64), the axis (i64)
/// results:  of the same shape
/// attributes: whether an element's own term is left out, whether from the end
WEIR_LIBRARY_FUNCTION(weir_kernel_cumulative_logsumexp);

/// Where values belong in rows, by halving.
/// operands: rows (i64 or f64, [b, n]), values (the same type, [b, m])
/// results:  places (i32 or i64, [b, m])
/// attributes: 0: the first place whose element is not less; 1: the first whose
///           element is greater
WEIR_LIBRARY_FUNCTION(weir_kernel_search_sorted);

#ifdef __cplusplus
}
#endif

#endif // WEIR_NUMERICS_H
