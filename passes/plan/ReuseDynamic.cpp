//===- ReuseDynamic.cpp - buffers of open size that are used again --------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/plan/ReuseDynamic.h"
#include "dialects/weir/Pch.h"
#include "passes/plan/InPlace.h"
#include "passes/plan/PlaceValues.h"
#include "passes/plan/StepTimes.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

/// The value of size `i` of `buffer`, if an operation made the buffer of given sizes; or null.
static Value givenSize(Value buffer, unsigned i) {
  Operation *def = buffer.getDefiningOp();
  if (!isa_and_nonnull<AllocOp, BufferOp>(def))
    return {};
  return def->getOperand(cast<MemRefType>(buffer.getType()).getDynamicDimIndex(i));
}

static bool isSizeOf(Value size, Value buffer, unsigned i) {
  auto dim = size.getDefiningOp<memref::DimOp>();
  return dim && dim.getSource() == buffer && dim.getConstantIndex() == int64_t(i);
}

bool plan::haveSameSizes(Value from, Value to) {
  auto type = cast<MemRefType>(from.getType());
  if (type.getShape() != cast<MemRefType>(to.getType()).getShape())
    return false;
  for (int64_t i = 0; i < type.getRank(); ++i) {
    if (!type.isDynamicDim(i))
      continue;
    Value mine = givenSize(from, i), other = givenSize(to, i);
    bool isSame = (mine && mine == other) || (mine && isSizeOf(mine, to, i)) ||
                  (other && isSizeOf(other, from, i));
    if (!isSame)
      return false;
  }
  return true;
}

namespace {

class DynamicReuser {
public:
  DynamicReuser(SymbolTable &symbols, InPlaceRuns &inPlace) : symbols(symbols), inPlace(inPlace) {}

  void visit(func::FuncOp function) {
    SmallVector<Operation *> work;
    function.walk([&](Operation *op) {
      if (isa<RunOp, CopyOp>(op))
        work.push_back(op);
    });
    for (Operation *op : work)
      if (auto run = dyn_cast<RunOp>(op))
        writeInPlace(run);
    for (Operation *op : work)
      if (auto copy = dyn_cast<CopyOp>(op))
        handOn(copy);
  }

  DynamicReuse saved;

private:
  /// An allocation of open size that is its step's alone, not a variable's.
  static AllocOp dynamicAlloc(Value buffer) {
    auto alloc = buffer.getDefiningOp<AllocOp>();
    return alloc && alloc->getNumOperands() > 0 && !alloc->hasAttr(slotAttribute) ? alloc
                                                                                  : AllocOp();
  }

  /// Whether `buffer` is owned in the block of `op` and read or written by nothing behind it.
  /// `free`: what ends its life there, if something does yet.
  static bool isLastUse(Value buffer, Operation *op, FreeOp &free) {
    Block *block = op->getBlock();
    if (buffer.getParentBlock() != block)
      return false;
    SmallVector<Value> aliases{buffer};
    while (!aliases.empty()) {
      Value alias = aliases.pop_back_val();
      for (Operation *user : alias.getUsers()) {
        if (auto end = dyn_cast<FreeOp>(user); end && user->getBlock() == block && !free) {
          free = end;
          continue;
        }
        if (isa<memref::DimOp>(user))
          continue;
        if (isa<plan::SendOp>(user)) // which goes on behind where it stands
          return false;
        if (isa<ViewOp>(user)) {
          aliases.push_back(user->getResult(0));
          continue;
        }
        Operation *at = block->findAncestorOpInBlock(*user);
        if (!at || (at != op && !at->isBeforeInBlock(op)))
          return false;
      }
    }
    // What a loop carries is owned where its life ends; of a feed or a constant there is no end.
    return free ? op->isBeforeInBlock(free) : dynamicAlloc(buffer) != nullptr;
  }

  /// Whether `buffer` is there where `alloc` is made.
  static bool isBefore(Value buffer, AllocOp alloc) {
    Operation *def = buffer.getDefiningOp();
    return !def || def->isBeforeInBlock(alloc);
  }

  /// `from`, which is allocated, is `to` from now on; weir-free-dynamic ends its life, or who
  /// gets it.
  void replace(AllocOp from, Value to, FreeOp free) {
    if (free)
      free.erase();
    from.getResult().replaceAllUsesWith(to);
    from.erase();
    ++saved.buffers;
  }

  void writeInPlace(RunOp run) {
    if (run.getOutputs().size() != 1)
      return;
    AllocOp result = dynamicAlloc(run.getOutputs()[0]);
    if (!result || result->getBlock() != run->getBlock())
      return;
    for (auto [i, input] : llvm::enumerate(run.getInputs())) {
      FreeOp free;
      if (input.getType() != result.getType() || llvm::count(run.getInputs(), input) != 1 ||
          !haveSameSizes(result, input) || !isLastUse(input, run, free) ||
          !isBefore(input, result) ||
          !mayWriteOver(run, symbols.lookup<KernelOp>(run.getKernel()), i) ||
          readsViewOf(run, input))
        continue;
      addInPlace(inPlace, run, 0, i);
      // An end that stands behind all uses of the result ends its life as well.
      replace(result, input, free && isBehindUses(free, result) ? FreeOp() : free);
      return;
    }
  }

  static bool isBehindUses(FreeOp free, Value buffer) {
    return llvm::all_of(buffer.getUsers(), [&](Operation *user) {
      return free->getBlock()->findAncestorOpInBlock(*user)->isBeforeInBlock(free);
    });
  }

  /// Whether another operand of `run` lies in the same bytes.
  static bool readsViewOf(RunOp run, Value buffer) {
    for (Value other : run.getInputs())
      if (other != buffer && rootOf(other) == rootOf(buffer))
        return true;
    return false;
  }

  void handOn(CopyOp copy) {
    Value source = copy.getSource();
    AllocOp target = dynamicAlloc(copy.getTarget());
    FreeOp free;
    if (!target || target->getBlock() != copy->getBlock() || source.getType() != target.getType() ||
        !isLastUse(source, copy, free))
      return;
    // What is written before the copy would be written into the source.
    for (Operation *user : target->getUsers())
      if (copy->getBlock()->findAncestorOpInBlock(*user)->isBeforeInBlock(copy) &&
          !(isa<memref::DimOp>(user) && isBefore(source, target)))
        return;
    copy.erase();
    ++saved.copies;
    replace(target, source, free);
  }

  SymbolTable &symbols;
  InPlaceRuns &inPlace;
};

} // namespace

DynamicReuse plan::reuseDynamic(func::FuncOp function, SymbolTable &symbols, InPlaceRuns &inPlace) {
  DynamicReuser reuser(symbols, inPlace);
  reuser.visit(function);
  return reuser.saved;
}
