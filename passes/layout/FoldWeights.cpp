//===- FoldWeights.cpp - rearranges constants at compile time ----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Arranged.h"
#include "dialects/weir/ConstantArray.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/PickedConstant.h"
#include "dialects/weir/Quantized.h"
#include "dialects/weir/Rearrange.h"
#include "dialects/weir/Target.h"
#include "passes/layout/ByteOperands.h"
#include "passes/layout/Passes.h"

namespace weir {
#define GEN_PASS_DEF_WEIRFOLDWEIGHTSPASS
#include "passes/layout/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

/// Rows of a constant, picked by constant indices (gates of a recurrent layer in
/// another order, say).
static TypedAttr gathered(GatherOp op, TypedAttr value) {
  auto result = dyn_cast<RankedTensorType>(op.getType());
  auto indices = constantIntegers(op.getIndices());
  if (!indices || !result || !result.hasStaticShape() || op.getBatchDims() != 0)
    return {};
  int64_t size = cast<RankedTensorType>(value.getType()).getDimSize(op.getAxis());
  for (int64_t &index : *indices) {
    if (index < 0 && op.getWrapNegative())
      index += size;
    if (index < 0 || index >= size)
      return {}; // an error when it runs
  }
  return pickedConstant(value, result, op.getAxis(), *indices);
}

/// A part of a constant along one dimension (a gate's weights, say).
static TypedAttr sliced(SliceOp op, TypedAttr value) {
  auto result = dyn_cast<RankedTensorType>(op.getType());
  auto starts = constantIntegers(op.getStarts()), steps = constantIntegers(op.getSteps());
  if (op.getAxes().size() != 1 || !starts || !steps || op.getStrict() || !result ||
      !result.hasStaticShape() || !constantIntegers(op.getEnds()))
    return {};
  int64_t axis = op.getAxes()[0], step = (*steps)[0], at = (*starts)[0];
  int64_t size = cast<RankedTensorType>(value.getType()).getDimSize(axis);
  if (step <= 0)
    return {};
  at = std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
  SmallVector<int64_t> indices;
  for (int64_t i = 0; i < result.getDimSize(axis); ++i)
    indices.push_back(at + i * step);
  return pickedConstant(value, result, axis, indices);
}

/// The constant that `op`, a transposition, reshape, broadcast, gathering or slice
/// of `value`, yields. Broadcasts grow: only those of one element are folded.
static TypedAttr rearranged(Operation *op, Attribute value) {
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || !type.hasStaticShape())
    return {};
  // Whether the indices are inside is asked of equal elements, too.
  if (auto gather = dyn_cast<GatherOp>(op))
    return gathered(gather, cast<TypedAttr>(value));
  auto slice = dyn_cast<SliceOp>(op);
  if (TypedAttr equal = ofEqualElements(value, type))
    return slice && slice.getStrict() ? TypedAttr() : equal;
  if (isa<BroadcastToOp>(op))
    return {};
  if (slice)
    return sliced(slice, cast<TypedAttr>(value));
  auto typed = cast<TypedAttr>(value);
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (isa<ReshapeOp>(op)) {
    if (dense)
      return dense.reshape(type);
    if (TypedAttr view = reshapedConstant(typed, type))
      return view;
    // No strides describe it: its bytes are brought into order first.
    DenseElementsAttr whole = materializedConstant(typed);
    return whole ? whole.reshape(type) : TypedAttr();
  }
  auto transpose = dyn_cast<TransposeOp>(op);
  if (!transpose)
    return {};
  TypedAttr view = transposedConstant(typed, transpose.getPermutation());
  // Dense elements stay dense where there are few: passes that compute with
  // constants read those. Many would be in memory twice.
  constexpr int64_t fewElements = 4096;
  return view && dense && dense.getNumElements() <= fewElements ? materializedConstant(view) : view;
}

//===----------------------------------------------------------------------===//
// Quantized models
//===----------------------------------------------------------------------===//

/// The byte and the zero point behind `value`, of f32, where that is a number.
static std::pair<Value, double> byteWithZero(Value value) {
  CentredByte found = byteBehind(value);
  std::optional<double> zero = found.zero ? numberOf(found.zero) : 0.0;
  return found && zero ? std::make_pair(found.byte, *zero) : std::pair<Value, double>();
}

/// Weights of bytes as the floats that the model computes of them: (q - zero) * scale,
/// with one scale, or one for each entry of a dimension, and as many zero points, or one.
static TypedAttr dequantized(MulOp op) {
  CentredByte found = byteBehind(op.getOperand(0));
  auto type = dyn_cast<RankedTensorType>(op.getType());
  TypedAttr source = found ? constantOf(found.byte) : TypedAttr();
  if (!source || !type || type != op.getOperand(0).getType() ||
      type.getShape() != cast<RankedTensorType>(found.byte.getType()).getShape())
    return {};
  std::optional<SmallVector<int64_t>> zeros = knownZeros(found.zero);
  if (!zeros)
    return {};
  if (zeros->size() > 1 && llvm::all_equal(*zeros))
    zeros->truncate(1);
  TypedAttr scaleSource = constantOf(op.getOperand(1));
  DenseElementsAttr bytes = materializedConstant(source);
  DenseElementsAttr scales = scaleSource ? materializedConstant(scaleSource) : DenseElementsAttr();
  if (!bytes || !scales || bytes.isSplat() || !scales.getElementType().isF32())
    return {};
  // Elements that share a scale follow each other `inner` at a time.
  auto scaleType = cast<RankedTensorType>(scales.getType());
  int64_t count = scaleType.getNumElements(), inner = 1,
          missing = type.getRank() - scaleType.getRank();
  for (int64_t i = type.getRank() - 1; i >= 0; --i) {
    int64_t own = i < missing ? 1 : scaleType.getDimSize(i - missing);
    if (own != 1 && (own != count || own != type.getDimSize(i)))
      return {};
    if (own != 1)
      break;
    inner *= type.getDimSize(i);
  }
  // Zero points that differ are as many as the scales, for the same entries.
  if (zeros->size() != 1 &&
      cast<RankedTensorType>(found.zero.getType()).getShape() != scaleType.getShape())
    return {};
  SmallVector<float> factors(scales.getValues<float>());
  bool isSigned = !getElementTypeOrSelf(found.byte.getType()).isUnsignedInteger();
  ArrayRef<char> raw = bytes.getRawData();
  std::vector<float> made(raw.size());
  for (size_t i = 0; i < raw.size(); ++i) {
    int value = isSigned ? static_cast<signed char>(raw[i]) : static_cast<unsigned char>(raw[i]);
    int64_t entry = i / inner % count;
    int zero = static_cast<int>((*zeros)[zeros->size() == 1 ? 0 : entry]);
    made[i] = static_cast<float>(value - zero) * factors[entry];
  }
  return DenseElementsAttr::get(type, ArrayRef<float>(made));
}

/// Whether every element is a whole number from `lowest` to `highest`, or NaN: rounded,
/// perhaps shifted by a whole number, then clamped.
static bool isWholeWithin(Value value, double lowest, double highest) {
  auto bounded = value.getDefiningOp<MinimumOp>();
  auto raised = bounded ? bounded.getOperand(0).getDefiningOp<MaximumOp>() : MaximumOp();
  if (!raised)
    return false;
  auto high = numberOf(bounded.getOperand(1)), low = numberOf(raised.getOperand(1));
  auto isWhole = [](double number) { return number == std::nearbyint(number); };
  if (!high || !low || *high > highest || *low < lowest || !isWhole(*high) || !isWhole(*low))
    return false;
  Value inner = raised.getOperand(0);
  if (auto shifted = inner.getDefiningOp<AddOp>()) {
    auto shift = numberOf(shifted.getOperand(1));
    if (!shift || !isWhole(*shift))
      return false;
    inner = shifted.getOperand(0);
  }
  return static_cast<bool>(inner.getDefiningOp<RoundEvenOp>());
}

/// A value that was quantized to bytes and is dequantized at once: rounded and clamped,
/// it fits them, and is read as the float that it was. (What NaN becomes in a byte no
/// format says.) Null where it is none.
static Value withoutByte(CastOp toFloat) {
  auto [byte, zero] = byteWithZero(toFloat.getResult());
  auto quantize = byte ? byte.getDefiningOp<CastOp>() : CastOp();
  if (!quantize || quantize.getOperand().getType() != toFloat.getType())
    return {};
  // Where something else reads the byte, it is stored, and smaller than the float.
  if (quantize->hasAttr(storedAttribute) ||
      !llvm::all_of(byte.getUsers(), [](Operation *user) { return isa<CastOp>(user); }))
    return {};
  bool isSigned = !getElementTypeOrSelf(byte.getType()).isUnsignedInteger();
  double lowest = isSigned ? -128 : 0;
  if (!isWholeWithin(quantize.getOperand(), lowest, lowest + 255))
    return {};
  if (zero == 0 && !isSigned)
    return quantize.getOperand();
  // Adding gives zero the sign that an integer's has.
  OpBuilder b(toFloat);
  auto type = RankedTensorType::get({}, b.getF32Type());
  Value shift = ConstantOp::create(b, toFloat.getLoc(),
                                   DenseElementsAttr::get(type, static_cast<float>(0 - zero)));
  auto made = AddOp::create(b, toFloat.getLoc(), quantize.getOperand(), shift);
  if (Attribute device = toFloat->getAttr("weir.device"))
    made->setAttr("weir.device", device);
  return made;
}

/// Weights of f16 or bf16 that a model widens to f32 for products alone, as f32 whose bytes stay
/// narrow until they are written; null: it is none. Where devices may be offloaded to, their
/// memory holds what the model has.
static TypedAttr widenedWeights(CastOp toFloat) {
  auto constant = toFloat.getOperand().getDefiningOp<ConstantOp>();
  bool isForProducts = llvm::all_of(toFloat->getUsers(), [](Operation *user) {
    return isa<DotGeneralOp, ConvOp, TransposeOp, ReshapeOp>(user);
  });
  return constant && isForProducts && getElementTypeOrSelf(toFloat.getType()).isF32() &&
                 !mayBeOffloaded(toFloat)
             ? widenedConstant(cast<TypedAttr>(constant.getValue()))
             : TypedAttr();
}

/// The sums of a constant of f32, each rounded once; null: it is none. A model that sums its
/// weights does so in every run else.
static TypedAttr summedConstant(ReduceOp reduce) {
  auto constant = reduce.getOperand().getDefiningOp<ConstantOp>();
  auto type = dyn_cast<RankedTensorType>(reduce.getOperand().getType());
  auto result = dyn_cast<RankedTensorType>(reduce.getType());
  constexpr int64_t mostElements = 1 << 26;
  if (!constant || reduce.getKind() != ReduceKind::Sum || !type || !type.hasStaticShape() ||
      !result || !result.hasStaticShape() || !type.getElementType().isF32() ||
      type.getNumElements() > mostElements)
    return {};
  ArrayPool pool;
  auto array = ConstantArray::read(constant.getValue(), pool);
  return array ? reducedArray(*array, "sum", reduce.getAxes(), result).attribute() : TypedAttr();
}

namespace {
struct FoldWeightsPass : weir::impl::WeirFoldWeightsPassBase<FoldWeightsPass> {
  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      if (auto toFloat = dyn_cast<CastOp>(op))
        if (Value whole = withoutByte(toFloat)) {
          toFloat.replaceAllUsesWith(whole);
          return;
        }
      if (auto toFloat = dyn_cast<CastOp>(op))
        if (TypedAttr weights = widenedWeights(toFloat)) {
          OpBuilder b(op);
          Value made = ConstantOp::create(b, op->getLoc(), weights);
          copyDevice(toFloat.getOperand().getDefiningOp(), made);
          toFloat.replaceAllUsesWith(made);
          return;
        }
      if (auto mul = dyn_cast<MulOp>(op))
        if (TypedAttr weights = dequantized(mul)) {
          OpBuilder b(op);
          mul.replaceAllUsesWith(ConstantOp::create(b, op->getLoc(), weights).getResult());
          return;
        }
      if (auto reduce = dyn_cast<ReduceOp>(op))
        if (TypedAttr sums = summedConstant(reduce)) {
          OpBuilder b(op);
          reduce.replaceAllUsesWith(ConstantOp::create(b, op->getLoc(), sums).getResult());
          reduce.erase();
          return;
        }
      if (!op->hasTrait<traits::SelectsElements>())
        return;
      auto constant = op->getOperand(0).getDefiningOp<ConstantOp>();
      if (!constant)
        return;
      TypedAttr value = rearranged(op, constant.getValue());
      if (!value)
        return;
      OpBuilder b(op);
      auto made = ConstantOp::create(b, constant.getLoc(), value);
      op->getResult(0).replaceAllUsesWith(made);
      op->erase();
      if (constant->use_empty())
        constant.erase();
    });
    // What led to a byte and back must not count as a use.
    SmallVector<Operation *> casts;
    getOperation().walk([&](Operation *op) {
      if (isa<CastOp, SubOp, MulOp>(op))
        casts.push_back(op);
    });
    for (Operation *op : llvm::reverse(casts))
      if (isOpTriviallyDead(op))
        op->erase();
  }
};
} // namespace
