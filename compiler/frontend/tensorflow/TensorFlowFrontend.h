//===- TensorFlowFrontend.h - TensorFlow's files as a format ----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_TENSORFLOWFRONTEND_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_TENSORFLOWFRONTEND_H

#include "compiler/frontend/Frontend.h"
#include "compiler/frontend/tensorflow/TensorFlowFlags.h"

namespace weir {

/// A GraphDef (.pb, .pbtxt), and the folder of a SavedModel, of which --tags says which
/// graph.
const Frontend &tensorFlowFrontend();

namespace tf {
/// Reads, resolves and imports, as Frontend::import.
mlir::OwningOpRef<mlir::ModuleOp> importModel(mlir::MLIRContext &context, const std::string &path,
                                              const ImportOptions &options, DiagnosticSink &sink);
/// By name.
std::vector<SupportedOperator> supportedOperators();
} // namespace tf

} // namespace weir

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_TENSORFLOWFRONTEND_H
