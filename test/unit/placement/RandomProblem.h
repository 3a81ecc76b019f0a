//===- RandomProblem.h - small placement problems ---------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_UNIT_PLACEMENT_RANDOMPROBLEM_H
#define WEIR_TEST_UNIT_PLACEMENT_RANDOMPROBLEM_H

#include "passes/placement/Placement.h"

#include <random>

namespace weir::placement {

inline Problem randomProblem(std::mt19937 &random, int nodes, int groups, int devices,
                             bool limited) {
  Problem problem;
  double memory = 0;
  for (int i = 0; i < nodes; ++i) {
    Node node;
    for (int d = 0; d < devices; ++d)
      node.times.push_back(random() % 10 ? double(random() % 10) : never);
    node.times[random() % devices] = 3;
    node.memory = double(random() % 8);
    memory += node.memory;
    node.group = groups ? int32_t(random() % (2 * groups)) : -1;
    if (node.group >= groups)
      node.group = -1;
    if (node.group >= 0) // else groups that run nowhere are too many
      node.times.assign(devices, double(random() % 5));
    problem.nodes.push_back(node);
    for (int j = 0; j < i; ++j)
      if (random() % nodes < 2)
        problem.edges.push_back({j, i, double(random() % 6)});
  }
  for (int d = 0; d < devices; ++d)
    problem.memoryLimits.push_back(limited ? memory * 1.2 / devices + 8 : never);
  for (int i = 0; i < devices * devices; ++i)
    problem.links.push_back({double(random() % 2), 0.5 * (1 + random() % 3)});
  return problem;
}

} // namespace weir::placement

#endif // WEIR_TEST_UNIT_PLACEMENT_RANDOMPROBLEM_H
