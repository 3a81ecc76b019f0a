//===- MachineCode.cpp - from LLVM IR to object bytes ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/MachineCode.h"
#include "compiler/emit/ExpandBf16.h"
#include "compiler/emit/KernelPasses.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/Instrumentation/AddressSanitizer.h"

using namespace weir;

void weir::setTargetAttributes(llvm::Module &module, const CodeTarget &target) {
  // Red zones around globals only serve where a constructor registers them.
  if (target.sanitizeAddress)
    for (llvm::GlobalVariable &variable : module.globals()) {
      llvm::GlobalValue::SanitizerMetadata metadata;
      metadata.NoAddress = true;
      variable.setSanitizerMetadata(metadata);
    }
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    // Only what the runtime can check for is ever on: the baseline processor,
    // and features by name.
    function.addFnAttr("target-cpu", target.cpu);
    if (!target.features.empty())
      function.addFnAttr("target-features", target.features);
    if (!target.tuneCpu.empty())
      function.addFnAttr("tune-cpu", target.tuneCpu);
    if (target.preferVectorBits && !function.hasFnAttribute("prefer-vector-width"))
      function.addFnAttr("prefer-vector-width", std::to_string(target.preferVectorBits));
    if (target.sanitizeAddress)
      function.addFnAttr(llvm::Attribute::SanitizeAddress);
  }
}

static llvm::OptimizationLevel optimizationLevel(int level) {
  switch (level) {
  case 0:
    return llvm::OptimizationLevel::O0;
  case 1:
    return llvm::OptimizationLevel::O1;
  case 2:
    return llvm::OptimizationLevel::O2;
  default:
    return llvm::OptimizationLevel::O3;
  }
}

/// The one lane that a constant mask lets through, if it is one.
static std::optional<unsigned> onlyLane(llvm::Value *mask) {
  auto *constant = llvm::dyn_cast<llvm::Constant>(mask);
  auto *type = llvm::dyn_cast<llvm::FixedVectorType>(mask->getType());
  if (!constant || !type)
    return std::nullopt;
  std::optional<unsigned> found;
  for (unsigned i = 0; i < type->getNumElements(); ++i) {
    llvm::Constant *lane = constant->getAggregateElement(i);
    if (!lane || lane->isNullValue() || llvm::isa<llvm::UndefValue>(lane))
      continue;
    if (found)
      return std::nullopt;
    found = i;
  }
  return found;
}

/// Makes masked stores of one lane stores of an element. LLVM's selection of instructions does so,
/// too, but joins what narrows the elements with the store before, and then writes the wide
/// element, over what lies behind it (llvm/llvm-project#179489; LLVM 22 has the fault). To be done
/// behind all passes, since loops that are unrolled make masks constant.
static void storeOnlyLanesAlone(llvm::Module &module) {
  llvm::SmallVector<std::pair<llvm::IntrinsicInst *, unsigned>> stores;
  for (llvm::Function &function : module)
    for (llvm::BasicBlock &block : function)
      for (llvm::Instruction &instruction : block) {
        auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
        if (!call || call->getIntrinsicID() != llvm::Intrinsic::masked_store)
          continue;
        if (std::optional<unsigned> lane = onlyLane(call->getArgOperand(2)))
          stores.push_back({call, *lane});
      }
  for (auto [call, lane] : stores) {
    llvm::IRBuilder<> b(call);
    llvm::Value *element = b.CreateExtractElement(call->getArgOperand(0), uint64_t(lane));
    llvm::Type *type = element->getType();
    llvm::Value *where = b.CreateConstInBoundsGEP1_64(type, call->getArgOperand(1), lane);
    uint64_t bytes = module.getDataLayout().getTypeStoreSize(type);
    llvm::StoreInst *store = b.CreateAlignedStore(
        element, where, commonAlignment(call->getParamAlign(1).valueOrOne(), lane * bytes));
    store->setAAMetadata(call->getAAMetadata());
    call->eraseFromParent();
  }
}

namespace {

/// The analyses that passes share, and what builds passes.
struct PassRun {
  explicit PassRun(llvm::TargetMachine &machine)
      : builder(&machine, llvm::PipelineTuningOptions(), std::nullopt, &callbacks) {
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);
  }

  void runStandard(llvm::Module &module, int level, bool sanitizeAddress);

  llvm::PassInstrumentationCallbacks callbacks;
  llvm::PassBuilder builder;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
};

/// Keeps the search for other induction variables, and what it needs to know of all addresses, from
/// code that has none but counters: it asks of each of a tile's hundreds of addresses, and finds
/// that they are at constant distances.
class VectorCodePasses : public llvm::legacy::PassManagerBase {
public:
  explicit VectorCodePasses(llvm::legacy::PassManagerBase &passes) : passes(passes) {}

  void add(llvm::Pass *pass) override {
    if (pass->getPassName() == "Loop Strength Reduction")
      delete pass;
    else
      passes.add(pass);
  }

private:
  llvm::legacy::PassManagerBase &passes;
};

} // namespace

void PassRun::runStandard(llvm::Module &module, int level, bool sanitizeAddress) {
  if (sanitizeAddress)
    builder.registerOptimizerLastEPCallback(
        [](llvm::ModulePassManager &passes, llvm::OptimizationLevel, llvm::ThinOrFullLTOPhase) {
          // No constructor: the program that links the object brings the
          // sanitizer up, and globals are not instrumented.
          passes.addPass(llvm::AddressSanitizerPass(
              llvm::AddressSanitizerOptions(), /*UseGlobalGC=*/true,
              /*UseOdrIndicator=*/false, llvm::AsanDtorKind::None, llvm::AsanCtorKind::None));
        });
  llvm::OptimizationLevel wanted = optimizationLevel(level);
  llvm::ModulePassManager passes = level == 0 ? builder.buildO0DefaultPipeline(wanted)
                                              : builder.buildPerModuleDefaultPipeline(wanted);
  passes.run(module, modules);
}

/// What instructions ask for that LLVM 22 has no right code for.
static void legalize(llvm::Module &module, llvm::TargetMachine &machine) {
  expandBf16(module, machine);
  defineBf16Rounding(module, machine);
  storeOnlyLanesAlone(module);
}

void weir::optimize(llvm::Module &module, llvm::TargetMachine &machine, int level,
                    bool sanitizeAddress) {
  PassRun(machine).runStandard(module, level, sanitizeAddress);
  legalize(module, machine);
}

bool weir::optimizeKernels(llvm::Module &module, llvm::TargetMachine &machine, int level,
                           bool sanitizeAddress) {
  if (level == 0 || sanitizeAddress) {
    optimize(module, machine, level, sanitizeAddress);
    return false;
  }
  PassRun run(machine);
  llvm::ModulePassManager inlining;
  inlining.addPass(llvm::AlwaysInlinerPass(/*InsertLifetime=*/false));
  inlining.addPass(llvm::GlobalDCEPass());
  inlining.run(module, run.modules);

  bool isQuick = level == 1;
  llvm::FunctionPassManager ofVectors = isQuick ? quickKernelPasses() : vectorKernelPasses();
  llvm::FunctionPassManager ofLoops = isQuick ? quickKernelPasses() : loopKernelPasses();
  llvm::SmallPtrSet<const llvm::Function *, 4> done;
  bool areInVectors = true, isAll = true, anyVectors = llvm::any_of(module, isVectorKernel);
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    bool isInVectors = isVectorKernel(function) || (anyVectors && hasNoFloats(function));
    areInVectors &= isInVectors;
    // Steps that wait are coroutines, which passes of the module cut into parts.
    if (function.isPresplitCoroutine()) {
      isAll = false;
      continue;
    }
    (isInVectors ? ofVectors : ofLoops).run(function, run.functions);
    done.insert(&function);
  }
  if (!isAll) {
    run.callbacks.registerShouldRunOptionalPassCallback(
        [&](llvm::StringRef, llvm::Any unit) { return !done.contains(functionOf(unit)); });
    run.modules.invalidate(module, llvm::PreservedAnalyses::none());
    run.runStandard(module, level, sanitizeAddress);
  }
  legalize(module, machine);
  return areInVectors;
}

struct ObjectWriter::Passes {
  Passes() : stream(object) {}

  llvm::SmallVector<char, 0> object; ///< the one that is being written
  llvm::raw_svector_ostream stream;
  llvm::legacy::PassManager passes;
};

/// The passes that write machine code of `machine` to `stream`.
static llvm::Error addPasses(llvm::legacy::PassManager &passes, llvm::TargetMachine &machine,
                             llvm::raw_pwrite_stream &stream, llvm::CodeGenFileType type,
                             bool inVectors) {
  VectorCodePasses ofVectors(passes);
  llvm::legacy::PassManagerBase &wanted = passes;
  if (machine.addPassesToEmitFile(inVectors ? ofVectors : wanted, stream, nullptr, type))
    return llvm::createStringError("LLVM cannot write files for " +
                                   machine.getTargetTriple().str());
  return llvm::Error::success();
}

ObjectWriter::ObjectWriter(llvm::TargetMachine &machine) : machine(machine) {}
ObjectWriter::~ObjectWriter() = default;

llvm::Error ObjectWriter::write(llvm::Module &module, llvm::SmallVectorImpl<char> &out,
                                bool inVectors) {
  std::unique_ptr<Passes> &own = inVectors ? ofVectors : ofAll;
  if (!own) {
    own = std::make_unique<Passes>();
    if (llvm::Error error = addPasses(own->passes, machine, own->stream,
                                      llvm::CodeGenFileType::ObjectFile, inVectors)) {
      own.reset();
      return error;
    }
  }
  own->object.clear();
  own->passes.run(module);
  out.assign(own->object.begin(), own->object.end());
  return llvm::Error::success();
}

llvm::Error weir::generateMachineCode(llvm::Module &module, llvm::TargetMachine &machine,
                                      llvm::CodeGenFileType type,
                                      llvm::SmallVectorImpl<char> &out) {
  llvm::raw_svector_ostream stream(out);
  llvm::legacy::PassManager passes;
  if (llvm::Error error = addPasses(passes, machine, stream, type, /*inVectors=*/false))
    return error;
  passes.run(module);
  return llvm::Error::success();
}
