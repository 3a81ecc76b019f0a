//===- ConstantEvaluator.cpp - small tensors at compile time --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/ConstantEvaluator.h"
#include "dialects/weir/Evaluate.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Training.h"
#include "dialects/weir/Weir.h"

using namespace mlir;
using namespace weir;
using namespace weir::evaluate;

std::optional<HostTensor> evaluate::reduction(Operation *op, Operands operands,
                                              RankedTensorType type) {
  auto reduce = dyn_cast<ReduceOp>(op);
  auto cumulative = dyn_cast<CumulativeOp>(op);
  if ((!reduce && !cumulative) || !operands[0])
    return std::nullopt;
  const HostTensor &source = *operands[0];
  Type element = source.elementType();
  bool isFloat = source.isFloat(), isBool = element.isInteger(1);
  if (isFloat && element.getIntOrFloatBitWidth() < 32)
    return std::nullopt;
  ReduceKind kind = reduce ? reduce.getKind() : cumulative.getKind();
  // The scalar operation, and what it starts from.
  StringRef step = mnemonicOfStep(kind);
  Number start;
  if (step == "mul")
    start = {1, 1};
  else if (step == "and")
    start = {-1, 0};
  else if (step == "maximum" || step == "minimum") {
    bool low = step == "maximum";
    unsigned width = isFloat ? 64 : element.getIntOrFloatBitWidth();
    APInt bound = source.isUnsigned()
                      ? (low ? APInt::getZero(width) : APInt::getMaxValue(width))
                      : (low ? APInt::getSignedMinValue(width) : APInt::getSignedMaxValue(width));
    start.integer = source.isUnsigned() ? (int64_t)bound.getZExtValue() : bound.getSExtValue();
    start.real = low ? -INFINITY : INFINITY;
  }
  if (isBool)
    start.integer &= 1;
  HostTensor result(type);
  if (cumulative) {
    int64_t axis = cumulative.getAxis(), size = source.shape()[axis];
    auto next = result.elements.begin();
    bool done = forEachIndex(type.getShape(), [&](Index index) {
      SmallVector<int64_t> at(index);
      int64_t count = cumulative.getReverse() ? size - 1 - index[axis] : index[axis];
      Number total = start;
      for (int64_t i = 0; i < count + !cumulative.getExclusive(); ++i) {
        at[axis] = cumulative.getReverse() ? size - 1 - i : i;
        auto sum = binary(step, total, source.elements[linear(source.shape(), at)], element);
        if (!sum)
          return false;
        total = *sum;
      }
      *next++ = total;
      return true;
    });
    return done ? std::optional(std::move(result)) : std::nullopt;
  }
  llvm::fill(result.elements, start);
  ArrayRef<int64_t> axes = reduce.getAxes();
  int64_t count = 1;
  for (int64_t axis : axes)
    count *= source.shape()[axis];
  bool done = forEachIndex(source.shape(), [&](Index index) {
    SmallVector<int64_t> own;
    for (auto [i, value] : llvm::enumerate(index)) {
      if (!llvm::is_contained(axes, (int64_t)i))
        own.push_back(value);
      else if (reduce.getKeepDims())
        own.push_back(0);
    }
    Number &total = result.elements[linear(type.getShape(), own)];
    auto sum = binary(step, total, source.elements[linear(source.shape(), index)], element);
    if (sum)
      total = *sum;
    return sum.has_value();
  });
  if (!done)
    return std::nullopt;
  if (kind == ReduceKind::Mean)
    for (Number &total : result.elements) {
      if (count == 0 && !isFloat)
        continue;
      auto mean = binary("div", total, inType({count, (double)count}, element), element);
      if (!mean)
        return std::nullopt;
      total = *mean;
    }
  return result;
}

std::optional<SmallVector<Attribute>> weir::evaluateConstants(Operation *op,
                                                              ArrayRef<Attribute> operands) {
  if (op->getNumResults() != 1 || op->getNumRegions() || isa<ConstantOp>(op) || !isPure(op))
    return std::nullopt;
  // What stands for another value has none of its own.
  if (auto gate = dyn_cast<GateOp>(op); gate && (isTrainingMark(gate) || isReplicaMark(gate)))
    return std::nullopt;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || !type.hasStaticShape() || !isEvaluatedType(type.getElementType()) ||
      type.getNumElements() > maxEvaluatedElements)
    return std::nullopt;
  // Bytes of weights stay bytes: products may multiply them as such, and what none
  // does is dequantized with its scale.
  constexpr int64_t fewBytes = 64;
  if (isa<CastOp>(op) && type.getNumElements() > fewBytes && type.getElementTypeBitWidth() > 8 &&
      getElementTypeOrSelf(op->getOperand(0).getType()).isInteger(8))
    return std::nullopt;
  // Reading weights element by element takes time: not where what is missing beside
  // them decides.
  bool isElementwise = isa<ElementwiseOpInterface>(op);
  if (isElementwise ? llvm::is_contained(operands, Attribute())
                    : !isa<ShapeOfOp, IotaOp>(op) && (operands.empty() || !operands[0]))
    return std::nullopt;
  SmallVector<std::optional<HostTensor>> tensors;
  for (Attribute operand : operands)
    tensors.push_back(HostTensor::read(operand, maxEvaluatedElements));
  std::optional<HostTensor> result = elementwise(op, tensors, type);
  if (!result)
    result = movement(op, tensors, type);
  if (!result)
    result = reduction(op, tensors, type);
  if (!result)
    return std::nullopt;
  return SmallVector<Attribute>{result->attribute()};
}

std::optional<SmallVector<int64_t>> weir::integersOf(Attribute attribute, int64_t maxElements) {
  auto tensor = HostTensor::read(attribute, maxElements);
  if (!tensor || tensor->isFloat())
    return std::nullopt;
  SmallVector<int64_t> result;
  for (const Number &number : tensor->elements)
    result.push_back(number.integer);
  return result;
}

bool weir::isSplatOf(Attribute attribute, double value) {
  auto elements = dyn_cast_or_null<DenseElementsAttr>(attribute);
  if (!elements || !elements.isSplat())
    return false;
  if (isa<FloatType>(elements.getElementType())) {
    // As bits: -0 is not 0 here.
    APFloat splat = elements.getSplatValue<APFloat>();
    bool lost;
    APFloat wanted(value);
    wanted.convert(splat.getSemantics(), APFloat::rmNearestTiesToEven, &lost);
    return splat.bitwiseIsEqual(wanted);
  }
  if (isa<IntegerType>(elements.getElementType()))
    return elements.getSplatValue<APInt>().getSExtValue() == (int64_t)value &&
           !elements.getElementType().isInteger(1);
  return false;
}
