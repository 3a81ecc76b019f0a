//===- UsualShapes.cpp - open tensors at usual sizes ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/UsualShapes.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Weir.h"

using namespace mlir;
using namespace weir;

int64_t weir::usualSize(int64_t dim, std::optional<int64_t> upper) {
  constexpr int64_t usualSide = 224;
  int64_t size = dim ? usualSide : 1;
  return upper && *upper >= 0 ? std::min(size, *upper) : size;
}

UsualShapes::UsualShapes(func::FuncOp function, SymbolTable &symbols) : symbols(symbols) {
  if (function.isExternal())
    return;
  for (BlockArgument feed : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(feed.getType());
    if (!type || type.hasStaticShape())
      continue;
    auto upper = function.getArgAttrOfType<ArrayAttr>(feed.getArgNumber(), "weir.upper");
    SmallVector<int64_t> shape(type.getShape());
    for (auto [i, size] : llvm::enumerate(shape))
      if (ShapedType::isDynamic(size))
        size = usualSize(int64_t(i), upper && i < upper.size()
                                         ? std::optional(cast<IntegerAttr>(upper[i]).getInt())
                                         : std::nullopt);
    known[feed] = type.clone(shape);
  }
  if (known.empty())
    return;
  for (Operation &op : function.getBody().front())
    visit(&op);
}

RankedTensorType UsualShapes::of(Value tensor) const {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  return type && type.hasStaticShape() ? type : known.lookup(tensor);
}

/// Notes what the results of `op` are, those of a launch by the operations of its kernel.
void UsualShapes::visit(Operation *op) {
  auto isOpen = [](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && !type.hasStaticShape();
  };
  if (llvm::none_of(op->getResults(), isOpen))
    return;
  if (auto launch = dyn_cast<plan::LaunchOp>(op)) {
    auto kernel = symbols.lookup<plan::KernelOp>(launch.getKernel());
    if (!kernel)
      return;
    // Kernels serve several launches: what was found of another's operands is forgotten.
    Block &body = kernel.getBody().front();
    for (auto [argument, input] : llvm::zip(body.getArguments(), launch.getInputs()))
      known[argument] = of(input);
    for (Operation &inner : body.without_terminator()) {
      for (Value result : inner.getResults())
        known.erase(result);
      visit(&inner);
    }
    for (auto [result, made] : llvm::zip(launch.getResults(), body.getTerminator()->getOperands()))
      known[result] = of(made);
    return;
  }
  auto infer = dyn_cast<InferTypeOpInterface>(op);
  auto cast = dyn_cast<CastOp>(op);
  if (cast && of(cast.getOperand())) {
    known[cast.getResult()] = of(cast.getOperand()).clone(getElementTypeOrSelf(cast.getType()));
    return;
  }
  if (!infer || cast)
    return;
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    RankedTensorType type = isOpen(operand) ? of(operand) : RankedTensorType();
    if (isOpen(operand) && !type)
      return;
    operands.push_back(type ? stand.addArgument(type, op->getLoc()) : operand);
  }
  SmallVector<Type> types;
  if (succeeded(infer.inferReturnTypes(op->getContext(), op->getLoc(), operands,
                                       op->getAttrDictionary(), op->getPropertiesStorage(),
                                       op->getRegions(), types)))
    for (auto [result, type] : llvm::zip(op->getResults(), types))
      if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && tensor.hasStaticShape())
        known[result] = tensor;
  stand.eraseArguments(0, stand.getNumArguments());
}
