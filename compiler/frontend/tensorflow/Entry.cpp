//===- Entry.cpp - feeds and fetches of a TensorFlow graph ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Entry.h"
#include "compiler/frontend/NearestName.h"
#include "compiler/frontend/TensorBuilder.h"
#include "compiler/frontend/tensorflow/Structure.h"
#include "compiler/frontend/tensorflow/TensorFlowFrontend.h"

#include <algorithm>
#include <set>

using namespace weir;
using namespace weir::tf;

namespace {

class Planner {
public:
  Planner(const Graph &graph, const Versions &versions, const EntrySpec &spec,
          const Signature *signature, const ImportOptions &options, const std::string &file,
          DiagnosticSink &sink)
      : graph(graph), versions(versions), spec(spec), signature(signature), options(options),
        file(file), sink(sink) {}

  std::optional<EntryPlan> run();

private:
  std::optional<Edge> resolve(const std::string &value, const char *what);
  bool isGiven(const SignatureTensor &tensor, const char *what);
  void feed(const FeedSpec &feed, const SignatureTensor *declared);
  void fetch(const std::string &value, const std::string &name,
             const std::vector<int64_t> *shape = nullptr);
  void defaultFeeds();
  void refuseFedFetches();
  void defaultFetches(bool leftOvers);
  bool shapeOf(Edge edge, Shape &shape) const;
  void error(const char *code, std::string message, std::vector<std::string> notes = {}) {
    sink.report({code, file, "", "", std::move(message), std::move(notes)});
  }

  const Graph &graph;
  const Versions &versions;
  const EntrySpec &spec;
  const Signature *signature;
  const ImportOptions &options;
  const std::string &file;
  DiagnosticSink &sink;
  EntryPlan plan;
};

} // namespace

static std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

// Old graphs wrote an unknown shape of a placeholder as that of a scalar.
static constexpr int64_t kFirstProducerWithUnknownShapes = 24;

static bool isPlaceholder(const Node &node) {
  return node.op == "Placeholder" || node.op == "PlaceholderV2";
}

/// How users call an edge: port 0 goes without saying.
static std::string defaultName(const Graph &graph, Edge edge) {
  std::string name(graph.nodes[edge.node].name);
  return edge.port ? name + ":" + std::to_string(edge.port) : name;
}

/// What the graph says of an edge's shape. False where it says nothing.
bool Planner::shapeOf(Edge edge, Shape &shape) const {
  const Node &node = graph.nodes[edge.node];
  const AttrValue *value = nullptr;
  if (node.op == "Const") {
    value = node.attr("value");
    if (value && value->tensor) {
      shape = value->tensor->shape;
      return true;
    }
  }
  if (isPlaceholder(node) || node.op == "PlaceholderWithDefault") {
    value = node.attr("shape");
    if (value && value->shape &&
        !(value->shape->dims.empty() && versions.producer < kFirstProducerWithUnknownShapes)) {
      shape = *value->shape;
      if (!shape.unknownRank)
        return true;
    }
    // It may be a scalar's after all; a user who knows better says so.
    if (value && value->shape && value->shape->dims.empty() && !value->shape->unknownRank) {
      shape = *value->shape;
      return true;
    }
  }
  value = node.attr("_output_shapes");
  if (value && value->list && edge.port < value->list->shapes.size()) {
    shape = value->list->shapes[edge.port];
    return !shape.unknownRank;
  }
  return false;
}

/// The edge of a name, or nothing after a report.
std::optional<Edge> Planner::resolve(const std::string &value, const char *what) {
  TensorName name = parseTensorName(value);
  int64_t at = graph.find(name.node);
  if (at < 0) {
    // Names that hold it, as those of an outer scope do.
    std::vector<std::string> notes;
    NearestName nearest(std::string_view(name.node));
    for (const Node &node : graph.nodes)
      nearest.show(node.name);
    for (const Node &node : graph.nodes) {
      if (notes.size() == 3)
        break;
      if (node.name.find(name.node) != std::string_view::npos)
        notes.push_back("there is a node " + quoted(node.name) + " (" + std::string(node.op) + ")");
    }
    error("W0212", "found no node " + quoted(name.node) + " to " + what + nearest.question(),
          std::move(notes));
    return std::nullopt;
  }
  const Node &node = graph.nodes[at];
  if (name.port >= 0 && (node.def || node.callee) &&
      name.port >= static_cast<int64_t>(node.outputTypes.size()) &&
      !(node.outputTypes.empty() && name.port == 0)) {
    error("W0212", "found no output " + std::to_string(name.port) + " of node " +
                       quoted(name.node) + " (" + std::string(node.op) + ") to " + what +
                       "; it has " + std::to_string(node.outputTypes.size()));
    return std::nullopt;
  }
  return Edge{static_cast<uint32_t>(at), static_cast<uint32_t>(std::max<int64_t>(name.port, 0))};
}

/// Whether the signature says which tensor of the graph one of its own is; reports.
bool Planner::isGiven(const SignatureTensor &tensor, const char *what) {
  if (!tensor.tensor.empty())
    return true;
  error("W0212", "expected a tensor, dense, sparse or composite, for " + std::string(what) + " " +
                     quoted(tensor.name) + " of signature " + quoted(signature->key) +
                     ", got none");
  return false;
}

static DataType typeOfSpec(const std::string &name) {
  static const std::pair<const char *, DataType> names[] = {
      {"f32", DataType::Float},     {"f64", DataType::Double},    {"f16", DataType::Half},
      {"bf16", DataType::BFloat16}, {"i8", DataType::Int8},       {"i16", DataType::Int16},
      {"i32", DataType::Int32},     {"i64", DataType::Int64},     {"u8", DataType::UInt8},
      {"u16", DataType::UInt16},    {"u32", DataType::UInt32},    {"u64", DataType::UInt64},
      {"bool", DataType::Bool},     {"c64", DataType::Complex64}, {"c128", DataType::Complex128},
      {"string", DataType::String}};
  for (auto &[known, type] : names)
    if (name == known)
      return type;
  return typeOfName(name);
}

/// What stands in `d(…)`; nothing where it does not.
static std::optional<std::string> differentialOf(const std::string &text) {
  if (!text.starts_with("d(") || !text.ends_with(")"))
    return std::nullopt;
  return text.substr(2, text.size() - 3);
}

void Planner::feed(const FeedSpec &spec, const SignatureTensor *declared) {
  auto seed = differentialOf(spec.value);
  std::optional<Edge> edge = resolve(seed ? *seed : spec.value, "feed");
  if (!edge)
    return;
  PlannedFeed feed;
  feed.edge = *edge;
  feed.isSeed = seed.has_value();
  feed.name = !spec.name.empty() ? spec.name : seed ? spec.value : defaultName(graph, *edge);
  for (const PlannedFeed &other : plan.feeds)
    if (other.edge == feed.edge && other.isSeed == feed.isSeed)
      return error("W0212", "found " + quoted(spec.value) + " fed twice");
  const Node &node = graph.nodes[edge->node];
  if (!spec.dtype.empty()) {
    feed.type = typeOfSpec(spec.dtype);
    if (feed.type == DataType::Invalid)
      return error("W0253", "expected a type such as f32, i64 or bool for feed " +
                                quoted(feed.name) + ", got " + quoted(spec.dtype));
    DataType own =
        edge->port < node.outputTypes.size() ? node.outputTypes[edge->port] : DataType::Invalid;
    // Quantised types go by those that hold them.
    if (own != DataType::Invalid && own != feed.type && !typeName(own).starts_with('q'))
      return error("W0253", "found type " + quoted(spec.dtype) + " for feed " + quoted(feed.name) +
                                ", which the graph has as " + std::string(typeName(own)));
  } else if (edge->port < node.outputTypes.size()) {
    feed.type = node.outputTypes[edge->port];
  }
  bool known = shapeOf(*edge, feed.shape);
  if (declared && !declared->shape.unknownRank) {
    if (!known)
      feed.shape = declared->shape;
    else if (declared->shape.dims.size() == feed.shape.dims.size())
      for (size_t i = 0; i < feed.shape.dims.size(); ++i)
        if (declared->shape.dims[i] >= 0)
          feed.shape.dims[i] = declared->shape.dims[i];
    known = true;
  }
  const std::vector<int64_t> *given = spec.shape ? &*spec.shape : nullptr;
  for (const std::string &key : {feed.name, spec.value})
    options.offer(key);
  for (const std::string &key : {feed.name, spec.value})
    if (auto bound = options.shapes.find(key); bound != options.shapes.end())
      given = &bound->second;
  if (given) {
    // -1 leaves a dimension as the file has it.
    std::vector<int64_t> dims = *given;
    if (known && dims.size() == feed.shape.dims.size())
      for (size_t i = 0; i < dims.size(); ++i)
        if (dims[i] < 0)
          dims[i] = feed.shape.dims[i];
    feed.shape.unknownRank = false;
    feed.shape.dims = std::move(dims);
    known = true;
  }
  if (std::vector<int64_t> sizes = feed.shape.dims; known) {
    for (int64_t &size : sizes)
      size = size < 0 ? mlir::ShapedType::kDynamic : size;
    if (!frontend::canBe(sizes))
      return error("W0253", "feed " + quoted(feed.name) + " is of more than 2^48 elements");
  }
  if (feed.type == DataType::Invalid)
    return error("W0253", "the type of feed " + quoted(feed.name) +
                              " is not known; give it by --feed=" + spec.value + ":SHAPE:TYPE");
  if (!known)
    return error("W0253", "the rank of feed " + quoted(feed.name) +
                              " is not known; give its shape by --shape=" + feed.name +
                              "=1x2x3 (? for a "
                              "dimension that varies)");
  plan.feeds.push_back(std::move(feed));
}

void Planner::fetch(const std::string &value, const std::string &name,
                    const std::vector<int64_t> *shape) {
  // d(y,y)/d(x)
  if (size_t middle = value.find(")/d("); value.starts_with("d(") && middle != std::string::npos) {
    auto ys = differentialOf(value.substr(0, middle + 1)),
         x = differentialOf(value.substr(middle + 2));
    if (!x)
      return error("W0212", "expected a fetch like d(y:0)/d(x:0), got " + quoted(value));
    PlannedFetch fetch;
    fetch.name = name.empty() ? value : name;
    for (size_t at = 0; at <= ys->size();) {
      size_t comma = std::min(ys->find(',', at), ys->size());
      std::optional<Edge> y = resolve(ys->substr(at, comma - at), "differentiate");
      if (!y)
        return;
      fetch.ys.push_back(*y);
      at = comma + 1;
    }
    std::optional<Edge> edge = resolve(*x, "differentiate by");
    if (!edge)
      return;
    fetch.edge = *edge;
    plan.fetches.push_back(std::move(fetch));
    return;
  }
  std::optional<Edge> edge = resolve(value, "fetch");
  if (!edge)
    return;
  const Node &node = graph.nodes[edge->node];
  PlannedFetch fetch;
  fetch.edge = *edge;
  fetch.isTarget =
      value.starts_with('^') || (node.outputTypes.empty() && (node.def || node.callee));
  if (node.op == "_Retval") {
    fetch.edge = node.inputs[0];
    fetch.isTarget = false;
  }
  fetch.name = name.empty() ? defaultName(graph, *edge) : name;
  if (shape)
    fetch.shape.emplace().dims = *shape;
  plan.fetches.push_back(std::move(fetch));
}

/// Results of the graph as such: what nothing in it uses.
void Planner::defaultFetches(bool leftOvers) {
  std::vector<bool> isUsed(graph.nodes.size());
  bool isFunction = false;
  for (const Node &node : graph.nodes) {
    isFunction |= node.op == "_Retval";
    for (Edge edge : node.inputs)
      isUsed[edge.node] = true;
    for (uint32_t control : node.controls)
      isUsed[control] = true;
  }
  Structure structure(graph);
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const Node &node = graph.nodes[i];
    std::string name(node.name);
    // What a loop computes and does not let out is no result.
    if (structure.frameOf[i] != 0 &&
        !(isExit(node) && structure.frames[structure.frameOf[i]].parent == 0))
      continue;
    if (isFunction) {
      if (node.op == "_Retval")
        fetch(name, "");
      continue;
    }
    if (isUsed[i] || node.op == "NoOp")
      continue;
    // Constants and inputs that nothing uses are results only where there are
    // no others.
    if (!leftOvers && (node.op == "Const" || isPlaceholder(node)))
      continue;
    if (node.outputTypes.empty())
      fetch(name, "");
    for (size_t port = 0; port < node.outputTypes.size(); ++port)
      if (node.outputTypes[port] != DataType::Resource &&
          node.outputTypes[port] != DataType::Variant)
        fetch(name + ":" + std::to_string(port), "");
  }
}

/// Placeholders that the fetches need, in the file's order.
void Planner::defaultFeeds() {
  std::vector<bool> needed(graph.nodes.size());
  std::vector<uint32_t> work;
  for (const PlannedFetch &fetch : plan.fetches) {
    work.push_back(fetch.edge.node);
    for (Edge y : fetch.ys)
      work.push_back(y.node);
  }
  while (!work.empty()) {
    uint32_t at = work.back();
    work.pop_back();
    if (needed[at])
      continue;
    needed[at] = true;
    for (Edge edge : graph.nodes[at].inputs)
      work.push_back(edge.node);
    for (uint32_t control : graph.nodes[at].controls)
      work.push_back(control);
  }
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const Node &node = graph.nodes[i];
    bool isArg =
        node.op == "_Arg" && !node.outputTypes.empty() && node.outputTypes[0] != DataType::Resource;
    if (needed[i] && (isPlaceholder(node) || isArg)) {
      FeedSpec spec;
      spec.value = std::string(node.name);
      feed(spec, nullptr);
    }
  }
}

/// Where the user asks for what TensorFlow's runtime does.
void Planner::refuseFedFetches() {
  std::vector<std::string> said = valuesOf(options.flags, fedFetchesFlag);
  if (said.empty() || said.back() == "give")
    return;
  if (said.back() != "refuse")
    return error("W0112", "expected give or refuse for " + std::string(fedFetchesFlag) + ", got " +
                              said.back());
  for (const PlannedFetch &fetch : plan.fetches)
    for (const PlannedFeed &feed : plan.feeds)
      if (feed.edge == fetch.edge && fetch.ys.empty() && !fetch.isTarget && !feed.isSeed)
        error("W0212", "found " + quoted(fetch.name) + " both fed and fetched");
}

std::optional<EntryPlan> Planner::run() {
  size_t errors = sink.errorCount();
  plan.name = !spec.name.empty() ? spec.name : signature ? signature->key : "main";
  for (const FetchSpec &one : spec.fetches)
    fetch(one.value, one.name, one.shape ? &*one.shape : nullptr);
  if (spec.fetches.empty()) {
    if (signature) {
      for (const SignatureTensor &tensor : signature->outputs)
        if (isGiven(tensor, "output"))
          fetch(tensor.tensor, tensor.name);
    } else {
      defaultFetches(false);
      if (plan.fetches.empty())
        defaultFetches(true);
    }
  }
  // What goes by the name of a result is that.
  for (const FetchSpec &one : spec.further) {
    size_t before = plan.fetches.size();
    if (llvm::none_of(plan.fetches, [&](auto &fetch) { return fetch.name == one.name; }))
      fetch(one.value, one.name);
    if (plan.fetches.size() > before)
      plan.fetches.back().isFurther = true;
  }
  for (const FeedSpec &one : spec.feeds)
    feed(one, nullptr);
  if (spec.feeds.empty()) {
    if (signature) {
      for (const SignatureTensor &tensor : signature->inputs) {
        if (!isGiven(tensor, "input"))
          continue;
        FeedSpec one;
        one.value = tensor.tensor;
        one.name = tensor.name;
        feed(one, &tensor);
      }
    } else {
      defaultFeeds();
    }
  }
  refuseFedFetches();
  if (plan.fetches.empty() && sink.errorCount() == errors)
    error("W0212",
          "expected a --fetch of any node's output, got none, and no node without readers");
  if (sink.errorCount() > errors)
    return std::nullopt;
  return std::move(plan);
}

std::optional<EntryPlan> weir::tf::planEntry(const Graph &graph, const Versions &versions,
                                             const EntrySpec &spec, const Signature *signature,
                                             const ImportOptions &options, const std::string &file,
                                             DiagnosticSink &sink) {
  return Planner(graph, versions, spec, signature, options, file, sink).run();
}
