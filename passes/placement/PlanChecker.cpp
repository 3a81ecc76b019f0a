//===- PlanChecker.cpp - judges a placement by the definition -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/placement/Placement.h"

#include <algorithm>
#include <map>

using namespace weir::placement;

std::optional<std::string> weir::placement::checkPlan(const Problem &problem, const Plan &plan,
                                                      double &makespan) {
  size_t count = problem.nodes.size();
  int32_t devices = problem.devices();
  auto name = [](size_t node) { return "node " + std::to_string(node); };
  if (plan.device.size() != count || plan.order.size() != count)
    return "not one device and one place in the order for every node";
  std::vector<double> held(devices, 0);
  std::map<int32_t, int32_t> deviceOfGroup;
  for (size_t i = 0; i < count; ++i) {
    int32_t device = plan.device[i];
    const Node &node = problem.nodes[i];
    if (device < 0 || device >= devices)
      return name(i) + " is on no device";
    if (node.times[device] == never)
      return name(i) + " cannot run on device " + std::to_string(device);
    held[device] += node.memory;
    if (node.group >= 0 && deviceOfGroup.try_emplace(node.group, device).first->second != device)
      return "group " + std::to_string(node.group) + " is on two devices";
  }
  for (int32_t d = 0; d < devices; ++d)
    if (held[d] > problem.memoryLimits[d] * (1 + 1e-9))
      return "device " + std::to_string(d) + " holds " + std::to_string(held[d]) + ", more than " +
             std::to_string(problem.memoryLimits[d]);

  std::vector<std::vector<Edge>> inputs(count);
  for (const Edge &edge : problem.edges)
    inputs[edge.dest].push_back(edge);
  std::vector<double> end(count, -1), free(devices, 0);
  makespan = 0;
  for (int32_t i : plan.order) {
    if (i < 0 || size_t(i) >= count || end[i] >= 0)
      return "the order is no permutation of the nodes";
    int32_t device = plan.device[i];
    double start = free[device];
    for (const Edge &edge : inputs[i]) {
      if (end[edge.source] < 0)
        return name(i) + " stands before its input " + std::to_string(edge.source);
      double arrival = end[edge.source];
      int32_t from = plan.device[edge.source];
      if (from != device) {
        const Link &link = problem.links[size_t(from) * devices + device];
        if (link.latency == never || link.timePerSize == never)
          return "no link from device " + std::to_string(from) + " to " + std::to_string(device);
        arrival += link.latency + edge.size * link.timePerSize;
      }
      start = std::max(start, arrival);
    }
    end[i] = free[device] = start + problem.nodes[i].times[device];
    makespan = std::max(makespan, end[i]);
  }
  return std::nullopt;
}
