//===- LaunchWork.cpp - how much a launch computes ---------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/plan/LaunchWork.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/TreeEnsemble.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

static void multiply(WorkTerm &term, Value tensor, unsigned dimension) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (type.isDynamicDim(dimension))
    term.sizes.push_back({tensor, dimension});
  else
    term.factor *= type.getDimSize(dimension);
}

/// An operation for each element of `tensor`.
static WorkTerm elementsOf(Value tensor) {
  WorkTerm term;
  for (int64_t i = 0, rank = cast<RankedTensorType>(tensor.getType()).getRank(); i < rank; ++i)
    multiply(term, tensor, i);
  return term;
}

static WorkTerm workOf(Operation *op) {
  WorkTerm term;
  auto cost = dyn_cast<CostOpInterface>(op);
  term.factor = cost ? cost.getFlops() : 0;
  if (term.factor >= 0)
    return term;
  if (isa<ReduceOp, ArgReduceOp>(op))
    return elementsOf(op->getOperand(0));
  if (auto trees = dyn_cast<TreeEnsembleOp>(op)) {
    term.factor = 3 * int64_t(trees.getSteps());
    term.sizes = {{trees.getSamples(), 0}};
    return term;
  }
  term = elementsOf(op->getResult(0));
  if (auto dot = dyn_cast<DotGeneralOp>(op)) {
    term.factor *= 2;
    for (int64_t i : dot.getLhsContract())
      multiply(term, dot.getLhs(), i);
  } else if (auto conv = dyn_cast<ConvOp>(op)) {
    term.factor *= 2;
    // The filter without its dimension of output channels.
    int64_t rank = cast<RankedTensorType>(conv.getFilter().getType()).getRank();
    int64_t outputs = conv.getChannelsLast() ? rank - 1 : 0;
    for (int64_t i = 0; i < rank; ++i)
      if (i != outputs)
        multiply(term, conv.getFilter(), i);
  } else if (auto pool = dyn_cast<PoolOp>(op)) {
    for (int64_t size : pool.getWindow())
      term.factor *= size;
  }
  return term;
}

SmallVector<WorkTerm> plan::workOf(KernelOp kernel) {
  SmallVector<WorkTerm> terms;
  Block &body = kernel.getBody().front();
  for (Operation &op : body.without_terminator())
    if (!isa<ConstantOp, LaunchOp>(op) && op.getNumResults() > 0)
      if (WorkTerm term = ::workOf(&op); term.factor > 0)
        terms.push_back(std::move(term));
  if (terms.empty())
    terms.push_back(elementsOf(body.getTerminator()->getOperand(0)));
  return terms;
}
