//===- datasets.h - input pipelines -----------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Library functions on data sets, in the form of weir/kernels.h. Semantics are
// TensorFlow's (tf.data). A data set is a value: a sequence whose first element has the
// attributes of weir_kernel_dataset, and the others its operands, data sets among
// them. Nothing is read before something iterates over it. Functions that elements
// go through are functions of the program (weir_program_desc::hidden_entry_count
// says how many of them lie behind its entries), given
// by name.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DATASETS_H
#define WEIR_DATASETS_H

#include "weir/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What a data set is made of, and its parameters. Elements are tuples of tensors.
/// `f`: it has a function, which takes an element's components.
typedef enum weir_dataset_kind {
  WEIR_DATASET_TENSORS = 0, ///< components: one element
  WEIR_DATASET_SLICES = 1,  ///< components: along their first dimension
  WEIR_DATASET_RANGE = 2,   ///< start, stop, step (i64), a scalar of the elements' type
  WEIR_DATASET_RECORDS = 3, ///< files, compression, offsets (may be empty)
  WEIR_DATASET_LINES = 4,   ///< files, compression
  WEIR_DATASET_FIXED = 5,   ///< files, header, record, footer (bytes), compression
  WEIR_DATASET_MAP = 6,     ///< f; calls at a time (-1: as many as threads). Option 1:
                            ///< an end within f is an error
  WEIR_DATASET_BATCH = 7,   ///< size, whether a smaller rest is dropped
  WEIR_DATASET_PADDED = 8,  ///< size, drops, shapes, values to pad with
  WEIR_DATASET_SHUFFLE = 9, ///< buffer (-1: all), name of a seed generator
  WEIR_DATASET_REPEAT = 10, ///< count (below 0: without end)
  WEIR_DATASET_TAKE = 11,   ///< count (below 0: all)
  WEIR_DATASET_SKIP = 12,   ///< count (below 0: all)
  WEIR_DATASET_ZIP = 13,    ///< of all that it has
  WEIR_DATASET_CONCATENATE = 14,
  WEIR_DATASET_INTERLEAVE = 15, ///< f gives a data set; cycle, block, calls at a time
  WEIR_DATASET_FILTER = 16,     ///< f gives a truth
  WEIR_DATASET_SCAN = 17,       ///< f: state, element -> state, element; the first state.
                                ///< Option: as MAP's
  WEIR_DATASET_TAKE_WHILE = 18, ///< f gives a truth
  WEIR_DATASET_PREFETCH = 19,   ///< elements (-1: as many as threads and one)
  WEIR_DATASET_CACHE = 20,      ///< name of a file: must be empty
  WEIR_DATASET_SHARD = 21,      ///< of how many, which. Option 1: fewer elements are an error
  WEIR_DATASET_UNBATCH = 22
} weir_dataset_kind;

/// Attributes: kind, option, data sets among the operands, 1: there is a function,
/// operands that the function takes besides elements, bits of results of the function
/// that it gives as sequences of one tensor; what follows is the compiler's.
/// Operands: data sets, the function's name, parameters, what the function takes
/// besides. Result: the data set. Parameters that cannot be are INVALID_ARGUMENT.
WEIR_LIBRARY_FUNCTION(weir_kernel_dataset);
/// data set -> one i64: its elements, -1: without end, -2: nobody can tell
WEIR_LIBRARY_FUNCTION(weir_kernel_dataset_cardinality);
/// data set, function, states, what the function takes besides -> ticket for
/// weir_kernel_dataset_finish, which gives the last states. Attributes: number of
/// states, bits as above
WEIR_LIBRARY_FUNCTION(weir_kernel_dataset_reduce);
/// data set -> ticket for weir_kernel_dataset_finish, which gives its only element
WEIR_LIBRARY_FUNCTION(weir_kernel_dataset_single);
WEIR_LIBRARY_FUNCTION(weir_kernel_dataset_finish);

/// name, seed, seed2 (i64). Attribute 1: each iteration draws seeds of its own. Begins
/// anew in each call; who iterates already keeps what he has
WEIR_LIBRARY_FUNCTION(weir_kernel_seed_generator);

/// name of an operation, number of blocks of random bits -> how many it has drawn before
WEIR_LIBRARY_FUNCTION(weir_kernel_random_reserve);

/// Iterators are kept by the session under a name, the first operand of all.
/// make:      name, data set: it begins, with the first element
/// make_once: name, function without operands that gives a data set; only where it was not
///            made yet
/// anonymous: -> a name; it ends with the run
/// next:      name -> ticket, for weir_kernel_iterator_finish
/// finish:    ticket -> components of the next element; OUT_OF_RANGE at the end.
///            Attribute 1: a sequence of them, which is empty at the end
/// drop:      name
WEIR_LIBRARY_FUNCTION(weir_kernel_iterator_make);
WEIR_LIBRARY_FUNCTION(weir_kernel_iterator_make_once);
WEIR_LIBRARY_FUNCTION(weir_kernel_iterator_anonymous);
WEIR_LIBRARY_FUNCTION(weir_kernel_iterator_next);
WEIR_LIBRARY_FUNCTION(weir_kernel_iterator_finish);
WEIR_LIBRARY_FUNCTION(weir_kernel_iterator_drop);
/// What such a sequence holds -> components; an empty one is INVALID_ARGUMENT
WEIR_LIBRARY_FUNCTION(weir_kernel_optional_values);

#ifdef __cplusplus
}
#endif

#endif // WEIR_DATASETS_H
