//===- KernelTrials.cpp - kernels alone, compiled and timed ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/KernelTrials.h"

#include "compiler/codegen/cpu/CpuCodegen.h"
#include "compiler/driver/KernelTimer.h"
#include "compiler/emit/CodeUnits.h"
#include "compiler/execute/LinkedObject.h"
#include "passes/analysis/DeviceTraits.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace weir;
using namespace weir::driver;

/// What a kernel is called in the object that it is alone in.
static constexpr const char *unitSymbol = "kernel";
/// Before anything is measured: additions and multiplications a second.
static constexpr double assumedRate = 5e10;
/// Threads find so many parts to do, unless there were fewer before.
static constexpr int64_t fewestParts = 16;

struct KernelTrials::Build {
  std::optional<TileSpace> space; ///< none: no such kernel
  TimedKernel timed;
  std::vector<CodeUnit> unit;
  std::string code; ///< equal for equal code
  std::unique_ptr<LinkedObject> linked;
  bool isBroken = false;
};

KernelTrials::KernelTrials(const Options &options, const Target &target, VectorUnit unit)
    : options(options), target(target), unit(unit) {}
KernelTrials::~KernelTrials() = default;

//===----------------------------------------------------------------------===//
// Collecting
//===----------------------------------------------------------------------===//

/// A module with one function: the cluster's operations on arguments, and on the
/// constants that they read.
static OwningOpRef<ModuleOp> alone(ModuleOp from, const Cluster &cluster) {
  MLIRContext *context = from.getContext();
  OwningOpRef<ModuleOp> made = ModuleOp::create(from.getLoc());
  (*made)->setAttrs(from->getAttrDictionary());
  llvm::SetVector<Operation *> members(cluster.operations.begin(), cluster.operations.end());
  llvm::SetVector<Value> inputs;
  for (Operation *op : cluster.operations)
    for (Value operand : op->getOperands())
      if (!members.contains(operand.getDefiningOp()))
        inputs.insert(operand);
  SmallVector<Type> types;
  for (Value input : inputs)
    if (!input.getDefiningOp<ConstantOp>())
      types.push_back(input.getType());
  OpBuilder b = OpBuilder::atBlockEnd(made->getBody());
  Operation *root = cluster.root();
  SmallVector<Value> computed = cluster.results(), results;
  auto function = func::FuncOp::create(b, root->getLoc(), "trial",
                                       FunctionType::get(context, types, TypeRange(computed)));
  Block *body = function.addEntryBlock();
  b.setInsertionPointToStart(body);
  IRMapping mapping;
  unsigned next = 0;
  for (Value input : inputs) {
    if (auto constant = input.getDefiningOp<ConstantOp>())
      b.clone(*constant, mapping);
    else
      mapping.map(input, body->getArgument(next++));
  }
  for (Operation *op : cluster.operations)
    b.clone(*op, mapping);
  for (Value result : computed)
    results.push_back(mapping.lookup(result));
  func::ReturnOp::create(b, root->getLoc(), results);
  return made;
}

/// The operation of the cluster whose tiles could be chosen, and the key of its
/// choices.
static std::pair<Operation *, std::string> anchorOf(const Cluster &cluster) {
  if (isOffloaded(cluster.root()))
    return {};
  for (Operation *op : cluster.operations) {
    Operation *right = op->getNumOperands() > 1 ? op->getOperand(1).getDefiningOp() : nullptr;
    bool isConstant =
        isa_and_nonnull<ConstantOp>(right) && !llvm::is_contained(cluster.operations, right);
    if (std::string key = tileKey(op, isConstant); !key.empty())
      return {op, key};
  }
  return {};
}

void KernelTrials::collect(ModuleOp module, std::vector<TuneTask> &tasks) {
  std::map<std::string, size_t> known;
  SmallVector<Block *> blocks;
  module.walk([&](func::FuncOp function) {
    function.walk([&](Block *block) { blocks.push_back(block); });
  });
  for (Block *block : blocks)
    for (const Cluster &cluster : clusterBlock(*block)) {
      auto [anchor, key] = anchorOf(cluster);
      if (!anchor)
        continue;
      auto [it, isNew] = known.try_emplace(key, tasks.size());
      if (!isNew) {
        ++tasks[it->second].launches;
        continue;
      }
      auto cost = dyn_cast<CostOpInterface>(anchor);
      TuneTask task;
      task.seconds = cost ? double(std::max<int64_t>(cost.getFlops(), 0)) / assumedRate : 0;
      tasks.push_back(task);
      Kernel &kernel = kernels.emplace_back();
      kernel.key = key;
      kernel.module = alone(module, cluster);
    }
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

/// Buffers and range of the one kernel; nothing where there are more.
static std::optional<TimedKernel> describe(ModuleOp module, plan::KernelOp &kernel) {
  auto found = llvm::to_vector(module.getOps<plan::KernelOp>());
  plan::LaunchOp launch;
  module.walk([&](plan::LaunchOp each) { launch = each; });
  if (found.size() != 1 || !launch)
    return std::nullopt;
  kernel = found.front();
  TimedKernel timed;
  auto bytesOf = [](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    return tensor.getNumElements() * elementBytes(tensor.getElementType());
  };
  for (auto [argument, operand] : llvm::zip(kernel.getBody().getArguments(), launch.getInputs()))
    timed.buffers.push_back(
        {bytesOf(argument.getType()), isa_and_nonnull<ConstantOp>(operand.getDefiningOp())});
  auto results = kernel.getBody().front().getTerminator()->getOperands();
  for (Value result : results)
    timed.buffers.push_back({bytesOf(result.getType()), false});
  plan::ScheduleAttr schedule = kernel.getSchedule();
  auto parts = schedule.find(plan::schedule::parts);
  if (!parts)
    return std::nullopt;
  auto type = cast<RankedTensorType>(results[0].getType());
  timed.range = 1;
  for (auto [size, tile] :
       llvm::zip(plan::partShape(schedule[plan::schedule::merged], type.getShape()), *parts))
    timed.range *= llvm::divideCeil(size, tile);
  return timed;
}

KernelTrials::Build *KernelTrials::build(Kernel &kernel, const TileChoice &choice) {
  auto [it, isNew] = kernel.builds.try_emplace(choice.str());
  if (!isNew)
    return it->second->space ? it->second.get() : nullptr;
  it->second = std::make_unique<Build>();
  Build &made = *it->second;

  MLIRContext *context = kernel.module->getContext();
  // What cannot be compiled is a trial that is lost, not an error of the model's.
  ScopedDiagnosticHandler silence(context, [](mlir::Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> module = kernel.module->clone();
  Builder b(context);
  (*module)->setAttr(tilesAttribute, b.getDictionaryAttr(b.getNamedAttr(
                                         kernel.key, b.getStringAttr(choice.str()))));
  PassManager passes(context, ModuleOp::getOperationName());
  if (failed(parsePassPipeline("weir-kernelize", passes)) || failed(passes.run(*module)))
    return nullptr;
  plan::KernelOp found;
  std::optional<TimedKernel> timed = describe(*module, found);
  if (!timed)
    return nullptr;
  std::optional<TileSpace> space = tileSpaceOf(found);
  for (auto function : llvm::to_vector(module->getOps<func::FuncOp>()))
    function.erase();

  context->loadAllAvailableDialects();
  CpuOptions cpu;
  cpu.prefix = "trial";
  cpu.machine = target.machine.get();
  cpu.optLevel = options.optLevel;
  llvm::LLVMContext llvmContext;
  Program program;
  std::unique_ptr<llvm::Module> code = generateCpu(*module, cpu, llvmContext, program);
  if (!code)
    return nullptr;
  setTargetAttributes(*code, target.code);
  made.unit = splitKernels(*code, {program.kernels.front().symbol});
  made.code = made.unit.front().key;
  made.timed = *timed;
  made.space = space;
  return space ? &made : nullptr;
}

/// Compiles and links what build() made, once.
bool KernelTrials::isRunnable(Build &build) {
  if (build.linked || build.isBroken)
    return !build.isBroken;
  build.isBroken = true;
  UnitOptions how;
  how.machine = [&] { return makeMachine(options, target); };
  how.optLevel = options.optLevel;
  if (llvm::Error error = compileUnits(build.unit, how)) {
    llvm::consumeError(std::move(error));
    return false;
  }
  const llvm::SmallVector<char, 0> &object = build.unit.front().object;
  std::string error;
  build.linked = LinkedObject::create({object.data(), object.size()}, unitSymbol, {}, error);
  if (!build.linked)
    return false;
  build.timed.function =
      reinterpret_cast<TimedKernel::Function *>(build.linked->find(unitSymbol, error));
  build.isBroken = !build.timed.function;
  return !build.isBroken;
}

//===----------------------------------------------------------------------===//
// Trials
//===----------------------------------------------------------------------===//

std::vector<TileChoice> KernelTrials::moves(size_t task, const TileChoice &from) {
  Build *present = build(kernels[task], from);
  return present ? tileMoves(*present->space, unit) : std::vector<TileChoice>();
}

TrialResult KernelTrials::measure(size_t task, const TileChoice &from, const TileChoice &to) {
  TrialResult result = runBoth(kernels[task], from, to);
  if (!options.verbose || result.kind == TrialResult::Kind::Same)
    return result;
  llvm::errs() << "  " << kernels[task].key << ": " << to.str();
  if (result.kind == TrialResult::Kind::Measured)
    llvm::errs() << llvm::format(" %.1f us, %.1f before\n", result.to * 1e6, result.from * 1e6);
  else
    llvm::errs() << " does not run\n";
  return result;
}

TrialResult KernelTrials::runBoth(Kernel &kernel, const TileChoice &from, const TileChoice &to) {
  // Losers are not needed again.
  std::erase_if(kernel.builds, [&](const auto &entry) {
    return entry.first != from.str() && entry.first != to.str();
  });
  TrialResult result;
  Build *first = build(kernel, from), *second = build(kernel, to);
  if (!first || !second)
    return result;
  // Too few parts would be slow on many threads, which is not measured.
  bool isSame = first->code == second->code;
  if (isSame || second->timed.range < std::min(first->timed.range, fewestParts)) {
    result.kind = TrialResult::Kind::Same;
    return result;
  }
  if (!isRunnable(*first) || !isRunnable(*second))
    return result;
  if (std::optional<std::pair<double, double>> seconds = timeInTurn(first->timed, second->timed)) {
    result.kind = TrialResult::Kind::Measured;
    std::tie(result.from, result.to) = *seconds;
  }
  return result;
}
