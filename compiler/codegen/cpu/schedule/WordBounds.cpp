//===- WordBounds.cpp - how large the results of sums of bytes get --------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/schedule/WordBounds.h"
#include "compiler/codegen/cpu/VectorReader.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

static constexpr double unknown = std::numeric_limits<double>::infinity();
/// Longer constants are not looked through.
static constexpr int64_t longest = 1 << 16;

/// The largest magnitude of a constant's elements; `unknown` where one is NaN.
static double magnitudeOf(TypedAttr value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getNumElements() > longest)
    return unknown;
  DenseElementsAttr elements = materializedConstant(value);
  if (!elements)
    return unknown;
  double most = 0;
  if (elements.getElementType().isF32()) {
    for (float element : elements.getValues<float>()) {
      if (std::isnan(element))
        return unknown;
      most = std::max(most, std::abs(double(element)));
    }
    return most;
  }
  if (!elements.getElementType().isInteger(32))
    return unknown;
  for (int32_t element : elements.getValues<int32_t>())
    most = std::max(most, std::abs(double(element)));
  return most;
}

/// What no element of type `element` is beyond.
static double mostOf(Type element) {
  if (!element.isInteger(8) && !element.isUnsignedInteger(8))
    return unknown;
  return element.isUnsignedInteger() ? 255 : 128;
}

/// Products of a sum of bytes by signed ones; nothing for other operations.
static std::optional<double> productsOf(Operation *op) {
  if (!op->hasAttr(tileUnitAttribute) || !getElementTypeOrSelf(op->getResult(0)).isInteger(32))
    return std::nullopt;
  auto of = [](ArrayRef<int64_t> sizes) {
    double count = 1;
    for (int64_t size : sizes)
      count = ShapedType::isDynamic(size) ? unknown : count * size;
    return count;
  };
  if (auto conv = dyn_cast<ConvOp>(op))
    return of(cast<RankedTensorType>(conv.getFilter().getType()).getShape().drop_back());
  if (auto dot = dyn_cast<DotGeneralOp>(op))
    return of(cast<RankedTensorType>(dot.getLhs().getType()).getShape().take_back());
  return std::nullopt;
}

namespace {
/// What no element of a value of a kernel's body is beyond, but for roundings.
class Bounds {
public:
  explicit Bounds(const KernelRequest &request) : request(request) {}

  double of(Value value) {
    auto found = known.find(value);
    if (found != known.end())
      return found->second;
    return known[value] = made(value);
  }

private:
  double made(Value value) {
    constexpr double mostOfProduct = 255 * 128;
    Type element = getElementTypeOrSelf(value.getType());
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto constant = request.operands[argument.getArgNumber()].getDefiningOp<ConstantOp>();
      return constant ? magnitudeOf(cast<TypedAttr>(constant.getValue())) : mostOf(element);
    }
    Operation *op = value.getDefiningOp();
    auto operand = [&](unsigned i) { return of(op->getOperand(i)); };
    if (std::optional<double> count = productsOf(op))
      return *count * mostOfProduct;
    if (auto constant = dyn_cast<ConstantOp>(op))
      return magnitudeOf(cast<TypedAttr>(constant.getValue()));
    if (isa<CastOp>(op))
      return element.getIntOrFloatBitWidth() == 8 ? mostOf(element) : operand(0);
    if (isa<AddOp, SubOp>(op))
      return operand(0) + operand(1);
    if (isa<MulOp>(op)) {
      double product = operand(0) * operand(1);
      return std::isnan(product) ? unknown : product;
    }
    if (isa<MaximumOp, MinimumOp>(op))
      return std::max(operand(0), operand(1));
    if (isa<RoundEvenOp>(op))
      return operand(0) + 1;
    if (isa<ReluOp, ReshapeOp, TransposeOp, BroadcastToOp>(op))
      return operand(0);
    return unknown;
  }

  const KernelRequest &request;
  llvm::DenseMap<Value, double> known;
};
} // namespace

void weir::noteWords(const KernelRequest &request) {
  // Half of what a word holds: roundings are far smaller.
  constexpr double fits = 1 << 30;
  Block &body = request.body();
  Value result = body.getTerminator()->getOperand(0);
  std::optional<RoundedByte> rounded = roundedByteOf(result);
  if (rounded && Bounds(request).of(rounded->real) < fits)
    result.getDefiningOp()->setAttr(inWordsAttribute, UnitAttr::get(result.getContext()));
}
