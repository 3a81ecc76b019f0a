//===- ModelVerifier.cpp - what must hold of an ONNX model ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/ModelVerifier.h"
#include "compiler/frontend/NearestName.h"
#include "compiler/frontend/onnx/GraphOrder.h"
#include "compiler/frontend/onnx/ModelReader.h"
#include "compiler/frontend/onnx/OperatorNames.h"
#include "compiler/frontend/onnx/OperatorTable.h"

#include <map>
#include <set>

using namespace weir;
using namespace weir::onnx;

namespace {

/// What an attribute of type string may say, of all operators or of one; the schemas
/// tell it in prose only. The first row that fits counts.
struct Words {
  std::string_view attribute, op, words;
};
constexpr Words attributeWords[] = {
    {"approximate", "", "none tanh"},
    {"auto_pad", "", "NOTSET SAME_UPPER SAME_LOWER VALID"},
    {"case_change_action", "", "NONE LOWER UPPER"},
    {"coordinate_transformation_mode", "RoiAlign", "half_pixel output_half_pixel"},
    {"coordinate_transformation_mode", "Resize",
     "half_pixel half_pixel_symmetric pytorch_half_pixel align_corners asymmetric "
     "tf_half_pixel_for_nn tf_crop_and_resize"},
    {"direction", "BitShift", "LEFT RIGHT"},
    {"direction", "", "forward reverse bidirectional"},
    {"keep_aspect_ratio_policy", "", "stretch not_larger not_smaller"},
    {"metric", "", "euclidean sqeuclidean"},
    {"mode", "DepthToSpace", "DCR CRD"},
    {"mode", "GridSample", "linear nearest cubic bilinear bicubic"},
    {"mode", "Pad", "constant edge reflect wrap"},
    {"mode", "Resize", "nearest linear cubic"},
    {"mode", "RoiAlign", "avg max"},
    {"mode", "TfIdfVectorizer", "TF IDF TFIDF"},
    {"mode", "Upsample", "nearest linear bilinear"},
    {"nearest_mode", "", "round_prefer_floor round_prefer_ceil floor ceil"},
    {"norm", "", "MAX L1 L2"},
    {"norm_coefficient", "", "none"},
    {"padding_mode", "", "zeros border reflection"},
    {"post_transform", "", "NONE SOFTMAX LOGISTIC SOFTMAX_ZERO PROBIT"},
    {"reduction", "ScatterElements", "none add mul min max"},
    {"reduction", "ScatterND", "none add mul min max"},
    {"reduction", "NegativeLogLikelihoodLoss", "none mean sum"},
    {"reduction", "SoftmaxCrossEntropyLoss", "none mean sum"},
    {"round_mode", "", "up down nearest"},
};

/// Whether a text that an attribute of the operator says is none that it may.
const Words *notAmongWords(std::string_view op, const NodeAttribute &attr) {
  if (attr.kind != AttributeKind::String || !attr.reference.empty())
    return nullptr;
  for (const Words &row : attributeWords) {
    if (row.attribute != attr.name || (!row.op.empty() && row.op != op))
      continue;
    std::string text = " " + std::string(row.words) + " ";
    bool isOne = !attr.s.empty() && attr.s.find(' ') == std::string_view::npos &&
                 text.find(" " + std::string(attr.s) + " ") != std::string::npos;
    return isOne ? nullptr : &row;
  }
  return nullptr;
}

/// `a, b` of `a b`.
std::string listed(std::string_view words) {
  std::string text;
  for (char c : words)
    text += c == ' ' ? std::string(", ") : std::string(1, c);
  return text;
}

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

/// `; did you mean "Relu"?`, or "".
std::string nearestOperator(const Node &node) {
  NearestName nearest(node.op);
  for (std::string_view name : operatorNames(node.domain))
    nearest.show(name);
  return nearest.question();
}

class Verifier {
public:
  Verifier(Model &model, const std::string &file, DiagnosticSink &sink)
      : model(model), file(file), sink(sink) {}

  void run();

private:
  void opsets(std::vector<OpsetImport> &imports, const std::string &where);
  void functions();
  void recursion();
  void signatures(const std::vector<Node> &nodes, const std::vector<OpsetImport> &imports);
  void signature(const Node &node, const std::vector<OpsetImport> &imports);
  void attributes(const Node &node, const OperatorSpec &spec);

  void report(const Node *node, int code, std::string text) {
    sink.report(diagnose(file, node, {code, std::move(text)}));
  }

  Model &model;
  const std::string &file;
  DiagnosticSink &sink;
};

void Verifier::opsets(std::vector<OpsetImport> &imports, const std::string &where) {
  std::vector<OpsetImport> unique;
  bool standard = false;
  for (const OpsetImport &opset : imports) {
    bool repeated = false;
    for (const OpsetImport &other : unique)
      if (other.domain == opset.domain) {
        repeated = true;
        if (other.version != opset.version)
          report(nullptr, 312,
                 where + " expected one version of domain " + quoted(opset.domain) + ", got " +
                     std::to_string(other.version) + " and " + std::to_string(opset.version));
      }
    if (repeated)
      continue;
    unique.push_back(opset);
    if (!opset.domain.empty())
      continue;
    standard = true;
    if (opset.version < 1 || opset.version > newestOpset())
      report(nullptr, 312,
             where + " expected opset 1 to " + std::to_string(newestOpset()) + ", got " +
                 std::to_string(opset.version));
  }
  // Files from before opsets existed mean the first.
  if (!standard)
    unique.push_back({"", 1});
  imports = std::move(unique);
}

void Verifier::functions() {
  for (Function &function : model.functions) {
    std::string where = "in function " + quoted(function.name);
    if (function.name.empty())
      report(nullptr, 311, "found a function without a name");
    FunctionKey key(function.domain, function.name, function.overload);
    if (!model.functionIndex.emplace(key, &function).second)
      report(nullptr, 308,
             "expected one function " + quoted(function.name) + " of domain " +
                 quoted(function.domain) + ", got two");
    opsets(function.opsets, where);
    orderFunction(function, file, sink);
    signatures(function.nodes, function.opsets);
  }
}

/// Calls of functions from a list of nodes, those in subgraphs included.
void collectCalls(const Model &model, const std::vector<Node> &nodes,
                  std::vector<std::pair<const Node *, const Function *>> &out) {
  for (const Node &node : nodes) {
    if (const Function *callee = findFunction(model, node))
      out.emplace_back(&node, callee);
    for (const NodeAttribute &attr : node.attributes)
      for (const std::unique_ptr<Graph> &graph : attr.graphs)
        collectCalls(model, graph->nodes, out);
  }
}

void Verifier::recursion() {
  using Calls = std::vector<std::pair<const Node *, const Function *>>;
  struct Frame {
    const Function *function;
    Calls calls;
    size_t next = 0;
  };
  enum class State { Open, Done };
  std::map<const Function *, State> states;
  for (const Function &root : model.functions) {
    if (states.count(&root))
      continue;
    std::vector<Frame> stack;
    auto enter = [&](const Function *function) {
      states[function] = State::Open;
      stack.push_back({function, {}});
      collectCalls(model, function->nodes, stack.back().calls);
    };
    enter(&root);
    while (!stack.empty()) {
      Frame &frame = stack.back();
      if (frame.next == frame.calls.size()) {
        states[frame.function] = State::Done;
        stack.pop_back();
        continue;
      }
      auto [node, callee] = frame.calls[frame.next++];
      auto state = states.find(callee);
      if (state == states.end())
        enter(callee);
      else if (state->second == State::Open)
        report(node, 316,
               "expected functions that do not call themselves, got a call of function " +
                   quoted(callee->name) + " inside itself");
    }
  }
}

void Verifier::attributes(const Node &node, const OperatorSpec &spec) {
  std::set<std::string_view> seen;
  for (const NodeAttribute &attr : node.attributes) {
    if (!seen.insert(attr.name).second)
      report(&node, 311, "found attribute " + quoted(attr.name) + " twice");
    std::optional<AttributeSpec> known = spec.attribute(attr.name);
    if (!known) {
      std::string possible;
      for (const AttributeSpec &other : spec.attributes())
        possible += (possible.empty() ? "" : ", ") + std::string(other.name);
      report(&node, 314,
             "found attribute " + quoted(attr.name) + ", which " + std::string(spec.name) +
                 " of version " + std::to_string(spec.since) +
                 " does not have; possible: " + (possible.empty() ? "none" : possible));
      continue;
    }
    if (attr.kind != known->kind && attr.reference.empty())
      report(&node, 314,
             "found attribute " + quoted(attr.name) +
                 " of another type than the operator's signature gives it");
    else if (const Words *row = notAmongWords(spec.name, attr))
      report(&node, 314,
             "expected " + std::string(attr.name) + " to be one of " + listed(row->words) +
                 ", got " + quoted(attr.s));
  }
  for (const AttributeSpec &known : spec.attributes())
    if (known.required && !seen.count(known.name) && known.name != "consumed_inputs")
      report(&node, 314,
             "found no attribute " + quoted(known.name) + "; the operator cannot do without it");
}

void Verifier::signature(const Node &node, const std::vector<OpsetImport> &imports) {
  bool isMicrosoft = node.domain == microsoftDomain;
  if (findFunction(model, node) || (!isKnownDomain(node.domain) && !isMicrosoft))
    return; // a function's, or of nobody known: the importer decides
  int64_t opset = isMicrosoft ? 1 : -1;
  for (const OpsetImport &import : imports)
    if (import.domain == node.domain)
      opset = import.version;
  if (opset < 0) {
    report(&node, 312, "found no opset_import for domain " + quoted(node.domain));
    return;
  }
  std::optional<OperatorSpec> spec = findOperator(node.domain, node.op, opset);
  if (!spec && isMicrosoft)
    return;
  if (!spec) {
    int64_t first = firstVersion(node.domain, node.op);
    report(&node, 313,
           first ? "found an operator that exists from opset " + std::to_string(first) +
                       " on; the model imports " + std::to_string(opset)
                 : "found an operator that domain " + quoted(node.domain) + " does not have" +
                       nearestOperator(node));
    return;
  }
  auto inputs = static_cast<int>(node.inputs.size());
  // Trailing inputs that are left out count neither way.
  while (inputs > 0 && node.inputs[inputs - 1].empty())
    --inputs;
  auto outputs = static_cast<int>(node.outputs.size());
  while (outputs > 0 && node.outputs[outputs - 1].empty())
    --outputs;
  // Inputs that may be left out count as given where their place is (Loop has to have
  // places for M and cond, and may do without both).
  if (inputs < spec->leastInputs && spec->name != "BatchNormalization" &&
      (static_cast<int>(node.inputs.size()) < spec->leastInputs || !spec->isOptional(inputs)))
    report(&node, 315,
           "found " + std::to_string(inputs) + " inputs; " + spec->inputName(inputs) +
               " is missing");
  if (spec->mostInputs >= 0 && inputs > spec->mostInputs)
    report(&node, 315,
           "expected at most " + std::to_string(spec->mostInputs) + " inputs, got " +
               std::to_string(inputs));
  if (spec->mostOutputs >= 0 && outputs > spec->mostOutputs)
    report(&node, 315,
           "expected at most " + std::to_string(spec->mostOutputs) + " outputs, got " +
               std::to_string(outputs));
  attributes(node, *spec);
}

void Verifier::signatures(const std::vector<Node> &nodes, const std::vector<OpsetImport> &imports) {
  for (const Node &node : nodes) {
    signature(node, imports);
    for (const NodeAttribute &attr : node.attributes)
      for (const std::unique_ptr<Graph> &graph : attr.graphs)
        signatures(graph->nodes, imports);
  }
}

void Verifier::run() {
  opsets(model.opsets, "in the model");
  functions();
  recursion();
  orderGraph(model.graph, file, sink);
  signatures(model.graph.nodes, model.opsets);
}

} // namespace

const Function *weir::onnx::findFunction(const Model &model, const Node &node) {
  auto found = model.functionIndex.find({node.domain, node.op, node.overload});
  return found == model.functionIndex.end() ? nullptr : found->second;
}

bool weir::onnx::verifyModel(Model &model, const std::string &file, DiagnosticSink &sink) {
  size_t before = sink.errorCount();
  Verifier(model, file, sink).run();
  return sink.errorCount() == before;
}
