//===- RecursiveReader.cpp - elements of fused operations -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/RecursiveReader.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/ShapeSupport.h"
#include "weir/weir.h"

using namespace mlir;
using namespace weir;

ElementsAttr weir::constantElements(Value tensor) {
  auto constant = tensor.getDefiningOp<ConstantOp>();
  // Strings are addresses: always read from memory.
  if (isa<StringType>(getElementTypeOrSelf(tensor.getType())))
    return {};
  return constant ? dyn_cast<ElementsAttr>(constant.getValue()) : ElementsAttr();
}

Value weir::materializeElement(OpBuilder &b, Location loc, Attribute element, Type type) {
  Type compute = computeType(type);
  if (auto complexType = dyn_cast<ComplexType>(type)) {
    auto parts = cast<ArrayAttr>(element);
    return complex::ConstantOp::create(b, loc, complexType, parts);
  }
  if (auto integer = dyn_cast<IntegerAttr>(element))
    return arith::ConstantOp::create(b, loc, IntegerAttr::get(compute, integer.getValue()));
  return arith::ConstantOp::create(b, loc, cast<TypedAttr>(element));
}

/// Element number `index` of a constant, as an attribute; complex ones as
/// pairs.
static Attribute elementAttribute(ElementsAttr elements, int64_t index) {
  Type type = elements.getElementType();
  if (auto complexType = dyn_cast<ComplexType>(type)) {
    auto values = cast<DenseElementsAttr>(elements).getValues<std::complex<APFloat>>();
    std::complex<APFloat> value = values[index];
    Type part = complexType.getElementType();
    return ArrayAttr::get(type.getContext(),
                          {FloatAttr::get(part, value.real()), FloatAttr::get(part, value.imag())});
  }
  return elements.getValues<Attribute>()[index];
}

Value RecursiveReader::element(Value tensor, ValueRange indices) {
  if (ElementsAttr constant = constantElements(tensor)) {
    Type type = constant.getElementType();
    if (constant.getNumElements() == 0)
      return shape::reductionStart(*this, type, ReduceKind::Sum); // never reached
    if (constant.isSplat())
      return materializeElement(b, loc, elementAttribute(constant, 0), type);
    int64_t linear = 0;
    bool known = true;
    for (auto [index, size] : llvm::zip(indices, constant.getShapedType().getShape())) {
      APInt value;
      known = known && matchPattern(index, m_ConstantInt(&value));
      if (known)
        linear = linear * size + value.getSExtValue();
    }
    if (known && linear >= 0 && linear < constant.getNumElements())
      return materializeElement(b, loc, elementAttribute(constant, linear), type);
    if (!isLeaf(tensor))
      return constantElement(tensor, constant, indices);
  }
  EmittedValues::Key key(&elements);
  key.add(tensor).add(indices);
  if (Value known = elements.find(key, b))
    return known;
  Value value;
  if (isLeaf(tensor)) {
    value = leafElement(tensor, indices);
  } else {
    auto result = cast<OpResult>(tensor);
    auto op = cast<ElementalOpInterface>(result.getOwner());
    Location saved = loc;
    loc = op.getLoc();
    value = op.emitElement(*this, result.getResultNumber(), indices);
    loc = saved;
  }
  elements.insert(key, value);
  return value;
}

Value RecursiveReader::dim(Value tensor, unsigned i) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (!type.isDynamicDim(i))
    return constant(type.getDimSize(i));
  if (isLeaf(tensor))
    return leafDim(tensor, i);
  static const char kinds[WEIR_MAX_RANK] = {};
  auto keyOf = [&](unsigned dimension) {
    return EmittedValues::Key(&kinds[dimension]).add(tensor);
  };
  if (Value known = emitted.find(keyOf(i), b))
    return known;
  auto result = cast<OpResult>(tensor);
  SmallVector<Value> dims;
  (void)cast<ReifyShapeOpInterface>(result.getOwner())
      .reifyShape(*this, result.getResultNumber(), dims);
  for (auto [dimension, size] : llvm::enumerate(dims))
    emitted.insert(keyOf(dimension), size);
  return dims[i];
}
