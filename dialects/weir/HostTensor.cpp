//===- HostTensor.cpp - small tensors as numbers --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/HostTensor.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/BlobStore.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Scaled.h"

using namespace mlir;
using namespace weir;

bool weir::isEvaluatedType(Type element) {
  if (auto floatType = dyn_cast<FloatType>(element))
    return floatType.getWidth() <= 64;
  auto integer = dyn_cast<IntegerType>(element);
  return integer && integer.getWidth() <= 64;
}

static Number fromBits(const APInt &bits, Type type) {
  Number number;
  if (auto floatType = dyn_cast<FloatType>(type)) {
    APFloat value(floatType.getFloatSemantics(), bits);
    bool lost;
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
    number.real = value.convertToDouble();
  } else if (type.isUnsignedInteger() || type.isInteger(1)) {
    number.integer = bits.getZExtValue();
  } else {
    number.integer = bits.getSExtValue();
  }
  return number;
}

static APInt toBits(const Number &number, Type type) {
  if (auto floatType = dyn_cast<FloatType>(type)) {
    APFloat value(number.real);
    bool lost;
    value.convert(floatType.getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
    return value.bitcastToAPInt();
  }
  return APInt(type.getIntOrFloatBitWidth(), number.integer, /*isSigned=*/true,
               /*implicitTrunc=*/true);
}

Number weir::inType(Number number, Type type) {
  if (auto floatType = dyn_cast<FloatType>(type)) {
    if (floatType.isF64())
      return number;
    if (floatType.isF32())
      return {0, static_cast<float>(number.real)};
    if (floatType.getWidth() < 32) // computed in f32, rounded once more
      number.real = (float)number.real;
  }
  return fromBits(toBits(number, type), type);
}

/// The numbers of `bytes`, of f32, which most constants of networks are.
static void readFloats(ArrayRef<char> bytes, std::vector<Number> &numbers) {
  for (auto [i, number] : llvm::enumerate(numbers)) {
    float value;
    std::memcpy(&value, bytes.data() + i * sizeof(value), sizeof(value));
    number.real = value;
  }
}

std::optional<ArrayRef<char>> weir::bytesInOrder(TypedAttr value, SmallVector<char, 0> &room) {
  auto bytes = sourceBytes(value);
  if (!bytes) {
    llvm::consumeError(bytes.takeError());
    return std::nullopt;
  }
  auto arranged = dyn_cast<ArrangedAttr>(value);
  SmallVector<char, 0> scaled;
  bytes = scaledBytes(rootOf(value), *bytes, arranged ? scaled : room);
  if (!bytes) {
    llvm::consumeError(bytes.takeError());
    return std::nullopt;
  }
  if (!arranged)
    return *bytes;
  llvm::consumeError(arrangeBytes(arranged, *bytes, [&](ArrayRef<char> piece) {
    llvm::append_range(room, piece);
    return llvm::Error::success();
  }));
  return ArrayRef<char>(room);
}

std::optional<HostTensor> HostTensor::read(Attribute attribute, int64_t maxElements) {
  auto typed = dyn_cast_or_null<TypedAttr>(attribute);
  auto type = typed ? dyn_cast<RankedTensorType>(typed.getType()) : RankedTensorType();
  if (!type || !type.hasStaticShape() || !isEvaluatedType(type.getElementType()) ||
      type.getNumElements() > maxElements)
    return std::nullopt;
  HostTensor tensor(type);
  Type element = type.getElementType();
  if (isa<BlobAttr, ScaledAttr, ArrangedAttr>(attribute)) {
    SmallVector<char, 0> room;
    std::optional<ArrayRef<char>> bytes = bytesInOrder(typed, room);
    unsigned width = element.getIntOrFloatBitWidth(), size = blobElementSize(element);
    if (!bytes || bytes->size() != tensor.elements.size() * size)
      return std::nullopt;
    if (element.isF32()) {
      readFloats(*bytes, tensor.elements);
      return tensor;
    }
    for (auto [i, number] : llvm::enumerate(tensor.elements)) {
      uint64_t raw = 0;
      std::memcpy(&raw, bytes->data() + i * size, size);
      if (width == 1)
        raw = raw != 0;
      number = fromBits(APInt(width, raw, false, /*implicitTrunc=*/true), element);
    }
    return tensor;
  }
  auto elements = dyn_cast<DenseElementsAttr>(attribute);
  if (!elements)
    return std::nullopt;
  if (element.isF32() && !elements.isSplat()) {
    readFloats(elements.getRawData(), tensor.elements);
  } else if (isa<FloatType>(element)) {
    for (auto [number, value] : llvm::zip(tensor.elements, elements.getValues<APFloat>()))
      number = fromBits(value.bitcastToAPInt(), element);
  } else {
    for (auto [number, value] : llvm::zip(tensor.elements, elements.getValues<APInt>()))
      number = fromBits(value, element);
  }
  return tensor;
}

DenseElementsAttr HostTensor::attribute() const {
  if (elementType().isF32()) {
    SmallVector<float> values;
    for (const Number &number : elements)
      values.push_back(static_cast<float>(number.real));
    return DenseElementsAttr::get(type, ArrayRef<float>(values));
  }
  if (auto floatType = dyn_cast<FloatType>(elementType())) {
    SmallVector<APFloat> values;
    for (const Number &number : elements)
      values.push_back(APFloat(floatType.getFloatSemantics(), toBits(number, floatType)));
    return DenseElementsAttr::get(type, values);
  }
  SmallVector<APInt> values;
  for (const Number &number : elements)
    values.push_back(toBits(number, elementType()));
  return DenseElementsAttr::get(type, values);
}
