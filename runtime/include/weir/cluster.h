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
} weir_cluster_options;

#define WEIR_CLUSTER_OPTIONS_INIT                                                                  \
  {(uint32_t)sizeof(weir_cluster_options), 0, 0, 0, NULL, 0, 0, 0, NULL, 0}

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
} weir_cluster_functions;
WEIR_API extern const weir_cluster_functions weir_cluster_table;

#ifdef __cplusplus
}
#endif

#endif // WEIR_CLUSTER_H
