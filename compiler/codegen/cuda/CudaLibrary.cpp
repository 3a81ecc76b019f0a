//===- CudaLibrary.cpp - kernels that libraries may compute -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaLibrary.h"
#include "compiler/emit/Program.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

weir_extent weir::fixedExtent(int64_t value) { return {value, {-1, -1, -1, -1}}; }

std::optional<double> weir::splatOf(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!elements || !elements.isSplat() || !isa<FloatType>(elements.getElementType()))
    return std::nullopt;
  return elements.getSplatValue<APFloat>().convertToDouble();
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

LaunchSizes::LaunchSizes(plan::KernelOp kernel) {
  Block &body = kernel.getBody().front();
  int32_t next = 0;
  auto add = [&](Value tensor, unsigned number) {
    auto type = cast<RankedTensorType>(tensor.getType());
    buffers.try_emplace(tensor, number);
    first.try_emplace(tensor, next);
    next += int32_t(type.getNumDynamicDims());
  };
  for (BlockArgument argument : body.getArguments())
    add(argument, argument.getArgNumber());
  unsigned number = body.getNumArguments();
  for (Value result : body.getTerminator()->getOperands())
    add(result, number++);
}

bool LaunchSizes::extent(Value tensor, ArrayRef<int64_t> dims, weir_extent &out) const {
  auto type = cast<RankedTensorType>(tensor.getType());
  out.factor = 1;
  size_t count = 0;
  std::fill(std::begin(out.open), std::end(out.open), -1);
  for (int64_t dim : dims) {
    if (!type.isDynamicDim(dim)) {
      out.factor *= type.getDimSize(dim);
      continue;
    }
    if (count == std::size(out.open))
      return false;
    int32_t number = first.lookup(tensor);
    for (int64_t i = 0; i < dim; ++i)
      number += type.isDynamicDim(i);
    out.open[count++] = number;
  }
  return true;
}

bool LaunchSizes::stride(Value tensor, int64_t dim, weir_extent &out) const {
  SmallVector<int64_t> inner;
  for (int64_t i = dim + 1; i < cast<RankedTensorType>(tensor.getType()).getRank(); ++i)
    inner.push_back(i);
  return extent(tensor, inner, out);
}

//===----------------------------------------------------------------------===//
// What follows
//===----------------------------------------------------------------------===//

Operation *Epilogue::next() const {
  if (!end.hasOneUse())
    return nullptr;
  Operation *user = *end.user_begin();
  if (user->getNumResults() != 1)
    return nullptr;
  auto type = dyn_cast<RankedTensorType>(user->getResult(0).getType());
  bool sameShape = type && type.getShape() == cast<RankedTensorType>(end.getType()).getShape();
  return sameShape ? user : nullptr;
}

bool Epilogue::takeCast(Operation *user) {
  auto cast = dyn_cast<CastOp>(user);
  // Bias and addend are of the result's type.
  if (!cast || bias >= 0 || addend >= 0 || !getElementTypeOrSelf(end.getType()).isF32() ||
      dtypeOf(getElementTypeOrSelf(cast.getType())) != dtype || dtype == WEIR_F32)
    return false;
  moveTo(user);
  return true;
}

bool Epilogue::takeAdd(Operation *user) {
  if (!isa<AddOp>(user) || activation != 0)
    return false;
  Value other = user->getOperand(user->getOperand(0) == end ? 1 : 0);
  auto type = cast<RankedTensorType>(end.getType()),
       otherType = cast<RankedTensorType>(other.getType());
  if (!isa<BlockArgument>(other) || otherType.getElementType() != type.getElementType())
    return false;
  // An open size may turn out to be one, and stretch.
  if (otherType == type && type.hasStaticShape() && addend < 0)
    addend = sizes.bufferOf(other);
  else if (bias < 0 && otherType.hasStaticShape() && isBias(otherType))
    bias = sizes.bufferOf(other);
  else
    return false;
  moveTo(user);
  return true;
}

bool Epilogue::takeActivation(Operation *user, weir_cuda_activation kind) {
  if (activation != 0)
    return false;
  activation = kind;
  moveTo(user);
  return true;
}

bool Epilogue::place(bool &hasRest, int32_t &result, weir_extent &restCount) const {
  Block &body = kernel.getBody().front();
  auto results = body.getTerminator()->getOperands();
  hasRest = results.size() != 1 || results.front() != end;
  result = int32_t(body.getNumArguments());
  restCount = fixedExtent(0);
  if (!hasRest)
    return true;
  // In the result's own place, unless that is still read, or of other size.
  std::optional<unsigned> inPlace = kernel.overwritten();
  bool fits = results.front().getType() == end.getType() && !inPlace;
  for (Operation &op : body.without_terminator())
    fits = fits && (&op == anchor || isa<ElementwiseOpInterface, ConstantOp>(op));
  // An open size may turn out to be one, and stretch to the result's.
  auto type = cast<RankedTensorType>(end.getType());
  for (BlockArgument argument : body.getArguments())
    fits = fits && (type.hasStaticShape() || llvm::is_contained(anchor->getOperands(), argument) ||
                    cast<RankedTensorType>(argument.getType()).hasStaticShape());
  if (!fits)
    result = -1;
  auto all = llvm::to_vector(
      llvm::seq<int64_t>(0, cast<RankedTensorType>(results.front().getType()).getRank()));
  return sizes.extent(results.front(), all, restCount);
}
