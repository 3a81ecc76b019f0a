//===- WeightOnly.cpp - products by weights of a few bits -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/WeightOnly.h"
#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/schedule/PackWeights.h"
#include "compiler/codegen/cpu/schedule/Strategy.h"
#include "compiler/codegen/cpu/schedule/WeightOnlyPanels.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"
#include <cmath>

using namespace mlir;
using namespace weir;
using namespace weir::plan;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

int64_t weir::weightOnlyDepth(DequantizeBlocksOp weights) {
  // Floats of a panel that stay in the second-level cache beside rows.
  constexpr int64_t mostRows = 2048;
  int64_t block = weights.getBlock(), whole = llvm::alignTo(weights.getRows(), block);
  int64_t count = llvm::divideCeil(whole, std::max(mostRows, block));
  return llvm::alignTo(llvm::divideCeil(whole, count), block);
}

int64_t weir::weightOnlyDirectRows(int64_t lanes) { return lanes >= 16 ? 8 : 2; }

int64_t weir::weightOnlyFewRows(int64_t lanes, int64_t partRows) {
  return std::min(partRows, lanes >= 16 ? int64_t(8) : int64_t(4));
}

bool weir::addsBytes(DequantizeBlocksOp weights, const VectorUnit &unit) {
  constexpr int64_t most = 256; // elements of a block, all in registers
  int64_t block = weights.getBlock();
  std::optional<float> zero = weightOnlyZero(weights);
  return weights->hasAttr(byteRowsAttribute) && unit.hasByteProducts &&
         block % std::max<int64_t>(unit.lanes(), 32 / weights.getBits()) == 0 && block <= most &&
         weights.getRows() % block == 0 && (!zero || *zero == std::floor(*zero));
}

/// The same where rows become bytes: as many as stay in the second-level cache, by several
/// panels, for which they are rounded once.
static SmallVector<int64_t> byteTiles(ScheduleBuilder &s, DotGeneralOp dot,
                                      DequantizeBlocksOp weights, const VectorUnit &unit) {
  constexpr int64_t vectors = 2, height = 6, cacheShare = 1 << 18, mostPanels = 8;
  s.set(schedule::tile, {height, vectors, unit.lanes()});
  auto type = typeOf(dot.getResult());
  if (type.getRank() > 2)
    s.set(schedule::merged, {0, type.getRank() - 1});
  int64_t rows = partShape(s[schedule::merged], type.getShape())[0];
  int64_t most =
      std::clamp<int64_t>(cacheShare / int64_t(weights.getRows()) / height, 1, partRows / height) *
      height;
  int64_t panels = llvm::divideCeil(type.getShape().back(), weightOnlyPanel);
  return {ShapedType::isDynamic(rows) ? most : std::clamp<int64_t>(rows, 1, most),
          std::min(panels, mostPanels) * weightOnlyPanel};
}

/// Sets the tile, and returns how the range is cut: rows, columns.
static SmallVector<int64_t> weightOnlyTiles(ScheduleBuilder &s, DotGeneralOp dot,
                                            const VectorUnit &unit) {
  // Rows that lie pages apart share a set of the first-level cache.
  constexpr int64_t vectors = 2, page = 4096, ways = 8, others = 4;
  int64_t lanes = unit.bytes / 4, pitch = 4 * typeOf(dot.getLhs()).getShape().back();
  int64_t height = (unit.registers - others) / vectors;
  if (pitch % page == 0)
    height = std::min(height, ways);
  s.set(schedule::tile, {height, vectors, lanes});
  auto type = typeOf(dot.getResult());
  if (type.getRank() > 2)
    s.set(schedule::merged, {0, type.getRank() - 1});
  int64_t rows = partShape(s[schedule::merged], type.getShape())[0],
          most = llvm::alignTo(partRows, height);
  return {ShapedType::isDynamic(rows) ? most : std::clamp<int64_t>(rows, 1, most), weightOnlyPanel};
}

/// Scales that halves hold as they are, in halves: numbers of 4 bits and such scales are a tenth
/// less memory. A model that was trained in them has no others, where a block's largest weight is a
/// power of two of its scale. f16 needs an instruction, which processors with AVX2 have.
static TypedAttr narrowScales(TypedAttr value, const VectorUnit &unit) {
  if (TypedAttr narrow = exactlyNarrowed(value, /*isBrain=*/true))
    return narrow;
  return unit.hasByteProducts ? exactlyNarrowed(value, /*isBrain=*/false) : TypedAttr();
}

/// Brings the constants that the kernel's dequantize_blocks reads into panels.
static void packWeightOnly(OpBuilder &b, KernelOp kernel, SmallVectorImpl<Value> &operands,
                           const VectorUnit &unit) {
  auto all = kernel.getBody().front().getOps<DequantizeBlocksOp>();
  DequantizeBlocksOp weights = *all.begin();
  auto numbers = cast<BlockArgument>(weights.getNumbers());
  packRows(b, &weights.getNumbersMutable(), numbers, operands[numbers.getArgNumber()],
           weightOnlyPanel);
  for (OpOperand *shared : {&weights.getScalesMutable(), &weights.getZerosMutable()}) {
    auto argument = dyn_cast<BlockArgument>(shared->get());
    if (!argument || !argument.hasOneUse())
      continue;
    Value &operand = operands[argument.getArgNumber()];
    auto constant = operand.getDefiningOp<ConstantOp>();
    if (!constant)
      continue;
    auto value = cast<TypedAttr>(constant.getValue());
    bool isScale = shared == &weights.getScalesMutable();
    TypedAttr narrow = isScale ? narrowScales(value, unit) : TypedAttr();
    TypedAttr packed = packedConstant(narrow ? narrow : value, weightOnlyPanel);
    if (!packed)
      continue;
    Type wide = argument.getType();
    if (narrow)
      argument.setType(narrow.getType());
    readPanels(shared, argument, packed.getType());
    if (narrow) {
      OpBuilder inside(weights);
      shared->set(
          CastOp::create(inside, weights.getLoc(), wide, shared->get(), inside.getBoolAttr(false)));
    }
    replaceConstant(b, packed, argument, operand);
  }
}

namespace {
class WeightOnly final : public KernelStrategy {
public:
  ScheduleKind kind() const override { return ScheduleKind::WeightOnly; }
  StringRef summary() const override {
    return "a matrix product by weights of a few bits, which become floats on the way";
  }

  bool matches(const KernelRequest &request) const override {
    auto dot = dyn_cast_or_null<DotGeneralOp>(request.anchor);
    return dot && isWeightOnlyProduct(dot) && isVectorEpilogue(request.kernel, dot);
  }

  std::optional<SmallVector<int64_t>> schedule(ScheduleBuilder &s,
                                               const KernelRequest &request) const override {
    auto dot = cast<DotGeneralOp>(request.anchor);
    auto weights = dot.getRhs().getDefiningOp<DequantizeBlocksOp>();
    return addsBytes(weights, request.unit) ? byteTiles(s, dot, weights, request.unit)
                                            : weightOnlyTiles(s, dot, request.unit);
  }

  Operation *packOperands(KernelRequest &request) const override {
    packWeightOnly(request.b, request.kernel, request.operands, request.unit);
    return nullptr;
  }

  LogicalResult emit(KernelBuilder &r, KernelOp kernel, Value begin, Value end) const override {
    return emitWeightOnly(r, kernel, begin, end);
  }
};
} // namespace

namespace weir {
const KernelStrategy &weightOnlyStrategy() {
  static const WeightOnly made;
  return made;
}
} // namespace weir
