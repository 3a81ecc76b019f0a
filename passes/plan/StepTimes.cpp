//===- StepTimes.cpp - when a step uses its buffers -----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/plan/StepTimes.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

StepTimes::StepTimes(func::FuncOp function) { number(function.getBody()); }

void StepTimes::number(Region &region) {
  for (Block &block : region)
    for (Operation &op : block) {
      int64_t begin = now++;
      for (Region &inner : op.getRegions())
        number(inner);
      times[&op] = {begin, now++};
    }
}

StepTimes::Interval StepTimes::ofUse(Operation *op, Region *home) const {
  Operation *use = op;
  for (Operation *parent = op->getParentOp();
       parent && parent->getParentRegion() && home->isProperAncestor(op->getParentRegion()) &&
       home->isAncestor(parent->getParentRegion());
       parent = parent->getParentOp())
    if (isa<scf::WhileOp, scf::ForOp>(parent))
      use = parent;
  return of(use);
}

StepTimes::Interval StepTimes::lifetime(Value buffer) const {
  Interval made = of(buffer.getDefiningOp());
  int64_t first = INT64_MAX, last = made.first;
  SmallVector<Value> aliases{buffer};
  while (!aliases.empty()) {
    Value alias = aliases.pop_back_val();
    for (Operation *user : alias.getUsers()) {
      if (isa<ViewOp>(user))
        aliases.push_back(user->getResult(0));
      Interval use = ofUse(user, buffer.getParentRegion());
      first = std::min(first, use.first);
      last = std::max(last, use.second);
    }
  }
  return {first == INT64_MAX ? made.first : first, last + 1};
}
