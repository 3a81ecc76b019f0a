//===- KernelPasses.cpp - LLVM passes for kernels -------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/KernelPasses.h"

#include "llvm/Analysis/LazyCallGraph.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/IndVarSimplify.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopDeletion.h"
#include "llvm/Transforms/Scalar/LoopIdiomRecognize.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/LoopUnrollPass.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimpleLoopUnswitch.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Vectorize/LoopVectorize.h"
#include "llvm/Transforms/Vectorize/SLPVectorizer.h"
#include "llvm/Transforms/Vectorize/VectorCombine.h"

using namespace weir;

/// Instructions from which on the short list saves time.
static constexpr size_t longFunction = 200;

/// Instructions of a loop's turn from which on it hides what it costs to go around.
static constexpr size_t longTurn = 40;

namespace {

/// Forbids unrolling of loops with long turns. What a turn costs, of hundreds of instructions of a
/// tile, would be asked of the target for each of them, with the same answer.
struct KeepLongTurnsPass : llvm::PassInfoMixin<KeepLongTurnsPass> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses) {
    for (llvm::Loop *loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
      size_t instructions = 0;
      for (llvm::BasicBlock *block : loop->blocks())
        instructions += block->size();
      if (instructions > longTurn)
        loop->setLoopAlreadyUnrolled();
    }
    return llvm::PreservedAnalyses::all();
  }
};

/// Forbids writing out of loops that are kept anyway, for what their turns hold and for how many
/// there are: of these, too, each instruction's cost would be asked for first.
struct KeepLargeLoopsPass : llvm::PassInfoMixin<KeepLargeLoopsPass> {
  /// Turns up to which LLVM looks for what falls away, and what is too much then, at -O3.
  static constexpr unsigned fewTurns = 10;
  static constexpr size_t tooMuch = 1200;

  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses) {
    auto &evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
    for (llvm::Loop *loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
      size_t instructions = 0;
      for (llvm::BasicBlock *block : loop->blocks())
        instructions +=
            llvm::count_if(*block, [](const llvm::Instruction &i) { return !isFree(i); });
      if (instructions <= 2 * longTurn)
        continue;
      // Of a number that is only bounded turns are written out, too.
      unsigned turns = evolution.getSmallConstantMaxTripCount(loop);
      if (turns == 0 || turns > fewTurns || (turns > 1 && instructions > tooMuch))
        loop->setLoopAlreadyUnrolled();
    }
    return llvm::PreservedAnalyses::all();
  }

private:
  static bool isFree(const llvm::Instruction &i) {
    return llvm::isa<llvm::GetElementPtrInst, llvm::PHINode, llvm::CastInst>(i);
  }
};

/// Writes short loops out, and does not ask what that costs where it is plain that it costs too
/// much: LLVM asks for the cost of each instruction of each loop, and of a tile's loops it finds
/// every time what counting products and accesses says, that they are to be kept.
struct FullUnrollPass : llvm::PassInfoMixin<FullUnrollPass> {
  llvm::PreservedAnalyses run(llvm::Loop &loop, llvm::LoopAnalysisManager &analyses,
                              llvm::LoopStandardAnalysisResults &results,
                              llvm::LPMUpdater &updater) {
    return isKept(loop, results) ? llvm::PreservedAnalyses::all()
                                 : unroll.run(loop, analyses, results, updater);
  }

private:
  /// What LLVM writes out at -O3 where nothing falls away, where as much falls away as it counts
  /// on, and the turns up to which it looks.
  static constexpr uint64_t mostCost = 300, mostSavedCost = 1200, fewTurns = 10;

  static bool isKept(const llvm::Loop &loop, llvm::LoopStandardAnalysisResults &results) {
    if (loop.getLoopID())
      return false;
    // No more than the loop costs, in LLVM's units: these cost one or two each.
    uint64_t size = 0, always = 0, all = 0;
    for (llvm::BasicBlock *block : loop.blocks()) {
      uint64_t here = llvm::count_if(*block, costs);
      size += here;
      all += block->size();
      if (loop.getLoopLatch() && results.DT.dominates(block, loop.getLoopLatch()))
        always += here;
    }
    if (size < 3)
      return false;
    // What a turn costs is that of the loops in it, which stay; written out, each would be there
    // several times.
    if (isOfLongLoops(loop, results))
      return true;
    bool mayPeel = mayBePeeled(loop);
    if (2 * size <= mostCost && mayPeel)
      return false;
    uint64_t turns = results.SE.getSmallConstantTripCount(&loop);
    if (turns == 0 && results.SE.isBackedgeTakenCountMaxOrZero(&loop))
      turns = results.SE.getSmallConstantMaxTripCount(&loop);
    if (turns == 0)
      return true;
    if ((size - 2) * turns + 2 < mostCost)
      return false;
    if (!loop.isInnermost() || turns > fewTurns)
      return true;
    // Nothing is decided: addresses alone fall away, and LLVM would go through every turn to see
    // it.
    if (!mayPeel && always * turns > 2 * mostCost)
      return true;
    // Of what costs `all` a turn the more may be written out the more falls away.
    return always * turns > mostSavedCost || always * always * turns > 4 * all * mostCost;
  }

  /// Whether the first or last turns might be written out beside the loop: where something is
  /// decided in it, or a value is from some turn on the same. What is added to, or comes from a
  /// call, as a product's sum does, never is.
  static bool mayBePeeled(const llvm::Loop &loop) {
    if (!loop.isInnermost())
      return false;
    const llvm::BasicBlock *latch = loop.getLoopLatch();
    const auto *branch = latch ? llvm::dyn_cast<llvm::BranchInst>(latch->getTerminator()) : nullptr;
    if (!branch || !branch->isConditional())
      return true;
    for (const llvm::PHINode &phi : loop.getHeader()->phis()) {
      const auto *next = llvm::dyn_cast<llvm::Instruction>(phi.getIncomingValueForBlock(latch));
      if (!next || !loop.contains(next))
        return true;
      bool addsTo = next->isBinaryOp() && llvm::is_contained(next->operands(), &phi);
      if (!addsTo && !llvm::isa<llvm::CallInst>(next))
        return true;
    }
    // Blocks one behind the other are as one.
    return llvm::any_of(loop.blocks(), [&](const llvm::BasicBlock *block) {
      return (block != latch && !block->getSingleSuccessor()) ||
             llvm::any_of(*block, [&](const llvm::Instruction &i) {
               return llvm::isa<llvm::SelectInst, llvm::MinMaxIntrinsic>(i) ||
                      (llvm::isa<llvm::ICmpInst>(i) && &i != branch->getCondition());
             });
    });
  }

  /// What all turns of a loop within cost, in front of which what it costs to go around the loop
  /// outside is nothing.
  static constexpr uint64_t longCost = 128;

  /// Whether a loop's turns are long loops themselves, and nothing is decided in them by the number
  /// of the turn: written out, these loops would be there several times, and no shorter.
  static bool isOfLongLoops(const llvm::Loop &loop, llvm::LoopStandardAnalysisResults &results) {
    if (loop.isInnermost())
      return false;
    for (const llvm::Loop *inner : loop.getLoopsInPreorder()) {
      if (!inner->isInnermost())
        continue;
      uint64_t turns = results.SE.getSmallConstantTripCount(inner), size = 0;
      for (const llvm::BasicBlock *block : inner->blocks())
        size += llvm::count_if(*block, costs);
      if (turns != 0 && turns * size < longCost)
        return false;
    }
    return llvm::none_of(loop.blocks(), [&](const llvm::BasicBlock *block) {
      return llvm::any_of(*block, [&](const llvm::Instruction &i) {
        return llvm::isa<llvm::ICmpInst, llvm::MinMaxIntrinsic>(i) && !isEnd(i, results.LI) &&
               isCounted(i.getOperand(0), results) && isCounted(i.getOperand(1), results);
      });
    });
  }

  /// Whether a question is that for the end of the loop that it is in.
  static bool isEnd(const llvm::Instruction &i, const llvm::LoopInfo &loops) {
    const llvm::Loop *loop = loops.getLoopFor(i.getParent());
    const llvm::BasicBlock *latch = loop ? loop->getLoopLatch() : nullptr;
    const auto *branch = latch ? llvm::dyn_cast<llvm::BranchInst>(latch->getTerminator()) : nullptr;
    return branch && branch->isConditional() && branch->getCondition() == &i;
  }

  /// Whether a value is computed of constants and of numbers of turns, of loops that have few.
  static bool isCounted(const llvm::Value *value, llvm::LoopStandardAnalysisResults &results,
                        unsigned depth = 0) {
    if (llvm::isa<llvm::Constant>(value))
      return true;
    const auto *i = llvm::dyn_cast<llvm::Instruction>(value);
    if (!i || depth > 6)
      return i; // too much to look at is taken for known
    if (llvm::isa<llvm::PHINode>(i)) {
      const llvm::Loop *loop = results.LI.getLoopFor(i->getParent());
      return !loop || loop->getHeader() != i->getParent() ||
             results.SE.getSmallConstantTripCount(loop) != 0;
    }
    if (!llvm::isa<llvm::BinaryOperator, llvm::CastInst, llvm::CmpInst, llvm::SelectInst,
                   llvm::MinMaxIntrinsic>(i))
      return false;
    return llvm::all_of(i->operands(), [&](const llvm::Use &operand) {
      return isCounted(operand, results, depth + 1);
    });
  }

  static bool costs(const llvm::Instruction &i) {
    if (const auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&i))
      return call->getIntrinsicID() == llvm::Intrinsic::fma ||
             call->getIntrinsicID() == llvm::Intrinsic::fmuladd;
    return llvm::isa<llvm::LoadInst, llvm::StoreInst>(i) ||
           (llvm::isa<llvm::BinaryOperator>(i) && i.getType()->isFPOrFPVectorTy());
  }

  llvm::LoopFullUnrollPass unroll{/*OptLevel=*/3};
};

/// Joins scalars to vectors where there are any that could be: of code in vectors only addresses
/// are left, and these would be compared with one another for nothing.
struct JoinScalarsPass : llvm::PassInfoMixin<JoinScalarsPass> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses) {
    bool hasScalars = llvm::any_of(llvm::instructions(function), [](const llvm::Instruction &i) {
      if (const auto *store = llvm::dyn_cast<llvm::StoreInst>(&i))
        return !store->getValueOperand()->getType()->isVectorTy();
      return i.getType()->isFloatingPointTy() && !llvm::isa<llvm::LoadInst>(i);
    });
    return hasScalars ? join.run(function, analyses) : llvm::PreservedAnalyses::all();
  }

  llvm::SLPVectorizerPass join;
};

/// Cleans up behind passes where one of them has changed anything.
struct CleanedPasses : llvm::PassInfoMixin<CleanedPasses> {
  CleanedPasses(llvm::FunctionPassManager passes, llvm::FunctionPassManager cleanup)
      : passes(std::move(passes)), cleanup(std::move(cleanup)) {}

  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses) {
    llvm::PreservedAnalyses kept = passes.run(function, analyses);
    if (!kept.areAllPreserved())
      kept.intersect(cleanup.run(function, analyses));
    return kept;
  }

  llvm::FunctionPassManager passes, cleanup;
};

} // namespace

bool weir::hasNoFloats(const llvm::Function &function) {
  return llvm::none_of(llvm::instructions(function), [](const llvm::Instruction &instruction) {
    return instruction.getType()->isFPOrFPVectorTy();
  });
}

bool weir::isVectorKernel(const llvm::Function &function) {
  return function.getInstructionCount() >= longFunction &&
         llvm::any_of(llvm::instructions(function), [](const llvm::Instruction &instruction) {
           return instruction.getType()->isVectorTy();
         });
}

/// One round, as LLVM's own pipelines have it: passes behind it clean up.
static llvm::InstCombinePass combine() {
  return llvm::InstCombinePass(llvm::InstCombineOptions().setMaxIterations(1));
}

static llvm::LICMPass hoist() { return llvm::LICMPass(llvm::LICMOptions()); }

/// What all lists begin with.
static void addSimplification(llvm::FunctionPassManager &passes) {
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(combine());
}

/// What loops repeat leaves them, in front of the first turn; with `unswitches` questions, too.
static void addHoisting(llvm::FunctionPassManager &passes, bool unswitches = false) {
  llvm::LoopPassManager loops;
  loops.addPass(llvm::LoopRotatePass());
  loops.addPass(hoist());
  if (unswitches)
    loops.addPass(llvm::SimpleLoopUnswitchPass(/*NonTrivial=*/true));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loops), /*UseMemorySSA=*/true));
}

/// What the lists from -O2 on have between the loops that are written out and those that are
/// vectorised. What has become the same in every turn leaves its loop: the vectoriser asks of a
/// product of powers that stays whether each is the same in all lanes, along all ways through it.
static void addCleanup(llvm::FunctionPassManager &passes) {
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(combine());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(hoist(), /*UseMemorySSA=*/true));
}

/// What the lists from -O2 on end with: what vectors and turns written out left is cleaned.
static void addLastCleanup(llvm::FunctionPassManager &passes) {
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  passes.addPass(combine());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(hoist(), /*UseMemorySSA=*/true));
  passes.addPass(llvm::SimplifyCFGPass());
}

/// Unrolls loops that are still there.
static llvm::LoopUnrollPass unrollLoops() {
  return llvm::LoopUnrollPass(llvm::LoopUnrollOptions(/*OptLevel=*/3));
}

llvm::FunctionPassManager weir::vectorKernelPasses() {
  llvm::FunctionPassManager passes;
  addSimplification(passes);
  addHoisting(passes);
  passes.addPass(KeepLargeLoopsPass());
  // Blocks of a window that lie at a line's ends have code of their own once these are written out.
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(FullUnrollPass()));
  addCleanup(passes);
  // A tile has no loop over elements, and long turns: nothing happens to it here.
  llvm::FunctionPassManager changes, cleanup;
  changes.addPass(llvm::LoopVectorizePass());
  changes.addPass(JoinScalarsPass());
  changes.addPass(llvm::VectorCombinePass());
  changes.addPass(KeepLongTurnsPass());
  changes.addPass(unrollLoops());
  addLastCleanup(cleanup);
  passes.addPass(CleanedPasses(std::move(changes), std::move(cleanup)));
  return passes;
}

llvm::FunctionPassManager weir::quickKernelPasses() {
  llvm::FunctionPassManager passes;
  addSimplification(passes);
  addHoisting(passes);
  return passes;
}

llvm::FunctionPassManager weir::loopKernelPasses() {
  llvm::FunctionPassManager passes;
  addSimplification(passes);
  addHoisting(passes, /*unswitches=*/true);
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(combine());
  llvm::LoopPassManager counted;
  counted.addPass(llvm::LoopIdiomRecognizePass());
  counted.addPass(llvm::IndVarSimplifyPass());
  counted.addPass(llvm::LoopDeletionPass());
  counted.addPass(FullUnrollPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(counted)));
  addCleanup(passes);
  passes.addPass(llvm::LoopVectorizePass());
  passes.addPass(combine());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::SLPVectorizerPass());
  passes.addPass(llvm::VectorCombinePass());
  passes.addPass(unrollLoops());
  addLastCleanup(passes);
  return passes;
}

const llvm::Function *weir::functionOf(llvm::Any unit) {
  if (const auto *function = llvm::any_cast<const llvm::Function *>(&unit))
    return *function;
  if (const auto *loop = llvm::any_cast<const llvm::Loop *>(&unit))
    return (*loop)->getHeader()->getParent();
  if (const auto *component = llvm::any_cast<const llvm::LazyCallGraph::SCC *>(&unit))
    return (*component)->size() == 1 ? &(*component)->begin()->getFunction() : nullptr;
  return nullptr;
}
