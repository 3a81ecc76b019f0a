//===- GraphDefFile.h - a GraphDef's bytes, wherever they lie ---*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_INSIGHT_GRAPHDEFFILE_H
#define WEIR_COMPILER_INSIGHT_GRAPHDEFFILE_H

#include "compiler/frontend/Diagnostic.h"
#include "compiler/frontend/tensorflow/SavedModel.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weir::insight {

/// The GraphDef of a .pb or .pbtxt, or of a SavedModel's graph with given tags: as a
/// message, and read. Owns what both look into.
class GraphDefFile {
public:
  /// Null after a report.
  static std::unique_ptr<GraphDefFile>
  open(const std::string &path, const std::vector<std::string> &tags, DiagnosticSink &sink);

  std::string_view bytes() const { return message; }
  const tf::GraphDef &graph() const { return model ? model->graph : read; }
  /// Null where the file is no SavedModel.
  const tf::SavedModel *savedModel() const { return model.get(); }

private:
  std::unique_ptr<tf::Source> source;
  std::unique_ptr<tf::SavedModel> model;
  tf::GraphDef read;
  std::string_view message;
};

} // namespace weir::insight

#endif // WEIR_COMPILER_INSIGHT_GRAPHDEFFILE_H
