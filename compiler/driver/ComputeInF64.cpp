//===- ComputeInF64.cpp - a program that hardly rounds --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/ComputeInF64.h"
#include "dialects/weir/Weir.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace weir;

namespace {

bool isNarrowFloat(Type type) {
  auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
  return element && element.getWidth() < 64 && isa<ShapedType>(type);
}

/// The type with elements of f64, or as it is.
Type widened(Type type) {
  if (!isNarrowFloat(type))
    return type;
  return cast<ShapedType>(type).clone(Float64Type::get(type.getContext()));
}

/// Whether an operation computes the same function of f64.
bool isWide(Operation *op) {
  if (isa<func::ReturnOp>(op) || op->hasTrait<OpTrait::IsTerminator>())
    return true;
  if (op->getNumRegions())
    return !isa<func::FuncOp, ModuleOp>(op);
  if (op->getName().getDialectNamespace() != "weir" || !isPure(op) ||
      op->hasTrait<OpTrait::ConstantLike>() || isa<BitcastOp>(op))
    return false;
  auto isNumber = [](Type type) { return getElementTypeOrSelf(type).isIntOrIndexOrFloat(); };
  return llvm::all_of(op->getOperandTypes(), isNumber) &&
         llvm::all_of(op->getResultTypes(), isNumber);
}

class Widening {
public:
  explicit Widening(ModuleOp module) : module(module), b(module.getContext()) {}

  bool run() {
    module.walk([&](func::FuncOp function) {
      for (BlockArgument argument : function.getArguments())
        if (function->hasAttr("weir.entry"))
          narrow.push_back(argument);
        else
          widen(argument);
    });
    SmallVector<Operation *> left;
    module.walk([&](Operation *op) {
      if (isa<ModuleOp, func::FuncOp>(op))
        return;
      if (!isWide(op)) {
        left.push_back(op);
        for (Value result : op->getResults())
          if (isNarrowFloat(result.getType()))
            narrow.push_back(result);
        return;
      }
      for (Value result : op->getResults())
        widen(result);
      // Types that sums are kept in.
      for (NamedAttribute attr : op->getAttrs())
        if (auto type = dyn_cast<TypeAttr>(attr.getValue()))
          if (auto element = dyn_cast<FloatType>(type.getValue());
              element && element.getWidth() < 64)
            op->setAttr(attr.getName(), TypeAttr::get(b.getF64Type()));
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (BlockArgument argument : block.getArguments())
            widen(argument);
    });
    for (Operation *op : left)
      narrowOperands(op);
    for (Value value : narrow)
      widenUses(value, left);
    module.walk([&](func::FuncOp function) {
      auto end = function.isDeclaration() ? nullptr : function.back().getTerminator();
      if (end)
        function.setFunctionType(
            b.getFunctionType(function.front().getArgumentTypes(), end->getOperandTypes()));
    });
    return succeeded(verify(module));
  }

private:
  void widen(Value value) {
    if (!isNarrowFloat(value.getType()))
      return;
    original.try_emplace(value, value.getType());
    value.setType(widened(value.getType()));
  }

  /// An operation that stays reads what it did.
  void narrowOperands(Operation *op) {
    b.setInsertionPoint(op);
    for (OpOperand &operand : op->getOpOperands()) {
      auto was = original.find(operand.get());
      if (was != original.end())
        operand.set(
            CastOp::create(b, op->getLoc(), was->second, operand.get(), b.getBoolAttr(false)));
    }
  }

  void widenUses(Value value, ArrayRef<Operation *> left) {
    if (!isNarrowFloat(value.getType()))
      return;
    b.setInsertionPointAfterValue(value);
    llvm::SmallPtrSet<Operation *, 16> stays(left.begin(), left.end());
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : value.getUses())
      if (!stays.contains(use.getOwner()))
        uses.push_back(&use);
    if (uses.empty())
      return;
    Value wide =
        CastOp::create(b, value.getLoc(), widened(value.getType()), value, b.getBoolAttr(false));
    for (OpOperand *use : uses)
      use->set(wide);
  }

  ModuleOp module;
  OpBuilder b;
  SmallVector<Value> narrow;      ///< values that keep their types
  DenseMap<Value, Type> original; ///< of those that do not
};

} // namespace

bool driver::computeInF64(ModuleOp module) { return Widening(module).run(); }
