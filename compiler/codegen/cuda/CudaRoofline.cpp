//===- CudaRoofline.cpp - what kernels should take -------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaRoofline.h"
#include "compiler/codegen/cuda/DeviceFacts.h"
#include "compiler/emit/Program.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;
using cuda::Arithmetic;

static Arithmetic arithmeticOf(Type element, bool tf32) {
  if (element.isF16() || element.isBF16())
    return Arithmetic::Half;
  if (element.isF64())
    return Arithmetic::F64;
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8)
    return Arithmetic::F8;
  if (auto integer = dyn_cast<IntegerType>(element); integer && integer.getWidth() == 8)
    return Arithmetic::I8;
  return tf32 && element.isF32() ? Arithmetic::Tf32 : Arithmetic::F32;
}

static std::optional<cuda::KernelWork> workOf(plan::KernelOp kernel, bool tf32) {
  cuda::KernelWork work;
  bool isOpen = false;
  kernel.getBody().walk([&](CostOpInterface op) {
    int64_t flops = op.getFlops();
    isOpen |= flops < 0;
    if (isa<DotGeneralOp, ConvOp, ConvTransposeOp>(op)) {
      work.products += double(flops);
      work.arithmetic = arithmeticOf(getElementTypeOrSelf(op->getOperand(0).getType()), tf32);
    } else {
      work.others += double(flops);
    }
  });
  auto count = [&](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    isOpen |= !tensor.hasStaticShape();
    if (!isOpen)
      work.bytes += double(tensor.getNumElements()) * double(elementBytes(tensor.getElementType()));
  };
  for (BlockArgument input : kernel.getBody().getArguments()) {
    // Of what is picked from by index alone, as a table of embeddings, the rest is not read.
    auto picks = [&](OpOperand &use) {
      return isa<GatherOp>(use.getOwner()) && use.getOperandNumber() == 0;
    };
    if (!input.hasOneUse() || !picks(*input.use_begin())) {
      count(input.getType());
      continue;
    }
    auto all = cast<RankedTensorType>(input.getType()),
         some = cast<RankedTensorType>(input.use_begin()->getOwner()->getResult(0).getType());
    bool isLess = all.hasStaticShape() && some.hasStaticShape() &&
                  some.getNumElements() < all.getNumElements();
    count(isLess ? some : all);
  }
  for (Value result : kernel.getBody().front().getTerminator()->getOperands())
    count(result.getType());
  return isOpen ? std::nullopt : std::optional(work);
}

std::optional<KernelForecast> weir::forecast(ArrayRef<plan::KernelOp> kernels, bool tf32,
                                             int64_t launches) {
  cuda::KernelWork work;
  for (plan::KernelOp kernel : kernels) {
    std::optional<cuda::KernelWork> own = workOf(kernel, tf32);
    if (!own)
      return std::nullopt;
    if (own->products > work.products)
      work.arithmetic = own->arithmetic;
    work.products += own->products;
    work.others += own->others;
    work.bytes += own->bytes;
  }
  for (double *sum : {&work.products, &work.others, &work.bytes})
    *sum /= double(launches);
  KernelForecast made{cuda::nameOf(work.arithmetic), work.products, work.others, work.bytes, {}};
  for (const cuda::DeviceFacts &device : cuda::knownDevices) {
    cuda::Prediction time = cuda::predict(device, work);
    made.devices.push_back({device.name, time.microseconds, time.isByMemory});
  }
  return made;
}
