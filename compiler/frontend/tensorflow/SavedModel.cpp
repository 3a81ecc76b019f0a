//===- SavedModel.cpp - a SavedModel's folder -----------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/SavedModel.h"

#include "compiler/frontend/WireReader.h"
#include "compiler/frontend/tensorflow/GraphReader.h"
#include "compiler/frontend/tensorflow/saved_model.pb.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

using namespace weir;
using namespace weir::tf;
using frontend::WireReader;
namespace fs = std::filesystem;

static bool holdsModel(const fs::path &folder) {
  std::error_code ignored;
  return fs::exists(folder / "saved_model.pb", ignored) ||
         fs::exists(folder / "saved_model.pbtxt", ignored);
}

std::string weir::tf::findSavedModel(const std::string &path) {
  if (holdsModel(path))
    return path;
  std::string best;
  int64_t newest = -1;
  std::error_code error;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename().string();
    int64_t version;
    auto [stop, code] = std::from_chars(name.data(), name.data() + name.size(), version);
    if (code != std::errc() || stop != name.data() + name.size())
      continue;
    if (version > newest && holdsModel(it->path())) {
      newest = version;
      best = it->path().string();
    }
  }
  return best;
}

static void appendVarint(std::string &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

/// Parses a MetaGraphDef without its graph and its object graph, which are returned
/// as views: they may be large, everything else is small.
static bool splitMetaGraph(std::string_view bytes, proto::MetaGraphDef &meta,
                           std::string_view &graph, std::string_view &objects) {
  std::string rest;
  WireReader reader(bytes);
  while (reader.next()) {
    if (reader.field() == 2) {
      graph = reader.bytes();
      continue;
    }
    if (reader.field() == 7) {
      objects = reader.bytes();
      continue;
    }
    if (reader.field() > 7)
      continue; // newer ones
    std::string_view field = reader.bytes();
    if (reader.malformed())
      return false;
    appendVarint(rest, reader.field() << 3 | 2);
    appendVarint(rest, field.size());
    rest += field;
  }
  return !reader.malformed() && meta.ParseFromString(rest);
}

static std::vector<std::string> tagsOf(const proto::MetaGraphDef &meta) {
  std::vector<std::string> tags(meta.meta_info_def().tags().begin(),
                                meta.meta_info_def().tags().end());
  std::sort(tags.begin(), tags.end());
  return tags;
}

static std::string joined(const std::vector<std::string> &tags) {
  std::string text;
  for (const std::string &tag : tags)
    text += (text.empty() ? "" : ",") + tag;
  return text.empty() ? "(no tags)" : text;
}

/// What follows a composite tensor's name in those of its components.
static std::string componentName(const proto::TensorInfo::CompositeTensor &composite, int i) {
  static const char *const sparse[] = {"indices", "values", "dense_shape"};
  static const char *const slices[] = {"values", "indices", "dense_shape"};
  int count = composite.components_size();
  switch (composite.type_spec().type_spec_class()) {
  case proto::TypeSpec::RAGGED_TENSOR_SPEC:
    if (i == 0)
      return "values";
    return count == 2 ? "row_splits" : "row_splits_" + std::to_string(i - 1);
  case proto::TypeSpec::SPARSE_TENSOR_SPEC:
    if (count == 3)
      return sparse[i];
    break;
  case proto::TypeSpec::INDEXED_SLICES_SPEC:
    if (count == 2 || count == 3)
      return slices[i];
    break;
  default:
    break;
  }
  return std::to_string(i);
}

static void addTensor(const std::string &name, const proto::TensorInfo &info,
                      std::vector<SignatureTensor> &tensors) {
  if (info.has_composite_tensor()) {
    const auto &composite = info.composite_tensor();
    for (int i = 0; i < composite.components_size(); ++i)
      addTensor(name + "." + componentName(composite, i), composite.components(i), tensors);
    return;
  }
  Shape shape;
  shape.unknownRank = info.tensor_shape().unknown_rank();
  for (const auto &dim : info.tensor_shape().dim())
    shape.dims.push_back(dim.size() < 0 ? -1 : dim.size());
  DataType type = toDataType(info.dtype());
  if (!info.has_coo_sparse()) {
    tensors.push_back({name, info.name(), type, std::move(shape)});
    return;
  }
  // The type and the shape are those of the tensor that the three stand for.
  const auto &sparse = info.coo_sparse();
  int64_t rank = shape.unknownRank ? -1 : static_cast<int64_t>(shape.dims.size());
  tensors.push_back(
      {name + ".indices", sparse.indices_tensor_name(), DataType::Int64, {false, {-1, rank}}});
  tensors.push_back({name + ".values", sparse.values_tensor_name(), type, {false, {-1}}});
  tensors.push_back(
      {name + ".dense_shape", sparse.dense_shape_tensor_name(), DataType::Int64, {false, {rank}}});
}

static std::vector<SignatureTensor>
tensorsOf(const google::protobuf::Map<std::string, proto::TensorInfo> &infos) {
  std::vector<SignatureTensor> tensors;
  for (const auto &[name, info] : infos)
    addTensor(name, info, tensors);
  std::sort(tensors.begin(), tensors.end(), [](auto &a, auto &b) { return a.name < b.name; });
  return tensors;
}

/// Takes what a model needs out of the message.
static void fill(SavedModel &model, const proto::MetaGraphDef &meta) {
  model.tags = tagsOf(meta);
  for (const auto &[key, def] : meta.signature_def()) {
    Signature signature;
    signature.key = key;
    signature.method = def.method_name();
    signature.inputs = tensorsOf(def.inputs());
    signature.outputs = tensorsOf(def.outputs());
    model.signatures.push_back(std::move(signature));
  }
  std::sort(model.signatures.begin(), model.signatures.end(),
            [](auto &a, auto &b) { return a.key < b.key; });
  model.restoreOp = std::string(parseTensorName(meta.saver_def().restore_op_name()).node);
  model.filenameTensor = meta.saver_def().filename_tensor_name();
  // The newer way first; loaders run only one of the three.
  if (const Signature *init = model.signature("__saved_model_init_op")) {
    if (!init->outputs.empty())
      model.initOp = std::string(parseTensorName(init->outputs[0].tensor).node);
  }
  for (const char *key : {"saved_model_main_op", "legacy_init_op"}) {
    auto collection = meta.collection_def().find(key);
    if (model.initOp.empty() && collection != meta.collection_def().end() &&
        collection->second.node_list().value_size() > 0)
      model.initOp = std::string(parseTensorName(collection->second.node_list().value(0)).node);
  }
  fs::path assets = fs::path(model.folder) / "assets";
  for (const auto &asset : meta.asset_file_def())
    model.assets[asset.tensor_info().name()] = (assets / asset.filename()).string();
  // Before MetaGraphDef had a field for them.
  auto collection = meta.collection_def().find("saved_model_assets");
  if (collection != meta.collection_def().end())
    for (const auto &any : collection->second.any_list().value()) {
      proto::AssetFileDef asset;
      if (asset.ParseFromString(any.value()))
        model.assets.emplace(asset.tensor_info().name(), (assets / asset.filename()).string());
    }
}

std::unique_ptr<SavedModel> weir::tf::readSavedModel(const std::string &folder,
                                                     const std::vector<std::string> &tags,
                                                     DiagnosticSink &sink) {
  auto model = std::make_unique<SavedModel>();
  model->folder = folder;
  std::error_code ignored;
  std::string path = (fs::path(folder) / "saved_model.pb").string();
  if (!fs::exists(path, ignored))
    path = (fs::path(folder) / "saved_model.pbtxt").string();
  if (fs::exists(fs::path(folder) / "saved_model.cpb", ignored) && !fs::exists(path, ignored)) {
    sink.report({"W0202",
                 folder,
                 "",
                 "",
                 "the model is stored in split messages (saved_model.cpb), "
                 "which this reader does not know; expected saved_model.pb",
                 {}});
    return nullptr;
  }
  model->source = Source::open(path, TextMessage::SavedModel, sink);
  if (!model->source)
    return nullptr;
  auto malformed = [&](const std::string &what) {
    sink.report({"W0202", path, "", "", what, {}});
    return nullptr;
  };

  WireReader reader(model->source->bytes());
  proto::MetaGraphDef chosen;
  std::string_view graphBytes, objectBytes;
  std::vector<std::string> wanted = tags, offered;
  bool isUnsure = false;
  std::sort(wanted.begin(), wanted.end());
  // How well the chosen one fits: 3 exactly, 2 serves among others, 1 at all.
  size_t best = 0, graphs = 0;
  while (reader.next()) {
    if (reader.field() != 2)
      continue;
    proto::MetaGraphDef meta;
    std::string_view graph, objects;
    if (!splitMetaGraph(reader.bytes(), meta, graph, objects))
      return malformed("graph " + std::to_string(graphs) + " is malformed");
    ++graphs;
    std::vector<std::string> have = tagsOf(meta);
    offered.push_back(joined(have));
    size_t fit = 0;
    if (!wanted.empty())
      fit = have == wanted ? 3 : 0;
    else if (std::find(have.begin(), have.end(), "serve") != have.end())
      fit = have.size() == 1 ? 3 : 2;
    else
      fit = 1;
    isUnsure = fit == best && fit < 3;
    if (fit > best) {
      best = fit;
      chosen = std::move(meta);
      graphBytes = graph;
      objectBytes = objects;
    }
  }
  if (reader.malformed())
    return malformed("malformed or cut off");
  if (graphs == 0)
    return malformed("the file holds no graph");
  if (best == 0 || isUnsure) {
    Diagnostic diagnostic{"W0213",
                          path,
                          "",
                          "",
                          "not exactly one graph is tagged " +
                              joined(wanted.empty() ? std::vector<std::string>{"serve"} : wanted),
                          {}};
    for (const std::string &text : offered)
      diagnostic.notes.push_back("there is one tagged " + text);
    sink.report(std::move(diagnostic));
    return nullptr;
  }
  fill(*model, chosen);
  model->objectGraph = objectBytes;
  std::string error;
  if (!readGraphDef(graphBytes, model->graph, error))
    return malformed(error);
  if (!checkVersions(model->graph.versions, path, sink))
    return nullptr;
  std::string prefix = model->variablesPrefix();
  if (fs::exists(prefix + ".index", ignored)) {
    model->variables = Bundle::open(prefix, error);
    if (!model->variables) {
      sink.report({"W0214", folder, "", "", error, {}});
      return nullptr;
    }
  }
  return model;
}
