//===- CompiledCase.cpp - from a case's model to a session ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-conformance/CompiledCase.h"

#include "tools/weir-conformance/PlacedRun.h"

#include <map>

using namespace weir;
using namespace weir::conformance;
using namespace weir::tools;

bool weir::conformance::meansUnsupported(const Diagnostic &diagnostic) {
  int number = 0;
  if (diagnostic.code.size() == 5 && diagnostic.code[0] == 'W')
    number = std::atoi(diagnostic.code.c_str() + 1);
  return (number >= 250 && number <= 299) || (number >= 350 && number <= 399) ||
         (number >= 500 && number <= 599);
}

Verdict weir::conformance::verdictOfRefusal(const DiagnosticSink &sink) {
  const Diagnostic *first = nullptr, *wrong = nullptr;
  for (const Diagnostic &diagnostic : sink.diagnostics()) {
    if (diagnostic.severity != Severity::Error)
      continue;
    if (!first)
      first = &diagnostic;
    if (!wrong && !meansUnsupported(diagnostic))
      wrong = &diagnostic;
  }
  if (!first)
    return Verdict::failed("refused without a diagnostic");
  Diagnostic shown = wrong ? *wrong : *first;
  shown.file.clear();
  shown.notes.clear();
  return {wrong ? Outcome::Failed : Outcome::Unsupported, shown.str(), {}};
}

Verdict weir::conformance::verdictOfRun(const RunStatus &status) {
  std::string reason = "run: " + status.text();
  return status.code == WEIR_UNIMPLEMENTED ? Verdict::unsupported(reason) : Verdict::failed(reason);
}

std::optional<Verdict> weir::conformance::openSession(CompiledCase &compiled) {
  weir_session_options options = WEIR_SESSION_OPTIONS_INIT;
  RunStatus status;
  compiled.session.reset();
  compiled.session = Session::create(*compiled.model, options, status);
  if (!compiled.session)
    return Verdict::failed("session: " + status.text());
  compiled.placedSession.reset();
  if (!compiled.placedModel || randomPlacement().inProcesses)
    return std::nullopt;
  compiled.placedSession = Session::create(*compiled.placedModel, options, status);
  if (!compiled.placedSession)
    return Verdict::failed("session of the placed program: " + status.text());
  return std::nullopt;
}

/// By the type of the device; none: cases run on the host.
static std::map<std::string, std::string> deviceTargets;

void weir::conformance::runOn(const std::string &type, std::string targets) {
  deviceTargets = {{type, std::move(targets)}};
}

static int optLevel = driver::Options().optLevel;

void weir::conformance::optimizeAt(int level) { optLevel = level; }

static std::optional<Verdict> compileOne(driver::Options options,
                                         std::unique_ptr<LoadedModel> &model) {
  options.optLevel = optLevel;
  DiagnosticSink sink;
  driver::Result result;
  if (!driver::compile(options, sink, result))
    return verdictOfRefusal(sink);
  std::string error;
  model = LoadedModel::link(std::string_view(result.object.data(), result.object.size()),
                            result.symbolPrefix, error);
  if (!model)
    return Verdict::failed("link: " + error);
  return std::nullopt;
}

std::optional<Verdict> weir::conformance::compileCase(const driver::Options &options,
                                                      CompiledCase &compiled) {
  compiled.placedModel.reset();
  if (!deviceTargets.empty() && options.deviceNames.empty()) {
    driver::Options placed = options;
    placed.deviceTargets = deviceTargets;
    placed.placer = "on:/device:" + deviceTargets.begin()->first + ":0";
    return compileOne(placed, compiled.model);
  }
  if (auto verdict = compileOne(options, compiled.model))
    return verdict;
  if (!randomPlacement().devices || !options.deviceNames.empty())
    return std::nullopt;
  auto verdict = compileOne(placedAtRandom(options), compiled.placedModel);
  if (verdict)
    return Verdict::failed("placed at random: " + verdict->reason);
  return std::nullopt;
}

std::optional<Verdict> weir::conformance::collectFeeds(const LoadedEntry &entry,
                                                       NamedTensors &given,
                                                       std::vector<HostTensor> &feeds) {
  feeds.clear();
  for (const LoadedTensor &feed : entry.feeds) {
    HostTensor *tensor = findTensor(given, feed.name);
    if (!tensor) {
      std::string have;
      for (auto &[name, value] : given)
        have += (have.empty() ? "" : ", ") + name;
      return Verdict::failed("the program wants feed \"" + feed.name + "\"; the case has " +
                             (have.empty() ? "none" : have));
    }
    feeds.push_back(*tensor);
  }
  return std::nullopt;
}

std::optional<Verdict> weir::conformance::compareAll(NamedTensors &got, const NamedTensors &wanted,
                                                     const Tolerance &tolerance) {
  for (const auto &[name, want] : wanted) {
    HostTensor *tensor = findTensor(got, name);
    if (!tensor)
      return Verdict::failed("the program has no fetch \"" + name + "\"");
    if (auto difference = compareTensors(*tensor, want, tolerance))
      return Verdict::failed("\"" + name + "\": " + *difference);
  }
  return std::nullopt;
}

Verdict weir::conformance::runFailed(const RunStatus &status) {
  std::string reason = "run: " + status.text();
  return status.code == WEIR_UNIMPLEMENTED ? Verdict::unsupported(reason) : Verdict::failed(reason);
}

std::optional<Verdict> weir::conformance::runEntry(CompiledCase &compiled, int entry,
                                                   std::vector<HostTensor> &feeds,
                                                   NamedTensors &got) {
  RunStatus status = compiled.session->run(entry, feeds, got);
  if (!status.ok())
    return runFailed(status);
  return compiled.placedModel ? runPlaced(compiled, entry, feeds, got) : std::nullopt;
}

std::optional<Verdict> weir::conformance::runAndCompare(CompiledCase &compiled, int entry,
                                                        NamedTensors &given,
                                                        const NamedTensors &wanted,
                                                        const Tolerance &tolerance) {
  std::vector<HostTensor> feeds;
  if (auto verdict = collectFeeds(compiled.session->entries()[entry], given, feeds))
    return verdict;
  NamedTensors got;
  if (auto verdict = runEntry(compiled, entry, feeds, got))
    return verdict;
  return compareAll(got, wanted, tolerance);
}

Verdict weir::conformance::runCase(const Case &test, const std::string &temporary) {
  switch (test.layout) {
  case Layout::OnnxTest:
    return runOnnxTest(test);
  case Layout::OnnxLight:
    return runOnnxLight(test);
  case Layout::Model:
    return runModel(test);
  case Layout::Frozen:
    return runFrozen(test);
  case Layout::Operation:
    return runOperation(test);
  case Layout::GraphImport:
    return runGraphImport(test);
  case Layout::System:
    return runSystem(test, temporary);
  }
  return Verdict::failed("unknown layout");
}
