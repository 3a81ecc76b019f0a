//===- activity.h - what CUPTI says that GPUs did ----------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// One subscription to CUPTI a process, from the first traced run until the last
// device that had one closes. Records come on whatever thread, also CUPTI's own, and
// wait in a pool until the run that they belong to takes them. A call is known by
// the id that was pushed around it, a kernel in a CUDA graph by its node.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CUDA_ACTIVITY_H
#define WEIR_RUNTIME_CUDA_ACTIVITY_H

#include "cuda/cupti_api.h"

namespace weir::rt::cuda {

struct CudaDevice;

/// Which of a captured sequence's records each node of a graph comes from.
/// Counted references; all of one are taken and dropped by one run object.
struct GraphNodes {
  struct Node {
    uint64_t id;
    int32_t position;
  };
  int32_t references;
  int32_t count, capacity;
  int32_t position; ///< of what is captured now; -1: nothing is
  bool failed;      ///< a node is missing: no memory, or no id
  Node *nodes;
  long thread;      ///< that captures
  GraphNodes *next; ///< that another thread captures
};

/// Subscribes for a device whose runs are traced for the first time. Whether there
/// is CUPTI afterwards is in `device.cupti`, why not in `device.noCupti`.
/// Thread-safe.
void openActivity(CudaDevice &device);
/// Before the device closes; nothing of it is in flight. The last one unsubscribes.
void closeActivity(CudaDevice &device);

/// From here to endNodes the thread captures and instantiates one graph. Null: no
/// memory.
GraphNodes *beginNodes();
/// Null, with `nodes` dropped: not all are known.
GraphNodes *endNodes(GraphNodes *nodes);
void dropNodes(GraphNodes *nodes);
/// -1: none of them.
int32_t positionOf(const GraphNodes &nodes, uint64_t id);

/// Something that the GPU did.
struct Activity {
  uint64_t id;         ///< that was pushed around the call
  uint64_t graphNode;  ///< 0: not in a graph
  uint64_t begin, end; ///< CUPTI's clock, nanoseconds
};

/// A number that ids of a run have in their upper half; records are kept from now
/// on.
uint32_t beginActivity();
/// Hands on what has come of it since the last time.
void takeActivity(uint32_t serial, void (*take)(void *self, const Activity &activity), void *self);
/// Forgets the rest.
void endActivity(uint32_t serial);
/// Records that were lost so far in the process.
uint64_t lostActivity();

} // namespace weir::rt::cuda

#endif // WEIR_RUNTIME_CUDA_ACTIVITY_H
