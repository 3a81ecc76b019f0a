//===- TensorFlowGraph.h - what the runner looks up in a graph --*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_CONFORMANCE_TENSORFLOWGRAPH_H
#define WEIR_TOOLS_CONFORMANCE_TENSORFLOWGRAPH_H

#include "compiler/driver/Options.h"
#include "compiler/frontend/MappedFile.h"
#include "compiler/frontend/tensorflow/GraphDef.h"
#include "tools/common/HostTensor.h"

#include <map>
#include <memory>
#include <string>

namespace weir::conformance {

/// A binary GraphDef, open for looking things up.
struct TensorFlowGraph {
  std::unique_ptr<MappedFile> file;
  tf::GraphDef graph;
  std::map<std::string_view, const tf::NodeDef *> nodes;

  /// False, with the reason in `error`.
  bool open(const std::string &path, std::string &error);

  const tf::NodeDef *find(std::string_view name) const {
    auto found = nodes.find(name);
    return found == nodes.end() ? nullptr : found->second;
  }

  /// Whether a placeholder says its own type and shape, so that a feed of it
  /// needs nothing else. With `dims`: and they go with it.
  bool describesItself(std::string_view node, const std::vector<int64_t> *dims = nullptr) const;
};

/// "node" of "node:0" and "node".
std::string_view nodeOf(std::string_view tensor);

/// The value of a Const node. False where it is none, or of a type that cannot
/// be fed.
bool constantValue(const tf::NodeDef &node, tools::HostTensor &tensor);

/// A feed of `tensor` under `name`; with the shape and type of `value` where
/// the graph does not give them, or (`contradict`) gives others.
FeedSpec feedOf(const TensorFlowGraph &graph, std::string tensor, std::string name,
                const tools::HostTensor &value, bool contradict = false);

} // namespace weir::conformance

#endif // WEIR_TOOLS_CONFORMANCE_TENSORFLOWGRAPH_H
