//===- Dropout.h - where a model in training drops elements -----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_DROPOUT_H
#define WEIR_COMPILER_FRONTEND_ONNX_DROPOUT_H

#include "compiler/frontend/onnx/NodeImport.h"

namespace weir::onnx {

/// `x` with a mark for passes/training. The ratio is input `ratio`, else the
/// attribute of versions that have one, else 0.5; null after a report. In versions that
/// say whether they train, the file says what it was exported for; what is compiled to
/// train, trains.
Value markDropout(NodeImport &n, Value x, size_t ratio);

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_DROPOUT_H
