//===- ImportStage.cpp - a file becomes a module -------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/ComputeInF64.h"
#include "compiler/driver/DeviceKinds.h"
#include "compiler/driver/Formats.h"
#include "compiler/driver/Frontends.h"
#include "compiler/driver/Messages.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/driver/Specs.h"
#include "compiler/driver/Training.h"
#include "compiler/frontend/NearestName.h"
#include "dialects/weir/NodeName.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace weir;
using namespace weir::driver;

/// Whether each name that was given a shape or a size is one of `offered`.
static bool areBound(Work &work, const std::set<std::string> &offered) {
  const Options &options = work.options;
  DiagnosticSink &sink = work.sink;
  std::vector<std::string> names(offered.begin(), offered.end());
  auto refuse = [&](const std::string &flag, const std::string &name) {
    NearestName nearest(name);
    for (const std::string &one : offered)
      nearest.show(one);
    driver::report(
        sink, "W0114", options.input,
        "found --" + flag + "=" + name + "=…, and nothing of that name; possible: " +
            (names.empty() ? "no name in a file of this kind" : llvm::join(names, ", ")) +
            nearest.question());
    return false;
  };
  bool good = true;
  for (auto &[name, shape] : options.shapes)
    good &= offered.count(name) || refuse("shape", name);
  for (auto &[name, size] : options.dims)
    good &= offered.count(name) || refuse("dim", name);
  return good;
}

/// Whether --keep-f32 names nodes of the model; warns of what has no effect.
static bool checkPrecision(Work &work) {
  const Options &options = work.options;
  DiagnosticSink &sink = work.sink;
  bool rounds = roundsToBf16(options, work.target());
  // In training it says what products are computed in, on every processor.
  bool isTrained = !options.training.loss.empty();
  if (options.precision == "bf16" && !rounds && !isTrained)
    noEffect(sink, options.input, "--precision=bf16",
             llvm::Twine(work.target().cpu) +
                 " gains nothing by products of bf16; possible: a --cpu that does, as znver4 or "
                 "sapphirerapids");
  if (options.precision == "tf32" && llvm::none_of(acceleratorBackends(), [&](auto *backend) {
        return !targetsFor(*backend, options).empty();
      }))
    noEffect(sink, options.input, "--precision=tf32",
             "code is made for no device that has it; possible: with such a device");
  if (options.keepF32.empty())
    return true;
  if (options.precision != "bf16" && options.precision != "f16")
    noEffect(sink, options.input, "--keep-f32",
             "without --precision=bf16 all nodes keep f32; possible: with it");
  llvm::SetVector<llvm::StringRef> names;
  work.module->walk([&](Operation *op) { collectNodeNames(op->getLoc(), names); });
  bool good = true;
  for (const std::string &asked : options.keepF32) {
    if (names.contains(asked))
      continue;
    NearestName nearest(asked);
    for (llvm::StringRef name : names)
      nearest.show(name);
    driver::report(sink, "W0118", options.input,
                   "found --keep-f32=" + asked + ", and no node of that name" + nearest.question());
    good = false;
  }
  return good;
}

/// Whether the model's format has all flags of formats that were given.
static bool hasFlags(Work &work, const Frontend &frontend) {
  const Options &options = work.options;
  DiagnosticSink &sink = work.sink;
  bool good = true;
  std::vector<FrontendFlag> own = frontend.flags();
  for (const FrontendFlag &flag : frontendFlags()) {
    auto given = options.frontendFlags.find(flag.flag);
    if (given == options.frontendFlags.end() || given->second.empty() ||
        llvm::any_of(own, [&](const FrontendFlag &one) { return one.flag == flag.flag; }))
      continue;
    driver::report(sink, "W0114", options.input,
                   "found " + flag.flag + "=" + llvm::join(given->second, ",") + ", and no " +
                       flag.of + "; possible: none for a file of " + frontend.name());
    good = false;
  }
  return good;
}

bool ImportStage::run(Work &work) {
  const Options &options = work.options;
  DiagnosticSink &sink = work.sink;
  MlirMessages messages(*work.context, sink, options.input);
  messages.setDefaultCode(isOwnIr(options.input) ? "W0110" : defaultCode);
  llvm::sys::fs::file_status status;
  if (std::error_code code = llvm::sys::fs::status(options.input, status)) {
    driver::report(sink, "W0101", options.input, "cannot be read: " + code.message());
    return false;
  }
  std::string why;
  const Frontend *frontend = formatOf(options.input, why);
  if (!frontend) {
    driver::report(sink, "W0102", options.input, why);
    return false;
  }
  ImportOptions imports;
  if (!importOptions(options, sink, imports) || !prepareTraining(options, sink, imports) ||
      !hasFlags(work, *frontend))
    return false;
  std::set<std::string> offered;
  imports.offered = &offered;
  imports.files = &work.files;
  work.log.setStage(name);
  work.log.begin({});
  work.module = frontend->import(*work.context, options.input, imports, sink);
  if (!work.module || sink.hasErrors()) {
    if (!sink.hasErrors())
      driver::report(sink, "W0199", options.input, "the import failed without saying why");
    return false;
  }
  if (failed(verify(*work.module)) || !areBound(work, offered) || !checkPrecision(work) ||
      !markTraining(options, sink, *work.module))
    return false;

  work.nextStage = 1;
  if (auto done = (*work.module)->getAttrOfType<StringAttr>(stageAttribute)) {
    int index = stageIndex(done.getValue());
    if (index < 0) {
      driver::report(sink, "W0115", options.input,
                     "found weir.stage = \"" + done.getValue() +
                         "\"; possible: " + llvm::join(stageNames(), ", "));
      return false;
    }
    work.nextStage = index + 1;
  } else {
    (*work.module)->setAttr(stageAttribute, StringAttr::get(work.context.get(), name));
  }
  describeTarget(work);
  if (options.computeInF64 && !computeInF64(*work.module)) {
    driver::report(sink, "W0154", options.input,
                   "found an operation that does not compute in f64; possible: another reference");
    return false;
  }
  if (work.isLogging)
    work.log.end(name, *work.module);
  if (work.stopStage < work.nextStage - 1) {
    driver::report(sink, "W0108", options.input,
                   "found --stop-after=" + options.stopAfter +
                       " for a module that is past it; possible: a stage from " +
                       llvm::StringRef(stages()[work.nextStage - 1]->name) + " on");
    return false;
  }
  return true;
}
