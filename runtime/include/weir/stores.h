//===- stores.h - queues, staging areas, barriers, accumulators -*- C -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Library functions on what the runs of a session hand to each other beside
// variables, in the form of weir/kernels.h. Semantics are TensorFlow's. The first
// operand is always the store's name, one string; a store is made at its first
// use, and all that name it must say the same of it. What may have to wait gives a
// ticket (one i64), which the step hands to weir_rt_wait_ready, and then to the
// store's `finish`; each once.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_STORES_H
#define WEIR_STORES_H

#include "weir/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

//===----------------------------------------------------------------------===//
// Queues: tuples of tensors that a session keeps, in order
//===----------------------------------------------------------------------===//

/// In what order elements are taken: as they came, with sizes that may differ
/// (padding), at random, or by a priority, an i64 that is the first component,
/// the least first.
typedef enum weir_queue_kind {
  WEIR_QUEUE_FIFO = 0,
  WEIR_QUEUE_PADDING = 1,
  WEIR_QUEUE_SHUFFLE = 2,
  WEIR_QUEUE_PRIORITY = 3
} weir_queue_kind;

/// The first operand is the queue's name, one string; it is made at its first
/// use. Attributes, of all alike: mode, kind, capacity (-1: no limit), elements
/// that stay behind (shuffle), seed, number of components, and for each its
/// rank
/// (-1: any) and sizes (-1: any), and then for each a number that stands for its
/// type. Sizes are those of an element. All that name a queue must say the same.
/// What may have to wait gives a ticket (one i64), which the step hands to
/// weir_rt_wait_ready, and then to `finish`; each once.
/// enqueue: name, components -> ticket. Mode 1: the components are batches
/// dequeue: name -> ticket; modes 1 and 2: name, number -> ticket, a batch; of
///          a closed queue in mode 2 also a smaller one
/// close:   name -> ticket. Mode 1: who waits to enqueue fails
/// finish:  ticket -> what dequeue is to give. Attributes as above
/// size, is_closed: name -> one i32, one bool
WEIR_LIBRARY_FUNCTION(weir_kernel_queue_enqueue);
WEIR_LIBRARY_FUNCTION(weir_kernel_queue_dequeue);
WEIR_LIBRARY_FUNCTION(weir_kernel_queue_close);
WEIR_LIBRARY_FUNCTION(weir_kernel_queue_finish);
WEIR_LIBRARY_FUNCTION(weir_kernel_queue_size);
WEIR_LIBRARY_FUNCTION(weir_kernel_queue_is_closed);

//===----------------------------------------------------------------------===//
// Staging areas: tuples in the order they came, or by key
//===----------------------------------------------------------------------===//

/// What is taken where no key is named: the first that came, the last, or the
/// one of the smallest key.
typedef enum weir_stage_kind {
  WEIR_STAGE_FIFO = 0,
  WEIR_STAGE_MAP = 1,
  WEIR_STAGE_ORDERED_MAP = 2
} weir_stage_kind;

/// Attributes of all: kind, tuples that it holds at most (0: no limit), bytes
/// that they have at most (0: no limit), components of a tuple.
/// put:    name, components -> ticket; of a map: name, key (one i64), the
///         components' numbers (i32, ascending), components -> ticket. A tuple that
///         lacks components is incomplete until others have given them
/// take:   name -> ticket; of a map: name, numbers -> ticket (any key), or name,
///         key, numbers -> ticket. One more attribute: 1: what is taken stays
///         (FIFO: name, place from the front -> ticket)
/// finish: take's ticket -> components; of any key: key, components.
///         put's ticket -> nothing
/// size:   name -> one i32. One more attribute: 1: of incomplete tuples
/// clear:  name
WEIR_LIBRARY_FUNCTION(weir_kernel_stage_put);
WEIR_LIBRARY_FUNCTION(weir_kernel_stage_take);
WEIR_LIBRARY_FUNCTION(weir_kernel_stage_finish);
WEIR_LIBRARY_FUNCTION(weir_kernel_stage_size);
WEIR_LIBRARY_FUNCTION(weir_kernel_stage_clear);

//===----------------------------------------------------------------------===//
// Barriers: tuples whose components come one by one, under a key
//===----------------------------------------------------------------------===//

/// Attributes of all are a queue's, that of complete tuples: of
/// the kind of priorities, its components a number (i64) that says when the key
/// came first, the key (a string), the values. The mode is the call's own.
/// insert: name, keys (a vector), a batch of values. Mode: the component's number
/// take:   name, number of tuples -> ticket, for weir_kernel_queue_finish.
///         Mode 2: of a closed barrier also fewer; else mode 1
/// close:  name. Mode 1: incomplete tuples are dropped
/// size:   name -> one i32. Mode 0: of complete tuples, 1: of incomplete ones
WEIR_LIBRARY_FUNCTION(weir_kernel_barrier_insert);
WEIR_LIBRARY_FUNCTION(weir_kernel_barrier_take);
WEIR_LIBRARY_FUNCTION(weir_kernel_barrier_close);
WEIR_LIBRARY_FUNCTION(weir_kernel_barrier_size);

//===----------------------------------------------------------------------===//
// Conditional accumulators: sums of gradients, given away when enough have come
//===----------------------------------------------------------------------===//

/// Attributes of all: 1: sparse, 1: the mean is given (0: the sum), rank (-1: any),
/// sizes (-1: any). Gradients are f16, f32 or f64.
/// apply:  name, step (i64), gradient; sparse: name, step, indices (i64), values,
///         shape (empty: not known). A gradient of a step before the accumulator's
///         own is dropped
/// take:   name, number -> ticket: waits until that many gradients have come
/// finish: ticket -> their mean or sum; sparse: indices, values, shape
/// size:   name -> one i32: gradients since the last take
/// step:   name, step (i64): sets the accumulator's
WEIR_LIBRARY_FUNCTION(weir_kernel_accumulator_apply);
WEIR_LIBRARY_FUNCTION(weir_kernel_accumulator_take);
WEIR_LIBRARY_FUNCTION(weir_kernel_accumulator_finish);
WEIR_LIBRARY_FUNCTION(weir_kernel_accumulator_size);
WEIR_LIBRARY_FUNCTION(weir_kernel_accumulator_step);

//===----------------------------------------------------------------------===//
// Text for people
//===----------------------------------------------------------------------===//

/// Writes a text, tensors and an end, each tensor in brackets.
/// operands: the node's name, the text, the end, a file's name, tensors
/// attributes: 1: to stdout, 2: to stderr, 3: behind what the file has; elements shown of
///           each tensor (negative: all); how many runs of a session write (negative: all)
/// TensorFlow Print, PrintV2.
WEIR_LIBRARY_FUNCTION(weir_kernel_print);

#ifdef __cplusplus
}
#endif

#endif // WEIR_STORES_H
