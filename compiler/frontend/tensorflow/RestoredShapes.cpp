//===- RestoredShapes.cpp - shapes of what a run restores -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/RestoredShapes.h"

#include "compiler/frontend/Import.h"
#include "compiler/frontend/tensorflow/EdgeTypes.h"
#include "compiler/frontend/tensorflow/GraphImporter.h"
#include "compiler/frontend/tensorflow/TensorDecoder.h"
#include "runtime/checkpoint/slices_file.h"

#include "llvm/Support/SaveAndRestore.h"

#include <filesystem>

using namespace weir;
using namespace weir::tf;

namespace {

constexpr int kMaxDepth = 64;

weir_string viewOf(std::string_view text) {
  return {text.data(), static_cast<int64_t>(text.size())};
}

Shape shapeOf(const rt::StoredShape &stored) {
  Shape shape;
  shape.dims.assign(stored.dims, stored.dims + stored.rank);
  return shape;
}

/// Only how many dimensions there are.
Shape rankOf(Shape shape) {
  std::fill(shape.dims.begin(), shape.dims.end(), -1);
  return shape;
}

/// Of tensors that the node `restoring` restores.
class Finder {
public:
  Finder(NodeImport &n, const Graph &graph, uint32_t restoring, bool imports)
      : n(n), graph(graph), restoring(restoring), imports(imports) {}

  std::optional<RestoredShape> ofUse(const RestoredTensor &tensor);
  std::optional<Shape> ofSave(std::string_view name);

private:
  std::optional<Shape> shapeOfEdge(Edge edge, int depth);
  std::optional<Shape> shapeOfVariable(uint32_t node, int depth);
  std::vector<std::string> strings(Edge edge);
  uint32_t variableOf(uint32_t node);

  NodeImport &n;
  const Graph &graph;
  const uint32_t restoring;
  const bool imports; ///< what the graph does not say is imported apart
};

/// Whether the operation's first input is what it hands on.
bool passesThrough(std::string_view op) {
  return op == "Identity" || op == "RefIdentity" || op == "Snapshot" || op == "ReadVariableOp" ||
         op == "Assign" || op == "AssignAdd" || op == "AssignSub";
}

bool isVariable(std::string_view op) {
  return op == "VariableV2" || op == "Variable" || op == "VarHandleOp";
}

} // namespace

uint32_t Finder::variableOf(uint32_t node) {
  for (int i = 0; i < kMaxDepth; ++i) {
    const Node &at = graph.nodes[node];
    if (isVariable(at.op) || at.inputs.empty() || !passesThrough(at.op))
      break;
    node = at.inputs[0].node;
  }
  return node;
}

std::optional<Shape> Finder::shapeOfVariable(uint32_t node, int depth) {
  const AttrValue *shape = graph.nodes[node].attr("shape");
  if (shape && shape->shape && !shape->shape->unknownRank)
    return *shape->shape;
  // One that the graph does not describe is what it is first given.
  for (const Node &other : graph.nodes)
    if ((other.op == "Assign" || other.op == "AssignVariableOp") && other.inputs.size() > 1 &&
        variableOf(other.inputs[0].node) == node)
      if (auto found = shapeOfEdge(other.inputs[1], depth + 1))
        return found;
  return std::nullopt;
}

std::optional<Shape> Finder::shapeOfEdge(Edge edge, int depth) {
  if (depth > kMaxDepth)
    return std::nullopt;
  const Node &node = graph.nodes[edge.node];
  const AttrValue *value = node.attr("_output_shapes");
  if (value && value->list && edge.port < value->list->shapes.size() &&
      !value->list->shapes[edge.port].unknownRank)
    return value->list->shapes[edge.port];
  if (node.op == "Const") {
    value = node.attr("value");
    if (value && value->tensor && !value->tensor->shape.unknownRank)
      return value->tensor->shape;
    return std::nullopt;
  }
  if (isVariable(node.op))
    return shapeOfVariable(edge.node, depth);
  // What hands a variable on needs no import; of the rest the import tells.
  if (passesThrough(node.op) && !node.inputs.empty())
    return shapeOfEdge(node.inputs[0], depth + 1);
  // The node's own import asks for all that it restores, each of which would have it imported anew.
  if (edge.node == restoring || !imports)
    return std::nullopt;
  mlir::RankedTensorType type = typeOfEdge(n, edge);
  if (!type)
    return std::nullopt;
  Shape shape;
  for (int64_t size : type.getShape())
    shape.dims.push_back(mlir::ShapedType::isDynamic(size) ? -1 : size);
  return shape;
}

/// The strings of a constant; none: it is no constant.
std::vector<std::string> Finder::strings(Edge edge) {
  const Node &node = graph.nodes[edge.node];
  const AttrValue *value = node.attr("value");
  TensorValues values;
  std::string error;
  if (node.op != "Const" || !value || !value->tensor || value->tensor->type != DataType::String ||
      !decodeTensor(*value->tensor, values, error))
    return {};
  std::vector<std::string> all(values.strings.begin(), values.strings.end());
  if (all.size() == 1 && values.count > 1 && values.count < (1 << 20))
    all.resize(values.count, all[0]);
  return all;
}

/// The variable that takes the tensor, as it is; or else the fetch.
std::optional<RestoredShape> Finder::ofUse(const RestoredTensor &tensor) {
  std::vector<Edge> values{{tensor.node, tensor.port}};
  bool isMain = graph.name.empty();
  std::optional<RestoredShape> fetched;
  for (size_t i = 0; i < values.size() && i < kMaxDepth; ++i) {
    auto said = n.g.fetchShapes.find({values[i].node, values[i].port});
    if (isMain && said != n.g.fetchShapes.end())
      fetched = RestoredShape{said->second};
    for (uint32_t at = 0; at < graph.nodes.size(); ++at) {
      const Node &node = graph.nodes[at];
      bool assigns = node.op == "Assign" || node.op == "AssignVariableOp";
      if (assigns && node.inputs.size() > 1 && node.inputs[1] == values[i]) {
        std::optional<Shape> shape = shapeOfVariable(variableOf(node.inputs[0].node), 0);
        const AttrValue *validates = node.attr("validate_shape");
        // Resource variables take what comes.
        bool isChecked = node.op == "Assign" && validates && validates->b;
        if (shape)
          return RestoredShape{*shape, isChecked ? 3 : 12};
      }
      if ((node.op == "Identity" || node.op == "Snapshot") && !node.inputs.empty() &&
          node.inputs[0] == values[i])
        values.push_back({at, 0});
    }
  }
  return fetched;
}

/// A tensor of that name that the graph saves.
std::optional<Shape> Finder::ofSave(std::string_view name) {
  for (const Node &node : graph.nodes) {
    bool hasSlices = node.op == "SaveV2" || node.op == "SaveSlices";
    size_t first = hasSlices ? 3 : 2;
    if ((!hasSlices && node.op != "Save") || node.inputs.size() < first)
      continue;
    std::vector<std::string> names = strings(node.inputs[1]), slices;
    if (hasSlices)
      slices = strings(node.inputs[2]);
    for (size_t i = 0; i < names.size() && first + i < node.inputs.size(); ++i) {
      if (names[i] != name)
        continue;
      rt::StoredShape whole, sliced;
      rt::TensorSlice slice;
      if (i < slices.size() && !slices[i].empty() &&
          !rt::parseShapeAndSlice(viewOf(slices[i]), &whole, &slice, &sliced, nullptr))
        return shapeOf(whole);
      if (auto shape = shapeOfEdge(node.inputs[first + i], 0))
        return shape;
    }
  }
  return std::nullopt;
}

/// A checkpoint that is there now, as the graph says or beside it.
static std::optional<Shape> ofCheckpoint(const std::string &file, const std::string &prefix,
                                         const std::string &name) {
  namespace fs = std::filesystem;
  std::vector<std::string> places{prefix};
  if (fs::path(prefix).is_relative())
    places.push_back((fs::path(file).parent_path() / prefix).string());
  for (const std::string &place : places) {
    if (rt::BundleReader::exists(viewOf(place))) {
      rt::BundleReader reader;
      rt::BundleEntry entry;
      if (!reader.open(viewOf(place), nullptr) && !reader.find(viewOf(name), &entry, nullptr))
        return shapeOf(entry.shape);
      continue;
    }
    rt::SlicesReader reader;
    rt::StoredShape shape;
    int32_t type;
    if (!reader.open(viewOf(place), nullptr) && !reader.find(viewOf(name), &type, &shape, nullptr))
      return shapeOf(shape);
  }
  return std::nullopt;
}

/// What the user says of an output, by the name that feeds and fetches have for it.
static std::optional<Shape> ofUser(NodeImport &n, uint32_t port) {
  if (!n.g.options)
    return std::nullopt;
  std::string node = n.g.nameOf(n.node);
  std::vector<std::string> names{node + ":" + std::to_string(port)};
  if (port == 0)
    names.push_back(node);
  for (const std::string &name : names) {
    n.g.options->offer(name);
    auto found = n.g.options->shapes.find(name);
    if (found == n.g.options->shapes.end())
      continue;
    Shape shape;
    shape.dims = found->second;
    return shape;
  }
  return std::nullopt;
}

std::optional<RestoredShape> weir::tf::restoredShape(NodeImport &n, const RestoredTensor &tensor) {
  if (auto shape = ofUser(n, tensor.port))
    return RestoredShape{*shape};
  rt::StoredShape whole, sliced;
  rt::TensorSlice slice;
  bool isPart = tensor.slice && !tensor.slice->empty();
  if (isPart && !rt::parseShapeAndSlice(viewOf(*tensor.slice), &whole, &slice, &sliced, nullptr))
    return RestoredShape{shapeOf(sliced)};
  // What is imported apart to find a shape may restore tensors, too: of those the graph says
  // enough.
  static thread_local int depth = 0;
  Finder finder(n, n.g.current->graph(), tensor.node, /*imports=*/depth == 0);
  llvm::SaveAndRestore deeper(depth, depth + 1);
  if (auto found = finder.ofUse(tensor))
    return found;
  if (!tensor.name)
    return std::nullopt;
  if (auto shape = finder.ofSave(*tensor.name))
    return RestoredShape{rankOf(*shape)};
  if (tensor.prefix)
    if (auto shape = ofCheckpoint(n.g.file, *tensor.prefix, *tensor.name))
      return RestoredShape{rankOf(*shape)};
  return std::nullopt;
}
