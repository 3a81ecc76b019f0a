//===- CudaWideAttentionOperands.cpp - heads as the copy engine reads them -===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaWideAttentionOperands.h"
#include "compiler/codegen/cuda/CudaAttention.h"
#include "compiler/codegen/cuda/CudaWarpGroups.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

bool AttentionDescriber::describe(Value value, int64_t rowDim, int64_t columnDim, int64_t heads,
                                  int64_t lines, weir_cuda_engine_tensor &out) const {
  constexpr int64_t lineHalves = warp_groups::lineBytes / 2;
  AttentionOperand operand = attentionOperand(value);
  auto type = typeOf(operand.source), memory = type;
  Value tensor = operand.source;
  int64_t axis = -1;
  if (auto slice = tensor.getDefiningOp<SliceOp>()) {
    auto part = knownPart(slice);
    tensor = slice.getOperand();
    memory = typeOf(tensor);
    if (!part)
      return false;
    axis = part->axis;
    weir_extent step;
    if (!sizes.stride(tensor, axis, step) || step.open[0] >= 0)
      return false;
    out.offset = part->start * step.factor * 2;
  }
  constexpr int64_t alignment = 16;
  if (!isa<BlockArgument>(tensor) || operand.order.back() != columnDim || out.offset % alignment ||
      memory.isDynamicDim(memory.getRank() - 1))
    return false;
  out.buffer = sizes.bufferOf(tensor);
  auto along = [&](int64_t dim, weir_extent &size, weir_extent &stride) {
    size = stride = fixedExtent(1);
    for (auto [i, own] : llvm::enumerate(operand.order))
      if (own == dim) {
        if (!sizes.stride(tensor, int64_t(i), stride))
          return false;
        if (int64_t(i) == axis)
          size = fixedExtent(type.getDimSize(i));
        else if (!sizes.extent(tensor, {int64_t(i)}, size))
          return false;
        return stride.open[0] >= 0 || stride.factor * 2 % alignment == 0;
      }
    return dim < 0;
  };
  weir_extent none;
  auto add = [&](int64_t dim, int64_t box) {
    weir_extent &stride = out.rank > 0 ? out.strides[out.rank - 1] : none;
    out.box[out.rank] = int32_t(box);
    return along(dim, out.sizes[out.rank++], stride);
  };
  out.sizes[0] = fixedExtent(type.getShape().back());
  out.box[0] = int32_t(lineHalves);
  out.rank = 1;
  if (heads > 0) {
    // Heads of a group, side by side.
    if (!add(heads > 1 ? rank - 3 : rowDim, heads))
      return false;
    out.sizes[1] = fixedExtent(heads);
    lines /= heads;
  }
  if (!add(rowDim, lines) || !add(rank - 3, 1) || !add(rank - 4, 1))
    return false;
  if (heads > 1) {
    weir_extent &count = out.sizes[3];
    if (count.open[0] >= 0 || count.factor % heads)
      return false;
    count.factor /= heads;
    out.strides[2].factor *= heads;
  }
  return true;
}
