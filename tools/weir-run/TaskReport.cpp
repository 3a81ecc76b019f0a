//===- TaskReport.cpp - what the tasks of a job are at -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-run/TaskReport.h"

#include <algorithm>

using namespace weir::tools;

/// A task that computes so much longer than the median of the others holds them up.
static constexpr double stragglerRatio = 1.25;
static constexpr int64_t fewestSteps = 10;

std::vector<TaskReport::Share> TaskReport::shares() const {
  std::vector<Share> all;
  for (int32_t i = 0; i < int32_t(task.allNames().size()); ++i) {
    weir_task_figures figures = task.figures(i);
    auto steps = double(figures.steps);
    if (figures.steps >= fewestSteps)
      all.push_back({i, double(figures.step_time) / 1e9 / steps,
                     double(figures.step_time - figures.wait_time) / 1e9 / steps, false});
  }
  for (Share &share : all) {
    std::vector<double> others;
    for (const Share &other : all)
      if (&other != &share)
        others.push_back(other.own);
    if (others.empty())
      continue;
    auto middle = others.begin() + ptrdiff_t(others.size() / 2);
    std::nth_element(others.begin(), middle, others.end());
    share.isStraggler = share.own > stragglerRatio * *middle;
  }
  return all;
}

void TaskReport::set(Metrics &metrics) const {
  auto label = [&](int32_t i) { return "task=\"" + task.allNames()[size_t(i)] + "\""; };
  for (int32_t i = 0; i < int32_t(task.allNames().size()); ++i) {
    weir_task_figures figures = task.figures(i);
    metrics.set("weir_task_up", "1 where a task is connected, or is this one.", figures.is_here,
                label(i));
    metrics.set("weir_task_visits", "How often a task has come.", double(figures.visits), label(i));
    metrics.set("weir_task_silence_seconds", "Seconds since a task gave a sign of life.",
                double(figures.silence) / 1e9, label(i));
    metrics.set("weir_task_sent_bytes", "Bytes of tensors that were sent to a task.",
                double(figures.sent_bytes), label(i));
  }
  for (const Share &share : shares()) {
    metrics.set("weir_task_step_seconds", "Mean seconds of a task's part of a step.", share.step,
                label(share.task));
    metrics.set("weir_task_own_seconds",
                "Of these, those in which it did not only wait for other tasks.", share.own,
                label(share.task));
    metrics.set("weir_task_straggler", "1 where a task takes a quarter longer than others.",
                share.isStraggler, label(share.task));
  }
}

std::string TaskReport::text() const {
  std::vector<Share> all = shares();
  std::string text;
  for (const Share &share : all) {
    char line[256];
    std::snprintf(line, sizeof(line), "task %s: %.3f ms a step, %.3f ms of it its own%s\n",
                  task.allNames()[size_t(share.task)].c_str(), share.step * 1e3, share.own * 1e3,
                  share.isStraggler ? ": a straggler" : "");
    text += line;
  }
  return all.size() > 1 ? text : std::string();
}
