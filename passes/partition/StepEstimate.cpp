//===- StepEstimate.cpp - what a placed training step costs ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/partition/StepEstimate.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Training.h"
#include "passes/analysis/Variables.h"

#include <map>
#include <numeric>
#include <set>

using namespace mlir;
using namespace weir;

namespace {

/// The nodes of one entry, as a problem of their own.
struct EntryNodes {
  placement::Problem problem;
  std::vector<Operation *> operations;
  std::vector<double> stored;
  std::vector<int32_t> device, order;

  EntryNodes(const CostModel &model, const placement::Plan &plan, StringRef entry) {
    problem.memoryLimits = model.problem.memoryLimits;
    problem.links = model.problem.links;
    std::vector<int32_t> numbers(model.operations.size(), -1);
    for (size_t i = 0; i < model.operations.size(); ++i) {
      if (model.operations[i]->getParentOfType<func::FuncOp>().getSymName() != entry)
        continue;
      numbers[i] = int32_t(operations.size());
      problem.nodes.push_back(model.problem.nodes[i]);
      operations.push_back(model.operations[i]);
      // A variable's value lies in the variable.
      stored.push_back(isa<VariableReadOp>(model.operations[i]) ? 0 : model.stored[i]);
      device.push_back(plan.device[i]);
    }
    for (const placement::Edge &edge : model.problem.edges)
      if (numbers[edge.source] >= 0 && numbers[edge.dest] >= 0)
        problem.edges.push_back({numbers[edge.source], numbers[edge.dest], edge.size});
    for (int32_t node : plan.order)
      if (numbers[node] >= 0)
        order.push_back(numbers[node]);
  }

  /// Bytes of each device, at most at once.
  std::vector<double> peaks() const {
    std::vector<size_t> place(operations.size());
    for (auto [at, node] : llvm::enumerate(order))
      place[node] = at;
    // Where a result is, and until when.
    std::map<std::pair<int32_t, int32_t>, size_t> until; // node, device
    for (size_t i = 0; i < operations.size(); ++i)
      until[{int32_t(i), device[i]}] = place[i];
    for (const placement::Edge &edge : problem.edges) {
      size_t &last = until[{edge.source, device[edge.dest]}];
      last = std::max(last, place[edge.dest]);
    }
    size_t devices = problem.memoryLimits.size();
    std::vector<std::vector<double>> change(devices, std::vector<double>(order.size() + 1, 0.0));
    for (auto &[where, last] : until) {
      auto [node, at] = where;
      change[at][place[node]] += stored[node];
      change[at][last + 1] -= stored[node];
    }
    std::vector<double> peak;
    for (std::vector<double> &of : change) {
      std::partial_sum(of.begin(), of.end(), of.begin());
      peak.push_back(*std::max_element(of.begin(), of.end()));
    }
    std::set<std::tuple<int32_t, StringRef, StringRef>> known;
    for (auto [op, at] : llvm::zip(operations, device)) {
      auto read = dyn_cast<VariableReadOp>(op);
      VariableOp variable = read ? variableOf(read.getResource()) : VariableOp();
      if (variable && known.insert({at, variable.getContainer(), variable.getName()}).second)
        peak[at] += bytesOf(read.getType());
    }
    return peak;
  }
};

} // namespace

void weir::noteEstimate(ModuleOp module, const CostModel &model, const placement::Plan &plan) {
  EntryNodes nodes(model, plan, "train_step");
  double seconds = placement::timelineOf(nodes.problem, nodes.device, nodes.order).makespan;
  Builder b(module.getContext());
  SmallVector<int64_t> bytes;
  for (double peak : nodes.peaks())
    bytes.push_back(int64_t(peak));
  module->setAttr("weir_plan.estimate",
                  b.getDictionaryAttr({b.getNamedAttr("bytes", b.getDenseI64ArrayAttr(bytes)),
                                       b.getNamedAttr("seconds", b.getF64FloatAttr(seconds))}));
}
