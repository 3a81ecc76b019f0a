//===- SkinnyGemm.cpp - products by few rows -------------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On offload devices products read operands whichever way they lie, so that transpositions
// in front of them go. A constant matrix that few rows are multiplied by, or one of bytes,
// gets its lines along the depth. A few threads then have a line each, wherever
// enough lines are, and sums meet among them alone. In the other order threads would have columns,
// and few columns' sums would have to meet across blocks.
//
//===----------------------------------------------------------------------===//

#include "passes/kernelize/SkinnyGemm.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Contraction.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Rearrange.h"
#include "passes/analysis/Attention.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/kernelize/Passes.h"

namespace weir {
#define GEN_PASS_DEF_WEIRGEMMOPERANDLAYOUTPASS
#include "passes/kernelize/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static SkinnyGemm::Side sideOf(Value tensor, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
  SkinnyGemm::Side side;
  side.tensor = tensor;
  side.batch = llvm::to_vector(batch);
  side.contract = llvm::to_vector(contract);
  side.free = freeDims(typeOf(tensor).getRank(), batch, contract);
  side.isDense = isDenseAlong(typeOf(tensor), contract);
  return side;
}

std::optional<SkinnyGemm> weir::skinnyGemmOf(DotGeneralOp dot, int64_t mostRows) {
  auto left = dyn_cast<RankedTensorType>(dot.getLhs().getType()),
       right = dyn_cast<RankedTensorType>(dot.getRhs().getType());
  if (!left || !right || !isa<RankedTensorType>(dot.getType()))
    return std::nullopt;
  Type element = left.getElementType(), sums = accumulatorType(dot.getAccumulator());
  if (element != right.getElementType() || !(sums.isF32() || sums.isF64()) ||
      !isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(element))
    return std::nullopt;
  SkinnyGemm found;
  found.dot = dot;
  found.depth = knownCount(left, dot.getLhsContract());
  if (found.depth <= 0 || found.depth != knownCount(right, dot.getRhsContract()))
    return std::nullopt;
  SkinnyGemm::Side rows = sideOf(dot.getLhs(), dot.getLhsBatch(), dot.getLhsContract()),
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
  int64_t rowCount = knownCount(left, rows.free), columnCount = knownCount(right, columns.free);
  auto isFew = [&](int64_t count) { return count > 0 && count <= mostRows; };
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

/// Has the product read `value`, whose dimensions are `batch`, `contract` and free ones.
static void setOperand(DotGeneralOp dot, bool isRight, Value value, ArrayRef<int64_t> batch,
                       ArrayRef<int64_t> contract) {
  if (isRight) {
    dot.setRhsBatch(batch);
    dot.setRhsContract(contract);
  } else {
    dot.setLhsBatch(batch);
    dot.setLhsContract(contract);
  }
  dot->setOperand(isRight ? 1 : 0, value);
}

/// The side of a product of bytes whose other one lies along a depth of which `bytesAtOnce`
/// divide it: matrices of bytes are not turned while they are multiplied.
static std::optional<SkinnyGemm::Side> byteMatrixOf(DotGeneralOp dot, int64_t bytesAtOnce) {
  auto isBytes = [](Value operand) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    return type && type.getElementType().isInteger() && type.getElementTypeBitWidth() == 8;
  };
  if (!isBytes(dot.getLhs()) || !isBytes(dot.getRhs()) || !dot.getAccumulator().isInteger(32))
    return std::nullopt;
  SkinnyGemm::Side left = sideOf(dot.getLhs(), dot.getLhsBatch(), dot.getLhsContract()),
                   right = sideOf(dot.getRhs(), dot.getRhsBatch(), dot.getRhsContract());
  int64_t depth = knownCount(typeOf(dot.getRhs()), right.contract);
  if (!left.isDense || depth <= 0 || depth % bytesAtOnce)
    return std::nullopt;
  return right;
}

/// The side of a product whose lines are to lie along the depth.
static std::optional<SkinnyGemm::Side> alignedSideOf(DotGeneralOp dot, const GemmLimits &limits) {
  if (std::optional<SkinnyGemm> found = skinnyGemmOf(dot, limits.mostSkinnyRows))
    return found->matrix;
  return byteMatrixOf(dot, limits.bytesAtOnce);
}

/// Lays the lines of a constant matrix along the depth.
static void alignLines(const SkinnyGemm::Side &matrix, const GemmLimits &limits) {
  auto constant = matrix.tensor.getDefiningOp<ConstantOp>();
  if (matrix.isDense || !constant)
    return;
  // A weight that others read as it lies would be there twice.
  for (Operation *user : constant->getUsers()) {
    auto other = dyn_cast<DotGeneralOp>(user);
    if (other && other.getLhs() == other.getRhs())
      return;
    auto also = other ? alignedSideOf(other, limits) : std::nullopt;
    if (!also || also->tensor != matrix.tensor || also->batch != matrix.batch ||
        also->free != matrix.free || also->contract != matrix.contract)
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
  copyDevice(constant, made.getResult());
  // Its dimensions lie in that order now.
  auto places = llvm::to_vector(llvm::seq<int64_t>(0, order.size()));
  for (Operation *user : llvm::make_early_inc_range(constant->getUsers())) {
    auto dot = cast<DotGeneralOp>(user);
    setOperand(dot, dot.getRhs() == constant.getResult(), made,
               ArrayRef(places).take_front(matrix.batch.size()),
               ArrayRef(places).take_back(matrix.contract.size()));
  }
  constant.erase();
}

/// A product reads an operand whichever way it lies: what was transposed for the host
/// is read as it was before.
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
  setOperand(dot, isRight, transpose.getOperand(), before(batch), before(contract));
  transpose.erase();
}

namespace {
struct GemmOperandLayoutPass : weir::impl::WeirGemmOperandLayoutPassBase<GemmOperandLayoutPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      const DeviceKind *kind =
          function.isExternal() ? nullptr : kindAround(&function.getBody().front().front());
      if (!kind)
        continue;
      GemmLimits limits = kind->gemmLimits();
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
        if (std::optional<SkinnyGemm::Side> side = alignedSideOf(dot, limits))
          alignLines(*side, limits);
      }
    }
  }
};
} // namespace
