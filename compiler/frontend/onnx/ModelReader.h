//===- ModelReader.h - from an ONNX file's bytes to a Model -----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_MODELREADER_H
#define WEIR_COMPILER_FRONTEND_ONNX_MODELREADER_H

#include "compiler/frontend/Diagnostic.h"
#include "compiler/frontend/onnx/TensorReader.h"

#include <memory>
#include <string>

namespace weir::onnx {

/// Subgraphs and types that are nested deeper than this are refused.
constexpr unsigned maxNesting = 64;

/// Reads a serialized ModelProto. The model keeps views into `bytes`. Null,
/// with at least one error in `sink`, where the file is malformed; `file` names
/// it in diagnostics. Takes time and memory linear in the size of `bytes`.
std::unique_ptr<Model> readModel(std::string_view bytes, const std::string &file,
                                 DiagnosticSink &sink);

/// The name that diagnostics and locations give a node: its own, else its
/// first output's, else Op_index.
std::string displayName(const Node &node);

/// A problem as a diagnostic that names the file and, where there is one, the
/// node.
Diagnostic diagnose(const std::string &file, const Node *node, Problem problem);

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_MODELREADER_H
