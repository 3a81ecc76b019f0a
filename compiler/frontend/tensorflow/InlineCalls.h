//===- InlineCalls.h - bodies in the place of calls -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Function inlining on the level of graphs, for those who name nodes inside of functions: a
// model of TensorFlow 2 has one call in its graph, and its layers in functions. A node of a
// body is named as locations in the IR have it, `call/node`. Bodies of `While`, `If` and
// `Case` stay functions.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_INLINECALLS_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_INLINECALLS_H

#include "compiler/frontend/tensorflow/Graph.h"

#include <deque>
#include <string>

namespace weir::tf {

/// A graph without calls, and what its names look into beside the file.
struct InlinedGraph {
  Graph graph;
  std::deque<std::string> names;

  InlinedGraph() = default;
  InlinedGraph(InlinedGraph &&) = default; // a deque keeps its elements where they are
  InlinedGraph &operator=(InlinedGraph &&) = default;
  InlinedGraph(const InlinedGraph &) = delete;
  InlinedGraph &operator=(const InlinedGraph &) = delete;
};

/// `graph` with the bodies of all functions that it calls. Its nodes keep their numbers; a call
/// becomes an `IdentityN` of what its function returns, behind its effects. A function that
/// calls itself, or holds loops of `Enter` and `Exit`, stays a call. None after a report.
std::optional<InlinedGraph> inlineCalls(const Graph &graph, const Library &library,
                                        const std::string &file, DiagnosticSink &sink);

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_INLINECALLS_H
