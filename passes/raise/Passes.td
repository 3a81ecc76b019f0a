//===- Passes.td - composites that exporters wrote out -*- tablegen -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes that know how exporters write operations which the graph has. What
// they leave, others find under its name.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_RAISE_PASSES_TD
#define WEIR_PASSES_RAISE_PASSES_TD

include "mlir/Pass/PassBase.td"

def WeirRaiseActivationsPass : Pass<"weir-raise-activations", "::mlir::ModuleOp"> {
  let summary = "recognises GELU and the logistic function";
  let description = [{
    What: elementwise operations that compute one of these of one value, in whatever sums,
    products and powers, become one operation, where nothing else reads what lies between.
    What they compute is compared at places from -9 to 9, up to what constants and results
    of the type round.
    Why here: constants are folded and equal values are one, so that uses count; gradients,
    which read what lies between, are made.
    Before: a graph without gradients. After: libraries and kernels find activations by
    their names.
    What breaks if it moves: before gradients are made, nothing; behind weir-kernelize,
    libraries that compute an activation with a product would not be asked for it.
  }];
  let dependentDialects = ["::weir::WeirDialect"];
}

def WeirRaisePicksPass : Pass<"weir-raise-picks", "::mlir::ModuleOp"> {
  let summary = "gathers what a sum over a line would find among zeros";
  let description = [{
    What: a sum along an axis of what is kept where a number equals the index along it, and 0
    elsewhere, is the element that the number names, or 0: a gather. Losses of classes write it.
    Why here: gradients, which know the sum's form, are made, and sizes are known. Before
    weir-decompose, so that the gather simplifies with the rest.
    Before: equal values are one. After: no line is read for one of its elements.
    What breaks if it moves: before gradients are made, that of a softmax would be a scatter;
    behind weir-kernelize, kernels would read whole lines.
  }];
  let dependentDialects = ["::weir::WeirDialect"];
}

def WeirRaiseBlocksPass : Pass<"weir-raise-blocks", "::mlir::ModuleOp"> {
  let summary = "recognises weights of which blocks share a scale";
  let description = [{
    What: constant matrices of bytes, less a zero point, by a scale, where a gather gives each
    row those of its block, become dequantize_blocks where products alone read them: with four
    bits a number where all fit. Keras writes weights of four bits so.
    Why here: behind weir-fold-constants, which unpacks what a file holds two to a byte.
    Before: such weights are bytes. After: products read numbers, scales and zero points as
    they are stored.
    What breaks if it moves: before constants are folded, numbers are not known yet; in layout,
    weir-fold-weights would spread the scales.
  }];
  let dependentDialects = ["::weir::WeirDialect"];
}

def WeirRaiseNormalizationsPass : Pass<"weir-raise-normalizations", "::mlir::ModuleOp"> {
  let summary = "recognises softmax, its logarithm, and layer normalisation";
  let description = [{
    What: exp(x - max) over its sum, the logarithm of that, and centred values over the root
    of their variance, scaled and shifted, become softmax and layer_norm, where nothing else
    reads what lies between.
    Why here: as weir-raise-activations; before weir-decompose, which writes all of them, of
    whatever exporter, in one way: with one quotient a line instead of one an element, and
    statistics of f16 and bf16 in f32.
    Before: equal values are one. After: no softmax or layer normalisation stands in pieces
    that only it reads.
    What breaks if it moves: behind weir-decompose, kernels of attention would not know the
    forms of some exporters.
  }];
  let dependentDialects = ["::weir::WeirDialect"];
}

def WeirGroupedQueryAttentionPass : Pass<"weir-grouped-query-attention", "::mlir::ModuleOp"> {
  let summary = "reads keys and values of grouped queries where they lie";
  let description = [{
    What: a reshape of a broadcast of a reshape that stretches the heads of keys
    or values over the query heads of their groups, for products alone, becomes
    one `repeat`; open sizes are traced to feeds, to know that no other changes.
    Where each query head has one query, those of a group become the queries of
    one head: scores, softmax and masks between the products take that form, and
    nothing is repeated.
    Why here: softmax is elementwise operations and reductions by now, and sizes
    are known. Before layouts and kernels: attention reads through a `repeat`.
    Before: softmax is expanded. After: heads that are stretched for products alone are a
    `repeat`, or are not stretched.
    What breaks if it moves: a decoder would copy all keys and values it has for
    each query head, in each step.
  }];
}

#endif // WEIR_PASSES_RAISE_PASSES_TD
