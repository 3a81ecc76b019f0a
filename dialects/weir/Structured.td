//===- Structured.td - reductions, products, windows, networks -*- tablegen -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_STRUCTURED_TD
#define WEIR_STRUCTURED_TD

include "dialects/weir/WeirBase.td"

def Weir_ReduceOp : Weir_ContractionOp<"reduce", [KernelAnchor, Arithmetic, CannotFail]> {
  let summary = "reduces over `axes`";
  let description = [{
    kind: sum, prod, max, min, mean, any, all. Empty: sum 0, prod 1, max and min
    the type's lowest and highest, mean NaN (integers: 0). Float sums of f16 and
    bf16 accumulate in f32. Integer mean truncates.
  }];
  let arguments = (ins Weir_AnyTensor:$operand, Weir_ReduceKindAttr:$kind, DenseI64ArrayAttr:$axes, BoolAttr:$keep_dims);
  let results = (outs Weir_AnyTensor:$result);
}
def Weir_ArgReduceOp : Weir_ContractionOp<"arg_reduce", [KernelAnchor, ReadsElementsRepeatedly, CannotFail]> {
  let summary = "index of the largest (or smallest) element along `axis`";
  let description = [{The first of equals, the last with `select_last`. NaN counts as the extreme.}];
  let arguments = (ins Weir_AnyTensor:$operand, BoolAttr:$largest, I64Attr:$axis, BoolAttr:$keep_dims,
                       BoolAttr:$select_last, TypeAttr:$index_type);
  let results = (outs Weir_AnyTensor:$result);
}
def Weir_CumulativeOp : Weir_ContractionOp<"cumulative", [KernelAnchor, ReadsElementsRepeatedly, Arithmetic, KeepsShape, CannotFail]> {
  let summary = "running reduction along `axis`";
  let description = [{kind: sum, prod, max, min. `exclusive`: of the elements before; `reverse`: from the end.}];
  let arguments = (ins Weir_AnyTensor:$operand, Weir_ReduceKindAttr:$kind, I64Attr:$axis, BoolAttr:$exclusive, BoolAttr:$reverse);
  let results = (outs Weir_AnyTensor:$result);
}
def Weir_DotGeneralOp : Weir_ContractionOp<"dot_general", [KernelAnchor, ComputedByTiles, ReadsElementsRepeatedly, Arithmetic,
    SizesFromSizes, CannotFail]> {
  let summary = "sum of products over contracting dimensions, for each batch";
  let description = [{
    Result: batch dimensions, free ones of `lhs`, free ones of `rhs`. The result's
    element type is `accumulator` (f16 and bf16 sums are in f32 before they are
    rounded to it).
  }];
  let arguments = (ins Weir_AnyTensor:$lhs, Weir_AnyTensor:$rhs,
    DenseI64ArrayAttr:$lhs_batch, DenseI64ArrayAttr:$rhs_batch,
    DenseI64ArrayAttr:$lhs_contract, DenseI64ArrayAttr:$rhs_contract, TypeAttr:$accumulator);
  let results = (outs Weir_AnyTensor:$result);
}
def Weir_ConvOp : Weir_ContractionOp<"conv", [KernelAnchor, ComputedByTiles, ReadsElementsRepeatedly, Arithmetic,
    SizesFromSizes, CannotFail]> {
  let summary = "cross-correlation with any number of spatial dimensions";
  let description = [{
    `channels_last` false: input N C S…, filter O I/groups S…; true: input N S… C,
    filter S… I/groups O. `pads`: before, after for each spatial dimension in
    turn (may be negative). The result's element type is `accumulator`.
  }];
  let arguments = (ins Weir_AnyTensor:$input, Weir_AnyTensor:$filter, DenseI64ArrayAttr:$strides,
    DenseI64ArrayAttr:$pads, DenseI64ArrayAttr:$dilations, I64Attr:$groups, BoolAttr:$channels_last, TypeAttr:$accumulator);
  let results = (outs Weir_AnyTensor:$result);
}
def Weir_ConvTransposeOp : Weir_ContractionOp<"conv_transpose", [ReadsElementsRepeatedly, Arithmetic, SizesFromSizes]> {
  let summary = "gradient of conv with respect to its input";
  let description = [{
    Filter: as in conv, seen from the result: channels_last false I O/groups S…,
    true S… O/groups I, where I are the operand's channels. `output_sizes`: the
    spatial sizes of the result. `pads` as of the convolution that this one
    transposes: before, after in turn.
  }];
  let arguments = (ins Weir_AnyTensor:$input, Weir_AnyTensor:$filter, Weir_IntTensor:$output_sizes,
    DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads, DenseI64ArrayAttr:$dilations, I64Attr:$groups, BoolAttr:$channels_last);
  let results = (outs Weir_AnyTensor:$result);
}
def Weir_PoolOp : Weir_ContractionOp<"pool", [KernelAnchor, ComputedByTiles, ReadsElementsRepeatedly, Arithmetic,
    CannotFail]> {
  let summary = "reduces sliding windows over the spatial dimensions";
  let description = [{
    kind: max, average, sum, lp (with `p`). `pads`: before, after in turn.
    average divides by the elements inside the input, or by all of the padded
    input's with `count_include_pad`. `ceil_mode` rounds sizes up (a window that
    would begin in the end padding is dropped).
  }];
  let arguments = (ins Weir_AnyTensor:$operand, Weir_PoolKindAttr:$kind, DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides,
    DenseI64ArrayAttr:$pads, DenseI64ArrayAttr:$dilations, BoolAttr:$ceil_mode, BoolAttr:$count_include_pad,
    I64Attr:$p, BoolAttr:$channels_last);
  let results = (outs Weir_AnyTensor:$result);
}
def Weir_MaxPoolIndexOp : Weir_ContractionOp<"max_pool_index", [ReadsElementsRepeatedly]> {
  let summary = "where the maximum of each window lies";
  let description = [{
    As pool of kind max; the result is the flat index into the whole input tensor
    (batch and channels included unless `within_image`: then of the image, with
    channels when channels_last). `column_major`: spatial order reversed.
  }];
  let arguments = (ins Weir_AnyTensor:$operand, DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides,
    DenseI64ArrayAttr:$pads, DenseI64ArrayAttr:$dilations, BoolAttr:$ceil_mode, BoolAttr:$channels_last,
    BoolAttr:$within_image, BoolAttr:$column_major, TypeAttr:$index_type);
  let results = (outs Weir_AnyTensor:$result);
}

//===----------------------------------------------------------------------===//
// Composites
//===----------------------------------------------------------------------===//

class Weir_CompositeOp<string mnemonic, list<Trait> traits>
    : Weir_PureOp<mnemonic, !listconcat([DeclareOpInterfaceMethods<DecomposeOpInterface>,
        DeclareOpInterfaceMethods<ReifyShapeOpInterface>], traits), ["getFlops"]>;

def Weir_SoftmaxOp : Weir_CompositeOp<"softmax", [KeepsShape, CannotFail]> {
  let summary = "exp(x - max) over its sum, along `axis`; its logarithm with `log`";
  let arguments = (ins Weir_AnyTensor:$operand, I64Attr:$axis, BoolAttr:$log);
  let results = (outs Weir_AnyTensor:$result);
}
def Weir_LayerNormOp : Weir_CompositeOp<"layer_norm", [KeepsShape, CannotFail]> {
  let summary = "normalises over dimensions `axis`…, then scales and shifts";
  let description = [{`scale` and `bias` broadcast to the operand. Statistics in f32 or wider.}];
  let arguments = (ins Weir_AnyTensor:$operand, Weir_AnyTensor:$scale, Weir_AnyTensor:$bias, I64Attr:$axis, F64Attr:$epsilon);
  let results = (outs Weir_AnyTensor:$result);
}
def Weir_BatchNormOp : Weir_CompositeOp<"batch_norm", [KeepsShape, CannotFail]> {
  let summary = "(x - mean) / sqrt(variance + epsilon) * scale + bias, vectors along `axis`";
  let arguments = (ins Weir_AnyTensor:$operand, Weir_AnyTensor:$scale, Weir_AnyTensor:$bias, Weir_AnyTensor:$mean,
    Weir_AnyTensor:$variance, I64Attr:$axis, F64Attr:$epsilon);
  let results = (outs Weir_AnyTensor:$result);
}
def Weir_LrnOp : Weir_CompositeOp<"lrn", [KeepsShape, CannotFail]> {
  let summary = "x / (bias + alpha * sum of squares over `size` neighbours along `axis`)^beta";
  let description = [{`before` neighbours below and `size - 1 - before` above.}];
  let arguments = (ins Weir_AnyTensor:$operand, I64Attr:$axis, I64Attr:$size, I64Attr:$before, F64Attr:$alpha, F64Attr:$beta, F64Attr:$bias);
  let results = (outs Weir_AnyTensor:$result);
}
def Weir_AttentionOp : Weir_CompositeOp<"attention", [CannotFail]> {
  let summary = "softmax(scale * Q Kᵀ + mask) V for [batch, heads, length, size]";
  let description = [{
    `mask` (optional) broadcasts to [batch, heads, queries, keys], is added when
    float and picks when i1. `causal` hides keys after a query's position.
    Fewer key heads than query heads are shared by groups.
  }];
  let arguments = (ins Weir_AnyTensor:$query, Weir_AnyTensor:$key, Weir_AnyTensor:$value, Optional<Weir_AnyTensor>:$mask,
    F64Attr:$scale, BoolAttr:$causal);
  let results = (outs Weir_AnyTensor:$result);
}

#endif // WEIR_STRUCTURED_TD
