//===- Entry.cpp - feeds and fetches of an ONNX model ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/Entry.h"
#include "compiler/frontend/NearestName.h"
#include "compiler/frontend/TensorBuilder.h"
#include "compiler/frontend/onnx/GraphOrder.h"
#include "compiler/frontend/onnx/ModelReader.h"
#include "compiler/frontend/onnx/Sequences.h"

#include <unordered_map>
#include <unordered_set>

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

class Planner {
public:
  Planner(const Model &model, const EntrySpec &spec, const ImportOptions &options,
          MLIRContext &context, const std::string &file, DiagnosticSink &sink)
      : graph(model.graph), spec(spec), options(options), b(&context), file(file), sink(sink) {}

  std::optional<EntryPlan> run();

private:
  void index();
  void feed(const FeedSpec &feed);
  void feedMap(const FeedSpec &feed, const TypeInfo &declared, std::string_view value);
  void fetch(const FetchSpec &fetch);
  void select();
  void unknown(const std::string &name, const char *what);
  RankedTensorType tensorType(const FeedSpec &feed, const TypeInfo &declared, PlannedFeed &planned);
  void report(int code, std::string text) {
    failed = true;
    sink.report(diagnose(file, nullptr, {code, std::move(text)}));
  }

  const Graph &graph;
  const EntrySpec &spec;
  const ImportOptions &options;
  Builder b;
  const std::string &file;
  DiagnosticSink &sink;
  EntryPlan plan;
  bool failed = false; ///< a feed or fetch has been reported
  std::unordered_set<std::string_view> constants;
  std::unordered_map<std::string_view, const TypeInfo *> types;
  std::unordered_map<std::string_view, size_t> producers;
};

void Planner::index() {
  for (const Tensor &tensor : graph.initializers)
    constants.insert(tensor.name);
  for (const SparseTensor &tensor : graph.sparseInitializers)
    constants.insert(tensor.values.name);
  for (const auto *list : {&graph.inputs, &graph.outputs, &graph.values})
    for (const ValueInfo &value : *list)
      types.emplace(value.name, &value.type);
  for (auto [i, node] : llvm::enumerate(graph.nodes))
    for (std::string_view output : node.outputs)
      producers.emplace(output, i);
}

/// An element type by the name users write.
Type parseElementType(MLIRContext *context, const std::string &name) {
  for (int number = 1; number <= 26; ++number)
    if (dataTypeName(static_cast<DataType>(number)) == name)
      return elementType(context, static_cast<DataType>(number));
  return {};
}

RankedTensorType Planner::tensorType(const FeedSpec &feed, const TypeInfo &declared,
                                     PlannedFeed &planned) {
  const TypeInfo *type = &declared;
  std::string name = quoted(feed.value);
  bool sequence = type->kind == TypeInfo::Kind::Sequence,
       optional = type->kind == TypeInfo::Kind::Optional;
  if ((sequence || optional) && infoOf(b.getContext(), *type)) {
    planned.nested = type;
    // An optional has at most one element.
    planned.attributes.push_back(b.getNamedAttr("weir.dims", b.getStrArrayAttr({""})));
    planned.attributes.push_back(b.getNamedAttr("weir.lower", b.getI64ArrayAttr({0})));
    planned.attributes.push_back(
        b.getNamedAttr("weir.upper", b.getI64ArrayAttr({optional ? 1 : -1})));
    return boxesType(b.getContext());
  }
  if (type->kind != TypeInfo::Kind::Tensor &&
      (type->kind != TypeInfo::Kind::Unknown || feed.dtype.empty())) {
    report(352,
           "expected input " + name +
               " to be a tensor, a sequence or optional of tensors, or a map, got another kind");
    return {};
  }
  Type element = feed.dtype.empty() ? elementType(b.getContext(), type->elementType)
                                    : parseElementType(b.getContext(), feed.dtype);
  if (!element) {
    report(352,
           "found input " + name + " of type " +
               (feed.dtype.empty() ? std::string(dataTypeName(type->elementType)) : feed.dtype) +
               ", which weir does not have");
    return {};
  }
  const std::vector<int64_t> *given = feed.shape ? &*feed.shape : nullptr;
  for (const std::string &key : {feed.name, feed.value})
    options.offer(key);
  for (const Dim &dim : type->shape)
    options.offer(std::string(dim.symbol));
  for (const std::string &key : {feed.name, feed.value})
    if (auto bound = options.shapes.find(key); bound != options.shapes.end())
      given = &bound->second;
  if (!given && !type->hasShape) {
    report(321, "expected a shape of input " + name + ", which --shape=" + feed.name +
                    "=… gives, got none");
    return {};
  }
  SmallVector<int64_t> shape, lower, upper;
  SmallVector<StringRef> symbols;
  size_t rank = given ? given->size() : type->shape.size();
  bool open = false;
  for (size_t i = 0; i < rank; ++i) {
    // A shape that the caller gives is right where the file's says otherwise.
    Dim dim;
    if (type->hasShape && type->shape.size() == rank)
      dim = type->shape[i];
    if (given && (*given)[i] >= 0)
      dim.size = (*given)[i];
    int64_t low = 0, high = -1;
    if (dim.size < 0) {
      auto bound = options.dims.find(std::string(dim.symbol));
      if (bound != options.dims.end()) {
        low = bound->second.lower;
        high = bound->second.upper;
        if (low == high)
          dim.size = low;
      }
    }
    bool fixed = dim.size >= 0;
    open |= !fixed;
    shape.push_back(fixed ? dim.size : ShapedType::kDynamic);
    symbols.push_back(fixed ? StringRef() : StringRef(dim.symbol.data(), dim.symbol.size()));
    lower.push_back(fixed ? dim.size : low);
    upper.push_back(fixed ? dim.size : high);
  }
  if (open) {
    planned.attributes.push_back(b.getNamedAttr("weir.dims", b.getStrArrayAttr(symbols)));
    planned.attributes.push_back(b.getNamedAttr("weir.lower", b.getI64ArrayAttr(lower)));
    planned.attributes.push_back(b.getNamedAttr("weir.upper", b.getI64ArrayAttr(upper)));
  }
  if (!frontend::canBe(shape)) {
    report(352, "found input " + name + " of more than 2^48 elements");
    return {};
  }
  return RankedTensorType::get(shape, element);
}

/// A name that is none of the graph's.
void Planner::unknown(const std::string &name, const char *what) {
  NearestName nearest(name);
  for (auto &[known, type] : types)
    nearest.show(known);
  for (auto &[known, node] : producers)
    nearest.show(known);
  report(321, "found no value " + quoted(name) + " to " + what +
                  "; expected the name of an input of the graph, or of a node's output" +
                  nearest.question());
}

/// A map is fed as its keys and its values, vectors of one size.
void Planner::feedMap(const FeedSpec &feed, const TypeInfo &declared, std::string_view value) {
  Type key = elementType(b.getContext(), declared.elementType);
  bool isTensor = declared.element && declared.element->kind == TypeInfo::Kind::Tensor;
  Type element = isTensor ? elementType(b.getContext(), declared.element->elementType) : Type();
  if (!key || !element || feed.shape || !feed.dtype.empty())
    return report(352, "input " + quoted(feed.value) +
                           " is a map: expected numbers or strings, with the shape and type of the "
                           "file, got another kind");
  std::string name = feed.name.empty() ? feed.value : feed.name, size = name + ".size";
  for (auto part : {PlannedFeed::Part::Keys, PlannedFeed::Part::Values}) {
    bool isKeys = part == PlannedFeed::Part::Keys;
    PlannedFeed planned{};
    planned.value = value;
    planned.part = part;
    planned.type = RankedTensorType::get({ShapedType::kDynamic}, isKeys ? key : element);
    planned.attributes = {
        b.getNamedAttr("weir.name", b.getStringAttr(name + (isKeys ? ".keys" : ".values"))),
        b.getNamedAttr("weir.dims", b.getStrArrayAttr({size})),
        b.getNamedAttr("weir.lower", b.getI64ArrayAttr({0})),
        b.getNamedAttr("weir.upper", b.getI64ArrayAttr({-1}))};
    plan.feeds.push_back(std::move(planned));
  }
}

void Planner::feed(const FeedSpec &feed) {
  PlannedFeed planned{};
  static const TypeInfo undeclared;
  auto type = types.find(feed.value);
  const TypeInfo *declared = type != types.end() ? type->second : &undeclared;
  std::string_view value = feed.value;
  if (type != types.end()) {
    value = type->first; // the view into the file outlives the options
  } else if (auto made = producers.find(feed.value); made != producers.end()) {
    value = made->first;
  } else if (auto constant = constants.find(feed.value); constant != constants.end()) {
    value = *constant;
  } else {
    return unknown(feed.value, "feed");
  }
  planned.value = value;
  if (declared->kind == TypeInfo::Kind::Map)
    return feedMap(feed, *declared, value);
  planned.type = tensorType(feed, *declared, planned);
  if (!planned.type)
    return;
  std::string name = feed.name.empty() ? feed.value : feed.name;
  planned.attributes.insert(planned.attributes.begin(),
                            b.getNamedAttr("weir.name", b.getStringAttr(name)));
  plan.feeds.push_back(std::move(planned));
}

void Planner::fetch(const FetchSpec &fetch) {
  std::string_view value;
  if (auto made = producers.find(fetch.value); made != producers.end())
    value = made->first;
  else if (auto type = types.find(fetch.value); type != types.end())
    value = type->first;
  else if (auto constant = constants.find(fetch.value); constant != constants.end())
    value = *constant;
  else
    return unknown(fetch.value, "fetch");
  if (fetch.shape)
    return report(321, "found a shape given for fetch " + quoted(fetch.value) +
                           "; an ONNX model says the shapes of what it computes");
  plan.fetches.push_back({value, fetch.name.empty() ? fetch.value : fetch.name});
}

void Planner::select() {
  std::unordered_set<std::string_view> fed;
  for (const PlannedFeed &feed : plan.feeds)
    if (!fed.insert(feed.value).second && feed.part != PlannedFeed::Part::Values)
      report(321, "found value " + quoted(feed.value) + " fed twice");
  std::vector<bool> needed(graph.nodes.size());
  std::vector<std::string_view> work;
  for (const PlannedFetch &fetch : plan.fetches)
    work.push_back(fetch.value);
  std::unordered_set<std::string_view> inputs, seen;
  for (const ValueInfo &input : graph.inputs)
    inputs.insert(input.name);
  while (!work.empty()) {
    std::string_view name = work.back();
    work.pop_back();
    if (name.empty() || fed.count(name) || !seen.insert(name).second)
      continue;
    auto made = producers.find(name);
    if (made == producers.end()) {
      // An input that could not become a feed has been reported.
      if (inputs.count(name) && !constants.count(name) && !failed)
        report(321, "found input " + quoted(name) + " needed for a fetch, but not fed");
      continue;
    }
    if (needed[made->second])
      continue;
    needed[made->second] = true;
    const Node &node = graph.nodes[made->second];
    work.insert(work.end(), node.inputs.begin(), node.inputs.end());
    for (const NodeAttribute &attr : node.attributes)
      for (const std::unique_ptr<Graph> &inner : attr.graphs)
        for (std::string_view free : freeNames(*inner))
          work.push_back(free);
  }
  for (size_t i = 0; i < needed.size(); ++i)
    if (needed[i])
      plan.needed.push_back(&graph.nodes[i]);
}

std::optional<EntryPlan> Planner::run() {
  size_t errors = sink.errorCount();
  index();
  plan.name = spec.name.empty() ? "main" : spec.name;
  for (const FeedSpec &one : spec.feeds)
    feed(one);
  if (spec.feeds.empty())
    for (const ValueInfo &input : graph.inputs)
      if (!constants.count(input.name)) {
        std::string name(input.name);
        feed({name, name, std::nullopt, ""});
      }
  for (const FetchSpec &one : spec.fetches)
    fetch(one);
  if (spec.fetches.empty())
    for (const ValueInfo &output : graph.outputs)
      fetch({std::string(output.name), std::string(output.name)});
  // What goes by the name of a result is that.
  for (const FetchSpec &one : spec.further) {
    size_t before = plan.fetches.size();
    if (llvm::none_of(plan.fetches, [&](auto &fetch) { return fetch.name == one.name; }))
      fetch(one);
    if (plan.fetches.size() > before)
      plan.fetches.back().isFurther = true;
  }
  if (plan.fetches.empty())
    report(321, "expected an output, or a --fetch of any value, got neither");
  select();
  return sink.errorCount() == errors ? std::optional(std::move(plan)) : std::nullopt;
}

} // namespace

std::optional<EntryPlan> weir::onnx::planEntry(const Model &model, const EntrySpec &spec,
                                               const ImportOptions &options, MLIRContext &context,
                                               const std::string &file, DiagnosticSink &sink) {
  return Planner(model, spec, options, context, file, sink).run();
}
