//===- CudaHorizontalFusion.cpp - launches that become one ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A decoder's step is a hundred kernels of a few microseconds, most of which leave a GPU
// idle. Launches that follow each other and need nothing of each other, as what appends
// keys, what appends values and what turns queries, become one whose first blocks do the
// first one's work, the next ones the second one's:
//
//   run a        run a+b                 __global__ a+b(error, a's, b's, blocksOfA)
//   receive  ─▶  (receive stays)           block < blocksOfA ? a(block) : b(block - blocksOfA)
//   run b        send of a's result
//
// Launches come as late as the last of them. What stood between them and needs an earlier
// one's result, a send or what frees a buffer, comes behind. A receive may stand between
// only if nothing of this step can hold up what it waits for: a feed that the host's step
// sends before it waits itself.
//
// Li et al., Automatic Horizontal Fusion for GPU Kernels, CGO 2022 (by blocks here, not by
// threads of a block: kernels with barriers could then not be told apart).
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaHorizontalFusion.h"
#include "dialects/plan/Buffers.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/DeviceTraits.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

namespace {

/// Eight times what large GPUs have room for (16 blocks of 128 threads on each of 132
/// multiprocessors): what has more takes so long that a launch does not matter.
constexpr int64_t mostBlocks = 132 * 16 * 8;
constexpr size_t mostMembers = 4;
/// Parameters take up to 4 KiB.
constexpr size_t mostOperands = 64;

/// Edges by which the host's steps send feeds before they wait for anything.
llvm::DenseSet<int64_t> edgesOfFeeds(ModuleOp module) {
  llvm::DenseSet<int64_t> edges;
  for (auto step : module.getOps<func::FuncOp>()) {
    if (!step->hasAttr("weir_plan.feeds") || isOffloaded(step))
      continue;
    for (Operation &op : step.getBody().front()) {
      auto send = dyn_cast<plan::SendOp>(op);
      if (send && llvm::hasSingleElement(send.getValue()) &&
          rootOf(send.getValue()[0]).getDefiningOp<FeedOp>())
        edges.insert(int64_t(send.getEdge()));
      else if (!send && !isMemoryEffectFree(&op) && !isa<BufferOp, FreeOp>(op))
        break;
    }
  }
  return edges;
}

/// Whether both may have bytes in common. Buffers of the arena have places; what else a step names
/// has memory of its own while it lives.
bool mayMeet(Value a, Value b) {
  a = rootOf(a);
  b = rootOf(b);
  Operation *first = a.getDefiningOp(), *second = b.getDefiningOp();
  if (a == b || !first || !second)
    return true;
  auto left = dyn_cast<BufferOp>(first), right = dyn_cast<BufferOp>(second);
  auto isKnown = [](Operation *op) { return op->hasTrait<plan::traits::GivesOwnMemory>(); };
  if (!left || !right)
    return !isKnown(first) || !isKnown(second);
  auto leftType = cast<MemRefType>(a.getType()), rightType = cast<MemRefType>(b.getType());
  if (!left.getOffset() || !right.getOffset() || !leftType.hasStaticShape() ||
      !rightType.hasStaticShape())
    return true;
  int64_t from = int64_t(*left.getOffset()), other = int64_t(*right.getOffset());
  return from < other + arenaBytes(rightType) && other < from + arenaBytes(leftType);
}

bool areApart(ValueRange a, ValueRange b) {
  return llvm::none_of(a, [&](Value one) {
    return llvm::any_of(b, [&](Value other) { return mayMeet(one, other); });
  });
}

/// Whether neither needs what the other writes, nor its place.
bool areIndependent(RunOp a, RunOp b) {
  return areApart(a.getOutputs(), b.getOutputs()) && areApart(a.getOutputs(), b.getInputs()) &&
         areApart(a.getInputs(), b.getOutputs());
}

class Fusion {
public:
  Fusion(ModuleOp module, const llvm::StringMap<LaunchShape> &launches, gpu::GPUModuleOp image,
         std::vector<std::string> &names)
      : launches(launches), image(image), names(names), feeds(edgesOfFeeds(module)) {
    int32_t number = 0;
    for (auto kernel : module.getOps<KernelOp>()) {
      numbers[kernel.getSymName()] = number++;
      kernels[kernel.getSymName()] = kernel;
    }
  }

  void alongStep(func::FuncOp step) {
    SmallVector<Block *> blocks;
    step.walk([&](Block *block) { blocks.push_back(block); });
    for (Block *block : blocks)
      alongBlock(*block);
  }

  /// Drops the functions of kernels that are launched within others alone.
  void dropUnused(ArrayRef<func::FuncOp> steps) {
    llvm::StringSet<> launched;
    for (func::FuncOp step : steps)
      step->walk([&](RunOp run) {
        if (!run->hasAttr(fusedLaunchesAttribute))
          launched.insert(run.getKernel());
      });
    for (const FusedKernel &kernel : made)
      for (const std::string &member : kernel.members) {
        std::string &name = names[size_t(numbers.lookup(member))];
        if (launched.contains(member) || name.empty())
          continue;
        functionOf(member).erase();
        name.clear();
      }
  }

  FusedKernels made;

private:
  gpu::GPUFuncOp functionOf(StringRef kernel) {
    return image.lookupSymbol<gpu::GPUFuncOp>(names[size_t(numbers.lookup(kernel))]);
  }

  /// Blocks of a launch; -1: not known before.
  int64_t blocksOf(RunOp run) const {
    const LaunchShape &shape = launches.find(run.getKernel())->second;
    auto type = cast<MemRefType>(run.getOutputs().front().getType());
    int64_t blocks = 1;
    for (const LaunchShape::Axis &axis : shape.axes) {
      int64_t count = 1;
      for (int64_t dim : axis.dims) {
        if (type.isDynamicDim(unsigned(dim)))
          return -1;
        count *= type.getDimSize(unsigned(dim));
      }
      blocks *= llvm::divideCeil(count, axis.divisor);
    }
    return blocks;
  }

  /// Whether the kernel's code may be a part of another one's: one function, that no library and
  /// no second form stands for, whose blocks share nothing.
  bool isPlain(RunOp run) {
    auto known = plain.find(run.getKernel());
    if (known != plain.end())
      return known->second;
    auto at = launches.find(run.getKernel());
    KernelOp kernel = kernels.lookup(run.getKernel());
    bool good = at != launches.end() && kernel && !at->second.parts && !at->second.split &&
                !at->second.sort;
    if (good)
      for (Operation &op : kernel.getBody().front())
        good &= !op.hasTrait<weir::traits::ComputedByTiles>();
    gpu::GPUFuncOp function = good ? functionOf(run.getKernel()) : gpu::GPUFuncOp();
    good = function && llvm::hasSingleElement(function.getBody()) &&
           function.getNumWorkgroupAttributions() == 0 &&
           !function->hasAttr(NVVM::NVVMDialect::getMinctasmAttrName());
    constexpr int64_t mostOperations = 3000;
    int64_t operations = 0;
    if (good)
      function.walk([&](Operation *op) {
        ++operations;
        good &= !isa<gpu::BarrierOp, gpu::GridDimOp>(op);
      });
    return plain[run.getKernel()] = good && operations <= mostOperations;
  }

  bool isSmall(RunOp run) const { return blocksOf(run) <= mostBlocks; }

  void alongBlock(Block &block) {
    SmallVector<RunOp> group;
    SmallVector<Operation *> behind; // what comes behind the group
    int64_t blocks = 0, operands = 0;
    auto close = [&] {
      if (group.size() > 1)
        fuse(group, behind);
      group.clear();
      behind.clear();
      blocks = operands = 0;
    };
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto run = dyn_cast<RunOp>(op)) {
        bool fits = isPlain(run) && isSmall(run);
        if (!fits) {
          close();
          continue;
        }
        int64_t more = std::max<int64_t>(blocksOf(run), 0), count = run->getNumOperands();
        if (group.size() == mostMembers || blocks + more > mostBlocks ||
            operands + count > int64_t(mostOperands) || disturbs(run, behind) ||
            !llvm::all_of(group, [&](RunOp other) { return areIndependent(other, run); }))
          close();
        group.push_back(run);
        blocks += more;
        operands += count;
      } else if (!group.empty() && !staysBetween(op, behind)) {
        close();
      }
    }
    close();
  }

  /// Whether the launch writes what a send that is to come behind it reads.
  static bool disturbs(RunOp run, ArrayRef<Operation *> behind) {
    return llvm::any_of(behind, [&](Operation *op) {
      auto send = dyn_cast<plan::SendOp>(op);
      return send && !areApart(run.getOutputs(), send.getValue());
    });
  }

  /// Whether launches may come behind `op`, or `op` behind launches: it is noted then.
  bool staysBetween(Operation &op, SmallVectorImpl<Operation *> &behind) const {
    if (auto receive = dyn_cast<plan::ReceiveOp>(op))
      return feeds.contains(int64_t(receive.getEdge()));
    if (isa<plan::SendOp, FreeOp>(op) && op.getNumResults() == 0) {
      behind.push_back(&op);
      return true;
    }
    // Memory that is asked for here is not what is freed behind the group.
    return op.getNumRegions() == 0 &&
           (isMemoryEffectFree(&op) || isa<BufferOp, AllocOp, memref::DimOp>(op));
  }

  void fuse(ArrayRef<RunOp> group, ArrayRef<Operation *> behind) {
    SmallVector<Value> inputs, outputs;
    SmallVector<Attribute> members;
    SmallVector<Location> locations;
    RunOp last = group.back();
    OpBuilder b(last);
    for (RunOp run : group) {
      llvm::append_range(inputs, run.getInputs());
      llvm::append_range(outputs, run.getOutputs());
      members.push_back(FlatSymbolRefAttr::get(b.getContext(), run.getKernel()));
      locations.push_back(run.getLoc());
    }
    auto fused = RunOp::create(b, FusedLoc::get(b.getContext(), locations), last.getKernelAttr(),
                               last.getRange(), last.getGrainAttr(), inputs, outputs);
    fused->setAttr(fusedLaunchesAttribute, b.getArrayAttr(members));
    Operation *at = fused;
    for (Operation *op : behind) {
      // What the last launch has behind it already stays there.
      if (op->isBeforeInBlock(fused)) {
        op->moveAfter(at);
        at = op;
      }
    }
    addKernel(group);
    for (RunOp run : group)
      run.erase();
  }

  void addKernel(ArrayRef<RunOp> group) {
    FusedKernel kernel;
    for (RunOp run : group) {
      kernel.members.push_back(run.getKernel().str());
      kernel.operands.push_back({run.getInputs().size(), run.getOutputs().size()});
      kernel.name += (kernel.name.empty() ? "" : "+") + run.getKernel().str();
    }
    if (llvm::any_of(made, [&](const FusedKernel &each) { return each.members == kernel.members; }))
      return;
    SmallVector<gpu::GPUFuncOp> functions;
    for (const std::string &member : kernel.members) {
      functions.push_back(functionOf(member));
      kernel.threads = std::max(kernel.threads, launches.find(member)->second.threads);
    }
    std::string symbol = "k" + std::to_string(names.size() + 1);
    for (const std::string &member : kernel.members)
      symbol += "_" + member;
    for (char &c : symbol)
      if (!llvm::isAlnum(c))
        c = '_';
    emit(symbol, kernel, functions);
    kernel.number = int32_t(names.size());
    names.push_back(symbol);
    made.push_back(std::move(kernel));
  }

  /// The function's parameters are a record for errors, then all members' pointers, then their
  /// sizes, then the blocks in front of each but the first.
  void emit(StringRef symbol, const FusedKernel &kernel,
            MutableArrayRef<gpu::GPUFuncOp> functions) {
    OpBuilder b(image.getContext());
    b.setInsertionPointToEnd(image.getBody());
    Location loc = FusedLoc::get(image.getContext(), llvm::map_to_vector(functions, [](auto each) {
                                   return Location(each.getLoc());
                                 }));
    SmallVector<Type> types{functions[0].getArgumentTypes()[0]};
    // Of each member, where its arguments are among those of the whole.
    SmallVector<SmallVector<unsigned>> places(functions.size());
    for (bool areSizes : {false, true})
      for (auto [function, own] : llvm::zip(functions, places)) {
        if (!areSizes)
          own.push_back(0);
        for (Type type : function.getArgumentTypes().drop_front())
          if (isa<IntegerType>(type) == areSizes) {
            own.push_back(unsigned(types.size()));
            types.push_back(type);
          }
      }
    types.append(functions.size() - 1, b.getI64Type());
    auto fused = gpu::GPUFuncOp::create(b, loc, symbol, b.getFunctionType(types, {}));
    fused->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
    fused.setKnownBlockSizeAttr(b.getDenseI32ArrayAttr({int32_t(kernel.threads), 1, 1}));
    for (auto [function, own] : llvm::zip(functions, places))
      for (auto [i, place] : llvm::enumerate(own))
        if (auto attributes = function.getArgAttrDict(unsigned(i)); attributes && i > 0)
          fused.setArgAttrs(place, attributes);
    Block &entry = fused.getBody().front();
    b.setInsertionPointToStart(&entry);
    Value block = gpu::BlockIdOp::create(b, loc, gpu::Dimension::x),
          thread = gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x);
    auto blocksBefore = [&](size_t member) -> Value {
      if (member == 0)
        return arith::ConstantIndexOp::create(b, loc, 0);
      return arith::IndexCastOp::create(
          b, loc, b.getIndexType(),
          entry.getArgument(unsigned(types.size() - functions.size() + member)));
    };
    for (size_t i = 0; i < functions.size(); ++i) {
      Value first = blocksBefore(i), isOwn;
      if (i > 0)
        isOwn = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, block, first);
      auto require = [&](Value condition) {
        isOwn = isOwn ? arith::AndIOp::create(b, loc, isOwn, condition).getResult() : condition;
      };
      if (i + 1 < functions.size())
        require(
            arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, block, blocksBefore(i + 1)));
      int64_t threads = launches.find(kernel.members[i])->second.threads;
      if (threads < kernel.threads)
        require(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, thread,
                                      arith::ConstantIndexOp::create(b, loc, threads)));
      auto branch = scf::IfOp::create(b, loc, isOwn, /*withElseRegion=*/false);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&branch.getThenRegion().front());
      Value own = arith::SubIOp::create(b, loc, block, first);
      inlineKernel(
          b, functions[i],
          llvm::map_to_vector(places[i],
                              [&](unsigned place) -> Value { return entry.getArgument(place); }),
          own);
    }
    b.setInsertionPointToEnd(&entry);
    gpu::ReturnOp::create(b, loc);
  }

  const llvm::StringMap<LaunchShape> &launches;
  gpu::GPUModuleOp image;
  std::vector<std::string> &names;
  llvm::DenseSet<int64_t> feeds;
  llvm::StringMap<int32_t> numbers;
  llvm::StringMap<KernelOp> kernels;
  llvm::StringMap<bool> plain;
};

} // namespace

void weir::inlineKernel(OpBuilder &b, gpu::GPUFuncOp function, ValueRange arguments, Value block,
                        Value thread) {
  Operation *around = b.getInsertionBlock()->getParentOp();
  auto outer = dyn_cast<gpu::GPUFuncOp>(around);
  if (!outer)
    outer = around->getParentOfType<gpu::GPUFuncOp>();
  IRMapping mapping;
  Block &body = function.getBody().front();
  for (auto [own, argument] : llvm::zip(function.getArguments(), arguments))
    mapping.map(own, argument);
  StringRef align = LLVM::LLVMDialect::getAlignAttrName();
  for (auto [i, memory] : llvm::enumerate(function.getWorkgroupAttributions())) {
    mapping.map(memory, outer.addWorkgroupAttribution(memory.getType(), function.getLoc()));
    if (Attribute attribute = function.getWorkgroupAttributionAttr(int(i), align))
      outer.setWorkgroupAttributionAttr(int(outer.getNumWorkgroupAttributions()) - 1, align,
                                        attribute);
  }
  SmallVector<std::pair<Operation *, Value>> ids;
  for (Operation &op : body.without_terminator())
    b.clone(op, mapping)->walk([&](Operation *inner) {
      if (isa<gpu::BlockIdOp>(inner))
        ids.push_back({inner, block});
      else if (thread && isa<gpu::ThreadIdOp>(inner))
        ids.push_back({inner, thread});
    });
  for (auto [id, value] : ids) {
    id->getResult(0).replaceAllUsesWith(value);
    id->erase();
  }
}

const FusedKernel &weir::fusedKernelOf(const FusedKernels &fused, ArrayAttr members) {
  auto kernel = llvm::find_if(fused, [&](const FusedKernel &each) {
    return each.phases.empty() &&
           llvm::equal(each.members, members.getAsRange<FlatSymbolRefAttr>(),
                       [](StringRef a, FlatSymbolRefAttr b) { return a == b.getValue(); });
  });
  assert(kernel != fused.end() && "fuseLaunches has made it");
  return *kernel;
}

FusedKernels weir::fuseLaunches(ArrayRef<func::FuncOp> steps, ModuleOp module,
                                const llvm::StringMap<LaunchShape> &launches,
                                gpu::GPUModuleOp image, std::vector<std::string> &names) {
  Fusion fusion(module, launches, image, names);
  for (func::FuncOp step : steps)
    fusion.alongStep(step);
  fusion.dropUnused(steps);
  return std::move(fusion.made);
}
