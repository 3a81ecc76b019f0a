//===- Recompute.cpp - values computed again instead of kept --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/memory/Recompute.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>

using namespace weir::memory;

namespace {

/// Values tried at one moment, large and long ones first; moments tried before giving up.
constexpr size_t mostValues = 24, mostMoments = 12;
/// Nodes that computing one value again may take.
constexpr size_t longestChain = 256;

/// A value as one execution made it.
struct Instance {
  int value = 0;
  int maker = 0;          ///< execution
  int made = 0, last = 0; ///< positions of the making and of the last use
};

/// How far to go back for what computing again needs.
struct Policy {
  int depth;     ///< of chains of work; behind it values are kept
  double smaller; ///< those of at most so much of the value's size are kept
  bool hoists;   ///< takes over what was computed again later
};

constexpr Policy policies[] = {
    {0, 0, false},   {1, 0, false},   {1, 0, true},   {3, 0, false},
    {3, 0, true},    {8, 0, false},   {8, 0, true},   {24, 0, true},
    {256, 0, false}, {256, 0, true},  {3, 0.5, true}, {8, 0.5, true},
    {256, 0.5, true}, {8, 0.25, true}};

/// One way to drop an instance across a moment.
struct Proposal {
  int instance = -1;           ///< dropped
  int position = 0;            ///< in front of this one it is made again
  std::vector<int> nodes;      ///< run again, in order
  std::vector<int> kept;       ///< instances that live on until `position`
  std::vector<int> hoisted;    ///< instances that are made here instead of later
  double cost = 0;
  double gain = 0; ///< bytes times moments above the limit
};

/// A sequence of executions, and what is alive along it.
class Sequence {
public:
  Sequence(std::span<const OrderNode> nodes, std::span<const OrderValue> values,
           std::span<const double> costs, int64_t limit)
      : nodes(nodes), values(values), costs(costs), limit(limit),
        producer(values.size(), -1), ordered(nodes.size(), 0) {
    for (size_t n = 0; n < nodes.size(); ++n)
      for (int m : nodes[n].after)
        ordered[n] = ordered[m] = 1;
    std::vector<int> maker(values.size(), -1);
    for (size_t n = 0; n < nodes.size(); ++n) {
      std::vector<int> sources;
      for (int v : nodes[n].reads)
        sources.push_back(maker[v]);
      order.push_back(n);
      executions.push_back({int(n), std::move(sources)});
      for (int v : nodes[n].writes)
        producer[v] = maker[v] = n;
    }
    // What outlives is read behind all work.
    end.reads.clear();
    std::vector<int> sources;
    for (size_t v = 0; v < values.size(); ++v)
      if (values[v].outlives && producer[v] >= 0) {
        end.reads.push_back(v);
        sources.push_back(maker[v]);
      }
    order.push_back(executions.size());
    executions.push_back({-1, std::move(sources)});
    measure();
  }

  int64_t peak() const { return *std::max_element(live.begin(), live.end()); }
  double excess() const { return above; }
  int64_t work = 0; ///< executions looked at

  /// Makes one step towards the limit; false: there is none.
  bool improve();
  /// Undoes what turned out needless.
  void prune();
  Recomputation result() const;

private:
  struct Run {
    int node; ///< -1: the end
    std::vector<int> sources;
  };

  const OrderNode &nodeOf(int execution) const {
    int n = executions[execution].node;
    return n < 0 ? end : nodes[n];
  }
  double over(int64_t bytes) const {
    return bytes > limit ? double(bytes - limit) : 0;
  }

  void measure();
  bool isMadeAgain(int execution) const {
    return executions[execution].node != execution;
  }
  bool collect(int value, int depth, const Policy &policy, Proposal &proposal);
  void judge(Proposal &proposal);
  void proposeFor(int instance, int moment, std::vector<Proposal> &proposals);
  void apply(const Proposal &proposal);
  bool isUsed(int execution) const;
  int instanceFor(int execution, int value) const {
    const OrderNode &node = nodeOf(execution);
    for (size_t w = 0; w < node.writes.size(); ++w)
      if (node.writes[w] == value)
        return firstInstance[execution] + int(w);
    return -1;
  }

  std::span<const OrderNode> nodes;
  std::span<const OrderValue> values;
  std::span<const double> costs;
  int64_t limit;
  std::vector<int> producer; ///< of values, -1: none
  std::vector<char> ordered; ///< nodes whose order has other reasons than values
  OrderNode end;

  std::vector<Run> executions; ///< some may be in no place of the order any more
  std::vector<int> order;
  // Found by measure().
  std::vector<int> place;         ///< of executions
  std::vector<int> firstInstance; ///< of executions
  std::vector<Instance> instances;
  std::vector<std::vector<int>> ofValue; ///< instances
  std::vector<int64_t> live;      ///< at each place
  std::vector<int64_t> standing;  ///< alive between the place before and this one
  double above = 0;
  // Scratch.
  std::vector<char> wanted; ///< values that the proposal computes
  std::vector<int64_t> change;
};

void Sequence::measure() {
  size_t count = order.size();
  place.assign(executions.size(), -1);
  firstInstance.assign(executions.size(), -1);
  instances.clear();
  ofValue.assign(values.size(), {});
  for (size_t p = 0; p < count; ++p) {
    int e = order[p];
    place[e] = p;
    firstInstance[e] = instances.size();
    for (int v : nodeOf(e).writes) {
      ofValue[v].push_back(instances.size());
      instances.push_back({v, e, int(p), int(p)});
    }
  }
  for (size_t p = 0; p < count; ++p) {
    const OrderNode &node = nodeOf(order[p]);
    for (size_t r = 0; r < node.reads.size(); ++r)
      if (int source = executions[order[p]].sources[r]; source >= 0) {
        Instance &read = instances[instanceFor(source, node.reads[r])];
        read.last = std::max(read.last, int(p));
      }
  }
  live.assign(count + 1, 0);
  standing.assign(count + 1, 0);
  for (const Instance &i : instances) {
    int64_t size = values[i.value].size;
    live[i.made] += size;
    live[i.last + 1] -= size;
    standing[i.made + 1] += size;
    standing[i.last + 1] -= size;
  }
  std::partial_sum(live.begin(), live.end(), live.begin());
  std::partial_sum(standing.begin(), standing.end(), standing.begin());
  live.pop_back();
  above = 0;
  for (size_t p = 0; p < count; ++p) {
    const OrderNode &node = nodeOf(order[p]);
    live[p] += node.scratch;
    if (node.inPlace >= 0 && node.writes.size() == 1)
      for (size_t r = 0; r < node.reads.size(); ++r)
        if (node.reads[r] == node.inPlace) {
          int source = executions[order[p]].sources[r];
          if (source >= 0 &&
              instances[instanceFor(source, node.inPlace)].last == int(p))
            live[p] -= std::min(values[node.inPlace].size,
                                values[node.writes[0]].size);
          break;
        }
    above += over(live[p]);
  }
  work += count + instances.size();
}

/// Adds to the proposal what computing `value` again at its position takes.
bool Sequence::collect(int value, int depth, const Policy &policy,
                       Proposal &proposal) {
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
                    policy.smaller *
                        double(values[instances[proposal.instance].value].size);
    if (keep && nearest >= 0) {
      if (std::find(proposal.kept.begin(), proposal.kept.end(), nearest) ==
          proposal.kept.end())
        proposal.kept.push_back(nearest);
      return true;
    }
  }
  if (!again || proposal.nodes.size() >= longestChain)
    return false;
  for (int v : nodes[n].writes)
    wanted[v] = 1;
  for (int v : nodes[n].reads)
    if (producer[v] >= 0 && !collect(v, depth + 1, policy, proposal))
      return false;
  proposal.nodes.push_back(n);
  proposal.cost += costs[n];
  if (policy.hoists && !isFirst && later >= 0 &&
      isMadeAgain(instances[later].maker) && nodes[n].writes.size() == 1) {
    proposal.hoisted.push_back(later);
    proposal.cost -= costs[n];
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
      if (executions[order[p]].sources[r] == dropped.maker &&
          node.reads[r] == dropped.value)
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
          std::find(node.reads.begin(), node.reads.begin() + r,
                    node.reads[r]) == node.reads.begin() + r)
        now -= values[node.reads[r]].size;
  }
  proposal.gain = gain;
  work += (high - low) + at - dropped.made + 4 * proposal.nodes.size();
}

/// All ways to drop `instance` across the place `moment`.
void Sequence::proposeFor(int instance, int moment,
                          std::vector<Proposal> &proposals) {
  const Instance &dropped = instances[instance];
  int next = -1;
  for (int p = moment; p <= dropped.last && next < 0; ++p) {
    const OrderNode &node = nodeOf(order[p]);
    for (size_t r = 0; r < node.reads.size(); ++r)
      if (executions[order[p]].sources[r] == dropped.maker &&
          node.reads[r] == dropped.value)
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
}

bool Sequence::isUsed(int execution) const {
  return std::any_of(order.begin(), order.end(), [&](int e) {
    const std::vector<int> &sources = executions[e].sources;
    return std::find(sources.begin(), sources.end(), execution) != sources.end();
  });
}

void Sequence::apply(const Proposal &proposal) {
  int at = proposal.position;
  const Instance dropped = instances[proposal.instance];
  // Where the nodes find what they read.
  std::map<int, int> made; // value -> execution
  auto sourceOf = [&](int value) {
    if (auto it = made.find(value); it != made.end())
      return it->second;
    int found = -1;
    for (int i : ofValue[value])
      if (instances[i].made < at && i != proposal.instance &&
          (found < 0 || instances[i].last >= at ||
           instances[found].last < at))
        found = i;
    // An instance that is alive or kept comes first.
    for (int i : proposal.kept)
      if (instances[i].value == value)
        found = i;
    return found < 0 ? -1 : instances[found].maker;
  };
  std::vector<int> fresh;
  for (int n : proposal.nodes) {
    Run run{n, {}};
    for (int v : nodes[n].reads)
      run.sources.push_back(producer[v] < 0 ? -1 : sourceOf(v));
    int e = executions.size();
    executions.push_back(std::move(run));
    fresh.push_back(e);
    for (int v : nodes[n].writes)
      made[v] = e;
  }
  auto redirect = [&](int maker, int value, int from) {
    for (size_t p = from; p < order.size(); ++p) {
      const OrderNode &node = nodeOf(order[p]);
      for (size_t r = 0; r < node.reads.size(); ++r)
        if (executions[order[p]].sources[r] == maker && node.reads[r] == value)
          executions[order[p]].sources[r] = made[value];
    }
  };
  redirect(dropped.maker, dropped.value, at);
  std::vector<char> gone(executions.size(), 0);
  for (int i : proposal.hoisted) {
    redirect(instances[i].maker, instances[i].value, at);
    gone[instances[i].maker] = 1;
  }
  // Where nothing used the value before, its work has only moved.
  gone[dropped.maker] = !isUsed(dropped.maker) &&
                        (isMadeAgain(dropped.maker) ||
                         !ordered[executions[dropped.maker].node]);
  std::vector<int> next;
  for (size_t p = 0; p < order.size(); ++p) {
    if (p == size_t(at))
      next.insert(next.end(), fresh.begin(), fresh.end());
    if (!gone[order[p]])
      next.push_back(order[p]);
  }
  order = std::move(next);
  measure();
}

bool Sequence::improve() {
  wanted.assign(values.size(), 0);
  // Full moments, the fullest first; neighbours say the same.
  std::vector<int> moments;
  for (size_t p = 0; p < order.size(); ++p)
    if (live[p] > limit && (p == 0 || live[p - 1] < live[p]) &&
        (p + 1 == order.size() || live[p + 1] <= live[p]))
      moments.push_back(p);
  std::sort(moments.begin(), moments.end(), [&](int a, int b) {
    return std::pair(-live[a], a) < std::pair(-live[b], b);
  });
  if (moments.size() > mostMoments)
    moments.resize(mostMoments);
  for (int moment : moments) {
    std::vector<int> waiting;
    for (size_t i = 0; i < instances.size(); ++i) {
      const Instance &instance = instances[i];
      if (instance.made < moment && instance.last > moment &&
          values[instance.value].size > 0 &&
          costs[executions[instance.maker].node] >= 0)
        waiting.push_back(i);
    }
    auto area = [&](int i) {
      return double(values[instances[i].value].size) *
             (instances[i].last - instances[i].made);
    };
    std::sort(waiting.begin(), waiting.end(), [&](int a, int b) {
      return std::pair(-area(a), a) < std::pair(-area(b), b);
    });
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

void Sequence::prune() {
  std::vector<int> again;
  for (int e : order)
    if (executions[e].node >= 0 && isMadeAgain(e))
      again.push_back(e);
  std::sort(again.begin(), again.end(), [&](int a, int b) {
    return std::pair(-costs[executions[a].node], a) <
           std::pair(-costs[executions[b].node], b);
  });
  for (int e : again) {
    std::vector<Run> runs = executions;
    std::vector<int> before = order;
    double was = above;
    bool possible = true;
    for (int v : nodeOf(e).writes) {
      int earlier = -1;
      for (int i : ofValue[v])
        if (instances[i].made < place[e])
          earlier = instances[i].maker;
      possible &= earlier >= 0;
      for (int user : order)
        for (size_t r = 0; r < nodeOf(user).reads.size(); ++r)
          if (executions[user].sources[r] == e && nodeOf(user).reads[r] == v)
            executions[user].sources[r] = earlier;
    }
    order.erase(order.begin() + place[e]);
    if (possible)
      measure();
    if (possible && above <= was)
      continue;
    executions = std::move(runs);
    order = std::move(before);
    measure();
  }
}

Recomputation Sequence::result() const {
  Recomputation made;
  made.peak = peak();
  made.finals.assign(values.size(), -1);
  std::vector<char> seen(nodes.size(), 0);
  for (int e : order) {
    if (executions[e].node < 0) {
      for (size_t r = 0; r < end.reads.size(); ++r)
        made.finals[end.reads[r]] = place[executions[e].sources[r]];
      continue;
    }
    Execution execution{executions[e].node, {}};
    for (int source : executions[e].sources)
      execution.sources.push_back(source < 0 ? -1 : place[source]);
    made.executions.push_back(std::move(execution));
    if (seen[executions[e].node]) {
      ++made.repeated;
      made.cost += costs[executions[e].node];
    }
    seen[executions[e].node] = 1;
  }
  return made;
}

} // namespace

Recomputation weir::memory::recomputeValues(std::span<const OrderNode> nodes,
                                            std::span<const OrderValue> values,
                                            std::span<const double> costs,
                                            const RecomputeOptions &options) {
  Sequence sequence(nodes, values, costs, options.limit);
  int64_t given = sequence.peak();
  while (sequence.excess() > 0 && sequence.work < options.steps &&
         sequence.improve())
    ;
  sequence.prune();
  Recomputation made = sequence.result();
  made.givenPeak = given;
  return made;
}
