//===- ExecutionSequence.cpp - what runs, and what is alive ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/memory/ExecutionSequence.h"

#include <map>
#include <numeric>
#include <set>

using namespace weir::memory;

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
          if (source >= 0 && instances[instanceFor(source, node.inPlace)].last == int(p))
            live[p] -= std::min(values[node.inPlace].size, values[node.writes[0]].size);
          break;
        }
    above += over(live[p]);
  }
  work += count + instances.size();
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
          (found < 0 || instances[i].last >= at || instances[found].last < at))
        found = i;
    // An instance that is alive or kept comes first.
    for (int i : proposal.kept)
      if (instances[i].value == value)
        found = i;
    return found < 0 ? -1 : instances[found].maker;
  };
  std::vector<int> fresh;
  for (int n : proposal.nodes) {
    Run run{n, {}, -1};
    for (int v : nodes[n].reads)
      run.sources.push_back(producer[v] < 0 ? -1 : sourceOf(v));
    int e = executions.size();
    executions.push_back(std::move(run));
    fresh.push_back(e);
    for (int v : nodes[n].writes)
      made[v] = e;
  }
  if (proposal.isCopy) {
    int saved = isCopy(dropped.maker) ? executions[dropped.maker].sources[0] : dropped.maker;
    made[dropped.value] = executions.size();
    fresh.push_back(executions.size());
    executions.push_back({-1, {saved}, dropped.value});
  }
  auto redirect = [&](int maker, int value, bool isGone) {
    for (size_t p = at; p < order.size(); ++p) {
      const OrderNode &node = nodeOf(order[p]);
      Run &run = executions[order[p]];
      for (size_t r = 0; r < node.reads.size(); ++r)
        if (run.sources[r] == maker && node.reads[r] == value)
          run.sources[r] = made[value];
      if (isGone && run.value == value && run.sources[0] == maker)
        run.sources[0] = made[value];
    }
  };
  redirect(dropped.maker, dropped.value, false);
  std::vector<char> gone(executions.size(), 0);
  for (int i : proposal.hoisted) {
    redirect(instances[i].maker, instances[i].value, true);
    gone[instances[i].maker] = 1;
  }
  // Where nothing used the value before, its work has only moved.
  bool isSource = proposal.isCopy && executions.back().sources[0] == dropped.maker;
  gone[dropped.maker] = !isSource && !isUsed(dropped.maker) &&
                        (isMadeAgain(dropped.maker) || !ordered[executions[dropped.maker].node]);
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

void Sequence::prune() {
  std::vector<int> again;
  for (int e : order)
    if (isCopy(e) || (executions[e].node >= 0 && isMadeAgain(e)))
      again.push_back(e);
  std::sort(again.begin(), again.end(),
            [&](int a, int b) { return std::pair(-costOf(a), a) < std::pair(-costOf(b), b); });
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
      for (int user : order) {
        Run &run = executions[user];
        for (size_t r = 0; r < nodeOf(user).reads.size(); ++r)
          if (run.sources[r] == e && nodeOf(user).reads[r] == v)
            run.sources[r] = earlier;
        if (possible && run.value == v && run.sources[0] == e)
          run.sources[0] = isCopy(earlier) ? executions[earlier].sources[0] : earlier;
      }
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

void Sequence::advanceCopies() {
  if (!transfers)
    return;
  // The last one first: those before it find the room that is left.
  std::vector<char> looked(executions.size(), 0);
  for (int p = int(order.size()) - 1; p > 0; --p) {
    int e = order[p];
    if (!isCopy(e) || looked[e])
      continue;
    looked[e] = 1;
    int v = executions[e].value;
    int64_t size = values[v].size;
    // What it is saved from, or the copy before it, must be dead there.
    int after = 0;
    for (int i : ofValue[v])
      if (instances[i].made < p)
        after = std::max(after, instances[i].last);
    double hidden = 0;
    int to = p;
    while (to - 1 > after && hidden < transfers->in[v]) {
      int before = order[to - 1];
      if (live[to - 1] + size > limit)
        break;
      hidden += isCopy(before) ? 0 : transfers->work[executions[before].node];
      --to;
    }
    if (to == p)
      continue;
    order.erase(order.begin() + p);
    order.insert(order.begin() + to, e);
    double was = above;
    measure();
    if (above > was) { // results in place, which the sums above leave out
      order.erase(order.begin() + to);
      order.insert(order.begin() + p, e);
      measure();
    } else {
      ++p; // another one may have come here
    }
  }
}

Recomputation Sequence::result() const {
  Recomputation made;
  made.peak = peak();
  made.finals.assign(values.size(), -1);
  std::vector<char> seen(nodes.size(), 0);
  std::set<std::pair<int, int>> saved; ///< value, execution
  for (int e : order) {
    if (isCopy(e)) {
      int v = executions[e].value, source = executions[e].sources[0];
      made.executions.push_back({-1, {place[source]}, v});
      bool isFirst = saved.insert({v, source}).second;
      made.saved += isFirst;
      ++made.returned;
      made.movedBytes += (1 + isFirst) * values[v].size;
      made.moveCost += transfers->in[v] + (isFirst ? transfers->out[v] : 0);
      continue;
    }
    if (executions[e].node < 0) {
      for (size_t r = 0; r < end.reads.size(); ++r)
        made.finals[end.reads[r]] = place[executions[e].sources[r]];
      continue;
    }
    Execution execution{executions[e].node, {}, -1};
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
