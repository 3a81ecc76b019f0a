//===- CudaDnnAttention.cpp - attention by a library ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaDnnAttention.h"
#include "compiler/codegen/cuda/CudaAttention.h"
#include "compiler/codegen/cuda/CudaLibrary.h"
#include "compiler/emit/Program.h"
#include "dialects/weir/Pch.h"
#include "passes/analysis/Attention.h"
#include <cmath>

using namespace mlir;
using namespace weir;

namespace {

constexpr int64_t mostHeadSize = 128, headStep = 8; ///< of the library's kernels

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

class Matcher {
public:
  Matcher(plan::KernelOp kernel, const Attention &attention)
      : kernel(kernel), attention(attention), sizes(kernel) {}

  std::optional<weir_cuda_attention> match() {
    desc.size = sizeof(desc);
    desc.mask = -1;
    desc.scale = 1;
    if (!isWhole() || !matchSizes() || !matchOperands() || !matchResult() || !matchLogits())
      return std::nullopt;
    return desc;
  }

private:
  /// Whether the attention is all that the kernel computes.
  bool isWhole() {
    auto results = kernel.getBody().front().getTerminator()->getOperands();
    return results.size() == 1 && results.front() == attention.root->getResult(0) &&
           !attention.blind && !kernel.getInPlaceAttr();
  }

  bool matchSizes() {
    auto left = typeOf(attention.scores.getLhs()), logits = typeOf(attention.logits),
         product = typeOf(attention.product);
    rank = logits.getRank();
    if (!left.hasStaticShape() || !logits.hasStaticShape() || !product.hasStaticShape() ||
        logits.getNumElements() == 0 || rank < 2 || rank > 4)
      return false;
    desc.batch = rank == 4 ? logits.getDimSize(0) : 1;
    desc.heads = rank >= 3 ? logits.getDimSize(rank - 3) : 1;
    desc.query_count = logits.getDimSize(rank - 2);
    desc.key_count = logits.getDimSize(rank - 1);
    desc.head_size = left.getShape().back();
    desc.columns = product.getShape().back();
    auto fits = [](int64_t size) { return size % headStep == 0 && size <= mostHeadSize; };
    return fits(desc.head_size) && fits(desc.columns);
  }

  /// Distances of a tensor of `rank` dimensions, of which number i of memory is
  /// `order[i]`, inside of one of `memory`. False: rows are not dense, or it
  /// has other sizes.
  bool place(RankedTensorType type, RankedTensorType memory, ArrayRef<int64_t> order, int64_t heads,
             int64_t rows, int64_t columns, int64_t rowDim, int64_t (&distances)[3]) const {
    if (!type.hasStaticShape() || type.getRank() != rank)
      return false;
    SmallVector<int64_t> sizes(rank), strides(rank);
    int64_t next = 1;
    for (int64_t i = rank; i-- > 0; next *= memory.getDimSize(i)) {
      sizes[order[i]] = type.getDimSize(i);
      strides[order[i]] = next;
    }
    int64_t columnDim = 2 * rank - 3 - rowDim;
    if (strides[columnDim] != 1 || sizes[rowDim] != rows || sizes[columnDim] != columns ||
        (rank >= 3 && sizes[rank - 3] != heads) || (rank == 4 && sizes[0] != desc.batch))
      return false;
    distances[1] = rank >= 3 ? strides[rank - 3] : next;
    distances[0] = rank == 4 ? strides[0] : next;
    distances[2] = strides[rowDim];
    return true;
  }

  /// Takes an operand that lies in one of the kernel's buffers, or is a part of
  /// one. `rowDim`: of the operand, the dimension of queries or keys.
  bool take(Value value, int64_t heads, int64_t rows, int64_t columns, int64_t rowDim,
            int32_t &buffer, int64_t &offset, int64_t (&distances)[3], double &scale) {
    constexpr int64_t alignment = 16; ///< bytes, that the library's kernels want
    AttentionOperand operand = attentionOperand(value);
    auto type = typeOf(operand.source), memory = type;
    Value tensor = operand.source;
    if (auto slice = tensor.getDefiningOp<SliceOp>()) {
      auto part = knownPart(slice);
      tensor = slice.getOperand();
      memory = typeOf(tensor);
      if (!part || !memory.hasStaticShape())
        return false;
      offset = part->start * memory.getElementTypeBitWidth() / 8;
      for (int64_t dim : memory.getShape().drop_front(part->axis + 1))
        offset *= dim;
    }
    bool sharesHeads = operand.times > 1 && operand.repeated == rank - 3;
    if ((operand.times > 1 && !sharesHeads) || heads * operand.times != desc.heads ||
        !isa<BlockArgument>(tensor) || dtypeOf(type.getElementType()) != desc.dtype ||
        offset % alignment)
      return false;
    buffer = sizes.bufferOf(tensor);
    scale *= operand.scale;
    return place(type, memory, operand.order, heads, rows, columns, rowDim, distances);
  }

  bool matchOperands() {
    Type element = typeOf(attentionOperand(attention.scores.getLhs()).source).getElementType();
    // Scores that the program rounds stay in f32, as all else between the
    // products.
    auto adds = [&](DotGeneralOp dot) {
      return dot.getAccumulator().isF32() || dot.getAccumulator() == element;
    };
    if (!isa<Float16Type, BFloat16Type>(element) || !adds(attention.scores) ||
        !adds(attention.product))
      return false;
    desc.dtype = dtypeOf(element);
    double scale = 1, none = 1;
    DotGeneralOp scores = attention.scores, product = attention.product;
    int64_t keyDim = 2 * rank - 3 - scores.getRhsContract()[0],
            valueDim = product.getRhsContract()[0];
    // Keys and values of one head may serve several of queries.
    desc.key_heads = desc.heads / attentionOperand(scores.getRhs()).times;
    if (!take(scores.getLhs(), desc.heads, desc.query_count, desc.head_size, rank - 2, desc.queries,
              desc.query_offset, desc.query_distances, scale) ||
        !take(scores.getRhs(), desc.key_heads, desc.key_count, desc.head_size, keyDim, desc.keys,
              desc.key_offset, desc.key_distances, scale) ||
        !take(product.getRhs(), desc.key_heads, desc.key_count, desc.columns, valueDim, desc.values,
              desc.value_offset, desc.value_distances, none))
      return false;
    desc.scale = float(scale);
    return none == 1;
  }

  bool matchResult() {
    auto result = typeOf(attention.root->getResult(0));
    desc.result_dtype = dtypeOf(result.getElementType());
    // The library rounds weights; so must something here.
    auto weights = typeOf(attention.product.getLhs());
    if (desc.result_dtype != desc.dtype &&
        (desc.result_dtype != WEIR_F32 || dtypeOf(weights.getElementType()) != desc.dtype))
      return false;
    desc.result = sizes.bufferOf(attention.root->getResult(0));
    SmallVector<int64_t> order(rank);
    for (int64_t i = 0; i < rank; ++i)
      order[i] = attention.order ? attention.order.getPermutation()[i] : i;
    return place(result, result, order, desc.heads, desc.query_count, desc.columns, rank - 2,
                 desc.result_distances);
  }

  /// From the logits back to the scores: what is behind the diagonal, a mask, scales.
  bool matchLogits() {
    Value value = withoutCasts(attention.logits);
    if (auto select = value.getDefiningOp<SelectOp>()) {
      if (!isCausal(attention))
        return false;
      desc.causal = 1;
      value = withoutCasts(select.getOnTrue());
    }
    if (auto add = value.getDefiningOp<AddOp>()) {
      bool isLeft = isa<BlockArgument>(add.getLhs());
      if (!matchMask(isLeft ? add.getLhs() : add.getRhs()))
        return false;
      value = withoutCasts(isLeft ? add.getRhs() : add.getLhs());
    }
    while (value != attention.scores.getResult()) {
      Operation *op = value.getDefiningOp();
      auto number = op && isa<MulOp, DivOp>(op) ? splatOf(op->getOperand(1)) : std::nullopt;
      if (!number)
        return false;
      desc.scale = float(isa<MulOp>(op) ? desc.scale * *number : desc.scale / *number);
      value = withoutCasts(op->getOperand(0));
    }
    return std::isfinite(desc.scale);
  }

  /// A buffer that has numbers for each key, and for all or one of all else.
  bool matchMask(Value mask) {
    auto type = typeOf(mask);
    int64_t missing = 4 - type.getRank();
    if (!isa<BlockArgument>(mask) || !type.hasStaticShape() || missing < 0 ||
        !isa<Float32Type, Float16Type, BFloat16Type>(type.getElementType()))
      return false;
    const int64_t full[] = {desc.batch, desc.heads, desc.query_count, desc.key_count};
    for (int64_t i = 0; i < 4; ++i) {
      desc.mask_sizes[i] = i < missing ? 1 : type.getDimSize(i - missing);
      if (desc.mask_sizes[i] != full[i] && (i == 3 || desc.mask_sizes[i] != 1))
        return false;
    }
    desc.mask = sizes.bufferOf(mask);
    desc.mask_dtype = dtypeOf(type.getElementType());
    return true;
  }

  plan::KernelOp kernel;
  Attention attention;
  LaunchSizes sizes;
  weir_cuda_attention desc = {};
  int64_t rank = 0;
};

} // namespace

std::optional<weir_cuda_attention> weir::matchDnnAttention(plan::KernelOp kernel) {
  std::optional<Attention> attention = attentionOf(kernel);
  if (!attention)
    return std::nullopt;
  return Matcher(kernel, *attention).match();
}
