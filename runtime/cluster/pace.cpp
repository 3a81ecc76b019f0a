//===- pace.cpp - tasks that lead steps of their own ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each tells all others how many steps it has done, and one that is further ahead of the slowest
// than it may be waits: a stale synchronous parallel training (Ho and others, "More Effective
// Distributed ML via a Stale Synchronous Parallel Parameter Server", 2013). What is told by a
// task that has come again counts from then on.
//
//===----------------------------------------------------------------------===//

#include "cluster/task_set.h"

namespace weir::rt::cluster {

void TaskSet::handlePace(const Header &header) {
  Lock lock(mutex);
  if (header.index == earlierProcess) {
    int64_t &earlier = peers[size_t(own)].earlierPace;
    earlier = std::max(earlier, header.step.number);
  }
  Peer &peer = peers[size_t(header.task)];
  peer.pace = std::max(peer.pace, header.iteration);
  changed.notifyAll();
}

/// To who has just come; nothing where neither leads, or led, steps of its own. Both numbers in
/// one: who has the first, which is waited for, has the other.
void TaskSet::tellPace(int32_t task) {
  Header header = Header::of(Kind::pace);
  int64_t earlier;
  {
    Lock lock(mutex);
    header.iteration = peers[size_t(own)].pace;
    earlier = peers[size_t(task)].earlierPace;
  }
  if (earlier >= 0) {
    header.index = earlierProcess;
    header.step.number = earlier;
  }
  if (header.iteration >= 0 || earlier >= 0)
    ucx.send(task, header);
}

Problem TaskSet::keepPace(const std::vector<int32_t> &tasks, int64_t step, int64_t bound) {
  for (int32_t task : tasks)
    if (task < 0 || size_t(task) >= peers.size())
      return {WEIR_INVALID_ARGUMENT, "no task has the number " + std::to_string(task)};
  if (step < 0)
    return {WEIR_INVALID_ARGUMENT, "a negative number of steps"};
  {
    Lock lock(mutex);
    Peer &self = peers[size_t(own)];
    self.pace = std::max(self.pace, step);
  }
  for (int32_t task = 0; task < int32_t(peers.size()); ++task)
    if (task != own && stateOf(task) == Peer::here)
      tellPace(task);
  if (bound < 0)
    return {};
  int64_t least = std::max<int64_t>(step - bound, 0);
  std::unique_lock<LastingMutex> lock(mutex);
  int64_t give = nowNs() + connectNs;
  for (int32_t task : tasks) {
    const Peer &peer = peers[size_t(task)];
    if (task == own)
      continue;
    // Who has not come yet is waited for, who was lost is not.
    auto goesOn = [&] {
      bool isGone = peer.state != Peer::here && (peer.visits > 0 || peer.left || peer.refused);
      return peer.pace >= least || isGone || serversStop || !next.owners.empty();
    };
    while (!goesOn()) {
      // Steps take as long as they take; to come, a task has the time of a connection.
      bool isHere = peer.state == Peer::here;
      if (!isHere && nowNs() >= give)
        return {WEIR_UNAVAILABLE, describeAbsence(peer)};
      changed.waitUntil(mutex, isHere ? nowNs() + timeoutNs : give,
                        [&] { return goesOn() || (peer.state == Peer::here) != isHere; });
    }
    if (!next.owners.empty())
      return {WEIR_ABORTED, "devices are divided anew"};
  }
  return {};
}

} // namespace weir::rt::cluster
