//===- ArenaRanges.cpp - who touches which bytes of the arena -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/plan/ArenaRanges.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

ArenaRange plan::rangeOf(Value buffer) {
  auto root = rootOf(buffer).getDefiningOp<BufferOp>();
  if (!root || !root.getOffset())
    return {};
  auto begin = int64_t(*root.getOffset());
  return {begin, begin + arenaBytes(cast<MemRefType>(root.getType()))};
}

bool plan::touches(Operation &op, llvm::function_ref<bool(Value buffer)> isOne, bool writesOnly) {
  WalkResult found = op.walk([&](Operation *inner) {
    if (isa<ViewOp, memref::DimOp>(inner))
      return WalkResult::advance();
    for (OpOperand &operand : inner->getOpOperands())
      if (isa<MemRefType>(operand.get().getType()) && (!writesOnly || isWritten(operand)) &&
          isOne(operand.get()))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return found.wasInterrupted();
}
