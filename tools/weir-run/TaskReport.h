//===- TaskReport.h - what the tasks of a job are at ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIR_RUN_TASKREPORT_H
#define WEIR_TOOLS_WEIR_RUN_TASKREPORT_H

#include "tools/common/ClusterTasks.h"
#include "tools/weir-run/Metrics.h"

#include <vector>

namespace weir::tools {

/// Figures of the tasks of a job, as the one that leads knows them.
class TaskReport {
public:
  explicit TaskReport(const ClusterTask &task) : task(task) {}
  /// Figures by task, for a monitor.
  void set(Metrics &metrics) const;
  /// A line a task that has had parts in steps: what a step took it, and what of that was its own.
  std::string text() const;

private:
  struct Share {
    int32_t task;
    double step, own; ///< mean seconds of a step, and those in which it did not wait for others
    bool isStraggler;
  };
  std::vector<Share> shares() const;

  const ClusterTask &task;
};

} // namespace weir::tools

#endif // WEIR_TOOLS_WEIR_RUN_TASKREPORT_H
