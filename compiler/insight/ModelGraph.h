//===- ModelGraph.h - the nodes of a model file -----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What both formats have in common, for those who ask by names: nodes, the values between
// them, and the order in which they can be computed. Names are those that locations in the
// IR have, and that --feed and --fetch take.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_INSIGHT_MODELGRAPH_H
#define WEIR_COMPILER_INSIGHT_MODELGRAPH_H

#include "compiler/frontend/Diagnostic.h"
#include "compiler/frontend/EntrySpec.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace weir::insight {

struct GraphNode {
  std::string name; ///< as locations have it; of a nameless ONNX node its first output
  std::string op;
  std::vector<std::string> inputs;   ///< values; those that a subgraph takes included
  std::vector<std::string> outputs;  ///< values; "": left out
  std::vector<std::string> controls; ///< nodes of a GraphDef that run before it
  /// The node of the main graph whose subgraph holds it, or the function; "": main graph.
  std::string inside;
  std::vector<std::string> calls; ///< functions of the file
  bool isConstant = false;        ///< its value is in the file
  /// Whether its outputs are tensors that a run can fetch, as far as the file says: parts of
  /// loops are not. Of each output `isOpaque` says that it is a resource or a variant;
  /// empty: none is.
  bool isFetchable = true;
  std::vector<bool> isOpaque;

  bool canFetch(size_t output) const {
    return isFetchable && !(output < isOpaque.size() && isOpaque[output]);
  }
};

struct ModelGraph {
  /// The main graph's first, in an order in which each comes after what it needs.
  std::vector<GraphNode> nodes;
  size_t mainNodes = 0;
  std::vector<std::string> inputs, outputs;                         ///< values of the main graph
  std::set<std::string> constants;                                  ///< values in the file, of ONNX
  std::vector<std::string> signatures;                              ///< of a SavedModel
  std::map<std::string, std::vector<std::string>> signatureOutputs; ///< values
  /// Values by the name that users feed them by.
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> signatureInputs;

  /// The node that makes a value, or has that name; -1: none. Of the main graph.
  int64_t producer(const std::string &value) const;
  int64_t find(const std::string &name) const;
  /// The nodes of the main graph that `values` need.
  std::set<size_t> cone(const std::vector<std::string> &values) const;
  /// The names under which the nodes of functions are in a program: by function, what
  /// stands before a node's name, one for each way of calls from `nodes` of the main graph.
  /// At most some thousands.
  std::map<std::string, std::vector<std::string>>
  callPrefixes(const std::set<size_t> &callers) const;

  std::map<std::string, size_t> byName, byValue; ///< of the main graph
};

/// Whether the nodes of functions that the main graph calls are nodes of it, named as in a
/// program: in the place of calls (InlineCalls.h).
enum class Calls { AreNodes, AreInlined };

/// Reads a model of a format that has tools for it (FormatTools.h), by the values of the
/// format's own flags. None after a report.
std::optional<ModelGraph> readModelGraph(const std::string &model, const FrontendFlagValues &flags,
                                         DiagnosticSink &sink, Calls calls = Calls::AreNodes);

/// Of an ONNX model; its calls are nodes.
std::optional<ModelGraph> readOnnxGraph(const std::string &model, const FrontendFlagValues &flags,
                                        DiagnosticSink &sink, Calls calls);
/// Of a GraphDef, or of a SavedModel's graph that --tags says.
std::optional<ModelGraph> readTensorFlowGraph(const std::string &model,
                                              const FrontendFlagValues &flags, DiagnosticSink &sink,
                                              Calls calls);

} // namespace weir::insight

#endif // WEIR_COMPILER_INSIGHT_MODELGRAPH_H
