//===- ClusterTasks.h - a process as one task of a cluster ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads "tasks" and "timing" of a cluster file and joins the cluster through
// libweir_cluster, which is opened only then: a tool that runs in one process
// never asks for it.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_COMMON_CLUSTERTASKS_H
#define WEIR_TOOLS_COMMON_CLUSTERTASKS_H

#include "compiler/frontend/Diagnostic.h"
#include "tools/common/Session.h"
#include "weir/cluster.h"

#include <functional>

namespace weir::tools {

/// Membership in a cluster; must outlive the session that it is for.
class ClusterTask {
public:
  /// Joins as `task` ("worker:1"), or, where that is empty, as the one whose
  /// number in the file is this process' rank with its launcher. The first task
  /// of the file leads. Null, with errors in `sink`.
  /// `timesSteps`: see weir_cluster_options::times.
  /// `secretFile`: whose bytes all tasks know, without a last line's end; empty: none.
  static std::unique_ptr<ClusterTask> join(const std::string &file, const std::string &task,
                                           DiagnosticSink &sink, const std::string &secretFile = "",
                                           bool timesSteps = false);
  ~ClusterTask();
  ClusterTask(const ClusterTask &) = delete;

  bool leads() const { return rank() == leader(); }
  int32_t rank() const { return functions->task(cluster); }
  int32_t leader() const { return functions->leader(cluster); }
  /// Of the file, all of which may have had devices of others since.
  const std::vector<std::string> &allNames() const { return names; }
  /// The task whose process has the devices of `task`.
  int32_t owner(int32_t task) const { return functions->owner(cluster, task); }
  /// What this process knows of a task.
  weir_task_figures figures(int32_t task) const;
  uint64_t leaderProcess() const { return functions->leader_process(cluster); }
  /// How often each task has come; negative while it is away.
  std::vector<int32_t> presence() const;
  /// From the next session on; see weir_cluster_reassign.
  RunStatus reassign(const std::vector<int32_t> &owners, int32_t leader);
  bool isReassigned() const { return functions->reassigned(cluster) != 0; }
  /// Seconds without a sign of life after which a task is given up.
  double timeout() const { return double(options.timeout_ms ? options.timeout_ms : 5000) / 1e3; }
  /// Seconds that a task may take to come.
  double connect() const { return double(options.connect_ms ? options.connect_ms : 30000) / 1e3; }
  /// Waits until `isSo`, which is called every few milliseconds, for as long as a task may take to
  /// come; what it was in the end.
  bool await(const std::function<bool()> &isSo) const;
  const weir_transport *transport() const { return functions->transport(cluster); }
  /// Runs parts for the leader until it leaves.
  RunStatus serve();
  /// The tasks of this one's job, this one included.
  std::vector<int32_t> ownJob() const;
  /// See weir_cluster_keep_pace, of the tasks of this one's job.
  RunStatus keepPace(int64_t step, int64_t bound);

private:
  ClusterTask() = default;
  bool read(const std::string &file, const std::string &task, DiagnosticSink &sink);
  bool readSecret(const std::string &file, DiagnosticSink &sink);
  bool open(DiagnosticSink &sink);

  std::vector<std::string> names, addresses;
  std::string secret;
  std::vector<weir_cluster_task> tasks;
  weir_cluster_options options = WEIR_CLUSTER_OPTIONS_INIT;
  const weir_cluster_functions *functions = nullptr;
  weir_cluster *cluster = nullptr;
};

} // namespace weir::tools

#endif // WEIR_TOOLS_COMMON_CLUSTERTASKS_H
