//===- Variants.cpp - one program for several processors ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --cpu=A,B: what does not depend on the processor is done once; from there on
// each has a copy of the module, and a descriptor and code of its own in the
// object. Constants are one list for all, which every processor's code adds to:
// where two pack a weight alike, it is there once. Users see the descriptor of
// the least demanding one, which leads to the others (weir/abi.h).
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/CpuCodegen.h"
#include "compiler/driver/Compilation.h"
#include "compiler/driver/Messages.h"
#include "compiler/emit/Fingerprint.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace weir;
using namespace weir::driver;

bool Compilation::checkVariants(OutputForm form) {
  bool isObject =
      form == OutputForm::Object || form == OutputForm::Archive || form == OutputForm::SharedObject;
  const char *where = !options.stopAfter.empty() ? "--stop-after"
                      : !isObject                ? "an output that is text"
                      : options.sanitizeAddress  ? "--sanitize=address"
                      : options.debugInfo        ? "--debug-info"
                                                 : nullptr;
  if (!where)
    return true;
  driver::report(sink, "W0106", options.input,
                 "found several processors in --cpu=" + options.cpu + " with " + where +
                     "; possible: one");
  return false;
}

int Compilation::sharedStages() const {
  bool rounds = roundsToBf16(options, target), byBytes = hasBytes(module.get());
  bool byHalves = computesHalvesOnCpu(module.get(), options);
  bool differ = llvm::any_of(targets, [&](const Target &other) {
    return roundsToBf16(options, other) != rounds ||
           (byBytes && byteProducts(other) != byteProducts(target)) ||
           ((byHalves || rounds) && bf16Products(other) != bf16Products(target));
  });
  return stageIndex(differ ? "layout" : "kernelize");
}

std::string Compilation::processors() const {
  std::string text;
  for (const Target &other : targets)
    text += other.cpu + ", ";
  return text + target.cpu;
}

static bool areEqual(llvm::ArrayRef<TensorInfo> a, llvm::ArrayRef<TensorInfo> b) {
  return llvm::equal(a, b, [](const TensorInfo &x, const TensorInfo &y) {
    return x.name == y.name && x.dtype == y.dtype && x.ranked == y.ranked && x.dims == y.dims &&
           x.lower == y.lower && x.upper == y.upper && x.symbols == y.symbols;
  });
}

/// Whether two processors' programs are the same to their users and to other
/// tasks of a cluster, which may have other processors.
static bool agree(const Program &a, const Program &b) {
  auto entries = [](const EntryInfo &x, const EntryInfo &y) {
    return x.name == y.name && areEqual(x.feeds, y.feeds) && areEqual(x.fetches, y.fetches);
  };
  auto devices = [](const DeviceInfo &x, const DeviceInfo &y) { return x.name == y.name; };
  auto slots = [](const SlotInfo &x, const SlotInfo &y) {
    return x.name == y.name && x.dtype == y.dtype && x.dims == y.dims && x.initial == y.initial;
  };
  auto edges = [](const EdgeInfo &x, const EdgeInfo &y) {
    return x.name == y.name && x.source == y.source && x.destination == y.destination;
  };
  return llvm::equal(a.entries, b.entries, entries) && llvm::equal(a.devices, b.devices, devices) &&
         llvm::equal(a.slots, b.slots, slots) && llvm::equal(a.edges, b.edges, edges);
}

void Compilation::exchange(Variant &variant) {
  std::swap(target, variant.target);
  std::swap(llvmContext, variant.context);
  std::swap(llvmModule, variant.module);
  std::swap(described, variant.program);
}

bool Compilation::translateVariants() {
  OwningOpRef<ModuleOp> shared = std::move(module);
  int first = nextStage;
  bool differ = first <= stageIndex("layout");
  targets.push_back(std::move(target));
  for (Target &each : targets) {
    Program begun;
    std::string previous;
    if (!variants.empty()) {
      const Program &before = variants.back().program;
      begun.blobs = before.blobs;
      begun.blobBytes = before.blobBytes;
      previous = " " + llvm::utohexstr(before.hash[0]) + " " + llvm::utohexstr(before.hash[1]);
    }
    target = std::move(each);
    described = std::move(begun);
    module = shared->clone();
    nextStage = first;
    describeTarget();
    if (!runPasses())
      return false;
    // The report is the most demanding one's.
    if (variants.empty())
      takeFigures();
    bool isLast = &each == &targets.back();
    std::string prefix = isLast ? name : name + "_" + cIdentifier(target.name);
    if (!translate(prefix))
      return false;
    if (differ && described.devices.size() > 1) {
      driver::report(sink, "W0106", options.input,
                     "found processors that multiply bf16 and others in --cpu=" + options.cpu +
                         " for several devices, which would exchange values of "
                         "different types; possible: --precision=f32, or "
                         "processors of one kind");
      return false;
    }
    if (variants.empty())
      describeProgram(described, reported);
    // The last one's hash is then all code's.
    fingerprint(*llvmModule, codeFlags() + previous, described);
    if (!variants.empty() && !agree(variants.front().program, described)) {
      driver::report(sink, "W0199", options.input,
                     "the programs for " + variants.front().target.name + " and " + target.name +
                         " differ for their users");
      return false;
    }
    exchange(variants.emplace_back());
  }
  targets.clear();
  exchange(variants.back());
  variants.pop_back();
  for (Variant &variant : variants) {
    variant.program.blobBytes = described.blobBytes;
    llvm::copy(described.hash, variant.program.hash);
  }
  reported.weightBytes = described.blobBytes;
  reported.weightCount = int64_t(described.blobs.size());
  return true;
}

bool Compilation::generateVariants(OutputForm form) {
  if (!translateVariants())
    return false;
  DescriptorOptions seen;
  seen.cpu = target.name;
  for (Variant &variant : variants) {
    DescriptorOptions own;
    own.cpu = variant.target.name;
    own.symbol = "weir.program." + cIdentifier(variant.target.name);
    seen.variants.push_back(own.symbol);
    exchange(variant);
    bool good = describe(form, std::move(own));
    if (good && !options.dumpIrDir.empty())
      showOptimized(/*isCopy=*/true);
    exchange(variant);
    if (!good)
      return false;
  }
  if (!describe(form, std::move(seen)))
    return false;
  if (!options.dumpIrDir.empty())
    showOptimized(/*isCopy=*/true);

  log.setStage(emitStage);
  log.begin({});
  std::vector<CodeUnit> units;
  if (!check(compileInUnits(units)))
    return false;
  for (Variant &variant : variants) {
    exchange(variant);
    bool good = check(compileInUnits(units));
    exchange(variant);
    if (!good)
      return false;
  }
  return joinUnits(units);
}
