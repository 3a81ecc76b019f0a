//===- Passes.td - simplifications of the graph -*- tablegen -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_SIMPLIFY_PASSES_TD
#define WEIR_PASSES_SIMPLIFY_PASSES_TD

include "mlir/Pass/PassBase.td"

def WeirShardProductsPass : Pass<"weir-shard-products", "::mlir::ModuleOp"> {
  let summary = "makes of a product as many as there are devices";
  let description = [{
    What: of the products that the module's `weir.sharded_products` names as many as the cluster has CPUs, each of
    a part of the weight: of columns, whose results are put together, or of the dimension that is
    summed over, whose results are added. What lies between the two element by element is computed in parts,
    too. Parts of weights are weights of their own; every part asks for its device. With the module's
    `weir.shard_groups` as many groups share the products, which weir-replicate makes: nodes get a number in their group.
    Why here: first of all, so that what trains is divided with its gradients and its optimizer.
    Before: the graph is as it was imported. After: nothing is asked for any more.
    What breaks if it moves: behind weir-train a weight is one variable, on one device.
  }];
}

def WeirFreezeVariablesPass : Pass<"weir-freeze-variables", "::mlir::ModuleOp"> {
  let summary = "makes constants of variables that no entry changes";
  let description = [{
    What: a variable that has a value in a new session, and that no function of the module assigns, is that
    value. Without the module's `weir.freeze` only where no function assigns any variable or makes an iterator,
    and tasks of a cluster do not share them: such a program is one whose state is saved and restored, as a whole.
    Why here: behind weir-differentiate, which makes what assigns, and before anything looks at constants.
    Before: gradients are made. After: weights of models that infer are constants, whatever format they came in.
    What breaks if it moves: later, filters have been taken for operands that change, and are neither
    arranged nor transformed ahead of time.
  }];
}

def WeirInferShapesPass : Pass<"weir-infer-shapes", "::mlir::ModuleOp"> {
  let summary = "derives result types from operand types and known values";
  let description = [{
    What: recomputes the result types of every operation in order, and refines
    them where the new ones say more; loops keep the types of what they carry. What computes
    sizes of few numbers is folded on the way (outside of loops), as sizes that become known
    decide types behind it: a network that computes each border of its own is known in one go.
    Why here: after constants have been folded, which settles shape operands;
    every later stage asks for ranks. Before: types say what the file says. After: nothing is unranked, or the
    operation is named in an error.
    What breaks if it moves: in front of canonicalize shape operands are no constants yet; without the last one,
    later stages meet values without a rank.
  }];
}

def WeirEqualSizesPass : Pass<"weir-equal-sizes", "::mlir::ModuleOp"> {
  let summary = "drops broadcasts to sizes that the operand has anyway";
  let description = [{
    What: traces every open size forwards to the tensor that it first was a size
    of, through elementwise operations, reshapes, products and the like, and
    drops a `broadcast_to` whose sizes are the operand's, whatever is fed. A
    concatenation or product that always runs makes the sizes equal that it
    needs to be.
    Why here: products broadcast open batches, whose sizes are computed from both
    operands. Folding looks at one definition; that both come from one feed shows
    only here. Before value numbering, which finds more among what is left.
    Before: every result has a rank. After: no broadcast is left that can be seen to change
    nothing.
    What breaks if it moves: products of open batches would copy their operands.
  }];
}

def WeirRefineFeedsPass : Pass<"weir-refine-feeds", "::mlir::ModuleOp"> {
  let summary = "fixes open sizes of feeds that only one size can have";
  let description = [{
    What: traces the sizes that convolutions, products and concatenations need back
    to the feeds they come from. Where an operation that always runs bears one size
    alone (a filter has so many channels, a weight so many rows), the feed has it:
    another is refused where it is fed instead of inside of the step.
    Why here: with weir-equal-sizes, which follows sizes likewise, and before
    weir-infer-shapes, which carries the sizes through the graph. Before: feeds are
    as open as the file says. After: open are sizes that several values can have.
    What breaks if it moves: channels and depths that a file leaves open would be
    computed in plain loops.
  }];
}

def WeirInlineCallsPass : Pass<"weir-inline-calls", "::mlir::ModuleOp"> {
  let summary = "puts functions that the model keeps in place of their calls";
  let description = [{
    What: copies the body of a called function to each of its calls, under the
    call's name, between borders that no kernel spans, and drops the function.
    Why here: functions that the model marks so are simplified once, however
    often they are called, and one set of kernels serves all calls. Memory and
    order are planned over whole steps, which needs the bodies.
    Before: functions that are called are simplified. After: no call is left.
    What breaks if it moves: later, composites and shapes would stay as the
    import left them.
  }];
}

def WeirDecomposePass : Pass<"weir-decompose", "::mlir::ModuleOp"> {
  let summary = "expands composites that no back end claims";
  let description = [{
    What: replaces softmax, layer_norm and the like by smaller operations through
    DecomposeOpInterface; sums and means of complex numbers by those of their parts.
    Why here: last of the graph level. Earlier passes match composites whole;
    kernelize fuses what this leaves.
    Before: composites are whole. After: no operation with DecomposeOpInterface is left.
    What breaks if it moves: earlier, passes that match composites whole find pieces; later, kernels meet operations
    that no emitter knows.
  }];
}

def WeirFoldConstantsPass : Pass<"weir-fold-constants", "::mlir::ModuleOp"> {
  let summary = "computes what large constants lead to";
  let description = [{
    What: folding computes with a few thousand elements; this computes what a model makes of its
    weights, whatever their size, before anything is fed: weights that are standardised or scaled
    to a length, low-rank updates added to them, filters put together. Elementwise arithmetic,
    reductions, products and movement that lead from constants to what something else reads
    become one constant. It has no more elements than the largest of the constants had
    (concatenated ones together), so that the object does not grow: a spread or widened
    constant is made by who reads it. Weights of bytes stay bytes. What only moves elements of one
    constant is left to weir-fold-weights, which costs no copy; constants that are concatenated, as
    PyTorch's exporter writes the gates of recurrent layers, become one. No function of the C library is
    evaluated, so that objects do not depend on the host; results are held in memory, at most
    1 GiB a module.
    Why here: composites are expanded and equal values are one; in front of weir-fold-batch-norm,
    which scales weights that are constants.
    Before: constants may lead to others in any way. After: an operation with constant operands
    alone moves elements, makes more of them, or is not evaluated.
    What breaks if it moves: nothing, but every run would compute the weights, and layouts would
    move them in every run as well.
  }];
  let dependentDialects = ["::weir::WeirDialect"];
}

def WeirFoldBatchNormPass : Pass<"weir-fold-batch-norm", "::mlir::ModuleOp"> {
  let summary = "multiplies constant scales into the weights before them";
  let description = [{
    What: where the result of a convolution or product with constant weights is
    shifted and scaled by constants, one for each channel, the scale goes into
    the weights and the shifts become one. So batch normalisation costs an
    addition; where two convolutions or products are added, both shifts are one.
    f16 and bf16 are scaled where a batch normalisation in f32 stands between
    casts: weights are rounded once more, and the values between no longer are.
    Weights with another use, shared results, scales that are not finite or beyond
    1e12 are left alone, and so are weights of f16 that it would not hold. Those of
    f32 in a file are scaled when they are written (`#weir.scaled`); others are held
    in memory, and left alone beyond 192 MiB in all.
    Why here: after composites are expanded, which makes batch normalisation a
    shift and a scale; before layouts, which rearrange the weights.
    Before: batch normalisations are shifts and scales; each constant is one operation.
    After: no constant scale of channels stands behind weights that could hold it.
    What breaks if it moves: nothing, but kernels would compute the scale.
  }];
  let dependentDialects = ["::weir::WeirDialect"];
}

#endif // WEIR_PASSES_SIMPLIFY_PASSES_TD
