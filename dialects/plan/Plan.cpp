//===- Plan.cpp - the weir_plan dialect --------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/Plan.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

#include "dialects/plan/PlanDialect.cpp.inc"
#include "dialects/plan/PlanEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/plan/PlanAttributes.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/plan/PlanOps.cpp.inc"

/// Planned programs have buffers of tensors, which the parser is to read back.
struct PointersInBuffers
    : MemRefElementTypeInterface::ExternalModel<PointersInBuffers, LLVM::LLVMPointerType> {};

void WeirPlanDialect::initialize() {
  getContext()->getOrLoadDialect<LLVM::LLVMDialect>();
  if (!isa<MemRefElementTypeInterface>(LLVM::LLVMPointerType::get(getContext())))
    LLVM::LLVMPointerType::attachInterface<PointersInBuffers>(*getContext());
  addOperations<
#define GET_OP_LIST
#include "dialects/plan/PlanOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/plan/PlanAttributes.cpp.inc"
      >();
}

void KernelOp::build(OpBuilder &b, OperationState &state, StringRef name, ScheduleAttr schedule,
                     StringRef nodes) {
  build(b, state, b.getStringAttr(name), schedule, b.getStringAttr(nodes), ArrayAttr(),
        DenseI64ArrayAttr());
}

std::optional<unsigned> KernelOp::overwritten(unsigned result) {
  std::optional<ArrayRef<int64_t>> over = getInPlace();
  if (!over || (*over)[result] < 0)
    return std::nullopt;
  return unsigned((*over)[result]);
}

std::optional<unsigned> KernelOp::overwriterOf(unsigned argument) {
  std::optional<ArrayRef<int64_t>> over = getInPlace();
  const int64_t *found = over ? llvm::find(*over, int64_t(argument)) : nullptr;
  if (!over || found == over->end())
    return std::nullopt;
  return unsigned(found - over->begin());
}

LogicalResult KernelOp::verify() {
  if (!getBody().hasOneBlock() || !isa<ReturnOp>(getBody().front().back()))
    return emitOpError("body must be one block that ends in weir_plan.return");
  // What code has made, too, as what was read.
  ScheduleAttr own = getSchedule();
  if (failed(
          ScheduleAttr::verify([&] { return emitOpError(); }, own.getKind(), own.getParameters())))
    return failure();
  Operation *terminator = getBody().front().getTerminator();
  if (terminator->getNumOperands() == 0)
    return emitOpError("has no result");
  if (std::optional<ArrayRef<int64_t>> over = getInPlace()) {
    if (over->size() != terminator->getNumOperands())
      return emitOpError(
          "says of another number of results than it has what they are written over");
    for (auto [i, argument] : llvm::enumerate(*over))
      if (argument >= int64_t(getBody().front().getNumArguments()) ||
          (argument >= 0 && llvm::is_contained(over->drop_front(i + 1), argument)))
        return emitOpError("writes result ")
               << i << " over argument " << argument << ", which it lacks or writes over twice";
  }
  // Parts cut the first result.
  auto type = dyn_cast<RankedTensorType>(terminator->getOperand(0).getType());
  ArrayRef<int64_t> parts = getSchedule()[schedule::parts];
  ArrayRef<int64_t> merged = getSchedule()[schedule::merged];
  if (type && !merged.empty() && merged[1] > type.getRank())
    return emitOpError("merges dimensions that its result of rank ") << type.getRank() << " lacks";
  if (type && parts.size() > partShape(merged, type.getShape()).size())
    return emitOpError("cuts more dimensions than its result of rank ") << type.getRank() << " has";
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto kernel = tables.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError("names no kernel: ") << getKernel();
  Block &body = kernel.getBody().front();
  if (body.getArgumentTypes() != getInputs().getTypes())
    return emitOpError("operand types differ from the kernel's");
  if (body.getTerminator()->getOperandTypes() != getResultTypes())
    return emitOpError("result types differ from the kernel's");
  return success();
}

LogicalResult RunOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto kernel = tables.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError("names no kernel: ") << getKernel();
  if (kernel.getBody().front().getNumArguments() != getInputs().size() ||
      kernel.getBody().front().getTerminator()->getNumOperands() != getOutputs().size())
    return emitOpError("reads or writes another number of buffers than the kernel");
  return success();
}

LogicalResult plan::AllReduceOp::verify() {
  if (getTarget() && getResult())
    return emitOpError("has either a target or a result");
  Value into = getTarget() ? Value(getTarget()) : Value(getResult());
  if (into && into.getType() != getValue().getType())
    return emitOpError("reduces ") << getValue().getType() << " to " << into.getType();
  return success();
}

/// Copies on tensors are values like others; those on buffers are not to be moved.
static void addCopyEffects(Operation *op, SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  if (llvm::none_of(op->getOperandTypes(), [](Type type) { return isa<MemRefType>(type); }))
    return;
  effects.emplace_back(MemoryEffects::Read::get());
  effects.emplace_back(MemoryEffects::Write::get());
}

void SwapOutOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addCopyEffects(*this, effects);
}

void SwapInOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addCopyEffects(*this, effects);
}

LogicalResult SwapOutOp::verify() {
  auto type = cast<ShapedType>(getValue().getType());
  if (!type.hasStaticShape())
    return emitOpError("copies what has no fixed size");
  auto buffer = dyn_cast<MemRefType>(type);
  if (buffer && !buffer.getLayout().isIdentity())
    return emitOpError("copies a buffer that is not contiguous");
  if (buffer && (!getSlot() || int64_t(*getSlot()) < 0))
    return emitOpError("needs a slot in the host's memory");
  return success();
}

LogicalResult SwapInOp::verify() {
  auto save = getSaved().getDefiningOp<SwapOutOp>();
  if (!save || save->getBlock() != (*this)->getBlock())
    return emitOpError("copies back what no weir_plan.swap_out of its block saved");
  bool hasTarget = bool(getTarget());
  if (hasTarget == bool(getValue()) || hasTarget != bool(getCopied()))
    return emitOpError("has either a target and a token, or a value");
  Value copied = hasTarget ? Value(getTarget()) : Value(getValue());
  Type type = copied.getType();
  if (type != save.getValue().getType())
    return emitOpError("copies ") << save.getValue().getType() << " back as " << type;
  return success();
}

LogicalResult AwaitSwapOp::verify() {
  if (!isa_and_nonnull<SwapOutOp, SwapInOp>(getCopy().getDefiningOp()))
    return emitOpError("waits for what is no copy between accelerator and host");
  return success();
}
