//===- Formats.h - what users say of formats of models ----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For tools, which need no MLIR for it. All thread-safe.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_FORMATS_H
#define WEIR_COMPILER_DRIVER_FORMATS_H

#include "compiler/frontend/EntrySpec.h"

#include <string>
#include <vector>

namespace weir::driver {

/// Flags that formats have beside those of all.
std::vector<FrontendFlag> frontendFlags();

/// The files that are read, for help: ".onnx, .pb or .pbtxt (GraphDef), …".
std::string modelFiles();

/// A line an operator and range of versions, "onnx ai.onnx Add 7-13", for people and for
/// scripts.
std::string supportedOperators();

/// Whether a file holds weir's own IR, and no nodes of a model.
bool isOwnIr(const std::string &path);

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_FORMATS_H
