//===- cluster.cpp - a cluster's tasks, as programs see them ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cluster/task_set.h"

#include <string.h>

using namespace weir::rt::cluster;

struct weir_cluster {
  std::unique_ptr<TaskSet> tasks;
};

int32_t weir_cluster_join(const weir_cluster_options *options, weir_cluster **cluster,
                          weir_status *status) {
  weir_cluster_options given = {};
  if (!options || !cluster || options->size < sizeof(uint32_t))
    return giveStatus(status, WEIR_INVALID_ARGUMENT,
                      "weir_cluster_join: options without size, or a pointer "
                      "that must not be null");
  memcpy(&given, options, std::min<size_t>(options->size, sizeof(given)));
  Problem problem;
  std::unique_ptr<TaskSet> tasks = TaskSet::create(given, problem);
  if (!tasks)
    return giveStatus(status, problem.code, problem.text);
  *cluster = new weir_cluster{std::move(tasks)};
  return giveStatus(status, WEIR_OK, "");
}

int32_t weir_cluster_task_index(const weir_cluster *cluster) { return cluster->tasks->ownTask(); }

const weir_transport *weir_cluster_transport(weir_cluster *cluster) {
  return cluster->tasks->transport();
}

int32_t weir_cluster_serve(weir_cluster *cluster, weir_status *status) {
  Problem problem = cluster->tasks->serve();
  return giveStatus(status, problem.code, problem.text);
}

void weir_cluster_leave(weir_cluster *cluster) { delete cluster; }

int32_t weir_cluster_leader(const weir_cluster *cluster) { return cluster->tasks->leadingTask(); }

void weir_cluster_presence(const weir_cluster *cluster, int32_t *visits, int32_t count) {
  cluster->tasks->tellPresence(visits, count);
}

int32_t weir_cluster_reassign(weir_cluster *cluster, const int32_t *owners, int32_t count,
                              int32_t leader, weir_status *status) {
  Problem problem = cluster->tasks->reassign(owners, count, leader);
  return giveStatus(status, problem.code, problem.text);
}

int32_t weir_cluster_figures(const weir_cluster *cluster, int32_t task,
                             weir_task_figures *figures) {
  if (!figures || figures->size < 2 * sizeof(uint32_t))
    return WEIR_INVALID_ARGUMENT;
  weir_task_figures full = {};
  if (!cluster->tasks->tellFigures(task, &full))
    return WEIR_OUT_OF_RANGE;
  full.size = figures->size;
  memcpy(figures, &full, std::min<size_t>(figures->size, sizeof(full)));
  return WEIR_OK;
}

uint64_t weir_cluster_leader_process(const weir_cluster *cluster) {
  return cluster->tasks->leaderProcess();
}

int32_t weir_cluster_owner(const weir_cluster *cluster, int32_t task) {
  const std::vector<int32_t> &owners = cluster->tasks->currentRoster().owners;
  return task >= 0 && size_t(task) < owners.size() ? owners[size_t(task)] : -1;
}

int32_t weir_cluster_reassigned(const weir_cluster *cluster) {
  return cluster->tasks->isRosterNew();
}

int32_t weir_cluster_keep_pace(weir_cluster *cluster, const int32_t *tasks, int32_t count,
                               int64_t step, int64_t bound, weir_status *status) {
  std::vector<int32_t> others(tasks, tasks + std::max(count, 0));
  Problem problem = cluster->tasks->keepPace(others, step, bound);
  return giveStatus(status, problem.code, problem.text);
}

const weir_cluster_functions weir_cluster_table = {sizeof(weir_cluster_functions),
                                                   0,
                                                   weir_cluster_join,
                                                   weir_cluster_transport,
                                                   weir_cluster_serve,
                                                   weir_cluster_leave,
                                                   weir_cluster_task_index,
                                                   weir_cluster_leader,
                                                   weir_cluster_presence,
                                                   weir_cluster_reassign,
                                                   weir_cluster_owner,
                                                   weir_cluster_reassigned,
                                                   weir_cluster_figures,
                                                   weir_cluster_leader_process,
                                                   weir_cluster_keep_pace};
