//===- FewRows.cpp - a matrix by few vectors ---------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On accelerators products read operands whichever way they lie, so that transpositions
// in front of them go. A constant matrix that few vectors are multiplied by gets its
// lines along the depth: then a few threads have a line each, wherever enough
// lines are, and sums meet among them alone. In the other order threads would
// have columns, and few columns' sums would have to meet across blocks.
//
//===----------------------------------------------------------------------===//

#include "passes/kernelize/FewRows.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"
#include "passes/Passes.h"
#include "passes/kernelize/Attention.h"
#include "passes/partition/Accelerators.h"

namespace weir {
#define GEN_PASS_DEF_WEIRALIGNLINESPASS
#include "passes/kernelize/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Elements in `dims`, -1: open.
static int64_t countOf(RankedTensorType type, ArrayRef<int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count = count < 0 || type.isDynamicDim(dim) ? -1 : count * type.getDimSize(dim);
  return count;
}

bool weir::isDenseAlong(RankedTensorType type, ArrayRef<int64_t> dims) {
  int64_t next = type.getRank();
  for (int64_t dim : llvm::reverse(dims)) {
    for (int64_t between = dim + 1; between < next; ++between)
      if (type.getDimSize(between) != 1)
        return false;
    if (dim >= next)
      return false;
    next = dim;
  }
  return true;
}

static FewRows::Side sideOf(Value tensor, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
  FewRows::Side side;
  side.tensor = tensor;
  side.batch = llvm::to_vector(batch);
  side.contract = llvm::to_vector(contract);
  for (int64_t i = 0; i < typeOf(tensor).getRank(); ++i)
    if (!llvm::is_contained(batch, i) && !llvm::is_contained(contract, i))
      side.free.push_back(i);
  side.isDense = isDenseAlong(typeOf(tensor), contract);
  return side;
}

std::optional<FewRows> weir::fewRowsOf(DotGeneralOp dot) {
  auto left = dyn_cast<RankedTensorType>(dot.getLhs().getType()),
       right = dyn_cast<RankedTensorType>(dot.getRhs().getType());
  if (!left || !right || !isa<RankedTensorType>(dot.getType()))
    return std::nullopt;
  Type element = left.getElementType(), sums = accumulatorType(dot.getAccumulator());
  if (element != right.getElementType() || !(sums.isF32() || sums.isF64()) ||
      !isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(element))
    return std::nullopt;
  FewRows found;
  found.dot = dot;
  found.depth = countOf(left, dot.getLhsContract());
  if (found.depth <= 0 || found.depth != countOf(right, dot.getRhsContract()))
    return std::nullopt;
  FewRows::Side rows = sideOf(dot.getLhs(), dot.getLhsBatch(), dot.getLhsContract()),
                columns = sideOf(dot.getRhs(), dot.getRhsBatch(), dot.getRhsContract());
  int64_t next = 0;
  for (size_t i = 0; i < rows.batch.size(); ++i, ++next) {
    rows.batchOfResult.push_back(next);
    columns.batchOfResult.push_back(next);
  }
  for (size_t i = 0; i < rows.free.size(); ++i)
    rows.ofResult.push_back(next++);
  for (size_t i = 0; i < columns.free.size(); ++i)
    columns.ofResult.push_back(next++);
  int64_t rowCount = countOf(left, rows.free), columnCount = countOf(right, columns.free);
  auto isFew = [](int64_t count) { return count > 0 && count <= FewRows::mostRows; };
  bool isTurned = isFew(columnCount) && (rowCount < 0 || rowCount > columnCount);
  if (!isTurned && !isFew(rowCount))
    return std::nullopt;
  found.few = isTurned ? columns : rows;
  found.matrix = isTurned ? rows : columns;
  found.rows = isTurned ? columnCount : rowCount;
  found.lines = isTurned ? rowCount : columnCount;
  if (found.lines == 0)
    return std::nullopt;
  return found;
}

/// Lays the lines of a constant matrix along the depth.
static void alignLines(const FewRows &found) {
  const FewRows::Side &matrix = found.matrix;
  auto constant = matrix.tensor.getDefiningOp<ConstantOp>();
  if (matrix.isDense || !constant)
    return;
  // A weight that others read as it lies would be there twice.
  for (Operation *user : constant->getUsers()) {
    auto other = dyn_cast<DotGeneralOp>(user);
    if (other && other.getLhs() == other.getRhs())
      return;
    auto also = other ? fewRowsOf(other) : std::nullopt;
    if (!also || also->matrix.tensor != matrix.tensor || also->matrix.batch != matrix.batch ||
        also->matrix.free != matrix.free || also->matrix.contract != matrix.contract)
      return;
  }
  SmallVector<int64_t> order(matrix.batch);
  llvm::append_range(order, matrix.free);
  llvm::append_range(order, matrix.contract);
  TypedAttr turned = transposedConstant(cast<TypedAttr>(constant.getValue()), order);
  if (!turned)
    return;
  OpBuilder b(constant);
  auto made = ConstantOp::create(b, constant.getLoc(), turned);
  if (Attribute device = constant->getAttr("weir.device"))
    made->setAttr("weir.device", device);
  for (Operation *user : llvm::make_early_inc_range(constant->getUsers())) {
    auto dot = cast<DotGeneralOp>(user);
    bool isRight = dot.getRhs() == constant.getResult();
    auto numbers = [&](size_t from, size_t count) {
      return b.getDenseI64ArrayAttr(llvm::to_vector(llvm::seq<int64_t>(from, from + count)));
    };
    size_t batch = matrix.batch.size(), first = batch + matrix.free.size();
    auto ofBatch = numbers(0, batch), ofDepth = numbers(first, matrix.contract.size());
    if (isRight) {
      dot.setRhsBatchAttr(ofBatch);
      dot.setRhsContractAttr(ofDepth);
    } else {
      dot.setLhsBatchAttr(ofBatch);
      dot.setLhsContractAttr(ofDepth);
    }
    dot->setOperand(isRight ? 1 : 0, made);
  }
  constant.erase();
}

/// A product reads an operand whichever way it lies: what was transposed for the host's
/// tiles is read as it was before.
static void readThrough(DotGeneralOp dot, bool isRight) {
  auto transpose = dot->getOperand(isRight ? 1 : 0).getDefiningOp<TransposeOp>();
  if (!transpose || !transpose->hasOneUse() || dot.getLhs() == dot.getRhs())
    return;
  ArrayRef<int64_t> order = transpose.getPermutation();
  auto before = [&](ArrayRef<int64_t> dims) {
    SmallVector<int64_t> mapped;
    for (int64_t dim : dims)
      mapped.push_back(order[dim]);
    return mapped;
  };
  ArrayRef<int64_t> batch = isRight ? dot.getRhsBatch() : dot.getLhsBatch(),
                    contract = isRight ? dot.getRhsContract() : dot.getLhsContract();
  // The result has free dimensions in the operand's order.
  if (!llvm::is_sorted(before(sideOf(transpose.getResult(), batch, contract).free)))
    return;
  OpBuilder b(dot);
  auto ofBatch = b.getDenseI64ArrayAttr(before(batch)),
       ofDepth = b.getDenseI64ArrayAttr(before(contract));
  if (isRight) {
    dot.setRhsBatchAttr(ofBatch);
    dot.setRhsContractAttr(ofDepth);
  } else {
    dot.setLhsBatchAttr(ofBatch);
    dot.setLhsContractAttr(ofDepth);
  }
  dot->setOperand(isRight ? 1 : 0, transpose.getOperand());
  transpose.erase();
}

namespace {
struct AlignLinesPass : weir::impl::WeirAlignLinesPassBase<AlignLinesPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal() || !isOnAccelerator(&function.getBody().front().front()))
        continue;
      SmallVector<DotGeneralOp> dots;
      llvm::DenseSet<Operation *> inside; // of attentions, which read through by themselves
      function.walk([&](DotGeneralOp dot) {
        dots.push_back(dot);
        if (std::optional<Attention> attention = attentionAt(dot))
          inside.insert(attention->operations.begin(), attention->operations.end());
      });
      for (DotGeneralOp dot : dots) {
        for (bool isRight : {false, true})
          if (!inside.contains(dot))
            readThrough(dot, isRight);
        if (std::optional<FewRows> found = fewRowsOf(dot))
          alignLines(*found);
      }
    }
  }
};
} // namespace
