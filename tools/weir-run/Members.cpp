//===- Members.cpp - the tasks of a job that outlives them ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-run/Members.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace weir::tools;

bool Members::serve(RunStatus &status) {
  for (int64_t losses = 0;;) {
    int32_t before = task.presence()[size_t(task.leader())];
    status = task.serve();
    if (status.code == WEIR_ABORTED && isOutdated()) {
      status = renew();
      if (!status.ok())
        return false;
      continue;
    }
    if (status.code != WEIR_UNAVAILABLE || ++losses > recover)
      return false;
    // The next leader is waited for once. One that nobody has seen yet may be slow to begin.
    std::vector<int32_t> presence = task.presence();
    int32_t now = presence[size_t(task.leader())];
    bool isGone = now == before && now <= 0 && (now < 0 || Lease::exists(leaseFile));
    if (!elastic || !isGone || !isNextLeader(presence))
      continue;
    status = divide(presence);
    if (status.ok())
      return true;
    if (status.code != WEIR_ABORTED)
      return false;
  }
}

/// The lowest one that is there and has devices.
bool Members::isNextLeader(const std::vector<int32_t> &presence) const {
  for (int32_t i = 0; i < task.rank(); ++i)
    if (presence[size_t(i)] > 0 && task.owner(i) == i)
      return false;
  return true;
}

RunStatus Members::beginToLead() {
  if (!elastic || lease)
    return {};
  lease.emplace(leaseFile);
  std::string reason;
  if (lease->take(task.timeout(), reason))
    return {};
  return {WEIR_FAILED_PRECONDITION, reason};
}

RunStatus Members::whyDeposed() const {
  if (!lease || !lease->isLost())
    return {};
  return {WEIR_FAILED_PRECONDITION, "another process leads this job by now, by " + leaseFile};
}

std::string Members::whoForgot() const {
  for (size_t i = 0; i < task.allNames().size(); ++i) {
    weir_task_figures figures = task.figures(int32_t(i));
    if (figures.is_initial && (atBegin.empty() || figures.visits > std::abs(atBegin[i])))
      return task.allNames()[i];
  }
  return "";
}

int32_t Members::firstAway(bool otherJobs) const {
  std::vector<int32_t> presence = task.presence(), job = task.ownJob();
  for (int32_t i = 0; i < int32_t(presence.size()); ++i) {
    bool isAsked = !otherJobs || std::find(job.begin(), job.end(), i) == job.end();
    if (i != task.rank() && presence[size_t(i)] <= 0 && task.owner(i) == i && isAsked)
      return i;
  }
  return -1;
}

void Members::awaitOtherJobs() const {
  task.await([&] { return firstAway(/*otherJobs=*/true) < 0; });
}

void Members::awaitServing(bool ownSteps) const {
  if (int32_t away = firstAway(ownSteps); away >= 0)
    std::fprintf(stderr, "all is done; waits up to %g s for task %s, to tell it\n", task.connect(),
                 task.allNames()[size_t(away)].c_str());
  task.await([&] { return firstAway(ownSteps) < 0; });
}

RunStatus Members::goOnWithout() { return elastic ? divide(task.presence()) : RunStatus(); }

/// What those that are away had goes to those that are there: of the last leader to this one, which
/// leads from now on, all else to whoever has least.
RunStatus Members::divide(const std::vector<int32_t> &presence) {
  auto count = int32_t(presence.size()), own = task.rank(), last = task.leader();
  std::vector<int32_t> owners, loads(size_t(count), 0);
  auto isThere = [&](int32_t i) { return i == own || presence[size_t(i)] > 0; };
  for (int32_t i = 0; i < count; ++i) {
    int32_t owner = task.owner(i);
    owners.push_back(isThere(owner) ? owner : owner == last ? own : -1);
    if (owners.back() >= 0)
      ++loads[size_t(owners.back())];
  }
  std::vector<int32_t> lost;
  for (int32_t i = 0; i < count; ++i) {
    if (owners[size_t(i)] < 0) {
      int32_t best = own;
      for (int32_t other = 0; other < count; ++other)
        if (isThere(other) && task.owner(other) == other &&
            loads[size_t(other)] < loads[size_t(best)])
          best = other;
      owners[size_t(i)] = best;
      ++loads[size_t(best)];
    }
    if (owners[size_t(i)] != task.owner(i))
      lost.push_back(i);
  }
  if (lost.empty() && last == own)
    return {};
  RunStatus status = task.reassign(owners, own);
  if (!status.ok())
    return status;
  for (int32_t i : lost)
    std::fprintf(stderr, "goes on without task %s: its devices are those of task %s now\n",
                 task.allNames()[size_t(i)].c_str(),
                 task.allNames()[size_t(owners[size_t(i)])].c_str());
  return renew();
}
