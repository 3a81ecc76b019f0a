//===- progress.cpp - who moves messages ------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cluster/task_set.h"

#include <sched.h>

namespace weir::rt::cluster {

/// Longer than a message takes, shorter than two wake-ups.
static constexpr int64_t longestSpin = 100000;
/// For waits that are usually long.
static constexpr int64_t shortestSpin = 5000;
/// As long after a helper was there the thread that moves messages looks only now
/// and then, rather than have UCX wake it for each.
static constexpr int64_t restTime = 200000;
/// Who gives the processor up for that long shares it with others that compute: it comes sooner to
/// who sleeps, and is woken, than to who asks for it again and again.
static constexpr int64_t longYield = 500000;
/// So long nobody spins then.
static constexpr int64_t crowdedTime = 50000000;
/// A task that leaves says so on the connection of its handshake, and UCX may be
/// the first to notice: what it reports waits for the goodbye.
static constexpr int64_t goodbyeTime = 50000000;

//===----------------------------------------------------------------------===//
// Moving
//===----------------------------------------------------------------------===//

bool TaskSet::progressOnce() {
  if (!ucx.progress(made))
    return false;
  for (Incoming *incoming : made.ready)
    handle(incoming);
  made.ready.clear();
  for (const Released &released : made.released)
    handleReleased(released);
  made.released.clear();
  for (Failure &failure : made.failed)
    suspected.push_back({nowNs() + goodbyeTime, std::move(failure)});
  made.failed.clear();
  return true;
}

void TaskSet::lookAfter(int64_t now) {
  ucx.note(now);
  while (!suspected.empty() && suspected.front().first <= now) {
    Failure failure = std::move(suspected.front().second);
    suspected.pop_front();
    lose(failure.task, failure.nonce, failure.reason);
  }
  // Who was stopped itself has not heard the others.
  if (now - lastMove > timeoutNs / 2)
    ucx.forgive();
  lastMove = now;
  checkLife(now);
}

/// The thread that moves messages gives its turn up when it sees that it is
/// wanted, which takes as long as what it has begun.
bool TaskSet::takeTurn() {
  if (!turn.tryTake()) {
    int64_t begin = nowNs();
    do {
      helping.store(true, std::memory_order_relaxed);
      sched_yield();
      if (int64_t now = nowNs(); now - begin > longestSpin) {
        if (now - begin > longYield)
          crowdedUntil.store(now + crowdedTime, std::memory_order_relaxed);
        helping.store(false, std::memory_order_relaxed);
        return false;
      }
    } while (!turn.tryTake());
  }
  helping.store(true, std::memory_order_relaxed);
  return true;
}

/// With two processors two tasks that wait for each other can both spin. A helper
/// that leaves soon comes back, as a rule.
void TaskSet::help(int32_t (*changed)(void *argument), void *argument, Patience &patience) {
  if (!spins || helping.load(std::memory_order_relaxed))
    return;
  if (crowdedUntil.load(std::memory_order_relaxed) != 0) {
    if (nowNs() < crowdedUntil.load(std::memory_order_relaxed))
      return;
    crowdedUntil.store(0, std::memory_order_relaxed);
  }
  if (!takeTurn())
    return;
  bool isLong = patience.usual < longestSpin || ++patience.waits % 8 == 0;
  int64_t spin = isLong ? longestSpin : shortestSpin;
  // What comes soon is not worth a look at the clock, which would keep it.
  int64_t begin = 0, now = 0, last = 0;
  bool done = false, moved = false;
  for (int turns = 1; !done; ++turns) {
    moved |= progressOnce();
    done = changed(argument) != 0;
    if (done || turns % 16 != 0)
      continue;
    int64_t yielded = now;
    now = nowNs();
    lookAfter(now);
    if (begin == 0)
      begin = last = now;
    else if (now - yielded > longYield)
      crowdedUntil.store(now + crowdedTime, std::memory_order_relaxed);
    if (moved)
      last = now;
    moved = false;
    if (now - last > spin || crowdedUntil.load(std::memory_order_relaxed) != 0)
      break;
    // Another task of this host may be waiting for the processor.
    sched_yield();
  }
  if (done && ++atOnce % 64 == 0)
    lookAfter(nowNs());
  patience.usual += ((done ? now - begin : 4 * longestSpin) - patience.usual) / 4;
  helps.store(helps.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  helping.store(false, std::memory_order_relaxed);
  turn.give();
  // Others that wait, asleep, have nobody but the thread that moves messages.
  if (runs.load(std::memory_order_relaxed) > 1)
    ucx.wake();
}

//===----------------------------------------------------------------------===//
// Signs of life
//===----------------------------------------------------------------------===//

int64_t TaskSet::oldestLed() const {
  int64_t oldest = nextNumber;
  for (const Step &step : steps)
    if (step.key.leader == own && step.key.number < oldest)
      oldest = step.key.number;
  return oldest;
}

void TaskSet::checkLife(int64_t now) {
  if (now < nextBeat)
    return;
  nextBeat = now + heartbeatNs;
  std::vector<std::pair<int32_t, uint64_t>> silent;
  std::vector<std::pair<int32_t, Header>> living;
  {
    Lock lock(mutex);
    forgetEnded();
    int64_t oldest = oldestLed();
    for (size_t i = 0; i < peers.size(); ++i) {
      if (peers[i].state == Peer::away)
        continue;
      if (now - ucx.heard(int32_t(i)) > timeoutNs)
        silent.emplace_back(int32_t(i), peers[i].nonce);
      else if (peers[i].state == Peer::here)
        living.emplace_back(int32_t(i), heartbeatFor(peers[i], now, oldest));
    }
  }
  for (const auto &[task, header] : living)
    ucx.send(task, header);
  for (auto [task, nonce] : silent)
    lose(task, nonce,
         "it has given no sign of life for " + std::to_string(timeoutNs / 1000000) + " ms");
}

void TaskSet::movingThread() {
  constexpr int64_t spin = 30000;
  int64_t busy = nowNs(), lastHelp = 0;
  uint32_t seenHelps = 0;
  lastMove = busy;
  while (!stopping.load()) {
    if (helping.load() || !turn.tryTake()) {
      ucx.sleep(restTime, /*armed=*/false);
      continue;
    }
    bool moved = progressOnce();
    int64_t now = nowNs();
    lookAfter(now);
    if (uint32_t count = helps.load(std::memory_order_relaxed); count != seenHelps) {
      seenHelps = count;
      lastHelp = now;
    }
    bool helped = now - lastHelp < 5 * restTime;
    busy = moved ? now : busy;
    bool sleeps = now - busy > (helped ? 0 : spin);
    bool armed = sleeps && !helped && ucx.arm();
    int64_t until = suspected.empty() ? std::max<int64_t>(nextBeat - now, 0) : goodbyeTime / 5;
    turn.give();
    if (armed || (sleeps && helped))
      ucx.sleep(helped ? restTime : until, armed);
  }
}

} // namespace weir::rt::cluster
