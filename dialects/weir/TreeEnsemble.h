//===- TreeEnsemble.h - ensembles of decision trees --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_TREEENSEMBLE_H
#define WEIR_DIALECTS_WEIR_TREEENSEMBLE_H

#include "dialects/weir/Weir.h"

namespace weir::trees {
/// Columns of a tree_ensemble's `trees`.
enum Column : int64_t { root, firstTarget, nearest, farthest, columns };
/// Words of its nodes.
constexpr int64_t narrowWords = 2, wideWords = 4;
/// Bits of a leaf's threshold, a quiet NaN, that are the leaf's number.
constexpr int64_t narrowLeafBits = 22, wideLeafBits = 32;
} // namespace weir::trees

#define GET_OP_CLASSES
#include "dialects/weir/TreeEnsembleOps.h.inc"

namespace weir::trees {

/// Emits walks through the trees of an ensemble, a step at a time. Numbers are of type index.
class Walker {
public:
  Walker(ElementReader &r, TreeEnsembleOp op);

  /// From here on samples have each feature twice: as it is, and with the lowest number in place of
  /// a NaN, which nodes with the flag ask for. `sample` gets the number among these, and a NaN goes
  /// behind the child like any number that is above.
  void readPairs() { isPaired = true; }

  /// What the table of trees says of one.
  mlir::Value column(mlir::Value tree, Column column);
  /// The node behind `node`; a leaf stays. `sample` gives a feature's value, in its own type.
  mlir::Value step(mlir::Value node, llvm::function_ref<mlir::Value(mlir::Value feature)> sample);
  /// The number of the leaf at which a walk is.
  mlir::Value leafAt(mlir::Value node);

private:
  mlir::Value word(mlir::Value node, int64_t i);
  mlir::Value bits(mlir::Value word, int64_t shift, int64_t count);
  mlir::Value toIndex(mlir::Value word);
  mlir::Value threshold(mlir::Value node);
  mlir::Value isBehind(mlir::Value node, mlir::Value flag, mlir::Value value);

  ElementReader &r;
  TreeEnsembleOp op;
  bool isWide, isPaired = false;
};

} // namespace weir::trees

#endif // WEIR_DIALECTS_WEIR_TREEENSEMBLE_H
