//===- transport.h - between a session and other tasks -----------*- C -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What libweir_runtime asks of a transport, and what a transport may ask of it:
// two tables of functions, so that neither links the other. A program whose
// devices lie in several tasks (processes, on one host or many) is run by one
// session in each of them, each made with weir_session_options::transport.
//
// One task leads a step: the one where weir_session_run was called. The
// transport has the others run their parts of it, carries tensors between the
// parts, and brings what they fetch to the leader. Tensors travel as blocks of
// bytes: the elements, and behind them what they point to, with offsets from the
// block's begin in place of pointers (as `pack` makes them).
//
// libweir_cluster is a transport over UCX: see weir/cluster.h.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TRANSPORT_H
#define WEIR_TRANSPORT_H

#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

struct weir_run;

/// How long bytes that a transport is given stay as they are.
enum {
  WEIR_SENT_BORROWED, ///< until the call returns: few are copied
  WEIR_SENT_OWNED,    ///< a block, which the transport releases
  WEIR_SENT_KEPT      ///< until the host's `sent`, or the return of `end`
};

/// Tensors of so many bytes and less travel in the message itself, and are
/// copied where it has come: what fits a block of the smallest size.
enum { WEIR_FEW_BYTES = 192 };

/// What tasks are asked to do with the variables of their devices, between steps.
enum {
  WEIR_STATE_SAVE,        ///< take their values, and write them as a part of a checkpoint
  WEIR_STATE_RESTORE,     ///< read them from a checkpoint
  WEIR_STATE_SAVE_RUNNING ///< as WEIR_STATE_SAVE, whatever runs are in progress
};

typedef struct weir_state_request {
  int32_t what;       ///< one of WEIR_STATE_…
  int32_t partial;    ///< as weir_checkpoint_options::partial
  int32_t task;       ///< the number of the task that is asked
  const char *prefix; ///< of the checkpoint; copied
} weir_state_request;

/// A part of a step that another task leads.
typedef struct weir_part {
  int32_t entry, feed_count;
  const weir_tensor *feeds; ///< as weir_session_run takes them
  int64_t step;             ///< the leader's number
  void *context;            ///< what weir_transport::begin gets as `part`
} weir_part;

/// What a transport may call. From any thread; nothing here waits, except
/// run_part. A `block` is memory that `allocate` or `pack` returned; who is said
/// to take it must `release` it.
typedef struct weir_transport_host {
  uint32_t size;
  uint32_t reserved;
  /// Memory of a device of this task, 64-byte aligned; null: there is none.
  void *(*allocate)(weir_session *session, int32_t device, int64_t bytes);
  void (*release)(void *block);
  /// A copy of a tensor as one block of `*bytes` that can travel; null: no
  /// memory.
  void *(*pack)(weir_session *session, int32_t device, const weir_tensor *tensor, int64_t *bytes);
  /// Makes pointers of the offsets in a block of `bytes` bytes at tensor->data.
  /// 0: the block is none that `pack` can have made of such a tensor.
  int32_t (*unpack)(weir_tensor *tensor, int64_t bytes);
  /// Runs what this task does in a step, on this thread and the session's.
  /// `fetches` (as many as the entry's) become what this task has computed of
  /// them, memory of the session; others get dtype 0.
  int32_t (*run_part)(weir_session *session, const weir_part *part, weir_tensor *fetches,
                      weir_status *status);

  // For runs between `begin` and `end`.

  /// A tensor has come, packed at tensor->data, a block that the run takes.
  void (*deliver)(struct weir_run *run, int32_t edge, int64_t iteration, const weir_tensor *tensor,
                  int64_t bytes);
  /// The same for fetch `index`, which another task has computed.
  void (*fetched)(struct weir_run *run, int32_t index, const weir_tensor *tensor, int64_t bytes);
  /// One of the parts that `begin` counted has ended, with `code`.
  void (*part_done)(struct weir_run *run, int32_t code, const char *text);
  /// Ends the run, at once for all who wait in it.
  void (*abort)(struct weir_run *run, int32_t code, const char *text);
  /// Ends the run because of a task, with UNAVAILABLE: `text` says what is with
  /// it, and is followed by a tensor that was waited for.
  void (*lost)(struct weir_run *run, int32_t task, const char *text);
  /// A tensor of `edge` that was sent as WEIR_SENT_KEPT is read no more.
  void (*sent)(struct weir_run *run, int32_t edge);
  /// The edge's receiver, in another task, has taken `count` tensors so far.
  void (*taken)(struct weir_run *run, int32_t edge, int64_t count);
  /// As `deliver`, for at most WEIR_FEW_BYTES bytes without contents, which are
  /// copied and stay the caller's. 0: nothing was done, and `deliver` is to be
  /// asked. Takes the run's lock alone and calls nobody, so that the caller may
  /// hold a lock of its own. `*woken` becomes null, or what `resume` is to be
  /// called with once that lock is given up; the run does not end before that.
  int32_t (*deliver_few)(struct weir_run *run, int32_t edge, int64_t iteration,
                         const weir_tensor *tensor, void **woken);
  void (*resume)(void *woken);

  /// Nanoseconds that the run, between `begin` and `end`, has had nothing to do but wait for other
  /// tasks; 0 where weir_transport::times is.
  int64_t (*waited)(struct weir_run *run);

  /// Does its part of what another task has asked for: what is saved are the values of this call.
  /// `done` is called once, on a thread of the session, unless this returns an error.
  int32_t (*state_part)(weir_session *session, const weir_state_request *request,
                        weir_run_done done, void *self, weir_status *status);

  /// Not 0: the session began with variables of a checkpoint (weir_session_options::restore).
  int32_t (*began_restored)(const weir_session *session);
} weir_transport_host;

/// What a session calls. Functions that return an int32_t return a weir_code.
typedef struct weir_transport {
  uint32_t size;
  uint32_t reserved;
  void *self;
  /// A session was made for `program`. tasks[i] becomes the number of the task
  /// that has device i, -1 for this task.
  int32_t (*attach)(void *self, weir_session *session, const weir_transport_host *host,
                    const weir_program_desc *program, int32_t *tasks, weir_status *status);
  /// The session is about to go; no run is in progress. Blocks that the
  /// transport still has are released before this returns.
  void (*detach)(void *self);
  /// A run begins. `part` null: it is led here, other tasks are told to run
  /// their parts (entry, feeds: both stay as they are until `end`), and
  /// `*parts` becomes how many there are. `*handle` is handed to the functions
  /// below. After a failure `end` is not called.
  int32_t (*begin)(void *self, struct weir_run *run, void *part, int32_t entry, int64_t step,
                   const weir_tensor *feeds, int32_t feed_count, int32_t *parts, void **handle,
                   weir_status *status);
  /// Sends a packed tensor to the task of the edge's destination. `lifetime` is
  /// one of WEIR_SENT_…; `sent` may be called in here. Never waits.
  int32_t (*send)(void *self, void *handle, int32_t edge, int64_t iteration,
                  const weir_tensor *tensor, void *data, int64_t bytes, int32_t lifetime,
                  weir_status *status);
  /// The run has ended here, with `code`; when it was led here and other parts
  /// are not done, they are to end, too. From here on no function of the host
  /// is called for the run, and nothing of it is read.
  void (*end)(void *self, void *handle, int32_t code, const char *text);
  /// Tells the task of the edge's source that the run has taken `count` tensors
  /// of it so far. Never waits.
  void (*taken)(void *self, void *handle, int32_t edge, int64_t count);
  /// Moves messages on this thread, which has nothing else to do, until
  /// changed(argument), or for a short time. Between `begin` and `end`.
  void (*help)(void *self, int32_t (*changed)(void *argument), void *argument);
  /// A session is being made for `program`: tasks[i] becomes what `attach` will
  /// make it, so that the session opens this task's devices alone. Nothing is
  /// kept. Null, or beyond `size`: it opens all.
  int32_t (*place)(void *self, const weir_program_desc *program, int32_t *tasks,
                   weir_status *status);
  /// Has every other task that has devices do its part of `request`. `done` is called once, with
  /// the first error, when all have answered or are lost, from any thread and maybe before this
  /// returns, unless this returns an error. `*own` becomes this task's number. Waits for tasks as a
  /// run does. Null, or beyond `size`: it cannot.
  int32_t (*state)(void *self, const weir_state_request *request, weir_run_done done, void *user,
                   int32_t *own, weir_status *status);
  /// Not 0: runs measure what `waited` tells, which reads the clock twice for each wait.
  int32_t times, reserved2;
} weir_transport;

#ifdef __cplusplus
}
#endif

#endif // WEIR_TRANSPORT_H
