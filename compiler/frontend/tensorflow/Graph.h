//===- Graph.h - a graph whose names are resolved ---------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nodes by number, edges checked, attributes complete. A Graph is the body of a
// GraphDef or of a function with its attributes bound. What holds of every
// Graph that a build function returned: each edge's node exists and has that
// output; the number of inputs is what the operation asks for; attributes
// without default are there; names are unique; the only cycles run from a
// NextIteration to a Merge; `order` lists the nodes so that, those back edges
// aside, everything comes after what it needs.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_GRAPH_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_GRAPH_H

#include "compiler/frontend/Diagnostic.h"
#include "compiler/frontend/tensorflow/GraphDef.h"
#include "compiler/frontend/tensorflow/OpTable.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weir::tf {

/// Output `port` of node `node`.
struct Edge {
  uint32_t node = 0;
  uint32_t port = 0;
  bool operator==(const Edge &) const = default;
};

struct Node {
  std::string_view name, op, device;
  /// The operation's signature; null for unknown operations and for calls of
  /// library functions by name.
  const OpDef *def = nullptr;
  /// The library function that `op` names, or null.
  const FunctionDef *callee = nullptr;
  std::vector<Attr> attrs; ///< with defaults filled in
  std::vector<Edge> inputs;
  std::vector<uint32_t> controls; ///< each once
  /// Types of the outputs; Invalid: unknown. Of an unknown operation, as many
  /// as are used.
  std::vector<DataType> outputTypes;

  const AttrValue *attr(std::string_view attrName) const { return findAttr(attrs, attrName); }
};

struct Graph {
  std::string_view name; ///< of the function; empty for a GraphDef
  std::vector<Node> nodes;
  std::vector<uint32_t> order;
  /// Of a function: the `_Arg` nodes, one an argument, and what it returns.
  std::vector<uint32_t> args;
  std::vector<Edge> rets;
  std::vector<std::string_view> retNames;
  std::vector<uint32_t> controlRets;
  std::unordered_map<std::string_view, uint32_t> byName;

  /// The node of that name, or -1.
  int64_t find(std::string_view nodeName) const {
    auto it = byName.find(nodeName);
    return it == byName.end() ? -1 : static_cast<int64_t>(it->second);
  }
};

/// Functions by name.
class Library {
public:
  Library() = default;
  /// Indexes the functions of `graph`, which must outlive the Library. A name
  /// that stands twice is reported (W0211).
  Library(const GraphDef &graph, const std::string &file, DiagnosticSink &sink);
  const FunctionDef *find(std::string_view name) const {
    auto it = byName.find(name);
    return it == byName.end() ? nullptr : it->second;
  }
  /// The function that the file gives as the gradient of `name`, or null.
  const FunctionDef *gradientOf(std::string_view name) const {
    auto it = gradients.find(name);
    return it == gradients.end() ? nullptr : find(it->second);
  }

private:
  std::unordered_map<std::string_view, const FunctionDef *> byName;
  std::unordered_map<std::string_view, std::string_view> gradients;
};

/// Reports if the graph's versions do not allow this reader (W0204).
bool checkVersions(const Versions &versions, const std::string &file, DiagnosticSink &sink);

/// The graph of a GraphDef. None after diagnostics.
std::optional<Graph> buildGraph(const GraphDef &def, const Library &library,
                                const std::string &file, DiagnosticSink &sink);

/// The body of a function with attribute placeholders replaced by `attrs`, the
/// attributes of the call. None after diagnostics.
std::optional<Graph> instantiate(const FunctionDef &function, const std::vector<Attr> &attrs,
                                 const Library &library, const std::string &file,
                                 DiagnosticSink &sink);

/// `n`, `n:k`, `^n` taken apart; port -1 for `^n`. Names may hold colons before
/// the last one only if what follows it is no number.
struct TensorName {
  std::string_view node;
  int64_t port = 0;
};
TensorName parseTensorName(std::string_view text);

/// Gives each node of a collective the inputs of all of its nodes, in the order of the
/// graph: what it computes is a function of these. Nodes belong together by their
/// shared_name, or by group_key and instance_key.
void joinCollectives(Graph &graph);

/// Fills `order`. False after a diagnostic (W0208) that names a cycle.
bool sortGraph(Graph &graph, const std::string &file, DiagnosticSink &sink);

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_GRAPH_H
