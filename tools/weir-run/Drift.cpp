//===- Drift.cpp - how a training leaves its reference --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-run/Drift.h"

#include "tools/common/Compare.h"
#include "tools/common/Files.h"
#include "tools/common/Inputs.h"
#include "tools/common/LoadProgram.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace weir;
using namespace weir::tools;

namespace {

/// One of the two programs, with its state.
struct Side {
  std::unique_ptr<LoadedModel> model;
  std::unique_ptr<Session> session;
  int entry = -1;
  std::vector<HostTensor> inputs;
  Feeder feeder;
  NamedTensors fetches;

  bool load(const driver::Options &options, const std::string &asked, InputSet &given,
            const StepFlags &steps, DiagnosticSink &sink);
  bool run(const driver::Options &options, int64_t step, DiagnosticSink &sink);
  /// Fetches, and variables of floats.
  NamedTensors values();
};

struct Row {
  std::string value;
  Distance distance;
  int64_t nans = 0;
};

} // namespace

bool Side::load(const driver::Options &options, const std::string &asked, InputSet &given,
                const StepFlags &steps, DiagnosticSink &sink) {
  model = loadProgram(options, sink);
  if (!model)
    return false;
  RunStatus status;
  weir_session_options how = WEIR_SESSION_OPTIONS_INIT;
  how.threads = options.threads;
  session = Session::create(*model, how, status);
  if (!session) {
    sink.report({"W0706", options.input, "", "", "no session can be made: " + status.text(), {}});
    return false;
  }
  entry = session->findEntry(asked.empty() ? "train_step" : asked);
  if (entry < 0 && asked.empty())
    entry = 0;
  if (entry < 0) {
    sink.report({"W0708", options.input, "", "", "found no entry \"" + asked + "\"", {}});
    return false;
  }
  const LoadedEntry &own = session->entries()[size_t(entry)];
  return given.checkNames(options.input, session->entries(), {own.name}, sink) &&
         given.collect(options.input, own, inputs, sink) &&
         feeder.prepare(steps, options.input, own, inputs, sink);
}

bool Side::run(const driver::Options &options, int64_t step, DiagnosticSink &sink) {
  fetches.clear();
  RunStatus status = session->run(entry, feeder.of(step), fetches);
  if (!status.ok())
    sink.report({"W0704",
                 options.input,
                 "",
                 "",
                 "step " + std::to_string(step + 1) + " failed: " + status.text(),
                 {}});
  return status.ok();
}

NamedTensors Side::values() {
  NamedTensors all = fetches;
  for (const std::string &name : session->variables()) {
    HostTensor value;
    if (session->getVariable(name, value).ok() && isFloat(value.dtype))
      all.emplace_back(name, std::move(value));
  }
  return all;
}

static std::vector<Row> rowsOf(Side &own, Side &reference) {
  std::vector<Row> rows;
  NamedTensors other = reference.values();
  for (const auto &[name, tensor] : own.values()) {
    const HostTensor *want = findTensor(other, name);
    std::optional<Distance> distance = want ? distanceOf(tensor, *want) : std::nullopt;
    if (distance)
      rows.push_back({name, *distance, numbersOf(tensor).nans});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row &a, const Row &b) {
    return std::pair(a.nans, a.distance.relative) > std::pair(b.nans, b.distance.relative);
  });
  return rows;
}

static llvm::json::Object jsonOf(int64_t step, const std::vector<Row> &rows) {
  auto number = [](double value) {
    return std::isfinite(value) ? llvm::json::Value(value) : llvm::json::Value(nullptr);
  };
  llvm::json::Array values;
  for (const Row &row : rows)
    values.push_back(llvm::json::Object{{"value", row.value},
                                        {"relative_error", number(row.distance.relative)},
                                        {"largest_error", number(row.distance.largest)},
                                        {"nans", row.nans}});
  return llvm::json::Object{{"step", step}, {"values", std::move(values)}};
}

bool weir::tools::printDrift(const driver::Options &options, const NumericsOptions &numerics,
                             const StepFlags &steps, const std::string &entry,
                             DiagnosticSink &sink) {
  Reference kind = numerics.reference.value_or(Reference{});
  auto refuse = [&](const char *number, const std::string &text) {
    sink.report({number, options.input, "", "", text, {}});
    return false;
  };
  if (kind.kind != Reference::Kind::F64 && kind.kind != Reference::Kind::Unoptimised)
    return refuse("W0154", "found --steps with the reference " + kind.name() +
                               ", which runs once; possible: f64, O0");
  InputSet inputs;
  for (const std::string &flag : numerics.inputs)
    if (!inputs.add(flag, sink))
      return false;
  Side own, reference;
  if (!own.load(options, entry, inputs, steps, sink))
    return false;
  driver::Options plain = options;
  plain.passLimit = 0;
  plain.plantedFault.clear();
  plain.computeInF64 = kind.kind == Reference::Kind::F64;
  DiagnosticSink unheard;
  bool isThere = reference.load(plain, entry, inputs, steps, numerics.reference ? sink : unheard);
  if (!isThere && !numerics.reference) {
    kind.kind = Reference::Kind::Unoptimised;
    plain.computeInF64 = false;
    reference = Side();
    isThere = reference.load(plain, entry, inputs, steps, sink);
  }
  if (!isThere)
    return false;

  constexpr int64_t mostLines = 10, mostValues = 3;
  int64_t every = std::max<int64_t>((steps.steps + mostLines - 1) / mostLines, 1);
  llvm::json::Array drift;
  std::printf("%10s %12s  %s\n", "step", ("err " + kind.name()).c_str(), "furthest");
  bool good = true;
  for (int64_t step = 0; step < steps.steps && good; ++step) {
    if (!own.run(options, step, sink) || !reference.run(plain, step, sink))
      return false;
    bool isLast = step + 1 == steps.steps;
    if ((step + 1) % every && !isLast && step && !numerics.stopAtNan)
      continue;
    std::vector<Row> rows = rowsOf(own, reference);
    std::string furthest;
    char text[64];
    for (size_t i = 0; i < rows.size() && i < mostValues; ++i) {
      std::snprintf(text, sizeof(text), " %.3g", rows[i].distance.relative);
      furthest += (i ? ", " : "") + rows[i].value + text;
    }
    if (!((step + 1) % every) || isLast || !step)
      std::printf("%10lld %12.3g  %s\n", static_cast<long long>(step + 1),
                  rows.empty() ? 0.0 : rows[0].distance.relative, furthest.c_str());
    drift.push_back(jsonOf(step + 1, rows));
    for (const Row &row : rows) {
      if (numerics.stopAtNan && row.nans)
        good = refuse("W0721", "found " + std::to_string(row.nans) + " NaNs in \"" + row.value +
                                   "\" after step " + std::to_string(step + 1));
      else if (numerics.compareOnly && row.distance.relative > numerics.tolerance)
        good = refuse("W0722", "\"" + row.value + "\" is a relative " +
                                   std::to_string(row.distance.relative) + " off " + kind.name() +
                                   " after step " + std::to_string(step + 1));
      if (!good)
        break;
    }
  }
  std::string error, whole;
  llvm::raw_string_ostream(whole) << llvm::formatv("{0:2}", llvm::json::Value(llvm::json::Object{
                                                                {"model", options.input},
                                                                {"reference", kind.name()},
                                                                {"drift", std::move(drift)}}))
                                  << "\n";
  if (!numerics.json.empty() && !writeFile(numerics.json, whole, error)) {
    sink.report({"W0707", numerics.json, "", "", "cannot be written: " + error, {}});
    return false;
  }
  return good;
}
