//===- Order.cpp - an order of work that needs little memory --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/memory/Order.h"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <numeric>
#include <queue>
#include <tuple>
#include <unordered_map>

using namespace weir::memory;

namespace {

/// Pieces longer than this are searched window by window.
constexpr int largestWindow = 1024;
/// Nodes that a state of the beam is continued with, at most.
constexpr int mostContinued = 48;

struct Users {
  std::vector<std::vector<int>> ofValue; ///< nodes that read it, each once
  std::vector<int> producer;             ///< of a value, -1: none

  Users(std::span<const OrderNode> nodes, size_t values) : ofValue(values), producer(values, -1) {
    for (size_t n = 0; n < nodes.size(); ++n) {
      for (int v : nodes[n].reads)
        if (ofValue[v].empty() || ofValue[v].back() != int(n))
          ofValue[v].push_back(n);
      for (int v : nodes[n].writes)
        producer[v] = n;
    }
  }
};

/// Bytes alive while nodes run, one after the other.
class Liveness {
public:
  Liveness(std::span<const OrderNode> nodes, std::span<const OrderValue> values, const Users &users)
      : nodes(nodes), values(values), waiting(values.size()) {
    for (size_t v = 0; v < values.size(); ++v) {
      waiting[v] = users.ofValue[v].size() + values[v].outlives;
      if (users.producer[v] < 0 && waiting[v] > 0)
        live += values[v].size;
    }
  }

  int64_t live = 0;

  /// Bytes alive while `n` runs, were it next; `change`: what remains of it.
  int64_t during(int n, int64_t &change) const {
    const OrderNode &node = nodes[n];
    int64_t made = 0, kept = 0;
    for (int v : node.writes) {
      made += values[v].size;
      if (waiting[v] > 0)
        kept += values[v].size;
    }
    int64_t freed = 0, over = 0;
    for (size_t i = 0; i < node.reads.size(); ++i) {
      int v = node.reads[i];
      if (waiting[v] != 1 ||
          std::find(node.reads.begin(), node.reads.begin() + i, v) != node.reads.begin() + i)
        continue;
      freed += values[v].size;
      if (v == node.inPlace && node.writes.size() == 1)
        over = std::min(values[v].size, made);
    }
    change = kept - freed;
    return live + made - over + node.scratch;
  }

  void run(int n) {
    int64_t change;
    during(n, change);
    live += change;
    const OrderNode &node = nodes[n];
    for (size_t i = 0; i < node.reads.size(); ++i)
      if (std::find(node.reads.begin(), node.reads.begin() + i, node.reads[i]) ==
          node.reads.begin() + i)
        --waiting[node.reads[i]];
  }

private:
  std::span<const OrderNode> nodes;
  std::span<const OrderValue> values;
  std::vector<int> waiting; ///< readers to come; behind the end counts as one
};

/// What must run before what, between nodes.
struct Dependencies {
  std::vector<std::vector<int>> before, behind;

  Dependencies(std::span<const OrderNode> nodes, const Users &users)
      : before(nodes.size()), behind(nodes.size()) {
    for (size_t n = 0; n < nodes.size(); ++n) {
      before[n] = nodes[n].after;
      for (int v : nodes[n].reads)
        if (users.producer[v] >= 0)
          before[n].push_back(users.producer[v]);
      std::sort(before[n].begin(), before[n].end());
      before[n].erase(std::unique(before[n].begin(), before[n].end()), before[n].end());
      for (int m : before[n])
        behind[m].push_back(n);
    }
  }
};

using Bits = std::vector<uint64_t>;

bool has(const Bits &bits, int i) { return bits[i / 64] >> (i % 64) & 1; }
void set(Bits &bits, int i) { bits[i / 64] |= uint64_t(1) << (i % 64); }

struct BitsHash {
  size_t operator()(const Bits &bits) const {
    uint64_t hash = 0x9e3779b97f4a7c15;
    for (uint64_t word : bits)
      hash = (hash ^ word) * 0xff51afd7ed558ccd, hash ^= hash >> 29;
    return hash;
  }
};

/// Orders the nodes [begin, end) when all before `begin` are done.
class Piece {
public:
  Piece(std::span<const OrderNode> nodes, std::span<const OrderValue> values, const Users &users,
        const Dependencies &dependencies, int begin, int end, int64_t live,
        const OrderOptions &options)
      : nodes(nodes), values(values), users(users), dependencies(dependencies), begin(begin),
        count(end - begin), live(live), options(options) {}

  struct Found {
    std::vector<int> nodes; ///< empty: nothing below the limit
    int64_t peak = 0;
    bool exact = false; ///< no order has a smaller peak, or one below the limit
  };
  Found search(int64_t limit) const {
    Found found = searchExactly(limit);
    return found.exact ? found : searchBeam(limit);
  }

private:
  struct State {
    Bits done;
    std::vector<int> ready;
    int64_t peak, live;
    int parent, node; ///< index of the state before, and what led from it here
    int steps;
  };

  bool isReady(const Bits &done, int n) const {
    if (has(done, n - begin))
      return false;
    for (int m : dependencies.before[n])
      if (m >= begin && !has(done, m - begin))
        return false;
    return true;
  }

  bool isLastReader(const Bits &done, int v, int n) const {
    if (values[v].outlives)
      return false;
    // Late readers are the likeliest to be still to come.
    const std::vector<int> &readers = users.ofValue[v];
    for (auto it = readers.rbegin(); it != readers.rend() && *it >= begin; ++it)
      if (*it != n && (*it >= begin + count || !has(done, *it - begin)))
        return false;
    return true;
  }

  int64_t during(const State &state, int n, int64_t &change) const {
    const OrderNode &node = nodes[n];
    int64_t made = 0, kept = 0, freed = 0, over = 0;
    for (int v : node.writes) {
      made += values[v].size;
      if (values[v].outlives || !users.ofValue[v].empty())
        kept += values[v].size;
    }
    for (size_t i = 0; i < node.reads.size(); ++i) {
      int v = node.reads[i];
      if (std::find(node.reads.begin(), node.reads.begin() + i, v) != node.reads.begin() + i ||
          !isLastReader(state.done, v, n))
        continue;
      freed += values[v].size;
      if (v == node.inPlace && node.writes.size() == 1)
        over = std::min(values[v].size, made);
    }
    change = kept - freed;
    return state.live + made - over + node.scratch;
  }

  /// Those that a state is continued with, and whether that is all of them.
  std::span<const int> readyOf(const State &state) const {
    return std::span(state.ready).first(std::min<size_t>(state.ready.size(), mostContinued));
  }

  State next(const State &state, int parent, int n, int64_t moment, int64_t change) const {
    State made{state.done,          state.ready, std::max(state.peak, moment),
               state.live + change, parent,      n,
               state.steps + 1};
    set(made.done, n - begin);
    made.ready.erase(std::find(made.ready.begin(), made.ready.end(), n));
    for (int m : dependencies.behind[n])
      if (m < begin + count && isReady(made.done, m))
        made.ready.insert(std::lower_bound(made.ready.begin(), made.ready.end(), m), m);
    return made;
  }

  State first() const {
    State state{Bits((count + 63) / 64), {}, 0, live, -1, -1, 0};
    for (int n = begin; n < begin + count; ++n)
      if (isReady(state.done, n))
        state.ready.push_back(n);
    return state;
  }

  std::vector<int> pathTo(const std::vector<State> &states, int at) const {
    std::vector<int> order;
    for (; states[at].parent >= 0; at = states[at].parent)
      order.push_back(states[at].node);
    std::reverse(order.begin(), order.end());
    return order;
  }

  /// What makes nothing larger is done at once: whatever follows finds no more
  /// alive than without it.
  int free(const State &state, std::span<const int> ready) const {
    for (int n : ready) {
      int64_t change, peak = during(state, n, change);
      if (change <= 0 && peak <= state.peak)
        return n;
    }
    return -1;
  }

  /// The cheapest way through the sets of done nodes, where a way costs its
  /// highest moment.
  Found searchExactly(int64_t limit) const {
    Found found;
    if (options.states <= 0)
      return found;
    std::vector<State> states{first()};
    std::unordered_map<Bits, int64_t, BitsHash> best;
    using Entry = std::tuple<int64_t, int, int>; // peak, nodes left, state
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    queue.push({0, count, 0});
    while (!queue.empty()) {
      auto [peak, left, at] = queue.top();
      queue.pop();
      if (left == 0)
        return {pathTo(states, at), peak, true};
      auto known = best.find(states[at].done);
      if (known != best.end() && known->second < peak)
        continue;
      if (int64_t(states.size()) > options.states || states[at].ready.size() > mostContinued)
        return found; // too many, or not all would be looked at
      std::vector<int> ready(states[at].ready);
      if (int n = free(states[at], ready); n >= 0)
        ready = {n};
      for (int n : ready) {
        int64_t change, moment = during(states[at], n, change);
        if (std::max(moment, peak) >= limit)
          continue;
        State made = next(states[at], at, n, moment, change);
        auto [it, isNew] = best.try_emplace(made.done, made.peak);
        if (!isNew && it->second <= made.peak)
          continue;
        it->second = made.peak;
        queue.push({made.peak, count - made.steps, int(states.size())});
        states.push_back(std::move(made));
      }
    }
    found.exact = true; // nothing below the limit
    return found;
  }

  /// The best few sets of each size.
  Found searchBeam(int64_t limit) const {
    struct Candidate {
      int64_t peak, live;
      int parent, node;
      int64_t moment, change;
    };
    std::vector<State> states{first()};
    std::vector<int> beam{0};
    for (int step = 0; step < count; ++step) {
      std::vector<Candidate> candidates;
      for (int at : beam) {
        auto ready = readyOf(states[at]);
        int quiet = free(states[at], ready);
        for (int n : quiet >= 0 ? std::span<const int>(&quiet, 1) : ready) {
          int64_t change, moment = during(states[at], n, change);
          int64_t peak = std::max(states[at].peak, moment);
          if (peak < limit)
            candidates.push_back({peak, states[at].live + change, at, n, moment, change});
        }
      }
      std::vector<int> chosen;
      std::unordered_map<Bits, bool, BitsHash> seen;
      auto take = [&](size_t places) {
        for (const Candidate &c : candidates) {
          if (chosen.size() >= places)
            return;
          State made = next(states[c.parent], c.parent, c.node, c.moment, c.change);
          if (!seen.try_emplace(made.done, true).second)
            continue;
          chosen.push_back(states.size());
          states.push_back(std::move(made));
        }
      };
      // Half of the places go to those with the least alive: a high moment that
      // lies behind is no reason to end with much.
      std::sort(candidates.begin(), candidates.end(), [](const auto &a, const auto &b) {
        return std::tie(a.peak, a.live, a.parent, a.node) <
               std::tie(b.peak, b.live, b.parent, b.node);
      });
      take((options.width + 1) / 2);
      std::sort(candidates.begin(), candidates.end(), [](const auto &a, const auto &b) {
        return std::tie(a.live, a.peak, a.parent, a.node) <
               std::tie(b.live, b.peak, b.parent, b.node);
      });
      take(options.width);
      if (chosen.empty())
        return {};
      // Only their ways are asked for again.
      for (int at : beam) {
        Bits().swap(states[at].done);
        std::vector<int>().swap(states[at].ready);
      }
      beam = std::move(chosen);
    }
    int best = beam.front();
    for (int at : beam)
      if (states[at].peak < states[best].peak)
        best = at;
    return {pathTo(states, best), states[best].peak, false};
  }

  std::span<const OrderNode> nodes;
  std::span<const OrderValue> values;
  const Users &users;
  const Dependencies &dependencies;
  int begin, count;
  int64_t live; ///< when the piece begins
  const OrderOptions &options;
};

/// Where pieces begin: behind every node that all others come before or behind.
std::vector<int> cuts(const Dependencies &dependencies) {
  int count = dependencies.before.size();
  std::vector<int> result{0};
  // All before n lead to it if each has a user up to n; all behind come from it
  // if each uses something from n on.
  std::vector<int> latestNeed(count + 1, 0), earliestUse(count + 1, INT_MAX);
  for (int n = 0; n < count; ++n) {
    int firstUser = dependencies.behind[n].empty() ? INT_MAX : dependencies.behind[n].front();
    latestNeed[n + 1] = std::max(latestNeed[n], firstUser);
  }
  for (int n = count - 1; n >= 0; --n) {
    int lastInput = dependencies.before[n].empty() ? -1 : dependencies.before[n].back();
    earliestUse[n] = std::min(earliestUse[n + 1], lastInput);
  }
  for (int n = 0; n < count; ++n)
    if (latestNeed[n] <= n && earliestUse[n + 1] >= n && n + 1 < count)
      result.push_back(n + 1);
  result.push_back(count);
  return result;
}

} // namespace

int64_t weir::memory::peakOf(std::span<const OrderNode> nodes, std::span<const OrderValue> values,
                             std::span<const int> order) {
  Users users(nodes, values.size());
  Liveness liveness(nodes, values, users);
  int64_t peak = liveness.live, change;
  for (int n : order) {
    peak = std::max(peak, liveness.during(n, change));
    liveness.run(n);
  }
  return peak;
}

Order weir::memory::orderNodes(std::span<const OrderNode> nodes, std::span<const OrderValue> values,
                               const OrderOptions &options) {
  Order result;
  int count = nodes.size();
  result.nodes.resize(count);
  std::iota(result.nodes.begin(), result.nodes.end(), 0);
  result.peak = result.numberedPeak = peakOf(nodes, values, result.nodes);
  if (options.schedule == Schedule::Latency || count == 0)
    return result;
  Users users(nodes, values.size());
  Dependencies dependencies(nodes, users);

  // Pieces, and in long ones windows, with their highest moments as numbered.
  struct Part {
    int begin, end;
    bool isWhole; ///< a piece, not a window of one
    int64_t live; ///< when it begins
    int64_t peak;
  };
  std::vector<Part> parts;
  std::vector<int> starts = cuts(dependencies);
  for (size_t i = 0; i + 1 < starts.size(); ++i)
    for (int at = starts[i]; at < starts[i + 1]; at += largestWindow)
      parts.push_back({at, std::min(at + largestWindow, starts[i + 1]),
                       starts[i + 1] - starts[i] <= largestWindow, 0, 0});
  Liveness liveness(nodes, values, users);
  for (Part &part : parts) {
    part.live = liveness.live;
    for (int n = part.begin; n < part.end; ++n) {
      int64_t change;
      part.peak = std::max(part.peak, liveness.during(n, change));
      liveness.run(n);
    }
  }

  // What is alive between parts is the same in every order of the nodes inside.
  // Highest first: none needs to be lower than one that cannot be made lower.
  std::vector<size_t> byPeak(parts.size());
  std::iota(byPeak.begin(), byPeak.end(), size_t(0));
  std::sort(byPeak.begin(), byPeak.end(), [&](size_t a, size_t b) {
    return std::pair(-parts[a].peak, a) < std::pair(-parts[b].peak, b);
  });
  bool proved = true;
  int64_t floor = 0;
  for (size_t i : byPeak) {
    Part &part = parts[i];
    if (part.end - part.begin > 1 && (options.schedule == Schedule::Memory || part.peak > floor)) {
      Piece piece(nodes, values, users, dependencies, part.begin, part.end, part.live, options);
      Piece::Found found = piece.search(part.peak);
      if (!found.nodes.empty()) {
        std::copy(found.nodes.begin(), found.nodes.end(), result.nodes.begin() + part.begin);
        part.peak = found.peak;
      }
      proved &= (found.exact && part.isWhole) || part.peak <= floor;
    }
    floor = std::max(floor, part.peak);
  }
  result.peak = peakOf(nodes, values, result.nodes);
  result.provedOptimal = proved;
  return result;
}
