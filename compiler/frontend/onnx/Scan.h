//===- Scan.h - importing Scan ----------------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_SCAN_H
#define WEIR_COMPILER_FRONTEND_ONNX_SCAN_H

#include "compiler/frontend/onnx/NodeImport.h"

namespace weir::onnx {

/// Scan from version 9 on.
mlir::LogicalResult scanNode(NodeImport &n);
/// Version 8: everything has a leading batch dimension.
mlir::LogicalResult batchedScan(NodeImport &n);

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_SCAN_H
