//===- Recompute.cpp - values computed again instead of kept --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/memory/ExecutionSequence.h"

#include <algorithm>
#include <map>
#include <set>

using namespace weir::memory;

/// Values tried at one moment, large and long ones first; moments tried before giving up.
constexpr size_t mostValues = 24, mostMoments = 12;
/// Nodes that computing one value again may take.
constexpr size_t longestChain = 256;

constexpr Policy policies[] = {{0, 0, false},    {1, 0, false},  {1, 0, true},   {3, 0, false},
                               {3, 0, true},     {8, 0, false},  {8, 0, true},   {24, 0, true},
                               {256, 0, false},  {256, 0, true}, {3, 0.5, true}, {8, 0.5, true},
                               {256, 0.5, true}, {8, 0.25, true}};

/// Adds to the proposal what computing `value` again at its position takes.
bool Sequence::collect(int value, int depth, const Policy &policy, Proposal &proposal) {
  if (wanted[value])
    return true;
  int nearest = -1, later = -1;
  for (int i : ofValue[value]) {
    const Instance &instance = instances[i];
    if (instance.made >= proposal.position) {
      later = later < 0 ? i : later;
      continue;
    }
    if (i != proposal.instance && instance.last >= proposal.position)
      return true; // alive there anyway
    if (i != proposal.instance)
      nearest = i;
  }
  int n = producer[value];
  bool again = n >= 0 && costs[n] >= 0;
  bool isFirst = instances[proposal.instance].value == value;
  if (!isFirst) {
    bool keep = !again || depth > policy.depth || values[value].size == 0 ||
                double(values[value].size) <=
                    policy.smaller * double(values[instances[proposal.instance].value].size);
    if (keep && nearest >= 0) {
      if (std::find(proposal.kept.begin(), proposal.kept.end(), nearest) == proposal.kept.end())
        proposal.kept.push_back(nearest);
      return true;
    }
  }
  if (!again || proposal.nodes.size() >= longestChain ||
      std::any_of(nodes[n].reads.begin(), nodes[n].reads.end(),
                  [&](int v) { return isGone(v, proposal.position); }))
    return false;
  for (int v : nodes[n].writes)
    wanted[v] = 1;
  for (int v : nodes[n].reads)
    if (producer[v] >= 0 && !collect(v, depth + 1, policy, proposal))
      return false;
  proposal.nodes.push_back(n);
  proposal.cost += costs[n];
  if (policy.hoists && !isFirst && later >= 0 && isMadeAgain(instances[later].maker) &&
      nodes[n].writes.size() == 1) {
    proposal.hoisted.push_back(later);
    proposal.cost -= costOf(instances[later].maker);
  }
  return true;
}

/// Finds out how much less is above the limit. Reuse in place is left out, which
/// apply() counts.
void Sequence::judge(Proposal &proposal) {
  const Instance &dropped = instances[proposal.instance];
  int at = proposal.position;
  // What is alive changes in front of `at`, and behind it until the hoisted.
  int previous = dropped.made;
  for (size_t p = dropped.made + 1; p < size_t(at); ++p) {
    const OrderNode &node = nodeOf(order[p]);
    for (size_t r = 0; r < node.reads.size(); ++r)
      if (executions[order[p]].sources[r] == dropped.maker && node.reads[r] == dropped.value)
        previous = p;
  }
  int low = previous + 1, high = at;
  for (int i : proposal.kept)
    low = std::min(low, instances[i].last + 1);
  for (int i : proposal.hoisted)
    high = std::max(high, instances[i].made + 1);
  change.assign(high - low + 1, 0);
  auto add = [&](int from, int to, int64_t size) {
    change[from - low] += size;
    change[to - low] -= size;
  };
  int64_t now = standing[at];
  add(previous + 1, at, -values[dropped.value].size);
  now -= values[dropped.value].size;
  for (int i : proposal.kept) {
    add(instances[i].last + 1, at, values[instances[i].value].size);
    now += values[instances[i].value].size;
  }
  for (int i : proposal.hoisted)
    add(at, instances[i].made, values[instances[i].value].size);
  double gain = 0;
  int64_t sum = 0;
  for (int p = low; p < high; ++p) {
    sum += change[p - low];
    gain += over(live[p]) - over(live[p] + sum);
  }
  // What a hoisted execution took at its old place is saved as well.
  for (int i : proposal.hoisted)
    gain += over(live[instances[i].made]);
  // The work itself: values die with their last use in it.
  std::map<int, size_t> lastUse;
  for (size_t k = 0; k < proposal.nodes.size(); ++k)
    for (int v : nodes[proposal.nodes[k]].reads)
      lastUse[v] = k;
  for (int i : proposal.hoisted)
    lastUse[instances[i].value] = proposal.nodes.size();
  lastUse[dropped.value] = proposal.nodes.size();
  for (size_t k = 0; k < proposal.nodes.size(); ++k) {
    const OrderNode &node = nodes[proposal.nodes[k]];
    for (int v : node.writes)
      now += values[v].size;
    gain -= over(now + node.scratch);
    for (int v : node.writes)
      if (!lastUse.count(v))
        now -= values[v].size;
    for (size_t r = 0; r < node.reads.size(); ++r)
      if (wanted[node.reads[r]] && lastUse[node.reads[r]] == k &&
          std::find(node.reads.begin(), node.reads.begin() + r, node.reads[r]) ==
              node.reads.begin() + r)
        now -= values[node.reads[r]].size;
  }
  proposal.gain = gain;
  work += (high - low) + at - dropped.made + 4 * proposal.nodes.size();
}

/// All ways to drop `instance` across the place `moment`.
void Sequence::proposeFor(int instance, int moment, std::vector<Proposal> &proposals) {
  const Instance &dropped = instances[instance];
  int next = -1;
  for (int p = moment; p <= dropped.last && next < 0; ++p) {
    const OrderNode &node = nodeOf(order[p]);
    for (size_t r = 0; r < node.reads.size(); ++r)
      if (executions[order[p]].sources[r] == dropped.maker && node.reads[r] == dropped.value)
        next = p;
  }
  work += dropped.last - moment;
  if (next <= moment)
    return; // needed at that moment itself
  std::set<std::vector<int>> seen;
  for (const Policy &policy : policies) {
    Proposal proposal;
    proposal.instance = instance;
    proposal.position = next;
    std::fill(wanted.begin(), wanted.end(), 0);
    work += values.size() / 8;
    if (!collect(dropped.value, 0, policy, proposal))
      continue;
    std::vector<int> key = proposal.nodes;
    key.push_back(-1);
    key.insert(key.end(), proposal.kept.begin(), proposal.kept.end());
    key.push_back(-1);
    key.insert(key.end(), proposal.hoisted.begin(), proposal.hoisted.end());
    if (!seen.insert(std::move(key)).second)
      continue;
    judge(proposal);
    if (proposal.gain > 0)
      proposals.push_back(std::move(proposal));
  }
  proposeCopy(instance, next, proposals);
}

/// The way by other memory: saved where the value was made, if it was not before.
void Sequence::proposeCopy(int instance, int position, std::vector<Proposal> &proposals) {
  const Instance &dropped = instances[instance];
  if (!canCopy(dropped.value))
    return;
  Proposal proposal;
  proposal.instance = instance;
  proposal.position = position;
  proposal.isCopy = true;
  proposal.cost = transfers->in[dropped.value];
  if (!isCopy(dropped.maker) && !isSaved(dropped.maker, dropped.value))
    proposal.cost += transfers->out[dropped.value];
  judge(proposal);
  if (proposal.gain > 0)
    proposals.push_back(std::move(proposal));
}

bool Sequence::isSaved(int execution, int value) const {
  return std::any_of(order.begin(), order.end(), [&](int e) {
    return executions[e].value == value && executions[e].sources[0] == execution;
  });
}

bool Sequence::improve() {
  wanted.assign(values.size(), 0);
  // Full moments, the fullest first; neighbours say the same.
  std::vector<int> moments;
  for (size_t p = 0; p < order.size(); ++p)
    if (live[p] > limit && (p == 0 || live[p - 1] < live[p]) &&
        (p + 1 == order.size() || live[p + 1] <= live[p]))
      moments.push_back(p);
  std::sort(moments.begin(), moments.end(),
            [&](int a, int b) { return std::pair(-live[a], a) < std::pair(-live[b], b); });
  if (moments.size() > mostMoments)
    moments.resize(mostMoments);
  for (int moment : moments) {
    std::vector<int> waiting;
    for (size_t i = 0; i < instances.size(); ++i) {
      const Instance &instance = instances[i];
      if (instance.made < moment && instance.last > moment && values[instance.value].size > 0 &&
          (canCopy(instance.value) || costs[producer[instance.value]] >= 0))
        waiting.push_back(i);
    }
    auto area = [&](int i) {
      return double(values[instances[i].value].size) * (instances[i].last - instances[i].made);
    };
    std::sort(waiting.begin(), waiting.end(),
              [&](int a, int b) { return std::pair(-area(a), a) < std::pair(-area(b), b); });
    if (waiting.size() > mostValues)
      waiting.resize(mostValues);
    std::vector<Proposal> proposals;
    for (int i : waiting)
      proposeFor(i, moment, proposals);
    std::vector<std::pair<double, size_t>> byWorth;
    for (size_t k = 0; k < proposals.size(); ++k)
      byWorth.emplace_back(-proposals[k].gain / std::max(proposals[k].cost, 1.0), k);
    std::sort(byWorth.begin(), byWorth.end());
    // The estimate leaves out what is written in place: the first that holds.
    for (size_t k = 0; k < byWorth.size() && k < 8; ++k) {
      std::vector<Run> runs = executions;
      std::vector<int> before = order;
      double was = above;
      apply(proposals[byWorth[k].second]);
      if (above < was)
        return true;
      executions = std::move(runs);
      order = std::move(before);
      measure();
    }
  }
  return false;
}

Recomputation weir::memory::recomputeValues(std::span<const OrderNode> nodes,
                                            std::span<const OrderValue> values,
                                            std::span<const double> costs,
                                            const RecomputeOptions &options) {
  Sequence sequence(nodes, values, costs, options.limit, options.transfers);
  int64_t given = sequence.peak();
  while (sequence.excess() > 0 && sequence.work < options.steps && sequence.improve())
    ;
  sequence.prune();
  sequence.advanceCopies();
  Recomputation made = sequence.result();
  made.givenPeak = given;
  return made;
}
