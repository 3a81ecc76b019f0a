//===- cuda.h - what steps of NVIDIA GPUs share with the runtime -*- C -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of weir/abi.h that belongs to one kind of device.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_CUDA_H
#define WEIR_CUDA_H

#include "weir/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/// A number that a launch knows: `factor`, times those of the open sizes it is
/// launched with whose numbers `open` has, up to a -1.
typedef struct weir_extent {
  int64_t factor;
  int32_t open[4];
} weir_extent;

/// A matrix in one of a launch's buffers, or one for each batch.
typedef struct weir_cuda_matrix {
  int32_t buffer;     ///< -1: there is none
  int32_t transposed; ///< 1: what lies next to each other is a column
  weir_extent line;   ///< elements from one line to the next
  weir_extent batch;  ///< elements from one batch's matrix to the next
} weir_cuda_matrix;

typedef enum weir_cuda_activation {
  WEIR_CUDA_NO_ACTIVATION = 0,
  WEIR_CUDA_RELU = 1,
  WEIR_CUDA_GELU = 2 ///< by way of tanh
} weir_cuda_activation;

/// Operands in f32 may be rounded to TF32.
#define WEIR_CUDA_TF32 1

/// What weir_cuda_record::products are, ascending by kernel: what a library of
/// products may do in place of a kernel:
/// activation(scale * left * right + addend + bias), row-major and dense, with
/// sums in the wider of f32 and the operands' type. Then `rest`, a kernel of the
/// image, computes the kernel's results from that; its parameters are the
/// kernel's, and then the product.
typedef struct weir_cuda_product {
  uint32_t size;
  int32_t kernel;       ///< index into weir_program_desc::kernels
  int32_t dtype;        ///< of left and right
  int32_t result_dtype; ///< of the product, of addend and bias
  int32_t activation;   ///< weir_cuda_activation
  int32_t flags;        ///< WEIR_CUDA_TF32
  int32_t bias;         ///< buffer with a number for each column, -1: none
  int32_t result;       ///< buffer that gets it; -1: memory that only `rest` reads
  double scale;
  weir_extent rows, columns, depth, batches;
  weir_cuda_matrix left;   ///< rows x depth
  weir_cuda_matrix right;  ///< depth x columns
  weir_cuda_matrix addend; ///< as the result: rows x columns, dense
  weir_extent rest_count;  ///< elements of the first result
  int32_t rest_elements;   ///< of them, a block's
  int32_t rest_threads;
  const char *rest; ///< null: nothing is left to compute
} weir_cuda_product;

/// A kernel that does nothing, in code whose kernels wait for those that were put before
/// them, before they touch memory.
#define WEIR_CUDA_WAITS "weir_kernels_wait"

/// A description of a tensor for the copy engine (CUtensorMap): bytes.
#define WEIR_CUDA_MAP_BYTES 128

/// How a convolution's windows are lines of a product: images are [batch, height, width,
/// channels], the filter [rows, columns, channels, outputs]; rows first in each pair.
typedef struct weir_cuda_window {
  int32_t is_used; ///< 0: the operands are matrices
  int32_t size[2], strides[2], dilations[2], pads[2], pads_behind[2];
  int32_t reserved;
  weir_extent images[4]; ///< sizes
} weir_cuda_window;

/// A tensor as the copy engine reads it, innermost dimension first: sizes, from the second
/// dimension on elements from one index to the next, and how much of each a box has.
typedef struct weir_cuda_engine_tensor {
  int32_t buffer, rank;
  int64_t offset; ///< bytes from the buffer's begin
  weir_extent sizes[5], strides[4];
  int32_t box[5];
  int32_t reserved;
} weir_cuda_engine_tensor;

typedef enum weir_cuda_wide_kind {
  WEIR_CUDA_WIDE_PRODUCT = 0,
  WEIR_CUDA_WIDE_ATTENTION = 1
} weir_cuda_wide_kind;

/// What weir_cuda_record::wide_products are, ascending by kernel: a function of the
/// image that does what a kernel does, where it is there (in code for sm_90a alone), and
/// operands lie so that the copy engine reads them: lines and batches begin at multiples of 16
/// bytes. As many blocks as the GPU has multiprocessors go along all tiles. Its parameters are
/// the kernel's, and behind them descriptions of operands.
///
/// Of a product these are left and right. A box of a description is 128 bytes wide; it has as
/// many lines as the tile has rows (columns), or 64 where these lie next to each other. Of a
/// convolution's images a box is 128 bytes of channels of as many positions as the tile has
/// rows; places of the filter's window are its batches.
///
/// Of an attention they are queries, keys and values; a tile's rows are queries, and fewer than
/// half a tile of these are the kernel's own.
typedef struct weir_cuda_wide_kernel {
  uint32_t size;
  int32_t kernel;                  ///< index into weir_program_desc::kernels
  int32_t dtype;                   ///< of left and right; right may be of another of as many bytes
  int32_t threads;                 ///< of a block
  int32_t shared;                  ///< bytes of memory that a block's threads share
  int32_t tile_rows, tile_columns; ///< of the result, a block's at a time
  int32_t kind;                    ///< weir_cuda_wide_kind
  weir_extent rows, columns, depth, batches; ///< of an attention the first and the last
  weir_cuda_matrix left;                     ///< rows x depth
  weir_cuda_matrix right;                    ///< depth x columns
  weir_cuda_window window;
  weir_cuda_engine_tensor heads[3]; ///< an attention's operands
  int32_t arrange_blocks, arrange_threads;
  const char *name;
  /// As weir_cuda_convolution::arrange, of a convolution of bytes, whose filter is read along the
  /// channels.
  const char *arrange;
} weir_cuda_wide_kernel;

/// A bias of zeros: the library has kernels for what follows a bias, and would
/// have to compile one where there is none.
#define WEIR_CUDA_ZEROS (-2)

/// What weir_cuda_record::convolutions are, ascending by kernel: what a library of
/// convolutions may do in place of a kernel:
/// activation(convolution of input and filter + addend + bias), dense tensors,
/// with sums in f32. `rest` as in weir_cuda_product.
typedef struct weir_cuda_convolution {
  uint32_t size;
  int32_t kernel;        ///< index into weir_program_desc::kernels
  int32_t dtype;         ///< of input and filter
  int32_t result_dtype;  ///< of the result, of addend and bias
  int32_t activation;    ///< WEIR_CUDA_NO_ACTIVATION or WEIR_CUDA_RELU
  int32_t flags;         ///< WEIR_CUDA_TF32
  int32_t input, filter; ///< buffers
  int32_t addend;        ///< buffer of the result's shape, -1: none
  /// Buffer with a number for each output channel; -1: none; WEIR_CUDA_ZEROS.
  int32_t bias;
  int32_t result;        ///< buffer that gets it; -1: memory that only `rest` reads
  int32_t channels_last; ///< 1: N S… C and S… I O; 0: N C S… and O I S…
  int32_t spatial;       ///< dimensions, 1 to 3
  int32_t groups;
  weir_extent batch, channels, outputs; ///< channels: the input's
  weir_extent sizes[3], window[3];
  int64_t strides[3], dilations[3], before[3], after[3];
  weir_extent rest_count;
  int32_t rest_elements, rest_threads;
  int32_t arrange_blocks, arrange_threads;
  const char *rest; ///< null: nothing is left to compute
  /// A kernel of the image that brings a filter from S… I O to O S… I: its
  /// parameters are a launch's, for the two. Null: as the library wants it.
  const char *arrange;
  const char *const *plans; ///< made by weirc for GPUs it was told of
  int64_t plan_count;
} weir_cuda_convolution;

typedef enum weir_cuda_pooling_kind {
  WEIR_CUDA_MAX_POOLING = 0,
  WEIR_CUDA_AVERAGE_INSIDE = 1, ///< over the elements inside of the input
  WEIR_CUDA_AVERAGE_PADDED = 2  ///< over all of the window
} weir_cuda_pooling_kind;

/// What weir_cuda_record::poolings are, ascending by kernel: what a library may do
/// in place of a kernel: one pooling of dense tensors, all sizes known, with sums in
/// f32. A NaN in a window is the window's maximum; every window has elements that are
/// inside.
typedef struct weir_cuda_pooling {
  uint32_t size;
  int32_t kernel;        ///< index into weir_program_desc::kernels
  int32_t dtype;         ///< of input and result
  int32_t kind;          ///< weir_cuda_pooling_kind
  int32_t input, result; ///< buffers
  int32_t channels_last; ///< 1: N S… C; 0: N C S…
  int32_t spatial;       ///< dimensions, 1 to 3
  int64_t batch, channels;
  int64_t sizes[3], window[3], results[3];
  int64_t strides[3], before[3], after[3];
  const char *const *plans; ///< made by weirc for GPUs it was told of
  int64_t plan_count;
} weir_cuda_pooling;

/// What weir_cuda_record::attentions are, ascending by kernel: what a library may
/// do in place of a kernel: softmax(scale Q Kᵀ + mask) V for each batch and head, all
/// sizes known. Logits and sums are in f32; weights are rounded to `dtype`. Distances are
/// in elements, from one batch, head and row to the next; rows are dense.
typedef struct weir_cuda_attention {
  uint32_t size;
  int32_t kernel;                ///< index into weir_program_desc::kernels
  int32_t dtype;                 ///< of queries, keys and values: f16 or bf16
  int32_t result_dtype;          ///< that, or f32
  int32_t queries, keys, values; ///< buffers
  int32_t mask;                  ///< buffer of numbers that are added, dense; -1: none
  int32_t mask_dtype;
  int32_t result; ///< buffer
  int32_t causal; ///< 1: a query looks at keys up to its own number
  float scale;
  int64_t batch, heads, query_count, key_count;
  int64_t head_size; ///< of queries and keys
  int64_t columns;   ///< of values and the result
  int64_t key_heads; ///< heads of keys and values, each for heads / key_heads
                     ///< of queries
  int64_t query_offset, key_offset,
      value_offset; ///< bytes from the buffers' begin
  int64_t query_distances[3], key_distances[3], value_distances[3], result_distances[3];
  int64_t mask_sizes[4];    ///< 1: the same for all
  const char *const *plans; ///< made by weirc for GPUs it was told of
  int64_t plan_count;
} weir_cuda_attention;

typedef enum weir_cuda_reduction {
  WEIR_CUDA_SUM = 0,
  WEIR_CUDA_PROD = 1,
  WEIR_CUDA_MAX = 2,
  WEIR_CUDA_MIN = 3
} weir_cuda_reduction;

/// What weir_cuda_record::collectives are: what several GPUs of one task
/// compute together where there is a library for it.
typedef struct weir_cuda_collective {
  uint32_t size;
  int32_t dtype;
  int32_t reduction; ///< weir_cuda_reduction
  int32_t receiver;  ///< 1 + the device that alone gets the result; 0: all of
                     ///< them do
  uint64_t devices;  ///< bit N: number N of weir_program_desc::devices takes part
  const char *node;
} weir_cuda_collective;

/// A phase of weir_cuda_phased: a kernel that it takes in.
typedef struct weir_cuda_phase {
  int32_t kernel; ///< a name's number in weir_accelerator_desc::kernels
  int32_t reserved;
} weir_cuda_phase;

/// What weir_cuda_record::phased are: a kernel that does the work of launches that follow each
/// other, one after the other, with a barrier of all of its blocks in between: they are to run at
/// the same time (a cooperative launch). Its parameters: a weir_cuda_error; where a word of 32 bits
/// lies that all launches which may be under way at one time have for themselves, 0 before the
/// first one; how many words of the table are in use; the table, by value. Each phase is there a
/// word (bits 0 to 15: its number; 16 to 31: words behind this one; 32 to 62: the launch's blocks),
/// and behind that the launch's parameters but for the error.
typedef struct weir_cuda_phased {
  uint32_t size;
  int32_t kernel;  ///< index into weir_program_desc::kernels: its own
  int32_t threads; ///< of a block
  int32_t words;   ///< of the table
  int32_t least;   ///< launches that are worth one
  int32_t reserved;
  const weir_cuda_phase *phases; ///< by number
  int64_t phase_count;
} weir_cuda_phased;

#define WEIR_CUDA_RECORD_VERSION 3

/// weir_accelerator_desc::record of a GPU. Arrays with nothing in them are null.
typedef struct weir_cuda_record {
  uint32_t size;
  uint32_t version; ///< WEIR_CUDA_RECORD_VERSION
  const weir_cuda_product *products;
  int64_t product_count;
  const weir_cuda_convolution *convolutions;
  int64_t convolution_count;
  const weir_cuda_pooling *poolings;
  int64_t pooling_count;
  const weir_cuda_attention *attentions;
  int64_t attention_count;
  const weir_cuda_wide_kernel *wide_products;
  int64_t wide_product_count;
  const weir_cuda_collective *collectives; ///< the same for all GPUs of a program
  int64_t collective_count;
  const weir_cuda_phased *phased;
  int64_t phased_count;
  /// A kernel of the image that brings what is assigned into the variable's next value,
  /// or the value before where the step has failed. Null: no kernel of the image fails.
  const char *assign;
} weir_cuda_record;

/// Threads in a block of weir_cuda_record::assign, each of which copies 16 bytes.
/// Its parameters: a weir_cuda_error, what is assigned, the value before, where to, and
/// how many times 16 bytes.
#define WEIR_CUDA_ASSIGN_THREADS 256

// Pointers are the GPU's. Calls put work in the order of the step and return;
// none waits for the GPU. Each returns 0 or an error.

/// What a kernel's threads leave when a check fails; their first parameter.
/// Zeroed before a run; read at its end.
typedef struct weir_cuda_error {
  int32_t taken; ///< 1: the rest is one thread's
  int32_t site;
  int64_t value0, value1;
} weir_cuda_error;

/// Launches kernel `kernel` (weir_program_desc::kernels) over `blocks` blocks of
/// `threads` threads. Its parameters are a weir_cuda_error, the buffers, the
/// sizes. blocks <= 0 launches nothing.
int32_t weir_cuda_launch(weir_context *ctx, int32_t kernel, void *const *buffers,
                         int32_t buffer_count, const int64_t *sizes, int32_t size_count,
                         int64_t blocks, int32_t threads);
/// How an attention's kernel can do without going along all keys in one block: a kernel
/// `part` whose blocks have `rows` queries and a part of the keys each, and leave `state`
/// numbers in f32 for each query, then a kernel `join`, a block for each query. Both are
/// names' numbers in weir_accelerator_desc::kernels, behind the program's own. Their
/// parameters are the kernel's, and behind them where the numbers lie, how many keys a
/// part has (the last one has the rest) and how many parts there are.
typedef struct weir_cuda_parts {
  int32_t part, join;
  int32_t threads, join_threads; ///< of a block
  int64_t rows;
  int64_t most_queries; ///< more are the kernel's own
  int64_t state;
  int64_t batches, queries, keys; ///< of this launch
} weir_cuda_parts;

/// As weir_cuda_launch, or by parts, where there are few queries and many keys.
int32_t weir_cuda_launch_parts(weir_context *ctx, int32_t kernel, void *const *buffers,
                               int32_t buffer_count, const int64_t *sizes, int32_t size_count,
                               int64_t blocks, int32_t threads, const weir_cuda_parts *parts);
/// How a kernel around one reduction, search for an extreme or scan can do without going along a
/// whole line in one block (or thread): a kernel `part` that combines each of the parts into which
/// lines are cut, and leaves `state` bytes of each, then a kernel `join`. Both are names' numbers
/// in weir_accelerator_desc::kernels. Their parameters are the kernel's, and behind them where the
/// states lie and how many parts a line has: equal ones, the last may be shorter.
typedef struct weir_cuda_split {
  int32_t part, join;
  int32_t threads, join_threads; ///< of a block
  int32_t across;                ///< 1: a thread has a part of a line; 0: a block
  int32_t joins_parts; ///< 1: `join` has as many blocks as `part`; 0: a warp for each line
  int64_t state;
  int64_t most_parts; ///< of a line
  int64_t lines;      ///< of this launch
  int64_t elements;   ///< of its largest operand
} weir_cuda_split;

/// As weir_cuda_launch, or in parts, where there are few long lines.
int32_t weir_cuda_launch_split(weir_context *ctx, int32_t kernel, void *const *buffers,
                               int32_t buffer_count, const int64_t *sizes, int32_t size_count,
                               int64_t blocks, int32_t threads, const weir_cuda_split *split);

/// What weir_cuda_sort::run does, one of: sorts elements, sorts items, ends a merge of items whose
/// steps are down to half a run.
typedef enum weir_cuda_sort_mode {
  WEIR_CUDA_SORT_ELEMENTS = 0,
  WEIR_CUDA_SORT_ITEMS = 1,
  WEIR_CUDA_END_MERGE = 3
} weir_cuda_sort_mode;

/// How lines that no block holds are sorted, as items of `item_bytes`, by kernels that are names'
/// numbers in weir_accelerator_desc::kernels, with parameters behind the launched kernel's own:
/// `run` (where items are read and written, how many a line has and will have, how many of a run
/// are left, weir_cuda_sort_mode) has a block for each run of `run_elements`, a power of two;
/// `merge` and `merges` (items, how many a line has, the distance of the first step as a power of
/// two, whether that mirrors) do one step of a merge and three, which do not mirror, with a thread
/// for two items and eight. The launched kernel comes last (items, how many a line has).
typedef struct weir_cuda_sort {
  int32_t run, merge, merges;
  int32_t threads, merge_threads; ///< of a block
  int32_t item_bytes;
  int64_t run_elements;
  int64_t lines, size, wanted; ///< of this launch: lines, their elements, and how many of them
                               ///< are wanted
} weir_cuda_sort;

/// Launches kernel `kernel` behind what sorts its lines. Out of memory: RESOURCE_EXHAUSTED with
/// the node's name.
int32_t weir_cuda_launch_sort(weir_context *ctx, int32_t kernel, void *const *buffers,
                              int32_t buffer_count, const int64_t *sizes, int32_t size_count,
                              int64_t blocks, int32_t threads, const weir_cuda_sort *sort);
/// As weir_rt_alloc and weir_rt_free, 256-byte aligned, in the step's order.
void *weir_cuda_alloc(weir_context *ctx, int64_t bytes, int32_t site);
void weir_cuda_free(weir_context *ctx, void *data);
/// Where a value of so many bytes that goes over a fetch's edge is to be
/// computed: in the caller's memory, where that is this GPU's, large enough and
/// apart from all feeds and other fetches; else at `planned`.
void *weir_cuda_fetch_place(weir_context *ctx, int32_t edge, int64_t bytes, void *planned);
/// The same where the caller's memory may be that of the feed which goes over edge `feed`, all of
/// it and no more: the kernel that computes the fetch leaves there what it does not change.
void *weir_cuda_fetch_over(weir_context *ctx, int32_t edge, int32_t feed, int64_t bytes,
                           void *planned);
/// In memory of its own where it cannot be at one of these places; `feed` -1: over no feed.
void *weir_cuda_alloc_fetch(weir_context *ctx, int32_t edge, int32_t feed, int64_t bytes,
                            int32_t site);
int32_t weir_cuda_copy(weir_context *ctx, void *to, const void *from, int64_t bytes);
/// Writes the low `bytes` (1, 2, 4 or 8) of `value`.
int32_t weir_cuda_store(weir_context *ctx, void *to, int32_t bytes, int64_t value);
/// As weir_rt_variable_read and weir_rt_variable_assign, for variables of
/// weir_accelerator_desc::slots. What is assigned is seen by the run at once, and by
/// others when the work that makes it has been put.
int32_t weir_cuda_variable_read(weir_context *ctx, int32_t slot, int32_t site, weir_tensor *out);
int32_t weir_cuda_variable_assign(weir_context *ctx, int32_t slot, int32_t site,
                                  const weir_tensor *value);
/// Memory of the size of the variable's values, which is its next value where the run
/// assigns just that, without a copy; nothing writes to it from then on. The run's
/// otherwise. Null: an error was recorded against `site`.
void *weir_cuda_variable_place(weir_context *ctx, int32_t slot, int32_t site);
/// Puts the work that was noted: what the step has assigned is seen by all others.
int32_t weir_cuda_publish(weir_context *ctx);
/// A loop whose condition, a byte, lies in the GPU's memory. The step puts its body once: the
/// first call returns 1; what is put until the second one, which returns 0, comes by for as long
/// as the condition holds, first and whenever it has come to its end. Loops that lie in each
/// other have different numbers. 0 also where the run has ended.
int32_t weir_cuda_loop(weir_context *ctx, int32_t loop, const void *condition);

enum {
  WEIR_CUDA_THEN = 0, ///< what is put from here on is done where the condition holds
  WEIR_CUDA_ELSE = 1, ///< the same, where it does not; may be left out
  WEIR_CUDA_END = 2
};
/// The sides of a conditional whose condition, a byte, lies in the GPU's memory, where it is
/// read at WEIR_CUDA_THEN. Returns 1, or 0 where the run has ended.
int32_t weir_cuda_branch(weir_context *ctx, int32_t way, const void *condition);
/// Begins to copy a value to place `slot` of the run in pinned memory, and back; work
/// in between and behind goes on. The copy back begins when the work before it is
/// done. At most one value is in a slot at a time.
int32_t weir_cuda_swap_out(weir_context *ctx, int32_t slot, const void *data, int64_t bytes);
int32_t weir_cuda_swap_in(weir_context *ctx, int32_t slot, void *data, int64_t bytes);
/// The work behind this begins when the copy is done: that out of slot N is number
/// 2 N, the last one back into the GPU's memory 2 N + 1.
int32_t weir_cuda_await_swap(weir_context *ctx, int32_t copy);
/// As weir_rt_send: the tensor is the receiver's when the copy has arrived.
int32_t weir_cuda_send(weir_context *ctx, int32_t edge, int64_t iteration,
                       const weir_tensor *value);
/// The same to another GPU, whose step takes the tensor with weir_cuda_receive: by a
/// copy from GPU to GPU where both are of this process and can reach each other.
int32_t weir_cuda_send_peer(weir_context *ctx, int32_t edge, int64_t iteration,
                            const weir_tensor *value);
/// As weir_rt_receive, into memory of the GPU that is freed by weir_cuda_free.
int32_t weir_cuda_receive(weir_context *ctx, int32_t edge, int64_t iteration, weir_tensor *out);
/// Whether the GPUs of collective `collective` compute it together in this session,
/// or else the step goes another way: the same for all of them.
int32_t weir_cuda_has_collective(weir_context *ctx, int32_t collective);
/// This GPU gives `count` elements and wants the reduction of what all give in
/// `result`; null where another one alone gets it. Work that is put behind this goes on beside
/// it, until weir_cuda_await_reduce.
int32_t weir_cuda_all_reduce(weir_context *ctx, int32_t collective, const void *value, void *result,
                             int64_t count);
/// Returns 1 when all have come, or this GPU has given nothing since it waited last; else 0, and
/// resumes `coroutine` when they have. Its rules are weir_rt_receive_ready's.
int32_t weir_cuda_await_reduce_ready(weir_context *ctx, int32_t collective, void *coroutine);
/// Behind that: the work behind this finds the reduction.
int32_t weir_cuda_await_reduce(weir_context *ctx, int32_t collective);
/// Returns 1 when the GPU has done all of the step; else 0, and resumes
/// `coroutine` when it has. Its rules are weir_rt_receive_ready's.
int32_t weir_cuda_finish_ready(weir_context *ctx, void *coroutine);
/// Ends the step that would return `code`: returns that, or what the GPU found.
int32_t weir_cuda_finish(weir_context *ctx, int32_t code);

/// For weirc: a plan for weir_cuda_convolution::plans, made by the cuDNN of this
/// machine. `desc` has no open sizes; `profile` is the library's own description
/// of a GPU (JSON). Null: `why` (static storage) says what is missing; with a null
/// `desc`, which asks for library and profile alone, it is null if nothing is.
/// free() frees the text. Thread-safe; needs no GPU.
char *weir_cuda_plan_convolution(const weir_cuda_convolution *desc, const char *profile,
                                 const char **why);
/// The same for weir_cuda_pooling::plans and weir_cuda_attention::plans.
char *weir_cuda_plan_pooling(const weir_cuda_pooling *desc, const char *profile, const char **why);
char *weir_cuda_plan_attention(const weir_cuda_attention *desc, const char *profile,
                               const char **why);
/// The profile of this machine's first GPU, in cuDNN's words. As above.
char *weir_cuda_profile(const char **why);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif // WEIR_CUDA_H
