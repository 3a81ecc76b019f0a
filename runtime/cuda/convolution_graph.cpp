//===- convolution_graph.cpp - convolutions as cuDNN sees them ------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/convolution_graph.h"
#include "cuda/products.h"

namespace weir::rt::cuda {

ConvolutionShape shapeOf(const weir_cuda_convolution &desc, const int64_t *sizes) {
  ConvolutionShape shape = {};
  shape.batch = extentOf(desc.batch, sizes);
  shape.channels = extentOf(desc.channels, sizes);
  shape.outputs = extentOf(desc.outputs, sizes);
  for (int32_t i = 0; i < desc.spatial; ++i) {
    shape.sizes[i] = extentOf(desc.sizes[i], sizes);
    shape.window[i] = extentOf(desc.window[i], sizes);
    int64_t reach = desc.dilations[i] * (shape.window[i] - 1) + 1,
            room = shape.sizes[i] + desc.before[i] + desc.after[i] - reach;
    shape.result[i] = room < 0 ? 0 : room / desc.strides[i] + 1;
  }
  return shape;
}

namespace {

/// Describes what `desc` says. The library's own kernels know these operations in
/// this order: addend, bias, activation; what lies between is in f32.
class GraphBuilder {
public:
  GraphBuilder(Descriptors &d, const weir_cuda_convolution &desc, const ConvolutionShape &shape,
               DnnHandle handle)
      : d(d), desc(desc), shape(shape), handle(handle),
        result(layoutOf(shape.batch, shape.outputs, shape.result)),
        left((desc.addend >= 0) + (desc.bias != -1) + (desc.activation != 0)) {}

  DnnDescriptor build() {
    DnnDescriptor last = addConvolution();
    if (desc.addend >= 0)
      last = addPointwise(dnn::pointwiseAdd, last,
                          makeTensor(d, result, dnnTypeOf(desc.result_dtype), addendId));
    if (desc.bias != -1) {
      int64_t ones[3] = {1, 1, 1};
      Layout bias = layoutOf(1, shape.outputs, ones);
      last = addPointwise(dnn::pointwiseAdd, last,
                          makeTensor(d, bias, dnnTypeOf(desc.result_dtype), biasId));
    }
    if (desc.activation == WEIR_CUDA_RELU)
      addPointwise(dnn::pointwiseRelu, last, nullptr);
    return makeGraph(d, operations, count, handle);
  }

private:
  Layout layoutOf(int64_t first, int64_t second, const int64_t *spatial) const {
    return imageLayout(desc.spatial, desc.channels_last, first, second, spatial);
  }

  /// What the next operation writes: the result, if none follows.
  DnnDescriptor nextResult() {
    return left-- == 0 ? makeTensor(d, result, dnnTypeOf(desc.result_dtype), resultId)
                       : makeTensor(d, result, dnn::f32, virtualId + left);
  }

  DnnDescriptor addConvolution() {
    int64_t lifted[3], spatial = liftSpatial(desc.spatial, desc.before, 0, lifted);
    auto setAll = [&](DnnDescriptor target, int name, const int64_t *values, int64_t neutral) {
      liftSpatial(desc.spatial, values, neutral, lifted);
      d.set(target, name, dnn::typeInt64, lifted, spatial);
    };
    DnnDescriptor convolution = d.make(dnn::convolution);
    d.setNumber(convolution, dnn::convolutionType, dnn::typeData, dnn::f32);
    d.setNumber(convolution, dnn::convolutionMode, dnn::typeConvolutionMode, dnn::crossCorrelation);
    d.set(convolution, dnn::convolutionSpatial, dnn::typeInt64, &spatial);
    setAll(convolution, dnn::convolutionBefore, desc.before, 0);
    setAll(convolution, dnn::convolutionAfter, desc.after, 0);
    setAll(convolution, dnn::convolutionStrides, desc.strides, 1);
    setAll(convolution, dnn::convolutionDilations, desc.dilations, 1);
    d.finish(convolution);
    int32_t type = dnnTypeOf(desc.dtype);
    Layout filter = layoutOf(shape.outputs, shape.channels / desc.groups, shape.window),
           input = layoutOf(shape.batch, shape.channels, shape.sizes);
    DnnDescriptor operation = d.make(dnn::operationConvolution), target = nextResult();
    d.setDescriptor(operation, dnn::forwardInput, makeTensor(d, input, type, inputId));
    d.setDescriptor(operation, dnn::forwardFilter, makeTensor(d, filter, type, filterId));
    d.setDescriptor(operation, dnn::forwardResult, target);
    d.setDescriptor(operation, dnn::forwardConvolution, convolution);
    float one = 1, zero = 0;
    d.set(operation, dnn::forwardAlpha, dnn::typeFloat, &one);
    d.set(operation, dnn::forwardBeta, dnn::typeFloat, &zero);
    d.finish(operation);
    operations[count++] = operation;
    return target;
  }

  DnnDescriptor addPointwise(int32_t mode, DnnDescriptor from, DnnDescriptor other) {
    DnnDescriptor target = nextResult();
    operations[count++] = makePointwise(d, {mode}, from, other, nullptr, target);
    return target;
  }

  Descriptors &d;
  const weir_cuda_convolution &desc;
  const ConvolutionShape &shape;
  DnnHandle handle;
  Layout result;
  int left; ///< operations that are still to come
  DnnDescriptor operations[4];
  int64_t count = 0;
};

} // namespace

PlanText choosePlan(const Dnn &dnn, const DnnPlace &place, const weir_cuda_convolution &desc,
                    const ConvolutionShape &shape) {
  Descriptors d(dnn);
  DnnDescriptor graph = GraphBuilder(d, desc, shape, place.handle).build();
  bool mayUseCores = desc.dtype != WEIR_F32 || (desc.flags & WEIR_CUDA_TF32);
  return chooseWay(d, place, graph, {mayUseCores, false});
}

} // namespace weir::rt::cuda
