//===- abi.h - what generated code and the runtime agree on ------*- C -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The contract between objects that weirc emits and libweir_runtime. It is the
// only runtime header that the compiler includes: it reads the layouts below to
// emit loads and stores, and the prototypes to emit calls. Users of a compiled
// model include weir/weir.h (or the model's own header), never this one.
//
// Compatibility: WEIR_ABI_VERSION changes when a layout or the meaning of a
// field changes. Structures only grow at their end; each begins with its size,
// so that a newer runtime reads an older object. docs/runtime-abi.md tells the
// story.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_ABI_H
#define WEIR_ABI_H

#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_ABI_VERSION 3
/// The oldest that this runtime reads. What changed with 2: weir_accelerator_desc; objects
/// of before load where they have code for CPUs alone. With 3: WEIR_INITIAL_ZEROS.
#define WEIR_ABI_OLDEST 1
#define WEIR_ABI_OLDEST_ACCELERATORS 2

struct weir_run;

/// What generated code sees of a run on one device. Owned by the runtime, one
/// for each (run, device); generated code only reads the fields.
typedef struct weir_context {
  uint32_t size;            ///< sizeof(weir_context)
  uint32_t device;          ///< index into weir_program_desc::devices
  uint8_t *arena;           ///< this run's planned arena, as long as its entry needs
  const uint8_t *blobs;     ///< the program's constants (weir_program_desc::blobs)
  const weir_tensor *feeds; ///< the entry's feeds, in the entry's order, checked
  struct weir_run *run;     ///< opaque
  int64_t step;             ///< number of this run in its session, from 0
  /// The accelerator's copy of the constants that its steps use; null on the
  /// host. `arena` is in the accelerator's memory, too.
  const uint8_t *device_blobs;
} weir_context;

/// A kernel: computes the part [begin, end) of its outermost parallel loop.
/// `buffers` are its operands and then its results, `dims` the sizes that the
/// kernel declared dynamic. Allocates nothing, throws nothing, writes only its
/// results. Returns 0, or what weir_rt_error returned.
typedef int32_t (*weir_kernel_fn)(weir_context *ctx, void *const *buffers, const int64_t *dims,
                                  int64_t begin, int64_t end);

/// A step: all that one device does in one run. Returns 0, an error code from a
/// weir_rt_* function, or WEIR_PENDING when it suspended itself in a wait: then
/// it has left its coroutine handle with the runtime (weir_rt_await), which
/// resumes it, and it ends with weir_rt_step_done.
typedef int32_t (*weir_step_fn)(weir_context *ctx);

#define WEIR_PENDING (-1)

// weir_library_fn (weir.h): a kernel that no generator should write (sort,
// unique, strings, a user's custom operation), called through weir_rt_library
// or weir_rt_custom. Results whose `data` is null on entry are allocated by the
// callee with weir_custom_alloc and described by it; dtype is given, dims as far
// as known (-1: not). The caller owns them from then on. `attributes` are the
// integers that the function documents; weir/kernels.h has those of the runtime.

//===----------------------------------------------------------------------===//
// Program descriptors, read-only data of the object
//===----------------------------------------------------------------------===//

/// A place in the program that can fail at run time. `message` may hold {0} and
/// {1}: the two values that weir_rt_error was given.
typedef struct weir_error_site {
  const char *node;      ///< node name in the model file
  const char *operation; ///< operation name, as the model file spells it
  const char *message;
  int32_t code; ///< weir_code
  int32_t reserved;
} weir_error_site;

typedef struct weir_kernel_desc {
  const char *name;  ///< kernel symbol: operation, type, shape
  const char *nodes; ///< names of the nodes it serves, separated by ';'
  int64_t flops;     ///< floating-point operations of a launch, -1: unknown
  int64_t bytes;     ///< bytes read and written by a launch, -1: unknown
} weir_kernel_desc;

/// What a kernel's launch makes, for who observes it.
typedef struct weir_result_desc {
  const char *node; ///< whose value it is, in the model file
  int32_t dtype, rank;
  const int64_t *dims;  ///< -1: open
  const int32_t *sizes; ///< of an open one its place in the launch's `dims`, else -1
  int64_t element_bytes;
} weir_result_desc;

/// By kernel: a launch's buffers are so many operands, and then these.
typedef struct weir_launch_desc {
  int32_t operand_count, result_count;
  const weir_result_desc *results;
} weir_launch_desc;

/// A feed or a fetch. dims[i] is -1 where the size is not fixed; then lower[i]
/// and upper[i] bound it (upper -1: no bound).
typedef struct weir_tensor_desc {
  const char *name;
  int32_t dtype;
  int32_t rank; ///< -1: unknown
  const int64_t *dims;
  const int64_t *lower;
  const int64_t *upper;
  /// For each dimension the number of its symbol, or -1; dimensions of one
  /// entry that share a symbol must be equal at run time. Null: none.
  const int32_t *symbols;
} weir_tensor_desc;

/// A variable, queue or other state, which lives in the session.
typedef struct weir_slot_desc {
  const char *name;      ///< node name
  const char *container; ///< "" for the default container
  const char *shared_name;
  int32_t kind; ///< weir_slot_kind
  int32_t dtype;
  int32_t rank;  ///< -1: unknown
  int32_t flags; ///< WEIR_SLOT_COPY, WEIR_SLOT_PART or 0, and the device (WEIR_SLOT_DEVICE_SHIFT)
  const int64_t *dims;
  /// Offset of the initial value in the blobs, -1: none, WEIR_INITIAL_ZEROS: zeros, which
  /// the blobs do not have. Strings are their sizes, an int64_t each, and then their
  /// contents.
  int64_t initial;
  int64_t initial_bytes;
} weir_slot_desc;

#define WEIR_INITIAL_ZEROS (-2)

/// A replica's copy of the variable of this name that is no copy: checkpoints have it
/// once, under that name.
#define WEIR_SLOT_COPY 1
/// The variable holds one of equal parts of a value, as many as there are slots with this flag and
/// its name: the n-th, where its container is "replica_n", the first, where it has none.
/// Checkpoints have slices of one tensor, under that name.
#define WEIR_SLOT_PART 2
/// Four bits: the dimension along which parts follow each other.
#define WEIR_SLOT_AXIS_SHIFT 2
/// From this bit of the flags on: the number of the device whose step uses the variable,
/// plus one; 0: an object of before says nothing of it.
#define WEIR_SLOT_DEVICE_SHIFT 8

typedef enum weir_slot_kind { WEIR_SLOT_VARIABLE = 0 } weir_slot_kind;

typedef struct weir_device_desc {
  const char *name;    ///< /job:…/device:CPU:0
  int64_t arena_bytes; ///< planned arena of the largest entry
  int64_t arena_align;
} weir_device_desc;

typedef struct weir_entry_desc {
  const char *name;
  int32_t feed_count, fetch_count;
  const weir_tensor_desc *feeds;
  const weir_tensor_desc *fetches;
  const weir_step_fn *steps; ///< one a device of the program, null: idle
  int64_t edge_count;        ///< rendezvous edges of this entry
} weir_entry_desc;

/// A tensor that crosses from one device to another.
typedef struct weir_edge_desc {
  const char *name;            ///< readable rendezvous key, stable between compilations
  int32_t source, destination; ///< devices
} weir_edge_desc;

/// What devices do together in a collective.
typedef enum weir_collective_kind {
  WEIR_ALL_REDUCE,     ///< each gives a tensor, and gets the reduction of all
  WEIR_REDUCE_SCATTER, ///< the same, of which rank i gets the i-th part along the first dimension
  WEIR_ALL_GATHER,     ///< each gets what all give, one behind the other in the first dimension
  WEIR_BROADCAST       ///< each gets what rank 0 gives; the others give any tensor of that type
} weir_collective_kind;

typedef enum weir_reduction {
  WEIR_REDUCE_SUM,
  WEIR_REDUCE_PROD,
  WEIR_REDUCE_MAX,
  WEIR_REDUCE_MIN
} weir_reduction;

/// A device's part in a collective. Its step sends what it gives over `input` and
/// receives what it gets over `output`, in iteration 0: edges from the device to
/// itself. The others carry what goes between devices meanwhile.
typedef struct weir_collective_rank {
  int32_t device;
  int32_t input, output;
  int32_t ring;     ///< to the next rank's device, of the last to the first's
  int32_t up, down; ///< to the rank's parent in the tree, and from it; -1: rank 0
} weir_collective_rank;

/// The parent of rank r is r without its lowest bit that is set.
typedef struct weir_collective_desc {
  const char *node;
  int32_t entry;
  int32_t kind;      ///< weir_collective_kind
  int32_t reduction; ///< weir_reduction
  int32_t count;
  const weir_collective_rank *ranks;
} weir_collective_desc;

/// What computes collectives; an object that has some names it, which links it.
struct weir_collective_driver;

/// A custom operation that the program calls through weir_rt_custom. Looked up
/// when a session is made: in weir_session_options::functions, by `name`, then
/// `fallback`; neither is NOT_FOUND, naming `nodes`.
typedef struct weir_custom_desc {
  const char *name;         ///< operation name
  const char *nodes;        ///< names of the nodes that are one, by ';'
  weir_library_fn fallback; ///< a function linked in under its name, or null
} weir_custom_desc;

/// A piece of the blobs that an accelerator has a copy of.
typedef struct weir_blob_segment {
  int64_t source, bytes; ///< in the program's blobs
  int64_t target;        ///< in the accelerator's copy
} weir_blob_segment;

/// The runtime's functions for a kind of accelerator; an object names its table,
/// which links them.
struct weir_device_driver;

/// A feed (fetch) that nobody but an accelerator takes (makes): it crosses over `edge` and
/// no other.
typedef struct weir_direct_edge {
  int32_t entry, index;
  int32_t edge;
  int32_t is_fetch;
} weir_direct_edge;

/// What the back end of a kind of device lays out and its driver reads, and nobody else:
/// what libraries may do in place of kernels, say. Begins with these two, which the driver
/// compares with its own before it reads on. Versions are the kind's.
typedef struct weir_device_record {
  uint32_t size;
  uint32_t version;
} weir_device_record;

/// What an object has for a device that is no CPU. The entry's own step does the
/// same on the host: it runs where the device is missing.
typedef struct weir_accelerator_desc {
  uint32_t size;
  int32_t device; ///< index into weir_program_desc::devices
  const struct weir_device_driver *driver;
  const void *image; ///< code that the driver loads
  int64_t image_bytes;
  const weir_step_fn *steps;  ///< one an entry, null: idle
  const char *const *kernels; ///< name in the image by kernel, null: none
  const weir_blob_segment *segments;
  int64_t segment_count;
  int64_t segment_bytes; ///< of the copy
  const weir_direct_edge *direct;
  int64_t direct_count;
  /// Variables, by index into weir_program_desc::slots, that only this device's
  /// steps read and assign: their values lie in its memory.
  const int32_t *slots;
  int64_t slot_count;
  const struct weir_device_record *record; ///< null: none
} weir_accelerator_desc;

/// Ends a weights file: its bytes [0, blob_bytes) are the program's blobs, then
/// come zeros up to a multiple of 64, then this. A session refuses a file whose
/// trailer does not fit the program.
typedef struct weir_weights_trailer {
  char magic[8]; ///< WEIR_WEIGHTS_MAGIC, without its zero
  uint64_t hash[2];
  int64_t blob_bytes;
} weir_weights_trailer;

#define WEIR_WEIGHTS_MAGIC "WEIRWTS1"

/// What an object describes. `size` and `abi_version` are checked when a
/// session is made.
struct weir_program_desc {
  uint32_t size;
  uint32_t abi_version;
  const char *name;
  const char *compiler;           ///< version of weirc
  uint64_t hash[2];               ///< of the model and the flags
  uint64_t required_cpu_features; ///< WEIR_CPU_…
  int32_t default_threads;        ///< 0: as many as the machine has
  int32_t device_count, entry_count, slot_count, site_count, kernel_count, edge_count;
  /// Entries behind the first `entry_count` that library functions run, and no caller
  /// (weir/datasets.h).
  int32_t hidden_entry_count;
  const weir_device_desc *devices;
  const weir_entry_desc *entries;
  const weir_slot_desc *slots;
  const weir_error_site *sites;
  const weir_kernel_desc *kernels;
  const weir_edge_desc *edges;
  const uint8_t *blobs;
  int64_t blob_bytes;
  const char *weights_file;        ///< non-null: the blobs lie in this file instead
  const weir_custom_desc *customs; ///< custom operations called by name
  int64_t custom_count;
  const weir_accelerator_desc *accelerators;
  int64_t accelerator_count;
  /// The processor that the code is for, as --cpu spells it; null where the
  /// object has code for one only.
  const char *cpu;
  /// The same program for other processors, the most demanding first. A session
  /// takes the first that the machine has all features for, else this one. All
  /// have this one's hash, name, blobs, and whatever a user sees of a program
  /// but the arenas' sizes; none has variants.
  const struct weir_program_desc *const *variants;
  int64_t variant_count;
  /// What reports of memory call a run's planned arena, by device: whose values
  /// take most of it when it is fullest.
  const char *const *arena_tags;
  const weir_collective_desc *collectives;
  int64_t collective_count;
  const struct weir_collective_driver *collective_driver;
  /// One more than the device that alone reads and assigns all variables that are no
  /// copies, in a program of replicas; 0: none.
  int32_t state_device;
  /// Variables of the model that are constants of the program, as no entry changes them.
  int32_t frozen_count;
  const weir_launch_desc *launches; ///< by kernel; null: nothing is known
  /// By entry, and then by device: bytes of the arena that the entry's step uses. Null: all.
  const int64_t *entry_arenas;
  /// By entry: of each fetch one more than the feed whose memory it may have, 0: none. Null: no
  /// fetch may.
  const int64_t *const *over_feed;
};

/// Features that an object may need. What weirc turns on beyond these lines it
/// must turn off, or the runtime cannot refuse in time: WEIR_CPU_OTHER checks
/// nothing. WEIR_CPU_AVX512 is F, CD, BW, DQ and VL, as in x86-64-v4. An enum of C
/// has 32 bits, hence macros.
#define WEIR_CPU_SSE42 (UINT64_C(1) << 0)
#define WEIR_CPU_AVX (UINT64_C(1) << 1)
#define WEIR_CPU_AVX2 (UINT64_C(1) << 2)
#define WEIR_CPU_FMA (UINT64_C(1) << 3)
#define WEIR_CPU_F16C (UINT64_C(1) << 4)
#define WEIR_CPU_BMI2 (UINT64_C(1) << 5)
#define WEIR_CPU_AVX512 (UINT64_C(1) << 6)
#define WEIR_CPU_AVX512_VNNI (UINT64_C(1) << 7)
#define WEIR_CPU_AVX512_BF16 (UINT64_C(1) << 8)
#define WEIR_CPU_AVX512_FP16 (UINT64_C(1) << 9)
#define WEIR_CPU_AMX_BF16 (UINT64_C(1) << 10)
#define WEIR_CPU_AMX_INT8 (UINT64_C(1) << 11)
#define WEIR_CPU_OTHER (UINT64_C(1) << 12)
#define WEIR_CPU_POPCNT (UINT64_C(1) << 13)
#define WEIR_CPU_LZCNT (UINT64_C(1) << 14)
#define WEIR_CPU_BMI1 (UINT64_C(1) << 15)
#define WEIR_CPU_MOVBE (UINT64_C(1) << 16)
#define WEIR_CPU_ADX (UINT64_C(1) << 17)
#define WEIR_CPU_AES (UINT64_C(1) << 18)
#define WEIR_CPU_PCLMUL (UINT64_C(1) << 19)
#define WEIR_CPU_SHA (UINT64_C(1) << 20)
#define WEIR_CPU_RDRND (UINT64_C(1) << 21)
#define WEIR_CPU_RDSEED (UINT64_C(1) << 22)
#define WEIR_CPU_CX16 (UINT64_C(1) << 23)
#define WEIR_CPU_XSAVE (UINT64_C(1) << 24)
#define WEIR_CPU_AVX512_IFMA (UINT64_C(1) << 25)
#define WEIR_CPU_AVX512_VBMI (UINT64_C(1) << 26)
#define WEIR_CPU_AVX512_VBMI2 (UINT64_C(1) << 27)
#define WEIR_CPU_AVX512_BITALG (UINT64_C(1) << 28)
#define WEIR_CPU_AVX512_VPOPCNTDQ (UINT64_C(1) << 29)
#define WEIR_CPU_AVX512_VP2INTERSECT (UINT64_C(1) << 30)
#define WEIR_CPU_GFNI (UINT64_C(1) << 31)
#define WEIR_CPU_VAES (UINT64_C(1) << 32)
#define WEIR_CPU_VPCLMULQDQ (UINT64_C(1) << 33)
#define WEIR_CPU_AVX_VNNI (UINT64_C(1) << 34)
#define WEIR_CPU_AVX_IFMA (UINT64_C(1) << 35)
#define WEIR_CPU_AVX_VNNI_INT8 (UINT64_C(1) << 36)
#define WEIR_CPU_AVX_NE_CONVERT (UINT64_C(1) << 37)
#define WEIR_CPU_AMX_TILE (UINT64_C(1) << 38)
#define WEIR_CPU_AMX_FP16 (UINT64_C(1) << 39)
#define WEIR_CPU_PREFETCHW (UINT64_C(1) << 40)
#define WEIR_CPU_FSGSBASE (UINT64_C(1) << 41)

//===----------------------------------------------------------------------===//
// What generated code calls
//===----------------------------------------------------------------------===//

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/// Runs `kernel` over [0, n) on the run's thread pool, in parts that are alike,
/// one for each `grain` (>= 1) of it or for each thread, whichever are fewer,
/// and returns when all have ended. Where borders lie depends on n, grain and
/// the number of threads; kernels must not let results depend on them. n <= 0 calls nothing.
/// Returns 0 or the error of the part with the lowest begin.
int32_t weir_rt_parallel(weir_context *ctx, weir_kernel_fn kernel, void *const *buffers,
                         const int64_t *dims, int64_t n, int64_t grain, int32_t kernel_index);

/// Records that error site `site` was hit with the two values and returns a
/// non-zero code to hand upwards. The first one recorded wins, except that
/// weir_rt_parallel prefers the part with the lowest begin. Thread-safe.
int32_t weir_rt_error(weir_context *ctx, int32_t site, int64_t value0, int64_t value1);

/// The same with a message (copied) and code of the caller's instead of the
/// site's; the site gives the node. Within a library call -1 is the call's site,
/// here and for weir_rt_alloc.
int32_t weir_rt_error_text(weir_context *ctx, int32_t site, int32_t code, const char *message,
                           int64_t value0, int64_t value1);

/// Calls `function` for `site`: the way to call any weir_library_fn, whose errors
/// and allocations are then the site's (weir_custom_error, weir_custom_alloc).
/// Traced under the site's operation.
int32_t weir_rt_library(weir_context *ctx, weir_library_fn function, int32_t site,
                        const weir_tensor *operands, int32_t operand_count, weir_tensor *results,
                        int32_t result_count, const int64_t *attributes);

/// Calls custom operation `custom` (weir_program_desc::customs) for `site`, as
/// weir_rt_library does. Results that it allocated are freed by
/// weir_rt_free, or with the run.
int32_t weir_rt_custom(weir_context *ctx, int32_t custom, int32_t site, const weir_tensor *operands,
                       int32_t operand_count, weir_tensor *results, int32_t result_count,
                       const int64_t *attributes);

/// Memory for one dynamic buffer, 64-byte aligned, null when there is none (the
/// error is recorded against `site`). Freed by weir_rt_free, or with the run.
/// What string elements point to is in blocks of its own, which nobody frees
/// before the run ends: elements may be copied freely.
void *weir_rt_alloc(weir_context *ctx, int64_t bytes, int32_t site);
void weir_rt_free(weir_context *ctx, void *data);

/// Where fetch `index` is to be written: the caller's buffer when the run was
/// given one that is large enough, memory of the run's results otherwise.
/// Records the shape. Null on error (recorded).
void *weir_rt_fetch(weir_context *ctx, int32_t index, int32_t rank, const int64_t *dims,
                    int64_t bytes);

/// Copies what was received to fetch `index`, unless it was written where the
/// fetch is, which the host may not be able to read.
void weir_rt_fetch_received(weir_context *ctx, int32_t index, void *to, const void *from,
                            int64_t bytes);

/// Describes the value that variable `slot` holds now, and keeps that value
/// alive and unchanged until the run ends. Returns 0 or an error
/// (FAILED_PRECONDITION when it was never assigned, recorded against `site`).
int32_t weir_rt_variable_read(weir_context *ctx, int32_t slot, int32_t site, weir_tensor *out);
/// As weir_rt_variable_read, of a value that the step is about to assign another made of it: no
/// other run begins to update the variable, nor assigns it, until weir_rt_variable_assign of this
/// step, or its end with an error. Readers do not wait. A step asks for several in the order of
/// their slots, so that no two runs wait for each other, each once; no wait for anything else
/// between the two.
int32_t weir_rt_variable_update(weir_context *ctx, int32_t slot, int32_t site, weir_tensor *out);
/// Gives `slot` a new value, copied from `value`. Concurrent readers keep the
/// old one whole.
int32_t weir_rt_variable_assign(weir_context *ctx, int32_t slot, int32_t site,
                                const weir_tensor *value);
/// Describes a value that the step may write over, one kernel's time long, with what `slot`
/// holds in it: that value itself where no other run, and no caller, knows it, else a copy. Who
/// updates the variable waits, as behind weir_rt_variable_update, and who reads what is written
/// over, until weir_rt_variable_put makes what was written its value, or the
/// step ends with an error, when a copy is dropped. A step asks for several variables of one
/// kernel in the order of their slots, so that no two runs wait for each other, each once; no wait
/// of the step for anything else between the two. Errors as of weir_rt_variable_read.
int32_t weir_rt_variable_take(weir_context *ctx, int32_t slot, int32_t site, weir_tensor *out);
void weir_rt_variable_put(weir_context *ctx, int32_t slot);

/// Sends a tensor over edge `edge` (weir_program_desc::edges), under the run's
/// step and `iteration` (0 outside of loops; WEIR_NEXT_ITERATION: one more than
/// the last that was sent so). The data is copied, or kept alive
/// by the runtime: the caller may reuse the buffer at once. Null sends an empty
/// tensor (a control edge). Never blocks.
#define WEIR_NEXT_ITERATION ((int64_t)-1)
int32_t weir_rt_send(weir_context *ctx, int32_t edge, int64_t iteration, const weir_tensor *value);
/// As weir_rt_send, but the elements may be read where they are until
/// weir_rt_sent_ready returns 1 or has resumed its caller, or until the run's
/// end: the caller leaves them as they are until then.
int32_t weir_rt_send_kept(weir_context *ctx, int32_t edge, int64_t iteration,
                          const weir_tensor *value);
/// Whether nothing that this device's step has sent with weir_rt_send_kept is
/// read any more. Its rules are weir_rt_receive_ready's.
int32_t weir_rt_sent_ready(weir_context *ctx, void *coroutine);
/// Whether another tensor may be sent over an edge whose iteration is
/// WEIR_NEXT_ITERATION: not while several lie at a receiver that is behind. Its
/// rules are weir_rt_receive_ready's. Loops ask before they send.
int32_t weir_rt_send_ready(weir_context *ctx, int32_t edge, void *coroutine);
/// Asks for the tensor of `edge`. When it is there, returns 1. Otherwise
/// returns 0, and resumes `coroutine` once it is there or the run is aborted;
/// the caller suspends at once. Resuming calls the function pointer in the
/// coroutine frame's first word with the frame (LLVM's switched-resume form),
/// on any thread of the run. That may happen before this call returns: the
/// coroutine saves its state (llvm.coro.save) first, and touches its frame no
/// more after a 0. At most one receive waits for an edge and iteration.
/// WEIR_NEXT_ITERATION is one more than the last that weir_rt_receive took so.
int32_t weir_rt_receive_ready(weir_context *ctx, int32_t edge, int64_t iteration, void *coroutine);
/// After weir_rt_receive_ready returned 1, or after the resume: describes the
/// received tensor, alive until the run ends or, which loops should do, until
/// weir_rt_free(ctx, out->data). Returns 0 or the error that aborted the run.
int32_t weir_rt_receive(weir_context *ctx, int32_t edge, int64_t iteration, weir_tensor *out);
/// Whether what a kernel gave `ticket` for has come about; as
/// weir_rt_receive_ready, for what other runs bring about (kernels.h: queues).
int32_t weir_rt_wait_ready(weir_context *ctx, int64_t ticket, void *coroutine);
/// The last call of a step that ever returned WEIR_PENDING, or is about to return
/// `code` without having: then it says the same twice, which does no harm.
void weir_rt_step_done(weir_context *ctx, int32_t code);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif // WEIR_ABI_H
