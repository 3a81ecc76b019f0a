//===- ModelVerifier.h - what must hold of an ONNX model --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_MODELVERIFIER_H
#define WEIR_COMPILER_FRONTEND_ONNX_MODELVERIFIER_H

#include "compiler/frontend/Diagnostic.h"
#include "compiler/frontend/onnx/Model.h"

#include <string>

namespace weir::onnx {

/// Checks a model that was read, and reports all that is wrong with it. True
/// where nothing is; then this holds, and the importer leans on it:
///   - every domain has one opset, one that the operator table knows;
///   - a value is defined once in its graph (a subgraph may hide an outer one),
///     and every use names a value of its graph or of one around it;
///   - nodes of every graph and function stand in an order that runs (a file in
///     another order is sorted);
///   - operators of ONNX's own domains exist at their opset, and have inputs,
///     outputs and attributes as their signatures say;
///   - functions are unique and do not call themselves, however indirectly.
/// Takes time about linear in the model's size times the nesting of graphs.
bool verifyModel(Model &model, const std::string &file, DiagnosticSink &sink);

/// The model's function that a node calls; null where it calls none.
const Function *findFunction(const Model &model, const Node &node);

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_MODELVERIFIER_H
