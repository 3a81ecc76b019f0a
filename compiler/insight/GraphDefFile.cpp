//===- GraphDefFile.cpp - a GraphDef's bytes, wherever they lie -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/insight/GraphDefFile.h"
#include "compiler/frontend/WireReader.h"
#include "compiler/frontend/tensorflow/GraphReader.h"

#include <algorithm>
#include <filesystem>

using namespace weir;
using namespace weir::insight;
using frontend::WireReader;

/// The GraphDef of the meta graph that has exactly these tags, which are sorted.
static std::string_view graphWithTags(std::string_view savedModel,
                                      const std::vector<std::string> &tags) {
  for (WireReader reader(savedModel); reader.next();) {
    if (reader.field() != 2)
      continue;
    std::vector<std::string> found;
    std::string_view graph;
    for (WireReader meta(reader.bytes()); meta.next();) {
      if (meta.field() == 2)
        graph = meta.bytes();
      if (meta.field() == 1)
        for (WireReader info(meta.bytes()); info.next();)
          if (info.field() == 4)
            found.emplace_back(info.bytes());
    }
    std::sort(found.begin(), found.end());
    if (found == tags)
      return graph;
  }
  return {};
}

std::unique_ptr<GraphDefFile> GraphDefFile::open(const std::string &path,
                                                 const std::vector<std::string> &tags,
                                                 DiagnosticSink &sink) {
  auto file = std::make_unique<GraphDefFile>();
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    std::string folder = tf::findSavedModel(path);
    file->model = tf::readSavedModel(folder.empty() ? path : folder, tags, sink);
    if (!file->model)
      return nullptr;
    file->message = graphWithTags(file->model->source->bytes(), file->model->tags);
    return file;
  }
  file->source = tf::Source::open(path, tf::TextMessage::GraphDef, sink);
  if (!file->source)
    return nullptr;
  file->message = file->source->bytes();
  std::string error;
  if (tf::readGraphDef(file->message, file->read, error))
    return file;
  sink.report({"W0202", path, "", "", error, {}});
  return nullptr;
}
