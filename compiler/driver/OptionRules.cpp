//===- OptionRules.cpp - what options say together -----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/OptionRules.h"
#include "compiler/driver/DeviceKinds.h"
#include "compiler/driver/MemoryLimit.h"
#include "compiler/driver/Messages.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/emit/Descriptors.h"
#include "compiler/emit/Link.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace weir;
using namespace weir::driver;

bool driver::checkOptions(const Options &options, DiagnosticSink &sink) {
  size_t before = sink.errorCount();
  auto refuse = [&](llvm::StringRef flag, llvm::StringRef possible) {
    driver::report(sink, "W0112", options.input,
                   "found " + flag + "; possible in this release: " + possible);
  };
  for (const DeviceBackend *backend : acceleratorBackends()) {
    std::string targets = targetsFor(*backend, options), possible;
    if (!targets.empty())
      possible = backend->possibleInsteadOf(targets);
    if (!possible.empty())
      driver::report(sink, "W0620", options.input,
                     "found " + backend->flag() + "=" + targets + "; possible: " + possible);
    std::vector<std::string> profiles = profilesFor(*backend, options);
    if (targets.empty() && !profiles.empty())
      driver::report(sink, "W0623", options.input,
                     "found " + backend->profiles().flag + "=" + profiles.front() + " without " +
                         backend->flag() + "; possible: with it");
  }
  bool isTrained = !options.training.loss.empty();
  if (!options.schedule.empty() && options.schedule != "latency" && options.schedule != "memory" &&
      options.schedule != "balanced")
    refuse("--schedule=" + options.schedule, "latency, memory or balanced");
  if (!options.receives.empty() && options.receives != "early" && options.receives != "late")
    refuse("--receives=" + options.receives, "early or late");
  if (!options.precision.empty() && options.precision != "f32" && options.precision != "tf32" &&
      options.precision != "bf16" && !(isTrained && options.precision == "f16"))
    refuse("--precision=" + options.precision,
           isTrained ? "f32, tf32, bf16 or f16" : "f32, tf32 or bf16");
  if (!options.winograd.empty() && options.winograd != "off" && options.winograd != "2" &&
      options.winograd != "4")
    refuse("--winograd=" + options.winograd, "off, 2 or 4");
  if (!options.freeze.empty() && options.freeze != "auto" && options.freeze != "all" &&
      options.freeze != "none")
    refuse("--freeze=" + options.freeze, "auto, all or none");
  if (!options.memoryLimit.empty() && !parseSize(options.memoryLimit))
    driver::report(sink, "W0112", options.input,
                   "found --memory-limit=" + options.memoryLimit +
                       "; possible: bytes, or a number with K, M, G or T");
  if (!options.name.empty() && (cIdentifier(options.name) != options.name ||
                                llvm::StringRef(options.name).starts_with("weir")))
    driver::report(sink, "W0109", options.input,
                   "found --name=" + options.name +
                       "; possible: a C identifier that is no keyword and does "
                       "not start with weir");
  for (const std::string &archive : options.runtimeArchives)
    if (std::vector<std::string> known = runtimeArchives(); !llvm::is_contained(known, archive))
      refuse("--runtime-with=" + archive, llvm::join(known, " and "));
  if (!options.dumpIrFilter.empty() && options.dumpIrDir.empty())
    noEffect(sink, options.input, "--dump-ir-filter=" + options.dumpIrFilter,
             "nothing is dumped; possible: with --dump-ir=DIR");
  if (!options.stopAfter.empty() && stageIndex(options.stopAfter) < 0) {
    std::string nearest = nearestName(options.stopAfter, stageNames());
    driver::report(sink, "W0108", options.input,
                   "found --stop-after=" + options.stopAfter + "; possible: " +
                       (nearest.empty() ? llvm::join(stageNames(), ", ") : nearest));
  }
  return sink.errorCount() == before;
}
