//===- EntryImporter.cpp - one entry becomes a function -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/EntryImporter.h"
#include "compiler/frontend/tensorflow/RuntimeAxes.h"
#include "dialects/weir/Training.h"
#include "passes/gradient/Gradient.h"

#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

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

EntryImporter::EntryImporter(const EntryContext &shared, const Source &source, const Graph &graph,
                             const Library &library, const EntryPlan &plan, DiagnosticSink &into)
    : shared(shared), graph(graph), plan(plan), into(into), errors(into.errorCount()),
      b(&shared.context), importer(source, library, shared.file, into, &shared.context),
      structure(graph), body{structure, nullptr, "", nullptr} {}

bool EntryImporter::import() {
  if (!makeFunction())
    return false;
  llvm::scope_exit dropFunction([&] { function->erase(); });
  prepare();
  ScopedDiagnosticHandler handler(&shared.context, [&](mlir::Diagnostic &diagnostic) {
    importer.noteReason(diagnostic.str());
    return success();
  });
  bindFeeds();
  collectGoals();
  importer.current = &body;
  checkFrames();
  if (hasErrors())
    return false;
  importer.current = nullptr;
  std::vector<Branches> taken;
  importer.import(body, 0, goals, targets, scope, b, &taken);
  importer.current = &body;
  requireTaken(taken);
  addResults();
  importer.current = nullptr;
  if (hasErrors())
    return false;
  dropFunction.release();
  finish();
  return true;
}

/// An empty function with an argument for each feed.
bool EntryImporter::makeFunction() {
  if (shared.module.lookupSymbol(plan.name)) {
    into.report(
        {"W0212", shared.file, "", "", "found two entries of name \"" + plan.name + "\"", {}});
    return false;
  }
  b.setInsertionPointToEnd(shared.module.getBody());
  for (const PlannedFeed &feed : plan.feeds) {
    types.push_back(tensorType(&shared.context, feed.type, feed.shape));
    if (types.back())
      continue;
    into.report({"W0253",
                 shared.file,
                 "",
                 "",
                 "found feed \"" + feed.name + "\" of type " + std::string(typeName(feed.type)) +
                     ", which weir does not have",
                 {}});
    return false;
  }
  function = func::FuncOp::create(b, NameLoc::get(b.getStringAttr(plan.name)), plan.name,
                                  b.getFunctionType(types, {}));
  function->setAttr("weir.entry", b.getStringAttr(plan.name));
  b.setInsertionPointToStart(function.addEntryBlock());
  return true;
}

/// What differentiates needs to see all operations.
bool EntryImporter::isDifferentiated() const {
  return shared.options.training ||
         llvm::any_of(plan.feeds, [](const PlannedFeed &feed) { return feed.isSeed; }) ||
         llvm::any_of(plan.fetches, [](const PlannedFetch &fetch) { return !fetch.ys.empty(); });
}

void EntryImporter::prepare() {
  importer.options = &shared.options;
  importer.customOperations = &shared.options.customOperations;
  importer.isDifferentiated = isDifferentiated();
  if (!importer.isDifferentiated)
    importer.module = shared.module;
  // Without variables, constants are what was trained.
  importer.marksWeights =
      shared.options.training && !shared.state && llvm::none_of(graph.nodes, [](const Node &node) {
        return node.op == "VarHandleOp" || node.op == "Variable" || node.op == "VariableV2";
      });
  if (shared.variableTypes)
    importer.variableTypes = shared.variableTypes;
  if (!shared.state)
    return;
  importer.initialValue = [this](const std::string &name, const Node &node) {
    InitialValue value = shared.state->variable(name, node, into);
    if (shared.options.training)
      value.isTrained = shared.state->isTrained(node);
    return value;
  };
  importer.initialEntries = [this](const std::string &name, const Node &node) {
    return shared.state->table(name, node, into);
  };
}

void EntryImporter::bindFeeds() {
  for (auto [i, feed] : llvm::enumerate(plan.feeds)) {
    Value argument = function.getArgument(i);
    function.setArgAttr(i, "weir.name", b.getStringAttr(feed.name));
    if (feed.isSeed) {
      seeds[{feed.edge.node, feed.edge.port}] = argument;
      continue;
    }
    scope.set(feed.edge, Imported(argument));
    // A node whose output is fed still runs where a control edge asks for it;
    // placeholders have nothing to run.
    llvm::StringRef op = graph.nodes[feed.edge.node].op;
    if (op.starts_with("Placeholder") || op == "_Arg")
      scope.ran.insert(feed.edge.node);
  }
  if (shared.model)
    setAssets(*shared.model, graph, scope, b);
}

void EntryImporter::collectGoals() {
  for (const PlannedFetch &fetch : plan.fetches) {
    if (fetch.shape)
      importer.fetchShapes[{fetch.edge.node, fetch.edge.port}] = *fetch.shape;
    if (fetch.isTarget)
      targets.push_back(fetch.edge.node);
    else
      goals.push_back(fetch.edge);
    goals.insert(goals.end(), fetch.ys.begin(), fetch.ys.end());
  }
}

/// A value inside a loop comes more than once.
void EntryImporter::checkFrames() {
  for (const PlannedFetch &fetch : plan.fetches) {
    uint32_t frame = structure.frameOf[fetch.edge.node];
    const Node &node = graph.nodes[fetch.edge.node];
    if (frame != 0 && !(isExit(node) && structure.frames[frame].parent == 0))
      (void)importer.report(node, "W0224",
                            "found a fetch inside a loop, where its value "
                            "comes more than once");
  }
}

/// What lies on a branch that was not taken has no value: the run says so.
void EntryImporter::requireTaken(llvm::ArrayRef<Branches> taken) {
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
      AssertOp::create(b, importer.location(node), TokenType::get(&shared.context), isTaken,
                       b.getStringAttr("what is fetched has no value: it lies "
                                       "on a branch that was not taken"),
                       b.getI64IntegerAttr(3), ValueRange());
    }
}

/// The gradient of the fetch's ys by `value`; null after an error.
Value EntryImporter::gradientOf(const PlannedFetch &fetch, const Imported &value,
                                NodeImport &reader) {
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
  return failed(gradients) ? Value() : gradients->front();
}

/// The value of a fetch; null after an error.
Value EntryImporter::fetched(const PlannedFetch &fetch) {
  Imported value = importer.lookup(fetch.edge, scope);
  const Node &node = graph.nodes[fetch.edge.node];
  if (value.kind == Imported::Kind::None) {
    if (!hasErrors())
      (void)importer.report(node, "W0224",
                            "found no value for what is fetched; it may lie "
                            "on one branch only, or inside a loop");
    return {};
  }
  NodeImport reader(importer, node, {value}, b, importer.location(node));
  Value tensor;
  if (!fetch.ys.empty()) {
    tensor = gradientOf(fetch, value, reader);
  } else {
    // What has a rank only in the run is fetched as a sequence of one tensor.
    Value box = asBox(reader, 0);
    tensor = box ? box : reader.in(0);
    // A reshape to as many sizes as the run says.
    auto reshaped = tensor ? tensor.getDefiningOp<ReshapeOp>() : ReshapeOp();
    if (reshaped && !isa<RankedTensorType>(tensor.getType()) &&
        isa<RankedTensorType>(reshaped->getOperand(0).getType()))
      tensor = boxOf(reader, reshaped->getOperand(0), reshaped->getOperand(1));
  }
  if (!tensor || (fetch.shape && failed(checkShape(reader, tensor, *fetch.shape))))
    return {};
  return tensor;
}

void EntryImporter::addResults() {
  for (const PlannedFetch &fetch : plan.fetches) {
    Value tensor = fetch.isTarget ? Value() : fetched(fetch);
    if (!tensor)
      continue;
    if (fetch.isFurther)
      further.push_back(results.size());
    results.push_back(tensor);
    names.push_back(b.getStringAttr(fetch.name));
  }
}

void EntryImporter::finish() {
  // What is fetched may be what a given gradient is of, which goes.
  auto end = func::ReturnOp::create(b, function.getLoc(), results);
  if (!shared.options.training)
    dropGivenGradients(function.getBody().front());
  noteDevices(importer, function);
  function.setType(b.getFunctionType(types, end.getOperandTypes()));
  for (auto [i, name] : llvm::enumerate(names))
    function.setResultAttr(i, "weir.name", name);
  for (size_t i : further)
    function.setResultAttr(i, furtherAttr, b.getUnitAttr());
}
