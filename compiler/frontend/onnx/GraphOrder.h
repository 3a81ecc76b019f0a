//===- GraphOrder.h - names and order of a graph's nodes --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_GRAPHORDER_H
#define WEIR_COMPILER_FRONTEND_ONNX_GRAPHORDER_H

#include "compiler/frontend/Diagnostic.h"
#include "compiler/frontend/onnx/Model.h"

#include <string>
#include <unordered_set>

namespace weir::onnx {

/// Resolves the names of a graph and of the graphs inside it, and sorts nodes
/// that stand before their operands; an order that already runs is kept.
/// Reports values defined twice, uses of undefined values, outputs that nothing
/// defines, and cycles, each by its node.
void orderGraph(Graph &graph, const std::string &file, DiagnosticSink &sink);

/// The same for a function's body.
void orderFunction(Function &function, const std::string &file, DiagnosticSink &sink);

/// The names that a graph takes from the graphs around it, each once, in order
/// of first use. For graphs that orderGraph has accepted.
std::vector<std::string_view> freeNames(const Graph &graph);

/// The names that nodes of the graph, the graphs inside it, and its outputs take. For graphs that
/// orderGraph has accepted.
std::unordered_set<std::string_view> namesRead(const Graph &graph);

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_GRAPHORDER_H
