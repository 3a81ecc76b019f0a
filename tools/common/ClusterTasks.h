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

namespace weir::tools {

/// Membership in a cluster; must outlive the session that it is for.
class ClusterTask {
public:
  /// Joins as `task` ("worker:1"), or, where that is empty, as the one whose
  /// number in the file is this process' rank with its launcher. The first task
  /// of the file leads. Null, with errors in `sink`.
  /// `secretFile`: whose bytes all tasks know, without a last line's end; empty: none.
  static std::unique_ptr<ClusterTask> join(const std::string &file, const std::string &task,
                                           DiagnosticSink &sink,
                                           const std::string &secretFile = "");
  ~ClusterTask();
  ClusterTask(const ClusterTask &) = delete;

  bool leads() const { return rank() == 0; }
  const weir_transport *transport() const { return functions->transport(cluster); }
  /// Runs parts for the leader until it leaves.
  RunStatus serve();

private:
  ClusterTask() = default;
  int32_t rank() const { return functions->task(cluster); }
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
