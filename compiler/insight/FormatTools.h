//===- FormatTools.h - what can be done with a format's files ---*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Beside being imported (Frontend.h), files of some formats can be looked into by names,
// and written anew: a row a format.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_INSIGHT_FORMATTOOLS_H
#define WEIR_COMPILER_INSIGHT_FORMATTOOLS_H

#include "compiler/insight/Anonymize.h"
#include "compiler/insight/Cut.h"
#include "compiler/insight/ModelGraph.h"

namespace weir::insight {

struct FormatTools {
  const char *format; ///< Frontend::name
  const char *suffix; ///< of what is written
  /// As readModelGraph.
  std::optional<ModelGraph> (*read)(const std::string &model, const FrontendFlagValues &flags,
                                    DiagnosticSink &sink, Calls calls);
  /// Writes a part of a model as a model.
  bool (*cut)(const std::string &model, const FrontendFlagValues &flags, const CutRequest &request,
              const ValueTypes &types, const std::string &output, DiagnosticSink &sink,
              CutSummary &summary);
  /// Writes a model without names and weights.
  bool (*anonymize)(const std::string &model, const std::string &output, NewNames &names,
                    DiagnosticSink &sink);
};

/// Those for a file or folder. Null after W0102, where there are none.
const FormatTools *formatToolsFor(const std::string &model, DiagnosticSink &sink);

/// The suffixes and folders that there are tools for, for help.
std::string editableFiles();
/// The suffixes of what is written, for help: ".onnx or .pb".
std::string writtenSuffixes();

} // namespace weir::insight

#endif // WEIR_COMPILER_INSIGHT_FORMATTOOLS_H
