//===- ConstantArray.cpp - large constants as numbers ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/ConstantArray.h"
#include "dialects/weir/ArrayWalk.h"
#include "dialects/weir/Halves.h"
#include "dialects/weir/HostTensor.h"
#include "dialects/weir/Pch.h"
#include <cmath>

using namespace mlir;
using namespace weir;
using namespace weir::arrays;

//===----------------------------------------------------------------------===//
// Walks
//===----------------------------------------------------------------------===//

Strides arrays::rowMajor(Sizes shape) {
  Strides strides(shape.size(), 1);
  for (int64_t i = static_cast<int64_t>(shape.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

Strides arrays::spread(Sizes shape, Sizes resultShape) {
  Strides own = rowMajor(shape), strides(resultShape.size() - shape.size(), 0);
  for (auto [size, stride] : llvm::zip_equal(shape, own))
    strides.push_back(size == 1 ? 0 : stride);
  return strides;
}

Walk::Walk(Sizes shape, ArrayRef<Strides> strides) : steps(strides.size()) {
  isEmpty = llvm::is_contained(shape, 0);
  for (auto [i, size] : llvm::enumerate(shape)) {
    if (size == 1)
      continue;
    bool joins = !sizes.empty() && llvm::all_of(llvm::zip_equal(steps, strides), [&](auto pair) {
      auto &[before, next] = pair;
      return before.back() == next[i] * size;
    });
    if (joins)
      sizes.back() *= size;
    else
      sizes.push_back(size);
    for (auto [own, next] : llvm::zip_equal(steps, strides)) {
      if (joins)
        own.back() = next[i];
      else
        own.push_back(next[i]);
    }
  }
  if (sizes.empty()) {
    sizes.push_back(1);
    for (Strides &own : steps)
      own.push_back(0);
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

std::vector<double> ArrayPool::take(size_t count) {
  std::vector<double> elements;
  {
    std::lock_guard<std::mutex> lock(mutex);
    // The smallest that is large enough, or the largest, which grows.
    auto best = free.end();
    for (auto each = free.begin(); each != free.end(); ++each) {
      bool isEnough = each->capacity() >= count;
      if (best == free.end() ||
          (best->capacity() >= count ? isEnough && each->capacity() < best->capacity()
                                     : each->capacity() > best->capacity()))
        best = each;
    }
    if (best != free.end()) {
      elements = std::move(*best);
      free.erase(best);
    }
  }
  if (elements.capacity() < count)
    elements.clear(); // nothing is copied as it grows
  elements.resize(count);
  return elements;
}

void ArrayPool::give(std::vector<double> elements) {
  std::lock_guard<std::mutex> lock(mutex);
  free.push_back(std::move(elements));
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

/// The numbers that `bytes` hold as `T`, each made a double by `number`.
template <typename T, typename Make>
static void readAs(ArrayRef<char> bytes, std::vector<double> &numbers, Make number) {
  // A blob lies anywhere in its file: elements are not aligned.
  const char *from = bytes.data();
  for (size_t i = 0; i < numbers.size(); ++i) {
    T raw;
    std::memcpy(&raw, from + i * sizeof(T), sizeof(T));
    numbers[i] = number(raw);
  }
}

template <typename Signed, typename Unsigned>
static void readIntegers(ArrayRef<char> bytes, std::vector<double> &numbers, bool isUnsigned) {
  auto asDouble = [](auto raw) { return static_cast<double>(raw); };
  if (isUnsigned)
    readAs<Unsigned>(bytes, numbers, asDouble);
  else
    readAs<Signed>(bytes, numbers, asDouble);
}

/// False: `element` is no type of this evaluator.
static bool readNumbers(ArrayRef<char> bytes, Type element, std::vector<double> &numbers) {
  auto asDouble = [](auto raw) { return static_cast<double>(raw); };
  if (element.isF32()) {
    readAs<float>(bytes, numbers, asDouble);
  } else if (element.isF64()) {
    readAs<double>(bytes, numbers, asDouble);
  } else if (element.isF16()) {
    readAs<uint16_t>(bytes, numbers,
                     [](uint16_t raw) { return llvm::bit_cast<float>(floatFromHalf(raw)); });
  } else if (element.isBF16()) {
    readAs<uint16_t>(bytes, numbers,
                     [](uint16_t raw) { return llvm::bit_cast<float>(floatFromBrain(raw)); });
  } else {
    bool isUnsigned = element.isUnsignedInteger();
    switch (element.getIntOrFloatBitWidth()) {
    case 1:
      readAs<uint8_t>(bytes, numbers, [](uint8_t raw) { return raw ? 1.0 : 0.0; });
      return true;
    case 8:
      readIntegers<int8_t, uint8_t>(bytes, numbers, isUnsigned);
      return true;
    case 16:
      readIntegers<int16_t, uint16_t>(bytes, numbers, isUnsigned);
      return true;
    case 32:
      readIntegers<int32_t, uint32_t>(bytes, numbers, isUnsigned);
      return true;
    case 64:
      readIntegers<int64_t, uint64_t>(bytes, numbers, isUnsigned);
      // Beyond, neighbours are one double.
      return llvm::all_of(numbers, [](double number) { return std::fabs(number) < 0x1p53; });
    default:
      return false;
    }
  }
  return true;
}

bool weir::isArrayType(Type element) {
  if (isa<FloatType>(element))
    return isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(element);
  auto integer = dyn_cast<IntegerType>(element);
  return integer && llvm::is_contained({1u, 8u, 16u, 32u, 64u}, integer.getWidth());
}

IntegerRange::IntegerRange(Type type) {
  unsigned width = std::min(type.getIntOrFloatBitWidth(), 53u);
  bool isUnsigned = type.isUnsignedInteger() || width == 1;
  lowest = isUnsigned ? 0 : -std::ldexp(1.0, width - 1);
  end = std::ldexp(1.0, isUnsigned ? width : width - 1);
}

std::optional<ConstantArray> ConstantArray::read(Attribute attribute, ArrayPool &pool) {
  auto typed = dyn_cast_or_null<TypedAttr>(attribute);
  auto type = typed ? dyn_cast<RankedTensorType>(typed.getType()) : RankedTensorType();
  if (!type || !type.hasStaticShape() || !isArrayType(type.getElementType()) ||
      !isa<DenseElementsAttr, BlobAttr, ScaledAttr, ArrangedAttr>(attribute))
    return std::nullopt;
  if (type.getNumElements() == 0)
    return ConstantArray(type, pool);
  auto dense = dyn_cast<DenseElementsAttr>(attribute);
  // Elements that are equal, and booleans, have a form of their own.
  if (dense && (dense.isSplat() || type.getElementType().isInteger(1))) {
    auto few = HostTensor::read(
        dense.isSplat() ? DenseElementsAttr::get(RankedTensorType::get({}, type.getElementType()),
                                                 dense.getSplatValue<Attribute>())
                        : attribute,
        type.getNumElements());
    if (!few)
      return std::nullopt;
    ConstantArray array(type, pool);
    for (auto [i, number] : llvm::enumerate(array.elements)) {
      const Number &from = few->elements[dense.isSplat() ? 0 : i];
      number = few->isFloat()      ? from.real
               : few->isUnsigned() ? static_cast<double>(static_cast<uint64_t>(from.integer))
                                   : static_cast<double>(from.integer);
    }
    bool isHeld = few->isFloat() || llvm::all_of(array.elements, [](double number) {
                    return std::fabs(number) < 0x1p53;
                  });
    return isHeld ? std::optional(std::move(array)) : std::nullopt;
  }
  SmallVector<char, 0> room;
  std::optional<ArrayRef<char>> bytes = bytesInOrder(typed, room);
  ConstantArray array(type, pool);
  size_t elementSize = (type.getElementTypeBitWidth() + 7) / 8;
  if (!bytes || bytes->size() != array.elements.size() * elementSize ||
      !readNumbers(*bytes, type.getElementType(), array.elements))
    return std::nullopt;
  return array;
}

template <typename T, typename Make>
static DenseElementsAttr writtenAs(const ConstantArray &array, Make make) {
  SmallVector<char, 0> bytes;
  bytes.resize_for_overwrite(array.elements.size() * sizeof(T));
  char *to = bytes.data();
  for (size_t i = 0; i < array.elements.size(); ++i) {
    T raw = make(array.elements[i]);
    std::memcpy(to + i * sizeof(T), &raw, sizeof(T));
  }
  return DenseElementsAttr::getFromRawBuffer(array.type, bytes);
}

DenseElementsAttr ConstantArray::attribute() const {
  Type element = elementType();
  if (element.isF32())
    return writtenAs<float>(*this, [](double number) { return static_cast<float>(number); });
  if (element.isF64())
    return writtenAs<double>(*this, [](double number) { return number; });
  auto bits = [](double number) { return llvm::bit_cast<uint32_t>(static_cast<float>(number)); };
  if (element.isF16())
    return writtenAs<uint16_t>(*this, [&](double number) { return halfFromFloat(bits(number)); });
  if (element.isBF16())
    return writtenAs<uint16_t>(*this, [&](double number) { return brainFromFloat(bits(number)); });
  IntegerRange range(element);
  if (!llvm::all_of(elements, [&](double number) { return range.holds(number); }))
    return {};
  auto integer = [](double number) { return static_cast<int64_t>(number); };
  switch (element.getIntOrFloatBitWidth()) {
  case 1: {
    SmallVector<bool> values;
    for (double number : elements)
      values.push_back(number != 0);
    return DenseElementsAttr::get(type, ArrayRef<bool>(values));
  }
  case 8:
    return writtenAs<uint8_t>(*this, integer);
  case 16:
    return writtenAs<uint16_t>(*this, integer);
  case 32:
    return writtenAs<uint32_t>(*this, integer);
  default:
    return writtenAs<uint64_t>(*this, [](double number) {
      return number < 0 ? static_cast<uint64_t>(static_cast<int64_t>(number))
                        : static_cast<uint64_t>(number);
    });
  }
}
