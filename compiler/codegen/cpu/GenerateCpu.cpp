//===- GenerateCpu.cpp - native CPU code of a planned module -----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/ConvertBodies.h"
#include "compiler/codegen/cpu/CpuCodegen.h"
#include "compiler/codegen/cpu/DepthFirst.h"
#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/MathFunctions.h"
#include "compiler/codegen/cpu/NodeLines.h"
#include "compiler/codegen/host/StepLowering.h"
#include "compiler/emit/ExpandBf16.h"
#include "dialects/plan/Buffers.h"
#include "dialects/weir/CalledFunctions.h"
#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Target.h"
#include "mlir/Conversion/ComplexToLLVM/ComplexToLLVM.h"
#include "mlir/Conversion/ComplexToStandard/ComplexToStandard.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"
#include "passes/plan/FeedUpdates.h"
#include "passes/plan/LaunchWork.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace weir;

void weir::registerCpuDialects(DialectRegistry &registry) {
  registry.insert<cf::ControlFlowDialect, LLVM::LLVMDialect, vector::VectorDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

namespace {

/// Declares the C library's functions that elements call by name.
void declareLibm(ModuleOp module) {
  OpBuilder b(module.getContext());
  b.setInsertionPointToStart(module.getBody());
  module.walk([&](func::CallOp call) {
    if (!call->hasAttr("weir.libm"))
      return;
    if (!module.lookupSymbol(call.getCallee()))
      func::FuncOp::create(b, call.getLoc(), call.getCallee(), call.getCalleeType()).setPrivate();
    call->removeAttr("weir.libm");
  });
}

TensorInfo describeTensor(DictionaryAttr attributes, size_t index, StringRef fallback) {
  TensorInfo info;
  auto type = cast<RankedTensorType>(cast<TypeAttr>(attributes.get("type")).getValue());
  auto name = attributes.getAs<StringAttr>("weir.name");
  info.name = name ? name.str() : (fallback + std::to_string(index)).str();
  info.dtype = dtypeOf(type.getElementType());
  for (int64_t size : type.getShape())
    info.dims.push_back(ShapedType::isDynamic(size) ? -1 : size);
  if (auto names = attributes.getAs<ArrayAttr>("weir.dims"))
    for (auto [i, symbol] : llvm::enumerate(names))
      info.symbols.push_back(
          i < info.dims.size() && info.dims[i] < 0 ? cast<StringAttr>(symbol).str() : "");
  auto bounds = [&](StringRef key, std::vector<int64_t> &into) {
    if (auto values = attributes.getAs<ArrayAttr>(key))
      for (Attribute value : values)
        into.push_back(cast<IntegerAttr>(value).getInt());
    else if (auto dense = attributes.getAs<DenseI64ArrayAttr>(key))
      into.assign(dense.asArrayRef().begin(), dense.asArrayRef().end());
  };
  bounds("weir.lower", info.lower);
  bounds("weir.upper", info.upper);
  return info;
}

void describeCollectives(ModuleOp module, Program &program) {
  auto list = module->getAttrOfType<ArrayAttr>("weir_plan.host_collectives");
  for (Attribute attribute : list ? list.getValue() : ArrayRef<Attribute>()) {
    auto given = cast<DictionaryAttr>(attribute);
    auto numbers = [&](StringRef key) { return given.getAs<DenseI64ArrayAttr>(key).asArrayRef(); };
    CollectiveInfo info;
    info.node = given.getAs<StringAttr>("node").str();
    info.entry = given.getAs<StringAttr>("entry").str();
    info.kind = llvm::StringSwitch<int>(given.getAs<StringAttr>("way").getValue())
                    .Case("reduce_scatter", WEIR_REDUCE_SCATTER)
                    .Case("all_gather", WEIR_ALL_GATHER)
                    .Default(WEIR_ALL_REDUCE);
    info.reduction = llvm::StringSwitch<int>(given.getAs<StringAttr>("kind").getValue())
                         .Case("prod", WEIR_REDUCE_PROD)
                         .Case("max", WEIR_REDUCE_MAX)
                         .Case("min", WEIR_REDUCE_MIN)
                         .Default(WEIR_REDUCE_SUM);
    ArrayRef<int64_t> devices = numbers("devices"), inputs = numbers("inputs"),
                      outputs = numbers("outputs"), ring = numbers("ring"), up = numbers("up"),
                      down = numbers("down");
    for (size_t i = 0; i < devices.size(); ++i)
      info.ranks.push_back({int(devices[i]), int(inputs[i]), int(outputs[i]), int(ring[i]),
                            int(up[i]), int(down[i])});
    program.collectives.push_back(std::move(info));
  }
}

/// Devices, their arenas, and what they send each other.
void describeDevices(ModuleOp module, Program &program) {
  if (auto devices = module->getAttrOfType<ArrayAttr>("weir_plan.devices"))
    for (Attribute device : devices)
      program.devices.push_back({cast<StringAttr>(device).str()});
  else
    program.devices.push_back({"/device:CPU:0"});
  if (auto arenas = module->getAttrOfType<ArrayAttr>("weir_plan.arenas"))
    for (Attribute attribute : arenas) {
      auto arena = cast<DictionaryAttr>(attribute);
      auto number = [&](StringRef key) { return arena.getAs<IntegerAttr>(key).getInt(); };
      DeviceInfo &device = program.devices[number("device")];
      device.arenaBytes = number("bytes");
      device.lowerBound = number("bound");
    }
  if (auto edges = module->getAttrOfType<ArrayAttr>("weir_plan.edges"))
    for (Attribute attribute : edges) {
      auto edge = cast<DictionaryAttr>(attribute);
      program.edges.push_back({edge.getAs<StringAttr>("name").str(),
                               (int)edge.getAs<IntegerAttr>("source").getInt(),
                               (int)edge.getAs<IntegerAttr>("destination").getInt()});
    }
}

/// Whether all bytes of an initial value are zero, so that nobody needs to store them.
bool isAllZeroBytes(Attribute value) {
  auto dense = dyn_cast<DenseElementsAttr>(value);
  return dense && dense.isSplat() && !isa<DenseStringElementsAttr>(value) &&
         llvm::all_of(dense.getRawData(), [](char byte) { return byte == 0; });
}

void describeSlots(ModuleOp module, StepTables &tables) {
  Program &program = tables.program;
  if (auto frozen = module->getAttrOfType<IntegerAttr>(frozenAttribute))
    program.frozenVariables = int(frozen.getInt());
  auto slots = module->getAttrOfType<ArrayAttr>("weir_plan.slots");
  if (!slots)
    return;
  for (Attribute attribute : slots) {
    auto slot = cast<DictionaryAttr>(attribute);
    SlotInfo info;
    info.name = slot.getAs<StringAttr>("name").str();
    info.container = slot.getAs<StringAttr>("container").str();
    auto type = cast<TensorType>(slot.getAs<TypeAttr>("type").getValue());
    info.dtype = dtypeOf(type.getElementType());
    info.ranked = type.hasRank();
    if (info.ranked)
      for (int64_t size : type.getShape())
        info.dims.push_back(ShapedType::isDynamic(size) ? -1 : size);
    Attribute initial = slot.get("initial");
    info.startsAtZero = initial && isAllZeroBytes(initial);
    if (initial && !info.startsAtZero)
      info.initial = tables.blobIndex(initial);
    info.isCopy = slot.contains("copy");
    if (auto axis = slot.getAs<IntegerAttr>("shard"))
      info.shardAxis = int(axis.getInt());
    if (auto device = slot.getAs<IntegerAttr>("device"))
      info.device = int(device.getInt());
    program.slots.push_back(info);
  }
  if (auto state = module->getAttrOfType<StringAttr>("weir.state_device"))
    for (auto [i, device] : llvm::enumerate(program.devices))
      if (device.name == state.getValue())
        program.stateDevice = int(i);
}

/// Entries, and the steps that each of their devices takes.
void describeEntries(ModuleOp module, Program &program) {
  // One entry may have a step on several devices. What users do not see comes last.
  std::map<std::string, size_t> entryIndex;
  auto nameOfEntry = [](func::FuncOp function) {
    auto name = function->getAttrOfType<StringAttr>("weir.entry");
    return name ? name.str() : function.getSymName().str();
  };
  SmallVector<func::FuncOp> functions = llvm::to_vector(module.getOps<func::FuncOp>());
  std::stable_partition(functions.begin(), functions.end(), [&](func::FuncOp function) {
    return !isCalledFunction(nameOfEntry(function));
  });
  for (func::FuncOp function : functions) {
    auto feeds = function->getAttrOfType<ArrayAttr>("weir_plan.feeds");
    if (!feeds)
      continue;
    std::string name = nameOfEntry(function);
    auto [it, isNew] = entryIndex.try_emplace(name, program.entries.size());
    if (isNew) {
      EntryInfo entry;
      entry.name = name;
      entry.steps.resize(program.devices.size());
      entry.arenas.resize(program.devices.size());
      for (auto [i, feed] : llvm::enumerate(feeds))
        entry.feeds.push_back(describeTensor(cast<DictionaryAttr>(feed), i, "input"));
      auto fetches = function->getAttrOfType<ArrayAttr>("weir_plan.fetches");
      for (auto [i, fetch] : llvm::enumerate(fetches))
        entry.fetches.push_back(describeTensor(cast<DictionaryAttr>(fetch), i, "output"));
      program.entries.push_back(entry);
    }
    auto device = function->getAttrOfType<IntegerAttr>("weir.device_index");
    int64_t number = device ? device.getInt() : 0;
    std::string symbol = function.getSymName().str();
    if (auto over = function->getAttrOfType<DenseI64ArrayAttr>(plan::overFeedAttribute))
      program.entries[it->second].overFeed = over.asArrayRef().vec();
    if (auto bytes = function->getAttrOfType<IntegerAttr>(plan::entryArenaAttribute)) {
      int64_t &arena = program.entries[it->second].arenas[number];
      arena = std::max(arena, bytes.getInt());
    }
    // An accelerator's own step stands beside the host's, which does the same.
    if (!function->hasAttr("weir_plan.accelerated")) {
      program.entries[it->second].steps[number] = symbol;
      continue;
    }
    for (AcceleratorInfo &accelerator : program.accelerators)
      if (accelerator.device == number) {
        accelerator.steps.resize(it->second + 1);
        accelerator.steps[it->second] = symbol;
      }
  }
}

/// Buffers with a place in an arena.
void describeBuffers(ModuleOp module, StepTables &tables) {
  int step = -1;
  for (auto function : module.getOps<func::FuncOp>()) {
    auto device = function->getAttrOfType<IntegerAttr>("weir.device_index");
    int64_t position = 0;
    ++step;
    if (function->hasAttr("weir_plan.accelerated"))
      continue;
    function.walk([&](Operation *op) {
      ++position;
      auto buffer = dyn_cast<plan::BufferOp>(op);
      if (!buffer)
        return;
      auto type = cast<MemRefType>(buffer.getType());
      BufferInfo info;
      info.node = tables.nodeOf(op);
      info.device = device ? device.getInt() : 0;
      info.bytes = type.getNumElements() * elementBytes(type.getElementType());
      info.offset = buffer.getOffset().value_or(0);
      info.step = step;
      info.firstUse = info.lastUse = position;
      if (auto lives = op->getAttrOfType<DenseI64ArrayAttr>("lives")) {
        info.firstUse = lives[0];
        info.lastUse = lives[1];
      }
      tables.program.buffers.push_back(info);
    });
  }
}

/// What the module's attributes and functions say of the program.
void describeProgram(ModuleOp module, StepTables &tables) {
  describeDevices(module, tables.program);
  describeSlots(module, tables);
  describeCollectives(module, tables.program);
  describeEntries(module, tables.program);
  describeBuffers(module, tables);
}

/// Work and traffic of a launch, -1 where sizes are known only at run time.
void measureKernel(plan::KernelOp kernel, ArrayRef<DepthFirstStage> stages, KernelInfo &info) {
  info.flops = 0;
  auto addFlops = [&](CostOpInterface op) {
    int64_t flops = op.getFlops();
    info.flops = info.flops < 0 || flops < 0 ? -1 : info.flops + flops;
  };
  kernel.getBody().walk(addFlops);
  for (DepthFirstStage stage : stages)
    stage.kernel.getBody().walk(addFlops);
  info.bytes = 0;
  auto count = [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    info.bytes = info.bytes < 0 || !tensor || !tensor.hasStaticShape()
                     ? -1
                     : info.bytes + tensor.getNumElements() * elementBytes(tensor.getElementType());
  };
  for (BlockArgument input : kernel.getBody().getArguments())
    count(input.getType());
  for (Value result : kernel.getBody().front().getTerminator()->getOperands())
    count(result.getType());
}

/// What observers are told of a launch. Sizes that are open come with it, those of its operands
/// before those of its results.
void describeResults(plan::KernelOp kernel, KernelInfo &info) {
  Block &body = kernel.getBody().front();
  int size = 0;
  for (BlockArgument operand : body.getArguments())
    if (auto tensor = dyn_cast<RankedTensorType>(operand.getType()))
      size += int(tensor.getNumDynamicDims());
  std::vector<KernelInfo::Result> results;
  ArrayAttr extents = kernel.getExtentsAttr();
  info.operands = int(body.getNumArguments());
  for (Value value : body.getTerminator()->getOperands()) {
    auto tensor = dyn_cast<RankedTensorType>(value.getType());
    // Lines that are stored apart from each other are no tensor of the caller's.
    llvm::ArrayRef<int64_t> stored =
        extents ? cast<DenseI64ArrayAttr>(extents[info.operands + results.size()]).asArrayRef()
                : llvm::ArrayRef<int64_t>();
    if (!tensor || tensor.getRank() > WEIR_MAX_RANK ||
        (!stored.empty() && stored != tensor.getShape()))
      return;
    KernelInfo::Result result;
    result.elementBytes = elementBytes(tensor.getElementType());
    result.node = nodeName(value.getLoc()).str();
    result.dtype = dtypeOf(tensor.getElementType());
    for (int64_t dim : tensor.getShape()) {
      bool isOpen = ShapedType::isDynamic(dim);
      result.dims.push_back(isOpen ? -1 : dim);
      result.sizes.push_back(isOpen ? size++ : -1);
    }
    results.push_back(std::move(result));
  }
  info.results = std::move(results);
}

/// The ranges of kernels that always run over all of it at once, because it is known
/// and no longer than a grain: their loops need neither rests nor checks. Where the run makes
/// the grain of what there is to do (workAttribute), nothing is known.
llvm::StringMap<std::optional<int64_t>> wholeRanges(ModuleOp module) {
  llvm::StringMap<std::optional<int64_t>> ranges;
  module.walk([&](plan::RunOp run) {
    std::optional<int64_t> range = getConstantIntValue(run.getRange());
    if (range && (run->hasAttr(plan::workAttribute) || *range > int64_t(run.getGrain())))
      range = std::nullopt;
    auto [known, isNew] = ranges.try_emplace(run.getKernel(), range);
    if (known->second != range)
      known->second = std::nullopt;
  });
  return ranges;
}

/// The dialects of the operations inside of one.
llvm::StringSet<> dialectsOf(Operation *within) {
  llvm::SmallPtrSet<Dialect *, 16> found;
  llvm::StringSet<> names;
  within->walk([&](Operation *op) {
    Dialect *dialect = op->getDialect();
    if (dialect && found.insert(dialect).second)
      names.insert(dialect->getNamespace());
  });
  return names;
}

/// Kernels that only chains launch.
llvm::StringSet<> onlyStages(ModuleOp module) {
  llvm::StringSet<> stages;
  module.walk([&](plan::LaunchOp launch) { stages.insert(launch.getKernel()); });
  module.walk([&](plan::RunOp run) { stages.erase(run.getKernel()); });
  return stages;
}

std::string symbolOf(StringRef prefix, StringRef kernel) {
  std::string symbol = (prefix + "_k_" + kernel).str();
  for (char &c : symbol)
    if (!llvm::isAlnum(c))
      c = '_';
  return symbol;
}

/// Makes the kernels' rows of the program.
class KernelRows {
public:
  KernelRows(ModuleOp module, StringRef prefix)
      : prefix(prefix), inner(onlyStages(module)), symbols(module) {
    module.walk([&](plan::RunOp run) { ++launches[run.getKernel()]; });
  }

  /// Of a kernel that only chains launch, which has no row.
  bool isInner(plan::KernelOp kernel) const { return inner.contains(kernel.getSymName()); }
  SmallVector<DepthFirstStage> stagesOf(plan::KernelOp kernel) const {
    SmallVector<DepthFirstStage> stages;
    for (auto launch : kernel.getBody().getOps<plan::LaunchOp>())
      stages.push_back({launch, symbols.lookup<plan::KernelOp>(launch.getKernel()),
                        symbolOf(prefix, launch.getKernel())});
    return stages;
  }
  KernelInfo rowOf(plan::KernelOp kernel, ArrayRef<DepthFirstStage> stages) const {
    KernelInfo info;
    info.name = kernel.getSymName().str();
    info.nodes = kernel.getNodes().str();
    info.symbol = symbolOf(prefix, kernel.getSymName());
    measureKernel(kernel, stages, info);
    describeResults(kernel, info);
    info.launches = launches.lookup(kernel.getSymName());
    return info;
  }

private:
  StringRef prefix;
  llvm::StringSet<> inner;
  llvm::StringMap<int64_t> launches;
  SymbolTable symbols;
};

/// Functions for the kernels, and their rows of the program.
LogicalResult emitKernels(ModuleOp module, StringRef prefix, SiteTable &sites, StepTables &tables) {
  std::vector<KernelInfo> &rows = tables.program.kernels;
  auto whole = wholeRanges(module);
  KernelRows make(module, prefix);
  for (auto kernel : llvm::to_vector(module.getOps<plan::KernelOp>())) {
    if (make.isInner(kernel)) {
      std::string symbol = symbolOf(prefix, kernel.getSymName());
      if (failed(emitKernel(kernel, symbol, std::nullopt, sites)))
        return failure();
      continue;
    }
    SmallVector<DepthFirstStage> stages = make.stagesOf(kernel);
    tables.kernelIndex[kernel.getSymName()] = rows.size();
    rows.push_back(make.rowOf(kernel, stages));
    const std::string symbol = rows.back().symbol;
    tables.kernelSymbol[kernel.getSymName()] = symbol;
    if (!stages.empty())
      emitDepthFirst(kernel, symbol, stages, sites);
    else if (failed(emitKernel(kernel, symbol, whole.lookup(kernel.getSymName()), sites)))
      return failure();
  }
  return success();
}

/// Gives passes over functions several threads for as long as it lives. A context has none
/// otherwise: the process may fork, and lets nobody wait then who is not there any more.
class PassThreads {
public:
  PassThreads(MLIRContext *context, unsigned jobs) : context(context) {
    if (jobs > 1)
      context->setThreadPool(pool.emplace(llvm::hardware_concurrency(jobs)));
  }
  PassThreads(const PassThreads &) = delete;
  ~PassThreads() {
    if (pool)
      context->disableMultithreading();
  }

private:
  MLIRContext *context;
  std::optional<llvm::DefaultThreadPool> pool;
};

/// What emitters wrote, simplified, without loops and conditionals that are regions.
LogicalResult simplifyKernels(ModuleOp module, const llvm::TargetMachine *machine) {
  llvm::StringSet<> dialects = dialectsOf(module);
  PassManager passes(module.getContext());
  passes.enableVerifier(false);
  // Emitters leave no blocks to merge or to take away.
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  // Functions are of two dialects.
  OpPassManager &each = passes.nestAny();
  each.addPass(createCanonicalizerPass(config));
  each.addPass(createCSEPass());
  each.addPass(createLoopInvariantCodeMotionPass());
  bool scalesVectors = machine && machine->getTargetTriple().isX86() &&
                       machine->getTargetFeatureString().contains("+avx512vl");
  passes.addPass(createApproximateMath(scalesVectors));
  // A pass costs a walk over all there is, even where it finds nothing.
  if (dialects.contains("complex"))
    passes.addPass(createConvertComplexToStandardPass());
  passes.nestAny().addPass(createSCFToControlFlowPass());
  return passes.run(module);
}

/// All of it into LLVM's dialect.
LogicalResult convertToLlvm(ModuleOp module) {
  MLIRContext *context = module.getContext();
  // Steps alone have memrefs.
  PassManager metadata(context, func::FuncOp::getOperationName());
  metadata.enableVerifier(false);
  metadata.addPass(memref::createExpandStridedMetadataPass());
  for (auto function : llvm::to_vector(module.getOps<func::FuncOp>()))
    if (dialectsOf(function).contains("memref") && failed(metadata.run(function)))
      return failure();

  llvm::StringSet<> dialects = dialectsOf(module);
  PassManager passes(context);
  passes.enableVerifier(false);
  if (hasMathFunctions(module)) {
    passes.addPass(createConvertMathToLLVMPass());
    passes.addPass(createConvertMathToLibmPass());
  }
  if (dialects.contains("complex"))
    passes.addPass(createConvertComplexToLLVMPass());
  passes.nestAny().addPass(createConvertBodies());
  passes.addPass(createConvertFuncToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  if (failed(passes.run(module)))
    return failure();
  // The way down leaves what was said of a loop where LLVM's dialect has no look.
  module.walk([](LLVM::BrOp branch) {
    if (auto said = branch->getAttrOfType<LLVM::LoopAnnotationAttr>("llvm.loop_annotation"))
      branch.setLoopAnnotationAttr(said);
  });
  return success();
}

/// What the target and the options say of functions.
void finishFunctions(llvm::Module &module, const CpuOptions &options) {
  if (options.machine) {
    module.setDataLayout(options.machine->createDataLayout());
    module.setTargetTriple(options.machine->getTargetTriple());
    expandBf16(module, *options.machine);
  }
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    if (function.getName().ends_with(".body"))
      function.addFnAttr(llvm::Attribute::AlwaysInline);
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.addFnAttr(llvm::Attribute::NoUnwind);
    if (options.sanitizeAddress)
      function.addFnAttr(llvm::Attribute::SanitizeAddress);
  }
}

} // namespace

void weir::describeCpu(ModuleOp module, StringRef prefix, Program &program) {
  SiteTable sites(program.sites);
  StepTables tables(sites, program);
  program.name = prefix.str();
  describeProgram(module, tables);
  KernelRows make(module, prefix);
  for (auto kernel : module.getOps<plan::KernelOp>())
    if (!make.isInner(kernel))
      program.kernels.push_back(make.rowOf(kernel, make.stagesOf(kernel)));
  module.walk([&](plan::BlobOp blob) {
    if (!isa<DenseStringElementsAttr>(blob.getValue()))
      tables.blobOffset(blob.getValue());
  });
}

std::unique_ptr<llvm::Module> weir::generateCpu(ModuleOp module, const CpuOptions &options,
                                                llvm::LLVMContext &llvmContext, Program &program) {
  SiteTable sites(program.sites);
  program.name = options.prefix;
  StepTables tables(sites, program);
  // Step functions take the model's prefix: two models may share entry names.
  for (auto function : llvm::to_vector(module.getOps<func::FuncOp>()))
    if (function->hasAttr("weir_plan.feeds")) {
      std::string symbol = symbolOf(options.prefix + "_step", function.getSymName());
      function.setSymName(symbol);
      function->setAttr("llvm.linkage",
                        LLVM::LinkageAttr::get(module.getContext(), LLVM::Linkage::Internal));
    }
  describeProgram(module, tables);
  declareRuntime(module, options.otherFunctions);
  if (failed(emitKernels(module, options.prefix, sites, tables)))
    return nullptr;
  declareLibm(module);
  SmallVector<plan::KernelOp> kernels(module.getOps<plan::KernelOp>());
  // Launches name kernels by symbol; the bodies are no longer needed, but the
  // symbols are until steps are lowered. They take no part in the passes below.
  OwningOpRef<ModuleOp> parked = ModuleOp::create(module.getLoc());
  for (plan::KernelOp kernel : kernels)
    kernel->moveBefore(parked->getBody(), parked->getBody()->end());
  PassThreads threads(module.getContext(), options.jobs);
  if (failed(simplifyKernels(module, options.machine)) ||
      failed(lowerSteps(module, tables, options.otherSteps)) || failed(convertToLlvm(module)))
    return nullptr;
  if (options.haveConstants)
    options.haveConstants();

  if (!options.debugFile.empty())
    addNodeLines(module, options.debugFile, *options.nodeLines);
  std::unique_ptr<llvm::Module> result =
      translateModuleToLLVMIR(module, llvmContext, options.prefix);
  if (!result) {
    module.emitError("the lowered module does not translate to LLVM IR");
    return nullptr;
  }
  tables.fillStringTables(*result);
  tables.launches.fill(*result);
  finishFunctions(*result, options);
  return result;
}
