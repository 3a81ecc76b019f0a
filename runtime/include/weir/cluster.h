//===- cluster.h - programs over several processes and hosts -----*- C -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C API of libweir_cluster, a library of its own: a transport over UCX
// (shared memory, TCP, RDMA; UCX chooses) for sessions whose devices lie in
// several tasks. Programs that stay in one process need none of it.
//
//   weir_cluster_join → weir_session_create with weir_cluster_transport →
//     the leading task: weir_session_run, as often as it likes
//     every other task: weir_cluster_serve
//   → weir_session_destroy → weir_cluster_leave
//
// docs/distributed.md tells the rest. Conventions as in weir/weir.h.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_CLUSTER_H
#define WEIR_CLUSTER_H

#include "weir/transport.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_cluster_task {
  /// "/job:worker/replica:0/task:1"; replica 0 may be left out; "worker:1" is
  /// the same.
  const char *name;
  /// "host:port", where the task listens (the last one, which connects to all
  /// others, does not). Null for all tasks: PMIx knows, if mpirun, srun or
  /// another launcher that speaks it started the processes.
  const char *address;
} weir_cluster_task;

typedef struct weir_cluster_options {
  uint32_t size;
  int32_t task; ///< index of this one; -1 with PMIx: the process' rank
  int32_t task_count;
  int32_t leader;                 ///< the task that weir_cluster_serve serves
  const weir_cluster_task *tasks; ///< the same in all tasks; copied
  /// Milliseconds between two signs of life that a task gives to each other one,
  /// and after which one without is given up; 0: 500 and 5000.
  int64_t heartbeat_ms, timeout_ms;
  /// Milliseconds that a run, or weir_cluster_serve, waits for other tasks to
  /// appear; 0: 30000.
  int64_t connect_ms;
  /// What all tasks know and nobody else: at least 16 bytes, any; copied. Null: who comes
  /// is not asked. With one, whoever cannot prove that they know it is turned away before
  /// anything is done for them (docs/distributed.md says what that protects).
  const char *secret;
  int64_t secret_bytes;
  /// Not 0: measures what each task's part of a step takes, and how much of that it waits for
  /// others (weir_cluster_figures), which reads the clock twice for each wait.
  int32_t times;
  int32_t reserved;
} weir_cluster_options;

#define WEIR_CLUSTER_OPTIONS_INIT                                                                  \
  {(uint32_t)sizeof(weir_cluster_options), 0, 0, 0, NULL, 0, 0, 0, NULL, 0, 0, 0}

typedef struct weir_cluster weir_cluster;

/// Prepares this process as a task: checks the options and listens. Other tasks
/// are looked for once there is a session.
/// INVALID_ARGUMENT: a name or address that is none; UNAVAILABLE: it cannot
/// listen there, or UCX does not work.
WEIR_API int32_t weir_cluster_join(const weir_cluster_options *options, weir_cluster **cluster,
                                   weir_status *status);
/// The index of this task.
WEIR_API int32_t weir_cluster_task_index(const weir_cluster *cluster);
/// For weir_session_options::transport, of one session at a time. Lives as long
/// as the cluster. Making the session sets UCX_POSIX_ERROR_HANDLING in the
/// environment, unless it is there, which lets UCX use shared memory.
WEIR_API const weir_transport *weir_cluster_transport(weir_cluster *cluster);
/// Runs parts of the leader's steps, on threads of its own, until the leader
/// leaves (OK), is lost or did not come (UNAVAILABLE), or does not fit
/// (FAILED_PRECONDITION). May be called again to wait for the next leader.
/// Parts are run outside of this call, too, from the session's first moment on.
WEIR_API int32_t weir_cluster_serve(weir_cluster *cluster, weir_status *status);
/// For tasks that each lead steps of their own (asynchronous workers): tells all others that this
/// one has done `step` of them, and waits until each of `tasks` (indices; this one is ignored) has
/// done `step - bound` at least, and begun. A negative `bound` waits for nothing. A task that was
/// lost is not waited for; one that has not come yet is, as long as connect_ms (UNAVAILABLE).
/// ABORTED: as weir_cluster_serve. To be called by one thread, while there is a session.
WEIR_API int32_t weir_cluster_keep_pace(weir_cluster *cluster, const int32_t *tasks, int32_t count,
                                        int64_t step, int64_t bound, weir_status *status);
/// What this task knows of one, or of itself; times in nanoseconds.
typedef struct weir_task_figures {
  uint32_t size;
  int32_t is_here;      ///< 1: it is connected, or this one
  int64_t visits;       ///< how often it has come
  int64_t sent_bytes;   ///< to it, elements of tensors
  int64_t silence;      ///< since it was heard last; 0: this one, or it is away
  int64_t steps;        ///< of this task's, that it had a part in; with weir_cluster_options::times
  int64_t step_time;    ///< of all these parts, from their begin to their end
  int64_t wait_time;    ///< of that, in which it had nothing to do but wait for other tasks
  int64_t clock_offset; ///< its monotonic clock less this one's
  int64_t clock_error;  ///< at most so far off; -1: not known
  /// Steps of its own that it has told of (weir_cluster_keep_pace), as which process ever; of this
  /// task, what others have heard of earlier ones, once they have begun. -1: none.
  int64_t own_steps;
  /// 1: another task with variables whose session began without a checkpoint, and had taken part in
  /// none when it came last: where there is one already, these are not the variables that it has.
  int32_t is_initial, reserved;
} weir_task_figures;
/// OUT_OF_RANGE: there is no such task.
WEIR_API int32_t weir_cluster_figures(const weir_cluster *cluster, int32_t task,
                                      weir_task_figures *figures);
/// Names the session that leads, among all that ever did; 0: it is not known yet.
WEIR_API uint64_t weir_cluster_leader_process(const weir_cluster *cluster);
/// Of each task how often it has come, negative while it is away. This one's is 1.
WEIR_API void weir_cluster_presence(const weir_cluster *cluster, int32_t *visits, int32_t count);
/// The task that leads.
WEIR_API int32_t weir_cluster_leader(const weir_cluster *cluster);
/// Goes on without tasks that are gone: the process of task owners[i] has the devices of task i,
/// and `leader` leads, from the next session on, for which this one is to be destroyed. All tasks
/// that are connected then are told: weir_cluster_serve and runs return ABORTED there until they
/// have made a new session, too, and a task that comes later learns of it at its handshake. A task
/// whose devices are another's does not come back. INVALID_ARGUMENT: no task, or one that has lost
/// its own devices; ABORTED: another task has done so before.
WEIR_API int32_t weir_cluster_reassign(weir_cluster *cluster, const int32_t *owners, int32_t count,
                                       int32_t leader, weir_status *status);
/// The task whose process has the devices of `task`; -1: there is no such task.
WEIR_API int32_t weir_cluster_owner(const weir_cluster *cluster, int32_t task);
/// Whether devices are divided anew, so that a new session is wanted.
WEIR_API int32_t weir_cluster_reassigned(const weir_cluster *cluster);
/// The session must be gone. Null is ignored.
WEIR_API void weir_cluster_leave(weir_cluster *cluster);

/// The same under a name that a program which opens the library at run time can
/// look for: all functions, `size` first.
typedef struct weir_cluster_functions {
  uint32_t size;
  uint32_t reserved;
  int32_t (*join)(const weir_cluster_options *, weir_cluster **, weir_status *);
  const weir_transport *(*transport)(weir_cluster *);
  int32_t (*serve)(weir_cluster *, weir_status *);
  void (*leave)(weir_cluster *);
  int32_t (*task)(const weir_cluster *);
  int32_t (*leader)(const weir_cluster *);
  void (*presence)(const weir_cluster *, int32_t *visits, int32_t count);
  int32_t (*reassign)(weir_cluster *, const int32_t *owners, int32_t count, int32_t leader,
                      weir_status *);
  int32_t (*owner)(const weir_cluster *, int32_t task);
  int32_t (*reassigned)(const weir_cluster *);
  int32_t (*figures)(const weir_cluster *, int32_t task, weir_task_figures *);
  uint64_t (*leader_process)(const weir_cluster *);
  int32_t (*keep_pace)(weir_cluster *, const int32_t *tasks, int32_t count, int64_t step,
                       int64_t bound, weir_status *);
} weir_cluster_functions;
WEIR_API extern const weir_cluster_functions weir_cluster_table;

#ifdef __cplusplus
}
#endif

#endif // WEIR_CLUSTER_H
