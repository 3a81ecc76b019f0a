//===- TensorFlowImporter.cpp - from TensorFlow files to weir -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Read, resolve, and import one function an entry: its feeds become arguments,
// its fetches results, and only what the fetches need is imported.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/NearestName.h"
#include "compiler/frontend/tensorflow/Datasets.h"
#include "compiler/frontend/tensorflow/EntryImporter.h"
#include "compiler/frontend/tensorflow/GraphImporter.h"
#include "compiler/frontend/tensorflow/GraphReader.h"
#include "compiler/frontend/tensorflow/InitialState.h"
#include "compiler/frontend/tensorflow/InlineCalls.h"
#include "compiler/frontend/tensorflow/TensorFlowFrontend.h"
#include "dialects/weir/NodeName.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <filesystem>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

namespace {

class ModuleImporter {
public:
  ModuleImporter(MLIRContext &context, const std::string &file, const ImportOptions &options,
                 DiagnosticSink &sink)
      : context(context), file(file), options(options), sink(sink) {}

  OwningOpRef<ModuleOp> fromGraphDef();
  OwningOpRef<ModuleOp> fromSavedModel(const std::string &folder);

private:
  /// Imports one entry as a function of the module. False after errors in `into`.
  bool entry(const Source &source, const Versions &versions, const Graph &graph,
             const Library &library, const EntrySpec &spec, const Signature *signature,
             DiagnosticSink &into);
  /// `graph`, or what it is without calls where an entry names nodes of functions.
  const Graph &graphOf(const EntrySpec &spec, const Graph &graph, const Library &library);
  OwningOpRef<ModuleOp> finish();
  void everySignature(const Graph &graph, const Library &library);
  void error(const char *code, std::string message) {
    sink.report({code, file, "", "", std::move(message), {}});
  }

  MLIRContext &context;
  const std::string &file;
  const ImportOptions &options;
  DiagnosticSink &sink;
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<SavedModel> model;
  std::unique_ptr<InitialState> state; ///< of a SavedModel
  std::map<std::string, RankedTensorType> variableTypes;
  std::optional<InlinedGraph> inlined; ///< of the file's graph, where an entry wants it
  bool learnsTypes = false;            ///< assignments may still change `variableTypes`
  bool hasLearned = false;
};

} // namespace

const Graph &ModuleImporter::graphOf(const EntrySpec &spec, const Graph &graph,
                                     const Library &library) {
  auto hasAll = [&](const Graph &in) {
    auto has = [&](const auto &named) { return in.find(parseTensorName(named.value).node) >= 0; };
    return llvm::all_of(spec.feeds, has) && llvm::all_of(spec.fetches, has);
  };
  if (hasAll(graph))
    return graph;
  DiagnosticSink unheard;
  if (!inlined)
    inlined = inlineCalls(graph, library, file, unheard);
  return inlined ? inlined->graph : graph; // names in the report, too
}

bool ModuleImporter::entry(const Source &source, const Versions &versions, const Graph &whole,
                           const Library &library, const EntrySpec &spec,
                           const Signature *signature, DiagnosticSink &into) {
  const Graph &graph = graphOf(spec, whole, library);
  std::optional<EntryPlan> plan = planEntry(graph, versions, spec, signature, options, file, into);
  if (!plan)
    return false;
  EntryContext shared{context,
                      file,
                      options,
                      *module,
                      model.get(),
                      state.get(),
                      learnsTypes ? &variableTypes : nullptr};
  EntryImporter importer(shared, source, graph, library, *plan, into);
  bool good = importer.import();
  hasLearned |= importer.hasLearned();
  return good;
}

OwningOpRef<ModuleOp> ModuleImporter::finish() {
  if (sink.hasErrors())
    return nullptr;
  dropUnusedFunctions(*module);
  // Whatever an operation's verifier finds, its node is named.
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    sink.report({"W0224",
                 file,
                 nodeName(diagnostic.getLocation()).str(),
                 "",
                 "found " + diagnostic.str(),
                 {}});
    return success();
  });
  if (succeeded(verify(*module)))
    return std::move(module);
  if (!sink.hasErrors())
    error("W0224", "found a graph that does not verify");
  return nullptr;
}

OwningOpRef<ModuleOp> ModuleImporter::fromGraphDef() {
  module = ModuleOp::create(NameLoc::get(StringAttr::get(&context, file)));
  std::unique_ptr<Source> source = Source::open(file, TextMessage::GraphDef, sink);
  if (!source)
    return nullptr;
  GraphDef def;
  std::string reason;
  if (!readGraphDef(source->bytes(), def, reason)) {
    error("W0202", reason);
    return nullptr;
  }
  if (!checkVersions(def.versions, file, sink))
    return nullptr;
  Library library(def, file, sink);
  std::optional<Graph> graph = buildGraph(def, library, file, sink);
  if (!graph)
    return nullptr;
  std::vector<EntrySpec> entries = options.entries;
  if (entries.empty())
    entries.emplace_back();
  // What an assignment says of a variable, every entry must know.
  static constexpr int kMaxRounds = 8;
  learnsTypes = true;
  for (int round = 1;; ++round) {
    DiagnosticSink said;
    hasLearned = false;
    for (const EntrySpec &spec : entries)
      entry(*source, def.versions, *graph, library, spec, nullptr, said);
    if (hasLearned && round < kMaxRounds) {
      module->getBody()->clear();
      continue;
    }
    for (const weir::Diagnostic &diagnostic : said.diagnostics())
      sink.report(diagnostic);
    if (hasLearned && !sink.hasErrors())
      error("W0251", "found variables whose types change with each assignment");
    return finish();
  }
}

OwningOpRef<ModuleOp> ModuleImporter::fromSavedModel(const std::string &folder) {
  module = ModuleOp::create(NameLoc::get(StringAttr::get(&context, file)));
  model = readSavedModel(folder, valuesOf(options.flags, tagsFlag), sink);
  if (!model)
    return nullptr;
  Library library(model->graph, file, sink);
  std::optional<Graph> graph = buildGraph(model->graph, library, file, sink);
  if (!graph)
    return nullptr;
  state = std::make_unique<InitialState>(context, *model, *graph, library, file);
  state->read(*module, options, sink);
  if (options.entries.empty()) {
    everySignature(*graph, library);
    return finish();
  }
  for (const EntrySpec &spec : options.entries) {
    std::string key = spec.signature;
    if (key.empty() && model->signature(spec.name))
      key = spec.name;
    if (key.empty() && spec.fetches.empty())
      key = spec.name.empty() ? "serving_default" : spec.name;
    const Signature *signature = model->signature(key);
    if (!signature && !key.empty()) {
      NearestName nearest(key);
      std::vector<std::string> notes;
      for (const Signature &one : model->signatures) {
        if (one.key.starts_with("__saved_model_"))
          continue;
        nearest.show(one.key);
        notes.push_back("there is \"" + one.key + "\"");
      }
      weir::Diagnostic missing{
          "W0213",         file, "", "", "found no signature \"" + key + "\"" + nearest.question(),
          std::move(notes)};
      sink.report(std::move(missing));
      continue;
    }
    entry(*model->source, model->graph.versions, *graph, library, spec, signature, sink);
  }
  for (func::FuncOp function : module->getOps<func::FuncOp>())
    for (weir::Diagnostic &missing : readsWithoutValue(function, file))
      sink.report(std::move(missing));
  return finish();
}

/// Every signature that can be an entry: one that cannot (often: fed by serialized
/// examples) is named in a warning, unless it is the one that people serve.
void ModuleImporter::everySignature(const Graph &graph, const Library &library) {
  struct Refused {
    std::string signature;
    std::vector<weir::Diagnostic> why;
  };
  std::vector<Refused> refused;
  // What people serve is the program's first entry.
  std::vector<Signature> signatures = model->signatures;
  auto served = llvm::find_if(
      signatures, [](const Signature &signature) { return signature.key == "serving_default"; });
  if (served != signatures.end())
    std::rotate(signatures.begin(), served, served + 1);
  bool any = false, isServed = true;
  auto refuse = [&](const std::string &signature, std::vector<weir::Diagnostic> why) {
    if (signature == "serving_default")
      isServed = false;
    refused.push_back({signature, std::move(why)});
  };
  for (const Signature &signature : signatures) {
    if (signature.key.starts_with("__saved_model_"))
      continue;
    DiagnosticSink one;
    if (!entry(*model->source, model->graph.versions, graph, library, EntrySpec(), &signature, one))
      refuse(signature.key, one.diagnostics());
  }
  // All signatures of a session share what they assign.
  for (func::FuncOp function : llvm::make_early_inc_range(module->getOps<func::FuncOp>())) {
    auto name = function->getAttrOfType<StringAttr>("weir.entry");
    std::vector<weir::Diagnostic> missing = readsWithoutValue(function, file);
    if (!name)
      continue;
    if (missing.empty()) {
      any = true;
    } else {
      refuse(name.str(), std::move(missing));
      function.erase();
    }
  }
  for (Refused &one : refused)
    for (weir::Diagnostic &diagnostic : one.why) {
      diagnostic.notes.push_back("signature \"" + one.signature + "\" is left out");
      if (any && isServed)
        diagnostic.severity = Severity::Warning;
      sink.report(std::move(diagnostic));
    }
  if (!any && !sink.hasErrors())
    error("W0213", "expected a signature, or --entry with --feed and --fetch, got neither");
}

OwningOpRef<ModuleOp> weir::tf::importModel(MLIRContext &context, const std::string &path,
                                            const ImportOptions &options, DiagnosticSink &sink) {
  context.loadDialect<WeirDialect, func::FuncDialect>();
  ModuleImporter importer(context, path, options, sink);
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) {
    std::vector<std::string> tags = valuesOf(options.flags, tagsFlag);
    if (tags.empty())
      return importer.fromGraphDef();
    sink.report({"W0114",
                 path,
                 "",
                 "",
                 "found " + std::string(tagsFlag) + "=" + llvm::join(tags, ",") +
                     ", and no SavedModel; possible: none for a file of one graph",
                 {}});
    return nullptr;
  }
  std::string folder = findSavedModel(path);
  if (folder.empty()) {
    sink.report(
        {"W0201", path, "", "", "found no saved_model.pb or saved_model.pbtxt in the folder", {}});
    return nullptr;
  }
  return importer.fromSavedModel(folder);
}
