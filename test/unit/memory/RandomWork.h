//===- RandomWork.h - graphs of work for tests ------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_UNIT_MEMORY_RANDOMWORK_H
#define WEIR_TEST_UNIT_MEMORY_RANDOMWORK_H

#include "passes/memory/Order.h"

#include <algorithm>
#include <random>

namespace weir::test {

using namespace weir::memory;

struct Problem {
  std::vector<OrderNode> nodes;
  std::vector<OrderValue> values;
};

/// Branches that come together again, with sizes that differ by powers of two;
/// now and then something is kept, done in place, or must come later.
inline Problem randomProblem(int count, unsigned seed) {
  std::mt19937 random(seed);
  auto below = [&](int bound) { return int(random() % bound); };
  Problem p;
  for (int n = 0; n < count; ++n) {
    OrderNode node;
    for (int k = n ? below(3) + (n + 1 == count) : 0; k > 0; --k)
      node.reads.push_back(std::max(0, int(p.values.size()) - 1 - below(6)));
    if (n && below(8) == 0)
      node.after.push_back(below(n));
    if (!node.reads.empty() && below(3) == 0)
      node.inPlace = node.reads[below(node.reads.size())];
    for (int k = below(6) == 0 ? 2 : 1; k > 0; --k) {
      node.writes.push_back(p.values.size());
      p.values.push_back({int64_t(1 + below(4)) << below(6), below(12) == 0});
    }
    p.nodes.push_back(node);
  }
  return p;
}

} // namespace weir::test

#endif // WEIR_TEST_UNIT_MEMORY_RANDOMWORK_H
