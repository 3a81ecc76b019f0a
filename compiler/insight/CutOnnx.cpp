//===- CutOnnx.cpp - a part of an ONNX model ------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/MappedFile.h"
#include "compiler/frontend/NearestName.h"
#include "compiler/frontend/WireReader.h"
#include "compiler/frontend/onnx/GraphOrder.h"
#include "compiler/frontend/onnx/ModelReader.h"
#include "compiler/insight/Cut.h"
#include "compiler/insight/OnnxRewriter.h"

#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

using namespace weir;
using namespace weir::insight;
using frontend::WireReader;

namespace {

using Name = std::string_view;

std::string quoted(Name text) { return "\"" + std::string(text) + "\""; }

class OnnxCut : public OnnxRewriter {
public:
  OnnxCut(const std::string &file, const std::string &output, const onnx::Model &model,
          DiagnosticSink &sink, CutSummary &summary)
      : OnnxRewriter(file, output, sink), model(model), main(model.graph), summary(summary) {}

  bool select(const CutRequest &request);
  bool findTypes(const ValueTypes &types);
  std::string write(Bytes bytes);
  bool commit() {
    if (llvm::Error error = data.commit())
      report(std::move(error));
    return !sink.hasErrors();
  }

private:
  void index();
  bool refuse(const char *code, std::string text, const onnx::Node *node = nullptr) {
    Diagnostic diagnostic{code, file, "", "", std::move(text), {}};
    if (node) {
      diagnostic.node = onnx::displayName(*node);
      diagnostic.op = std::string(node->op);
    }
    sink.report(std::move(diagnostic));
    return false;
  }
  bool unknown(const std::string &name, const char *flag);
  bool resolve(const CutRequest &request);
  void addOnce(std::vector<Name> &list, Name name);
  std::vector<Name> uses(const onnx::Node &node) const;
  void keepFunctions();
  std::string writeGraph(Bytes message);
  void writeInfos(Writer &out, uint32_t field, const std::vector<Name> &names);
  std::string infoOf(Name name);

  const onnx::Model &model;
  const onnx::Graph &main;
  CutSummary &summary;
  std::unordered_map<Name, size_t> producers;
  std::unordered_map<Name, const onnx::Node *> byName;
  std::unordered_set<Name> constants, graphInputs, values;
  std::vector<Name> from, to;            ///< values
  std::vector<Name> inputs;              ///< of the part
  std::vector<bool> kept;                ///< nodes
  std::unordered_set<Name> used;         ///< values of the part
  std::unordered_map<Name, Bytes> infos; ///< ValueInfoProtos of the file
  std::map<Name, std::string> typed;     ///< made of what the compiler found
  std::set<const onnx::Function *> functions;
};

void OnnxCut::index() {
  for (const onnx::Tensor &tensor : main.initializers)
    constants.insert(tensor.name);
  for (const onnx::SparseTensor &tensor : main.sparseInitializers)
    constants.insert(tensor.values.name);
  for (const onnx::ValueInfo &input : main.inputs)
    if (!constants.count(input.name))
      graphInputs.insert(input.name);
  values.insert(constants.begin(), constants.end());
  values.insert(graphInputs.begin(), graphInputs.end());
  for (size_t i = 0; i < main.nodes.size(); ++i) {
    const onnx::Node &node = main.nodes[i];
    if (!node.name.empty())
      byName.emplace(node.name, &node);
    for (Name output : node.outputs)
      if (!output.empty()) {
        producers.emplace(output, i);
        values.insert(output);
      }
  }
}

/// Names are looked for in subgraphs and functions, too, to say why they are refused.
bool OnnxCut::unknown(const std::string &name, const char *flag) {
  std::function<bool(const std::vector<onnx::Node> &)> holds =
      [&](const std::vector<onnx::Node> &nodes) {
        for (const onnx::Node &node : nodes) {
          if (node.name == name)
            return true;
          for (Name output : node.outputs)
            if (output == name)
              return true;
          for (const onnx::NodeAttribute &attr : node.attributes)
            for (const auto &graph : attr.graphs)
              if (holds(graph->nodes))
                return true;
        }
        return false;
      };
  for (const onnx::Node &node : main.nodes)
    for (const onnx::NodeAttribute &attr : node.attributes)
      for (const auto &graph : attr.graphs)
        if (holds(graph->nodes))
          return refuse("W0152",
                        "found " + std::string(flag) + "=" + name +
                            " inside of its subgraph; possible: this node as a whole",
                        &node);
  for (const onnx::Function &function : model.functions)
    if (holds(function.nodes))
      return refuse("W0152", "found " + std::string(flag) + "=" + name + " in function " +
                                 quoted(function.name) + "; possible: a node that calls it");
  NearestName nearest(name);
  for (auto &[known, node] : byName)
    nearest.show({known.data(), known.size()});
  for (Name known : values)
    nearest.show({known.data(), known.size()});
  return refuse("W0151", "found " + std::string(flag) + "=" + name +
                             ", and no node or value of that name" + nearest.question());
}

void OnnxCut::addOnce(std::vector<Name> &list, Name name) {
  if (!name.empty() && std::find(list.begin(), list.end(), name) == list.end())
    list.push_back(name);
}

std::vector<Name> OnnxCut::uses(const onnx::Node &node) const {
  std::vector<Name> names(node.inputs.begin(), node.inputs.end());
  for (const onnx::NodeAttribute &attr : node.attributes)
    for (const auto &graph : attr.graphs)
      for (Name name : onnx::freeNames(*graph))
        names.push_back(name);
  return names;
}

bool OnnxCut::resolve(const CutRequest &request) {
  bool good = true;
  for (const std::string &name : request.from) {
    if (auto node = byName.find(name); node != byName.end() && !request.areValues) {
      for (Name input : uses(*node->second))
        if (!constants.count(input))
          addOnce(from, input);
    } else if (auto value = values.find(name); value != values.end()) {
      addOnce(from, *value);
    } else {
      good = unknown(name, "--from");
    }
  }
  for (const std::string &name : request.to) {
    if (auto node = byName.find(name); node != byName.end() && !request.areValues) {
      for (Name output : node->second->outputs)
        addOnce(to, output);
    } else if (auto value = values.find(name); value != values.end()) {
      addOnce(to, *value);
    } else {
      good = unknown(name, "--to");
    }
  }
  if (request.to.empty())
    for (const onnx::ValueInfo &output : main.outputs)
      addOnce(to, output.name);
  return good;
}

bool OnnxCut::select(const CutRequest &request) {
  index();
  if (!resolve(request))
    return false;
  kept.assign(main.nodes.size(), false);
  std::unordered_set<Name> fed(from.begin(), from.end());
  std::vector<Name> open(to.begin(), to.end());
  while (!open.empty()) {
    Name name = open.back();
    open.pop_back();
    if (name.empty() || !used.insert(name).second || fed.count(name))
      continue;
    auto producer = producers.find(name);
    if (producer == producers.end() || kept[producer->second])
      continue;
    kept[producer->second] = true;
    const onnx::Node &node = main.nodes[producer->second];
    for (Name input : uses(node))
      open.push_back(input);
  }
  for (Name name : from)
    if (!used.count(name))
      return refuse("W0152", "found --from with " + quoted(name) +
                                 ", on which nothing that --to names depends; possible: a node "
                                 "or value before it");
  for (size_t i = 0; i < kept.size(); ++i)
    summary.nodes += kept[i];
  if (!summary.nodes)
    return refuse("W0152", "found no node between --from and --to; possible: --from names what "
                           "comes before --to");
  inputs = from;
  for (const onnx::ValueInfo &input : main.inputs)
    if (graphInputs.count(input.name) && used.count(input.name) && !fed.count(input.name)) {
      addOnce(inputs, input.name);
      if (!request.from.empty())
        summary.notes.push_back("input " + quoted(input.name) +
                                " of the model reaches the part beside what --from names");
    }
  keepFunctions();
  summary.inputs.assign(inputs.begin(), inputs.end());
  summary.sources = summary.inputs;
  summary.outputs.assign(to.begin(), to.end());
  return true;
}

/// Functions that nodes of the part call, and those that these call.
void OnnxCut::keepFunctions() {
  std::map<onnx::FunctionKey, const onnx::Function *> known;
  for (const onnx::Function &function : model.functions)
    known.emplace(onnx::FunctionKey{function.domain, function.name, function.overload}, &function);
  std::function<void(const onnx::Node &)> visit = [&](const onnx::Node &node) {
    for (const onnx::NodeAttribute &attr : node.attributes)
      for (const auto &graph : attr.graphs)
        for (const onnx::Node &inner : graph->nodes)
          visit(inner);
    auto called = known.find({node.domain, node.op, node.overload});
    if (called == known.end() || !functions.insert(called->second).second)
      return;
    for (const onnx::Node &inner : called->second->nodes)
      visit(inner);
  };
  for (size_t i = 0; i < kept.size(); ++i)
    if (kept[i])
      visit(main.nodes[i]);
}

/// Whether a ValueInfoProto says all that an importer wants.
bool isComplete(const onnx::TypeInfo &type) {
  return type.kind != onnx::TypeInfo::Kind::Unknown &&
         (type.kind != onnx::TypeInfo::Kind::Tensor || type.hasShape);
}

bool OnnxCut::findTypes(const ValueTypes &types) {
  std::unordered_set<Name> complete;
  for (const auto *list : {&main.inputs, &main.outputs, &main.values})
    for (const onnx::ValueInfo &value : *list)
      if (isComplete(value.type))
        complete.insert(value.name);
  std::vector<std::string> missing;
  for (const auto *list : {&inputs, &to})
    for (Name name : *list)
      if (!complete.count(name))
        missing.emplace_back(name);
  if (missing.empty())
    return true;
  std::vector<TensorInfo> found;
  if (!types(missing, found))
    return false;
  for (size_t i = 0; i < missing.size() && i < found.size(); ++i) {
    // weir numbers element types as ONNX does.
    Writer tensor, shape, type, info;
    tensor.integer(1, found[i].dtype);
    for (int64_t size : found[i].dims) {
      Writer dim;
      if (size >= 0)
        dim.integer(1, size);
      shape.bytes(1, dim.take());
    }
    tensor.bytes(2, shape.take());
    type.bytes(1, tensor.take());
    info.bytes(1, missing[i]);
    info.bytes(2, type.take());
    typed.emplace(*values.find(missing[i]), info.take());
  }
  return true;
}

std::string OnnxCut::infoOf(Name name) {
  if (auto made = typed.find(name); made != typed.end())
    return made->second;
  auto found = infos.find(name);
  return found == infos.end() ? std::string() : valueInfo(found->second);
}

void OnnxCut::writeInfos(Writer &out, uint32_t field, const std::vector<Name> &names) {
  for (Name name : names)
    out.bytes(field, infoOf(name));
}

Name nameIn(Name message, uint32_t field) {
  for (WireReader reader(message); reader.next();)
    if (reader.field() == field)
      return reader.bytes();
  return {};
}

std::string OnnxCut::writeGraph(Bytes message) {
  Writer out;
  size_t node = 0;
  std::unordered_set<Name> ends(inputs.begin(), inputs.end());
  ends.insert(to.begin(), to.end());
  std::unordered_set<Name> fed(inputs.begin(), inputs.end());
  for (WireReader reader(message); reader.next();)
    if (reader.field() >= 11 && reader.field() <= 13)
      infos.emplace(nameIn(reader.bytes(), 1), reader.bytes());
  for (WireReader reader(message); reader.next();) {
    Bytes bytes = reader.type() == frontend::WireType::Bytes ? reader.bytes() : Bytes();
    switch (reader.field()) {
    case 1:
      if (kept[node++])
        out.bytes(1, this->node(bytes));
      break;
    case 5:
      if (Name name = nameIn(bytes, 8); used.count(name) && !fed.count(name))
        out.bytes(5, tensor(bytes));
      break;
    case 15:
      if (Name name = nameIn(nameIn(bytes, 1), 8); used.count(name) && !fed.count(name))
        out.bytes(15, sparseTensor(bytes));
      break;
    case 11: // files of old have their initializers among the inputs
      if (Name name = nameIn(bytes, 1);
          constants.count(name) && used.count(name) && !fed.count(name))
        out.raw(reader.raw());
      break;
    case 12:
    case 13:
      if (Name name = nameIn(bytes, 1); used.count(name) && !ends.count(name))
        out.bytes(13, bytes);
      break;
    case 14:
      if (used.count(nameIn(bytes, 1)))
        out.raw(reader.raw());
      break;
    default:
      out.raw(reader.raw());
    }
  }
  writeInfos(out, 11, inputs);
  writeInfos(out, 12, to);
  return out.take();
}

std::string OnnxCut::write(Bytes bytes) {
  Writer out;
  size_t next = 0;
  for (WireReader reader(bytes); reader.next();)
    switch (reader.field()) {
    case 7:
      out.bytes(7, writeGraph(reader.bytes()));
      break;
    case 20: // training, which speaks of the whole model
      break;
    case 25:
      if (functions.count(&model.functions[next++]))
        out.bytes(25, function(reader.bytes()));
      break;
    default:
      out.raw(reader.raw());
    }
  return out.take();
}

} // namespace

bool insight::cutOnnx(const std::string &path, const FrontendFlagValues &,
                      const CutRequest &request, const ValueTypes &types, const std::string &output,
                      DiagnosticSink &sink, CutSummary &summary) {
  std::string error;
  std::unique_ptr<MappedFile> mapped = MappedFile::open(path, error);
  if (!mapped) {
    sink.report({"W0101", path, "", "", "cannot be read: " + error, {}});
    return false;
  }
  std::unique_ptr<onnx::Model> model = onnx::readModel(mapped->bytes(), path, sink);
  if (!model)
    return false;
  OnnxCut cut(path, output, *model, sink, summary);
  if (!cut.select(request) || !cut.findTypes(types))
    return false;
  std::string bytes = cut.write(mapped->bytes());
  if (sink.hasErrors() || !cut.commit())
    return false;
  if (llvm::Error failed = writeFile(output, bytes)) {
    sink.report({"W0104", path, "", "", llvm::toString(std::move(failed)), {}});
    return false;
  }
  return true;
}
