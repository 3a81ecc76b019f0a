//===- MemoryLimit.cpp - a plan that fits, or why there is none -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/MemoryLimit.h"

#include "compiler/driver/Messages.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/emit/PeakMoment.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/kernelize/DivideRows.h"
#include "passes/plan/BlockWork.h"
#include "passes/plan/StepTimes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace weir;
using namespace weir::driver;

/// Plans tried: each one's excess is taken off what the next may use.
static constexpr int mostAttempts = 6;

namespace {
/// How kernels are formed: what they may read (0: as much as usual), and in how many parts what
/// lies around large values is computed.
struct Forming {
  unsigned inputs;
  int64_t parts;
  bool joinsGradients; ///< see weir-kernelize
};
} // namespace
/// Tried in turn until a plan fits. Parts take passes over weights, and sums, for each. Kernels
/// that read many tensors keep all of them alive at once.
static constexpr Forming formings[] = {{0, 1, false}, {0, 2, false}, {0, 4, false},
                                       {0, 8, false}, {0, 1, true},  {3, 1, true}};
/// A value is large from this share of the limit on.
static constexpr int64_t largeShare = 16;
/// Thousandths of the work that runs again from which on more parts may take less, and gradients
/// that take no memory.
static constexpr int64_t dearWork = 100;
/// The runtime's allocator hands out multiples of this, with a header before
/// what a run does not plan.
static constexpr int64_t granule = 256, header = 64;

std::optional<int64_t> driver::parseSize(llvm::StringRef text) {
  text.consume_back("iB") || text.consume_back("B");
  size_t digits = text.find_first_not_of("0123456789.");
  double number = 0;
  if (text.take_front(digits).getAsDouble(number) || number < 0)
    return std::nullopt;
  text = digits == llvm::StringRef::npos ? "" : text.drop_front(digits);
  unsigned shift = llvm::StringSwitch<unsigned>(text)
                       .Case("", 0)
                       .CasesLower({"k"}, 10)
                       .CasesLower({"m"}, 20)
                       .CasesLower({"g"}, 30)
                       .CasesLower({"t"}, 40)
                       .Default(64);
  double bytes = std::ldexp(number, shift);
  if (shift == 64 || !(bytes < 9e18))
    return std::nullopt;
  return int64_t(bytes);
}

namespace {

int64_t deviceOf(func::FuncOp function) {
  auto index = function->getAttrOfType<IntegerAttr>("weir.device_index");
  return index ? index.getInt() : 0;
}

/// What a run of one entry takes, beside `arena` where that is all entries'.
MemoryNeed needOf(func::FuncOp function, int64_t arena) {
  MemoryNeed own;
  function.walk([&](plan::FetchOp fetch) {
    auto type = cast<MemRefType>(fetch.getResult().getType());
    if (type.hasStaticShape())
      own.results += llvm::alignTo(plan::arenaBytes(type) + header, granule);
  });
  own.results += plan::receivedBytes(function);
  // An accelerator's arena is as large as its largest entry's, whatever runs.
  if (isOffloadDevice(function->getParentOfType<ModuleOp>(), deviceOf(function)))
    own.arena = arena;
  else if (auto bytes = function->getAttrOfType<IntegerAttr>(plan::entryArenaAttribute))
    own.arena = llvm::alignTo(bytes.getInt(), granule);
  return own;
}

std::map<int64_t, MemoryNeed> needsOf(ModuleOp module) {
  std::map<int64_t, MemoryNeed> needs;
  for (auto arena :
       module->getAttrOfType<ArrayAttr>("weir_plan.arenas").getAsRange<DictionaryAttr>())
    if (int64_t device = arena.getAs<IntegerAttr>("device").getInt();
        isOffloadDevice(module, device))
      needs[device].arena = llvm::alignTo(arena.getAs<IntegerAttr>("bytes").getInt(), granule);
  for (auto function : module.getOps<func::FuncOp>()) {
    MemoryNeed &need = needs[deviceOf(function)], own = needOf(function, need.arena);
    if (own.sum() > need.sum())
      need = own;
  }
  return needs;
}

/// The functions of a planned module that need more than `bytes`.
std::vector<std::string> functionsBeyond(ModuleOp module, int64_t bytes) {
  auto needs = needsOf(module);
  std::vector<std::string> names;
  for (auto function : module.getOps<func::FuncOp>())
    if (needOf(function, needs[deviceOf(function)].arena).sum() > bytes)
      names.push_back(function.getSymName().str());
  return names;
}

/// Asks weir-divide-rows for parts of values that are large beside `bytes`.
void askForParts(ModuleOp module, llvm::ArrayRef<std::string> names, int64_t bytes, int64_t parts) {
  Builder b(module.getContext());
  for (const std::string &name : names)
    if (auto function = module.lookupSymbol<func::FuncOp>(name)) {
      function->setAttr(rowPartsAttr, b.getI64IntegerAttr(parts));
      function->setAttr(largeRowsAttr,
                        b.getI64IntegerAttr(std::max<int64_t>(bytes / largeShare, 1)));
    }
}

} // namespace

std::vector<Report::MemoryChoice> driver::memoryChoicesOf(ModuleOp module) {
  std::vector<Report::MemoryChoice> choices;
  auto made = module->getAttrOfType<DictionaryAttr>("weir_plan.recompute");
  auto all = made ? made.getAs<ArrayAttr>("choices") : ArrayAttr();
  if (!all)
    return choices;
  for (auto own : all.getAsRange<DictionaryAttr>()) {
    auto number = [&](const char *key) { return own.getAs<IntegerAttr>(key).getInt(); };
    choices.push_back({own.getAs<StringAttr>("node").str(),
                       own.getAs<BoolAttr>("copied").getValue(), number("times"), number("bytes"),
                       number("per_mille")});
  }
  llvm::stable_sort(choices, [](const Report::MemoryChoice &a, const Report::MemoryChoice &b) {
    return std::pair(-a.work, -a.bytes) < std::pair(-b.work, -b.bytes);
  });
  return choices;
}

namespace {

/// What was tried, and what it brought.
void explainRemedies(ModuleOp module, std::vector<std::string> &notes) {
  auto order = module->getAttrOfType<DictionaryAttr>("weir_plan.order");
  auto made = module->getAttrOfType<DictionaryAttr>("weir_plan.recompute");
  if (!order || !made)
    return;
  auto number = [](DictionaryAttr of, const char *key) {
    return of.getAs<IntegerAttr>(key).getInt();
  };
  auto note = [&](const llvm::Twine &text) { notes.push_back(text.str()); };
  if (auto divided = module->getAttrOfType<IntegerAttr>(dividedAttr))
    note("rows in parts: " + llvm::Twine(divided.getInt()) + " operations");
  note("the order: " + llvm::Twine(number(order, "as_given")) + " bytes alive at once as given, " +
       llvm::Twine(number(order, "chosen")) + " as chosen");
  auto swap = module->getAttrOfType<DictionaryAttr>("weir_plan.swap");
  int64_t before = number(made, "before"), after = number(made, "peak");
  int64_t launches = number(made, "launches"), work = number(made, "per_mille");
  int64_t alone = swap ? number(swap, "repeating_peak") : after;
  std::string share =
      (", " + llvm::Twine(work / 10) + "." + llvm::Twine(work % 10) + " % of the work").str();
  if (alone < before)
    note("computing again: " + llvm::Twine(alone) + " bytes instead of " + llvm::Twine(before) +
         ", for " + llvm::Twine(swap ? number(swap, "repeating_launches") : launches) +
         " launches more" + (swap ? "" : share));
  else
    note("computing again: nothing that is alive then can be dropped and made "
         "again in less");
  if (swap && number(swap, "saved") > 0)
    note("copying to the host: " + llvm::Twine(after) + " bytes instead of " + llvm::Twine(alone) +
         ", for " + llvm::Twine(number(swap, "saved")) + " values copied out and " +
         llvm::Twine(number(swap, "returned")) + " copies back, " +
         llvm::Twine(number(swap, "bytes")) + " bytes together" +
         (launches ? ", and " + std::to_string(launches) + " launches more" : ""));
  else if (swap)
    note("copying to the host: nothing more that is alive then can wait there");
  note("node \"" + made.getAs<StringAttr>("floor_node").getValue() +
       "\" alone has operands and results of " + llvm::Twine(number(made, "floor")) + " bytes");
}

} // namespace

MemoryLimit::MemoryLimit(const Options &options) : bytes(parseSize(options.memoryLimit)) {}

bool MemoryLimit::plan(Work &work, Pipeline &pipeline) {
  mlir::OwningOpRef<ModuleOp> &module = work.module;
  OwningOpRef<ModuleOp> unfused = module->clone(), best, fitting;
  int64_t fittingWork = 0, fittingExcess = 0, fittingParts = 1;
  std::vector<std::string> crowded; // as a whole
  int64_t least = INT64_MAX;
  for (const Forming &forming : formings) {
    bool mayBeCheaper =
        fittingWork > dearWork && (forming.parts > 1 ? fittingParts > 1 : forming.inputs == 0);
    if (fitting && !mayBeCheaper)
      continue;
    module = unfused->clone();
    pipeline.kernelize.mostInputs = forming.inputs;
    pipeline.kernelize.joinsGradients = forming.joinsGradients;
    if (forming.parts > 1) {
      if (crowded.empty())
        crowded = functionsBeyond(*best, *bytes);
      askForParts(*module, crowded, *bytes, forming.parts);
    }
    if (!pipeline.kernelize.runPasses(work))
      return false;
    OwningOpRef<ModuleOp> unplanned = std::move(module);
    int64_t target = *bytes;
    for (int attempt = 0; attempt < mostAttempts; ++attempt) {
      module = unplanned->clone();
      pipeline.schedule.limit = target;
      if (!pipeline.schedule.runPasses(work) || !pipeline.planMemory.runPasses(work))
        return false;
      int64_t excess = INT64_MIN;
      for (auto &[device, need] : needsOf(*module))
        excess = std::max(excess, need.sum() - *bytes);
      auto made = (*module)->getAttrOfType<DictionaryAttr>("weir_plan.recompute");
      bool fits = made.getAs<BoolAttr>("fits").getValue();
      if (excess <= 0) {
        int64_t again = made.getAs<IntegerAttr>("per_mille").getInt();
        if (!fitting || again < fittingWork) {
          fitting = std::move(module);
          fittingWork = again;
          fittingExcess = excess;
          fittingParts = forming.parts;
        }
        break;
      }
      if (excess < least) {
        least = excess;
        best = std::move(module);
      }
      if (!fits)
        break;
      target -= excess;
    }
  }
  beyond = fitting ? fittingExcess : least;
  module = fitting ? std::move(fitting) : std::move(best);
  needs = needsOf(*module);
  return true;
}

bool MemoryLimit::check(const Work &work) const {
  if (!bytes)
    return true;
  bool good = true;
  for (auto [index, device] : llvm::enumerate(work.code->program.devices)) {
    auto found = needs.find(int64_t(index));
    MemoryNeed need = found == needs.end() ? MemoryNeed{device.arenaBytes} : found->second;
    int64_t results = need.results;
    if (need.sum() <= *bytes)
      continue;
    good = false;
    bool isAccelerated = isOffloadDevice(work.module.get(), int64_t(index));
    Diagnostic diagnostic;
    diagnostic.code = "W0610";
    diagnostic.file = work.options.input;
    diagnostic.message =
        ("found an arena of " + llvm::Twine(need.arena) + " bytes" +
         (results && isAccelerated ? " and " + std::to_string(results) + " received"
          : results                ? " and results of " + std::to_string(results)
                                   : "") +
         " on " + device.name + "; possible within --memory-limit: " + llvm::Twine(*bytes))
            .str();
    auto note = [&](const llvm::Twine &text) { diagnostic.notes.push_back(text.str()); };
    if (results && isAccelerated)
      note("what an accelerator receives takes memory beside the arena to the run's end");
    else if (results)
      note("results take memory of the run where the caller brings none for them");
    if (device.lowerBound > *bytes)
      note("no order of offsets helps: " + llvm::Twine(device.lowerBound) +
           " bytes are alive at once");
    PeakMoment peak = peakMoment(work.code->program.buffers, int(index));
    note("most is alive at moment " + llvm::Twine(peak.time) + ": " + llvm::Twine(peak.bytes) +
         " bytes in " + llvm::Twine(peak.buffers.size()) + " buffers");
    for (size_t i = 0; i < peak.buffers.size() && i < 8; ++i)
      note("node \"" + peak.buffers[i]->node + "\" needs " + llvm::Twine(peak.buffers[i]->bytes) +
           " bytes");
    explainRemedies(work.module.get(), diagnostic.notes);
    note("smaller batches and inputs (--shape, --dim) make smaller buffers");
    work.sink.report(std::move(diagnostic));
  }
  return good;
}
