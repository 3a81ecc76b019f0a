//===- Passes.td - from operations to kernels -*- tablegen -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_KERNELIZE_PASSES_TD
#define WEIR_PASSES_KERNELIZE_PASSES_TD

include "mlir/Pass/PassBase.td"

def WeirDivideRowsPass : Pass<"weir-divide-rows", "::mlir::ModuleOp"> {
  let summary = "large values are computed part by part, where a memory limit asks for it";
  let description = [{
    What: in functions with the attribute `weir.row_parts = N`, what lies around a large value
    (`weir.large_rows` bytes or more), all of it along one dimension of that value, is written N
    times, for an N-th of the rows each: a product and the softmax behind it, the gradients of
    both, convolutions of a batch. Results that have rows are put together, sums over rows are
    added up, from the first part to the last. The set of operations grows from the value to
    what makes and what reads large values in it, and takes in what lies on ways out of it and
    back; where something there does not go along rows (statistics of a batch), it stays
    whole. Values of open sizes do. At most 16 values a function are tried, the largest first.
    Why here: behind the cut, on what kernels are formed of, so that each part has kernels of
    its own, and nothing merges parts again.
    Before: each function is one device's; the driver has found that a function needs more
    memory than it may. After: the attributes are gone; the module's `weir.divided` says how many
    operations there are once a part.
    What breaks if it moves: before weir-value-numbering and the layout, parts are simplified
    each on its own, and slices of them moved; behind weir-kernelize operations are in kernels.
  }];
  let dependentDialects = ["::weir::WeirDialect"];
}

def WeirHorizontalGemmFusionPass : Pass<"weir-horizontal-gemm-fusion", "::mlir::ModuleOp"> {
  let summary = "products of one operand with several weights become one";
  let description = [{
    What: on offload devices, products of one operand with constant weights, with or without a
    bias, become one product with all of the weights side by side, and slices of its
    columns: where attentions read them, or elementwise operations bring them together, so
    that kernels read the slices in place. A reshape of a slice into heads becomes a slice
    of heads. At most 512 MiB of weights a module, which are held in memory.
    Why here: devices are known, and weights are where kernels read them; what fuses then
    is decided next.
    Before: each function is one device's. After: no two products that may be one read the
    same operand.
    What breaks if it moves: before the cut, operations of several devices would be joined; behind weir-kernelize
    each product is a launch of its own.
  }];
  let dependentDialects = ["::weir::WeirDialect"];
}

def WeirGemmOperandLayoutPass : Pass<"weir-gemm-operand-layout", "::mlir::ModuleOp"> {
  let summary = "products of offload devices read operands as they lie, or should";
  let description = [{
    What: on offload devices, products, but those of attentions, read what was transposed for
    them as it lay before: kernels and libraries take either way. A constant operand of products whose other side has at most four
    lines gets its dimensions in the order batch, free, contracted, so that what a sum reads
    lies next to each other. Constants that anything else reads stay as they are.
    Why here: behind weir-horizontal-gemm-fusion, which makes constants; kernels are formed next, and
    read operands as they lie.
    Before: constants are those that kernels will read. After: operands of products lie as a
    kernel or a library reads them.
    What breaks if it moves: in front of weir-horizontal-gemm-fusion the constants that it joins would lie in two
    orders; behind weir-kernelize the transpositions that it removes are kernels.
  }];
  let dependentDialects = ["::weir::WeirDialect"];
}

def WeirSplitReductionsPass : Pass<"weir-split-reductions", "::mlir::ModuleOp"> {
  let summary = "reductions that leave offload devices idle become several";
  let description = [{
    What: on offload devices, a reduction of floats with few results becomes one of parts, and
    others of what these leave, so that there is work for all threads: parts of long lines,
    lines before what else is reduced, parts of columns. What only the reduction reads is
    computed along with it. Mean and variance over more than one line of up to 8,192 elements
    come from one pass: each part has a mean and a variance of its own, and their means, and
    the variance of their means, are those of all. All parts are of one length, a divisor of
    what is reduced; where there is none, and where sizes are open, reductions stay as they
    are. Those of attentions do. A normalisation over several dimensions that make one line
    is computed in a shape where they are one, so that it is one kernel; and what lies around
    a reshape behind a normalisation (groups of channels) in one that serves both sides.
    Why here: devices are known; what fuses is decided next, and each step is a kernel.
    Before: each function is one device's; reductions are as the graph has them. After: no
    reduction of known sizes leaves a device idle that more kernels would fill.
    What breaks if it moves: behind weir-kernelize a reduction of few results keeps most of a device idle; before the
    cut it would change the order of sums of a CPU, too.
  }];
  let dependentDialects = ["::weir::WeirDialect"];
}

def WeirWidenRowReductionsPass : Pass<"weir-widen-row-reductions", "::mlir::ModuleOp"> {
  let summary = "computes f16 and bf16 around reductions along lines in f32";
  let description = [{
    What: on offload devices, elementwise operations on f16 and bf16 that would be part of a
    row reduction (a softmax, a normalisation), were they of f32, become such, between
    casts: each result is rounded where it was. A square or cube becomes products. `inputs`
    is weir-kernelize's, which forms the kernels.
    Why here: last before weir-kernelize; what follows products
    and convolutions, as libraries know it by its types, stays as it is.
    Before: halves are as the model has them. After: what may share a kernel with a row
    reduction is f32.
    What breaks if it moves: in front of weir-split-reductions the casts would hide a mean and its variance from it;
    behind weir-kernelize a softmax of halves is several kernels.
  }];
  let options = [
    Option<"mostInputs", "inputs", "unsigned", "0",
           "tensors that a kernel may come to read by fusing; 0: any number">
  ];
  let dependentDialects = ["::weir::WeirDialect"];
}

def WeirAttentionGradientsPass : Pass<"weir-attention-gradients", "::mlir::ModuleOp"> {
  let summary = "attention's gradient computes scores again, so that it is one kernel";
  let description = [{
    What: on the host, where the gradient of an attention reads the weights of the forward pass, it gets
    weights of its own: scores are computed again, and become weights by each query's largest
    logit and sum of weights, which the forward kernel writes. What it takes off the gradients
    of a query's weights comes from the result and its gradient. Both passes then are in the form of
    which weir-kernelize makes one kernel each. Where it would not, all stays as it was.
    Why here: devices are known, and nothing merges equal values any more; kernels are formed next.
    Before: products are in the order of kernels. After: no matrix of queries by keys leads
    from an attention to its gradient.
    What breaks if it moves: in front of weir-value-numbering the second scores would be merged with the first; behind
    weir-kernelize the matrix would be stored.
  }];
  let dependentDialects = ["::weir::WeirDialect"];
}

def WeirKernelizePass : Pass<"weir-kernelize", "::mlir::ModuleOp"> {
  let summary = "groups operations into kernels and replaces them by launches";
  let description = [{
    What: folds what folds, which in a kernel would leave nothing to compute;
    clusters the operations of every block by fusing producers into the
    one cluster that uses them (two products around a softmax are one, too, so
    that no tensor of queries by keys is stored), on the host new values of variables into
    the one that computes others with them, and those of small variables into one
    (JoinUpdates.h); moves each cluster into a
    weir_plan.kernel, and leaves a weir_plan.launch. No kernel comes to
    read more tensors than `inputs` by fusing. Equal kernels are one. Operations on a few host
    integers (shape arithmetic, loop counters) stay, to become scalar code of
    the step; so do views, state, control flow and library calls.
    Why here: after partition, since a kernel belongs to one device; before
    buffers exist, since fused values never get any.
    Before: ranked types, composites decomposed. After: every tensor operation
    that is left is one that the step itself performs.
    What breaks if it moves: before the cut a kernel could span devices; behind bufferize every fused value would have
    a buffer.
  }];
  let options = [
    Option<"mostInputs", "inputs", "unsigned", "0",
           "tensors that a kernel may come to read by fusing; 0: any number">,
    Option<"joinsGradients", "gradients-join", "bool", "false",
           "gradients that are products are in the kernels which update variables by them: less "
           "memory where a batch is smaller than the weights, and a little more time">
  ];
  let dependentDialects = ["::weir::plan::WeirPlanDialect"];
}

def WeirDepthFirstFusionPass : Pass<"weir-depth-first-fusion", "::mlir::ModuleOp"> {
  let summary = "lets convolutions go through large images together";
  let description = [{
    What: a depthwise convolution, the one by a window of one element behind it, and such a
    one before it become stages of one kernel where the image between them is 1.5 MiB or
    larger, of open sizes at usual ones, and nothing else reads it. The kernel computes a few result lines at a time;
    images between stages are lines on a thread's stack.
    Why here: stages are kernels, with schedules and packed weights, and what lies between them
    gets no buffer.
    Before: kernels are formed and have schedules. After: a kernel may launch others in its
    body; nothing else has changed.
    What breaks if it moves: in front of weir-kernelize there are no stages; behind weir-order-launches the images
    between them would count as live, and get buffers.
  }];
  let dependentDialects = ["::weir::plan::WeirPlanDialect"];
}

#endif // WEIR_PASSES_KERNELIZE_PASSES_TD
