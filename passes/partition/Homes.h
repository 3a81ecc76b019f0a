//===- Homes.h - where values of a placed module are --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PARTITION_HOMES_H
#define WEIR_PASSES_PARTITION_HOMES_H

#include "mlir/IR/BuiltinOps.h"

namespace weir {

/// The device of an operation that is no control flow, by weir.device_index.
int64_t deviceOf(mlir::Operation *op);
void setDevice(mlir::Operation *op, int64_t device);
/// The device of a loop's or conditional's result, by weir.homes.
int64_t homeOf(mlir::Operation *control, unsigned result);
/// The device that has a value; -1: each can have it.
int64_t deviceOf(mlir::Value value);
/// The device that a use needs the value on; -1: none of its own.
int64_t deviceOfUse(mlir::OpOperand &use);

} // namespace weir

#endif // WEIR_PASSES_PARTITION_HOMES_H
