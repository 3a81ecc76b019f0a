//===- ObjectGraph.h - state that objects, not nodes, restore ---*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program that loads a SavedModel into Python objects restores these, not the
// graph: the bundle holds a graph of objects, with keys of what is stored of each.
// Some models are saved so that only this way leads to their variables (their
// restore operation assigns to copies). Which node stands for which object follows
// from what functions capture (a call's last inputs are the objects that
// `bound_inputs` numbers), else from a variable's name, where it is the only one
// called so.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_OBJECTGRAPH_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_OBJECTGRAPH_H

#include "compiler/frontend/tensorflow/SavedModel.h"

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace weir::tf {

/// Immutable after construction; copies all that it keeps.
class ObjectGraph {
public:
  /// Of a model without variables or without object graphs: an empty one. One that
  /// is damaged counts as missing.
  ObjectGraph(const SavedModel &model, const Graph &graph);

  /// The bundle's key for an attribute (`VARIABLE_VALUE` of variables, `table` of
  /// tables) of the object that `node` of the graph stands for; "" where there is none.
  std::string keyOf(const Node &node, std::string_view attribute) const;

  /// Whether the variable that `node` stands for is one that training changes; true
  /// where nothing says so.
  bool isTrained(const Node &node) const;

private:
  std::set<int64_t> notTrained;                                ///< by object
  std::set<std::string, std::less<>> named;                    ///< the same, by name
  std::map<std::string, int64_t, std::less<>> objects;         ///< by node
  std::map<std::pair<int64_t, std::string>, std::string> keys; ///< by object and attribute
  std::map<std::string, std::string, std::less<>> byName; ///< keys of values; "": not the only one
};

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_OBJECTGRAPH_H
