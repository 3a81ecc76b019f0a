//===- Passes.td - data layouts -*- tablegen -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_LAYOUT_PASSES_TD
#define WEIR_PASSES_LAYOUT_PASSES_TD

include "mlir/Pass/PassBase.td"

def WeirChannelsLastPass : Pass<"weir-channels-last", "::mlir::ModuleOp"> {
  let summary = "brings convolutions and pools to channels last";
  let description = [{
    What: rewrites convolutions and pools whose channels come first between
    transpositions, moves transpositions down through operations that do not
    care (of dimensions that are split, or joined where they lie next to each other before, too),
    and lets pairs of them cancel.
    Why here: the CPU's convolutions run along channels. After the
    graph is simplified, before kernels are formed: it changes what fuses.
    Before: convolutions as the file orders them. After: convolutions and pools have
    channels last, transpositions stand where the orders meet.
    What breaks if it moves: after kernelize a transposition is a kernel.
  }];
  let dependentDialects = ["::weir::WeirDialect"];
}

def WeirQuantizedGemmsPass : Pass<"weir-quantized-gemms", "::mlir::ModuleOp"> {
  let summary = "multiplies the bytes of quantized models as bytes";
  let description = [{
    What: where the target says what multiplies bytes (`byte_products` of `weir.target`),
    products and convolutions of dequantized bytes with dequantized weights, or of
    such bytes as words, become ones of bytes with sums of 32 bits, channels last.
    Of `pairs` windows that Winograd's form serves stay reals but in small images where
    pairs of weights hardly ever exceed a half of a word, and `weir.matrix` is "bounded"
    where few pairs of weights exceed a half of a word. What is quantised to
    signed bytes for a product of vectors by constants is quantised to unsigned ones.
    Rows, columns and images may be open; filters are constants, the right operands of
    products may be computed. The zero point
    of the left operand is a constant for each column, taken off the sum; weights
    for which no signed byte holds what is left of them get an offset a column,
    times sums of the left operand. The scales multiply the sum. Groups are joined
    until their columns fill panels, where panels of each have more to spare. Bytes
    that these read are stored as bytes; a quantization before them is multiplied
    into the scales. Sums of an open depth, and sums of reals whose words could
    overflow, stay as they are.
    Why here: first, while the bytes are there: weir-fold-weights makes floats of
    what is left.
    Before: bytes and what dequantizes them are operations of their own. After: products of
    bytes carry `weir.matrix`; what is left is floats.
    What breaks if it moves: behind weir-fold-weights the weights are floats, and nothing is multiplied as bytes.
  }];
  let dependentDialects = ["::weir::WeirDialect"];
}

def WeirCanonicalGemmsPass : Pass<"weir-canonical-gemms", "::mlir::ModuleOp"> {
  let summary = "gives products and convolutions the operands of a GEMM";
  let description = [{
    What: brings dot_general to [batch, M, K] by [batch, K, N] through
    transpositions and reshapes, and makes the padding of convolutions an
    operation of its own. Taps that read nothing but padding are left out, of the whole
    convolution or, where many do, of parts of its results. Convolutions of one element that
    visit every position of an image of open size become products. Products by a vector,
    of one row by one column, and of depths up to 4 become elementwise operations and sums.
    Why here: after layouts are settled, before constants are folded: what it
    does to weights happens at compile time.
    Before: convolutions have channels last. After: products are
    [batch, M, K] by [batch, K, N]; convolutions read what is padded already.
    What breaks if it moves: in front of weir-channels-last padding would be made for the other order of dimensions;
    behind the last weir-fold-weights transpositions of weights would run in every step.
  }];
  let dependentDialects = ["::weir::WeirDialect"];
}

def WeirWidenHalvesPass : Pass<"weir-widen-halves", "::mlir::ModuleOp"> {
  let summary = "computes f16 and bf16 in f32";
  let description = [{
    What: elementwise operations, products, convolutions, pools and reductions of f16 and bf16
    become those of f32 between casts; constants become f32 that is read from the narrow
    source. Results are rounded where they were. What only moves values stays narrow. Before
    devices are known, all of a module whose `weir.target` has `widens_halves`; of others,
    once they are known, the functions of devices that do not compute halves
    (DeviceKind::computesHalves): a CPU's beside a device that does.
    Why here: first of the layouts, whose rules are those of f32, and behind
    all that looks for nodes by their types; again in front of kernels, when devices are known.
    Before: types are the model's. After: what a device without halves computes is f32;
    values that are stored, sent and returned have the types they had.
    What breaks if it moves: behind weir-channels-last casts would stand between transpositions that cancel.
  }];
  let dependentDialects = ["::weir::WeirDialect"];
}

def WeirLowerPrecisionPass : Pass<"weir-lower-precision", "::mlir::ModuleOp"> {
  let summary = "rounds operands of products and convolutions to bf16";
  let description = [{
    What: with `rounds`, products and convolutions with constant right operands whose
    sizes suit what multiplies bf16 on the target (`bf16_products` of `weir.target`:
    `blocks` of matrices take 16 columns, and sums by steps of 24 rows or more, known
    rows below eight by pairs; `pairs` take an even depth, and 16 columns)
    get bf16 operands; their sums stay f32. A value that is rounded for one of them is
    stored so, and elementwise operations read it from there. Nodes named in `keep-f32`
    stay as they are, and so do products of two computed operands, softmax,
    normalisation, reductions and all else. For `pairs` both products of an attention that a
    CPU computes as one kernel are marked (`weir.may_round`), which rounds their operands
    itself. Where the target multiplies bf16, those whose operands are bf16 that was widened
    get them, too, without `rounds`: nothing is rounded for them.
    Why here: after constants lie as they will be read, and last: casts must be
    neither folded nor moved any more. Kernels fuse them with what is around.
    Before: constants lie as kernels read them. After: operands of marked products are bf16,
    sums and all else f32.
    What breaks if it moves: in front of weir-fold-weights the casts of weights would fold, and their constants be
    rounded twice.
  }];
  let options = [
    Option<"rounds", "rounds", "bool", "false",
           "round what is f32: --precision=bf16, on a target that gains by it">,
    ListOption<"keepF32", "keep-f32", "std::string", "nodes that are not rounded">
  ];
  let dependentDialects = ["::weir::WeirDialect"];
}

def WeirFoldWeightsPass : Pass<"weir-fold-weights", "::mlir::ModuleOp"> {
  let summary = "rearranges constants at compile time";
  let description = [{
    What: replaces transpositions and reshapes of constants of any size, sums of f32, casts of
    f16 and bf16 to the f32 of products, and broadcasts of single elements, by constants.
    Why here: once before layouts are chosen, which look for constant weights,
    and once after all passes that rearrange them.
    Before: constants, and operations that only move their elements. After: no operation
    that only moves a constant's elements is left, but where its order has no strides.
    What breaks if it moves: without the first, passes that look for constant weights find none behind a transposition;
    without the second, what they did to weights runs in every step.
  }];
  let dependentDialects = ["::weir::WeirDialect"];
}

def WeirCollapseDimensionsPass : Pass<"weir-collapse-dimensions", "::mlir::ModuleOp"> {
  let summary = "neighbouring dimensions that are treated alike become one";
  let description = [{
    What: on hosts, reductions, running reductions, positions of extremes, constant borders and
    gathers are computed in a shape where neighbouring dimensions are one that the operation treats
    alike, between reshapes, which are views: lines become long, and sizes of 1 no longer stand
    between them. A transposition that moves dimensions of size 1 alone is a view, too. Open sizes
    are multiplied when the program runs. What is computed element by element before and behind it,
    of one tensor, moves along; where others share its kernel, the operation stays as it is.
    Why here: behind all that looks for shapes and axes, and before the cut.
    Before: shapes are final. After: reductions of hosts have as few dimensions as they can;
    reshapes are views.
    What breaks if it moves: in front of weir-raise-normalizations or weir-channels-last neither
    would see the axes that it looks for.
  }];
  let dependentDialects = ["::weir::WeirDialect"];
}

#endif // WEIR_PASSES_LAYOUT_PASSES_TD
