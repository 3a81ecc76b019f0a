//===- figures.cpp - what tasks know of each other -----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Clocks are compared by signs of life, each of which says when it was sent, and of the last one
// that came the same and how long ago that was: two times of each clock, as in NTP (RFC 5905, 8).
// The exchange with the shortest way there and back is the best; it is forgotten after a while,
// since clocks drift.
//
//===----------------------------------------------------------------------===//

#include "cluster/task_set.h"

namespace weir::rt::cluster {

/// As long as clocks that differ by 20 parts of a million drift apart by less than a message takes.
static constexpr int64_t freshTime = 10000000000;
/// What says that it is longer, or later on the monotonic clock, is no time.
static constexpr int64_t longestTime = int64_t(1) << 60;

static bool isTime(int64_t nanoseconds) { return nanoseconds >= 0 && nanoseconds <= longestTime; }

Header TaskSet::heartbeatFor(const Peer &peer, int64_t now, int64_t oldest) {
  Header header = Header::of(Kind::heartbeat);
  header.iteration = oldest;
  header.bytes = now;
  header.step.incarnation = uint64_t(peer.lastBeat);
  header.step.number = peer.lastBeat ? now - peer.lastBeatCame : 0;
  return header;
}

void TaskSet::handleHeartbeat(const Header &header) {
  int64_t came = nowNs(), theirs = header.bytes;
  Lock lock(mutex);
  Peer &peer = peers[size_t(header.task)];
  peer.oldest = std::max(peer.oldest, header.iteration);
  if (!isTime(theirs))
    return;
  peer.lastBeat = theirs;
  peer.lastBeatCame = came;
  auto sent = int64_t(header.step.incarnation);
  int64_t held = header.step.number;
  if (sent == 0 || !isTime(sent) || !isTime(held))
    return;
  int64_t error = (came - sent - held) / 2;
  if (error < 0 ||
      (peer.clockError >= 0 && error > peer.clockError && came - peer.clockRead < freshTime))
    return;
  peer.clockOffset = ((theirs - held - sent) + (theirs - came)) / 2;
  peer.clockError = error;
  peer.clockRead = came;
}

/// The lock is held.
void TaskSet::noteTimes(int32_t task, int64_t took, int64_t waited) {
  Peer &peer = peers[size_t(task)];
  // Sums of what any number of steps may say stay numbers.
  if (!isTime(took) || peer.stepTime > longestTime)
    return;
  ++peer.steps;
  peer.stepTime += took;
  peer.waitTime += std::min(std::max<int64_t>(waited, 0), took);
}

bool TaskSet::tellFigures(int32_t task, weir_task_figures *figures) {
  if (task < 0 || size_t(task) >= peers.size())
    return false;
  int64_t sent = ucx.sentBytes(task), heard = ucx.heard(task);
  Lock lock(mutex);
  const Peer &peer = peers[size_t(task)];
  bool isOwn = task == own, isHere = isOwn || peer.state == Peer::here;
  figures->is_here = isHere;
  figures->visits = isOwn ? 1 : peer.visits;
  figures->sent_bytes = sent;
  figures->silence = isOwn || !isHere ? 0 : std::max<int64_t>(nowNs() - heard, 0);
  figures->steps = peer.steps;
  figures->step_time = peer.stepTime;
  figures->wait_time = peer.waitTime;
  figures->clock_offset = peer.clockOffset;
  figures->clock_error = isOwn ? 0 : peer.clockError;
  figures->own_steps = isOwn ? peer.earlierPace : std::max(peer.pace, peer.earlierPace);
  figures->is_initial = peer.isInitial;
  return true;
}

uint64_t TaskSet::leaderProcess() {
  Lock lock(mutex);
  return own == roster.leader ? incarnation : peers[size_t(roster.leader)].incarnation;
}

} // namespace weir::rt::cluster
