//===- CudaPooling.cpp - poolings by a library ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaPooling.h"
#include "compiler/codegen/cuda/CudaLibrary.h"
#include "compiler/emit/Program.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

/// The pooling of the kernel's argument that is all it does; null: there is more.
static PoolOp poolingOf(plan::KernelOp kernel) {
  Block &body = kernel.getBody().front();
  auto pool = body.empty() ? PoolOp() : dyn_cast<PoolOp>(body.front());
  Operation *end = body.getTerminator();
  if (!pool || pool->getNextNode() != end || end->getNumOperands() != 1 ||
      end->getOperand(0) != pool.getResult() || !isa<BlockArgument>(pool.getOperand()))
    return PoolOp();
  return pool;
}

/// What lies behind the end for `results` windows of spatial dimension `i`, where the
/// library finds as many, and each of them has elements that are inside. With `ceil_mode`
/// that may be more than the operation's own padding.
static std::optional<int64_t> paddingAfter(PoolOp pool, int64_t i, int64_t size, int64_t results) {
  int64_t window = pool.getWindow()[i], stride = pool.getStrides()[i],
          before = pool.getPads()[2 * i], after = pool.getPads()[2 * i + 1];
  int64_t last = (results - 1) * stride - before; // where the last window begins
  if (before < 0 || after < 0 || before >= window || last >= size || results < 1)
    return std::nullopt;
  int64_t room = size + before + after - window;
  if (room >= 0 && room / stride + 1 == results)
    return after;
  int64_t needed = last + window - size;
  // An average over all of a window does not count what is behind the padding.
  bool counts = pool.getKind() == PoolKind::Average && pool.getCountIncludePad();
  return needed < 0 || (counts && needed > after) ? std::nullopt : std::optional(needed);
}

std::optional<weir_cuda_pooling> weir::matchPooling(plan::KernelOp kernel) {
  PoolOp pool = poolingOf(kernel);
  if (!pool || (pool.getKind() != PoolKind::Max && pool.getKind() != PoolKind::Average))
    return std::nullopt;
  auto input = cast<RankedTensorType>(pool.getOperand().getType()),
       result = cast<RankedTensorType>(pool.getType());
  int64_t rank = input.getRank(), spatial = rank - 2, first = pool.getChannelsLast() ? 1 : 2;
  if (!isa<Float32Type, Float16Type, BFloat16Type>(input.getElementType()) ||
      !input.hasStaticShape() || !result.hasStaticShape() || input.getNumElements() == 0 ||
      spatial < 1 || spatial > 3 ||
      llvm::any_of(pool.getDilations(), [](int64_t dilation) { return dilation != 1; }))
    return std::nullopt;
  LaunchSizes sizes(kernel);
  weir_cuda_pooling desc = {};
  desc.size = sizeof(desc);
  desc.dtype = dtypeOf(input.getElementType());
  desc.kind = pool.getKind() == PoolKind::Max ? WEIR_CUDA_MAX_POOLING
              : pool.getCountIncludePad()     ? WEIR_CUDA_AVERAGE_PADDED
                                              : WEIR_CUDA_AVERAGE_INSIDE;
  desc.input = sizes.bufferOf(pool.getOperand());
  desc.result = sizes.bufferOf(pool.getResult());
  desc.channels_last = pool.getChannelsLast();
  desc.spatial = int32_t(spatial);
  desc.batch = input.getDimSize(0);
  desc.channels = input.getDimSize(pool.getChannelsLast() ? rank - 1 : 1);
  for (int64_t i = 0; i < spatial; ++i) {
    desc.sizes[i] = input.getDimSize(first + i);
    desc.results[i] = result.getDimSize(first + i);
    desc.window[i] = pool.getWindow()[i];
    desc.strides[i] = pool.getStrides()[i];
    desc.before[i] = pool.getPads()[2 * i];
    auto after = paddingAfter(pool, i, desc.sizes[i], desc.results[i]);
    if (!after)
      return std::nullopt;
    desc.after[i] = *after;
  }
  return desc;
}
