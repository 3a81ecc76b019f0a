//===- Target.cpp - the processor that code is generated for --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Target.h"

#include "compiler/driver/Messages.h"
#include "weir/abi.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/bit.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"

#include <mutex>

using namespace weir;
using namespace weir::driver;

namespace {

struct Feature {
  const char *name; ///< LLVM's
  uint64_t bit;     ///< the runtime's
};

// What LLVM may use to compute. Features of other kinds (keys, random numbers,
// tiles that the kernel has to be asked for) would only make an object refuse
// machines that could run it. SSE4.2 stands for all before it.
constexpr Feature features[] = {
    {"sse3", 0},
    {"ssse3", 0},
    {"sse4.1", 0},
    {"sse4.2", WEIR_CPU_SSE42},
    {"popcnt", WEIR_CPU_POPCNT},
    {"avx", WEIR_CPU_AVX},
    {"avx2", WEIR_CPU_AVX2},
    {"fma", WEIR_CPU_FMA},
    {"f16c", WEIR_CPU_F16C},
    {"bmi", WEIR_CPU_BMI1},
    {"bmi2", WEIR_CPU_BMI2},
    {"lzcnt", WEIR_CPU_LZCNT},
    {"movbe", WEIR_CPU_MOVBE},
    {"gfni", WEIR_CPU_GFNI},
    {"avxvnni", WEIR_CPU_AVX_VNNI},
    {"avxvnniint8", WEIR_CPU_AVX_VNNI_INT8},
    {"avxneconvert", WEIR_CPU_AVX_NE_CONVERT},
};

constexpr const char *avx512Base[] = {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"};

constexpr Feature avx512Features[] = {
    {"avx512vnni", WEIR_CPU_AVX512_VNNI},     {"avx512bf16", WEIR_CPU_AVX512_BF16},
    {"avx512fp16", WEIR_CPU_AVX512_FP16},     {"avx512ifma", WEIR_CPU_AVX512_IFMA},
    {"avx512vbmi", WEIR_CPU_AVX512_VBMI},     {"avx512vbmi2", WEIR_CPU_AVX512_VBMI2},
    {"avx512bitalg", WEIR_CPU_AVX512_BITALG}, {"avx512vpopcntdq", WEIR_CPU_AVX512_VPOPCNTDQ},
};

} // namespace

std::string driver::usableFeatures(const llvm::StringMap<bool> &has, uint64_t &bits) {
  std::string text;
  bits = 0;
  auto add = [&](const char *name, uint64_t bit) {
    if (!has.lookup(name))
      return;
    text += (text.empty() ? "+" : ",+") + std::string(name);
    bits |= bit;
  };
  // Without SSE4.2 there is nothing that stands for what came before it.
  if (has.lookup("sse4.2"))
    for (const Feature &feature : features)
      add(feature.name, feature.bit);
  bool wide = has.lookup("avx2") &&
              llvm::all_of(avx512Base, [&](const char *name) { return has.lookup(name); });
  if (wide) {
    for (const char *name : avx512Base)
      add(name, WEIR_CPU_AVX512);
    for (const Feature &feature : avx512Features)
      add(feature.name, feature.bit);
  }
  return text;
}

/// How many times as many products a cycle as FMA the processor makes by VDPBF16PS, in tenths;
/// `weir-bench gemm` tells of the machine that it runs on. Where it is no more than one, as
/// where two ports that add a product each share one that adds two, f32 has the same speed
/// without rounding. Of processors that are not listed nothing is known.
struct BrainRate {
  llvm::StringLiteral cpu;
  int tenths;
};
static constexpr BrainRate brainRates[] = {
    {"znver4", 20},
    {"znver5", 20},
};

static bool gainsByBrainPairs(llvm::StringRef cpu) {
  return llvm::any_of(brainRates,
                      [&](const BrainRate &rate) { return rate.cpu == cpu && rate.tenths > 10; });
}

/// Processors with AVX-512 whose first-level cache has 48 KiB, in sets of twelve ways: the others
/// have 32 KiB, of eight.
static constexpr llvm::StringLiteral twelveWays[] = {
    "icelake-client", "icelake-server", "tigerlake",       "rocketlake", "sapphirerapids",
    "emeraldrapids",  "graniterapids",  "graniterapids-d", "znver5",
};

/// Processors with AVX-512 whose units have 32 bytes: they compute vectors of 64 in two passes.
static constexpr llvm::StringLiteral passesOfHalves[] = {"znver4"};

static void initializeLlvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeAArch64AsmParser();
  });
}

/// Armv8-A as every processor of 64 bits has it, NEON included: nothing more can
/// be asked for, since the runtime checks for nothing more.
static bool selectArm(const Options &options, DiagnosticSink &sink, Target &target) {
  if (!options.cpu.empty() && options.cpu != "native" && options.cpu != "generic") {
    report(sink, "W0106", options.input,
           "found --cpu=" + options.cpu + " for " + target.triple + "; possible: generic");
    return false;
  }
  target.cpu = "generic";
  target.code.cpu = target.code.tuneCpu = "generic";
  target.code.features = "+fp-armv8,+neon";
  target.code.vectorBytes = 16;
  target.code.vectorRegisters = 32;
  target.code.sanitizeAddress = options.sanitizeAddress;
  return true;
}

/// Fills in what --cpu says.
static bool selectCpu(const Options &options, DiagnosticSink &sink, Target &target) {
  llvm::StringMap<bool> has;
  if (options.cpu.empty() || options.cpu == "native") {
    if (llvm::Triple(llvm::sys::getProcessTriple()).getArch() != llvm::Triple::x86_64) {
      report(sink, "W0106", options.input,
             "found --cpu=native on a machine of another kind; possible: the "
             "name of an x86-64 processor, such as x86-64-v3");
      return false;
    }
    has = llvm::sys::getHostCPUFeatures();
    std::string host = llvm::sys::getHostCPUName().str();
    target.cpu = "native (" + host + ")";
    target.code.tuneCpu = host;
  } else {
    llvm::SmallVector<llvm::StringRef> known;
    llvm::X86::fillValidCPUArchList(known, /*Only64Bit=*/true);
    if (!llvm::is_contained(known, options.cpu)) {
      std::string nearest = nearestName(options.cpu, known);
      report(sink, "W0106", options.input,
             "found --cpu=" + options.cpu + "; possible: " +
                 (nearest.empty() ? "native, x86-64-v2, x86-64-v3, x86-64-v4, "
                                    "or a processor as in clang's -march="
                                  : nearest));
      return false;
    }
    llvm::SmallVector<llvm::StringRef> list;
    llvm::X86::getFeaturesForCPU(options.cpu, list);
    // The list leaves out what others imply: AVX512F, of x86-64-v4.
    for (llvm::StringRef name : list) {
      has[name] = true;
      llvm::X86::updateImpliedFeatures(name, /*Enabled=*/true, has);
    }
    target.cpu = options.cpu;
    // The levels of the psABI name no processor to schedule for.
    target.code.tuneCpu =
        llvm::StringRef(options.cpu).starts_with("x86-64") ? "generic" : options.cpu;
  }
  target.code.features = usableFeatures(has, target.requiredFeatures);
  target.code.cpu = "x86-64";
  if (target.requiredFeatures & WEIR_CPU_AVX512) {
    target.code.preferVectorBits = 512;
    target.code.vectorBytes = 64;
    target.code.vectorRegisters = 32;
  }
  target.hasByteTiles = has.lookup("amx-int8") && target.requiredFeatures & WEIR_CPU_AVX512;
  target.hasBrainTiles = has.lookup("amx-bf16") && target.requiredFeatures & WEIR_CPU_AVX512_BF16;
  target.hasBrainPairs =
      target.requiredFeatures & WEIR_CPU_AVX512_BF16 && gainsByBrainPairs(target.code.tuneCpu);
  if (llvm::is_contained(twelveWays, target.code.tuneCpu))
    target.firstLevelWays = 12;
  target.passesHalves = target.requiredFeatures & WEIR_CPU_AVX512 &&
                        llvm::is_contained(passesOfHalves, target.code.tuneCpu);
  // Tiles are a matter of whole kernels: only code that has such needs them.
  if (options.precision == "bf16" && target.hasBrainTiles) {
    target.code.features += ",+amx-tile,+amx-bf16";
    target.requiredFeatures |= WEIR_CPU_AMX_TILE | WEIR_CPU_AMX_BF16;
  }
  target.code.sanitizeAddress = options.sanitizeAddress;
  return true;
}

bool driver::selectTarget(const Options &options, DiagnosticSink &sink, Target &target) {
  initializeLlvm();
  // The same triple on every host: it is part of the object's bytes.
  target.triple =
      options.target.empty() ? "x86_64-unknown-linux-gnu" : llvm::Triple::normalize(options.target);
  llvm::Triple triple(target.triple);
  bool isArm = triple.getArch() == llvm::Triple::aarch64;
  if ((triple.getArch() != llvm::Triple::x86_64 && !isArm) || !triple.isOSLinux() ||
      !triple.isOSBinFormatELF()) {
    report(sink, "W0107", options.input,
           "found --target=" + options.target +
               "; possible: x86_64-linux-gnu and aarch64-linux-gnu");
    return false;
  }
  if (!(isArm ? selectArm : selectCpu)(options, sink, target))
    return false;

  target.name = options.cpu.empty() ? "native" : options.cpu;
  target.machine = makeMachine(options, target);
  return true;
}

bool driver::selectTargets(const Options &options, DiagnosticSink &sink,
                           std::vector<Target> &targets) {
  llvm::SmallVector<llvm::StringRef> names;
  llvm::StringRef(options.cpu).split(names, ',');
  for (llvm::StringRef name : names) {
    Options one = options;
    one.cpu = name.str();
    if (name.empty() && names.size() > 1) {
      report(sink, "W0106", options.input,
             "found --cpu=" + options.cpu + "; possible: a name between any two commas");
      return false;
    }
    Target target;
    if (!selectTarget(one, sink, target))
      return false;
    for (const Target &other : targets) {
      if (other.requiredFeatures != target.requiredFeatures)
        continue;
      report(sink, "W0106", options.input,
             "found " + other.name + " and " + target.name + " in --cpu=" + options.cpu +
                 ", which any machine has both of or neither; "
                 "possible: one of them");
      return false;
    }
    auto hasFewer = [&](const Target &other) {
      return llvm::popcount(other.requiredFeatures) < llvm::popcount(target.requiredFeatures);
    };
    targets.insert(llvm::find_if(targets, hasFewer), std::move(target));
  }
  return true;
}

bool driver::roundsToBf16(const Options &options, const Target &target) {
  return options.precision == "bf16" && options.training.loss.empty() &&
         bf16Products(target) != Bf16Products::None;
}

ByteProducts driver::byteProducts(const Target &target) {
  if (target.hasByteTiles)
    return ByteProducts::Blocks;
  bool isWide = target.requiredFeatures & WEIR_CPU_AVX512;
  if (target.requiredFeatures & (isWide ? WEIR_CPU_AVX512_VNNI : WEIR_CPU_AVX_VNNI))
    return ByteProducts::Quads;
  return target.requiredFeatures & WEIR_CPU_AVX2 ? ByteProducts::Pairs : ByteProducts::None;
}

Bf16Products driver::bf16Products(const Target &target) {
  return target.hasBrainTiles   ? Bf16Products::Blocks
         : target.hasBrainPairs ? Bf16Products::Pairs
                                : Bf16Products::None;
}

void driver::requireFeature(const Options &options, Target &target, llvm::StringRef feature) {
  uint64_t unit = llvm::StringSwitch<uint64_t>(feature)
                      .Case("amx-int8", WEIR_CPU_AMX_INT8)
                      .Case("amx-bf16", WEIR_CPU_AMX_BF16)
                      .Default(0);
  assert(unit && "a feature that back ends ask for has a bit that programs check");
  uint64_t wanted = WEIR_CPU_AMX_TILE | unit;
  if ((target.requiredFeatures & wanted) == wanted)
    return;
  if (!(target.requiredFeatures & WEIR_CPU_AMX_TILE))
    target.code.features += ",+amx-tile";
  target.code.features += (",+" + feature).str();
  target.requiredFeatures |= wanted;
  target.machine = driver::makeMachine(options, target);
}

std::unique_ptr<llvm::TargetMachine> driver::makeMachine(const Options &options,
                                                         const Target &target) {
  llvm::Triple triple(target.triple);
  std::string error;
  // All triples that selectTarget lets through were registered there.
  const llvm::Target *kind = llvm::TargetRegistry::lookupTarget(triple, error);
  llvm::TargetOptions settings;
  // Only what one operation of the model asked for is contracted
  // (llvm.fmuladd).
  settings.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  llvm::CodeGenOptLevel level = options.optLevel <= 0   ? llvm::CodeGenOptLevel::None
                                : options.optLevel == 1 ? llvm::CodeGenOptLevel::Less
                                : options.optLevel == 2 ? llvm::CodeGenOptLevel::Default
                                                        : llvm::CodeGenOptLevel::Aggressive;
  return std::unique_ptr<llvm::TargetMachine>(
      kind->createTargetMachine(triple, target.code.cpu, target.code.features, settings,
                                llvm::Reloc::PIC_, llvm::CodeModel::Small, level));
}
