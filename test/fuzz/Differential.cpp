//===- Differential.cpp - one graph, compiled in several ways -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/Differential.h"

#include "compiler/driver/Driver.h"
#include "tools/common/Compare.h"
#include "tools/common/LoadedModel.h"
#include "tools/common/Session.h"

#include <fstream>

using namespace weir;
using namespace weir::fuzz;
using namespace weir::tools;

namespace {

/// A graph in one form, compiled and linked.
class CompiledForm {
public:
  CompiledForm(std::string_view choices, const GraphForm &form, int optLevel,
               const DifferentialOptions &options)
      : graph(generateGraph(choices, form, options.steps)) {
    driver::Options compilation;
    compilation.input = options.model;
    if (form.graphDef) {
      compilation.input += ".pb";
      EntrySpec entry;
      for (const auto &[name, error] : graph.errors)
        entry.fetches.push_back({name, name});
      compilation.entries.push_back(entry);
    }
    std::ofstream(compilation.input, std::ios::binary) << graph.model;
    compilation.name = "generated";
    compilation.optLevel = optLevel;
    compilation.sanitizeAddress = options.sanitizeAddress;
    DiagnosticSink sink;
    driver::Result result;
    if (!driver::compile(compilation, sink, result)) {
      problem = "refused without a diagnostic";
      for (const Diagnostic &diagnostic : sink.diagnostics())
        if (diagnostic.severity == Severity::Error) {
          problem = "refused: " + diagnostic.str();
          break;
        }
      return;
    }
    model = LoadedModel::link({result.object.data(), result.object.size()}, result.symbolPrefix,
                              problem);
  }

  /// Runs it once. False, with the reason in `problem`.
  bool run(int threads, NamedTensors &fetches) {
    if (!model)
      return false;
    weir_session_options options = WEIR_SESSION_OPTIONS_INIT;
    options.threads = threads;
    RunStatus status;
    std::unique_ptr<Session> session = Session::create(*model, options, status);
    if (session) {
      std::vector<HostTensor> feeds;
      for (const LoadedTensor &feed : session->entries()[0].feeds)
        if (HostTensor *tensor = findTensor(graph.feeds, feed.name))
          feeds.push_back(*tensor);
      status = session->run(0, feeds, fetches);
    }
    if (!status.ok())
      problem = "run: " + status.text();
    return status.ok();
  }

  GeneratedGraph graph;
  std::string problem;

private:
  std::unique_ptr<LoadedModel> model;
};

} // namespace

/// The first fetch of both that is too different.
static std::string difference(NamedTensors &got, const NamedTensors &want,
                              const std::map<std::string, double> &errors) {
  for (const auto &[name, tensor] : want) {
    HostTensor *other = findTensor(got, name);
    auto error = errors.find(name);
    if (!other || error == errors.end())
      continue;
    Tolerance tolerance;
    tolerance.absolute = error->second;
    if (auto text = compareTensors(*other, tensor, tolerance))
      return "\"" + name + "\": " + *text + " (tolerance " + std::to_string(error->second) + ")";
  }
  return "";
}

std::string weir::fuzz::compareForms(std::string_view choices, const DifferentialOptions &options) {
  GraphForm plain;
  CompiledForm first(choices, plain, 3, options);
  NamedTensors want, got;
  if (!first.run(4, want))
    return "-O3: " + first.problem;
  if (!first.run(1, got))
    return "-O3, one thread: " + first.problem;
  for (const auto &[name, tensor] : want)
    if (HostTensor *other = findTensor(got, name); !other || !(*other == tensor))
      return "\"" + name + "\": other bits with one thread than with four";

  CompiledForm second(choices, plain, 0, options);
  if (!second.run(1, got))
    return "-O0: " + second.problem;
  if (std::string text = difference(got, want, second.graph.errors); !text.empty())
    return "-O0 and -O3: " + text;

  GraphForm open{true, true, true};
  int level = !choices.empty() && (choices.back() & 1) ? 3 : 0;
  std::string name = level ? "open form at -O3" : "open form at -O0";
  CompiledForm third(choices, open, level, options);
  if (!third.run(4, got))
    return name + ": " + third.problem;
  if (std::string text = difference(got, want, third.graph.errors); !text.empty())
    return name + ": " + text;

  GraphForm graphDef;
  graphDef.graphDef = true;
  if (generateGraph(choices, graphDef, options.steps).errors.empty())
    return "";
  CompiledForm fourth(choices, graphDef, 3, options);
  if (!fourth.run(4, got))
    return "as a GraphDef: " + fourth.problem;
  if (std::string text = difference(got, want, fourth.graph.errors); !text.empty())
    return "as a GraphDef: " + text;
  return "";
}
