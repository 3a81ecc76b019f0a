//===- RecomputeLaunches.cpp - launches run again to save memory ----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "passes/Passes.h"
#include "passes/plan/BlockWork.h"

#include <numeric>

namespace weir {
#define GEN_PASS_DEF_WEIRRECOMPUTELAUNCHESPASS
#include "passes/plan/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;
using namespace weir::plan;

namespace {

struct RecomputeLaunchesPass
    : weir::impl::WeirRecomputeLaunchesPassBase<RecomputeLaunchesPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto limit = module->getAttrOfType<IntegerAttr>(memoryLimitAttribute);
    if (!limit)
      return;
    SymbolTable symbols(module);
    bool fits = true;
    int64_t launches = 0, ordered = 0, peak = 0;
    int64_t floor = 0;
    std::string floorNode;
    double cost = 0, whole = 0;
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal() || function->hasAttr("weir_plan.feeds"))
        continue;
      // Launches inside of loops and conditionals run again only with these.
      DenseMap<Block *, int64_t> peaks;
      function.walk([&](Block *block) {
        if (block->empty() || !block->back().hasTrait<OpTrait::IsTerminator>())
          return;
        BlockWork work(*block, symbols, peaks);
        std::vector<int> order(work.nodes.size());
        std::iota(order.begin(), order.end(), 0);
        peaks[block] = memory::peakOf(work.nodes, work.values, order);
        if (block != &function.getBody().front())
          return;
        memory::RecomputeOptions options;
        options.limit = limit.getInt() - work.resultBytes();
        std::vector<double> costs = work.costs();
        for (double each : costs)
          whole += std::max(each, 0.0);
        auto [largest, bytes] = work.largest();
        if (bytes > floor) {
          floor = bytes;
          floorNode = nodeName(largest->getLoc());
        }
        memory::Recomputation made =
            memory::recomputeValues(work.nodes, work.values, costs, options);
        ordered = std::max(ordered, made.givenPeak);
        peak = std::max(peak, made.peak);
        fits &= made.peak <= options.limit;
        launches += made.repeated;
        cost += made.cost;
        if (made.peak < made.givenPeak)
          work.rewrite(made);
      });
    }
    OpBuilder b(module.getContext());
    auto number = [&](const char *name, int64_t value) {
      return b.getNamedAttr(name, b.getI64IntegerAttr(value));
    };
    module->setAttr(
        "weir_plan.recompute",
        b.getDictionaryAttr(
            {b.getNamedAttr("fits", b.getBoolAttr(fits)), number("launches", launches),
             number("before", ordered), number("floor", floor),
             b.getNamedAttr("floor_node", b.getStringAttr(floorNode)), number("peak", peak),
             number("per_mille", whole > 0 ? int64_t(1000 * cost / whole + 0.5) : 0)}));
  }
};

} // namespace
