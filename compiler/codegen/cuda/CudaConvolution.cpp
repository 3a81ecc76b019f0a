//===- CudaConvolution.cpp - convolutions by a library ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaConvolution.h"
#include "compiler/codegen/cuda/CudaLibrary.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

namespace {

class Matcher {
public:
  Matcher(plan::KernelOp kernel, ConvOp conv, bool tf32)
      : kernel(kernel), conv(conv), tf32(tf32), sizes(kernel), last(conv.getChannelsLast()),
        result(cast<RankedTensorType>(conv.getType())), channel(last ? result.getRank() - 1 : 1) {}

  std::optional<LibraryConvolution> match() {
    LibraryConvolution out;
    if (!describe(out))
      return std::nullopt;
    weir_cuda_convolution &desc = out.desc;
    auto isBiasType = [&](RankedTensorType type) { return isBias(type); };
    Epilogue epilogue(kernel, sizes, conv.getResult(), desc.dtype, isBiasType);
    // What follows needs a bias, and that a size.
    while (!result.isDynamicDim(channel) && absorb(epilogue, desc))
      ;
    desc.bias = epilogue.bias < 0 && !epilogue.isPlain() ? WEIR_CUDA_ZEROS : epilogue.bias;
    desc.addend = epilogue.addend;
    desc.activation = epilogue.activation;
    out.end = epilogue.end;
    if (!epilogue.place(out.hasRest, desc.result, desc.rest_count))
      return std::nullopt;
    return out;
  }

private:
  bool describe(LibraryConvolution &out) {
    weir_cuda_convolution &desc = out.desc;
    Value input = conv.getInput(), filter = conv.getFilter();
    auto inputType = cast<RankedTensorType>(input.getType()),
         filterType = cast<RankedTensorType>(filter.getType());
    Type element = inputType.getElementType();
    int64_t rank = result.getRank(), spatial = rank - 2;
    if (!isa<BlockArgument>(input) || !isa<BlockArgument>(filter) ||
        element != filterType.getElementType() ||
        !isa<Float32Type, Float16Type, BFloat16Type>(element) || spatial < 1 || spatial > 3 ||
        (last && !filterType.hasStaticShape()) ||
        llvm::any_of(conv.getPads(), [](int64_t pad) { return pad < 0; }))
      return false;
    // Narrow operands may have a wide result.
    if (result.getElementType() != element && !result.getElementType().isF32())
      return false;
    desc.size = sizeof(weir_cuda_convolution);
    desc.dtype = dtypeOf(element);
    desc.result_dtype = dtypeOf(result.getElementType());
    desc.flags = tf32 && element.isF32() ? WEIR_CUDA_TF32 : 0;
    desc.input = sizes.bufferOf(input);
    desc.filter = sizes.bufferOf(filter);
    desc.channels_last = last;
    desc.spatial = int32_t(spatial);
    desc.groups = int32_t(conv.getGroups());
    int64_t firstWindow = last ? 0 : 2, firstSize = last ? 1 : 2, outputs = last ? rank - 1 : 0;
    bool ok = sizes.extent(input, {0}, desc.batch) &&
              sizes.extent(input, {channel}, desc.channels) &&
              sizes.extent(filter, {outputs}, desc.outputs);
    for (int64_t i = 0; i < 3; ++i) {
      if (i >= spatial) {
        desc.sizes[i] = desc.window[i] = fixedExtent(1);
        desc.strides[i] = desc.dilations[i] = 1;
        continue;
      }
      ok = ok && sizes.extent(input, {firstSize + i}, desc.sizes[i]) &&
           sizes.extent(filter, {firstWindow + i}, desc.window[i]);
      desc.strides[i] = conv.getStrides()[i];
      desc.dilations[i] = conv.getDilations()[i];
      desc.before[i] = conv.getPads()[2 * i];
      desc.after[i] = conv.getPads()[2 * i + 1];
    }
    if (last)
      out.filter = filterType;
    return ok;
  }

  bool isBias(RankedTensorType type) const {
    // Trailing dimensions are the result's, or of size one.
    int64_t ahead = result.getRank() - type.getRank();
    if (ahead < 0 || ahead > channel || result.isDynamicDim(channel) ||
        type.getNumElements() != result.getDimSize(channel))
      return false;
    return type.getDimSize(channel - ahead) == result.getDimSize(channel);
  }

  bool absorb(Epilogue &epilogue, weir_cuda_convolution &desc) {
    Operation *user = epilogue.next();
    if (!user)
      return false;
    if (epilogue.takeCast(user)) {
      desc.result_dtype = desc.dtype;
      return true;
    }
    if (isa<ReluOp>(user))
      return epilogue.takeActivation(user, WEIR_CUDA_RELU);
    // The library does not say that its result may lie where an addend does.
    std::optional<unsigned> inPlace = kernel.overwritten();
    if (inPlace && llvm::is_contained(user->getOperands(), kernel.getBody().getArgument(*inPlace)))
      return false;
    return epilogue.takeAdd(user);
  }

  plan::KernelOp kernel;
  ConvOp conv;
  bool tf32;
  LaunchSizes sizes;
  bool last;
  RankedTensorType result;
  int64_t channel;
};

} // namespace

std::optional<LibraryConvolution> weir::matchConvolution(plan::KernelOp kernel, bool tf32) {
  ConvOp conv;
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (isa<DotGeneralOp>(op) || (conv && isa<ConvOp>(op)))
      return std::nullopt;
    if (auto each = dyn_cast<ConvOp>(op))
      conv = each;
  }
  if (!conv)
    return std::nullopt;
  return Matcher(kernel, conv, tf32).match();
}

OwningOpRef<plan::KernelOp> weir::arrangeKernel(RankedTensorType filter, Location loc) {
  OpBuilder b(loc.getContext());
  int64_t rank = filter.getRank();
  SmallVector<int64_t> permutation = {rank - 1}, shape = {filter.getDimSize(rank - 1)};
  for (int64_t i = 0; i + 1 < rank; ++i) {
    permutation.push_back(i);
    shape.push_back(filter.getDimSize(i));
  }
  plan::ScheduleAttr schedule = plan::ScheduleBuilder(b.getContext(), plan::ScheduleKind::Loops)
                                    .set(plan::schedule::parts, SmallVector<int64_t>(rank - 1, 1))
                                    .get();
  OwningOpRef<plan::KernelOp> kernel = plan::KernelOp::create(b, loc, "arrange", schedule, "");
  Block &body = kernel->getBody().emplaceBlock();
  Value operand = body.addArgument(filter, loc);
  b.setInsertionPointToStart(&body);
  Value arranged = TransposeOp::create(
      b, loc, RankedTensorType::get(shape, filter.getElementType()), operand, permutation);
  plan::ReturnOp::create(b, loc, arranged);
  return kernel;
}
