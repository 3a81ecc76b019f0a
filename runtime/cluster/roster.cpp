//===- roster.cpp - devices of tasks that are gone -----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cluster/task_set.h"

#include <algorithm>
#include <stdlib.h>

namespace weir::rt::cluster {

std::string Roster::text() const {
  std::string text = std::to_string(number) + " " + std::to_string(leader);
  for (int32_t owner : owners)
    text += " " + std::to_string(owner);
  return text;
}

bool Roster::parse(const std::string &text, size_t taskCount) {
  std::vector<uint64_t> read;
  const char *at = text.c_str(), *end = at + text.size();
  while (at < end && read.size() <= taskCount + 2) {
    if (*at < '0' || *at > '9')
      return false;
    char *behind;
    read.push_back(strtoull(at, &behind, 10));
    at = *behind == ' ' ? behind + 1 : behind;
    if (at == behind && at != end)
      return false;
  }
  if (read.size() != taskCount + 2)
    return false;
  for (size_t i = 1; i < read.size(); ++i)
    if (read[i] >= taskCount)
      return false;
  number = read[0];
  leader = int32_t(read[1]);
  owners.assign(read.begin() + 2, read.end());
  // Whoever has another's devices, or leads, has its own.
  auto isOwner = [&](int32_t task) { return owners[size_t(task)] == task; };
  return isOwner(leader) && std::all_of(owners.begin(), owners.end(), isOwner);
}

Problem TaskSet::reassign(const int32_t *owners, int32_t count, int32_t newLeader) {
  Roster made;
  made.leader = newLeader;
  if (owners && count > 0)
    made.owners.assign(owners, owners + count);
  if (made.owners.size() != peers.size() || !Roster().parse(made.text(), peers.size()) ||
      made.owners[size_t(own)] != own)
    return {WEIR_INVALID_ARGUMENT, "weir_cluster_reassign: found an owner whose own devices are "
                                   "another's, no such task, or not one for each task"};
  Lock lock(mutex);
  // Who has heard of a newer one follows it.
  if (!next.owners.empty() && !announces)
    return {WEIR_ABORTED, "another task has divided the devices anew"};
  made.number = roster.number + 1;
  if (session) {
    next = made;
    announces = true;
  } else {
    roster = made;
  }
  return {};
}

void TaskSet::tellPresence(int32_t *visits, int32_t count) {
  Lock lock(mutex);
  for (int32_t i = 0; i < count && size_t(i) < peers.size(); ++i) {
    bool isHere = i == own || peers[size_t(i)].state == Peer::here;
    int32_t times = i == own ? 1 : peers[size_t(i)].visits;
    visits[i] = isHere ? times : -times;
  }
}

int32_t TaskSet::leadingTask() {
  Lock lock(mutex);
  return roster.leader;
}

bool TaskSet::isRosterNew() {
  Lock lock(mutex);
  return !next.owners.empty();
}

void TaskSet::follow(const Roster &heard) {
  Lock lock(mutex);
  const Roster &known = next.owners.empty() ? roster : next;
  if (heard.number <= known.number || heard.owners.size() != peers.size() ||
      heard.owners[size_t(own)] != own)
    return;
  next = heard;
  announces = false;
  changed.notifyAll();
}

std::string TaskSet::farewell() {
  Lock lock(mutex);
  return announces ? next.text() : std::string();
}

} // namespace weir::rt::cluster
