//===- RaiseBlocks.cpp - weights of which blocks share a scale ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Quantizers that have no operation for blocks of weights give each row its block's number, and
// gather scales and zero points by it:
//
//   (cast(numbers) - cast(gather(zeros, 0 0 … 1 1 …))) * gather(scales, 0 0 … 1 1 …)
//
// That is dequantize_blocks, whose products read numbers, scales and zero points as they are
// stored.
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/BlockQuantized.h"
#include "dialects/weir/ConstantArray.h"
#include "dialects/weir/KnownIntegers.h"
#include "dialects/weir/Pch.h"
#include "passes/raise/Passes.h"

namespace weir {
#define GEN_PASS_DEF_WEIRRAISEBLOCKSPASS
#include "passes/raise/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

namespace {

/// What a gather gives each row of a matrix: row `k / block` of `source`.
struct Spread {
  Value source;
  int64_t block = 0; ///< 0: it is something else
};

Spread spreadOf(Value value) {
  auto gather = value.getDefiningOp<GatherOp>();
  auto type =
      gather ? dyn_cast<RankedTensorType>(gather.getOperand().getType()) : RankedTensorType();
  if (!type || type.getRank() != 2 || !type.hasStaticShape() || gather.getAxis() != 0 ||
      gather.getBatchDims() != 0)
    return {};
  auto rows = constantIntegers(gather.getIndices());
  if (!rows || rows->empty() ||
      cast<RankedTensorType>(gather.getIndices().getType()).getRank() != 1)
    return {};
  int64_t block = llvm::count(*rows, 0);
  for (auto [k, row] : llvm::enumerate(*rows))
    if (block == 0 || row != int64_t(k) / block || row >= type.getDimSize(0))
      return {};
  return {gather.getOperand(), block};
}

/// The numbers of a constant matrix of bytes, also where they are only moved; nothing else.
std::optional<ConstantArray> numbersOf(Value value, ArrayPool &pool) {
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast_if_present<ConstantOp>(op))
    return ConstantArray::read(constant.getValue(), pool);
  if (!op || !isMovementOfArrays(op) || !isEvaluatedOnArrays(op))
    return std::nullopt;
  SmallVector<ConstantArray> arrays;
  for (Value operand : dataOperands(op)) {
    auto array = numbersOf(operand, pool);
    if (!array)
      return std::nullopt;
    arrays.push_back(std::move(*array));
  }
  return evaluateArrays(
      op, llvm::map_to_vector(arrays, [](const ConstantArray &array) { return &array; }));
}

bool areWithin(const ConstantArray &array, double lowest, double highest) {
  return llvm::all_of(array.elements,
                      [&](double number) { return number >= lowest && number <= highest; });
}

/// The tensor that `value` is a cast of, if that is a matrix of i8.
Value bytesBehind(Value value) {
  auto cast = value.getDefiningOp<CastOp>();
  auto type = cast ? dyn_cast<RankedTensorType>(cast.getOperand().getType()) : RankedTensorType();
  bool isMatrix = type && type.getRank() == 2 && type.hasStaticShape() &&
                  type.getElementType().isSignlessInteger(8);
  return isMatrix ? cast.getOperand() : Value();
}

/// Weights in blocks, as a product by a scale writes them out.
struct Weights {
  Value numbers, scales, zeros; ///< `zeros` may be null
  int64_t block = 0;
};

std::optional<Weights> weightsOf(MulOp op) {
  for (bool swapped : {false, true}) {
    Value scaled = op->getOperand(swapped ? 1 : 0);
    Spread scales = spreadOf(op->getOperand(swapped ? 0 : 1)), zeros;
    if (!scales.block || scaled.getType() != op.getType())
      continue;
    if (auto sub = scaled.getDefiningOp<SubOp>()) {
      Value narrow = bytesBehind(sub.getRhs());
      zeros = narrow ? spreadOf(narrow) : Spread();
      if (zeros.block != scales.block || sub.getLhs().getType() != op.getType())
        continue;
      scaled = sub.getLhs();
    }
    if (Value numbers = bytesBehind(scaled))
      return Weights{numbers, scales.source, zeros.source, scales.block};
  }
  return std::nullopt;
}

Value matrixOf(OpBuilder &b, Location loc, ArrayRef<char> bytes, int64_t columns) {
  auto type = RankedTensorType::get({int64_t(bytes.size()) / columns, columns},
                                    b.getIntegerType(8, /*isSigned=*/false));
  return ConstantOp::create(b, loc, DenseElementsAttr::getFromRawBuffer(type, bytes));
}

/// The matrix as dequantize_blocks has it; null where something is not known.
Value raised(MulOp op, const Weights &weights) {
  ArrayPool pool;
  std::optional<ConstantArray> numbers = numbersOf(weights.numbers, pool),
                               zeros =
                                   weights.zeros ? numbersOf(weights.zeros, pool) : std::nullopt;
  if (!numbers || (weights.zeros && !zeros))
    return {};
  // What is signed there is counted from the lowest number here.
  bool isNarrow = areWithin(*numbers, -8, 7) && (!zeros || areWithin(*zeros, -8, 7));
  int64_t bits = isNarrow ? 4 : 8, each = 8 / bits;
  int shift = 1 << (bits - 1);
  auto type = cast<RankedTensorType>(op.getType());
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  SmallVector<char, 0> packed(llvm::divideCeil(rows, each) * columns, 0);
  for (int64_t k = 0; k < rows; ++k)
    for (int64_t c = 0; c < columns; ++c)
      packed[k / each * columns + c] |=
          static_cast<char>((int(numbers->elements[k * columns + c]) + shift) << (k % each * bits));
  OpBuilder b(op);
  Location loc = op.getLoc();
  Value zero;
  if (zeros) {
    SmallVector<char, 0> shifted;
    for (double value : zeros->elements)
      shifted.push_back(static_cast<char>(int(value) + shift));
    zero = matrixOf(b, loc, shifted, columns);
  } else {
    zero = ConstantOp::create(b, loc,
                              DenseElementsAttr::get(RankedTensorType::get({}, b.getF32Type()),
                                                     static_cast<float>(shift)));
  }
  return DequantizeBlocksOp::create(b, loc, type, matrixOf(b, loc, packed, columns), weights.scales,
                                    zero, bits, weights.block, rows);
}

struct RaiseBlocksPass : weir::impl::WeirRaiseBlocksPassBase<RaiseBlocksPass> {
  void runOnOperation() override {
    SmallVector<MulOp> products;
    getOperation().walk([&](MulOp op) {
      auto type = dyn_cast<RankedTensorType>(op.getType());
      bool isRead = llvm::all_of(op->getUsers(), [&](Operation *user) {
        auto dot = dyn_cast<DotGeneralOp>(user);
        return dot && dot.getLhs() != op.getResult();
      });
      if (type && type.getRank() == 2 && type.hasStaticShape() && type.getElementType().isF32() &&
          type.getNumElements() > 0 && isRead)
        products.push_back(op);
    });
    for (MulOp op : products)
      if (auto weights = weightsOf(op))
        if (Value matrix = raised(op, *weights))
          op.getResult().replaceAllUsesWith(matrix);
  }
};

} // namespace
