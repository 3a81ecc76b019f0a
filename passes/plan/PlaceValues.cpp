//===- PlaceValues.cpp - values of variables where they stay --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/plan/PlaceValues.h"
#include "dialects/weir/Pch.h"
#include "passes/analysis/DeviceTraits.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

/// Whether `user` only reads `buffer`, and leaves nobody else to write it.
static bool isReader(Operation *user, Value buffer) {
  if (auto run = dyn_cast<RunOp>(user))
    return !llvm::is_contained(run.getOutputs(), buffer);
  if (auto copy = dyn_cast<CopyOp>(user))
    return copy.getTarget() != buffer;
  if (auto reduce = dyn_cast<plan::AllReduceOp>(user))
    return reduce.getTarget() != buffer;
  if (isa<ViewOp>(user))
    return llvm::all_of(user->getUsers(),
                        [&](Operation *inner) { return isReader(inner, user->getResult(0)); });
  return isa<plan::SendOp, plan::VariableAssignOp, memref::DimOp>(user);
}

RunOp plan::writerOf(BufferOp buffer) {
  RunOp writer;
  for (Operation *user : buffer->getUsers()) {
    if (isReader(user, buffer))
      continue;
    auto run = dyn_cast<RunOp>(user);
    if (!run || writer || run->getBlock() != buffer->getBlock() ||
        llvm::count(run->getOperands(), buffer.getResult()) != 1)
      return {};
    writer = run;
  }
  if (!writer)
    return {};
  bool isFirst = llvm::all_of(buffer->getUsers(), [&](Operation *user) {
    // A view reads nothing itself.
    Operation *at = buffer->getBlock()->findAncestorOpInBlock(*user);
    return isa<ViewOp>(user) || at == writer || writer->isBeforeInBlock(at);
  });
  return isFirst ? writer : RunOp();
}

int64_t plan::placeValues(ModuleOp module) {
  SmallVector<plan::VariableAssignOp> assigns;
  for (auto function : module.getOps<func::FuncOp>())
    if (const DeviceKind *kind = kindAround(function); kind && kind->keepsVariables())
      function.walk([&](plan::VariableAssignOp assign) { assigns.push_back(assign); });
  int64_t copies = 0;
  for (plan::VariableAssignOp assign : assigns) {
    auto buffer = assign.getValue().getDefiningOp<BufferOp>();
    RunOp writer = buffer && buffer->getBlock() == assign->getBlock() ? writerOf(buffer) : RunOp();
    if (!writer)
      continue;
    OpBuilder b(buffer);
    auto place = AllocOp::create(b, buffer.getLoc(), buffer.getType(), ValueRange());
    place->setAttr(slotAttribute, assign.getSlotAttr());
    buffer.getResult().replaceAllUsesWith(place.getResult());
    buffer.erase();
    ++copies;
  }
  return copies;
}
