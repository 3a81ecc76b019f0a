//===- ExecutionSequence.h - what runs, and what is alive ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What recomputeValues works on: executions in order, some of them repetitions,
// some copies back from other memory, and the bytes alive along them.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_MEMORY_EXECUTIONSEQUENCE_H
#define WEIR_PASSES_MEMORY_EXECUTIONSEQUENCE_H

#include "passes/memory/Recompute.h"

#include <algorithm>

namespace weir::memory {

/// A value as one execution made it.
struct Instance {
  int value = 0;
  int maker = 0;          ///< execution
  int made = 0, last = 0; ///< positions of the making and of the last use
};

/// One way to drop an instance across a moment.
struct Proposal {
  int instance = -1;        ///< dropped
  int position = 0;         ///< in front of this one it is made again
  std::vector<int> nodes;   ///< run again, in order
  std::vector<int> kept;    ///< instances that live on until `position`
  std::vector<int> hoisted; ///< instances that are made here instead of later
  bool isCopy = false;      ///< brought back from other memory instead
  double cost = 0;
  double gain = 0; ///< bytes times moments above the limit
};

/// How far to go back for what computing again needs.
struct Policy {
  int depth;      ///< of chains of work; behind it values are kept
  double smaller; ///< those of at most so much of the value's size are kept
  bool hoists;    ///< takes over what was computed again later
};

/// A sequence of executions, and what is alive along it.
class Sequence {
public:
  Sequence(std::span<const OrderNode> nodes, std::span<const OrderValue> values,
           std::span<const double> costs, int64_t limit, const Transfers *transfers)
      : nodes(nodes), values(values), costs(costs), limit(limit), transfers(transfers),
        producer(values.size(), -1), overwriter(values.size(), -1), ordered(nodes.size(), 0),
        copies(values.size()) {
    for (size_t v = 0; v < values.size(); ++v)
      copies[v].writes = {int(v)};
    for (size_t n = 0; n < nodes.size(); ++n) {
      for (int m : nodes[n].after)
        ordered[n] = ordered[m] = 1;
      for (int v : nodes[n].overwrites)
        overwriter[v] = int(n);
    }
    std::vector<int> maker(values.size(), -1);
    for (size_t n = 0; n < nodes.size(); ++n) {
      std::vector<int> sources;
      for (int v : nodes[n].reads)
        sources.push_back(maker[v]);
      order.push_back(n);
      executions.push_back({int(n), std::move(sources), -1});
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
    executions.push_back({-1, std::move(sources), -1});
    measure();
  }

  int64_t peak() const { return *std::max_element(live.begin(), live.end()); }
  double excess() const { return above; }
  int64_t work = 0; ///< executions looked at

  /// Makes one step towards the limit; false: there is none.
  bool improve();
  /// Undoes what turned out needless.
  void prune();
  /// Begins copies back so early that work hides them, as far as there is room.
  void advanceCopies();
  Recomputation result() const;

private:
  struct Run {
    int node;                 ///< -1: the end, or a copy back
    std::vector<int> sources; ///< of a copy: what was saved, no copy itself
    int value;                ///< that a copy brings back, -1: none
  };

  const OrderNode &nodeOf(int execution) const {
    const Run &run = executions[execution];
    return run.value >= 0 ? copies[run.value] : run.node < 0 ? end : nodes[run.node];
  }
  bool isCopy(int execution) const { return executions[execution].value >= 0; }
  /// What repeating an execution takes: of a copy, that of the way back.
  double costOf(int execution) const {
    const Run &run = executions[execution];
    return run.value >= 0 ? transfers->in[run.value] : costs[run.node];
  }
  bool canCopy(int value) const {
    return transfers && transfers->out[value] >= 0 && transfers->in[value] >= 0;
  }
  double over(int64_t bytes) const { return bytes > limit ? double(bytes - limit) : 0; }

  void measure();
  bool isMadeAgain(int execution) const { return executions[execution].node != execution; }
  /// Whether `value` is gone in front of that place. What writes over values runs once, as itself.
  bool isGone(int value, int position) const {
    return overwriter[value] >= 0 && place[overwriter[value]] < position;
  }
  bool collect(int value, int depth, const Policy &policy, Proposal &proposal);
  void judge(Proposal &proposal);
  void proposeFor(int instance, int moment, std::vector<Proposal> &proposals);
  void proposeCopy(int instance, int position, std::vector<Proposal> &proposals);
  bool isSaved(int execution, int value) const;
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
  const Transfers *transfers;
  std::vector<int> producer;     ///< of values, -1: none
  std::vector<int> overwriter;   ///< the node behind which a value is gone, -1: none
  std::vector<char> ordered;     ///< nodes whose order has other reasons than values
  std::vector<OrderNode> copies; ///< back, by value: they read nothing here
  OrderNode end;

  std::vector<Run> executions; ///< some may be in no place of the order any more
  std::vector<int> order;
  // Found by measure().
  std::vector<int> place;         ///< of executions
  std::vector<int> firstInstance; ///< of executions
  std::vector<Instance> instances;
  std::vector<std::vector<int>> ofValue; ///< instances
  std::vector<int64_t> live;             ///< at each place
  std::vector<int64_t> standing;         ///< alive between the place before and this one
  double above = 0;
  // Scratch.
  std::vector<char> wanted; ///< values that the proposal computes
  std::vector<int64_t> change;
};

} // namespace weir::memory

#endif // WEIR_PASSES_MEMORY_EXECUTIONSEQUENCE_H
