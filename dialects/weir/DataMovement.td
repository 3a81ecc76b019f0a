//===- DataMovement.td - shapes, indexing, rearrangement -*- tablegen -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parameters that a model may compute (shapes, bounds, counts) are operands:
// one-dimensional integer tensors. Axes are attributes, counted from 0, never
// negative.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DATA_MOVEMENT_TD
#define WEIR_DATA_MOVEMENT_TD

include "dialects/weir/WeirBase.td"

def Weir_ConstantOp : Weir_Op<"constant", [Pure, ConstantLike, CheapToRepeat, CannotFail]> {
  let summary = "a tensor known at compile time";
  let arguments = (ins AnyAttr:$value);
  let results = (outs Weir_AnyTensor:$result);
  let hasCustomAssemblyFormat = 1;
  let hasFolder = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::TypedAttr":$value)>];
}

def Weir_ShapeOfOp : Weir_MovementOp<"shape_of", [CheapToRepeat, CannotFail]> {
  let summary = "the sizes of a tensor's dimensions";
  let arguments = (ins Weir_AnyTensor:$operand, TypeAttr:$index_type);
  let results = (outs Weir_AnyTensor:$result);
}
def Weir_ReshapeOp : Weir_MovementOp<"reshape", [SelectsElements, CheapToRepeat, CannotFail,
    DeclareOpInterfaceMethods<ParametersOpInterface>]> {
  let summary = "the same elements in row-major order under another shape";
  let description = [{One entry of `shape` may be -1: it is derived. Counts that differ are a run-time error.}];
  let arguments = (ins Weir_AnyTensor:$operand, Weir_IntTensor:$shape);
  let results = (outs Weir_AnyTensor:$result);
}
def Weir_BroadcastToOp : Weir_MovementOp<"broadcast_to", [SelectsElements, CheapToRepeat, CannotFail,
    DeclareOpInterfaceMethods<ParametersOpInterface>]> {
  let summary = "repeats dimensions of size 1, NumPy's rules, to exactly `shape`";
  let arguments = (ins Weir_AnyTensor:$operand, Weir_IntTensor:$shape);
  let results = (outs Weir_AnyTensor:$result);
}
def Weir_TransposeOp : Weir_MovementOp<"transpose", [SelectsElements, CannotFail]> {
  let summary = "result dimension i is operand dimension permutation[i]";
  let arguments = (ins Weir_AnyTensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs Weir_AnyTensor:$result);
}
def Weir_UnpackPanelsOp : Weir_MovementOp<"unpack_panels"> {
  let summary = "a matrix out of panels of its columns";
  let description = [{
    Element [i…, n] of the result is element [n / width, i…, n % width] of
    `operand`, where width is the operand's last dimension: columns lie next to
    each other in the order in which a register tile reads them. `columns` is the
    size of the result's last dimension; the last panel may hold more.
  }];
  let arguments = (ins Weir_AnyTensor:$operand, I64Attr:$columns);
  let results = (outs Weir_AnyTensor:$result);
}
def Weir_SliceOp : Weir_MovementOp<"slice", [SelectsElements, CheapToRepeat, CannotFail,
    DeclareOpInterfaceMethods<ParametersOpInterface>]> {
  let summary = "NumPy's basic slicing along `axes`";
  let description = [{
    `starts`, `ends`, `steps` have one entry for each of `axes`. Negative bounds
    count from the end, bounds outside are clamped, steps may be negative. With
    `strict`, a start or end outside of [0, size] is a run-time error instead.
  }];
  let arguments = (ins Weir_AnyTensor:$operand, Weir_IntTensor:$starts, Weir_IntTensor:$ends,
                       Weir_IntTensor:$steps, DenseI64ArrayAttr:$axes, BoolAttr:$strict);
  let results = (outs Weir_AnyTensor:$result);
}
def Weir_PadOp : Weir_MovementOp<"pad"> {
  let summary = "adds a border";
  let description = [{
    `pads`: the sizes before each dimension, then those after; negative ones
    crop. `mode`: constant, reflect (without the edge), symmetric (with it),
    edge, wrap. `value` (a scalar) fills in mode constant.
  }];
  let arguments = (ins Weir_AnyTensor:$operand, Weir_IntTensor:$pads, Weir_AnyTensor:$value, Weir_PadModeAttr:$mode);
  let results = (outs Weir_AnyTensor:$result);
}
def Weir_ConcatOp : Weir_MovementOp<"concat", [SizesFromSizes, CannotFail]> {
  let arguments = (ins Variadic<Weir_AnyTensor>:$inputs, I64Attr:$axis);
  let results = (outs Weir_AnyTensor:$result);
  let summary = "operands one after the other along `axis`";
}
def Weir_TileOp : Weir_MovementOp<"tile", [SelectsElements, CheapToRepeat]> {
  let summary = "repeats the whole tensor `repeats[i]` times along dimension i";
  let arguments = (ins Weir_AnyTensor:$operand, Weir_IntTensor:$repeats);
  let results = (outs Weir_AnyTensor:$result);
}
def Weir_RepeatOp : Weir_MovementOp<"repeat", [SelectsElements]> {
  let summary = "each slice along `axis`, `times` in a row";
  let description = [{
    Element i along the axis is the operand's element i / times.
  }];
  let arguments = (ins Weir_AnyTensor:$operand, I64Attr:$axis, I64Attr:$times);
  let results = (outs Weir_AnyTensor:$result);
}
def Weir_ReverseOp : Weir_MovementOp<"reverse", [SelectsElements, KeepsShape, CannotFail]> {
  let summary = "reverses the order along `axes`";
  let arguments = (ins Weir_AnyTensor:$operand, DenseI64ArrayAttr:$axes);
  let results = (outs Weir_AnyTensor:$result);
}
def Weir_GatherOp : Weir_MovementOp<"gather", [SelectsElements, SizesFromSizes, ChecksIndices]> {
  let summary = "slices of `operand` along `axis`, picked by `indices`";
  let description = [{
    Result dimensions: operand[0, axis), indices[batch_dims, …), operand(axis, …).
    The first `batch_dims` dimensions of both are the same. `wrap_negative`:
    indices in [-size, 0) count from the end. Others outside are a run-time error.
  }];
  let arguments = (ins Weir_AnyTensor:$operand, Weir_IntTensor:$indices, I64Attr:$axis,
                       I64Attr:$batch_dims, BoolAttr:$wrap_negative);
  let results = (outs Weir_AnyTensor:$result);
}
def Weir_GatherElementsOp : Weir_MovementOp<"gather_elements", [SizesFromSizes, ChecksIndices]> {
  let summary = "result[i…] = operand[i… with indices[i…] at `axis`]";
  let arguments = (ins Weir_AnyTensor:$operand, Weir_IntTensor:$indices, I64Attr:$axis, BoolAttr:$wrap_negative);
  let results = (outs Weir_AnyTensor:$result);
}
def Weir_GatherNdOp : Weir_MovementOp<"gather_nd", [ChecksIndices]> {
  let summary = "slices picked by index tuples along the last dimension of `indices`";
  let arguments = (ins Weir_AnyTensor:$operand, Weir_IntTensor:$indices, I64Attr:$batch_dims, BoolAttr:$wrap_negative);
  let results = (outs Weir_AnyTensor:$result);
}
// Scatters copy `operand` and then write updates in row-major order of
// `indices`. reduction: none add sub mul div min max. out_of_bounds: error, or
// drop (the update is ignored).
def Weir_ScatterNdOp : Weir_PureOp<"scatter_nd", [KernelAnchor, KeepsShape, SizesFromSizes,
    ChecksIndices, DeclareOpInterfaceMethods<ReifyShapeOpInterface>]> {
  let summary = "writes slices at index tuples along the last dimension of `indices`";
  let arguments = (ins Weir_AnyTensor:$operand, Weir_IntTensor:$indices, Weir_AnyTensor:$updates,
                       StrAttr:$reduction, BoolAttr:$wrap_negative, BoolAttr:$drop_out_of_bounds);
  let results = (outs Weir_AnyTensor:$result);
}
def Weir_ScatterElementsOp : Weir_PureOp<"scatter_elements", [KernelAnchor, KeepsShape, SizesFromSizes,
    ChecksIndices, DeclareOpInterfaceMethods<ReifyShapeOpInterface>]> {
  let summary = "result[i… with indices[i…] at `axis`] = updates[i…]";
  let arguments = (ins Weir_AnyTensor:$operand, Weir_IntTensor:$indices, Weir_AnyTensor:$updates,
                       I64Attr:$axis, StrAttr:$reduction, BoolAttr:$wrap_negative);
  let results = (outs Weir_AnyTensor:$result);
}
def Weir_IotaOp : Weir_MovementOp<"iota", [CheapToRepeat, CannotFail,
    DeclareOpInterfaceMethods<ParametersOpInterface, ["getParameters"]>]> {
  let summary = "the index along `axis`, as element_type, in shape `shape`";
  let arguments = (ins Weir_IntTensor:$shape, I64Attr:$axis, TypeAttr:$element_type);
  let results = (outs Weir_AnyTensor:$result);
  let extraClassDefinition = movementDefinition # [{
    ::mlir::OperandRange $cppClass::getParameters() { return getOperation()->getOperands(); }
  }];
}
def Weir_RangeOp : Weir_MovementOp<"range", [CheapToRepeat]> {
  let summary = "start, start + delta, …, before limit (scalars of one type)";
  let arguments = (ins Weir_AnyTensor:$start, Weir_AnyTensor:$limit, Weir_AnyTensor:$delta);
  let results = (outs Weir_AnyTensor:$result);
}
def Weir_ResizeOp : Weir_ElementalOp<"resize", [ReadsElementsRepeatedly], ["getFlops"]> {
  let summary = "resamples the dimensions `axes` to `sizes`";
  let description = [{
    mode: nearest, linear, cubic. coordinates: half_pixel, half_pixel_symmetric,
    pytorch_half_pixel, align_corners, asymmetric, tf_half_pixel_for_nn,
    tf_crop_and_resize. nearest: round_prefer_floor, round_prefer_ceil, floor,
    ceil. `scales`: float32, one for each of `axes` (used to map coordinates
    where the mode does). `roi`: starts then ends, for tf_crop_and_resize.
  }];
  let arguments = (ins Weir_AnyTensor:$operand, Weir_IntTensor:$sizes, Weir_AnyTensor:$scales, Weir_AnyTensor:$roi,
    DenseI64ArrayAttr:$axes, StrAttr:$mode, StrAttr:$coordinates, StrAttr:$nearest,
    F64Attr:$cubic_coefficient, BoolAttr:$exclude_outside, F64Attr:$extrapolation_value, BoolAttr:$antialias);
  let results = (outs Weir_AnyTensor:$result);
}

//===----------------------------------------------------------------------===//
// Results whose size depends on data, and orders: library kernels
//===----------------------------------------------------------------------===//

def Weir_TopKOp : Weir_PureOp<"top_k", [KernelAnchor, SizesFromSizes,
    DeclareOpInterfaceMethods<ReifyShapeOpInterface>]> {
  let summary = "the k largest (or smallest) along `axis`, ties by lower index; values and indices";
  let arguments = (ins Weir_AnyTensor:$operand, Weir_IntTensor:$k, I64Attr:$axis, BoolAttr:$largest, BoolAttr:$sorted, TypeAttr:$index_type);
  let results = (outs Weir_AnyTensor:$values, Weir_AnyTensor:$indices);
}
def Weir_NonZeroOp : Weir_PureOp<"non_zero"> {
  let summary = "index tuples of the elements that are not zero, row-major: [count, rank]";
  let arguments = (ins Weir_AnyTensor:$operand);
  let results = (outs Weir_AnyTensor:$result);
}
def Weir_UniqueOp : Weir_PureOp<"unique"> {
  let summary = "distinct elements, or sub-tensors along `axis` (-1: flattened)";
  let description = [{Results: values, index of first occurrence, index of each element's value, counts.}];
  let arguments = (ins Weir_AnyTensor:$operand, I64Attr:$axis, BoolAttr:$sorted, TypeAttr:$index_type);
  let results = (outs Weir_AnyTensor:$values, Weir_AnyTensor:$first, Weir_AnyTensor:$inverse, Weir_AnyTensor:$counts);
}
def Weir_NonMaxSuppressionOp : Weir_PureOp<"non_max_suppression"> {
  let summary = "ONNX's non-maximum suppression: [count, 3] of (batch, class, box)";
  let arguments = (ins Weir_AnyTensor:$boxes, Weir_AnyTensor:$scores, Weir_AnyTensor:$max_output,
                       Weir_AnyTensor:$iou_threshold, Weir_AnyTensor:$score_threshold, BoolAttr:$center_point_box);
  let results = (outs Weir_AnyTensor:$result);
}

#endif // WEIR_DATA_MOVEMENT_TD
