//===- GraphImporter.cpp - ONNX graphs to functions of weir ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/GraphImporter.h"
#include "compiler/frontend/onnx/Microsoft.h"
#include "compiler/frontend/onnx/ModelReader.h"
#include "compiler/frontend/onnx/ModelVerifier.h"
#include "compiler/frontend/onnx/OperandTypes.h"
#include "compiler/frontend/onnx/RankBounds.h"
#include "dialects/weir/Training.h"

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

/// Nodes that one function of the program may hold after inlining. A file of a
/// few kilobytes, whose functions call each other twice each, could ask for
/// more than any memory holds.
static constexpr int64_t maxNodes = 4'000'000;

GraphImporter::GraphImporter(const Model &model, std::string_view bytes, const std::string &file,
                             ExternalFiles &externals, const ConstantHashes &hashes,
                             DiagnosticSink &sink, Block &entry)
    : model(model), bytes(bytes), file(file), externals(externals), hashes(hashes), sink(sink),
      entry(entry), budget(maxNodes) {}

int64_t GraphImporter::opset(std::string_view domain) const {
  const std::vector<OpsetImport> &opsets = calls ? calls->function->opsets : model.opsets;
  for (const OpsetImport &opset : opsets)
    if (opset.domain == domain)
      return opset.version;
  return calls ? model.opsetVersion(domain) : -1;
}

std::string GraphImporter::nameOf(const Node &node) const {
  // Nodes of an inlined function are told apart by the calls that led there.
  std::string name = displayName(node);
  for (const Call *call = calls; call; call = call->outer)
    name = displayName(*call->node) + "/" + name;
  return name;
}

Location GraphImporter::location(const Node &node) {
  auto op = NameLoc::get(StringAttr::get(context(), StringRef(node.op.data(), node.op.size())));
  return NameLoc::get(StringAttr::get(context(), nameOf(node)), op);
}

LogicalResult GraphImporter::report(const Node &node, int code, std::string text) {
  Diagnostic diagnostic = diagnose(file, &node, {code, std::move(text)});
  diagnostic.node = nameOf(node);
  sink.report(std::move(diagnostic));
  return failure();
}

void GraphImporter::warn(const Node &node, int code, std::string text) {
  Diagnostic diagnostic = diagnose(file, &node, {code, std::move(text)});
  diagnostic.node = nameOf(node);
  diagnostic.severity = Severity::Warning;
  sink.report(std::move(diagnostic));
}

const NodeAttribute *GraphImporter::resolve(const NodeAttribute &attr) const {
  const NodeAttribute *found = &attr;
  for (const Call *call = calls; call && !found->reference.empty(); call = call->outer) {
    std::string_view wanted = found->reference;
    found = call->node->attribute(wanted);
    if (!found)
      for (const NodeAttribute &byDefault : call->function->defaults)
        if (byDefault.name == wanted)
          return &byDefault;
    if (!found)
      return nullptr;
  }
  return found;
}

Imported GraphImporter::initializer(const Graph &graph, std::string_view name) {
  auto &known = initializers[&graph];
  if (known.empty())
    for (const Tensor &tensor : graph.initializers)
      known.emplace(tensor.name, &tensor);
  OpBuilder b(context());
  // Constants stand at the function's head: every region sees them.
  if (lastConstant)
    b.setInsertionPointAfter(lastConstant);
  else
    b.setInsertionPointToStart(&entry);
  Location loc = NameLoc::get(StringAttr::get(context(), StringRef(name.data(), name.size())));
  Value value;
  auto found = known.find(name);
  if (found != known.end()) {
    value = constant(*found->second, b, loc, nullptr);
  } else {
    for (const SparseTensor &tensor : graph.sparseInitializers)
      if (tensor.values.name == name)
        value = sparseConstant(tensor, b, loc, nullptr);
  }
  if (!value)
    return {};
  // Scalars belong to formulas.
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (training && value.getDefiningOp<ConstantOp>() && type && type.getRank() > 0 &&
      isa<FloatType>(type.getElementType()))
    value = markWeight(b, loc, value, StringRef(name.data(), name.size()));
  lastConstant = value.getDefiningOp();
  return Imported(value);
}

Imported GraphImporter::lookup(std::string_view name, Scope &scope) {
  for (Scope *at = &scope; at; at = at->outer) {
    auto known = at->names.find(name);
    if (known != at->names.end())
      return known->second;
    if (!at->graph)
      continue;
    Imported constant = initializer(*at->graph, name);
    if (constant.kind == Imported::Kind::None)
      continue;
    at->names.emplace(name, constant);
    return constant;
  }
  return {};
}

void GraphImporter::call(const Function &function, const Node &node, ArrayRef<Imported> inputs,
                         Scope &scope, OpBuilder &b) {
  Scope inner;
  for (size_t i = 0; i < function.inputs.size(); ++i)
    inner.names[function.inputs[i]] = i < inputs.size() ? inputs[i] : Imported();
  Call frame{&function, &node, calls};
  calls = &frame;
  for (const Node &one : function.nodes)
    this->node(one, inner, b);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (i >= function.outputs.size() || node.outputs[i].empty())
      continue;
    Imported value = lookup(function.outputs[i], inner);
    scope.names[node.outputs[i]] = value;
  }
  calls = frame.outer;
}

int64_t GraphImporter::versionOf(const Node &node, std::optional<OperatorSpec> &spec) const {
  int64_t version = opset(node.domain);
  // A domain that is not ONNX's own has one version, imported or not.
  if (version < 0 && !isKnownDomain(node.domain))
    version = 1;
  spec = node.domain == microsoftDomain ? microsoftModel(node.op) : std::nullopt;
  if (!spec)
    spec = findOperator(node.domain, node.op, version);
  return spec ? spec->since : version;
}

void GraphImporter::reportMissing(const Node &node, int64_t version) {
  std::string domain = node.domain.empty() ? "" : " of domain \"" + std::string(node.domain) + "\"";
  (void)report(node, 351,
               "found operator " + std::string(node.op) + domain + " of version " +
                   std::to_string(version) +
                   ", which weir does not import; docs/import-onnx.md lists the operators that it "
                   "does, and --custom-ops adds functions of your own (docs/custom-operations.md)");
}

void GraphImporter::scan(const Node &node) {
  if (--budget < 0)
    return;
  if (const Function *function = findFunction(model, node)) {
    Call frame{function, &node, calls};
    calls = &frame;
    for (const Node &one : function->nodes)
      scan(one);
    calls = frame.outer;
    return;
  }
  std::optional<OperatorSpec> spec;
  int64_t version = versionOf(node, spec);
  bool custom =
      customOperations && findCustomOperation(*customOperations, llvm::StringRef(node.op));
  if (!custom && !findImport(node.domain, node.op, version))
    reportMissing(node, version);
  for (const NodeAttribute &attr : node.attributes)
    for (const std::unique_ptr<Graph> &graph : attr.graphs)
      for (const Node &one : graph->nodes)
        scan(one);
}

/// The value of an attribute as its description wants it; none: it is of another type.
static std::optional<CustomOperation::Constant> constantOf(const NodeAttribute &given,
                                                           StringRef type, MLIRContext *context) {
  CustomOperation::Constant value;
  auto take = [&](bool fits) {
    return fits ? std::optional<CustomOperation::Constant>(value) : std::nullopt;
  };
  switch (given.kind) {
  case AttributeKind::Int:
    value.integers = {given.i};
    return take(type == "int" || type == "bool");
  case AttributeKind::Float:
    value.reals = {given.f};
    return take(type == "float");
  case AttributeKind::String:
    value.texts = {std::string(given.s)};
    return take(type == "string");
  case AttributeKind::Ints:
    value.integers = given.ints;
    return take(type == "ints" || type == "shape");
  case AttributeKind::Floats:
    value.reals.assign(given.floats.begin(), given.floats.end());
    return take(type == "floats");
  case AttributeKind::Strings:
    value.texts.assign(given.strings.begin(), given.strings.end());
    return take(type == "strings");
  case AttributeKind::TypeProto:
  case AttributeKind::TypeProtos: {
    bool known = true;
    for (const TypeInfo &info : given.types) {
      Type element = elementType(context, info.elementType);
      value.texts.push_back(element ? customTypeName(element) : "");
      known &= !value.texts.back().empty();
    }
    return take(known && type == (given.kind == AttributeKind::TypeProto ? "type" : "types"));
  }
  default:
    return std::nullopt;
  }
}

void GraphImporter::callCustom(const CustomOperation &custom, const Node &node,
                               ArrayRef<Imported> inputs, Scope &scope, OpBuilder &b) {
  CustomArguments arguments;
  for (const CustomOperation::Attribute &wanted : custom.attributes) {
    const NodeAttribute *given = node.attribute(wanted.name);
    given = given ? resolve(*given) : nullptr;
    if (given && wanted.type == "tensor" && given->kind == AttributeKind::Tensor) {
      arguments.tensors.push_back(constant(given->tensors[0], b, location(node), &node));
      if (!arguments.tensors.back())
        return;
      continue;
    }
    std::optional<CustomOperation::Constant> value =
        given ? constantOf(*given, wanted.type, context()) : wanted.standard;
    if (!value)
      return (void)report(
          node, 324,
          given ? "found attribute \"" + wanted.name +
                      "\" of another type than its description has; expected " + wanted.type
                : "found no attribute \"" + wanted.name + "\", which its description hands over");
    arguments.add(b, location(node), wanted, *value);
  }
  for (const NodeAttribute &attr : node.attributes)
    if (llvm::none_of(custom.attributes, [&](const CustomOperation::Attribute &one) {
          return one.name == attr.name;
        })) {
      Diagnostic left = diagnose(file, &node,
                                 {324, "found attribute \"" + std::string(attr.name) +
                                           "\", which its description leaves out: the function "
                                           "does not get it"});
      left.severity = Severity::Warning;
      sink.report(std::move(left));
    }
  SmallVector<Value> operands;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    if (input.kind != Imported::Kind::Tensor)
      return (void)report(node, 322,
                          "expected a tensor as input " + std::to_string(i) +
                              ", got none, a sequence or an optional");
    operands.push_back(input.tensor);
  }
  std::string error;
  auto values = buildCustomCall(b, location(node), custom, operands, arguments, error);
  if (failed(values) || values->size() < node.outputs.size())
    return (void)report(node, 322,
                        "found a custom operation that does not fit: " +
                            (error.empty() ? "its description has fewer outputs" : error));
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (!node.outputs[i].empty())
      scope.names[node.outputs[i]] = (*values)[i];
}

bool GraphImporter::takesTypes(const Node &node, const std::optional<OperatorSpec> &spec,
                               ArrayRef<Imported> inputs) {
  // One that is imported as another operator has types of its own.
  std::optional<OperatorSpec> own = spec;
  if (own && own->domain != node.domain)
    own = findOperator(node.domain, node.op, opset(node.domain) < 0 ? 1 : opset(node.domain));
  if (!own)
    return true;
  if (dataTypes.empty())
    for (int number = 1; dataTypeInfo(static_cast<DataType>(number)); ++number)
      if (Type type = elementType(context(), static_cast<DataType>(number)))
        dataTypes[type] = static_cast<DataType>(number);
  std::vector<DataType> types;
  for (const Imported &input : inputs)
    types.push_back(input.kind == Imported::Kind::Tensor && input.tensor
                        ? dataTypes.lookup(getElementTypeOrSelf(input.tensor.getType()))
                        : DataType::Undefined);
  std::optional<std::string> fault = faultyOperandTypes(*own, types);
  return !fault || succeeded(report(node, 323, std::move(*fault)));
}

void GraphImporter::node(const Node &node, Scope &scope, OpBuilder &b) {
  const Function *function = findFunction(model, node);
  std::vector<Imported> inputs;
  for (std::string_view name : node.inputs) {
    inputs.push_back(name.empty() ? Imported() : lookup(name, scope));
    // What an input's node could not give has been reported there. A function's
    // own inputs may have been left out by its caller.
    bool absent = inputs.back().kind == Imported::Kind::None && !name.empty();
    if (absent && !(calls && llvm::is_contained(calls->function->inputs, name)))
      return scan(node);
  }
  if (--budget < 0) {
    if (budget == -1)
      (void)report(node, 316,
                   "found functions that call functions until there are more "
                   "than " +
                       std::to_string(maxNodes) + " nodes");
    return;
  }
  if (function)
    return call(*function, node, inputs, scope, b);
  std::optional<OperatorSpec> spec;
  int64_t version = versionOf(node, spec);
  const OperatorImport *row = findImport(node.domain, node.op, version);
  if (const CustomOperation *custom =
          !row && customOperations
              ? findCustomOperation(*customOperations, llvm::StringRef(node.op))
              : nullptr)
    return callCustom(*custom, node, inputs, scope, b);
  if (!row)
    return reportMissing(node, version);
  // Importers rely on an attribute's having the one value that its type asks for.
  for (const NodeAttribute &attr : node.attributes) {
    if (attr.reference.empty())
      continue;
    const NodeAttribute *value = resolve(attr);
    std::optional<AttributeSpec> known = spec ? spec->attribute(attr.name) : std::nullopt;
    if (value ? !value->reference.empty() || value->kind != attr.kind : known && known->required)
      return (void)report(node, 311,
                          "found attribute \"" + std::string(attr.name) + "\" that refers to \"" +
                              std::string(attr.reference) +
                              "\", which has no value of its type here");
  }
  if (!takesTypes(node, spec, inputs))
    return;
  NodeImport import(*this, node, version, spec, b, location(node));
  import.inputs = std::move(inputs);
  size_t errors = sink.errorCount();
  Scope *outer = current;
  current = &scope;
  reason.clear();
  skipped = false;
  LogicalResult done = row->import(import);
  current = outer;
  // Loops are built until their types stand still: some of it is gone again.
  if (llvm::any_of(node.attributes, [](const NodeAttribute &a) { return !a.graphs.empty(); }))
    sizes.forget();
  if (failed(done)) {
    if (sink.errorCount() == errors && !skipped)
      (void)report(node, 322,
                   "found operands that do not go together" +
                       (reason.empty() ? "" : ": " + reason));
    return;
  }
  import.warnOfUnused();
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty())
      continue;
    // Nobody has seen the value yet, so that its type may still say more.
    Imported &made = import.made[i];
    if (made.kind == Imported::Kind::Tensor &&
        isa_and_nonnull<ReshapeOp>(made.tensor.getDefiningOp()))
      made.tensor.setType(sizes.refined(made.tensor));
    scope.names[node.outputs[i]] = std::move(made);
  }
}

std::optional<int64_t> GraphImporter::declaredRank(std::string_view name) const {
  if (!current || !current->graph)
    return std::nullopt;
  for (const auto *list : {&current->graph->values, &current->graph->outputs})
    for (const ValueInfo &value : *list)
      if (value.name == name && value.type.kind == TypeInfo::Kind::Tensor && value.type.hasShape)
        return static_cast<int64_t>(value.type.shape.size());
  return std::nullopt;
}

std::optional<int64_t> GraphImporter::rankBound(std::string_view name) {
  if (!current || !current->graph)
    return std::nullopt;
  auto [it, isNew] = bounds.try_emplace(current->graph);
  if (isNew)
    it->second = rankBounds(*current->graph);
  auto found = it->second.find(name);
  return found == it->second.end() ? std::nullopt : std::optional(found->second);
}

FailureOr<std::vector<Imported>> GraphImporter::subgraph(const Graph &graph,
                                                         ArrayRef<Imported> inputs, OpBuilder &b) {
  sizes.forget();
  Scope inner;
  inner.outer = current;
  inner.graph = &graph;
  for (size_t i = 0; i < graph.inputs.size() && i < inputs.size(); ++i)
    inner.names[graph.inputs[i].name] = inputs[i];
  for (const Node &one : graph.nodes)
    node(one, inner, b);
  std::vector<Imported> results;
  for (const ValueInfo &output : graph.outputs) {
    results.push_back(lookup(output.name, inner));
    if (results.back().kind == Imported::Kind::None) {
      skipped = true; // for a reason that has been given
      return failure();
    }
  }
  return results;
}
