//===- TreeTables.h - the tables of a tree_ensemble -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_TREETABLES_H
#define WEIR_COMPILER_FRONTEND_ONNX_TREETABLES_H

#include "compiler/frontend/onnx/Trees.h"

namespace weir::onnx {

/// A decision of the one kind that a tree_ensemble knows: a feature that is not above the limit
/// goes to `low`, another to `high`, as a NaN does unless `nanIsLow`. Places are decisions, or
/// leaves: ~node of the ensemble.
struct Decision {
  int64_t feature;
  double limit;
  int64_t low, high;
  bool nanIsLow;
};

/// What a tree_ensemble reads, of one layout of nodes.
struct TreeTables {
  bool isWide = false, missing = false;
  int64_t features = 0, featureBits = 0, width = 1, steps = 0;
  std::vector<uint32_t> nodes; ///< two words each, or four
  std::vector<int32_t> trees;
  std::vector<double> weights; ///< `width` a leaf
};

/// The tables of an ensemble whose nodes stand in `order` behind those that they lead to. `type` is
/// that of thresholds, which samples have, too, or are rounded to; f16 and bf16 are computed in
/// f32. A leaf says `silent` to targets that it has no vote for; votes for one target are summed,
/// or, with `lastVoteCounts`, the last is taken.
TreeTables treeTables(const Trees &trees, llvm::ArrayRef<int64_t> order, mlir::FloatType type,
                      double silent, bool lastVoteCounts);

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_TREETABLES_H
