//===- TreeEnsemble.td - ensembles of decision trees -*- tablegen -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TREE_ENSEMBLE_TD
#define WEIR_TREE_ENSEMBLE_TD

include "dialects/weir/WeirBase.td"

def Weir_TreeEnsembleOp : Weir_ContractionOp<"tree_ensemble", [KernelAnchor, ReadsElementsRepeatedly, ChecksIndices,
    SizesFromSizes, CannotFail]> {
  let summary = "what the leaves that samples come to in decision trees say, summed up over the trees";
  let description = [{
    Element [i, k] of the result, [N, targets], is the sum, `max` or `min` (`kind`), tree by
    tree, of what the leaf that row i of `samples`, [N, F], comes to says to target k. The
    result's elements are those of `weights`, which samples are cast to.

    `trees`, [T, 4] of i32, has of each tree its root, its first target, the steps to the
    nearest leaf and those to the farthest. A walk begins at the root. A node compares a feature with its threshold:
    where it is not above, the walk goes on at the node's child, otherwise, and where either
    is NaN, at the node behind the child. With `missing` a node may have a flag: then a NaN
    goes to the child. A leaf's threshold is a NaN whose lowest bits (22, or 32 of wide
    nodes) are the leaf's number, and its child the node before it: a walk stays there. Leaf l
    says `weights`[l, j], [leaves, width], to target j behind the tree's first, and nothing to
    others.

    `nodes`, of i32, has two words for a node: the bits of an f32, its threshold, and the
    child above `feature_bits` bits of feature, both moved by one behind the flag with
    `missing`. Wide nodes have four: the bits of an f64, the lower half first, the feature,
    behind the flag, and the child. `features`: as many a sample has at least. `steps`: of a sample
    through all trees, on average, by which time is estimated.
  }];
  let arguments = (ins Weir_AnyTensor:$samples, Weir_IntTensor:$nodes, Weir_IntTensor:$trees, Weir_AnyTensor:$weights,
    Weir_ReduceKindAttr:$kind, I64Attr:$targets, I64Attr:$features, I64Attr:$feature_bits, BoolAttr:$missing, I64Attr:$steps);
  let results = (outs Weir_AnyTensor:$result);
  let extraClassDeclaration = [{
    /// Records an error unless a sample has the features that nodes ask for, and returns whether
    /// it has; null where its type says so.
    ::mlir::Value requireFeatures(::weir::ElementReader &reader);
  }];
}

#endif // WEIR_TREE_ENSEMBLE_TD
