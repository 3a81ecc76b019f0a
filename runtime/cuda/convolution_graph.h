//===- convolution_graph.h - convolutions as cuDNN sees them -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A convolution and what follows it is a graph of operations to the library,
// whose heuristics know ways to compute it. A way that was chosen is a plan, a
// text in the library's own format (JSON); it is made for a GPU that is there, or
// for one whose properties are known, and loads only where version, driver and
// GPU are the same.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CUDA_CONVOLUTION_GRAPH_H
#define WEIR_RUNTIME_CUDA_CONVOLUTION_GRAPH_H

#include "cuda/cudnn_api.h"
#include "weir/cuda.h"

namespace weir::rt::cuda {

/// The sizes of a convolution, as a launch has them.
struct ConvolutionShape {
  int64_t batch, channels, outputs;
  int64_t sizes[3], window[3], result[3]; ///< as many as there are
};

/// Plans use no more memory of their own than this, bytes.
inline constexpr int64_t convolutionWorkspace = int64_t(64) << 20;

/// Numbers of tensors in plans.
enum TensorId : int64_t { inputId = 1, filterId, resultId, addendId, biasId, virtualId };

/// Where a plan is to run: a GPU, or what a GPU was said to be.
struct DnnPlace {
  DnnHandle handle;
  DnnDescriptor device; ///< where `handle` is null
};

/// A text that free() frees.
struct PlanText {
  char *data;
  int64_t bytes;
};

ConvolutionShape shapeOf(const weir_cuda_convolution &desc, const int64_t *sizes);

/// Asks the library: the first of the ways it proposes that computes what `desc`
/// allows, in any order of runs the same, within the workspace. Null data: it
/// knows none, or the host has no memory.
PlanText choosePlan(const Dnn &dnn, const DnnPlace &place, const weir_cuda_convolution &desc,
                    const ConvolutionShape &shape);

/// Makes a plan ready. Null: it is not for this place and this version of the
/// library. `forget` frees it. `workspace`: bytes.
DnnDescriptor loadPlan(const Dnn &dnn, const DnnPlace &place, const char *text, int64_t bytes,
                       int64_t *workspace);

} // namespace weir::rt::cuda

#endif // WEIR_RUNTIME_CUDA_CONVOLUTION_GRAPH_H
