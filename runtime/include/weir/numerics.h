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

/// Points of a Sobol sequence in [0, 1).
/// operands: dimensions (at most 1111), number of points, how many to skip
/// results:  f32 or f64 [points, dimensions]
/// TensorFlow SobolSample.
WEIR_LIBRARY_FUNCTION(weir_kernel_sobol);

// Samples. The state is a seed of 2 numbers, or a key and a counter, 3 in all (i64).

/// A part of an image.
/// operands: state; height, width, channels (i64 [3]); objects (f32 [b, n, 4], in
///           [0, 1]); how much of one is to be covered; the least and the most of the
///           ratio of width to height, and of the part's share of the image (f32 [4])
/// results:  begin, size (i32 or i64, [3]), the part in [0, 1] (f32 [1, 1, 4])
/// attributes: how many attempts; whether no objects are one of the image's size
/// TensorFlow SampleDistortedBoundingBox and its stateless form.
WEIR_LIBRARY_FUNCTION(weir_kernel_distorted_box);

/// Classes for a sampled loss.
/// operands: state; true classes (i64 [b, n]); weights (f32; of kind 3: a class each)
/// results:  classes (i64 [count]); how often each true class, and each of those, is
///           expected (f32)
/// attributes: kind (0: all; 1: uniform; 2: log-uniform; 3: by weights), count, whether
///           each at most once, number of classes
/// TensorFlow's candidate samplers.
WEIR_LIBRARY_FUNCTION(weir_kernel_sample_candidates);

/// True classes that were drawn, too.
/// operands: true classes (i64 [b, n]), candidates (i64 [m])
/// results:  rows (i32), places among the candidates (i64), the lowest number (f32)
/// TensorFlow ComputeAccidentalHits.
WEIR_LIBRARY_FUNCTION(weir_kernel_accidental_hits);

/// Pooling over windows whose sizes are drawn.
/// operands: images [b, h, w, c]; state; how much smaller they become (f32 [2])
/// results:  images; where rows and columns of windows begin, and the end (i64)
/// attributes: whether the largest element (else the mean), whether windows overlap by
///           one, whether sizes are spread by one number rather than shuffled
/// TensorFlow FractionalMaxPool, FractionalAvgPool.
WEIR_LIBRARY_FUNCTION(weir_kernel_fractional_pool);

/// Floats as integers, up or down by chance: up as often as the fraction is large.
/// operands: state (a key and a counter), x (f16, bf16, f32 or f64)
/// results:  i8, i16 or i32, of the same shape; NaN is 0
/// TensorFlow StochasticCastToInt.
WEIR_LIBRARY_FUNCTION(weir_kernel_stochastic_cast);

/// Normal numbers between bounds.
/// operands: state; shape (i64); means, deviations, least and largest numbers (the results'
///           type; each of one element, or of one a batch)
/// results:  f16, f32 or f64
/// attributes: 0: batches are the first dimension; 1: the last ones, and parameters have
///           their shape
/// TensorFlow ParameterizedTruncatedNormal and its stateless form, as one thread draws.
WEIR_LIBRARY_FUNCTION(weir_kernel_parameterized_truncated_normal);

/// The Cholesky factor of sparse Hermitian matrices, whose lower halves are read, in a given
/// order of rows. Fill-in counts as elements, whatever its values are.
/// operands: coordinates (i64 [n, 2 or 3], in row-major order), values (f32, f64, c64 or c128
///           [n]), shape (i64 [2 or 3]), the order of rows (i64, [rows] or [batch, rows])
/// results:  coordinates and values of the lower factors, in row-major order
/// TensorFlow SparseMatrixSparseCholesky.
WEIR_LIBRARY_FUNCTION(weir_kernel_sparse_cholesky);

/// Features of speech in fixed-point arithmetic.
/// operands: samples (i16 [n]); f32 [7]: highest and lowest frequency, smoothing of even and
///           of odd channels, share of the signal that stays, strength and offset of the gain
/// results:  u16 or f32 [frames, channels × (left + 1 + right)]
/// attributes: samples a second, milliseconds of a frame, and between frames, channels, bits
///           of smoothing, whether the gain is controlled, its bits, whether logarithms are
///           taken, their bits, frames left, frames right, stride of frames, whether frames
///           outside are zeros (else the nearest), divisor of results
/// TensorFlow AudioMicrofrontend.
WEIR_LIBRARY_FUNCTION(weir_kernel_audio_microfrontend);

#ifdef __cplusplus
}
#endif

#endif // WEIR_NUMERICS_H
