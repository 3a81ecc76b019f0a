//===- Strings.h - operators on strings -------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_STRINGS_H
#define WEIR_COMPILER_FRONTEND_ONNX_STRINGS_H

#include "compiler/frontend/onnx/NodeImport.h"

namespace weir::onnx {

/// Whether two string tensors are equal, element by element, broadcasting.
Value equalStrings(NodeImport &n, Value x, Value y);

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_STRINGS_H
