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
#include "compiler/frontend/tensorflow/Entry.h"
#include "compiler/frontend/tensorflow/GraphImporter.h"
#include "compiler/frontend/tensorflow/GraphReader.h"
#include "compiler/frontend/tensorflow/InitialState.h"
#include "compiler/frontend/tensorflow/RegisteredGradients.h"
#include "compiler/frontend/tensorflow/RuntimeAxes.h"
#include "compiler/frontend/tensorflow/TensorFlowFrontend.h"
#include "dialects/weir/NodeName.h"
#include "dialects/weir/Training.h"
#include "passes/gradient/Gradient.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/ScopeExit.h"
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
  bool entry(const Source &source, const Versions &versions, const Graph &graph,
             const Library &library, const EntrySpec &spec, const Signature *signature,
             DiagnosticSink &into);
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
  bool learnsTypes = false; ///< assignments may still change `variableTypes`
  bool hasLearned = false;
};

} // namespace

/// Which devices nodes ask for, for placement.
static void noteDevices(const GraphImporter &importer, func::FuncOp function) {
  Builder b(function.getContext());
  SmallVector<NamedAttribute> requests, colocations;
  for (auto &[node, device] : importer.deviceRequests)
    requests.push_back(b.getNamedAttr(node, b.getStringAttr(device)));
  for (auto &[node, others] : importer.colocations)
    colocations.push_back(b.getNamedAttr(
        node, b.getStrArrayAttr(SmallVector<StringRef>(others.begin(), others.end()))));
  if (!requests.empty())
    function->setAttr("weir.device_requests", b.getDictionaryAttr(requests));
  if (!colocations.empty())
    function->setAttr("weir.colocations", b.getDictionaryAttr(colocations));
}

/// What stands for an asset's path in the graph becomes the path that it has here.
static void setAssets(const SavedModel &model, const Graph &graph, GraphImporter::Scope &scope,
                      OpBuilder &b) {
  for (auto &[tensor, path] : model.assets) {
    TensorName name = parseTensorName(tensor);
    int64_t at = graph.find(name.node);
    if (at < 0 || name.port < 0)
      continue;
    Edge edge{static_cast<uint32_t>(at), static_cast<uint32_t>(name.port)};
    if (scope.find(edge))
      continue;
    Location loc = NameLoc::get(b.getStringAttr(llvm::StringRef(name.node)));
    scope.set(edge, Imported(TensorBuilder(b, loc).stringScalar(path)));
    scope.ran.insert(edge.node);
  }
}

/// Whether a value can have the shape that the user says.
static LogicalResult checkShape(NodeImport &n, Value value, const Shape &shape) {
  Ints sizes = n.sizes(value);
  bool fits = sizes.size() == shape.dims.size();
  for (size_t i = 0; fits && i < sizes.size(); ++i)
    fits = shape.dims[i] < 0 || ShapedType::isDynamic(sizes[i]) || sizes[i] == shape.dims[i];
  if (fits)
    return success();
  std::string found;
  for (int64_t size : sizes)
    found += (found.empty() ? "" : "x") +
             (ShapedType::isDynamic(size) ? std::string("?") : std::to_string(size));
  return n.g.report(n.node, "W0253",
                    "found a fetch of shape " + (found.empty() ? "scalar" : found) +
                        ", for which another one is given");
}

/// Imports one entry as a function of the module. False after errors in `into`.
bool ModuleImporter::entry(const Source &source, const Versions &versions, const Graph &graph,
                           const Library &library, const EntrySpec &spec,
                           const Signature *signature, DiagnosticSink &into) {
  size_t errors = into.errorCount();
  std::optional<EntryPlan> plan = planEntry(graph, versions, spec, signature, options, file, into);
  if (!plan)
    return false;
  if (module->lookupSymbol(plan->name)) {
    into.report({"W0212", file, "", "", "found two entries of name \"" + plan->name + "\"", {}});
    return false;
  }
  OpBuilder b(&context);
  b.setInsertionPointToEnd(module->getBody());
  SmallVector<Type> types;
  for (const PlannedFeed &feed : plan->feeds) {
    types.push_back(tensorType(&context, feed.type, feed.shape));
    if (!types.back()) {
      into.report({"W0253",
                   file,
                   "",
                   "",
                   "found feed \"" + feed.name + "\" of type " + std::string(typeName(feed.type)) +
                       ", which weir does not have",
                   {}});
      return false;
    }
  }
  Location loc = NameLoc::get(b.getStringAttr(plan->name));
  auto function = func::FuncOp::create(b, loc, plan->name, b.getFunctionType(types, {}));
  function->setAttr("weir.entry", b.getStringAttr(plan->name));
  Block *block = function.addEntryBlock();
  b.setInsertionPointToStart(block);
  llvm::scope_exit dropFunction([&] { function->erase(); });

  GraphImporter importer(source, library, file, into, &context);
  importer.options = &options;
  importer.customOperations = &options.customOperations;
  // What differentiates needs to see all operations.
  bool isDifferentiated =
      options.training ||
      llvm::any_of(plan->feeds, [](const PlannedFeed &feed) { return feed.isSeed; }) ||
      llvm::any_of(plan->fetches, [](const PlannedFetch &fetch) { return !fetch.ys.empty(); });
  importer.isDifferentiated = isDifferentiated;
  if (!isDifferentiated)
    importer.module = *module;
  // Without variables, constants are what was trained.
  importer.marksWeights =
      options.training && !state && llvm::none_of(graph.nodes, [](const Node &node) {
        return node.op == "VarHandleOp" || node.op == "Variable" || node.op == "VariableV2";
      });
  if (learnsTypes)
    importer.variableTypes = &variableTypes;
  llvm::scope_exit keepLearned([&] { hasLearned |= importer.hasLearned; });
  if (state) {
    importer.initialValue = [&](const std::string &name, const Node &node) {
      InitialValue value = state->variable(name, node, into);
      if (options.training)
        value.isTrained = state->isTrained(node);
      return value;
    };
    importer.initialEntries = [&](const std::string &name, const Node &node) {
      return state->table(name, node, into);
    };
  }
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    importer.noteReason(diagnostic.str());
    return success();
  });
  Structure structure(graph);
  GraphImporter::Body body{structure, nullptr, "", nullptr};
  GraphImporter::Scope scope;
  std::map<std::pair<uint32_t, uint32_t>, Value> seeds; // by y
  for (auto [i, feed] : llvm::enumerate(plan->feeds)) {
    if (feed.isSeed) {
      seeds[{feed.edge.node, feed.edge.port}] = block->getArgument(i);
      function.setArgAttr(i, "weir.name", b.getStringAttr(feed.name));
      continue;
    }
    scope.set(feed.edge, Imported(Value(block->getArgument(i))));
    // A node whose output is fed still runs where a control edge asks for it;
    // placeholders have nothing to run.
    if (graph.nodes[feed.edge.node].op.starts_with("Placeholder") ||
        graph.nodes[feed.edge.node].op == "_Arg")
      scope.ran.insert(feed.edge.node);
    function.setArgAttr(i, "weir.name", b.getStringAttr(feed.name));
  }
  if (model)
    setAssets(*model, graph, scope, b);
  std::vector<Edge> goals;
  std::vector<uint32_t> targets;
  for (const PlannedFetch &fetch : plan->fetches) {
    if (fetch.shape)
      importer.fetchShapes[{fetch.edge.node, fetch.edge.port}] = *fetch.shape;
    if (fetch.isTarget)
      targets.push_back(fetch.edge.node);
    else
      goals.push_back(fetch.edge);
    goals.insert(goals.end(), fetch.ys.begin(), fetch.ys.end());
  }
  importer.current = &body;
  for (const PlannedFetch &fetch : plan->fetches) {
    uint32_t frame = structure.frameOf[fetch.edge.node];
    const Node &node = graph.nodes[fetch.edge.node];
    if (frame != 0 && !(isExit(node) && structure.frames[frame].parent == 0))
      (void)importer.report(node, "W0224",
                            "found a fetch inside a loop, where its value "
                            "comes more than once");
  }
  if (into.errorCount() > errors)
    return false;
  importer.current = nullptr;
  std::vector<Branches> taken;
  importer.import(body, 0, goals, targets, scope, b, &taken);

  SmallVector<Value> results;
  SmallVector<Attribute> names;
  SmallVector<size_t> further;
  importer.current = &body;
  // What lies on a branch that was not taken has no value: the run says so.
  for (auto [edge, branches] : llvm::zip(goals, taken))
    for (auto &[predicate, side] : branches) {
      const Node &node = graph.nodes[edge.node];
      NodeImport t(importer, node, {}, b, importer.location(node));
      Imported condition = importer.lookup({predicate.first, predicate.second}, scope);
      if (condition.kind != Imported::Kind::Tensor)
        continue;
      Value isTaken = side == 1   ? condition.value
                      : side == 0 ? t.logicalNot(condition.value)
                                  : t.scalar(b.getI1Type(), 0);
      AssertOp::create(b, importer.location(node), TokenType::get(&context), isTaken,
                       b.getStringAttr("what is fetched has no value: it lies "
                                       "on a branch that was not taken"),
                       b.getI64IntegerAttr(3), ValueRange());
    }
  for (const PlannedFetch &fetch : plan->fetches) {
    if (fetch.isTarget)
      continue;
    Imported value = importer.lookup(fetch.edge, scope);
    const Node &node = graph.nodes[fetch.edge.node];
    if (value.kind == Imported::Kind::None) {
      if (into.errorCount() == errors)
        (void)importer.report(node, "W0224",
                              "found no value for what is fetched; it may lie "
                              "on one branch only, or inside a loop");
      continue;
    }
    NodeImport reader(importer, node, {value}, b, importer.location(node));
    Value tensor;
    if (!fetch.ys.empty()) {
      SmallVector<Value> ys, weights;
      for (Edge y : fetch.ys) {
        NodeImport of(importer, graph.nodes[y.node], {importer.lookup(y, scope)}, b,
                      importer.location(graph.nodes[y.node]));
        if (Value one = of.in(0)) {
          ys.push_back(one);
          weights.push_back(seeds[{y.node, y.port}]);
        }
      }
      auto gradients = buildGradients(ys, weights, {value}, reader);
      tensor = failed(gradients) ? Value() : gradients->front();
    } else {
      // What has a rank only in the run is fetched as a sequence of one tensor.
      Value box = boxedInput(reader, 0);
      tensor = box ? box : reader.in(0);
      // A reshape to as many sizes as the run says.
      auto reshaped = tensor ? tensor.getDefiningOp<ReshapeOp>() : ReshapeOp();
      if (reshaped && !isa<RankedTensorType>(tensor.getType()) &&
          isa<RankedTensorType>(reshaped->getOperand(0).getType()))
        tensor = boxOf(reader, reshaped->getOperand(0), reshaped->getOperand(1));
    }
    if (!tensor || (fetch.shape && failed(checkShape(reader, tensor, *fetch.shape))))
      continue;
    if (fetch.isFurther)
      further.push_back(results.size());
    results.push_back(tensor);
    names.push_back(b.getStringAttr(fetch.name));
  }
  importer.current = nullptr;
  if (into.errorCount() > errors)
    return false;
  if (!options.training)
    dropGivenGradients(*block);
  noteDevices(importer, function);
  dropFunction.release();
  func::ReturnOp::create(b, loc, results);
  function.setType(b.getFunctionType(types, ValueRange(results).getTypes()));
  for (auto [i, name] : llvm::enumerate(names))
    function.setResultAttr(i, "weir.name", name);
  for (size_t i : further)
    function.setResultAttr(i, furtherAttr, b.getUnitAttr());
  return true;
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
    if (name && !missing.empty()) {
      refuse(name.str(), std::move(missing));
      function.erase();
    }
    any |= name && missing.empty();
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
