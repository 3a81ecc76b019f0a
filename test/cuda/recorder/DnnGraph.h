//===- DnnGraph.h - graphs of operations, in cuDNN's stand-in -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_CUDA_RECORDER_DNNGRAPH_H
#define WEIR_TEST_CUDA_RECORDER_DNNGRAPH_H

#include "runtime/cuda/cudnn_api.h"
#include "test/cuda/recorder/Numbers.h"

#include <map>
#include <string>
#include <vector>

namespace recorder {

using Numbers = std::vector<int64_t>;

struct Tensor {
  int64_t id = 0, type = 0, isVirtual = 0;
  int64_t isByValue = 0; ///< the host gives it
  Numbers sizes, strides;
};
struct Step {
  int64_t kind = 0; ///< the operation's descriptor
  int64_t mode = 0; ///< of pointwise operations, reductions, resamplings
  /// Tensors by id; `other`: filter, addend, right operand.
  int64_t x = 0, other = -1, condition = -1, y = 0;
  int64_t axis = -1; ///< of what numbers elements
  Numbers before, after, strides, dilations, window;
};
struct DnnGraph {
  std::map<int64_t, Tensor> tensors;
  std::vector<Step> steps;
};
struct Plan {
  int64_t engine = 0, workspace = 0;
  int64_t deviceVersion = 0, processors = 0;
  DnnGraph graph;
};

/// A plan that is executed: pointers of its tensors.
struct Call {
  Plan plan;
  std::map<int64_t, uint64_t> pointers;
  std::map<int64_t, double> numbers; ///< what the host gave, as it was
  uint64_t workspace;
};

/// Whether heuristics of `mode` propose ways to compute the graph.
bool isKnown(const DnnGraph &graph, int32_t mode);

/// A plan as the text that version `version` of the library writes.
std::string toText(const Plan &plan, size_t version);
/// Returns a cudnnStatus_t.
int32_t fromText(const std::string &text, size_t version, Plan &plan);

/// Computes the graph on the host; its tensors are reads and writes.
void compute(const Call &call);

inline Form formOf(int64_t type) {
  namespace dnn = weir::rt::cuda::dnn;
  return type == dnn::f32 ? Form::F32 : type == dnn::f16 ? Form::F16 : Form::Bf16;
}

} // namespace recorder

#endif // WEIR_TEST_CUDA_RECORDER_DNNGRAPH_H
