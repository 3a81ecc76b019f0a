//===- GenerateCuda.cpp - GPU code of a planned module ---- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaCodegen.h"
#include "compiler/codegen/cuda/CudaLineFold.h"
#include "compiler/codegen/cuda/CudaPhases.h"
#include "compiler/codegen/cuda/CudaRoofline.h"
#include "compiler/codegen/cuda/CudaSort.h"
#include "compiler/codegen/cuda/CudaStep.h"
#include "compiler/codegen/cuda/CudaWarpGroups.h"
#include "compiler/codegen/cuda/CudaWideAttention.h"
#include "compiler/codegen/cuda/CudaWideGemm.h"
#include "compiler/codegen/cuda/DirectEdges.h"
#include "compiler/codegen/cuda/KernelListing.h"
#include "compiler/codegen/cuda/LibraryKernels.h"
#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ComplexToLLVM/ComplexToLLVM.h"
#include "mlir/Conversion/ComplexToStandard/ComplexToStandard.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/analysis/ScalarForm.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include <cstddef>

using namespace mlir;
using namespace weir;

void weir::registerCudaDialects(DialectRegistry &registry) {
  registry.insert<gpu::GPUDialect, NVVM::NVVMDialect>();
  // convert-gpu-to-nvvm takes other dialects' patterns from them.
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  registerConvertComplexToLLVMInterface(registry);
  registerConvertFuncToLLVMInterface(registry);
  registerConvertMathToLLVMInterface(registry);
  registerConvertMemRefToLLVMInterface(registry);
  registerGPUDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

/// Functions of the C library are libdevice's here.
static void useLibdevice(gpu::GPUModuleOp module) {
  OpBuilder b(module.getContext());
  module.walk([&](func::CallOp call) {
    if (!call->hasAttr("weir.libm"))
      return;
    std::string name = "__nv_" + call.getCallee().str();
    if (!module.lookupSymbol(name)) {
      b.setInsertionPointToStart(module.getBody());
      func::FuncOp::create(b, call.getLoc(), name, call.getCalleeType()).setPrivate();
    }
    call.setCallee(name);
    call->removeAttr("weir.libm");
  });
}

/// The buffer that a chain of views looks at.
static Operation *rootOf(Value buffer) {
  while (auto view = buffer.getDefiningOp<plan::ViewOp>())
    buffer = view.getSource();
  return buffer.getDefiningOp();
}

/// Marks what a step reads in host memory: few integers that were received, and
/// constants. Nothing else may be read by the step itself.
static LogicalResult markHostReads(func::FuncOp step) {
  auto isHostReceive = [](Operation *op) {
    auto receive = dyn_cast_or_null<plan::ReceiveOp>(op);
    if (!receive || !receive.getResult())
      return false;
    auto type = cast<MemRefType>(receive.getResult().getType());
    return plan::isScalarForm(RankedTensorType::get(type.getShape(), type.getElementType()));
  };
  Attribute unit = UnitAttr::get(step.getContext());
  LogicalResult result = success();
  SmallVector<Operation *> guards;
  step.walk([&](Operation *op) {
    if (isHostReceive(op))
      op->setAttr("weir.host", unit);
    if (auto free = dyn_cast<plan::FreeOp>(op); free && isHostReceive(rootOf(free.getBuffer())))
      op->setAttr("weir.host", unit);
    if (auto library = dyn_cast<plan::LibraryOp>(op)) {
      // Guards around buffers are the host's, which cannot look at the GPU's.
      if (library.getCallee() == "weir_kernel_guard_buffer")
        guards.push_back(op);
      else
        result = library.emitError()
                 << "its step on the GPU would have to call " << library.getCallee()
                 << "; possible: the node on a CPU, by --placement";
      return;
    }
    auto load = dyn_cast<plan::LoadOp>(op);
    // The GPU reads itself what it decides.
    if (!load || load->hasAttr(conditionAttribute))
      return;
    Operation *root = rootOf(load.getBuffer());
    if (auto blob = dyn_cast_or_null<plan::BlobOp>(root)) {
      OpBuilder b(load);
      auto copy =
          plan::BlobOp::create(b, blob.getLoc(), load.getBuffer().getType(), blob.getValue());
      copy->setAttr("weir.host", unit);
      load.getBufferMutable().assign(copy);
      return;
    }
    if (isHostReceive(root))
      return;
    load.emitError() << "its step on the GPU would have to read a value from the "
                        "GPU's memory; possible: the node on a CPU, by --placement";
    result = failure();
  });
  for (Operation *guard : guards)
    guard->erase();
  return result;
}

static LogicalResult lowerKernels(gpu::GPUModuleOp module, const CudaOptions &options) {
  auto log = [&](StringRef what) {
    if (!options.log)
      return;
    std::string text;
    llvm::raw_string_ostream os(text);
    module.print(os);
    options.log(what, ".mlir", text);
  };
  MLIRContext *context = module.getContext();
  auto run = [&](PassManager &passes) {
    passes.enableVerifier(false);
    return passes.run(module);
  };
  PassManager first(context, gpu::GPUModuleOp::getOperationName());
  first.addPass(createCanonicalizerPass());
  first.addPass(createCSEPass());
  first.addPass(createLoopInvariantCodeMotionPass());
  if (failed(run(first)))
    return failure();
  log("gpu");
  PassManager second(context, gpu::GPUModuleOp::getOperationName());
  second.addPass(createConvertComplexToStandardPass());
  second.addPass(createSCFToControlFlowPass());
  second.addPass(createConvertComplexToLLVMPass());
  ConvertGpuOpsToNVVMOpsOptions nvvm;
  nvvm.indexBitwidth = 64;
  second.addPass(createConvertGpuOpsToNVVMOps(nvvm));
  second.addPass(createConvertMathToLLVMPass());
  second.addPass(createArithToLLVMConversionPass());
  second.addPass(createReconcileUnrealizedCastsPass());
  second.addPass(createCSEPass());
  if (failed(run(second)))
    return failure();
  log("nvvm");
  return success();
}

/// Which nodes each kernel of the image serves, and what libraries may do.
static std::string listKernels(ModuleOp module, const AcceleratorInfo &info,
                               const LaunchTable &launches, const FusedKernels &fused,
                               const LibraryKernels &libraries) {
  std::string text;
  llvm::raw_string_ostream os(text);
  int32_t number = 0;
  for (auto kernel : module.getOps<plan::KernelOp>()) {
    const std::string &symbol = info.kernels[size_t(number)];
    if (!symbol.empty())
      os << symbol << ": " << kernel.getNodes() << '\n';
    if (auto it = launches.find(kernel.getSymName()); it != launches.end()) {
      const LaunchShape &shape = it->second;
      if (shape.parts)
        os << "  or by parts of the keys: " << shape.parts->part << ", " << shape.parts->join
           << '\n';
      if (shape.split)
        os << "  or by parts of lines: " << shape.split->part << ", " << shape.split->join << '\n';
      if (shape.sort)
        os << "  behind " << shape.sort->run << ", " << shape.sort->merge << ", "
           << shape.sort->merges << '\n';
    }
    libraries.list(os, number++);
  }
  for (const FusedKernel &kernel : fused)
    if (kernel.phases.empty())
      os << info.kernels[size_t(kernel.number)] << ": all of " << kernel.name << '\n';
    else
      os << info.kernels[size_t(kernel.number)] << ": phases " << llvm::join(kernel.phases, ", ")
         << '\n';
  return text;
}

/// Tells of each kernel the functions that do its work: those that its number begins, and those of
/// kernels that it is a part of.
static void tellCode(ModuleOp module, const FusedKernels &fused, const CudaOptions &options,
                     ArrayRef<std::string> ptx, ArrayRef<std::string> cubins, StringRef log) {
  std::map<size_t, SmallVector<std::string>> kernels; // by number
  size_t number = 0;
  for (auto kernel : module.getOps<plan::KernelOp>())
    kernels[number++].push_back(kernel.getSymName().str());
  for (const FusedKernel &kernel : fused) {
    auto &names = kernels[size_t(kernel.number)];
    names.push_back(kernel.name);
    names.append(kernel.members.begin(), kernel.members.end());
  }
  for (auto [i, architecture] : llvm::enumerate(options.architectures)) {
    DeviceKernels functions = readPtx(ptx[i], architecture.name());
    addAssemblerFigures(log, functions);
    addMachineCode(disassembleCubin(cubins[i]), functions);
    for (auto &[name, function] : functions) {
      StringRef rest = name;
      size_t of = 0;
      if (!rest.consume_front("k") || rest.consumeInteger(10, of) || !rest.starts_with("_"))
        continue; // of the program, as that which waits for other kernels
      for (const std::string &kernel : kernels[of - 1])
        options.code(kernel, function);
    }
  }
}

/// Where the host stands in for the GPU there is no other memory to copy to, but the
/// plan has given the bytes to others all the same: each value that was copied out
/// lies in memory of its own until it was copied back for the last time.
static void swapWithinHost(func::FuncOp step) {
  SmallVector<Operation *> swaps;
  step.walk([&](Operation *op) {
    if (isa<plan::SwapOutOp, plan::SwapInOp, plan::AwaitSwapOp>(op))
      swaps.push_back(op);
  });
  DenseMap<Value, Value> saved; // what a token stands for
  for (Operation *op : swaps) {
    OpBuilder b(op);
    if (auto out = dyn_cast<plan::SwapOutOp>(op)) {
      Value memory = plan::AllocOp::create(b, op->getLoc(), out.getValue().getType(), ValueRange());
      plan::CopyOp::create(b, op->getLoc(), out.getValue(), memory);
      Operation *last = op;
      for (Operation *user : out.getSaved().getUsers())
        if (isa<plan::SwapInOp>(user) && last->isBeforeInBlock(user))
          last = user;
      b.setInsertionPointAfter(last);
      plan::FreeOp::create(b, op->getLoc(), memory);
      saved[out.getSaved()] = memory;
    } else if (auto in = dyn_cast<plan::SwapInOp>(op)) {
      plan::CopyOp::create(b, op->getLoc(), saved.lookup(in.getSaved()), in.getTarget());
    }
  }
  for (Operation *op : llvm::reverse(swaps))
    op->erase();
}

/// Where the host stands in for GPUs it reduces the other way, on one of them.
static void reduceWithinHost(func::FuncOp step) {
  step.walk([](Operation *op) {
    if (isa<plan::HasCollectiveOp>(op)) {
      OpBuilder b(op);
      op->getResult(0).replaceAllUsesWith(
          arith::ConstantOp::create(b, op->getLoc(), b.getBoolAttr(false)).getResult());
    }
    if (isa<plan::HasCollectiveOp, plan::AllReduceOp, plan::AwaitReduceOp>(op))
      op->erase();
  });
}

/// Says what the kernels that fuse others should take.
static void forecastFused(ModuleOp module, const FusedKernels &fused, const CudaOptions &options) {
  if (!options.forecast)
    return;
  for (const FusedKernel &kernel : fused) {
    SmallVector<plan::KernelOp> members;
    for (const std::string &member : kernel.phases.empty() ? kernel.members : kernel.row)
      members.push_back(module.lookupSymbol<plan::KernelOp>(member));
    if (auto made = forecast(members, options.tf32, kernel.launches))
      options.forecast(kernel.name, std::move(*made));
  }
}

/// Kernels that take parts of others' work come behind these.
static void nameParts(LaunchTable &launches, ModuleOp module, AcceleratorInfo &info) {
  auto add = [&](const std::string &name) {
    info.kernels.push_back(name);
    return int32_t(info.kernels.size()) - 1;
  };
  for (auto kernel : module.getOps<plan::KernelOp>()) {
    auto it = launches.find(kernel.getSymName());
    if (it == launches.end())
      continue;
    LaunchShape &shape = it->second;
    if (shape.parts) {
      shape.parts->partNumber = add(shape.parts->part);
      shape.parts->joinNumber = add(shape.parts->join);
    }
    if (shape.split) {
      shape.split->partNumber = add(shape.split->part);
      shape.split->joinNumber = add(shape.split->join);
    }
    if (shape.sort) {
      shape.sort->runNumber = add(shape.sort->run);
      shape.sort->mergeNumber = add(shape.sort->merge);
      shape.sort->mergesNumber = add(shape.sort->merges);
    }
  }
}

/// What GPUs compute together, by number: the same for all of them.
static std::vector<AcceleratorInfo::Record> listCollectives(ModuleOp module) {
  std::vector<AcceleratorInfo::Record> records;
  if (auto list = module->getAttrOfType<ArrayAttr>("weir_plan.collectives"))
    for (auto entry : list.getAsRange<DictionaryAttr>()) {
      weir_cuda_collective desc = {};
      desc.size = sizeof(desc);
      desc.dtype = dtypeOf(entry.getAs<TypeAttr>("element").getValue());
      desc.reduction = llvm::StringSwitch<int32_t>(entry.getAs<StringAttr>("kind").getValue())
                           .Case("sum", WEIR_CUDA_SUM)
                           .Case("prod", WEIR_CUDA_PROD)
                           .Case("max", WEIR_CUDA_MAX)
                           .Default(WEIR_CUDA_MIN);
      desc.receiver = int32_t(entry.getAs<IntegerAttr>("receiver").getInt()) + 1;
      for (int64_t device : entry.getAs<DenseI64ArrayAttr>("devices").asArrayRef())
        desc.devices |= uint64_t(1) << device;
      records.push_back(numbersOf(desc, offsetof(weir_cuda_collective, node)));
      records.back().pointers = {entry.getAs<StringAttr>("node").getValue().str()};
    }
  return records;
}

/// The weir_cuda_record of an image, field by field.
static AcceleratorInfo::Record recordOf(const LibraryKernels &libraries,
                                        std::vector<AcceleratorInfo::Record> wideProducts,
                                        std::vector<AcceleratorInfo::Record> collectives,
                                        std::vector<AcceleratorInfo::Record> phased,
                                        const std::string &assign) {
  static_assert(offsetof(weir_cuda_record, assign) + 8 == sizeof(weir_cuda_record));
  weir_cuda_record head = {};
  head.size = sizeof(head);
  head.version = WEIR_CUDA_RECORD_VERSION;
  AcceleratorInfo::Record record = numbersOf(head, offsetof(weir_cuda_record, products));
  std::vector<AcceleratorInfo::Record> products, convolutions, poolings, attentions;
  libraries.addRecords(products, convolutions, poolings, attentions);
  record.pointers = {products,
                     convolutions,
                     poolings,
                     attentions,
                     std::move(wideProducts),
                     std::move(collectives),
                     std::move(phased),
                     assign};
  return record;
}

/// The steps of `kind`'s devices in a second form, which the devices work by; what they are made
/// from becomes the host's.
static FailureOr<SmallVector<func::FuncOp>> addSecondForms(MutableArrayRef<func::FuncOp> steps) {
  SmallVector<func::FuncOp> copies;
  OpBuilder b(steps.front().getContext());
  for (func::FuncOp step : steps) {
    b.setInsertionPointAfter(step);
    auto copy = cast<func::FuncOp>(b.clone(*step));
    copy.setSymName((step.getSymName() + "__cuda").str());
    copy->setAttr("weir_plan.accelerated", b.getUnitAttr());
    if (failed(markHostReads(copy)))
      return failure();
    dropPaddings(copy);
    keepValues(copy);
    noteBothSides(copy);
    copies.push_back(copy);
    swapWithinHost(step);
    reduceWithinHost(step);
  }
  return copies;
}

namespace {

/// The kernels of a module for GPUs, in all of their forms.
class KernelForms {
public:
  KernelForms(gpu::GPUModuleOp image, SiteTable &sites, const CudaOptions &options,
              LaunchTable &launches, AcceleratorInfo &info)
      : libraries(image, sites, options), image(image), sites(sites), options(options),
        launches(launches), info(info),
        hasSpecific(llvm::any_of(options.architectures,
                                 [](const auto &each) { return each.isSpecific; })) {}

  /// The next of the plan's kernels; those that no step launches have a number alone.
  void add(plan::KernelOp kernel, bool isLaunched) {
    info.kernels.emplace_back();
    if (!isLaunched)
      return;
    std::string symbol =
        "k" + std::to_string(info.kernels.size()) + "_" + kernel.getSymName().str();
    for (char &c : symbol)
      if (!llvm::isAlnum(c))
        c = '_';
    info.kernels.back() = symbol;
    OwningOpRef<plan::KernelOp> own = withoutPadding(kernel);
    plan::KernelOp plain = own ? *own : kernel;
    if (options.forecast)
      if (auto made = forecast(plain, options.tf32))
        options.forecast(kernel.getSymName(), std::move(*made));
    int64_t elements = 1;
    OwningOpRef<plan::KernelOp> words = asWords(kernel, elements);
    auto sorts = kernel.getBody().front().getOps<TopKOp>();
    bool isLong = !sorts.empty() && isLongSort(*sorts.begin());
    LaunchShape &shape = launches[kernel.getSymName()] =
        isLong ? emitLongSort(kernel, symbol, image, sites)
               : emitCudaKernel(words ? *words : plain, symbol, image, sites);
    // A step counts elements.
    if (words)
      shape.axes.back().divisor *= elements;
    emitAttentionParts(plain, symbol, image, sites, shape);
    emitSplitLines(kernel, symbol, image, sites, shape);
    if (hasSpecific)
      addSpecific(plain, symbol);
    if (!shape.beatsLibraries)
      libraries.add(plain, int32_t(info.kernels.size()) - 1, symbol, shape.beatsLibraryAndRest);
  }

  LibraryKernels libraries;
  std::vector<AcceleratorInfo::Record> wideProducts;
  std::vector<std::string> specific; ///< functions for architectures that are

private:
  /// The form for architectures whose warps multiply in groups, where the kernel has one.
  void addSpecific(plan::KernelOp kernel, const std::string &symbol) {
    std::optional<WideKernel> wide = emitWideProduct(kernel, symbol, image, sites);
    if (!wide)
      wide = emitWideAttention(kernel, symbol, image, sites);
    if (!wide)
      return;
    wide->desc.kernel = int32_t(info.kernels.size()) - 1;
    specific.push_back(wide->name);
    LibraryKernels::Arrangement arrangement;
    if (wide->filter)
      arrangement = libraries.arrangementOf(kernel, wide->filter);
    wide->desc.arrange_blocks = arrangement.blocks;
    wide->desc.arrange_threads = arrangement.threads;
    static_assert(offsetof(weir_cuda_wide_kernel, name) + 16 == sizeof(weir_cuda_wide_kernel));
    wideProducts.push_back(numbersOf(wide->desc, offsetof(weir_cuda_wide_kernel, name)));
    wideProducts.back().pointers = {wide->name, arrangement.name};
  }

  gpu::GPUModuleOp image;
  SiteTable &sites;
  const CudaOptions &options;
  LaunchTable &launches;
  AcceleratorInfo &info;
  bool hasSpecific; ///< whether code is made for such an architecture
};

} // namespace

/// The image of all architectures, of kernels that are in LLVM's dialect; empty: an error was
/// reported.
static std::string imageOf(ModuleOp module, gpu::GPUModuleOp kernels, const CudaOptions &options,
                           const FusedKernels &fused, ArrayRef<std::string> specific) {
  auto fail = [&](llvm::Error error) {
    // A number in front of it is kept.
    emitError(UnknownLoc::get(module.getContext())) << llvm::toString(std::move(error));
    return std::string();
  };
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> code =
      translateModuleToLLVMIR(kernels, llvmContext, options.prefix);
  if (!code) {
    module.emitError("the GPU's kernels do not translate to LLVM IR");
    return "";
  }
  if (llvm::Error error = targetCuda(*code))
    return fail(std::move(error));
  if (llvm::Error error = linkLibdevice(*code))
    return fail(std::move(error));
  std::vector<std::string> ptx;
  for (const CudaArchitecture &architecture : options.architectures) {
    auto text = toPtx(*code, architecture, options.optLevel, specific);
    if (!text)
      return fail(text.takeError());
    if (options.log)
      options.log(architecture.name(), ".ptx", *text);
    ptx.push_back(std::move(*text));
  }
  std::string report;
  std::vector<std::string> cubins;
  auto image = assemble(options.architectures, ptx, report, options.code ? &cubins : nullptr);
  if (options.log)
    options.log("ptxas", ".txt", report);
  if (!image)
    return fail(image.takeError());
  if (options.code)
    tellCode(module, fused, options, ptx, cubins, report);
  if (options.log) {
    std::string code = disassemble(*image);
    options.log("sass", ".txt", code.empty() ? "found no cuobjdump of the CUDA toolkit\n" : code);
  }
  return std::move(*image);
}

FailureOr<StepRewriterFactory> weir::generateCuda(ModuleOp module, const DeviceKind &kind,
                                                  const CudaOptions &options, Program &program) {
  SmallVector<func::FuncOp> steps;
  llvm::SmallSetVector<int64_t, 4> devices;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function->hasAttr("weir_plan.feeds") || kindAround(function) != &kind)
      continue;
    steps.push_back(function);
    devices.insert(function->getAttrOfType<IntegerAttr>("weir.device_index").getInt());
  }
  if (steps.empty())
    return StepRewriterFactory();
  FailureOr<SmallVector<func::FuncOp>> copies = addSecondForms(steps);
  if (failed(copies))
    return failure();
  llvm::StringSet<> launched;
  for (func::FuncOp copy : *copies)
    copy.walk([&](plan::RunOp run) { launched.insert(run.getKernel()); });

  // The kernels, in a module of their own.
  OwningOpRef<ModuleOp> outer = ModuleOp::create(module.getLoc());
  OpBuilder b = OpBuilder::atBlockBegin(outer->getBody());
  auto kernels = gpu::GPUModuleOp::create(b, module.getLoc(), options.prefix);
  SiteTable sites(program.sites);
  auto launches = std::make_shared<LaunchTable>();
  AcceleratorInfo info;
  info.driver = "weir_cuda_driver";
  KernelForms forms(kernels, sites, options, *launches, info);
  for (auto kernel : module.getOps<plan::KernelOp>())
    forms.add(kernel, launched.contains(kernel.getSymName()));
  // Launches are fused when places are known that fetches may have over feeds.
  std::vector<AcceleratorInfo> places(devices.size());
  for (auto [place, device] : llvm::zip(places, devices))
    place.device = int(device);
  listDirectEdges(module, places);
  placeDirectFetches(module, places);
  auto fused = std::make_shared<FusedKernels>(
      fuseLaunches(*copies, module, *launches, kernels, info.kernels));
  formPhases(*copies, module, *launches, kernels, sites, options.tf32, info.kernels, *fused);
  forecastFused(module, *fused, options);
  nameParts(*launches, module, info);
  useLibdevice(kernels);
  std::string assign = emitAssignKernel(kernels, steps);
  if (failed(lowerKernels(kernels, options)))
    return failure();
  warp_groups::passMapsByValue(kernels);
  passTablesByValue(kernels);

  info.image = imageOf(module, kernels, options, *fused, forms.specific);
  if (info.image.empty())
    return failure();
  if (options.log)
    options.log("kernels", ".txt", listKernels(module, info, *launches, *fused, forms.libraries));
  info.record = recordOf(forms.libraries, forms.wideProducts, listCollectives(module),
                         listPhased(*fused, info.kernels), assign);
  for (const AcceleratorInfo &place : places) {
    info.device = place.device;
    info.direct = place.direct;
    program.accelerators.push_back(info);
  }
  return StepRewriterFactory(
      [launches, fused, &kind](func::FuncOp function,
                               StepTables &tables) -> std::unique_ptr<StepRewriter> {
        if (!function->hasAttr("weir_plan.accelerated") || kindAround(function) != &kind)
          return nullptr;
        return std::make_unique<CudaStepRewriter>(function, tables, *launches, *fused);
      });
}
