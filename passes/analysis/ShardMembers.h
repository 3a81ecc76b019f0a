//===- ShardMembers.h - who has which part of a product ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_ANALYSIS_SHARDMEMBERS_H
#define WEIR_PASSES_ANALYSIS_SHARDMEMBERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace weir {

/// Of the operations of a training step, those that are a part of a product that the devices of
/// each stage of each replica share (tensor parallelism; passes/simplify/ShardProducts.cpp), with
/// its gradient and its optimizer. They are known by their nodes' names. Thread-safe.
class ShardMembers {
public:
  explicit ShardMembers(mlir::func::FuncOp step);

  /// Devices of a group; 1: no product is shared so.
  int64_t count() const { return members; }

  /// The number in its group of the device that computes an operation; 0 for all that is no part
  /// of a product.
  int64_t of(mlir::Operation *op) const;

  /// The node that an operation computes a part of; empty: it computes no part.
  llvm::StringRef nodeOf(mlir::Operation *op) const;

  /// Forgets what was asked for: devices are given.
  static void removeFrom(mlir::func::FuncOp step);

private:
  std::optional<mlir::NamedAttribute> find(mlir::Operation *op) const;

  mlir::DictionaryAttr table;
  int64_t members = 1;
};

} // namespace weir

#endif // WEIR_PASSES_ANALYSIS_SHARDMEMBERS_H
