//===- ReductionRules.cpp - gradients of sums and products ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Contraction.h"
#include "dialects/weir/Training.h"
#include "passes/gradient/GradientRules.h"

using namespace mlir;
using namespace weir;
using namespace weir::gradient;

namespace {

/// A reduction's result with its axes as dimensions of size 1.
Value kept(Value v, Value x, Ints axes, Adjoint &a) {
  if (Adjoint::rank(v) == Adjoint::rank(x))
    return v;
  SmallVector<Value> sizes = {a.ints({})};
  for (int64_t i = 0; i < Adjoint::rank(x); ++i)
    sizes.push_back(llvm::is_contained(axes, i) ? a.ints({1}) : a.sizes(x, i, i + 1));
  return a.reshape(v, a.concat(sizes, 0));
}

/// The product of all others along the reduced axes, without a division: that
/// of those before times that of those behind.
Value others(Value x, Ints axes, Adjoint &a) {
  IntVector permutation, inverse(Adjoint::rank(x));
  for (int64_t i = 0; i < Adjoint::rank(x); ++i)
    if (!llvm::is_contained(axes, i))
      permutation.push_back(i);
  int64_t left = permutation.size();
  permutation.append(axes.begin(), axes.end());
  for (auto [to, from] : llvm::enumerate(permutation))
    inverse[from] = to;
  Value lines = a.transpose(x, permutation);
  Value shape = a.shapeOf(lines);
  Value count =
      a.op<ReduceOp>(a.sizes(lines, left, Adjoint::rank(lines)), ReduceKind::Prod, Ints{0}, true);
  Value flat = left ? a.reshape(lines, a.concat({a.sizes(lines, 0, left), count}, 0))
                    : a.reshape(lines, count);
  auto along = [&](bool reverse) {
    return a.op<CumulativeOp>(flat, ReduceKind::Prod, left, true, reverse);
  };
  return a.transpose(a.reshape(a.times(along(false), along(true)), shape), inverse);
}

LogicalResult reduce(Operation *op, ArrayRef<Value> gradients, Adjoint &a) {
  auto reduce = cast<ReduceOp>(op);
  Value x = reduce.getOperand();
  Ints axes = reduce.getAxes();
  Value dy = kept(gradients[0], x, axes, a);
  ReduceKind kind = reduce.getKind();
  if (kind == ReduceKind::Sum || kind == ReduceKind::Mean) {
    if (kind == ReduceKind::Mean)
      dy = a.over(dy, a.count(x, axes, dy));
    a.add(x, a.op<BroadcastToOp>(dy, a.shapeOf(x)));
    return success();
  }
  if (kind == ReduceKind::Max || kind == ReduceKind::Min) {
    // Equal ones share.
    Value y = kept(reduce.getResult(), x, axes, a);
    Value isExtreme = a.compare("eq", x, y);
    Value ones = a.cast(isExtreme, Adjoint::type(x).getElementType());
    a.add(x, a.times(ones, a.over(dy, a.reduce(ones, ReduceKind::Sum, axes, true))));
    return success();
  }
  if (kind == ReduceKind::Prod) {
    if (axes.empty())
      a.add(x, dy);
    else
      a.add(x, a.times(a.conj(others(x, axes, a)), dy));
    return success();
  }
  return failure();
}

LogicalResult cumulative(Operation *op, ArrayRef<Value> gradients, Adjoint &a) {
  auto sum = cast<CumulativeOp>(op);
  if (sum.getKind() != ReduceKind::Sum)
    return failure();
  a.add(sum.getOperand(), a.op<CumulativeOp>(gradients[0], ReduceKind::Sum, sum.getAxis(),
                                             sum.getExclusive(), !sum.getReverse()));
  return success();
}

/// result[batch, m, n] = sum over k of lhs[batch, m, k] * rhs[batch, n, k]
LogicalResult dotGeneral(Operation *op, ArrayRef<Value> gradients, Adjoint &a) {
  auto dot = cast<DotGeneralOp>(op);
  Value lhs = dot.getLhs(), rhs = dot.getRhs(), dy = gradients[0];
  auto one = [&](Value self, Ints batch, Ints contract, Value other, Ints otherBatch,
                 Ints otherContract, bool isLeft) {
    if (!a.wants(self))
      return;
    IntVector mine = freeDims(Adjoint::rank(self), batch, contract),
              theirs = freeDims(Adjoint::rank(other), otherBatch, otherContract);
    // dy's dimensions: batch, free ones of lhs, free ones of rhs.
    int64_t batches = batch.size(), own = mine.size(), free = theirs.size();
    IntVector dyBatch, dyContract;
    for (int64_t i = 0; i < batches; ++i)
      dyBatch.push_back(i);
    int64_t first = isLeft ? batches + own : batches;
    for (int64_t i = 0; i < free; ++i)
      dyContract.push_back(first + i);
    // Made: batch, then own free ones and what `other` was contracted over, in order; or these
    // before those, where that is how the operand lies: nothing need be transposed then.
    IntVector sorted(otherContract), summed;
    llvm::sort(sorted);
    for (int64_t dim : sorted)
      summed.push_back(contract[llvm::find(otherContract, dim) - otherContract.begin()]);
    auto placesOf = [&](const IntVector &first, const IntVector &second) {
      IntVector permutation(Adjoint::rank(self));
      int64_t from = 0;
      for (Ints dims : {batch, Ints(first), Ints(second)})
        for (int64_t to : dims)
          permutation[to] = from++;
      return permutation;
    };
    IntVector permutation = placesOf(mine, summed), turned = placesOf(summed, mine);
    bool isTurned = !llvm::is_sorted(permutation) && llvm::is_sorted(turned);
    Type element = Adjoint::type(self).getElementType();
    Value others = a.conj(other);
    Value product =
        isTurned ? a.op<DotGeneralOp>(others, dy, otherBatch, dyBatch, theirs, dyContract, element)
                 : a.op<DotGeneralOp>(dy, others, dyBatch, otherBatch, dyContract, theirs, element);
    if (isTurned)
      permutation = turned;
    a.add(self, a.transpose(product, permutation));
  };
  one(lhs, dot.getLhsBatch(), dot.getLhsContract(), rhs, dot.getRhsBatch(), dot.getRhsContract(),
      true);
  one(rhs, dot.getRhsBatch(), dot.getRhsContract(), lhs, dot.getLhsBatch(), dot.getLhsContract(),
      false);
  return success();
}

/// The sum of `dy` along `axis`, which stays with size 1. Of what flows back from picking one
/// element a line by its number (a loss of classes) it is that element's gradient, where there
/// is such an element, so that nobody has to read the whole of dy for it.
Value lineSums(Value dy, int64_t axis, Adjoint &a) {
  auto sum = [&] { return a.reduce(dy, ReduceKind::Sum, {axis}, true); };
  auto select = dy.getDefiningOp<SelectOp>();
  auto compare = select ? select.getCondition().getDefiningOp<CompareOp>() : CompareOp();
  if (!compare || compare.getPredicate() != "eq" ||
      !matchPattern(select.getOnFalse(), m_AnyZeroFloat()))
    return sum();
  auto isOneAlong = [&](Value v) {
    return Adjoint::rank(v) == Adjoint::rank(dy) && Adjoint::type(v).getDimSize(axis) == 1;
  };
  auto isNumbering = [&](Value v) {
    auto iota = v.getDefiningOp<IotaOp>();
    if (!iota || int64_t(iota.getAxis()) != axis || Adjoint::rank(v) != Adjoint::rank(dy))
      return false;
    for (auto [i, size] : llvm::enumerate(Adjoint::type(v).getShape()))
      if (int64_t(i) != axis && size != 1)
        return false;
    return isa<IntegerType>(Adjoint::type(v).getElementType());
  };
  Value picked = compare.getLhs(), numbers = compare.getRhs(), value = select.getOnTrue();
  if (isNumbering(picked))
    std::swap(picked, numbers);
  if (auto broadcast = value.getDefiningOp<BroadcastToOp>())
    value = broadcast.getOperand();
  if (!isNumbering(numbers) || !isOneAlong(picked) || !isOneAlong(value))
    return sum();
  Value number = a.cast(picked, a.b.getI64Type()), end = a.sizes(numbers, axis, axis + 1);
  Value exists =
      a.op<AndOp>(a.compare("ge", number, a.number(number, 0)), a.compare("lt", number, end));
  return a.where(exists, value);
}

LogicalResult softmax(Operation *op, ArrayRef<Value> gradients, Adjoint &a) {
  auto softmax = cast<SoftmaxOp>(op);
  Value dy = gradients[0], y = softmax.getResult();
  IntVector axis = {static_cast<int64_t>(softmax.getAxis())};
  if (softmax.getLog())
    a.add(softmax.getOperand(), a.minus(dy, a.times(a.op<ExpOp>(y), lineSums(dy, axis[0], a))));
  else
    a.add(softmax.getOperand(),
          a.times(y, a.minus(dy, a.reduce(a.times(dy, y), ReduceKind::Sum, axis, true))));
  return success();
}

/// y = (x - mean) r scale + bias with r = (variance + epsilon)^-1/2. Where mean and variance are
/// x's own, what flows back through them is in dx already: with n elements a channel and sums
/// over them, dx = scale r (dy - sum(dy) / n - (x - mean) r^2 sum(dy (x - mean)) / n) (Ioffe and
/// Szegedy, "Batch Normalization", 2015).
LogicalResult batchNorm(Operation *op, ArrayRef<Value> gradients, Adjoint &a) {
  auto norm = cast<BatchNormOp>(op);
  int64_t rank = Adjoint::rank(norm.getOperand()), axis = norm.getAxis();
  Type element = Adjoint::type(norm.getOperand()).getElementType();
  Type wide = accumulatorType(element);
  IntVector axes;
  for (int64_t i = 0; i < rank; ++i)
    if (i != axis)
      axes.push_back(i);
  // [channels, 1, ...], as where it is decomposed, so that both compute it once.
  auto spread = [&](Value v) {
    IntVector column(rank - axis, 1);
    column[0] = Adjoint::type(v).hasStaticShape() ? Adjoint::type(v).getDimSize(0) : -1;
    return column.size() == 1 ? v : a.reshape(v, a.ints(column));
  };
  Value x = a.cast(norm.getOperand(), wide), dy = a.cast(gradients[0], wide);
  Value centred = a.minus(x, spread(a.cast(norm.getMean(), wide)));
  Value variance = a.plus(a.cast(norm.getVariance(), wide), norm.getEpsilon().convertToDouble());
  Value deviation = a.op<SqrtOp>(variance);
  Value factor = a.over(a.cast(norm.getScale(), wide), deviation);
  Value sum = a.reduce(dy, ReduceKind::Sum, axes, false);
  Value centredSum = a.reduce(a.times(dy, centred), ReduceKind::Sum, axes, false);
  a.add(norm.getBias(), sum);
  a.add(norm.getScale(), a.over(centredSum, deviation));
  if (!norm->hasAttr(batchStatisticsAttr)) {
    a.add(norm.getOperand(), a.times(dy, spread(factor)));
    a.add(norm.getMean(), a.times(a.times(sum, factor), -1));
    a.add(norm.getVariance(), a.times(a.over(a.times(centredSum, factor), variance), -0.5));
    return success();
  }
  Value count = a.count(x, axes, x);
  Value inner = a.minus(a.minus(dy, spread(a.over(sum, count))),
                        a.times(centred, spread(a.over(a.over(centredSum, count), variance))));
  a.add(norm.getOperand(), a.times(inner, spread(factor)));
  return success();
}

} // namespace

ArrayRef<Row> weir::gradient::reductionRules() {
  static const Row rows[] = {
      {"batch_norm", batchNorm},   {"reduce", reduce},   {"cumulative", cumulative},
      {"dot_general", dotGeneral}, {"softmax", softmax},
  };
  return rows;
}
