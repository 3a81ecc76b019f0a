//===- Trees.h - ensembles of decision trees --------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_TREES_H
#define WEIR_COMPILER_FRONTEND_ONNX_TREES_H

#include "compiler/frontend/onnx/NodeImport.h"

namespace weir::onnx {

/// How a node compares its feature with its threshold.
enum class Branch : uint8_t { Leq, Lt, Gte, Gt, Eq, Neq, Member, Leaf };

/// What becomes of a target's values from all trees.
enum class Aggregate : uint8_t { Average, Sum, Min, Max };

/// An ensemble in one numbering of nodes and leaves.
struct Trees {
  llvm::SmallVector<int64_t> feature, onTrue, onFalse;
  llvm::SmallVector<double> threshold;
  llvm::SmallVector<Branch> branch;
  llvm::SmallVector<bool> missingIsTrue;
  /// For nodes of kind Member, the values they look for.
  std::vector<llvm::SmallVector<double>> members;
  llvm::SmallVector<int64_t> roots;
  /// What a leaf says: (node, target, weight).
  struct Vote {
    int64_t node, target;
    double weight;
  };
  std::vector<Vote> votes;
  int64_t targets = 1;

  size_t size() const { return branch.size(); }
};

/// The nodes that walks may come to, each behind those that it leads to; nothing where a node's
/// child is no node, or where nodes go in circles.
std::optional<std::vector<int64_t>> orderOf(const Trees &trees);

/// Scores [samples, targets] of `x` [samples, features], in x's float type, or
/// f32: a tree_ensemble.
Value scoreTrees(NodeImport &n, Value x, const Trees &trees, Aggregate aggregate);

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_TREES_H
