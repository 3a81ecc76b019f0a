//===- DeviceTraits.cpp - what runs beside the host -----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/DeviceTraits.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Weir.h"
#include "passes/analysis/Clusters.h"
#include "passes/analysis/ScalarForm.h"
#include "passes/analysis/Variables.h"

using namespace mlir;
using namespace weir;

const DeviceKind *weir::kindOf(const DeviceName &name) {
  const DeviceKind *kind = name.type ? findDeviceKind(*name.type) : nullptr;
  return kind && !kind->isHost() ? kind : nullptr;
}

static std::optional<DeviceName> nameOf(ModuleOp module, int64_t device) {
  auto names = module->getAttrOfType<ArrayAttr>("weir_plan.devices");
  if (!names || device < 0 || device >= int64_t(names.size()))
    return std::nullopt;
  return DeviceName::parse(cast<StringAttr>(names[device]).getValue());
}

bool weir::isOffloadDevice(ModuleOp module, int64_t device) {
  std::optional<DeviceName> name = nameOf(module, device);
  return name && isOffloadDevice(*name);
}

const DeviceKind *weir::kindAround(Operation *op) {
  auto function = dyn_cast<func::FuncOp>(op);
  if (!function)
    function = op->getParentOfType<func::FuncOp>();
  auto device =
      function ? function->getAttrOfType<IntegerAttr>("weir.device_index") : IntegerAttr();
  if (!device)
    return nullptr;
  std::optional<DeviceName> name = nameOf(function->getParentOfType<ModuleOp>(), device.getInt());
  return name ? kindOf(*name) : nullptr;
}

int64_t weir::hostOf(ModuleOp module, int64_t device) {
  auto names = module->getAttrOfType<ArrayAttr>("weir_plan.devices");
  std::optional<DeviceName> own = nameOf(module, device);
  int64_t any = device;
  for (int64_t i = names ? int64_t(names.size()) - 1 : -1; i >= 0; --i) {
    std::optional<DeviceName> other = nameOf(module, i);
    if (!other || isOffloadDevice(*other))
      continue;
    any = i;
    if (own && other->job == own->job && other->task == own->task)
      device = i;
  }
  return isOffloadDevice(module, device) ? any : device;
}

/// Numbers of a size that a kernel's threads can load.
static bool isNumeric(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return false;
  Type element = tensor.getElementType();
  if (auto complex = dyn_cast<ComplexType>(element))
    element = complex.getElementType();
  return isa<IntegerType, FloatType>(element) && element.getIntOrFloatBitWidth() <= 64;
}

/// Whether sizes of the results follow from sizes of the operands, and from few
/// integers, which are the host's.
static bool hasSizesOfHost(Operation *op) {
  if (isa<ElementwiseOpInterface>(op) || op->hasTrait<traits::SizesFromSizes>())
    return true;
  return isa<ElementalOpInterface>(op) && op->getNumOperands() > 0 &&
         llvm::all_of(op->getOperands().drop_front(), [](Value value) {
           return plan::isScalarForm(value.getType()) || value.getDefiningOp<ConstantOp>();
         });
}

static bool isStatic(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape();
}

/// The same for who uses a variable: its values lie where the users are.
static std::string whyNotVariable(const DeviceKind &kind, Operation *op) {
  VariableOp variable = variableOf(op->getOperand(0));
  if (!kind.keepsVariables() || !variable || !isNumeric(variable.getType()))
    return "works on state, strings or sequences";
  if (plan::isScalarForm(variable.getType()))
    return "uses a variable of integers that the host reads";
  return isStatic(variable.getType()) ? "" : "uses a variable whose size is open";
}

bool weir::isDecidedOnDevice(Operation *op) {
  for (; op && !isa<func::FuncOp>(op); op = op->getParentOp())
    if (op->hasAttr(decidedOnDeviceAttr))
      return true;
  return false;
}

bool weir::isDecidedOnDevice(Value value) {
  Operation *def = value.getDefiningOp();
  return isDecidedOnDevice(def ? def : value.getParentBlock()->getParentOp());
}

static constexpr char readsDecidedText[] =
    "reads integers that a loop or conditional of a device leaves in its memory";

/// Whether a few integers that `op` reads are not the step's to read.
static bool readsDecided(Operation *op) {
  return llvm::any_of(op->getOperands(), [](Value value) {
    return plan::isScalarForm(value.getType()) && isDecidedOnDevice(value);
  });
}

std::string weir::whyNotOn(const DeviceKind &kind, Operation *op) {
  OperationRole role = roleOf(op);
  if (isa<VariableReadOp, VariableAssignOp>(op))
    return whyNotVariable(kind, op);
  if (role == OperationRole::Constant)
    return "";
  // What hangs on sizes is checked by the device's step, which is the host's.
  if (auto check = dyn_cast<AssertOp>(op);
      check && plan::isScalarForm(check.getCondition().getType()))
    return readsDecided(op) ? readsDecidedText : "";
  if (!llvm::all_of(op->getOperandTypes(), isNumeric) ||
      !llvm::all_of(op->getResultTypes(), isNumeric) || !op->getNumResults())
    return "works on state, strings or sequences";
  if (role == OperationRole::Scalar) {
    if (readsDecided(op))
      return readsDecidedText;
    bool fromScalars =
        isa<ShapeOfOp>(op) || llvm::all_of(op->getOperands(), [](Value value) {
          return plan::isScalarForm(value.getType()) || value.getDefiningOp<ConstantOp>();
        });
    return fromScalars ? "" : "makes integers that the host reads";
  }
  bool isDecided = kind.decidesControl() && isDecidedOnDevice(op);
  if (!isDecided && llvm::any_of(op->getResultTypes(), plan::isScalarForm))
    return "makes integers that the host reads";
  if (!llvm::all_of(op->getResultTypes(), isStatic) && (!hasSizesOfHost(op) || readsDecided(op)))
    return "has a result whose size the host computes";
  if (isa<ReshapeOp>(op))
    return "";
  bool sorts = isa<TopKOp>(op) && kind.takesSorts();
  if (role != OperationRole::Kernel && !sorts)
    return "has no " + kind.type().str() + " kernel";
  return kind.whyNot(op);
}
