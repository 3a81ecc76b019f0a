//===- ImplicitPadding.cpp - convolutions that know what was padded --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/ImplicitPadding.h"
#include "dialects/weir/Elemental.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

ConvOp weir::convolutionOf(plan::KernelOp kernel) {
  ConvOp found;
  for (auto conv : kernel.getBody().front().getOps<ConvOp>()) {
    if (found)
      return {};
    found = conv;
  }
  return found && isa<BlockArgument>(found.getInput()) && found.getInput().hasOneUse() ? found
                                                                                       : ConvOp();
}

std::optional<SmallVector<int64_t>> weir::zeroPadding(plan::KernelOp kernel) {
  PadOp pad;
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (isa<ConstantOp>(op))
      continue;
    if (pad || !isa<PadOp>(op))
      return std::nullopt;
    pad = cast<PadOp>(op);
  }
  if (!pad || pad.getMode() != PadMode::Constant ||
      pad.getOperand() != kernel.getBody().getArgument(0) ||
      kernel.getBody().front().getTerminator()->getOperand(0) != pad.getResult())
    return std::nullopt;
  auto constant = pad.getValue() ? pad.getValue().getDefiningOp<ConstantOp>() : ConstantOp();
  auto value =
      constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue()) : DenseFPElementsAttr();
  if (!value || !value.isSplat() || !value.getSplatValue<APFloat>().isPosZero())
    return std::nullopt;
  return constantIntegers(pad.getPads());
}

void weir::formImplicitPadding(plan::KernelOp kernel, SmallVectorImpl<Value> &operands) {
  ConvOp conv = convolutionOf(kernel);
  if (!conv)
    return;
  auto number = cast<BlockArgument>(conv.getInput()).getArgNumber();
  auto launch = operands[number].getDefiningOp<plan::LaunchOp>();
  if (!launch)
    return;
  auto padder =
      SymbolTable::lookupNearestSymbolFrom<plan::KernelOp>(kernel, launch.getKernelAttr());
  auto amounts = padder ? zeroPadding(padder) : std::nullopt;
  if (!amounts)
    return;
  int64_t rank = int64_t(amounts->size()) / 2, spatial = rank - 2;
  int64_t first = conv.getChannelsLast() ? 1 : 2;
  SmallVector<int64_t> pads(conv.getPads());
  for (int64_t i = 0; i < rank; ++i) {
    int64_t before = (*amounts)[i], after = (*amounts)[rank + i], dim = i - first;
    if (dim < 0 || dim >= spatial) {
      if (before != 0 || after != 0)
        return;
      continue;
    }
    if (before < 0 || after < 0)
      return;
    pads[2 * dim] += before;
    pads[2 * dim + 1] += after;
  }
  Value unpadded = launch.getInputs()[0];
  kernel.getBody().addArgument(unpadded.getType(), conv.getLoc());
  operands.push_back(unpadded);
  kernel->setAttr(implicitPaddingAttribute, DenseI64ArrayAttr::get(kernel.getContext(), pads));
}
