//===- StepLibrary.cpp - operations that library kernels perform -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "passes/plan/StepBuilder.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

namespace {
/// A function of the runtime's kernels and the integers it is given; see
/// runtime/include/weir/kernels.h.
struct LibraryCall {
  std::string callee;
  SmallVector<int64_t> parameters;
};

std::optional<LibraryCall> libraryCall(Operation *op) {
  return TypeSwitch<Operation *, std::optional<LibraryCall>>(op)
      .Case<TopKOp>([](TopKOp o) {
        return LibraryCall{"weir_kernel_top_k",
                           {(int64_t)o.getAxis(), o.getLargest(), o.getSorted()}};
      })
      .Case<NonZeroOp>([](NonZeroOp) { return LibraryCall{"weir_kernel_non_zero", {}}; })
      .Case<UniqueOp>([](UniqueOp o) {
        return LibraryCall{"weir_kernel_unique", {(int64_t)o.getAxis(), o.getSorted()}};
      })
      .Case<NonMaxSuppressionOp>([](NonMaxSuppressionOp o) {
        return LibraryCall{"weir_kernel_non_max_suppression", {o.getCenterPointBox()}};
      })
      .Case<CustomCallOp>([](CustomCallOp o) {
        return LibraryCall{o.getCallee().str(), SmallVector<int64_t>(o.getParameters())};
      })
      .Default([](Operation *) { return std::nullopt; });
}
} // namespace

LogicalResult StepBuilder::visitLibrary(Operation *op) {
  std::optional<LibraryCall> call = libraryCall(op);
  if (!call)
    return op->emitError("no CPU kernel computes this operation");
  SmallVector<Value> inputs;
  for (Value input : op->getOperands())
    if (isa<TensorType>(input.getType()))
      inputs.push_back(bufferOf(input));
  // The callee allocates every result: sizes may depend on the data.
  SmallVector<Type> types;
  for (Type type : op->getResultTypes())
    types.push_back(bufferType(type));
  auto made = LibraryOp::create(b, loc, types, call->callee, inputs, call->parameters);
  // Not a kernel: the step is split where it stands.
  if (call->callee == "weir_rt_wait") {
    made->setAttr("waits", b.getUnitAttr());
    return success();
  }
  if (isa<CustomCallOp>(op)) {
    auto name = op->getAttrOfType<StringAttr>("weir.operation");
    made->setAttr("weir.custom", name ? name : b.getStringAttr(call->callee));
  }
  for (auto [result, buffer] : llvm::zip(op->getResults(), made.getResults()))
    setBuffer(result, buffer);
  return success();
}
