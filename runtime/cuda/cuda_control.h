//===- cuda_control.h - loops that a GPU decides itself ------ -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A loop whose condition the GPU computes is noted once: its condition, then its body, which
// ends with the condition's next value. In a CUDA graph it is a conditional node, whose body
// the GPU repeats while a kernel of ours finds the condition true (drivers of CUDA 12.4 and
// later). Elsewhere the host puts the body, and reads the condition each time it comes to its end.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CUDA_CUDA_CONTROL_H
#define WEIR_RUNTIME_CUDA_CUDA_CONTROL_H

#include "cuda/driver_api.h"
#include "support/sync.h"

struct weir_run;

namespace weir::rt::cuda {

struct CudaDevice;
struct CudaRun;

/// What sets a graph's conditions: looked for once, when a step first has one.
struct Control {
  Mutex mutex;
  bool tried;
  Module module;
  Function set; ///< null: the driver knows no conditional nodes
};

/// Whether graphs of the device may have conditional nodes. Its context is current.
bool hasControl(CudaDevice &device);
/// Unloads what that has loaded. The context is current.
void closeControl(CudaDevice &device);

/// A conditional node, from its condition to the end of its body.
struct ConditionalNode {
  uint64_t handle;
  Graph body;
  Stream outer; ///< that the node is captured in
};

/// While the run's work stream is captured: captures what sets a new condition from the byte at
/// `condition` (`isOther`: from its opposite). A CUresult.
Result captureCondition(CudaRun *part, Pointer condition, bool isOther, ConditionalNode *node);
/// Captures the node itself; from now on the run's work stream is that of its body, `depth` deep
/// in others, from 0.
Result beginConditional(CudaRun *part, bool isLoop, int32_t depth, ConditionalNode *node);
/// At the end of a loop's body: captures what sets the condition anew.
Result setCondition(CudaRun *part, Pointer condition, const ConditionalNode &node);
/// Ends the body, whatever became of it; the work stream is the outer one again.
Result endConditional(CudaRun *part, const ConditionalNode &node);

/// Waits for the work that was put, and reads the byte at `condition`; false where the step has
/// failed by then, or is to stop. The context is current.
Result readCondition(CudaRun *part, Pointer condition, bool *holds);

/// Loops of the run end when they come to their end next. Any thread.
void stopRun(weir_run *run, int32_t device);

} // namespace weir::rt::cuda

#endif // WEIR_RUNTIME_CUDA_CUDA_CONTROL_H
