//===- Cut.h - a part of a model as a model ---------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A part of a model file is a model file of its own: for reports of faults, and for
// looking closer. Works on the file's bytes: what lies in the part is copied as it is,
// fields that weir does not know included.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_INSIGHT_CUT_H
#define WEIR_COMPILER_INSIGHT_CUT_H

#include "compiler/emit/Program.h"
#include "compiler/frontend/Diagnostic.h"
#include "compiler/frontend/EntrySpec.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace weir::insight {

/// Where a part begins and ends. A name is a node's or a value's: a node in `from` is
/// the first of the part (its inputs are fed), one in `to` the last (its outputs are
/// fetched); a value in `from` is fed, one in `to` fetched. A name that is both means
/// the node. Empty: the model's own inputs, or outputs.
struct CutRequest {
  std::vector<std::string> from, to;
  bool areValues = false; ///< no name means a node
};

/// Finds the types of values of the model, in their order: what the file does not say.
/// False after a report.
using ValueTypes =
    std::function<bool(const std::vector<std::string> &values, std::vector<TensorInfo> &types)>;

/// What a cut left.
struct CutSummary {
  std::vector<std::string> inputs, outputs; ///< as --feed and --fetch name them
  std::vector<std::string> sources;         ///< of each input the value that it stands for
  /// Inputs that give a variable its value before the part reads it: the variable, by input.
  std::map<std::string, std::string> variables;
  int64_t nodes = 0;              ///< in the part, those of subgraphs left out
  std::vector<std::string> notes; ///< what else users should know of it
};

/// Writes a part of an ONNX model as `output`, the values of external tensors beside it as
/// `output`.data. False after a report.
bool cutOnnx(const std::string &model, const FrontendFlagValues &flags, const CutRequest &request,
             const ValueTypes &types, const std::string &output, DiagnosticSink &sink,
             CutSummary &summary);

/// Writes a part of a GraphDef, or of the graph of a SavedModel that --tags says, as a
/// GraphDef.
/// What variables hold is no part of the file: values that are read of them are inputs, and so is
/// what a variable holds that an operation takes as such (a branch that reads it); the part assigns
/// it first.
bool cutGraphDef(const std::string &model, const FrontendFlagValues &flags,
                 const CutRequest &request, const ValueTypes &types, const std::string &output,
                 DiagnosticSink &sink, CutSummary &summary);

} // namespace weir::insight

#endif // WEIR_COMPILER_INSIGHT_CUT_H
