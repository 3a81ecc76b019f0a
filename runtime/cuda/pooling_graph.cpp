//===- pooling_graph.cpp - poolings as cuDNN sees them --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/pooling_graph.h"

namespace weir::rt::cuda {

static int32_t modeOf(int32_t kind) {
  return kind == WEIR_CUDA_MAX_POOLING      ? dnn::resampleMax
         : kind == WEIR_CUDA_AVERAGE_INSIDE ? dnn::resampleAverageInside
                                            : dnn::resampleAveragePadded;
}

static DnnDescriptor describe(Descriptors &d, const weir_cuda_pooling &desc,
                              const DnnPlace &place) {
  int64_t lifted[3], spatial = liftSpatial(desc.spatial, desc.window, 1, lifted);
  auto setAll = [&](DnnDescriptor target, int name, const int64_t *values, int64_t neutral) {
    liftSpatial(desc.spatial, values, neutral, lifted);
    d.set(target, name, dnn::typeInt64, lifted, spatial);
  };
  bool isMax = desc.kind == WEIR_CUDA_MAX_POOLING;
  DnnDescriptor resample = d.make(dnn::resample);
  d.setNumber(resample, dnn::resampleMode, dnn::typeResampleMode, modeOf(desc.kind));
  d.setNumber(resample, dnn::resampleType, dnn::typeData, dnn::f32);
  d.setNumber(resample, dnn::resampleNan, dnn::typeNan, dnn::propagateNan);
  d.setNumber(resample, dnn::resamplePadding, dnn::typePadding,
              isMax ? dnn::paddingLowest : dnn::paddingZero);
  d.set(resample, dnn::resampleSpatial, dnn::typeInt64, &spatial);
  setAll(resample, dnn::resampleWindow, desc.window, 1);
  setAll(resample, dnn::resampleStrides, desc.strides, 1);
  setAll(resample, dnn::resampleBefore, desc.before, 0);
  setAll(resample, dnn::resampleAfter, desc.after, 0);
  d.finish(resample);
  auto tensor = [&](const int64_t *sizes, int64_t id) {
    Layout layout = imageLayout(desc.spatial, desc.channels_last, desc.batch, desc.channels, sizes);
    return makeTensor(d, layout, dnnTypeOf(desc.dtype), id);
  };
  DnnDescriptor operation = d.make(dnn::operationResample);
  d.setDescriptor(operation, dnn::resampleInput, tensor(desc.sizes, inputId));
  d.setDescriptor(operation, dnn::resampleResult, tensor(desc.results, resultId));
  d.setDescriptor(operation, dnn::resampleOf, resample);
  d.finish(operation);
  return makeGraph(d, &operation, 1, place.handle);
}

PlanText choosePlan(const Dnn &dnn, const DnnPlace &place, const weir_cuda_pooling &desc) {
  Descriptors d(dnn);
  DnnDescriptor graph = describe(d, desc, place);
  // Channels first are the last resort of the library's own, a kernel that it has ready.
  return chooseWay(d, place, graph, {desc.dtype != WEIR_F32, true});
}

} // namespace weir::rt::cuda
