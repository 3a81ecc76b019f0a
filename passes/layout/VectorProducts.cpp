//===- VectorProducts.cpp - products that are no GEMM -----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/layout/VectorProducts.h"
#include "dialects/weir/Contraction.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Rearrange.h"
#include "dialects/weir/SizeOrigins.h"
#include "dialects/weir/Target.h"
#include "passes/analysis/Clusters.h"

using namespace mlir;
using namespace weir;

/// The size that `dims` of `value` make together, as an i64 tensor of one element.
static Value sizeOf(OpBuilder &b, Location loc, Value value, ArrayRef<int64_t> dims) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t known = 1;
  Value size;
  for (int64_t dim : dims) {
    if (!type.isDynamicDim(dim)) {
      known *= type.getDimSize(dim);
      continue;
    }
    Value all = ShapeOfOp::create(b, loc, value, TypeAttr::get(b.getI64Type()));
    Value own = SliceOp::create(b, loc, all, integers(b, loc, dim), integers(b, loc, dim + 1),
                                integers(b, loc, 1), ArrayRef<int64_t>{0}, false);
    size = size ? MulOp::create(b, loc, size, own).getResult() : own;
  }
  Value factor = integers(b, loc, known);
  if (!size)
    return factor;
  return known == 1 ? size : MulOp::create(b, loc, size, factor).getResult();
}

Value weir::merged(OpBuilder &b, Location loc, Value value, ArrayRef<SmallVector<int64_t>> groups) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> known;
  for (ArrayRef<int64_t> group : groups) {
    int64_t count = knownCount(type, group);
    known.push_back(count < 0 ? ShapedType::kDynamic : count);
  }
  if (llvm::none_of(known, ShapedType::isDynamic))
    return reshaped(b, loc, value, known);
  if (llvm::all_of(groups, [](ArrayRef<int64_t> group) { return group.size() == 1; }))
    return value;
  SmallVector<Value> sizes;
  for (ArrayRef<int64_t> group : groups)
    sizes.push_back(sizeOf(b, loc, value, group));
  return ReshapeOp::create(b, loc, value, ConcatOp::create(b, loc, ValueRange(sizes), 0));
}

Value weir::reshapedToResult(OpBuilder &b, DotGeneralOp dot, Value made) {
  auto result = cast<RankedTensorType>(dot.getType());
  Location loc = dot.getLoc();
  if (result.hasStaticShape())
    return reshaped(b, loc, made, result.getShape());
  SmallVector<Value> sizes;
  auto append = [&](Value operand, ArrayRef<int64_t> dims) {
    for (int64_t dim : dims)
      sizes.push_back(sizeOf(b, loc, operand, dim));
  };
  auto free = [](Value operand, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
    return freeDims(cast<RankedTensorType>(operand.getType()).getRank(), batch, contract);
  };
  append(dot.getLhs(), dot.getLhsBatch());
  append(dot.getLhs(), free(dot.getLhs(), dot.getLhsBatch(), dot.getLhsContract()));
  append(dot.getRhs(), free(dot.getRhs(), dot.getRhsBatch(), dot.getRhsContract()));
  return ReshapeOp::create(b, loc, made, ConcatOp::create(b, loc, ValueRange(sizes), 0));
}

void weir::replaceProduct(DotGeneralOp dot, Value made) {
  if (made.getType() != dot.getType())
    made.setType(cast<RankedTensorType>(dot.getType()));
  copyDevice(dot, made);
  dot.replaceAllUsesWith(made);
  dot.erase();
}

/// Sums, which have the result's dimensions in its order but for ones, as the result. Its operands'
/// sizes are not asked for: a kernel that asks for a value's size does not compute it on its way.
static Value sumsAsResult(OpBuilder &b, DotGeneralOp dot, Value sums) {
  auto type = cast<RankedTensorType>(sums.getType()),
       result = cast<RankedTensorType>(dot.getType());
  if (type.getShape() == result.getShape())
    return sums;
  SmallVector<int64_t> own;
  for (auto [i, size] : llvm::enumerate(type.getShape()))
    if (size != 1)
      own.push_back(i);
  SmallVector<MadeSize> shape;
  const int64_t *next = own.begin();
  for (int64_t size : result.getShape())
    if (size == 1)
      shape.push_back({});
    else if (next != own.end())
      shape.push_back({.from = *next++});
  if (next != own.end() || static_cast<int64_t>(shape.size()) != result.getRank())
    return reshapedToResult(b, dot, sums);
  return reshaped(b, dot.getLoc(), sums, shape);
}

/// Sums of products along dimension `axis` in the place of the product.
static bool sumOfProducts(OpBuilder &b, DotGeneralOp dot, Value lines, Value others, int64_t axis) {
  Value products = MulOp::create(b, dot.getLoc(), lines, others);
  copyDevice(dot, products);
  Value sums =
      ReduceOp::create(b, dot.getLoc(), products, ReduceKind::Sum, ArrayRef<int64_t>(axis), true);
  copyDevice(dot, sums);
  replaceProduct(dot, sumsAsResult(b, dot, sums));
  return true;
}

/// Whether sizes that a product wants equal are, whatever is fed. Elementwise operations would
/// stretch a size of 1 where the product refuses it.
static bool hasEqualSizes(DotGeneralOp dot) {
  auto lhs = cast<RankedTensorType>(dot.getLhs().getType());
  auto rhs = cast<RankedTensorType>(dot.getRhs().getType());
  std::optional<SizeOrigins> origins;
  auto areEqual = [&](ArrayRef<int64_t> left, ArrayRef<int64_t> right) {
    return llvm::all_of(llvm::zip_equal(left, right), [&](auto pair) {
      auto [i, j] = pair;
      if (!lhs.isDynamicDim(i) && lhs.getDimSize(i) == rhs.getDimSize(j))
        return true;
      if (!origins)
        origins.emplace().takeFeeds(dot->getParentOfType<func::FuncOp>());
      return origins->areEqual(dot.getLhs(), i, dot.getRhs(), j);
    });
  };
  return areEqual(dot.getLhsContract(), dot.getRhsContract()) &&
         areEqual(dot.getLhsBatch(), dot.getRhsBatch());
}

namespace {

/// The dimensions of a product's operand.
struct Side {
  Value value;
  SmallVector<int64_t> batch, contract, free;

  Side(Value value, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract)
      : value(value), batch(batch), contract(contract),
        free(freeDims(type().getRank(), batch, contract)) {}

  RankedTensorType type() const { return cast<RankedTensorType>(value.getType()); }
  /// Whether a matrix of each batch is picked out of others, for this product alone; halves, which
  /// products of CPUs read as f32, too.
  bool isPicked() const {
    Value picked = value;
    if (auto cast = picked.getDefiningOp<CastOp>(); cast && cast->hasOneUse())
      picked = cast.getOperand();
    auto gather = picked.getDefiningOp<GatherOp>();
    return gather && gather->hasOneUse() &&
           static_cast<int64_t>(gather.getAxis()) < static_cast<int64_t>(batch.size());
  }
  bool isComputed() const { return !value.getDefiningOp<ConstantOp>(); }
  int64_t lines() const { return knownCount(type(), free); }

  /// With each of its batches' dimensions, and `groups` of others behind them.
  Value arranged(OpBuilder &b, Location loc, ArrayRef<SmallVector<int64_t>> groups) const {
    SmallVector<int64_t> order(batch);
    SmallVector<SmallVector<int64_t>> merges;
    for (size_t i = 0; i < batch.size(); ++i)
      merges.push_back({static_cast<int64_t>(i)});
    for (ArrayRef<int64_t> group : groups) {
      int64_t begin = order.size();
      llvm::append_range(order, group);
      merges.push_back(llvm::to_vector(llvm::seq<int64_t>(begin, order.size())));
    }
    return merged(b, loc, transposed(b, loc, value, order), merges);
  }

  /// Of each batch one line.
  Value line(OpBuilder &b, Location loc) const {
    SmallVector<int64_t> all(free);
    llvm::append_range(all, contract);
    return arranged(b, loc, {all});
  }
};

} // namespace

/// A matrix that the program computes, whose lines lie along the depth, by one vector: sums
/// along lines, which read it once and in its order. A GEMM would want it turned, or have
/// one column of many. Of matrices of a batch likewise, unless their lines are shorter than a
/// vector by half: 100,000 of 4x4 take 1.5 times as long as the product's tiles.
static bool productOfVector(DotGeneralOp dot, const Side &lhs, const Side &rhs) {
  constexpr int64_t shortestOfBatch = 6;
  int64_t depth = knownCount(lhs.type(), lhs.contract);
  if (!lhs.batch.empty() && depth >= 0 && depth < shortestOfBatch)
    return false;
  auto isMatrix = [](const Side &side) {
    SmallVector<int64_t> order(side.batch);
    llvm::append_range(order, side.free);
    llvm::append_range(order, side.contract);
    return llvm::is_sorted(order) && !side.free.empty() && !side.contract.empty() &&
           side.isComputed();
  };
  bool isLeft = rhs.lines() == 1 && isMatrix(lhs);
  bool isRight = !isLeft && lhs.lines() == 1 && isMatrix(rhs);
  if (!lhs.type().getElementType().isF32() || !(isLeft || isRight) || !hasEqualSizes(dot))
    return false;
  const Side &matrix = isLeft ? lhs : rhs, &vector = isLeft ? rhs : lhs;
  SmallVector<SmallVector<int64_t>> groups;
  for (int64_t dim : matrix.free)
    groups.push_back({dim});
  groups.push_back(matrix.contract);
  OpBuilder b(dot);
  Value lines = matrix.arranged(b, dot.getLoc(), groups);
  // The vector of a batch is that of each of its lines.
  groups.assign(groups.size(), {});
  groups.front() = vector.free;
  groups.back() = vector.contract;
  Value vectors = vector.arranged(b, dot.getLoc(), groups);
  int64_t last = cast<RankedTensorType>(lines.getType()).getRank() - 1;
  return sumOfProducts(b, dot, lines, vectors, last);
}

/// One row by a matrix that is picked for each batch (experts' weights): sums down its columns,
/// which read the matrices where they lie. A GEMM would want them copied.
static bool productOfPicked(DotGeneralOp dot, const Side &lhs, const Side &rhs) {
  int64_t batches = lhs.batch.size();
  if (!rhs.isPicked() || lhs.lines() != 1 || rhs.contract.size() != 1 || rhs.free.size() != 1 ||
      rhs.contract[0] != batches || rhs.free[0] != batches + 1 || !hasEqualSizes(dot))
    return false;
  OpBuilder b(dot);
  Value vectors = lhs.arranged(b, dot.getLoc(), {lhs.contract, lhs.free});
  return sumOfProducts(b, dot, rhs.value, vectors, batches);
}

/// One row by one column for each batch: sums along lines. A tile would have one element.
static bool productOfLines(DotGeneralOp dot, const Side &lhs, const Side &rhs) {
  auto isLine = [](const Side &side) {
    SmallVector<int64_t> order(side.batch);
    llvm::append_range(order, side.contract);
    return side.lines() == 1 && llvm::is_sorted(order);
  };
  if (lhs.batch.empty() || !isLine(lhs) || !isLine(rhs) || !hasEqualSizes(dot))
    return false;
  OpBuilder b(dot);
  Value lines = lhs.line(b, dot.getLoc()), others = rhs.line(b, dot.getLoc());
  int64_t last = cast<RankedTensorType>(lines.getType()).getRank() - 1;
  return sumOfProducts(b, dot, lines, others, last);
}

/// Few columns by as few rows (distances of points, outer products): the result, which is all that
/// takes time, is written line by line, each element once.
static bool shallowProduct(DotGeneralOp dot, const Side &lhs, const Side &rhs) {
  constexpr int64_t deepest = 4, fewestRows = 16, fewestColumns = 64;
  int64_t depth = knownCount(lhs.type(), lhs.contract);
  auto isAtLeast = [](int64_t count, int64_t least) { return count < 0 || count >= least; };
  if (depth < 1 || depth > deepest || lhs.contract.size() != 1 || !lhs.isComputed() ||
      !rhs.isComputed() || !isAtLeast(lhs.lines(), fewestRows) ||
      !isAtLeast(rhs.lines(), fewestColumns) || !hasEqualSizes(dot))
    return false;
  OpBuilder b(dot);
  Location loc = dot.getLoc();
  Value rows = lhs.arranged(b, loc, {lhs.free, lhs.contract});
  Value columns = rhs.arranged(b, loc, {rhs.contract, rhs.free});
  int64_t batches = lhs.batch.size();
  auto part = [&](Value of, int64_t axis, int64_t i) -> Value {
    if (depth == 1)
      return of;
    Value made = SliceOp::create(b, loc, of, integers(b, loc, i), integers(b, loc, i + 1),
                                 integers(b, loc, 1), ArrayRef<int64_t>{axis}, false);
    copyDevice(dot, made);
    return made;
  };
  Value sum;
  for (int64_t i = 0; i < depth; ++i) {
    Value column = part(rows, batches + 1, i), row = part(columns, batches, i);
    Value product = MulOp::create(b, loc, column, row);
    copyDevice(dot, product);
    sum = sum ? AddOp::create(b, loc, sum, product).getResult() : product;
    copyDevice(dot, sum);
  }
  replaceProduct(dot, reshapedToResult(b, dot, sum));
  return true;
}

bool weir::elementwiseProduct(DotGeneralOp dot) {
  Type element = getElementTypeOrSelf(dot.getLhs().getType());
  if (mayBeOffloaded(dot) || !isGemmOfOneType(dot) || !(element.isF32() || element.isF64()))
    return false;
  Side lhs(dot.getLhs(), dot.getLhsBatch(), dot.getLhsContract());
  Side rhs(dot.getRhs(), dot.getRhsBatch(), dot.getRhsContract());
  return productOfLines(dot, lhs, rhs) || productOfVector(dot, lhs, rhs) ||
         productOfPicked(dot, lhs, rhs) || shallowProduct(dot, lhs, rhs);
}
