//===- CudaPhases.cpp - launches that are phases of one -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A decoder's step is a row of small kernels that need each other: what a launch costs is
// more than what most of them compute. One kernel, whose blocks are all on the GPU at the
// same time, does them as phases, with a barrier of all blocks in between:
//
//   run a        __global__ phases(error, barrier, words, table)
//   run b   ─▶     for each entry of the table:       tiles | words | phase, then parameters
//   run c            switch (phase) { a: for (tile = block; tile < tiles; tile += blocks) … }
//                    wait for all blocks
//
// What the phases are is data, so one kernel serves all layers of a network, and all rows of
// launches of a step. Which launches follow each other the runtime sees when they are noted
// (runtime/cuda/phases.cpp); here the functions are chosen that rows of a step are made of,
// where launches are expected to take longer than barriers (DeviceFacts.h).
//
// Data that one phase writes and another reads is ordered by the barrier, which releases and
// acquires at the GPU's scope; so nothing is read by the path for what never changes
// (ld.global.nc), as functions read that know their operands by parameters of their own.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaPhases.h"
#include "compiler/codegen/cuda/CudaRoofline.h"
#include "compiler/codegen/cuda/DeviceFacts.h"
#include "compiler/codegen/cuda/LibraryKernels.h"
#include "dialects/weir/OperationFacts.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "weir/cuda.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include <cstddef>

using namespace mlir;
using namespace weir;
using namespace weir::plan;

namespace {

/// Threads of a block, and how many of them a multiprocessor is to have room for: a thread has up
/// to 168 registers then, and what is under way in memory is three times what it takes.
constexpr int64_t blockThreads = 128, blocksEach = 3;
/// Words of the table: with the other parameters less than the 4 KiB that a launch has.
constexpr int64_t tableWords = 480;
constexpr int64_t mostShared = 32 << 10, mostOperations = 60000;
constexpr StringLiteral tableAttribute = "weir.phase_table";

/// A kernel of the plan, or one of the kernels that do its work.
struct Member {
  std::string function;    ///< of the image
  mutable KernelOp kernel; ///< MLIR's handles know no const; null: several
  int64_t threads = 1;
};

int64_t sharedBytesOf(gpu::GPUFuncOp function) {
  int64_t bytes = 0;
  for (BlockArgument memory : function.getWorkgroupAttributions()) {
    auto type = cast<MemRefType>(memory.getType());
    bytes += type.getNumElements() * elementBytes(type.getElementType());
  }
  return bytes;
}

bool meets(gpu::GPUFuncOp function) {
  return function.getNumWorkgroupAttributions() > 0 ||
         function.walk([](gpu::BarrierOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

class Phases {
public:
  Phases(ModuleOp module, const llvm::StringMap<LaunchShape> &launches, gpu::GPUModuleOp image,
         SiteTable &sites, bool tf32, std::vector<std::string> &names, FusedKernels &fused)
      : module(module), symbols(module), launches(launches), image(image), sites(sites), tf32(tf32),
        names(names), fused(fused) {
    size_t number = 0;
    for (auto kernel : module.getOps<KernelOp>())
      numbers[kernel.getSymName()] = number++;
  }

  void alongStep(func::FuncOp step) {
    SmallVector<Block *> blocks;
    step.walk([&](Block *block) { blocks.push_back(block); });
    for (Block *block : blocks)
      alongBlock(*block);
  }

  void emit() {
    if (chosen.empty())
      return;
    FusedKernel kernel;
    for (const Member &member : chosen)
      kernel.phases.push_back(member.function);
    for (StringRef member : nodesOf)
      kernel.members.push_back(member.str());
    kernel.name = "phases_of_" + std::to_string(kernel.phases.size());
    kernel.threads = blockThreads;
    for (StringRef member : longest)
      kernel.row.push_back(member.str());
    kernel.launches = std::max<int64_t>(1, llvm::divideCeil(longestWords, tableWords));
    std::string symbol = "k" + std::to_string(names.size() + 1) + "_" + kernel.name;
    emitFunction(symbol);
    kernel.number = int32_t(names.size());
    names.push_back(symbol);
    fused.push_back(std::move(kernel));
  }

private:
  gpu::GPUFuncOp functionOf(StringRef name) { return image.lookupSymbol<gpu::GPUFuncOp>(name); }

  /// Whether a function may be a phase: registers and memory that blocks share are as many as the
  /// one that wants most has.
  bool isFit(const Member &member) {
    auto known = fit.find(member.function);
    if (known != fit.end())
      return known->second;
    gpu::GPUFuncOp function = functionOf(member.function);
    bool good = function && llvm::hasSingleElement(function.getBody()) &&
                member.threads % warpThreads == 0 &&
                (blockThreads % member.threads == 0 || member.threads % blockThreads == 0) &&
                sharedBytesOf(function) <= mostShared / 4;
    // Barriers are of all threads of a block: others are emitted anew, for as many as there are.
    if (good && meets(function) && member.threads != blockThreads)
      good = member.kernel && member.threads > blockThreads &&
             launches.find(member.kernel.getSymName())->second.axes.size() == 1 &&
             isWholeLine(member.kernel);
    constexpr int64_t most = 4000;
    int64_t operations = 0;
    if (good)
      function.walk([&](Operation *op) {
        ++operations;
        // Warps' products are tiles', which take long; assembly counts threads of its own.
        good &= !isa<gpu::GridDimOp, LLVM::InlineAsmOp, LLVM::AddressOfOp>(op) &&
                op->getName().getDialectNamespace() != "nvvm";
      });
    good &= operations <= most;
    sizes[member.function] = operations;
    return fit[member.function] = good;
  }

  /// Whether a block has one line at a time, however many threads it has: reductions, and what is
  /// computed at an element for little.
  static bool isWholeLine(KernelOp kernel) {
    bool reduces = false;
    for (Operation &op : kernel.getBody().front()) {
      if (isa<ReduceOp, ArgReduceOp>(op)) {
        reduces = true;
        continue;
      }
      auto elemental = dyn_cast<ElementalOpInterface>(op);
      if (op.hasTrait<weir::traits::KernelAnchor>() ||
          (elemental && elemental.isElementExpensive()))
        return false;
    }
    return reduces;
  }

  /// What a launch is expected to take on an H100 beside being launched; 0: not known.
  double microsecondsOf(ArrayRef<KernelOp> kernels) const {
    std::optional<KernelForecast> made = forecast(kernels, tf32);
    if (!made)
      return 0;
    for (const auto &device : made->devices)
      if (StringRef(device.device) == "H100")
        return device.microseconds - cuda::launchMicroseconds;
    return 0;
  }

  /// The functions that do a launch's work, one after the other, or others in their place; empty:
  /// it is no phase.
  SmallVector<Member> membersOf(RunOp run) {
    SmallVector<Member> members;
    SmallVector<KernelOp> kernels;
    if (auto list = run->getAttrOfType<ArrayAttr>(fusedLaunchesAttribute)) {
      const FusedKernel &kernel = fusedKernelOf(fused, list);
      for (const std::string &name : kernel.members)
        kernels.push_back(symbols.lookup<KernelOp>(name));
      members.push_back({names[size_t(kernel.number)], KernelOp(), kernel.threads});
    } else {
      auto kernel = symbols.lookup<KernelOp>(run.getKernel());
      auto at = launches.find(run.getKernel());
      if (!kernel || at == launches.end() || at->second.sort)
        return {};
      kernels.push_back(kernel);
      const LaunchShape &shape = at->second;
      Member whole = {names[numbers.lookup(run.getKernel())], kernel, shape.threads};
      if (shape.parts) {
        members.push_back({shape.parts->part, KernelOp(), shape.parts->threads});
        members.push_back({shape.parts->join, KernelOp(), shape.parts->joinThreads});
      } else {
        members.push_back(std::move(whole));
      }
    }
    bool good = cuda::gainsAsPhase(microsecondsOf(kernels)) &&
                llvm::all_of(members, [&](const Member &each) { return isFit(each); });
    return good ? members : SmallVector<Member>();
  }

  void alongBlock(Block &block) {
    SmallVector<Member> row;
    SmallVector<RunOp> runs;
    // Turns of a loop that the host counts follow each other.
    bool isBody = isa<scf::WhileOp, scf::ForOp>(block.getParentOp());
    auto close = [&] {
      if (int64_t(row.size()) >= (isBody ? 2 : cuda::leastPhases()))
        choose(row, runs);
      row.clear();
      runs.clear();
    };
    for (Operation &op : block) {
      if (auto run = dyn_cast<RunOp>(op)) {
        SmallVector<Member> members = membersOf(run);
        if (members.empty()) {
          close();
          continue;
        }
        llvm::append_range(row, members);
        runs.push_back(run);
      } else if (op.getNumRegions() > 0 ||
                 isa<plan::CopyOp, plan::StoreOp, plan::AllReduceOp>(op)) {
        close();
      }
    }
    close();
  }

  void choose(ArrayRef<Member> row, ArrayRef<RunOp> runs) {
    int64_t operations = total, bytes = shared;
    llvm::StringSet<> counted;
    for (const Member &member : row)
      if (!taken.contains(member.function) && counted.insert(member.function).second) {
        operations += sizes.lookup(member.function);
        bytes += sharedBytesOf(functionOf(member.function));
      }
    if (operations > mostOperations || bytes > mostShared)
      return;
    for (const Member &member : row)
      if (taken.insert(member.function).second)
        chosen.push_back(member);
    total = operations;
    shared = bytes;
    int64_t words = 0;
    for (const Member &member : row)
      words += functionOf(member.function).getFunctionType().getNumInputs();
    SmallVector<StringRef> kernels;
    for (RunOp run : runs) {
      auto list = run->getAttrOfType<ArrayAttr>(fusedLaunchesAttribute);
      if (!list) {
        kernels.push_back(run.getKernel());
        continue;
      }
      for (auto member : list.getAsRange<FlatSymbolRefAttr>())
        kernels.push_back(member.getValue());
    }
    nodesOf.insert(kernels.begin(), kernels.end());
    if (words > longestWords) {
      longestWords = words;
      longest = std::move(kernels);
    }
  }

  void emitFunction(StringRef symbol) {
    MLIRContext *context = image.getContext();
    OpBuilder b(context);
    b.setInsertionPointToEnd(image.getBody());
    loc = image.getLoc();
    Type pointer = LLVM::LLVMPointerType::get(context), i64 = b.getI64Type();
    auto function = gpu::GPUFuncOp::create(b, loc, symbol,
                                           b.getFunctionType({pointer, pointer, i64, pointer}, {}));
    function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
    function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), b.getI32IntegerAttr(blocksEach));
    function->setAttr(tableAttribute, b.getI64IntegerAttr(tableWords));
    function.setKnownBlockSizeAttr(b.getDenseI32ArrayAttr({int32_t(blockThreads), 1, 1}));
    Block &entry = function.getBody().front();
    b.setInsertionPointToStart(&entry);
    error = entry.getArgument(0);
    barrier = entry.getArgument(1);
    Value words = entry.getArgument(2);
    table = entry.getArgument(3);
    block = gpu::BlockIdOp::create(b, loc, gpu::Dimension::x);
    thread = gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x);
    blocks = gpu::GridDimOp::create(b, loc, gpu::Dimension::x);
    auto loop = scf::WhileOp::create(b, loc, TypeRange{i64}, ValueRange{number(b, 0)});
    Block *before = b.createBlock(&loop.getBefore(), {}, {i64}, {loc});
    Value isLeft =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, before->getArgument(0), words);
    scf::ConditionOp::create(b, loc, isLeft, before->getArguments());
    Block *body = b.createBlock(&loop.getAfter(), {}, {i64}, {loc});
    Value at = body->getArgument(0), head = wordAt(b, at);
    auto bits = [&](int64_t shift, int64_t width) -> Value {
      Value shifted = arith::ShRUIOp::create(b, loc, head, number(b, shift));
      return arith::AndIOp::create(b, loc, shifted, number(b, (int64_t(1) << width) - 1));
    };
    Value phase = arith::IndexCastOp::create(b, loc, b.getIndexType(), bits(0, 16)),
          tiles = arith::IndexCastOp::create(b, loc, b.getIndexType(), bits(32, 31));
    SmallVector<int64_t> cases = llvm::to_vector(llvm::seq<int64_t>(0, int64_t(chosen.size())));
    auto choice = scf::IndexSwitchOp::create(b, loc, TypeRange(), phase, cases, cases.size());
    for (auto [member, region] : llvm::zip(chosen, choice.getCaseRegions())) {
      OpBuilder inner = OpBuilder::atBlockEnd(&region.emplaceBlock());
      emitPhase(inner, member, at, tiles);
      scf::YieldOp::create(inner, loc);
    }
    OpBuilder other = OpBuilder::atBlockEnd(&choice.getDefaultRegion().emplaceBlock());
    scf::YieldOp::create(other, loc);
    Value next = arith::AddIOp::create(b, loc, at,
                                       arith::AddIOp::create(b, loc, bits(16, 16), number(b, 1)));
    Value isMore = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, next, words);
    auto branch = scf::IfOp::create(b, loc, isMore, /*withElseRegion=*/false);
    OpBuilder inner(branch.getThenRegion().front().getTerminator());
    meetBlocks(inner);
    scf::YieldOp::create(b, loc, ValueRange{next});
    b.setInsertionPointToEnd(&entry);
    gpu::ReturnOp::create(b, loc);
  }

  Value number(OpBuilder &b, int64_t value) {
    return arith::ConstantIntOp::create(b, loc, b.getI64Type(), value);
  }
  Value index(OpBuilder &b, int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }
  Value wordAt(OpBuilder &b, Value at) {
    Value where = LLVM::GEPOp::create(b, loc, table.getType(), b.getI64Type(), table,
                                      ArrayRef<LLVM::GEPArg>{at});
    return LLVM::LoadOp::create(b, loc, b.getI64Type(), where, /*alignment=*/8);
  }

  /// The function that a phase is made of, and whether it goes behind that.
  std::pair<gpu::GPUFuncOp, bool> sourceOf(const Member &member) {
    gpu::GPUFuncOp function = functionOf(member.function);
    if (!meets(function) || member.threads == blockThreads)
      return {function, false};
    std::string name = member.function + "_phase";
    LaunchShape shape =
        emitCudaKernel(member.kernel, name, image, sites, {}, nullptr, blockThreads);
    assert(shape.threads == blockThreads && "a line is a block's");
    return {functionOf(name), true};
  }

  void emitPhase(OpBuilder &b, const Member &member, Value at, Value tiles) {
    auto [function, isOwn] = sourceOf(member);
    bool together = meets(function);
    auto global = LLVM::LLVMPointerType::get(b.getContext(), 1);
    SmallVector<Value> arguments{error};
    ArrayRef<Type> types = function.getFunctionType().getInputs();
    for (auto [i, type] : llvm::enumerate(types.drop_front())) {
      Value word = wordAt(b, arith::AddIOp::create(b, loc, at, number(b, int64_t(i) + 1)));
      if (isa<LLVM::LLVMPointerType>(type))
        word = LLVM::AddrSpaceCastOp::create(b, loc, type,
                                             LLVM::IntToPtrOp::create(b, loc, global, word));
      arguments.push_back(word);
    }
    // Of kernels whose threads do not meet beyond a warp, any warp has any warp's work.
    int64_t threads = together ? blockThreads : member.threads;
    Value rounds = tiles;
    if (threads < blockThreads)
      rounds = arith::CeilDivUIOp::create(b, loc, tiles, index(b, blockThreads / threads));
    if (threads > blockThreads)
      rounds = arith::MulIOp::create(b, loc, tiles, index(b, threads / blockThreads));
    auto loop = scf::ForOp::create(b, loc, block, rounds, blocks);
    OpBuilder inner(loop.getBody()->getTerminator());
    Value tile = loop.getInductionVar(), own = thread;
    if (threads != blockThreads) {
      Value all = arith::AddIOp::create(
          inner, loc, arith::MulIOp::create(inner, loc, tile, index(inner, blockThreads)), thread);
      tile = arith::DivUIOp::create(inner, loc, all, index(inner, threads));
      own = arith::RemUIOp::create(inner, loc, all, index(inner, threads));
    }
    OpBuilder most = inner;
    if (threads < blockThreads) {
      Value exists = arith::CmpIOp::create(inner, loc, arith::CmpIPredicate::ult, tile, tiles);
      auto branch = scf::IfOp::create(inner, loc, exists, /*withElseRegion=*/false);
      most = OpBuilder(branch.getThenRegion().front().getTerminator());
    }
    inlineKernel(most, function, arguments, tile, own);
    // The next tile writes the memory that this one's threads read.
    if (together)
      gpu::BarrierOp::create(inner, loc);
    if (isOwn)
      function.erase();
  }

  /// Waits for all blocks of the launch. Each adds to one word: the first block so much that all
  /// together turn its highest bit over, and leave the rest as it was; so the word serves the next
  /// barrier, and the next launch, as it is. What a block has written before, its threads having
  /// met, is released by the one that adds, and acquired by the one that sees the bit.
  void meetBlocks(OpBuilder &b) {
    Type i32 = b.getI32Type();
    Value count = arith::IndexCastOp::create(b, loc, i32, blocks);
    Value least = arith::ConstantIntOp::create(b, loc, i32, int64_t(INT32_MIN) + 1);
    Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, block, index(b, 0));
    Value added =
        arith::SelectOp::create(b, loc, isFirst, arith::SubIOp::create(b, loc, least, count),
                                arith::ConstantIntOp::create(b, loc, i32, 1));
    constexpr StringLiteral text = "{\n"
                                   ".reg .pred w_p;\n"
                                   ".reg .b32 w_before, w_now;\n"
                                   "bar.sync 0;\n"
                                   "setp.ne.u32 w_p, $2, 0;\n"
                                   "@w_p bra $$w_met_${:uid};\n"
                                   "atom.acq_rel.gpu.global.add.u32 w_before, [$0], $1;\n"
                                   "$$w_again_${:uid}:\n"
                                   "ld.acquire.gpu.global.u32 w_now, [$0];\n"
                                   "xor.b32 w_now, w_now, w_before;\n"
                                   "setp.lt.s32 w_p, w_now, 0;\n"
                                   "@w_p bra $$w_met_${:uid};\n"
                                   "nanosleep.u32 20;\n"
                                   "bra $$w_again_${:uid};\n"
                                   "$$w_met_${:uid}:\n"
                                   "bar.sync 0;\n"
                                   "}";
    Value own = arith::IndexCastOp::create(b, loc, i32, thread);
    LLVM::InlineAsmOp::create(b, loc, TypeRange(), ValueRange{barrier, added, own}, text,
                              "l,r,r,~{memory}", /*has_side_effects=*/true,
                              /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
                              LLVM::AsmDialectAttr(), /*operand_attrs=*/ArrayAttr());
  }

  ModuleOp module;
  SymbolTable symbols;
  const llvm::StringMap<LaunchShape> &launches;
  gpu::GPUModuleOp image;
  SiteTable &sites;
  bool tf32;
  std::vector<std::string> &names;
  FusedKernels &fused;
  llvm::StringMap<size_t> numbers;
  llvm::StringMap<bool> fit;
  llvm::StringMap<int64_t> sizes; ///< operations of functions
  std::vector<Member> chosen;     ///< by phase
  llvm::StringSet<> taken;
  llvm::SetVector<StringRef> nodesOf; ///< kernels of the plan
  SmallVector<StringRef> longest;     ///< row, as kernels of the plan
  int64_t longestWords = 0;           ///< of tables
  int64_t total = 0, shared = 0;
  // Of the function that is emitted.
  Location loc = UnknownLoc::get(image.getContext());
  Value error, barrier, table, block, thread, blocks;
};

} // namespace

void weir::formPhases(ArrayRef<func::FuncOp> steps, ModuleOp module,
                      const llvm::StringMap<LaunchShape> &launches, gpu::GPUModuleOp image,
                      SiteTable &sites, bool tf32, std::vector<std::string> &names,
                      FusedKernels &fused) {
  Phases phases(module, launches, image, sites, tf32, names, fused);
  for (func::FuncOp step : steps)
    phases.alongStep(step);
  phases.emit();
}

void weir::passTablesByValue(gpu::GPUModuleOp module) {
  OpBuilder b(module.getContext());
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    auto words = function->getAttrOfType<IntegerAttr>(tableAttribute);
    if (!words)
      continue;
    unsigned last = function.getNumArguments() - 1;
    auto type = LLVM::LLVMArrayType::get(b.getI64Type(), uint64_t(words.getInt()));
    function.setArgAttr(last, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(type));
    function.setArgAttr(last, LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(8));
    function.setArgAttr(last, NVVM::NVVMDialect::getGridConstantAttrName(), b.getUnitAttr());
    function->removeAttr(tableAttribute);
  }
}

std::vector<AcceleratorInfo::Record> weir::listPhased(const FusedKernels &fused,
                                                      ArrayRef<std::string> names) {
  std::vector<AcceleratorInfo::Record> records;
  for (const FusedKernel &kernel : fused) {
    if (kernel.phases.empty())
      continue;
    weir_cuda_phased desc = {};
    desc.size = sizeof(desc);
    desc.kernel = kernel.number;
    desc.threads = int32_t(kernel.threads);
    desc.words = int32_t(tableWords);
    desc.least = cuda::leastPhases();
    std::vector<AcceleratorInfo::Record> phases;
    for (const std::string &function : kernel.phases) {
      auto at = llvm::find(names, function);
      assert(at != names.end() && "all functions of the image have names");
      weir_cuda_phase phase = {int32_t(at - names.begin()), 0};
      phases.push_back(numbersOf(phase, sizeof(phase)));
    }
    static_assert(offsetof(weir_cuda_phased, phases) + 16 == sizeof(weir_cuda_phased));
    records.push_back(numbersOf(desc, offsetof(weir_cuda_phased, phases)));
    records.back().pointers = {std::move(phases)};
  }
  return records;
}
