//===- weir.h - running compiled models ----------------------------*- C -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C API of libweir_runtime, for programs that run models compiled by weirc.
// weirc copies this text into every header it generates, which is why it leans
// on nothing but <stdint.h> and <stddef.h>; the include guard lets copies meet.
//
// Conventions:
// - A structure that may grow begins with `size`; set it to sizeof the structure
//   (the WEIR_..._INIT macros do, and zero the rest, which always means "the
//   default"). A field beyond `size` has its default.
// - A function that can fail returns a weir_code, fills the weir_status it was
//   given (which may be null), and leaves its outputs as they were. Null for
//   anything else that it needs is INVALID_ARGUMENT.
// - A function that cannot fail ignores null where it destroys, releases or
//   cancels, and answers null, 0 or -1 where it asks.
// - What is no session or cancellation of this runtime any more (destroyed, or
//   another shared object's) is taken for null: INVALID_ARGUMENT, or ignored.
// - Every function may be called from any thread at any time, except that an
//   object must not be in use while it is destroyed. Runs of one session may be
//   concurrent; they share nothing but the session's state.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_H
#define WEIR_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define WEIR_API __attribute__((visibility("default")))
#else
#define WEIR_API
#endif

/// A status that must be looked at.
#if defined(__cplusplus) && __cplusplus >= 201703L
#define WEIR_NODISCARD [[nodiscard]]
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 202311L
#define WEIR_NODISCARD [[nodiscard]]
#elif defined(__GNUC__)
#define WEIR_NODISCARD __attribute__((warn_unused_result))
#else
#define WEIR_NODISCARD
#endif

#ifdef __cplusplus
extern "C" {
#endif

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// Element types, numbered as ONNX's TensorProto.DataType. Elements narrower
/// than a byte are stored one a byte, in its low bits (signed ones extended).
typedef enum weir_dtype {
  WEIR_INVALID = 0,
  WEIR_F32 = 1,
  WEIR_U8 = 2,
  WEIR_I8 = 3,
  WEIR_U16 = 4,
  WEIR_I16 = 5,
  WEIR_I32 = 6,
  WEIR_I64 = 7,
  WEIR_STRING = 8, ///< elements are weir_string
  WEIR_BOOL = 9,   ///< one byte, 0 or 1
  WEIR_F16 = 10,
  WEIR_F64 = 11,
  WEIR_U32 = 12,
  WEIR_U64 = 13,
  WEIR_C64 = 14,  ///< two f32: real, imaginary
  WEIR_C128 = 15, ///< two f64: real, imaginary
  WEIR_BF16 = 16,
  WEIR_F8E4M3FN = 17,
  WEIR_F8E4M3FNUZ = 18,
  WEIR_F8E5M2 = 19,
  WEIR_F8E5M2FNUZ = 20,
  WEIR_U4 = 21,
  WEIR_I4 = 22,
  WEIR_F4E2M1 = 23,
  WEIR_F8E8M0 = 24,
  WEIR_U2 = 25,
  WEIR_I2 = 26,
  /// Elements are weir_tensor_ref: a tensor of rank 1 is a sequence, of at most
  /// one element an optional.
  WEIR_TENSOR = 64
} weir_dtype;

#define WEIR_MAX_RANK 16

/// A string element: `size` bytes at `data`, any bytes, not zero-terminated.
typedef struct weir_string {
  const char *data;
  int64_t size;
} weir_string;

/// A dense row-major tensor. The structure never owns; see weir_session_run for
/// who owns `data`, which is aligned to its element type at least.
typedef struct weir_tensor {
  void *data;
  int64_t bytes; ///< element count times element size
  int32_t dtype; ///< weir_dtype
  int32_t rank;
  int64_t dims[WEIR_MAX_RANK];
} weir_tensor;

/// An element of a sequence: a tensor of any type, shape and number of elements,
/// sequences included, 16 deep at most. Never null.
typedef const weir_tensor *weir_tensor_ref;

//===----------------------------------------------------------------------===//
// Status
//===----------------------------------------------------------------------===//

/// TensorFlow's (and absl's) canonical codes.
typedef enum weir_code {
  WEIR_OK = 0,
  WEIR_CANCELLED = 1,
  WEIR_UNKNOWN = 2,
  WEIR_INVALID_ARGUMENT = 3,
  WEIR_DEADLINE_EXCEEDED = 4,
  WEIR_NOT_FOUND = 5,
  WEIR_ALREADY_EXISTS = 6,
  WEIR_PERMISSION_DENIED = 7,
  WEIR_RESOURCE_EXHAUSTED = 8,
  WEIR_FAILED_PRECONDITION = 9,
  WEIR_ABORTED = 10,
  WEIR_OUT_OF_RANGE = 11,
  WEIR_UNIMPLEMENTED = 12,
  WEIR_INTERNAL = 13,
  WEIR_UNAVAILABLE = 14,
  WEIR_DATA_LOSS = 15,
  WEIR_UNAUTHENTICATED = 16
} weir_code;

/// Owned by the caller; a call that is given one always sets it. `message` is
/// UTF-8, zero-terminated, empty on success, cut at its end when too long.
typedef struct weir_status {
  uint32_t size; ///< sizeof(weir_status); bounds what is written
  int32_t code;  ///< weir_code
  char message[1016];
} weir_status;

#define WEIR_STATUS_INIT {(uint32_t)sizeof(weir_status), 0, {0}}

//===----------------------------------------------------------------------===//
// Programs: what an object describes
//===----------------------------------------------------------------------===//

/// Read-only data of the object that weirc wrote; the generated header declares
/// it. Needs no loading and no freeing.
typedef struct weir_program_desc weir_program_desc;

/// A feed, a fetch or a variable. All pointers are into the program.
typedef struct weir_tensor_info {
  uint32_t size;
  int32_t dtype;
  int32_t rank;      ///< -1: unknown
  int32_t over_feed; ///< of a fetch: one more than the feed whose memory it may have; 0: none
  const char *name;
  const int64_t *dims;    ///< -1: not fixed
  const int64_t *lower;   ///< null: all 0
  const int64_t *upper;   ///< -1: no bound; null: none
  const int32_t *symbols; ///< equal numbers: sizes must agree; -1, null: none
} weir_tensor_info;

#define WEIR_TENSOR_INFO_INIT                                                                      \
  {(uint32_t)sizeof(weir_tensor_info), 0, 0, 0, NULL, NULL, NULL, NULL, NULL}

//===----------------------------------------------------------------------===//
// What a caller may bring
//===----------------------------------------------------------------------===//

/// Memory by the caller. The session's allocator takes regions from it (2 MiB
/// and up), and gives all back when the session is destroyed. Functions may be
/// called from any thread. `allocate` returns null when there is none.
typedef struct weir_allocator {
  uint32_t size;
  uint32_t reserved;
  void *self;
  void *(*allocate)(void *self, int64_t bytes, int64_t alignment);
  void (*release)(void *self, void *data, int64_t bytes);
} weir_allocator;

/// Threads by the caller. `schedule` promises to call work(argument) once, on
/// any thread, soon or late, but not from within `schedule`; it may refuse by
/// returning 0. Work does not block. Results do not depend on what the pool
/// does.
typedef struct weir_thread_pool {
  uint32_t size;
  int32_t threads; ///< how many pieces of work run at once at best, >= 1
  void *self;
  int32_t (*schedule)(void *self, void (*work)(void *argument), void *argument);
} weir_thread_pool;

typedef enum weir_pool_kind {
  /// Threads of this session alone, ended with it.
  WEIR_POOL_SESSION = 0,
  /// One set of threads for all sessions of the process that ask for it. Its
  /// size is what the first of them asked for; ended with the last.
  WEIR_POOL_PROCESS = 1,
  /// The same under a name; another size is FAILED_PRECONDITION.
  WEIR_POOL_NAMED = 2,
  /// weir_session_options::pool.
  WEIR_POOL_CALLER = 3
} weir_pool_kind;

typedef enum weir_trace_kind {
  WEIR_TRACE_RUN = 0,    ///< a whole run, on the thread that asked for it
  WEIR_TRACE_KERNEL = 1, ///< one part of a kernel's parallel loop
  /// From a receive's suspension to its resumption; of one that need not wait, a moment.
  WEIR_TRACE_RECEIVE = 2,
  WEIR_TRACE_CUSTOM = 3, ///< a custom operation
  /// Within a device's memory, or with `bytes` to it or from it: `thread` is 1
  /// for copies in, 2 for those out, which go beside its work.
  WEIR_TRACE_COPY = 4,
  WEIR_TRACE_SEND = 5 ///< a tensor of `bytes` is given to an edge
} weir_trace_kind;

typedef struct weir_trace_event {
  uint32_t size;
  int32_t kind;       ///< weir_trace_kind
  int64_t step;       ///< number of the run in its session
  const char *name;   ///< entry, kernel symbol, edge or custom operation
  const char *nodes;  ///< names of the model's nodes it serves, by ';', or ""
  const char *device; ///< device name
  int64_t flops;      ///< of the whole launch, -1: unknown
  int64_t bytes;      ///< of the whole launch, -1: unknown
  int64_t part_begin; ///< this part's share of the loop
  int64_t part_end;
  int32_t thread; ///< 0: the thread that runs the step; 1…: the pool's
  int32_t reserved;
} weir_trace_event;

/// Called as things begin and end, on the thread where they do, nested properly
/// for a thread except RECEIVE, which may end on another. A struct that ends before `span` or
/// before `value` is fine, too. Must be thread-safe
/// and fast. The event lives until the function returns.
typedef struct weir_trace {
  uint32_t size;
  uint32_t reserved;
  void *self;
  void (*begin)(void *self, const weir_trace_event *event);
  void (*end)(void *self, const weir_trace_event *event);
  /// What a device other than the host did, told when the step has ended: times
  /// are nanoseconds on the monotonic clock. Null: such times are not taken, and
  /// steps of GPUs run as they do untraced.
  void (*span)(void *self, const weir_trace_event *event, int64_t begin, int64_t end);
  /// The value of `node`, of the model, as a kernel of the host has just made it: told for each
  /// result of a launch when all of its parts have ended, on the thread that launched it.
  /// Values that are computed within a kernel alone are not told, and dimensions come in the
  /// order in which the program stores them; a fetch has neither limit. The value lives until
  /// the function returns. Null: nobody wants values.
  void (*value)(void *self, const weir_trace_event *event, const char *node,
                const weir_tensor *value);
} weir_trace;

//===----------------------------------------------------------------------===//
// Custom operations
//===----------------------------------------------------------------------===//

struct weir_context;

/// An operation that is called, not generated. A result whose `data` is null on
/// entry is allocated by the callee (weir_custom_alloc), which then sets bytes,
/// rank and dims, too; others are only filled. Returns 0, or what
/// weir_custom_error returned. Must not keep any pointer.
typedef int32_t (*weir_library_fn)(struct weir_context *ctx, const weir_tensor *operands,
                                   int32_t operand_count, weir_tensor *results,
                                   int32_t result_count, const int64_t *attributes);

typedef struct weir_custom_function {
  const char *name; ///< the operation's name, as weirc was told it
  weir_library_fn function;
} weir_custom_function;

//===----------------------------------------------------------------------===//
// Sessions
//===----------------------------------------------------------------------===//

struct weir_transport;

typedef struct weir_session_options {
  uint32_t size;
  /// Threads of a kernel's loop, the calling one included; 0: what the program
  /// was compiled for, or else as many as the process may use. Results do not
  /// depend on it.
  int32_t threads;
  int32_t pool_kind; ///< weir_pool_kind
  int32_t function_count;
  const char *pool_name;           ///< for WEIR_POOL_NAMED
  const weir_thread_pool *pool;    ///< for WEIR_POOL_CALLER; outlives the session
  const weir_allocator *allocator; ///< null: the system's; outlives the session
  int64_t memory_limit;            ///< bytes a device, 0: none; constants do not count
  /// How long an allocation may wait for concurrent runs to free memory, in
  /// milliseconds; 0: 10,000, negative: not at all.
  int64_t allocation_wait_ms;
  const char *weights_file;              ///< overrides where the program looks for it
  const weir_trace *trace;               ///< null: none; outlives the session
  const weir_custom_function *functions; ///< copied
  /// Carries tensors to the program's devices in other processes
  /// (weir/transport.h); null: all devices are here. Outlives the session.
  const struct weir_transport *transport;
  /// Null: none. Variables of this process' devices begin with what this checkpoint (a prefix) has
  /// for them, before any other task can see them: what a task wants that takes the place of one
  /// that was lost, where others go on. Errors as of weir_session_restore; UNIMPLEMENTED where the
  /// program is linked without checkpoints, or does not say which device has a variable.
  const char *restore;
} weir_session_options;

#define WEIR_SESSION_OPTIONS_INIT                                                                  \
  {(uint32_t)sizeof(weir_session_options),                                                         \
   0,                                                                                              \
   0,                                                                                              \
   0,                                                                                              \
   NULL,                                                                                           \
   NULL,                                                                                           \
   NULL,                                                                                           \
   0,                                                                                              \
   0,                                                                                              \
   NULL,                                                                                           \
   NULL,                                                                                           \
   NULL,                                                                                           \
   NULL,                                                                                           \
   NULL}

typedef struct weir_session weir_session;

/// A switch that any thread may throw to end runs. One switch may serve many
/// runs, of several sessions.
typedef struct weir_cancellation weir_cancellation;

typedef struct weir_run_options {
  uint32_t size;
  int32_t threads;                 ///< at most so many for this run, 0: all of the session's
  int64_t timeout_ns;              ///< DEADLINE_EXCEEDED after so long, 0: none
  weir_cancellation *cancellation; ///< null: none
  const weir_trace *trace;         ///< null: the session's
  /// A byte a feed (fetch) of the entry, null: all 0. 1: `data` is in the memory
  /// of the GPU that alone takes (makes) the value, and is read (written) there.
  /// FAILED_PRECONDITION where the host does the GPU's work; INVALID_ARGUMENT for
  /// a feed that others read, too, and for a fetch that others make, or with a
  /// buffer that is too small. Such memory begins at a multiple of 16 bytes, and
  /// may be read up to the next one behind its end. A fetch may have bytes of a feed;
  /// what it has after a run that failed is not defined.
  const uint8_t *feeds_on_gpu;
  const uint8_t *fetches_on_gpu;
  /// A CUstream: the run's work on GPUs begins when what lies in it now is done,
  /// and what is put there after the run has begun on a GPU follows the run's
  /// work. Null: none, memory of GPUs is ready.
  void *cuda_stream;
} weir_run_options;

#define WEIR_RUN_OPTIONS_INIT                                                                      \
  {(uint32_t)sizeof(weir_run_options), 0, 0, NULL, NULL, NULL, NULL, NULL}

/// Called once when a run has ended, on a thread of the session; must return soon.
/// `status` lives until then.
typedef void (*weir_run_done)(void *self, const weir_status *status);

//===----------------------------------------------------------------------===//
// Checkpoints
//===----------------------------------------------------------------------===//

typedef struct weir_checkpoint_options {
  uint32_t size;
  /// 0: every variable has a value when it is saved, and one in the checkpoint when it is
  /// restored; else either is an error. 1: those that have none are left out.
  int32_t partial;
  /// Saving: how many checkpoints the folder keeps. The file `checkpoint` in it, as
  /// TensorFlow's Saver has it, names them, and the oldest go. 0: all stay, and the file as
  /// it is.
  int32_t keep;
  /// Of a program over several tasks, in the one that leads: 1: every task writes the variables
  /// of its devices (of replicas' a part each), and reads them, in a folder that all tasks share;
  /// FAILED_PRECONDITION while runs are in progress. 0: of replicas' variables the task of the
  /// first one does all; of other programs the same as 1.
  int32_t by_task;
  /// Saving by all tasks: 1: also while runs are in progress, which other tasks may lead. Each
  /// variable is saved with a value that it had at this time, different ones may be of different
  /// runs (asynchronous workers), and iterators are left out. Where one task saves it is always so.
  int32_t while_running;
} weir_checkpoint_options;

#define WEIR_CHECKPOINT_OPTIONS_INIT {(uint32_t)sizeof(weir_checkpoint_options), 0, 0, 0, 0}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// State of a device's allocator, in bytes unless said otherwise.
typedef struct weir_memory_stats {
  uint32_t size;
  int32_t regions;      ///< count
  int64_t limit;        ///< 0: none
  int64_t reserved;     ///< held from the system
  int64_t in_use;       ///< handed out, rounded up to granules
  int64_t requested;    ///< handed out, as asked for
  int64_t peak_in_use;  ///< largest in_use ever
  int64_t allocations;  ///< count, ever
  int64_t live;         ///< count, now
  int64_t largest;      ///< largest allocation ever
  int64_t largest_free; ///< largest chunk that is free now
  int64_t waits;        ///< allocations that had to wait, count
  int64_t collected;    ///< given back to the system by collection, ever
  double fragmentation; ///< (free - largest_free) / free, 0 when none is free
} weir_memory_stats;

#ifdef __cplusplus
}
#endif

#endif // WEIR_H

// The functions. Headers of shared objects define WEIR_TYPES_ONLY around their copy of this
// text: their runtime is hidden, and what it offers is in a table (weir/plugin.h).
#if !defined(WEIR_TYPES_ONLY) && !defined(WEIR_FUNCTIONS)
#define WEIR_FUNCTIONS

#ifdef __cplusplus
extern "C" {
#endif

//===----------------------------------------------------------------------===//
// Functions: tensors
//===----------------------------------------------------------------------===//

/// Bytes of one element as stored, 0 for an unknown dtype.
WEIR_API int64_t weir_dtype_size(int32_t dtype);
/// "f32", "i64", "string", "tensor", …; "?" for an unknown dtype. Static storage.
WEIR_API const char *weir_dtype_name(int32_t dtype);

//===----------------------------------------------------------------------===//
// Functions: status
//===----------------------------------------------------------------------===//

/// "OK", "INVALID_ARGUMENT", …; "UNKNOWN" for other numbers. Static storage.
WEIR_API const char *weir_code_name(int32_t code);

//===----------------------------------------------------------------------===//
// Functions: programs
//===----------------------------------------------------------------------===//

WEIR_API const char *weir_program_name(const weir_program_desc *program);
/// Version of the weirc that wrote the program.
WEIR_API const char *weir_program_compiler(const weir_program_desc *program);
WEIR_API int32_t weir_program_entry_count(const weir_program_desc *program);
/// Null when `entry` is out of range, as below.
WEIR_API const char *weir_program_entry_name(const weir_program_desc *program, int32_t entry);
WEIR_API int32_t weir_program_feed_count(const weir_program_desc *program, int32_t entry);
WEIR_API int32_t weir_program_fetch_count(const weir_program_desc *program, int32_t entry);
/// Set `info->size` first. Return WEIR_OUT_OF_RANGE when there is none.
WEIR_API int32_t weir_program_feed(const weir_program_desc *program, int32_t entry, int32_t index,
                                   weir_tensor_info *info);
WEIR_API int32_t weir_program_fetch(const weir_program_desc *program, int32_t entry, int32_t index,
                                    weir_tensor_info *info);
WEIR_API int32_t weir_program_variable_count(const weir_program_desc *program);
WEIR_API int32_t weir_program_variable(const weir_program_desc *program, int32_t index,
                                       weir_tensor_info *info);
WEIR_API int32_t weir_program_device_count(const weir_program_desc *program);
/// /job:…/task:…/device:CPU:0
WEIR_API const char *weir_program_device_name(const weir_program_desc *program, int32_t device);
/// Bytes that a run plans ahead on that device; dynamic buffers come on top.
WEIR_API int64_t weir_program_arena_bytes(const weir_program_desc *program, int32_t device);

/// Version of the runtime, "major.minor.patch".
WEIR_API const char *weir_runtime_version(void);

//===----------------------------------------------------------------------===//
// Functions: custom operations
//===----------------------------------------------------------------------===//

/// Memory for a result, 64-byte aligned; null (the run then fails) when there
/// is none.
WEIR_API void *weir_custom_alloc(struct weir_context *ctx, int64_t bytes);
/// Fails the run with `code` and `message` (copied; the node's name is put
/// before it). Returns what the function is to return.
WEIR_API int32_t weir_custom_error(struct weir_context *ctx, int32_t code, const char *message);

//===----------------------------------------------------------------------===//
// Functions: sessions
//===----------------------------------------------------------------------===//

/// Makes a session: checks that the object fits this runtime and this machine
/// (FAILED_PRECONDITION names the CPU features that are missing), maps the
/// weights, starts threads, gives variables their initial values. `options` may
/// be null. The program must stay loaded as long as the session lives.
WEIR_NODISCARD WEIR_API int32_t weir_session_create(const weir_program_desc *program,
                                                    const weir_session_options *options,
                                                    weir_session **session, weir_status *status);
/// Frees everything, results that were not released included, and joins the
/// threads. No run may be in progress. Null is ignored.
WEIR_API void weir_session_destroy(weir_session *session);

WEIR_API const weir_program_desc *weir_session_program(const weir_session *session);
/// Index of the entry with that name, -1: none.
WEIR_API int32_t weir_session_find_entry(const weir_session *session, const char *name);
/// Threads a kernel's loop is spread over.
WEIR_API int32_t weir_session_threads(const weir_session *session);

/// Null when there is no memory.
WEIR_API weir_cancellation *weir_cancellation_create(void);
/// No run may be using it any more. Null is ignored.
WEIR_API void weir_cancellation_destroy(weir_cancellation *cancellation);
/// Runs under it end soon, with CANCELLED; later ones at once.
WEIR_API void weir_cancellation_cancel(weir_cancellation *cancellation);
/// Later runs are no longer cancelled.
WEIR_API void weir_cancellation_reset(weir_cancellation *cancellation);
WEIR_API int32_t weir_cancellation_is_cancelled(const weir_cancellation *cancellation);

/// Runs an entry, on the calling thread and the session's pool, and returns when
/// it has ended. Concurrent calls are welcome.
///
/// `feeds` are the entry's, in its order; they must not change during the run.
/// A feed that contradicts the entry (dtype, rank, a size, two sizes that should
/// agree, too few bytes) is INVALID_ARGUMENT, with a message that names it and
/// says what is possible.
///
/// `fetches` are the entry's, in its order. On entry `data` and `bytes` offer a
/// buffer, the rest is ignored: when `data` is not null and the value fits, it
/// is written there. Otherwise (and always for strings) `data` becomes memory
/// of the session, 64-byte aligned, which lives until weir_session_release, or
/// until the session is destroyed. Afterwards all fields describe the value.
/// Handing a tensor that an earlier run filled to a later run reuses its memory,
/// and replaces memory of the session that is too small. Buffers of feeds and
/// fetches must not overlap, but a fetch may have that of its over_feed, all of
/// it, which is updated. A buffer offered to a run that fails may have been
/// written; the tensors themselves keep their fields.
///
/// After a failure variables keep what was assigned before it.
WEIR_NODISCARD WEIR_API int32_t weir_session_run(weir_session *session, int32_t entry,
                                                 const weir_tensor *feeds, int32_t feed_count,
                                                 weir_tensor *fetches, int32_t fetch_count,
                                                 const weir_run_options *options,
                                                 weir_status *status);

/// The same, and returns at once: the run ends with a call of `done`, which is
/// promised unless this returns an error. Tensors, and what `options` points to,
/// must stay until then. The session must not be destroyed before. Each run in
/// progress has a thread of its own, that sleeps while others work, and is kept
/// for later runs.
WEIR_NODISCARD WEIR_API int32_t weir_session_run_async(weir_session *session, int32_t entry,
                                                       const weir_tensor *feeds, int32_t feed_count,
                                                       weir_tensor *fetches, int32_t fetch_count,
                                                       const weir_run_options *options,
                                                       weir_run_done done, void *self,
                                                       weir_status *status);

/// Gives memory of the session back and nulls `tensor->data`. Memory of the
/// caller is left alone, so this may be called on any fetch.
WEIR_API void weir_session_release(weir_session *session, weir_tensor *tensor);

/// Gives all variables their initial values. Runs in progress keep the values
/// they have read.
WEIR_NODISCARD WEIR_API int32_t weir_session_reset(weir_session *session, weir_status *status);
/// Copies a variable's value into `value`, by the rules of a fetch.
/// NOT_FOUND: no such variable; FAILED_PRECONDITION: never assigned.
WEIR_NODISCARD WEIR_API int32_t weir_session_get_variable(weir_session *session, const char *name,
                                                          weir_tensor *value, weir_status *status);
/// Assigns a copy of `value`, which must have the variable's dtype and shape.
WEIR_NODISCARD WEIR_API int32_t weir_session_set_variable(weir_session *session, const char *name,
                                                          const weir_tensor *value,
                                                          weir_status *status);

//===----------------------------------------------------------------------===//
// Functions: checkpoints
//===----------------------------------------------------------------------===//

/// Saves the variables of this moment as a checkpoint of TensorFlow's format (V2):
/// `PREFIX.index` and `PREFIX.data-00000-of-00001`, under the variables' names. It is there
/// whole or not at all, also after a crash. One that has the prefix is overwritten. The
/// prefix's folder is made, those around it are not. A prefix that is empty or ends in `/` is
/// INVALID_ARGUMENT. FAILED_PRECONDITION: variables of the model are constants of the program, as
/// no entry changes them (weirc --freeze), and `partial` does not ask for the others. `options` may
/// be null.
WEIR_NODISCARD WEIR_API int32_t weir_session_save(weir_session *session, const char *prefix,
                                                  const weir_checkpoint_options *options,
                                                  weir_status *status);
/// The same, and returns at once: what is saved are the values of this call, while runs go
/// on. It ends with a call of `done`, which is promised unless this returns an error. The
/// session must not be destroyed before.
WEIR_NODISCARD WEIR_API int32_t weir_session_save_async(weir_session *session, const char *prefix,
                                                        const weir_checkpoint_options *options,
                                                        weir_run_done done, void *self,
                                                        weir_status *status);
/// Gives all variables the values that a checkpoint has for them: of weir's, or of
/// TensorFlow's Saver (format V2 or V1) or tf.train.Checkpoint. Runs in progress keep the
/// values they have read. NOT_FOUND, DATA_LOSS, INVALID_ARGUMENT (another type or shape),
/// FAILED_PRECONDITION (as of weir_session_save): no variable has changed. `options` may be null.
WEIR_NODISCARD WEIR_API int32_t weir_session_restore(weir_session *session, const char *prefix,
                                                     const weir_checkpoint_options *options,
                                                     weir_status *status);
/// Writes the prefix of the latest checkpoint of a folder, which its file `checkpoint`
/// names, to `prefix`, with a final zero. OUT_OF_RANGE: it needs more than `capacity` bytes.
WEIR_NODISCARD WEIR_API int32_t weir_latest_checkpoint(const char *folder, char *prefix,
                                                       int64_t capacity, weir_status *status);

//===----------------------------------------------------------------------===//
// Functions: memory
//===----------------------------------------------------------------------===//

/// Set `stats->size` first. WEIR_OUT_OF_RANGE when there is no such device.
WEIR_API int32_t weir_session_memory(weir_session *session, int32_t device,
                                     weir_memory_stats *stats);
/// Writes a report a person can read (who holds what, by node names; where the
/// holes are) of at most `capacity` bytes with the final zero, and returns how
/// many it would take. `buffer` may be null when `capacity` is 0.
WEIR_API int64_t weir_session_memory_report(weir_session *session, int32_t device, char *buffer,
                                            int64_t capacity);
/// Gives idle memory (cached arenas, empty regions) back to the system.
WEIR_API void weir_session_trim(weir_session *session);

#ifdef __cplusplus
}
#endif

#endif // functions
