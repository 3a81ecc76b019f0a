//===- DotGeneralOp.cpp - sums of products over dimensions ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Contraction.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/ShapeSupport.h"
#include "weir/weir.h"

using namespace mlir;
using namespace weir;
using namespace weir::shape;

LogicalResult DotGeneralOp::inferReturnTypes(MLIRContext *, OptionalLocation loc, Adaptor adaptor,
                                             Types &types) {
  auto lhs = ranked(adaptor.getLhs()), rhs = ranked(adaptor.getRhs());
  ArrayRef<int64_t> lhsBatch = adaptor.getLhsBatch(), rhsBatch = adaptor.getRhsBatch(),
                    lhsContract = adaptor.getLhsContract(), rhsContract = adaptor.getRhsContract();
  if (lhsBatch.size() != rhsBatch.size() || lhsContract.size() != rhsContract.size())
    return emitOptionalError(loc, "batch and contracting dimensions must pair up");
  if (!lhs || !rhs)
    return inferredUnranked(types, adaptor.getAccumulator());
  auto inside = [](RankedTensorType type, ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
    SmallVector<bool> seen(type.getRank());
    for (int64_t i : llvm::concat<const int64_t>(a, b)) {
      if (i < 0 || i >= type.getRank() || seen[i])
        return false;
      seen[i] = true;
    }
    return true;
  };
  if (!inside(lhs, lhsBatch, lhsContract) || !inside(rhs, rhsBatch, rhsContract))
    return emitOptionalError(loc, "dimension numbers must name dimensions of ",
                             shapeText(lhs.getShape()), " and ", shapeText(rhs.getShape()),
                             ", each once");
  Sizes shape;
  for (auto [i, j] : llvm::zip(lhsBatch, rhsBatch)) {
    auto size = mergeSizes(lhs.getDimSize(i), rhs.getDimSize(j));
    if (!size)
      return emitOptionalError(loc, "product of ", shapeText(lhs.getShape()), " and ",
                               shapeText(rhs.getShape()), ": batch sizes ", lhs.getDimSize(i),
                               " and ", rhs.getDimSize(j), " differ");
    shape.push_back(*size);
  }
  for (auto [i, j] : llvm::zip(lhsContract, rhsContract))
    if (!mergeSizes(lhs.getDimSize(i), rhs.getDimSize(j)))
      return emitOptionalError(loc, "product of ", shapeText(lhs.getShape()), " and ",
                               shapeText(rhs.getShape()), ": contracted sizes ", lhs.getDimSize(i),
                               " and ", rhs.getDimSize(j), " differ");
  for (int64_t i : freeDims(lhs.getRank(), lhsBatch, lhsContract))
    shape.push_back(lhs.getDimSize(i));
  for (int64_t i : freeDims(rhs.getRank(), rhsBatch, rhsContract))
    shape.push_back(rhs.getDimSize(i));
  return inferred(types, shape, adaptor.getAccumulator());
}

Value DotGeneralOp::emitElement(ElementReader &r, unsigned, ValueRange indices) {
  Type lhsElement = elementOf(getLhs()), rhsElement = elementOf(getRhs()),
       wide = accumulatorType(getAccumulator());
  ScalarBuilder s(r, *this, wide);
  SmallVector<Value> lhs(ranked(getLhs()).getRank()), rhs(ranked(getRhs()).getRank());
  size_t next = 0;
  for (auto [i, j] : llvm::zip(getLhsBatch(), getRhsBatch()))
    lhs[i] = rhs[j] = indices[next++];
  for (int64_t i : freeDims(lhs.size(), getLhsBatch(), getLhsContract()))
    lhs[i] = indices[next++];
  for (int64_t i : freeDims(rhs.size(), getRhsBatch(), getRhsContract()))
    rhs[i] = indices[next++];
  SmallVector<Value> sizes;
  // Sizes that differ were reported; the smaller one stays within bounds.
  for (auto [i, j] : llvm::zip(getLhsContract(), getRhsContract()))
    sizes.push_back(r.minimum(r.dim(getLhs(), i), r.dim(getRhs(), j)));
  Value total = emitReductionLoops(
      r, sizes, reductionStart(r, wide, ReduceKind::Sum), [&](ValueRange place, Value carried) {
        for (auto [i, j, index] : llvm::zip(getLhsContract(), getRhsContract(), place))
          lhs[i] = rhs[j] = index;
        Value x = s.cast(r.element(getLhs(), lhs), lhsElement, wide, false);
        Value y = s.cast(r.element(getRhs(), rhs), rhsElement, wide, false);
        return multiplyAdd(r, s, carried, x, y);
      });
  return s.cast(total, wide, getAccumulator(), false);
}

LogicalResult DotGeneralOp::reifyShape(ElementReader &r, unsigned, SmallVectorImpl<Value> &dims) {
  for (auto [i, j] : llvm::zip(getLhsBatch(), getRhsBatch())) {
    Value size = r.dim(getLhs(), i), other = r.dim(getRhs(), j);
    requireEqual(r, *this, size, other, "batch sizes {0} and {1} differ");
    dims.push_back(size == other || !ranked(getLhs()).isDynamicDim(i) ? size
                                                                      : r.minimum(size, other));
  }
  for (auto [i, j] : llvm::zip(getLhsContract(), getRhsContract()))
    requireEqual(r, *this, r.dim(getLhs(), i), r.dim(getRhs(), j),
                 "contracted sizes {0} and {1} differ");
  auto free = [&](Value operand, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
    for (int64_t i : freeDims(ranked(operand).getRank(), batch, contract))
      dims.push_back(r.dim(operand, i));
  };
  free(getLhs(), getLhsBatch(), getLhsContract());
  free(getRhs(), getRhsBatch(), getRhsContract());
  return success();
}

int64_t DotGeneralOp::getFlops() {
  auto lhs = ranked(getLhs());
  int64_t count = weir::detail::elementCountOfResults(*this);
  if (!lhs || count < 0)
    return -1;
  Sizes contracted;
  for (int64_t i : getLhsContract())
    contracted.push_back(lhs.getDimSize(i));
  int64_t depth = sizeProduct(contracted);
  return isKnown(depth) ? 2 * count * depth : -1;
}
