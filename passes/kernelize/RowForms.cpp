//===- RowForms.cpp - how operations go along rows ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/kernelize/RowForms.h"

#include "dialects/weir/Pch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weir;

using Form = std::optional<RowForm>;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static RankedTensorType resultType(Operation *op) { return typeOf(op->getResult(0)); }

/// Rows of the first operand along `first`, all others whole.
static RowForm firstAlong(Operation *op, int64_t first, int64_t result) {
  RowForm form{SmallVector<int64_t, 3>(op->getNumOperands(), wholeValue), result};
  form.operands[0] = first;
  return form;
}

/// Where `operand` has dimension `dim` of `result`, by NumPy's rules.
static int64_t broadcastDim(RankedTensorType operand, RankedTensorType result, int64_t dim) {
  int64_t own = dim - (result.getRank() - operand.getRank());
  bool isStretched = own < 0 || operand.getDimSize(own) != result.getDimSize(dim);
  return isStretched ? wholeValue : own;
}

static RowForm ofElementwise(Operation *op, int64_t dim) {
  RowForm form{{}, dim};
  for (Value operand : op->getOperands())
    form.operands.push_back(broadcastDim(typeOf(operand), resultType(op), dim));
  return form;
}

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

/// A dimension of the operand in front of which there is as much as in front of the result's, so
/// that a part of either is the same elements.
static Form ofReshape(ReshapeOp op, int64_t dim) {
  int64_t before = product(resultType(op).getShape().take_front(dim));
  ArrayRef<int64_t> from = typeOf(op.getOperand()).getShape();
  for (int64_t own = 0; own < int64_t(from.size()); ++own)
    if (from[own] > 1 && product(from.take_front(own)) == before)
      return firstAlong(op, own, dim);
  return std::nullopt;
}

static Form ofReduce(ReduceOp op, int64_t dim) {
  ArrayRef<int64_t> axes = op.getAxes();
  if (op.getKeepDims())
    return llvm::is_contained(axes, dim) ? Form() : firstAlong(op, dim, dim);
  for (int64_t own = 0, left = dim; own < typeOf(op.getOperand()).getRank(); ++own)
    if (!llvm::is_contained(axes, own) && left-- == 0)
      return firstAlong(op, own, dim);
  return std::nullopt;
}

/// Dimensions of an operand of a product that are neither batch nor contracted.
static SmallVector<int64_t> freeDims(int64_t rank, ArrayRef<int64_t> batch,
                                     ArrayRef<int64_t> contract) {
  SmallVector<int64_t> dims;
  for (int64_t i = 0; i < rank; ++i)
    if (!llvm::is_contained(batch, i) && !llvm::is_contained(contract, i))
      dims.push_back(i);
  return dims;
}

static Form ofProduct(DotGeneralOp op, int64_t dim) {
  size_t at = size_t(dim), batches = op.getLhsBatch().size();
  if (at < batches)
    return RowForm{{op.getLhsBatch()[at], op.getRhsBatch()[at]}, dim};
  auto lhs = freeDims(typeOf(op.getLhs()).getRank(), op.getLhsBatch(), op.getLhsContract());
  if (at < batches + lhs.size())
    return RowForm{{lhs[at - batches], wholeValue}, dim};
  auto rhs = freeDims(typeOf(op.getRhs()).getRank(), op.getRhsBatch(), op.getRhsContract());
  return RowForm{{wholeValue, rhs[at - batches - lhs.size()]}, dim};
}

static Form ofPad(PadOp op, int64_t dim) {
  auto pads = constantIntegers(op.getPads());
  int64_t rank = resultType(op).getRank();
  if (!pads || (*pads)[dim] != 0 || (*pads)[rank + dim] != 0)
    return std::nullopt;
  return firstAlong(op, dim, dim);
}

static Form ofGather(GatherOp op, int64_t dim) {
  int64_t axis = op.getAxis(), indices = typeOf(op.getIndices()).getRank();
  if (op.getBatchDims() != 0)
    return std::nullopt;
  if (dim < axis)
    return RowForm{{dim, wholeValue}, dim};
  if (dim < axis + indices)
    return RowForm{{wholeValue, dim - axis}, dim};
  return RowForm{{dim - indices + 1, wholeValue}, dim};
}

/// Whether rows can be told from the operation's types.
static bool isKnown(Operation *op) {
  auto isStatic = [](Type type) {
    auto ranked = dyn_cast<RankedTensorType>(type);
    return ranked && ranked.hasStaticShape();
  };
  return op->getNumResults() == 1 && op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
         llvm::all_of(op->getResultTypes(), isStatic) &&
         llvm::all_of(op->getOperandTypes(), isStatic);
}

Form weir::rowsOfResult(Operation *op, int64_t dim) {
  if (!isKnown(op) || isa<AllReduceOp>(op))
    return std::nullopt;
  if (isa<ElementwiseOpInterface>(op))
    return ofElementwise(op, dim);
  return llvm::TypeSwitch<Operation *, Form>(op)
      .Case([&](ReshapeOp reshape) { return ofReshape(reshape, dim); })
      .Case([&](BroadcastToOp stretch) {
        return firstAlong(op, broadcastDim(typeOf(stretch.getOperand()), resultType(op), dim), dim);
      })
      .Case([&](TransposeOp turn) { return firstAlong(op, turn.getPermutation()[dim], dim); })
      .Case([&](ReduceOp reduce) { return ofReduce(reduce, dim); })
      .Case([&](DotGeneralOp dot) { return ofProduct(dot, dim); })
      // Images come first in both orders.
      .Case<ConvOp, PoolOp, MaxPoolIndexOp>(
          [&](Operation *) { return dim == 0 ? Form(firstAlong(op, 0, 0)) : Form(); })
      .Case<RepeatOp>([&](Operation *) { return firstAlong(op, dim, dim); })
      .Case([&](ConcatOp concat) {
        SmallVector<int64_t, 3> all(op->getNumOperands(), dim);
        return int64_t(concat.getAxis()) == dim ? Form() : Form(RowForm{all, dim});
      })
      .Case([&](PadOp pad) { return ofPad(pad, dim); })
      .Case([&](SliceOp slice) {
        return llvm::is_contained(slice.getAxes(), dim) ? Form() : firstAlong(op, dim, dim);
      })
      .Case([&](GatherOp gather) { return ofGather(gather, dim); })
      .Case([&](GatherElementsOp pick) {
        bool isAlike = typeOf(pick.getOperand()).getDimSize(dim) == resultType(op).getDimSize(dim);
        return int64_t(pick.getAxis()) != dim && isAlike ? Form(RowForm{{dim, dim}, dim}) : Form();
      })
      .Case([&](IotaOp) { return firstAlong(op, wholeValue, dim); })
      .Default([](Operation *) { return Form(); });
}

/// Sums whose parts may be added without being rounded more often than others are.
static bool addsUp(Operation *op) {
  Type element = resultType(op).getElementType();
  return element.isF32() || element.isF64() || element.isInteger(32) || element.isInteger(64);
}

Form weir::rowsOfOperand(Operation *op, unsigned index, int64_t dim) {
  if (!isKnown(op))
    return std::nullopt;
  for (int64_t own = 0; own < resultType(op).getRank(); ++own)
    if (Form form = rowsOfResult(op, own); form && form->operands[index] == dim)
      return form;
  if (auto reduce = dyn_cast<ReduceOp>(op))
    if (reduce.getKind() == ReduceKind::Sum && llvm::is_contained(reduce.getAxes(), dim) &&
        addsUp(op))
      return firstAlong(op, dim, sumOverRows);
  if (auto conv = dyn_cast<ConvOp>(op); conv && conv.getGroups() == 1 && addsUp(op)) {
    // Channels are added up: the batch, where a convolution is the gradient of a filter.
    int64_t last = resultType(op).getRank() - 1;
    RowForm form{{conv.getChannelsLast() ? last : 1, conv.getChannelsLast() ? last - 1 : 1},
                 sumOverRows};
    return form.operands[index] == dim ? Form(form) : Form();
  }
  auto dot = dyn_cast<DotGeneralOp>(op);
  if (!dot || !addsUp(op))
    return std::nullopt;
  ArrayRef<int64_t> own = index == 0 ? dot.getLhsContract() : dot.getRhsContract();
  const auto *at = llvm::find(own, dim);
  if (at == own.end())
    return std::nullopt;
  auto place = at - own.begin();
  return RowForm{{dot.getLhsContract()[place], dot.getRhsContract()[place]}, sumOverRows};
}
