//===- Order.h - an order of work that needs little memory ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses, among the orders that dependencies allow, one in which few bytes are
// alive at once. Knows no IR.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_MEMORY_ORDER_H
#define WEIR_PASSES_MEMORY_ORDER_H

#include <cstdint>
#include <span>
#include <vector>

namespace weir::memory {

/// Work, numbered in an order that is possible: everything in `after` and every
/// producer of what it reads has a smaller number.
struct OrderNode {
  std::vector<int> after;  ///< nodes that must come before, for other reasons
  std::vector<int> reads;  ///< values
  std::vector<int> writes; ///< values, each written by one node
  /// A read value that its only result may be written over, when nothing else
  /// needs it; -1: none.
  int inPlace = -1;
  int64_t scratch = 0; ///< bytes alive only while it runs
  /// Values, read or not, that are gone behind the node: it writes over them.
  std::vector<int> overwrites = {};
};

struct OrderValue {
  int64_t size = 0;
  bool outlives = false; ///< needed behind all work
};

enum class Schedule {
  Latency,  ///< as numbered
  Memory,   ///< least bytes everywhere
  Balanced, ///< as numbered, but where that decides about the peak
};

struct OrderOptions {
  Schedule schedule = Schedule::Memory;
  /// Sets of done nodes that the exact search may visit in one piece.
  int64_t states = 20'000;
  /// States kept by the beam search.
  int width = 48;
};

struct Order {
  std::vector<int> nodes;
  int64_t peak = 0;           ///< most bytes alive at once
  int64_t numberedPeak = 0;   ///< the same in the order of numbers
  bool provedOptimal = false; ///< no order has a smaller peak
};

/// The most bytes alive at once when `nodes` run one after the other.
int64_t peakOf(std::span<const OrderNode> nodes, std::span<const OrderValue> values,
               std::span<const int> order);

/// Never worse than the order of numbers. Pieces between nodes that all others
/// come before or behind are ordered alone: small ones exactly, by the cheapest
/// way through the sets of done nodes, others by beam search. Pure; time is
/// near-linear in nodes: pieces are searched in windows of bounded size.
Order orderNodes(std::span<const OrderNode> nodes, std::span<const OrderValue> values,
                 const OrderOptions &options = {});

} // namespace weir::memory

#endif // WEIR_PASSES_MEMORY_ORDER_H
