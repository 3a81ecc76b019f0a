//===- Operators.h - which operators a model holds --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_CONFORMANCE_OPERATORS_H
#define WEIR_TOOLS_CONFORMANCE_OPERATORS_H

#include "compiler/frontend/onnx/Model.h"
#include "compiler/frontend/tensorflow/GraphDef.h"

#include <string>
#include <vector>

namespace weir::conformance {

/// Distinct operators, sorted, of graph, subgraphs and functions: `Conv`,
/// `ai.onnx.ml.Scaler`.
std::vector<std::string> operatorsOf(const onnx::Model &model);

/// Distinct operations, sorted, of graph and functions, without those that only
/// hold it together (Const, Placeholder, NoOp, Identity where there is more).
std::vector<std::string> operatorsOf(const tf::GraphDef &graph);

} // namespace weir::conformance

#endif // WEIR_TOOLS_CONFORMANCE_OPERATORS_H
