//===- NodeTrace.h - what became of the nodes of a model --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Follows a compilation and keeps, for every node of the model file, where its operations
// are after each pass: operations carry the names of the nodes that they serve in their
// locations.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_INSIGHT_NODETRACE_H
#define WEIR_COMPILER_INSIGHT_NODETRACE_H

#include "compiler/driver/Options.h"
#include "compiler/insight/ModelGraph.h"

#include <map>
#include <string>
#include <vector>

namespace weir::insight {

/// What a node is in the program, in the end.
enum class Fate {
  Kernel,   ///< kernels compute it
  Step,     ///< the step itself does: state, control flow, shapes, library calls
  Folded,   ///< a pass made a constant of it, or of all that it gave
  Merged,   ///< others give what it gave
  Dropped,  ///< a pass found that nothing needs what it gave
  Alias,    ///< import made no operation for it: its value is another's, or constant
  Call,     ///< its function's nodes do what it does
  Feed,     ///< the caller provides its value
  Constant, ///< its value is in the file
  Unused,   ///< nothing that is fetched needs it, or its function
};
const char *fateName(Fate fate);

struct NodeFate {
  std::string node, operation, inside; ///< as GraphNode
  Fate fate = Fate::Unused;
  std::string pass; ///< after which none of its operations was left; empty: some are
  std::string with; ///< the node whose value others read instead, or a constant
  std::vector<std::string> kernels; ///< names
  std::vector<std::string> copies;  ///< of a function's node: its names, one for each call
  /// What its operations were after the passes that changed which ones they are: places in
  /// NodeTrace::passes (-1: import) and NodeTrace::forms. Only where forms are asked for.
  std::vector<std::pair<int, int>> history;
  std::string text() const; ///< a sentence
};

/// A pass that touched a node.
struct PassStep {
  std::string stage, pass, why;           ///< as the pipeline says it
  std::vector<std::string> before, after; ///< operations that serve the node
};

/// A pass by name, where it stands, and why.
struct PassName {
  std::string stage, pass, why;
};

struct KernelPlace {
  std::string name, schedule; ///< schedule: as the plan writes it
  std::string howComputed;    ///< the same in plain words
  int64_t launches = 0;       ///< places that launch it
  std::vector<std::string> nodes;
  std::vector<std::string> launchNodes; ///< those of each launch that is for others, by ';'
  std::string ir;                       ///< of the plan; only where forms are asked for
};

/// A launch of the plan, in the order of its device's step.
struct LaunchPlace {
  int64_t device = 0;
  int64_t time = 0; ///< as lifetimes of buffers are counted
};

struct NodeTrace {
  std::vector<NodeFate> fates; ///< one for each node of the file, in its order
  std::vector<PassStep> steps; ///< of the node that was asked for
  std::vector<KernelPlace> kernels;
  std::vector<LaunchPlace> launches;
  /// Why what one node gives another is not computed in the other's kernel, by both names.
  std::map<std::pair<std::string, std::string>, std::string> obstacles;
  std::vector<PassName> passes;   ///< those that changed a node's operations
  std::vector<std::string> forms; ///< lists of operations; "": none
};

/// What is followed beside the nodes' fates.
struct TraceRequest {
  std::string node;          ///< step by step; "": none
  bool everyHistory = false; ///< NodeFate::history of all nodes, and KernelPlace::ir
};

/// Compiles a model up to where memory is planned, and follows its nodes. False after a report.
bool traceNodes(const driver::Options &options, const ModelGraph &graph,
                const TraceRequest &request, DiagnosticSink &sink, NodeTrace &trace);

} // namespace weir::insight

#endif // WEIR_COMPILER_INSIGHT_NODETRACE_H
