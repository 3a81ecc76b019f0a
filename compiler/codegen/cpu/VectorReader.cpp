//===- VectorReader.cpp - elementwise operations on vectors ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/VectorReader.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/PickedLines.h"
#include "dialects/weir/Quantized.h"
#include "dialects/weir/ScalarBuilder.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weir;

Value VectorReader::broadcast(Value scalar) {
  if (isa<VectorType>(scalar.getType()))
    return scalar;
  return vector::BroadcastOp::create(b, loc, VectorType::get({lanes}, scalar.getType()), scalar);
}

Value VectorReader::load(Value pointer, Type element, Value linear) {
  Value where = BufferAccess::address(scalars, pointer, element, linear);
  auto type = VectorType::get({lanes}, BufferAccess::storageType(element));
  unsigned alignment = element.getIntOrFloatBitWidth() / 8;
  if (!laneMask)
    return LLVM::LoadOp::create(b, loc, type, where, alignment);
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  return LLVM::MaskedLoadOp::create(b, loc, type, where, laneMask, zero,
                                    b.getI32IntegerAttr(alignment), UnitAttr());
}

Value VectorReader::loadElements(Value pointer, Type element, Value linear) {
  Value value = load(pointer, BufferAccess::storageType(element), linear);
  if (!element.isInteger(1))
    return value;
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(value.getType()));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value, zero);
}

void VectorReader::store(Value value, Value pointer, Type element, Value linear) {
  Value where = BufferAccess::address(scalars, pointer, element, linear);
  unsigned alignment = element.getIntOrFloatBitWidth() / 8;
  if (laneMask)
    LLVM::MaskedStoreOp::create(b, loc, value, where, laneMask, b.getI32IntegerAttr(alignment));
  else
    LLVM::StoreOp::create(b, loc, value, where, alignment);
}

void VectorReader::stream(Value value, Value pointer, Type element, Value linear) {
  Value where = BufferAccess::address(scalars, pointer, element, linear);
  unsigned bytes = lanes * element.getIntOrFloatBitWidth() / 8;
  LLVM::StoreOp::create(b, loc, value, where, /*alignment=*/bytes, /*isVolatile=*/false,
                        /*isNonTemporal=*/true);
}

std::optional<RoundedByte> weir::roundedByteOf(Value tensor) {
  auto quantize = tensor.getDefiningOp<CastOp>();
  Type to = getElementTypeOrSelf(tensor.getType());
  if (!quantize || !quantize.getSaturate() || !isa<IntegerType>(to) ||
      to.getIntOrFloatBitWidth() != 8)
    return std::nullopt;
  Value whole = quantize.getOperand();
  std::optional<double> zero = 0.0;
  if (auto shifted = whole.getDefiningOp<AddOp>()) {
    zero = numberOf(shifted.getOperand(1));
    whole = shifted.getOperand(0);
  }
  auto rounded = whole.getDefiningOp<RoundEvenOp>();
  if (!rounded || !getElementTypeOrSelf(whole.getType()).isF32() || !zero || !(*zero >= -128) ||
      *zero > 255 || *zero != std::trunc(*zero))
    return std::nullopt;
  return RoundedByte{rounded.getOperand(), static_cast<int64_t>(*zero), to.isUnsignedInteger(),
                     quantize->hasAttr(inWordsAttribute)};
}

std::optional<RoundedReal> weir::roundedRealOf(Value tensor) {
  constexpr double most = 1 << 16;
  std::optional<double> shift = 0.0, zero = 0.0;
  auto whole = [&](Value value) -> std::optional<double> {
    std::optional<double> number = numberOf(value);
    return number && std::abs(*number) <= most && *number == std::trunc(*number) ? number
                                                                                 : std::nullopt;
  };
  if (auto shifted = tensor.getDefiningOp<AddOp>()) {
    shift = whole(shifted.getOperand(1));
    tensor = shifted.getOperand(0);
  }
  auto high = tensor.getDefiningOp<MinimumOp>();
  auto low = high ? high.getOperand(0).getDefiningOp<MaximumOp>() : MaximumOp();
  if (!low || !shift || !getElementTypeOrSelf(tensor.getType()).isF32())
    return std::nullopt;
  std::optional<double> highest = whole(high.getOperand(1)), lowest = whole(low.getOperand(1));
  Value inside = low.getOperand(0);
  if (auto moved = inside.getDefiningOp<AddOp>()) {
    zero = whole(moved.getOperand(1));
    inside = moved.getOperand(0);
  }
  auto rounded = inside.getDefiningOp<RoundEvenOp>();
  if (!rounded || !highest || !lowest || !zero)
    return std::nullopt;
  return RoundedReal{rounded.getOperand(), static_cast<int64_t>(*lowest - *zero),
                     static_cast<int64_t>(*highest - *zero), static_cast<int64_t>(*zero + *shift)};
}

Value VectorReader::bounded(Value value, double lowest, double highest) {
  auto choose = [&](arith::CmpFPredicate inside, double bound) {
    auto type = cast<VectorType>(value.getType());
    Value limit =
        arith::ConstantOp::create(b, loc, SplatElementsAttr::get(type, b.getF32FloatAttr(bound)));
    Value keeps = arith::CmpFOp::create(b, loc, inside, value, limit);
    value = arith::SelectOp::create(b, loc, keeps, value, limit);
  };
  choose(arith::CmpFPredicate::OGT, lowest);
  choose(arith::CmpFPredicate::OLT, highest);
  return value;
}

Value VectorReader::nearest(Value value) {
  auto words = VectorType::get({lanes}, b.getI32Type());
  return LLVM::CallIntrinsicOp::create(b, loc, words, b.getStringAttr("llvm.lrint"), value)
      ->getResult(0);
}

Value VectorReader::roundedReal(const RoundedReal &rounded, ValueRange indices) {
  auto words = VectorType::get({lanes}, b.getI32Type());
  Value word =
      nearest(bounded(broadcast(element(rounded.real, indices)), rounded.lowest, rounded.highest));
  if (rounded.shift != 0)
    word = arith::AddIOp::create(
        b, loc, word,
        arith::ConstantOp::create(
            b, loc, SplatElementsAttr::get(words, b.getI32IntegerAttr(rounded.shift))));
  return arith::SIToFPOp::create(b, loc, VectorType::get({lanes}, b.getF32Type()), word);
}

/// A sum of a product and something as one operation, rounded once.
static Value withoutRounding(OpBuilder &b, Location loc, Value sum) {
  auto add = sum.getDefiningOp<arith::AddFOp>();
  auto product = add ? add.getLhs().getDefiningOp<arith::MulFOp>() : arith::MulFOp();
  if (!product || !getElementTypeOrSelf(sum.getType()).isF32())
    return sum;
  return math::FmaOp::create(b, loc, product.getLhs(), product.getRhs(), add.getRhs());
}

/// Floats clamped and cut to bytes, by comparisons that vectors have an instruction
/// for; NaN becomes the lowest.
Value VectorReader::byteOf(Value value, bool isUnsigned, std::optional<RoundedByte> rounded) {
  // Bounds are whole numbers: what is clamped first rounds to the same.
  double zero = rounded ? rounded->zero : 0, lowest = (isUnsigned ? 0 : -128) - zero;
  value = bounded(value, lowest, lowest + 255);
  auto words = VectorType::get({lanes}, b.getI32Type());
  Value word;
  if (!rounded) {
    word = arith::FPToSIOp::create(b, loc, words, value);
  } else {
    word = nearest(value);
    if (rounded->zero != 0)
      word = arith::AddIOp::create(
          b, loc, word,
          arith::ConstantOp::create(
              b, loc, SplatElementsAttr::get(words, b.getI32IntegerAttr(rounded->zero))));
  }
  return arith::TruncIOp::create(b, loc, VectorType::get({lanes}, b.getI8Type()), word);
}

Value VectorReader::element(Value tensor, ValueRange indices) {
  if (tensor == anchor)
    return anchorVector;
  if (Value picked = pickedElements(tensor, indices))
    return picked;
  if (sharesSingles && tensor.getDefiningOp() && !indices.empty() && indices.back() != firstLane &&
      cast<RankedTensorType>(tensor.getType()).getShape().back() == 1) {
    scalars.loc = loc;
    return broadcast(scalars.element(tensor, indices));
  }
  if (std::optional<RoundedReal> rounded = isOfWords ? roundedRealOf(tensor) : std::nullopt)
    return roundedReal(*rounded, indices);
  if (std::optional<RoundedByte> rounded = roundedByteOf(tensor))
    return byteOf(broadcast(element(rounded->real, indices)), rounded->isUnsigned, rounded);
  if (auto conversion = tensor.getDefiningOp<CastOp>()) {
    Value value = element(conversion.getOperand(), indices);
    Type to = getElementTypeOrSelf(tensor.getType());
    if (conversion.getSaturate() && to.getIntOrFloatBitWidth() == 8 &&
        getElementTypeOrSelf(value.getType()).isF32())
      return byteOf(broadcast(value), to.isUnsignedInteger());
    ScalarBuilder s(*this, conversion, computeType(to));
    return broadcast(conversion.emitScalar(s, value));
  }
  if (auto iota = tensor.getDefiningOp<IotaOp>(); iota && !indices.empty()) {
    // Where sizes are open, broadcasts choose when the program runs between the lanes
    // and one position for all of them.
    auto along = [&](auto &along, Value index) -> Value {
      if (index == firstLane)
        return positions(iota.getElementType());
      auto choice = index.getDefiningOp<arith::SelectOp>();
      if (!choice)
        return {};
      Value one = along(along, choice.getTrueValue()), other = along(along, choice.getFalseValue());
      if (!one && !other)
        return {};
      auto all = [&](Value lanes, Value single) {
        SmallVector<Value> own(indices);
        own[iota.getAxis()] = single;
        return lanes ? lanes : broadcast(iota.emitElement(*this, 0, own));
      };
      return arith::SelectOp::create(b, loc, choice.getCondition(), all(one, choice.getTrueValue()),
                                     all(other, choice.getFalseValue()));
    };
    if (Value lanes = along(along, indices[iota.getAxis()]))
      return lanes;
  }
  Value made = broadcast(RecursiveReader::element(tensor, indices));
  return isOfWords && tensor.getDefiningOp<AddOp>() ? withoutRounding(b, loc, made) : made;
}

Value VectorReader::pickedElements(Value tensor, ValueRange indices) {
  Operation *op = tensor.getDefiningOp();
  if (!picksLines(op) || !firstLane)
    return {};
  int64_t length = cast<RankedTensorType>(tensor.getType()).getShape().back();
  if (indices.back() != firstLane && !ShapedType::isDynamic(length))
    return {};
  // Of open lines, reading what they are picked from finds out whether they are stretched.
  SmallVector<Value> along(indices);
  along.back() = firstLane;
  // The line is found once for all lanes.
  scalars.loc = op->getLoc();
  PickedPlace picked = pickedPlace(scalars, op, along);
  if (!picked.isThere)
    return broadcast(element(op->getOperand(0), picked.at));
  return emitIf(
      *this, picked.isThere, [&] { return broadcast(element(op->getOperand(0), picked.at)); },
      [&]() -> Value {
        auto type = VectorType::get({lanes}, computeType(getElementTypeOrSelf(tensor.getType())));
        return arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
      });
}

Value VectorReader::positions(Type element) {
  Value steps = vector::StepOp::create(b, loc, VectorType::get({lanes}, b.getIndexType()));
  Value from = vector::BroadcastOp::create(b, loc, steps.getType(), firstLane);
  Value index = arith::AddIOp::create(b, loc, from, steps);
  Type compute = computeType(element);
  Type type = VectorType::get({lanes}, isa<FloatType>(compute) ? b.getI64Type() : compute);
  Value number = arith::IndexCastOp::create(b, loc, type, index);
  return type == VectorType::get({lanes}, compute)
             ? number
             : arith::SIToFPOp::create(b, loc, VectorType::get({lanes}, compute), number);
}

Value VectorReader::leafElement(Value tensor, ValueRange indices) {
  const KernelBuilder::Buffer &buffer = scalars.bufferOf(tensor);
  Type element = buffer.type.getElementType();
  scalars.loc = loc;
  auto read = [&](ValueRange indices) {
    Value linear = scalars.linearIndex(buffer, indices);
    return indices.back() == firstLane
               ? loadElements(buffer.pointer, element, linear)
               : broadcast(BufferAccess::load(scalars, buffer.pointer, element, linear));
  };
  if (indices.empty())
    return BufferAccess::load(scalars, buffer.pointer, element, scalars.constant(0));
  if (!buffer.type.isDynamicDim(buffer.type.getRank() - 1) || !firstLane)
    return read(indices);
  // Whether there is an element a lane, or one for all, shows when the program runs.
  SmallVector<Value> first(indices), own(indices);
  first.back() = scalars.constant(0);
  own.back() = firstLane;
  return emitIf(
      *this, scalars.equal(buffer.dims.back(), scalars.constant(1)), [&] { return read(first); },
      [&] { return read(own); });
}

Value VectorReader::constantElement(Value tensor, ElementsAttr value, ValueRange indices) {
  llvm_unreachable("epilogues have no constants but splats: isVectorEpilogue");
}
