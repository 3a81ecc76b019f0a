//===- LateTransfers.cpp - receives as late as the step allows ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/partition/LateTransfers.h"
#include "dialects/weir/Pch.h"

#include <algorithm>

using namespace mlir;
using namespace weir;

/// What is smaller is not worth a message more.
static constexpr double leastAskedBytes = 64 << 10;
/// Bounds of the choice: transfers times moments, and turns through all of them.
static constexpr size_t mostWork = 20'000'000;
static constexpr int mostTurns = 4;
/// The part of all peaks that must be saved: times and bytes are a model's.
static constexpr double leastGain = 1.0 / 32;

void LateTransfers::passed(int64_t device, int64_t place, Operation *first,
                           std::optional<SimulatedTimes> times) {
  // Sends may be moved from where they are.
  while (isa<SendOp>(first))
    first = first->getNextNode();
  programs[device].push_back({place, first, times});
}

LateTransfers::Choice LateTransfers::latestOf(const Transfer &transfer) const {
  Choice choice;
  static const std::vector<Passed> none;
  auto program = [&](int64_t device) -> const std::vector<Passed> & {
    auto it = programs.find(device);
    return it == programs.end() ? none : it->second;
  };
  // Until when the sender is busy before some place.
  double busy = 0;
  const Passed *next = nullptr;
  for (const Passed &op : program(transfer.from)) {
    if (op.place == transfer.producer && op.times)
      choice.early = op.times->earliestEnd();
    if (op.place > transfer.producer &&
        (op.place > transfer.consumer || !op.times || op.times->latestEnd() > transfer.latest)) {
      next = &op;
      break;
    }
    if (op.times)
      busy = op.times->earliestEnd();
  }
  choice.late = std::max(busy, choice.early);
  if (next) {
    choice.before = next->first;
    return choice;
  }
  // Nothing is left to do there: it would be sent as soon as that is done.
  const Passed *asks = nullptr;
  for (const Passed &op : program(transfer.to))
    if (op.place > transfer.producer && op.place < transfer.consumer && op.times &&
        op.times->latest + transfer.askLatency <= transfer.latest)
      asks = &op;
  if (asks && transfer.bytes >= leastAskedBytes && asks->times->earliest > choice.late) {
    choice.asks = asks->first;
    choice.late = asks->times->earliest;
  }
  return choice;
}

namespace {

/// What lies in each place over the step.
class Profile {
public:
  explicit Profile(std::vector<double> moments) : moments(std::move(moments)) {
    std::sort(this->moments.begin(), this->moments.end());
    this->moments.erase(std::unique(this->moments.begin(), this->moments.end()),
                        this->moments.end());
  }
  void add(int64_t place, double begin, double end, double bytes) {
    std::vector<double> &held = bytesOf[place];
    held.resize(moments.size());
    size_t from = index(begin), to = index(end);
    for (size_t i = from; i < to; ++i)
      held[i] += bytes;
  }
  double peak(int64_t place) const {
    auto it = bytesOf.find(place);
    return it == bytesOf.end() ? 0 : *std::max_element(it->second.begin(), it->second.end());
  }
  double peaks() const {
    double sum = 0;
    for (auto &[place, held] : bytesOf)
      sum += peak(place);
    return sum;
  }

private:
  size_t index(double moment) const {
    return std::lower_bound(moments.begin(), moments.end(), moment) - moments.begin();
  }
  std::vector<double> moments;
  std::map<int64_t, std::vector<double>> bytesOf;
};

/// A device's arena is there for the whole step; what it receives comes on top.
int64_t arenaOf(int64_t device) { return 2 * device; }
int64_t receivedBy(int64_t device) { return 2 * device + 1; }

} // namespace

void LateTransfers::choose(std::vector<Choice> &choices) const {
  std::vector<double> moments;
  for (const Held &each : held)
    moments.insert(moments.end(), {each.begin, each.end});
  for (auto [transfer, choice] : llvm::zip(transfers, choices))
    moments.insert(moments.end(), {choice.early, choice.late, transfer.useStart, transfer.senderEnd,
                                   transfer.receiverEnd});
  Profile given(moments);
  for (const Held &each : held)
    given.add(arenaOf(each.device), each.begin, each.end, each.bytes);

  auto change = [&](Profile &profile, size_t i, bool late, double sign) {
    const Transfer &t = transfers[i];
    double at = late ? choices[i].late : choices[i].early;
    profile.add(arenaOf(t.from), t.senderEnd, std::max(at, t.senderEnd), sign * t.bytes);
    // Its uses and what follows them wait for it: as if it came in time.
    profile.add(receivedBy(t.to), std::min(at, t.useStart), t.receiverEnd, sign * t.bytes);
  };
  // The largest first; where there are too many, the rest stays as it is.
  std::vector<size_t> order;
  for (size_t i = 0; i < transfers.size(); ++i)
    if (choices[i].late > choices[i].early)
      order.push_back(i);
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::pair(-transfers[a].bytes, a) < std::pair(-transfers[b].bytes, b);
  });
  order.resize(std::min(order.size(), mostWork / std::max<size_t>(moments.size(), 1)));

  std::vector<char> chosen(transfers.size(), false);
  Profile atOnce = given;
  for (size_t i = 0; i < transfers.size(); ++i)
    change(atOnce, i, /*late=*/false, 1);
  double best = atOnce.peaks() * (1 - leastGain);
  for (bool start : {false, true}) {
    std::vector<char> late(transfers.size(), false);
    for (size_t i : order)
      late[i] = start;
    Profile profile = given;
    for (size_t i = 0; i < transfers.size(); ++i)
      change(profile, i, late[i], 1);
    bool changed = true;
    for (int turn = 0; changed && turn < mostTurns; ++turn) {
      changed = false;
      for (size_t i : order) {
        int64_t from = arenaOf(transfers[i].from), to = receivedBy(transfers[i].to);
        double before = profile.peak(from) + profile.peak(to);
        auto turnOver = [&] {
          change(profile, i, late[i], -1);
          late[i] = !late[i];
          change(profile, i, late[i], 1);
        };
        turnOver();
        double now = profile.peak(from) + profile.peak(to);
        // What gains nothing is sent at once.
        if (now < before || (now == before && !late[i]))
          changed = true;
        else
          turnOver();
      }
    }
    double sum = profile.peaks();
    if (sum < best) {
      best = sum;
      chosen = std::move(late);
    }
  }
  for (size_t i = 0; i < choices.size(); ++i)
    choices[i].taken = chosen[i];
}

void LateTransfers::keepPlace(SendOp send) {
  for (Operation *op = send->getPrevNode(); op; op = op->getPrevNode()) {
    auto times = timesOf(op);
    if (!times || times->stored <= 0 || !op->getNumResults() ||
        !isa<TensorType>(op->getResult(0).getType()))
      continue;
    OpBuilder b(send);
    send.getValueMutable().append(
        DoneOp::create(b, send.getLoc(), TokenType::get(b.getContext()), op->getResult(0))
            .getResult());
    return;
  }
}

void LateTransfers::delay(AskFn ask) {
  std::vector<Choice> choices;
  for (const Transfer &transfer : transfers)
    choices.push_back(latestOf(transfer));
  choose(choices);
  // In the order of first uses, in which they also stand in a program's end.
  for (auto [transfer, choice] : llvm::zip(transfers, choices)) {
    if (!choice.taken)
      continue;
    Block *block = transfer.send->getBlock();
    if (choice.before)
      transfer.send->moveBefore(choice.before);
    else
      transfer.send->moveBefore(block, block->end());
    if (choice.asks) {
      transfer.send.getValueMutable().append(ask(transfer, choice.asks));
      ++asked;
    } else {
      keepPlace(transfer.send);
      ++moved;
    }
  }
}
