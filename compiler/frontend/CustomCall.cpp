//===- CustomCall.cpp - calls of operations that users bring -----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/CustomCall.h"
#include "compiler/frontend/TensorBuilder.h"
#include "dialects/weir/CustomAttributes.h"
#include "dialects/weir/Pch.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace weir;

const CustomOperation *weir::findCustomOperation(const std::vector<CustomOperation> &operations,
                                                 StringRef name) {
  for (const CustomOperation &operation : operations)
    if (operation.name == name)
      return &operation;
  return nullptr;
}

static Type typeNamed(MLIRContext *context, StringRef name) {
  unsigned width;
  if (name == "bool")
    return IntegerType::get(context, 1);
  if (name == "string")
    return StringType::get(context);
  if (name == "bf16")
    return BFloat16Type::get(context);
  if (name.size() < 2 || name.drop_front().getAsInteger(10, width))
    return {};
  bool whole = width == 8 || width == 16 || width == 32 || width == 64;
  switch (name[0]) {
  case 'i':
    return whole ? IntegerType::get(context, width) : Type();
  case 'u':
    return whole ? IntegerType::get(context, width, IntegerType::Unsigned) : Type();
  case 'f':
    return width == 16   ? Type(Float16Type::get(context))
           : width == 32 ? Type(Float32Type::get(context))
           : width == 64 ? Type(Float64Type::get(context))
                         : Type();
  case 'c':
    return width == 64    ? Type(ComplexType::get(Float32Type::get(context)))
           : width == 128 ? Type(ComplexType::get(Float64Type::get(context)))
                          : Type();
  }
  return {};
}

std::string weir::customTypeName(Type type) {
  for (StringRef name : {"f16", "f32", "f64", "bf16", "i8", "i16", "i32", "i64", "u8", "u16", "u32",
                         "u64", "c64", "c128", "bool", "string"})
    if (typeNamed(type.getContext(), name) == type)
      return name.str();
  return "";
}

void CustomArguments::add(OpBuilder &b, Location loc, const CustomOperation::Attribute &attribute,
                          const CustomOperation::Constant &value) {
  if (attribute.isNumber())
    return numbers.push_back(value.integers.front());
  frontend::TensorBuilder t(b, loc);
  StringRef type = attribute.type;
  SmallVector<StringRef> texts(value.texts.begin(), value.texts.end());
  if (type == "float")
    tensors.push_back(t.scalar(b.getF32Type(), value.reals.front()));
  else if (type == "floats")
    tensors.push_back(t.floats(value.reals, b.getF32Type()));
  else if (type == "string" || type == "type")
    tensors.push_back(t.stringScalar(texts.front()));
  else if (type == "strings" || type == "types")
    tensors.push_back(t.strings(texts));
  else
    tensors.push_back(t.ints(value.integers));
}

FailureOr<SmallVector<Value>>
weir::buildCustomCall(OpBuilder &b, Location loc, const CustomOperation &operation,
                      ValueRange inputs, const CustomArguments &arguments, std::string &error) {
  SmallVector<Type> types;
  for (const CustomOperation::Output &output : operation.outputs) {
    for (int index : {output.dtypeOfInput, output.shapeOfInput})
      if (index >= (int)inputs.size()) {
        error = "its description refers to input " + std::to_string(index) + ", and the node has " +
                std::to_string(inputs.size());
        return failure();
      }
    Type element = output.dtypeOfInput >= 0
                       ? getElementTypeOrSelf(inputs[output.dtypeOfInput].getType())
                       : typeNamed(b.getContext(), output.dtype);
    if (!element) {
      error = "its description has type \"" + output.dtype + "\"";
      return failure();
    }
    if (output.shapeOfInput >= 0) {
      types.push_back(cast<TensorType>(inputs[output.shapeOfInput].getType()).clone(element));
      continue;
    }
    SmallVector<int64_t> shape;
    for (int64_t size : output.shape)
      shape.push_back(size < 0 ? ShapedType::kDynamic : size);
    types.push_back(RankedTensorType::get(shape, element));
  }
  SmallVector<Value> operands(inputs);
  llvm::append_range(operands, arguments.tensors);
  auto call = CustomCallOp::create(b, loc, types, operands, operation.function, arguments.numbers,
                                   operation.pure);
  if (!arguments.tensors.empty())
    call->setAttr(customConstantsAttr, b.getI64IntegerAttr(int64_t(arguments.tensors.size())));
  // What the operation is called in the model: sessions look functions up by it.
  call->setAttr("weir.operation", b.getStringAttr(operation.name));
  if (!operation.gradient.empty())
    call->setAttr(customGradientAttr,
                  b.getStrArrayAttr({operation.gradient, operation.gradientFunction}));
  if (operation.flopsPerElement >= 0)
    call->setAttr(customFlopsAttr, b.getF64FloatAttr(operation.flopsPerElement));
  return SmallVector<Value>(call.getResults());
}
