//===- Tuning.cpp - tiles by measurements: --tune and --tune-file ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Tuning.h"
#include "compiler/driver/KernelTrials.h"
#include "compiler/driver/Messages.h"
#include "compiler/driver/Pipeline.h"
#include "dialects/plan/Plan.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace weir;
using namespace weir::driver;

/// What measurements are kept by: for which instructions and whose schedules code is
/// made, in vectors of how many bits.
static std::string processorOf(const Target &target) {
  return target.code.tuneCpu + "/" + std::to_string(target.code.vectorBytes * 8);
}

/// Whether this machine runs what is made for the target's vectors.
static bool isForThisMachine(const Target &target) {
  if (llvm::Triple(target.triple).getArch() !=
      llvm::Triple(llvm::sys::getProcessTriple()).getArch())
    return false;
  if (llvm::Triple(target.triple).getArch() != llvm::Triple::x86_64)
    return true;
  // Matrix tiles are not tuned, and the process would have to ask for them.
  uint64_t matrix = WEIR_CPU_AMX_TILE | WEIR_CPU_AMX_BF16, here = matrix;
  usableFeatures(llvm::sys::getHostCPUFeatures(), here);
  return (target.requiredFeatures & ~(here | matrix)) == 0;
}

bool Tuning::check(const Work &work) {
  const Options &options = work.options;
  DiagnosticSink &sink = work.sink;
  if (!options.tune && options.tuneFile.empty())
    return true;
  int kernelize = stageIndex("kernelize");
  if (work.stopStage < kernelize) {
    driver::report(sink, "W0108", options.input,
                   "found --tune or --tune-file with --stop-after=" + options.stopAfter +
                       "; possible: a stage from kernelize on");
    return false;
  }
  if (work.nextStage > kernelize) {
    driver::report(sink, "W0108", options.input,
                   "found --tune or --tune-file for a module that is past kernelize; "
                   "possible: one of an earlier stage");
    return false;
  }
  auto refuse = [&](const llvm::Twine &found, const llvm::Twine &possible) {
    driver::report(sink, "W0132", options.input,
                   "found --tune=" + llvm::Twine(options.tune) + found + "; possible: " + possible);
    return false;
  };
  if (options.tune && work.codes.size() > 1)
    return refuse(" for several processors", "one after the other, into one --tune-file");
  const Target &target = work.code->target;
  if (options.tune && !isForThisMachine(target))
    return refuse(" for " + target.cpu + " (" + target.triple + "), which this machine is not",
                  "--cpu=native, or a --tune-file that was written there");
  if (options.tune && options.sanitizeAddress)
    return refuse(" with --sanitize=address", "without it, then with the file");
  bool mayBeNew = options.tune && !llvm::sys::fs::exists(options.tuneFile);
  return options.tuneFile.empty() || mayBeNew || file.read(options.tuneFile, sink);
}

bool Tuning::chooseTiles(Work &work) {
  const Options &options = work.options;
  if (!options.tune && options.tuneFile.empty())
    return true;
  std::string processor = processorOf(work.target());
  if (options.tune)
    search(work, processor);
  else if (!file.knows(processor)) {
    std::string known = llvm::join(file.names(), ", ");
    Diagnostic warning;
    warning.code = "W0133";
    warning.file = options.tuneFile;
    warning.severity = Severity::Warning;
    warning.message = "found nothing for " + processor + ", which code is made for; possible: " +
                      (known.empty() ? "no processor, as the file has no choices" : known);
    work.sink.report(std::move(warning));
  }
  Builder builder(work.context.get());
  llvm::SmallVector<NamedAttribute> choices;
  for (const auto &[kernel, entry] : file.of(processor))
    choices.push_back(builder.getNamedAttr(kernel, builder.getStringAttr(entry.choice.str())));
  (*work.module)->setAttr(tilesAttribute, builder.getDictionaryAttr(choices));
  return !work.sink.hasErrors();
}

void Tuning::search(Work &work, const std::string &processor) {
  const Options &options = work.options;
  work.log.setStage("tune");
  TuneFile::Kernels &entries = file.of(processor);
  KernelTrials trials(options, work.target(), vectorUnitOf(*work.module));
  std::vector<TuneTask> tasks;
  trials.collect(*work.module, tasks);
  for (auto [i, task] : llvm::enumerate(tasks))
    if (auto it = entries.find(trials.key(i)); it != entries.end())
      task.first = it->second.choice;
  searchTiles(tasks, options.tune, trials);
  for (auto [i, task] : llvm::enumerate(tasks)) {
    if (task.present == task.first)
      continue;
    entries[trials.key(i)] = {task.present, task.after * 1e6, task.before * 1e6};
    if (options.verbose)
      llvm::errs() << "  tuned " << trials.key(i) << ": " << task.present.str()
                   << llvm::format(", %.1f us instead of %.1f\n", task.after * 1e6,
                                   task.before * 1e6);
  }
  if (entries.empty())
    file.forget(processor);
}

void Tuning::noteKernels(Work &work) const {
  const Options &options = work.options;
  if (!options.tune && options.tuneFile.empty())
    return;
  std::string where = options.tuneFile.empty() ? "--tune" : options.tuneFile;
  int64_t all = 0;
  std::vector<std::string> tuned;
  for (auto kernel : work.module->getOps<plan::KernelOp>()) {
    ++all;
    if (auto choice = kernel.getSchedule().find(plan::schedule::tuned))
      tuned.push_back(("tiles of " + kernel.getSymName() + ": " + *choice).str());
  }
  work.report.notes.push_back(std::to_string(tuned.size()) + " of " + std::to_string(all) +
                              " kernels have tiles by " + where);
  llvm::append_range(work.report.notes, tuned);
}

std::string Tuning::text(const Options &options) const {
  return options.tune && !options.tuneFile.empty() ? file.text() : "";
}
