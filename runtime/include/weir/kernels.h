//===- kernels.h - what the runtime computes itself --------------*- C -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Functions for operations that no generator should write, in the form of
// weir_library_fn and called through weir_rt_library. Each lies in an object of
// its own in the archive, so that a program links those that it calls.
//
// Operands and results are dense tensors. Results are allocated by the function
// (their `data` is null on entry); the dtype of a result is given, and where it
// holds indices it may be i32 or i64. Integers among the operands (k, limits)
// may be any integer dtype, thresholds any float. Errors name the node.
//
// Order of elements: numbers by value, -0 equals +0, every NaN equals every
// other and is larger than any number; bool as 0 and 1; strings by their bytes.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_KERNELS_H
#define WEIR_KERNELS_H

#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_LIBRARY_FUNCTION(name)                                                                \
  WEIR_API int32_t name(struct weir_context *ctx, const weir_tensor *operands,                     \
                        int32_t operand_count, weir_tensor *results, int32_t result_count,         \
                        const int64_t *attributes)

/// The k largest (or smallest) elements along an axis, and where they were.
/// operands: data (any type but complex and string), k (one integer)
/// results:  values, indices; sizes of data, with k along the axis
/// attributes: axis (may be negative), largest (0 or 1), sorted (0 or 1)
/// Among equals the lower index comes first. Unsorted results come as
/// TensorFlow's heap leaves them (sorted, where k is all). k outside [0, size of
/// the axis] is INVALID_ARGUMENT.
/// ONNX TopK, TensorFlow TopKV2.
WEIR_LIBRARY_FUNCTION(weir_kernel_top_k);

/// All elements along an axis in order, stable, and where they were.
/// operands: data (any type but complex and string)
/// results:  values, indices
/// attributes: axis, descending (0 or 1)
WEIR_LIBRARY_FUNCTION(weir_kernel_sort);

/// Distinct elements, or distinct slices along an axis.
/// operands: data (any type but complex)
/// results:  values; index of each value's first occurrence; for each element
///           (slice) the index of its value; how often each value occurs
/// attributes: axis (-1: the flattened data; else 0…rank-1), sorted (0: in order
///           of first occurrence; 1: ascending, slices lexicographically)
/// ONNX Unique, TensorFlow Unique, UniqueV2 and UniqueWithCounts.
WEIR_LIBRARY_FUNCTION(weir_kernel_unique);

/// For weirc --sanitize=memory-plan: begins or ends the life of a planned buffer.
/// operands: the buffer, with 64 bytes of its own on either side, which are guards
/// attributes: 0: fills the guards, and the buffer with 0xff; 1: a guard that is
///           not as it was is INTERNAL; fills the buffer with 0xff
WEIR_LIBRARY_FUNCTION(weir_kernel_guard_buffer);

/// Indices of the elements that are not zero (false, empty), in row-major order.
/// operands: data (any type)
/// results:  [count, rank]
/// ONNX NonZero (which wants the transpose), TensorFlow Where.
WEIR_LIBRARY_FUNCTION(weir_kernel_non_zero);

/// Determinants of square matrices, by elimination with the largest pivot of each column.
/// operands: matrices [..., n, n] (f32, f64)
/// results:  [...]
/// ONNX Det.
WEIR_LIBRARY_FUNCTION(weir_kernel_determinant);

/// ONNX NonMaxSuppression.
/// operands: boxes [batches, n, 4], scores [batches, classes, n] (f32), and, each
///           optional from the right: most boxes a batch and class (default 0),
///           IoU threshold (0), score threshold (none)
/// results:  [count, 3] of (batch, class, box), by batch, class, falling score
/// attributes: center_point_box (1: boxes are x, y, width, height; 0: two
///           opposite corners y, x)
WEIR_LIBRARY_FUNCTION(weir_kernel_non_max_suppression);

/// TensorFlow's NonMaxSuppression V1 to V5, of one list of boxes.
/// operands: boxes [n, 4] (two opposite corners y, x), scores [n] (f32 both, or
///           f16), and, each optional from the right: most boxes, IoU threshold
///           (default 0.5), score threshold (none), soft-NMS sigma (0: hard)
/// results:  indices [m]; and, each if there: their scores [m], after soft
///           suppression; how many are valid (scalar)
/// attributes: pad (1: m is always the most boxes, filled up with zeros)
/// V5 and V4 differ in the order of their results only, which is the importer's
/// business.
WEIR_LIBRARY_FUNCTION(weir_kernel_non_max_suppression_tf);

/// TensorFlow's CombinedNonMaxSuppression: each class by itself, then the best of all.
/// operands: boxes [batches, n, 1 or classes, 4] (two opposite corners y, x), scores
///           [batches, n, classes] (f32 both), most boxes of a class, most in all, IoU
///           threshold, score threshold
/// results:  boxes [batches, m, 4], scores [batches, m], classes [batches, m] (f32),
///           how many of them are valid [batches]; the rest is zeros
/// attributes: pad by class (1: m is no more than most boxes of a class times
///           classes; 0: most in all), clip (1: corners are brought into [0, 1])
WEIR_LIBRARY_FUNCTION(weir_kernel_combined_non_max_suppression);

/// Solves systems of three diagonals.
/// operands: diagonals [..., 3, n]: above, main, below, each in the row that it is
///           of; right-hand sides [..., n, k], of the same type (f32, f64, c64, c128)
/// results:  solutions [..., n, k]; of a singular matrix NaN, of complex numbers zero
/// attributes: partial pivoting (0 or 1)
/// TensorFlow TridiagonalSolve.
WEIR_LIBRARY_FUNCTION(weir_kernel_tridiagonal_solve);

/// Crosses of features: every combination of one from each column, row by row.
/// operands: ragged columns (values, row splits), sparse ones (indices [n, 2],
///           values, shape), dense ones [rows, width]; values are strings or
///           integers; and one more: the separator (one string)
/// results:  indices [m, 2], values [m], shape [2]; or values and row splits; values
///           are i64 (hashed) or strings
/// attributes: hashed (0 or 1), buckets (0: all of i64), hash key; how many columns are
///           sparse, ragged, dense; 1: results are values and row splits; and the
///           kind of each column in order (0 ragged, 1 sparse, 2 dense)
/// TensorFlow SparseCross, SparseCrossV2, RaggedCross.
WEIR_LIBRARY_FUNCTION(weir_kernel_cross);

/// Seconds since 1970, as the clock says now.
/// operands: none
/// results:  a scalar, f64
WEIR_LIBRARY_FUNCTION(weir_kernel_timestamp);

/// TensorFlow's NonMaxSuppressionWithOverlaps: as the kernel above, with how much
/// each two boxes overlap, [n, n], in the place of boxes. The threshold may be
/// any number.
WEIR_LIBRARY_FUNCTION(weir_kernel_non_max_suppression_overlaps);

/// A function of complex numbers, element by element.
/// operands: x (c64, or c128) and, of functions of two, y of the same type and size
/// results:  the same type and sizes
/// attributes: which function: 0 acos, 1 acosh, 2 asin, 3 asinh, 4 atan, 5 atanh,
///           6 cos, 7 cosh, 8 exp, 9 exp(x) - 1, 10 log, 11 log(1 + x), 12 logistic,
///           13 1 / sqrt(x), 14 sin, 15 sinh, 16 sqrt, 17 tan, 18 tanh;
///           19 x to the power of y, 20 x log(1 + y), zero where x is
WEIR_LIBRARY_FUNCTION(weir_kernel_complex_function);

/// The series that does not rise and is nearest to each row, by least squares.
/// operands: values [rows, n] (f32, or f64)
/// results:  the series [rows, n], of the same type; which of the row's blocks of
///           one value each element is in [rows, n] (i32 or i64)
/// TensorFlow IsotonicRegression.
WEIR_LIBRARY_FUNCTION(weir_kernel_isotonic_regression);

/// Strings put together, element by element, with NumPy's broadcasting.
/// operands: one or more string tensors
/// results:  strings
/// ONNX StringConcat; TensorFlow StringJoin, with a scalar separator between.
WEIR_LIBRARY_FUNCTION(weir_kernel_string_concat);

/// Whether two string tensors are equal, element by element, with broadcasting.
/// operands: two string tensors
/// results:  bool
WEIR_LIBRARY_FUNCTION(weir_kernel_string_equal);

/// Parts of each string between delimiters.
/// operands: strings [...], one delimiter (empty: runs of ASCII white space,
///           those at both ends left out, as Python's split() does)
/// results:  parts [..., most parts of any], filled up with empty strings; how
///           many parts each string has [...] (i32 or i64)
/// attributes: how often to split at most, negative: any number
/// ONNX StringSplit.
WEIR_LIBRARY_FUNCTION(weir_kernel_string_split);

//===----------------------------------------------------------------------===//
// Strings. Operands and results are tensors of them unless said otherwise; a
// pattern, separator, encoding, … is a tensor of one string.
//===----------------------------------------------------------------------===//

/// How long each string is.
/// results:  i32 or i64
/// attributes: 0: bytes, 1: characters of UTF-8
WEIR_LIBRARY_FUNCTION(weir_kernel_string_length);

/// Lower or upper case.
/// attributes: 0: of ASCII's letters, 1: of UTF-8, by Unicode's full mappings
WEIR_LIBRARY_FUNCTION(weir_kernel_string_lower);
WEIR_LIBRARY_FUNCTION(weir_kernel_string_upper);

/// Without ASCII white space at both ends.
WEIR_LIBRARY_FUNCTION(weir_kernel_string_strip);

/// Parts of strings.
/// operands: strings; begins, from the end when negative; lengths, cut off at
///           the end (integers, broadcast with the strings)
/// attributes: 0: count bytes, 1: characters of UTF-8
/// A begin outside of its string is INVALID_ARGUMENT. TensorFlow Substr.
WEIR_LIBRARY_FUNCTION(weir_kernel_string_slice);

/// Strings put together, element by element. Scalars go with any shape.
/// operands: separator, strings…
/// TensorFlow StringJoin.
WEIR_LIBRARY_FUNCTION(weir_kernel_string_join);

/// Strings put together along axes, of which the first varies fastest.
/// operands: strings, separator
/// attributes: keep dimensions (0 or 1), how many axes, the axes
/// TensorFlow ReduceJoin.
WEIR_LIBRARY_FUNCTION(weir_kernel_string_reduce_join);

/// Strings of each segment put together, in order.
/// operands: strings, segment ids (integers), number of segments, separator
/// TensorFlow UnsortedSegmentJoin.
WEIR_LIBRARY_FUNCTION(weir_kernel_string_segment_join);

/// Tokens of a vector of strings as a sparse matrix.
/// operands: strings, separator
/// results:  indices i64 [n, 2], tokens [n], shape i64 [2]
/// attributes: 0: between any of the separator's bytes (TensorFlow StringSplit);
///           whether to leave out empty tokens
///           1: between whole separators, or runs of white space where it is
///           empty (StringSplitV2); how often at most, negative: always
WEIR_LIBRARY_FUNCTION(weir_kernel_string_split_sparse);

/// n-grams of each row of a ragged matrix.
/// operands: tokens, row splits (i32 or i64), separator, left pad, right pad
/// results:  n-grams, their row splits
/// attributes: width of the pads (-1: the n-gram's less one), whether rows that
///           are too short are one n-gram, how many widths, the widths
/// TensorFlow StringNGrams.
WEIR_LIBRARY_FUNCTION(weir_kernel_string_ngrams);

/// Numbers printed as C's printf does, in the C locale.
/// operands: numbers, booleans, complex numbers or strings
/// attributes: flag (a character of "0-+ #", 0: none), width (-1: none),
///           precision (-1: none), conversion of floats ('f', 'e', 'g')
/// TensorFlow AsString.
WEIR_LIBRARY_FUNCTION(weir_kernel_as_string);

/// Numbers with the fewest digits that read back as the same. ONNX Cast.
WEIR_LIBRARY_FUNCTION(weir_kernel_number_to_string);

/// Text as numbers of the result's type: f16, f32, f64, i32, i64, u32, u64.
/// What is no number, or an integer that does not fit, is INVALID_ARGUMENT.
WEIR_LIBRARY_FUNCTION(weir_kernel_string_to_number);

/// A template with tensors in place of its placeholders.
/// operands: template, placeholder, tensors…
/// results:  a scalar
/// attributes: elements shown at each end of a dimension, negative: all
/// TensorFlow StringFormat.
WEIR_LIBRARY_FUNCTION(weir_kernel_string_format);

/// Hashes modulo a number of buckets.
/// results:  i64
/// attributes: 0: MurmurHash64A, 1: FarmHash Fingerprint64, 2: SipHash-2-4; the
///           number; for 2, the two halves of the key
WEIR_LIBRARY_FUNCTION(weir_kernel_string_hash);

/// A fingerprint of each row.
/// operands: data of any type, method ("farmhash64")
/// results:  u8 [rows, 8]
WEIR_LIBRARY_FUNCTION(weir_kernel_fingerprint);

/// RFC 4648, section 5.
/// attributes (encode): whether to pad
WEIR_LIBRARY_FUNCTION(weir_kernel_encode_base64);
WEIR_LIBRARY_FUNCTION(weir_kernel_decode_base64);

/// Bytes of strings as numbers of the result's type.
/// operands: strings of one length; or strings and a length in bytes that they
///           are cut or filled up to
/// results:  [..., n]
/// attributes: whether the bytes are little-endian
WEIR_LIBRARY_FUNCTION(weir_kernel_decode_raw);

/// Levenshtein's distance between sequences.
/// operands: indices, values and shape of two sparse tensors
/// results:  f32, the shape without the last dimension
/// attributes: whether to divide by the second one's length
/// TensorFlow EditDistance.
WEIR_LIBRARY_FUNCTION(weir_kernel_edit_distance);

/// Regular expressions in RE2's syntax, over UTF-8, in time that is linear in
/// the text. A pattern that is none is INVALID_ARGUMENT.
/// operands: strings, pattern; (replace) text in which \0 to \9 are groups
/// results:  bool; strings
/// attributes (replace): 0: the first match, 1: all
WEIR_LIBRARY_FUNCTION(weir_kernel_regex_full_match);
WEIR_LIBRARY_FUNCTION(weir_kernel_regex_replace);

/// Tokens of each string, which is UTF-8.
/// operands: strings [...], patterns in RE2's syntax (not for 2), what rows are
///           filled up with
/// results:  tokens [..., most of any string]
/// attributes: 0: what lies between matches of the patterns, which cut one after
///             another, 1: matches of one pattern, 2: characters; how many
///             characters a token has at least; whether U+0002 and U+0003 stand
///             around the tokens of each string, unless none has any
/// com.microsoft Tokenizer.
WEIR_LIBRARY_FUNCTION(weir_kernel_string_tokenize);

/// MurmurHash3_x86_32 (Appleby) of each element's bytes.
/// operands: integers or floats of 4 or 8 bytes, or strings
/// results:  i32 or ui32
/// attributes: seed
/// com.microsoft MurmurHash3.
WEIR_LIBRARY_FUNCTION(weir_kernel_murmur3);

/// Unicode. Attributes of all: what is done with what is no text (0: an error,
/// 1: replaced, 2: left out), the replacement, whether control characters are
/// no text; of those that write strings: 0: UTF-8, 1: UTF-16, 2: UTF-32, both
/// big-endian. Encodings are Unicode's, ASCII, Latin-1 and single-byte ones.
/// decode:    strings, encoding -> row splits, code points i32, and, if there,
///            offsets of each in bytes i64
/// encode:    code points i32, row splits -> strings
/// transcode: strings, encoding -> strings
WEIR_LIBRARY_FUNCTION(weir_kernel_unicode_decode);
WEIR_LIBRARY_FUNCTION(weir_kernel_unicode_encode);
WEIR_LIBRARY_FUNCTION(weir_kernel_unicode_transcode);
/// The number, as in ICU, of each code point's script (i32), -1: none.
WEIR_LIBRARY_FUNCTION(weir_kernel_unicode_script);

/// Where each label stands among the keys: the first place, -1: nowhere.
/// operands: labels, keys (of one type)
/// results:  i64
/// ONNX LabelEncoder, CategoryMapper, OneHotEncoder.
WEIR_LIBRARY_FUNCTION(weir_kernel_label_index);

/// ONNX StringNormalizer.
/// operands: strings [n] or [1, n], words that are left out
/// attributes: whether their case counts, case (0: as it is, 1: lower, 2: upper)
WEIR_LIBRARY_FUNCTION(weir_kernel_string_normalize);

/// How often n-grams of a pool are in each row.
/// operands: [n] or [rows, n] (strings or integers); the pool (all 1-grams, then
///           all 2-grams, …); where each length begins in it; the columns of its
///           n-grams
/// results:  f32 [columns] or [rows, columns]
/// attributes: shortest, longest, most skipped between words, columns
/// ONNX TfIdfVectorizer.
WEIR_LIBRARY_FUNCTION(weir_kernel_ngram_counts);

//===----------------------------------------------------------------------===//
// Random numbers by Philox, as TensorFlow's stateless operations have them.
// `state` is i64: a seed [2], or [3] a key and the low and the high half of a
// counter. `shape` is i64.
//===----------------------------------------------------------------------===//

/// Normal numbers within two standard deviations.
/// operands: state, shape
/// results:  any float
WEIR_LIBRARY_FUNCTION(weir_kernel_random_truncated_normal);

/// operands: state, shape, rate (f64); the shape ends with that of rate
/// results:  any float, i32 or i64
WEIR_LIBRARY_FUNCTION(weir_kernel_random_poisson);

/// operands: state, shape, alpha (f64); the shape ends with that of alpha
/// results:  any float
WEIR_LIBRARY_FUNCTION(weir_kernel_random_gamma);

/// operands: state, shape, counts, probabilities (f32 or f64, one shape, with
///           which the shape ends)
/// results:  i32, i64 or any float
WEIR_LIBRARY_FUNCTION(weir_kernel_random_binomial);

/// Classes by unnormalized logarithms of their probabilities.
/// operands: state, logits [rows, classes] (f64), how many of each row
/// results:  [rows, samples], i32 or i64
WEIR_LIBRARY_FUNCTION(weir_kernel_random_multinomial);

/// operands: state, count
/// results:  0 … count - 1 in random order, i32 or i64
WEIR_LIBRARY_FUNCTION(weir_kernel_random_permutation);

/// Numbers of NumPy's RandomState (the Mersenne Twister), as ONNX's reference
/// implementation draws them.
/// operands: shape
/// results:  f64 of the shape
/// attributes: seed (its low 32 bits), 0 uniform in [0, 1) or 1 normal
WEIR_LIBRARY_FUNCTION(weir_kernel_random_mersenne);

/// The same generator's draws of 1 with the chance given, else 0.
/// operands: probabilities (f64)
/// results:  f64, like the probabilities
/// attributes: seed (its low 32 bits)
WEIR_LIBRARY_FUNCTION(weir_kernel_random_bernoulli);

/// Where a permutation of [0, most] takes indices; without a table.
/// operands: indices (i64), key [3] or [..., 3] (u32), most (i64), one or one
///           for each index
/// results:  like the indices
/// attributes: rounds, even, 4 to 64
WEIR_LIBRARY_FUNCTION(weir_kernel_index_shuffle);

// Decompositions of [..., rows, columns], f32, f64 and complex, computed in
// f64. What does not converge (NaN, infinities) is INVALID_ARGUMENT.

/// Eigenvalues of Hermitian matrices, rising; reads the lower halves only.
/// operands: matrices
/// results:  values [..., n] (real, or complex with nothing imaginary); and, if
///           there, vectors [..., n, n], one a column
WEIR_LIBRARY_FUNCTION(weir_kernel_eigh);

/// Singular values, falling, a = U S V*.
/// operands: matrices
/// results:  values [..., min]; and, if there, U and V, one vector a column
/// attributes: 1: all columns of U and V; 0: as many as there are values
/// A matrix that is not finite has results of NaN, or of 0 where the type is complex.
WEIR_LIBRARY_FUNCTION(weir_kernel_svd);

/// Eigenvalues of square matrices, in the order of the Schur form.
/// operands: matrices
/// results:  values [..., n] (complex); and, if there, vectors of length 1
WEIR_LIBRARY_FUNCTION(weir_kernel_eig);

/// operands: matrices
/// results:  Q, R
/// attributes: 1: all columns of Q; 0: min of them
WEIR_LIBRARY_FUNCTION(weir_kernel_qr);

/// operands: square matrices
/// results:  a function of each; real types lose what is imaginary
/// attributes: 0: the principal square root, 1: the principal logarithm, 2: e^a
WEIR_LIBRARY_FUNCTION(weir_kernel_matrix_function);

// Sequences: inputs [time, batch, classes], f32 or f64, and how long each is
// [batch], i32.

/// Connectionist temporal classification (Graves, 2006): the negative logarithm
/// of the labels' probability, and its gradient by the inputs, which are
/// logarithms without normalization.
/// operands: inputs, labels as a sparse matrix: places [n, 2] (i64) in order,
///           values [n] (i32); lengths
/// results:  loss [batch], gradient like the inputs
/// attributes: collapse repeated labels first (0 or 1), merge repeated outputs,
///           leave out what is too short for its labels (else an error), the
///           blank (-1: the last class, and labels that fill up with blanks)
WEIR_LIBRARY_FUNCTION(weir_kernel_ctc_loss);

/// The best class of each step, without blanks.
/// operands: inputs, lengths (below 0: 0); none for each of the batch, or one
///           that is longer than the inputs, is FAILED_PRECONDITION
/// results:  a sparse matrix: places [n, 2], values [n], shape [2], i64 all;
///           scores [batch, 1]: the picked inputs' negative sum
/// attributes: merge repeated classes (0 or 1), the blank (may be negative)
WEIR_LIBRARY_FUNCTION(weir_kernel_ctc_greedy);

/// The most probable prefixes of a search of limited width; the last class is
/// the blank.
/// operands: inputs, lengths, as above
/// results:  of each path the places, then of each the values, then the shapes;
///           logarithms of their probabilities [batch, paths]
/// attributes: merge repeated labels (0 or 1), width, paths
WEIR_LIBRARY_FUNCTION(weir_kernel_ctc_beam_search);

/// TensorFlow's summaries, serialized; one string each.
/// scalar:    tags, numbers of the same shape
/// histogram: tag (one string), numbers; NaN and infinity are INVALID_ARGUMENT
/// merge:     summaries…; a tag that is there twice is INVALID_ARGUMENT
WEIR_LIBRARY_FUNCTION(weir_kernel_scalar_summary);
WEIR_LIBRARY_FUNCTION(weir_kernel_histogram_summary);
WEIR_LIBRARY_FUNCTION(weir_kernel_merge_summary);

//===----------------------------------------------------------------------===//
// Lookup tables: maps from keys to values that a session keeps
//===----------------------------------------------------------------------===//

/// The first operand of all is the table's name, one string: "m" begins that of a
/// mutable one, any other letter that of one that is initialized once. A table
/// is made at its first use. The first attributes of all: rank and sizes of a
/// value.
/// find:   name, keys, default (one, or one for each key) -> values
/// insert: name, keys, values. Attribute: 1: these are all its entries; 3: and
///         nothing is done where it is initialized
/// remove: name, keys
/// size:   name -> one i64
/// export: name -> keys [n], values [n, …]
WEIR_LIBRARY_FUNCTION(weir_kernel_table_find);
WEIR_LIBRARY_FUNCTION(weir_kernel_table_insert);
WEIR_LIBRARY_FUNCTION(weir_kernel_table_remove);
WEIR_LIBRARY_FUNCTION(weir_kernel_table_size);
WEIR_LIBRARY_FUNCTION(weir_kernel_table_export);

//===----------------------------------------------------------------------===//
// Checkpoints, in TensorFlow's formats (docs/checkpoints.md)
//===----------------------------------------------------------------------===//

// Element types among the attributes are TensorFlow's numbers. A specification of a slice
// is "" (all of a tensor) or the shape of the whole and the slice: "7 4 0,3:-".

/// Writes a checkpoint, whole or not at all.
/// operands: its prefix (one string); names of tensors, slices (a string each); tensors…
/// attributes: the type of each tensor
/// TensorFlow SaveV2.
WEIR_LIBRARY_FUNCTION(weir_kernel_save);

/// The same in the old format, one file.
/// operands: its name; names of tensors; with slices these; tensors…
/// attributes: whether there are slices, the type of each tensor
/// TensorFlow Save, SaveSlices.
WEIR_LIBRARY_FUNCTION(weir_kernel_save_slices);

/// Tensors of a checkpoint. A shape that contradicts that of the result ends the run.
/// operands: its prefix, or a pattern of names of files of the old format; names of
///           tensors; slices (optional: all is whole)
/// results:  tensors
/// attributes: whether it is of the old format alone; of each tensor the type, and the code
///           that a run ends with where its shape is another
/// TensorFlow RestoreV2, Restore, RestoreSlice.
WEIR_LIBRARY_FUNCTION(weir_kernel_restore);

/// Makes one checkpoint of several.
/// operands: prefixes (a vector), the prefix that they become (a scalar)
/// attributes: whether to remove folders that are empty then, whether some may be missing
/// TensorFlow MergeV2Checkpoints.
WEIR_LIBRARY_FUNCTION(weir_kernel_merge_checkpoints);

/// "base-00003-of-00010", or without a number "base-?????-of-00010".
/// operands: base, number (optional), how many there are; all scalars
/// results:  one string
/// TensorFlow ShardedFilename, ShardedFilespec.
WEIR_LIBRARY_FUNCTION(weir_kernel_sharded_name);

/// Whether a variable of the session holds a value.
/// operands: its container, its name
/// results:  one bool
WEIR_LIBRARY_FUNCTION(weir_kernel_variable_is_initialized);

/// Takes a variable's value away.
/// operands: its container, its name
/// attributes: 1: one that holds none is no error; 0: it is NOT_FOUND
WEIR_LIBRARY_FUNCTION(weir_kernel_variable_destroy);

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

// Sequences are tensors of weir_tensor_ref of rank 1. What a kernel makes shares
// elements with its operands; a tensor that comes in is copied, in memory that
// lives until the run ends. Positions count from the end where negative; one
// that is outside is OUT_OF_RANGE. A *type* in the attributes is
// (dtype, rank, sizes…), -1 for a rank or size that is open; an element that has
// another one is INVALID_ARGUMENT.

/// A sequence of the operands.
/// operands: any number of tensors, sequences among them
/// results:  sequence
/// ONNX SequenceConstruct, SequenceEmpty, Optional.
WEIR_LIBRARY_FUNCTION(weir_kernel_sequence_construct);

/// One element.
/// operands: sequence, position
/// results:  a copy of the element
/// attributes: whether it is an optional (0 or 1), for the message; type
/// ONNX SequenceAt, OptionalGetElement.
WEIR_LIBRARY_FUNCTION(weir_kernel_sequence_at);

/// A sequence with one more element.
/// operands: sequence, tensor, position (optional: at the end)
/// results:  sequence
WEIR_LIBRARY_FUNCTION(weir_kernel_sequence_insert);

/// A sequence without one element.
/// operands: sequence, position (optional: the last)
/// results:  sequence
WEIR_LIBRARY_FUNCTION(weir_kernel_sequence_erase);

/// All elements put together along an axis.
/// operands: sequence
/// results:  tensor
/// attributes: axis (>= 0), whether it is a new one, whether there may be no
///           elements (the result is then empty, open sizes 0), type of elements
/// ONNX ConcatFromSequence, and outputs of Loop and Scan.
WEIR_LIBRARY_FUNCTION(weir_kernel_sequence_concat);

/// A tensor cut along an axis.
/// operands: data, and (optional: 1) the size of each part, or a vector of sizes
/// results:  sequence
/// attributes: axis (>= 0), whether parts of size 1 keep the axis
/// ONNX SplitToSequence.
WEIR_LIBRARY_FUNCTION(weir_kernel_sequence_split);

/// The sequence itself, once its elements are what an entry says they are.
/// operands: sequence
/// results:  sequence
/// attributes: levels of nesting; the most elements at each, -1: any; type
WEIR_LIBRARY_FUNCTION(weir_kernel_sequence_check);

#ifdef __cplusplus
}
#endif

#endif // WEIR_KERNELS_H
