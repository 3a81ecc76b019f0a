//===- attention_graph.h - attention as cuDNN sees it ------ -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CUDA_ATTENTION_GRAPH_H
#define WEIR_RUNTIME_CUDA_ATTENTION_GRAPH_H

#include "cuda/dnn_graph.h"

namespace weir::rt::cuda {

/// A plan of what `desc` says; see chooseWay.
PlanText choosePlan(const Dnn &dnn, const DnnPlace &place, const weir_cuda_attention &desc);

} // namespace weir::rt::cuda

#endif // WEIR_RUNTIME_CUDA_ATTENTION_GRAPH_H
