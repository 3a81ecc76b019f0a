//===- ReuseBuffers.cpp - results over dying operands ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "mlir/IR/Dominance.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/plan/FeedUpdates.h"
#include "passes/plan/InPlace.h"
#include "passes/plan/Passes.h"
#include "passes/plan/PlaceValues.h"
#include "passes/plan/ReuseDynamic.h"
#include "passes/plan/StepTimes.h"
#include "passes/plan/SubviewForwarding.h"
#include "passes/plan/VariableUpdates.h"
#include "llvm/ADT/MapVector.h"
#include <map>

namespace weir {
#define GEN_PASS_DEF_WEIRREUSEBUFFERSPASS
#include "passes/plan/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;
using namespace weir::plan;

namespace {

class Reuser {
public:
  Reuser(func::FuncOp function, SymbolTable &symbols)
      : function(function), symbols(symbols), times(function), dominance(function) {
    function.walk([&](BufferOp op) {
      lives[op] = times.lifetime(op);
      numbers[op] = numbers.size();
    });
    // Which buffer each access means: for the check of the plan.
    function.walk([&](Operation *op) {
      if (isa<ViewOp, FreeOp, memref::DimOp>(op))
        return;
      SmallVector<int64_t> locations;
      bool any = false;
      for (Value operand : op->getOperands()) {
        if (!isa<MemRefType>(operand.getType()))
          continue;
        auto it = numbers.find(rootOf(operand));
        locations.push_back(it == numbers.end() ? -1 : it->second);
        any |= it != numbers.end();
        accesses[rootOf(operand)].push_back(op);
      }
      if (any)
        op->setAttr("weir_plan.locations", DenseI64ArrayAttr::get(op->getContext(), locations));
    });
  }

  void run() {
    SmallVector<Operation *> work;
    function.walk([&](Operation *op) {
      if (isa<RunOp, CopyOp>(op))
        work.push_back(op);
    });
    // Copies first: a loop's next value in the place of the last one saves a
    // copy as well as a buffer.
    for (Operation *op : work)
      if (auto copy = dyn_cast<CopyOp>(op))
        elideCopy(copy);
    for (Operation *op : work)
      if (auto run = dyn_cast<RunOp>(op))
        writeInPlace(run);
  }

  int64_t savedBuffers = 0, savedBytes = 0, savedCopies = 0;
  InPlaceRuns inPlace;

private:
  KernelOp kernelOf(RunOp run) { return symbols.lookup<KernelOp>(run.getKernel()); }

  static bool isBuffer(Value root) { return root.getDefiningOp<BufferOp>() != nullptr; }

  /// `from` lives in the bytes of `to` from now on.
  void merge(Value from, Value to) {
    OpBuilder b(from.getDefiningOp());
    Value alias = to;
    if (from.getType() != to.getType())
      alias = ViewOp::create(b, from.getLoc(), from.getType(), to, ValueRange());
    auto &mine = lives[to];
    mine = {std::min(mine.first, lives[from].first), std::max(mine.second, lives[from].second)};
    savedBytes += arenaBytes(cast<MemRefType>(from.getType()));
    ++savedBuffers;
    auto &list = accesses[to];
    auto &moved = accesses[from];
    list.insert(list.end(), moved.begin(), moved.end());
    accesses.erase(from);
    from.replaceAllUsesWith(alias);
    from.getDefiningOp()->erase();
  }

  bool fits(Value from, Value to) {
    return from != to && isBuffer(from) && isBuffer(to) &&
           arenaBytes(cast<MemRefType>(from.getType())) ==
               arenaBytes(cast<MemRefType>(to.getType())) &&
           dominance.properlyDominates(to.getDefiningOp(), from.getDefiningOp());
  }

  /// The only input of `run` in the bytes of `root`, if the kernel may write over
  /// it; else nothing.
  std::optional<unsigned> inputInPlace(RunOp run, Value root) {
    std::optional<unsigned> found;
    for (auto [i, input] : llvm::enumerate(run.getInputs()))
      if (rootOf(input) == root) {
        if (found || !mayWriteOver(run, kernelOf(run), i) ||
            !haveSameSizes(run.getOutputs()[0], input))
          return std::nullopt;
        found = i;
      }
    return found;
  }

  /// A result over an operand that is not used behind it.
  void writeInPlace(RunOp run) {
    if (run.getOutputs().size() != 1 || inPlace.count(run))
      return;
    Value output = rootOf(run.getOutputs()[0]);
    if (auto fetch = output.getDefiningOp<FetchOp>()) {
      computeInFetch(run, fetch);
      return;
    }
    if (!isBuffer(output) || run.getOutputs()[0] != output ||
        lives[output].first != times.of(run).first)
      return;
    for (Value input : run.getInputs()) {
      Value root = rootOf(input);
      if (!fits(output, root) || lives[root].second != times.of(run).second + 1)
        continue;
      if (auto index = inputInPlace(run, root)) {
        addInPlace(inPlace, run, 0, *index);
        merge(output, root);
        return;
      }
    }
  }

  /// Whether a product or convolution computes `root` for one other launch: what else computes
  /// or reads a buffer may have better places for it (SubviewForwarding.h).
  bool isProductForOne(Value root) {
    RunOp writer = writerOf(root.getDefiningOp<BufferOp>());
    return writer && accesses[root].size() == 2 &&
           llvm::any_of(kernelOf(writer).getBody().front(),
                        [](Operation &op) { return isa<DotGeneralOp, ConvOp>(op); });
  }

  /// A product that the last launch to a fetch is computed over, in the fetch's own memory.
  void computeInFetch(RunOp run, FetchOp fetch) {
    Value target = fetch.getResult();
    auto type = cast<MemRefType>(target.getType());
    // The first that comes to the memory is the one that writes over the operand.
    bool isFirst = llvm::all_of(accesses[target], [&](Operation *access) {
      return access == run || times.of(access).first > times.of(run).first;
    });
    if (run.getOutputs()[0] != target || !type.hasStaticShape() || !isFirst || isOffloaded(run))
      return;
    for (Value input : run.getInputs()) {
      Value root = rootOf(input);
      if (!isBuffer(root) || root.getParentBlock() != fetch->getBlock() ||
          arenaBytes(cast<MemRefType>(root.getType())) != arenaBytes(type) ||
          lives[root].second != times.of(run).second + 1 || !isProductForOne(root))
        continue;
      if (auto index = inputInPlace(run, root)) {
        addInPlace(inPlace, run, 0, *index);
        fetch->moveBefore(root.getDefiningOp());
        merge(root, target);
        return;
      }
    }
  }

  /// A value that is computed only to be copied is computed where it goes, unless
  /// what is there is still needed.
  void elideCopy(CopyOp copy) {
    Value source = rootOf(copy.getSource()), target = rootOf(copy.getTarget());
    // Where a loop's first value goes is made behind it.
    if (isBuffer(source) && isBuffer(target) &&
        source.getParentBlock() == target.getParentBlock() &&
        source.getDefiningOp()->isBeforeInBlock(target.getDefiningOp()))
      target.getDefiningOp()->moveBefore(source.getDefiningOp());
    if (!fits(source, target) || copy.getTarget() != target ||
        source.getParentBlock() != copy->getBlock() ||
        lives[source].second != times.of(copy).second + 1)
      return;
    int64_t begin = lives[source].first, end = times.of(copy).first;
    RunOp writer;
    bool hasBegun = false;
    for (Operation *access : accesses[target]) {
      auto [from, to] = times.of(access);
      if (to < begin || from >= end)
        continue;
      // What a loop within the loop begins with is there already.
      auto begun = dyn_cast<CopyOp>(access);
      if (begun && from == begin && begun.getSource() == target && begun.getTarget() == source) {
        hasBegun = true;
        continue;
      }
      // The first to write may read what it writes over.
      auto run = dyn_cast<RunOp>(access);
      if (!run || from != begin || run.getOutputs().size() != 1 || run.getOutputs()[0] != source ||
          !inputInPlace(run, target))
        return;
      writer = run;
    }
    if (writer)
      addInPlace(inPlace, writer, 0, *inputInPlace(writer, target));
    savedCopies += 1 + hasBegun;
    merge(source, target);
  }

  func::FuncOp function;
  SymbolTable &symbols;
  StepTimes times;
  DominanceInfo dominance;
  DenseMap<Value, StepTimes::Interval> lives;
  DenseMap<Value, int64_t> numbers;
  DenseMap<Value, std::vector<Operation *>> accesses;
};

struct ReuseBuffersPass : weir::impl::WeirReuseBuffersPassBase<ReuseBuffersPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    InPlaceRuns inPlace;
    int64_t buffers = 0, bytes = 0, copies = placeValues(module);
    // Another device's step may read the same feed at any time.
    llvm::MapVector<Attribute, int64_t> steps;
    for (auto function : module.getOps<func::FuncOp>())
      ++steps[function->getAttr("weir.entry")];
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      copies += updateVariables(function, symbols, inPlace);
      holdVariables(function);
      if (Attribute entry = function->getAttr("weir.entry"); entry && steps[entry] == 1)
        updateFeeds(function, symbols, inPlace);
      DynamicReuse dynamic = reuseDynamic(function, symbols, inPlace);
      buffers += dynamic.buffers;
      copies += dynamic.copies;
      Reuser reuser(function, symbols);
      reuser.run();
      for (auto &entry : reuser.inPlace)
        inPlace.insert(entry);
      buffers += reuser.savedBuffers;
      bytes += reuser.savedBytes;
      copies += reuser.savedCopies;
    }
    makeKernels(module, symbols, inPlace);
    copies += forwardSubviews(module, symbols);
    OpBuilder b(module.getContext());
    module->setAttr("weir_plan.reuse",
                    b.getDictionaryAttr({b.getNamedAttr("buffers", b.getI64IntegerAttr(buffers)),
                                         b.getNamedAttr("bytes", b.getI64IntegerAttr(bytes)),
                                         b.getNamedAttr("copies", b.getI64IntegerAttr(copies))}));
  }

  /// Kernels promise that their buffers are apart: one that is launched in place
  /// is another function, which reads through the pointer that it writes to.
  void makeKernels(ModuleOp module, SymbolTable &symbols, InPlaceRuns &inPlace) {
    llvm::MapVector<Operation *, SmallVector<RunOp>> runs;
    module.walk([&](RunOp run) { runs[symbols.lookup<KernelOp>(run.getKernel())].push_back(run); });
    for (auto &[op, launches] : runs) {
      auto kernel = cast<KernelOp>(op);
      std::map<SmallVector<int64_t>, SmallVector<RunOp>> byInputs; // none: all apart
      for (RunOp run : launches) {
        auto it = inPlace.find(run);
        byInputs[it == inPlace.end() ? SmallVector<int64_t>() : it->second].push_back(run);
      }
      bool isFirst = true;
      for (auto &[inputs, users] : byInputs) {
        KernelOp used = kernel;
        if (!isFirst) {
          used = cast<KernelOp>(kernel->clone());
          used.removeInPlaceAttr();
          // In code, other characters than letters and digits become "_": a
          // number alone would meet another kernel's.
          std::string name = (kernel.getSymName() + ".over").str();
          for (auto [i, input] : llvm::enumerate(inputs))
            name += (i ? "_" : "") + (input < 0 ? "none" : std::to_string(input));
          used.setSymName(name);
          symbols.insert(used, std::next(Block::iterator(kernel)));
        }
        if (!inputs.empty())
          used.setInPlace(inputs);
        for (RunOp run : users)
          run.setKernel(used.getSymName());
        isFirst = false;
      }
    }
  }
};

} // namespace
