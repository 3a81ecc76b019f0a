//===- work_records.h - what is noted of a step's work ------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What the files share that put noted work call by call, and as graphs.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CUDA_WORK_RECORDS_H
#define WEIR_RUNTIME_CUDA_WORK_RECORDS_H

#include "cuda/cuda_device.h"

namespace weir::rt::cuda {

inline const WorkRecord *recordAt(const PendingWork &work, int64_t at) {
  return reinterpret_cast<const WorkRecord *>(work.records + at);
}

/// How many nodes a record makes that may be set: a value of eight bytes is two.
inline int32_t settableNodes(const WorkRecord &record) {
  switch (record.kind) {
  case WorkKind::Launch:
  case WorkKind::Copy:
    return 1;
  case WorkKind::Store:
    return static_cast<const StoreRecord &>(record).size == 8 ? 2 : 1;
  default:
    return 0;
  }
}

/// The parameters of a launch, as the driver wants them.
struct LaunchParameters {
  static constexpr int32_t most = 512; // a kernel's parameters take up to 4 KiB
  void *pointers[most];

  explicit LaunchParameters(const LaunchRecord &launch) {
    auto *values = reinterpret_cast<const uint64_t *>(&launch + 1);
    constexpr int32_t mapWords = WEIR_CUDA_MAP_BYTES / 8;
    int32_t plain = launch.parameters - int32_t(launch.maps) * mapWords - int32_t(launch.table);
    for (int32_t i = 0; i < plain; ++i)
      pointers[i] = const_cast<uint64_t *>(values + i);
    for (int32_t i = 0; i < int32_t(launch.maps); ++i)
      pointers[plain + i] = const_cast<uint64_t *>(values + plain + i * mapWords);
    if (launch.table)
      pointers[plain + int32_t(launch.maps)] =
          const_cast<uint64_t *>(values + plain + int32_t(launch.maps) * mapWords);
  }
};

/// Puts what was noted into the run's work stream, call by call; with `captures` into the graph
/// that it is captured in. `nodes`: of that graph, where CUPTI watches; `recordNode`: gets the
/// nodes that may be set, two places a record, in their order. Null: nobody asks. False: not all
/// was put.
bool putPending(CudaRun *part, WorkFailure *failure, bool captures, GraphNodes *nodes,
                GraphNode *recordNode);

/// A graph of the run that does what was noted, or is made to; null: there is none.
CapturedWork *findGraph(CudaRun *part);

} // namespace weir::rt::cuda

#endif // WEIR_RUNTIME_CUDA_WORK_RECORDS_H
