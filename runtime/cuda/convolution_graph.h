//===- convolution_graph.h - convolutions as cuDNN sees them -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CUDA_CONVOLUTION_GRAPH_H
#define WEIR_RUNTIME_CUDA_CONVOLUTION_GRAPH_H

#include "cuda/dnn_graph.h"

namespace weir::rt::cuda {

/// The sizes of a convolution, as a launch has them.
struct ConvolutionShape {
  int64_t batch, channels, outputs;
  int64_t sizes[3], window[3], result[3]; ///< as many as there are
};

ConvolutionShape shapeOf(const weir_cuda_convolution &desc, const int64_t *sizes);

/// A plan of what `desc` says; tensor cores for f32 where its flags allow TF32. See
/// chooseWay.
PlanText choosePlan(const Dnn &dnn, const DnnPlace &place, const weir_cuda_convolution &desc,
                    const ConvolutionShape &shape);

} // namespace weir::rt::cuda

#endif // WEIR_RUNTIME_CUDA_CONVOLUTION_GRAPH_H
