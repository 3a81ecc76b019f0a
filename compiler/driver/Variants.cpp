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
#include "compiler/emit/Descriptors.h"

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

int Compilation::sharedStages() {
  const Target &target = work.target();
  bool rounds = roundsToBf16(options, target), byBytes = hasBytes(*work.module);
  bool byHalves = computesHalvesOnCpu(*work.module, options);
  bool differ = llvm::any_of(work.codes, [&](const ProcessorCode &code) {
    const Target &other = code.target;
    return roundsToBf16(options, other) != rounds ||
           (byBytes && byteProducts(other) != byteProducts(target)) ||
           ((byHalves || rounds) && bf16Products(other) != bf16Products(target));
  });
  return stageIndex(differ ? "layout" : "kernelize");
}

std::string Compilation::processors() const {
  llvm::SmallVector<llvm::StringRef> names;
  for (const ProcessorCode &code : work.codes)
    names.push_back(code.target.cpu);
  return llvm::join(names, ", ");
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
    return x.name == y.name && x.dtype == y.dtype && x.dims == y.dims && x.initial == y.initial &&
           x.startsAtZero == y.startsAtZero;
  };
  auto edges = [](const EdgeInfo &x, const EdgeInfo &y) {
    return x.name == y.name && x.source == y.source && x.destination == y.destination;
  };
  return llvm::equal(a.entries, b.entries, entries) && llvm::equal(a.devices, b.devices, devices) &&
         llvm::equal(a.slots, b.slots, slots) && llvm::equal(a.edges, b.edges, edges);
}

bool Compilation::translateVariants() {
  OwningOpRef<ModuleOp> shared = std::move(work.module);
  int first = work.nextStage;
  bool differ = first <= stageIndex("layout");
  ProcessorCode *before = nullptr;
  for (ProcessorCode &code : work.codes) {
    work.code = &code;
    bool isLast = &code == &work.codes.back();
    pipeline.codegen.prefix = isLast ? work.name : work.name + "_" + cIdentifier(code.target.name);
    pipeline.codegen.previous.clear();
    if (before) {
      code.program.blobs = before->program.blobs;
      code.program.blobBytes = before->program.blobBytes;
      // The last one's hash is then all code's.
      for (uint64_t part : before->program.hash)
        pipeline.codegen.previous += " " + llvm::utohexstr(part);
    }
    work.module = shared->clone();
    work.nextStage = first;
    describeTarget(work);
    if (!runPasses())
      return false;
    // The report is the most demanding one's.
    if (!before)
      takeFigures();
    if (!pipeline.codegen.run(work))
      return false;
    if (differ && code.program.devices.size() > 1) {
      driver::report(sink, "W0106", options.input,
                     "found processors that multiply bf16 and others in --cpu=" + options.cpu +
                         " for several devices, which would exchange values of "
                         "different types; possible: --precision=f32, or "
                         "processors of one kind");
      return false;
    }
    if (!before)
      describeProgram(code.program, work.report);
    else if (!agree(work.codes.front().program, code.program)) {
      driver::report(sink, "W0199", options.input,
                     "the programs for " + work.codes.front().target.name + " and " +
                         code.target.name + " differ for their users");
      return false;
    }
    before = &code;
  }
  const Program &last = work.code->program;
  for (ProcessorCode &code : llvm::MutableArrayRef(work.codes).drop_back()) {
    code.program.blobBytes = last.blobBytes;
    llvm::copy(last.hash, code.program.hash);
  }
  work.report.weightBytes = last.blobBytes;
  work.report.weightCount = int64_t(last.blobs.size());
  return true;
}
