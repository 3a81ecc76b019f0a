//===- CudaWideOperands.cpp - what groups of warps multiply -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaWideOperands.h"
#include "compiler/codegen/cuda/CudaBlasGemm.h"
#include "compiler/codegen/cuda/CudaGemm.h"
#include "compiler/codegen/cuda/CudaLibrary.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

StringRef weir::tensorCoreName(Type element) {
  if (element.isF16())
    return "f16";
  if (element.isBF16())
    return "bf16";
  if (isa<Float8E4M3FNType>(element))
    return "e4m3";
  if (isa<Float8E5M2Type>(element))
    return "e5m2";
  if (element.isUnsignedInteger(8))
    return "u8";
  return element.isInteger(8) ? "s8" : "";
}

bool weir::isByteElement(Type element) { return element.getIntOrFloatBitWidth() == 8; }

bool weir::tensorCoresTake(Type left, Type right, Type sum) {
  StringRef a = tensorCoreName(left), b = tensorCoreName(right);
  if (a.empty() || b.empty() || isa<IntegerType>(left) != isa<IntegerType>(right))
    return false;
  if (isa<IntegerType>(left))
    return sum.isInteger(32);
  return sum.isF32() && (left == right || (isByteElement(left) && isByteElement(right)));
}

static std::optional<WideOperands> matrices(plan::KernelOp kernel) {
  std::optional<MatrixProduct> p = matrixProductOf(kernel);
  if (!p)
    return std::nullopt;
  WideOperands out = {{}, p->op, p->left, p->right, p->batchDims, p->rowDims, p->columnDims};
  out.desc.rows = p->desc.rows;
  out.desc.columns = p->desc.columns;
  out.desc.depth = p->desc.depth;
  out.desc.batches = p->desc.batches;
  out.desc.left = p->desc.left;
  out.desc.right = p->desc.right;
  return out;
}

/// What the copy engine knows of windows: two dimensions, channels last; borders, and places
/// of the window, of few bits.
static std::optional<WideOperands> windows(plan::KernelOp kernel) {
  auto conv = dyn_cast_or_null<ConvOp>(onlyProduct(kernel));
  if (!conv || !resultsLieAs(kernel, conv) || !isa<BlockArgument>(conv.getInput()) ||
      !isa<BlockArgument>(conv.getFilter()) || !conv.getChannelsLast() || conv.getGroups() != 1)
    return std::nullopt;
  auto input = cast<RankedTensorType>(conv.getInput().getType()),
       filter = cast<RankedTensorType>(conv.getFilter().getType());
  if (input.getRank() != 4 || !filter.hasStaticShape() || input.isDynamicDim(3))
    return std::nullopt;
  WideOperands out = {{},        conv, input.getElementType(), filter.getElementType(), {},
                      {0, 1, 2}, {3}};
  LaunchSizes sizes(kernel);
  weir_cuda_wide_kernel &desc = out.desc;
  weir_cuda_window &window = desc.window;
  window.is_used = 1;
  constexpr int64_t mostBorder = 127, mostOffset = 255, mostStride = 8;
  for (int64_t i : {0, 1}) {
    int64_t size = filter.getDimSize(i), stride = conv.getStrides()[i],
            dilation = conv.getDilations()[i], reach = dilation * (size - 1),
            pad = conv.getPads()[2 * i], behind = conv.getPads()[2 * i + 1];
    if (pad < 0 || behind < 0 || pad > mostBorder || behind > mostBorder ||
        reach - behind > mostBorder || reach > mostOffset || stride > mostStride)
      return std::nullopt;
    window.size[i] = int32_t(size);
    window.strides[i] = int32_t(stride);
    window.dilations[i] = int32_t(dilation);
    window.pads[i] = int32_t(pad);
    window.pads_behind[i] = int32_t(behind);
  }
  Value result = kernel.getBody().front().getTerminator()->getOperand(0);
  for (int64_t i = 0; i < 4; ++i)
    if (!sizes.extent(conv.getInput(), {i}, window.images[i]))
      return std::nullopt;
  int64_t channels = filter.getDimSize(2), outputs = filter.getDimSize(3);
  if (!sizes.extent(result, {0, 1, 2}, desc.rows))
    return std::nullopt;
  desc.columns = fixedExtent(outputs);
  desc.depth = fixedExtent(channels);
  desc.batches = fixedExtent(1);
  desc.left = {sizes.bufferOf(conv.getInput()), 0, fixedExtent(channels), fixedExtent(0)};
  desc.right = {sizes.bufferOf(conv.getFilter()), 0, fixedExtent(outputs),
                fixedExtent(channels * outputs)};
  // Of bytes tensor cores read lines along the depth alone: the filter is arranged before.
  if (isByteElement(out.right)) {
    desc.right.transposed = 1;
    desc.right.line = fixedExtent(channels * window.size[0] * window.size[1]);
    desc.right.batch = fixedExtent(channels);
  }
  return out;
}

std::optional<WideOperands> weir::wideOperandsOf(plan::KernelOp kernel) {
  std::optional<WideOperands> found = matrices(kernel);
  return found ? found : windows(kernel);
}
