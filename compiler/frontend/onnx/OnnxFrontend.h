//===- OnnxFrontend.h - ONNX as a format ------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_ONNXFRONTEND_H
#define WEIR_COMPILER_FRONTEND_ONNX_ONNXFRONTEND_H

#include "compiler/frontend/Frontend.h"

namespace weir {

/// .onnx, a ModelProto, with external tensors beside it.
const Frontend &onnxFrontend();

namespace onnx {
/// Reads, verifies and imports, as Frontend::import.
mlir::OwningOpRef<mlir::ModuleOp> importModel(mlir::MLIRContext &context, const std::string &path,
                                              const ImportOptions &options, DiagnosticSink &sink);
/// By domain and name.
std::vector<SupportedOperator> supportedOperators();
} // namespace onnx

} // namespace weir

#endif // WEIR_COMPILER_FRONTEND_ONNX_ONNXFRONTEND_H
