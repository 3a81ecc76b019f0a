//===- cupti_api.h - what we call of CUPTI ----------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The part of CUPTI's activity and callback APIs that the runtime calls, declared
// here: neither headers nor the library are needed to build or to link. Names,
// types and numbers are those of NVIDIA's documentation. Records are declared as far
// as the versions 18 (CUDA 12.0) to 13 agree on them; they are longer.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CUDA_CUPTI_API_H
#define WEIR_RUNTIME_CUDA_CUPTI_API_H

#include "cuda/driver_api.h"

namespace weir::rt::cuda {

namespace cupti {
/// CUptiResult.
inline constexpr int32_t multipleSubscribers = 39;
/// CUpti_ActivityKind.
inline constexpr int32_t memcpyKind = 1, memsetKind = 2, driverKind = 4, runtimeKind = 5,
                         kernelKind = 10, peerCopyKind = 22, externalKind = 39;
/// CUpti_ExternalCorrelationKind: ids that are ours.
inline constexpr int32_t ownIds = 5;
inline constexpr uint32_t flushForced = 1;
/// Of CUpti_CallbackDomain and its callbacks.
inline constexpr int32_t resourceDomain = 3;
inline constexpr uint32_t nodeCreated = 13, nodeCloned = 20;
/// Versions whose records are known, the last one excluded.
inline constexpr uint32_t firstVersion = 18, endVersion = 140000;

struct Record {
  int32_t kind;
};
/// CUpti_ActivityKernel9 and later, up to the graph's node.
struct KernelRecord : Record {
  uint8_t cacheConfig, sharedMemoryConfig;
  uint16_t registers;
  int32_t partitioned[2];
  uint64_t start, end, completed;
  uint32_t device, context, stream;
  int32_t grid[3], block[3], sharedMemory[2];
  uint32_t localMemory[2], correlation;
  int64_t gridId;
  const char *name;
  void *reserved;
  uint64_t queued, submitted;
  uint8_t launchType, carveout[2], padding;
  uint32_t sharedMemoryExecuted;
  uint64_t graphNode;
};
/// CUpti_ActivityMemcpy5 and later.
struct CopyRecord : Record {
  uint8_t copyKind, from, to, flags;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation, runtimeCorrelation, padding;
  void *reserved;
  uint64_t graphNode;
};
/// CUpti_ActivityMemcpyPtoP4.
struct PeerCopyRecord : Record {
  uint8_t copyKind, from, to, flags;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, ends[4], correlation;
  void *reserved;
  uint64_t graphNode;
};
/// CUpti_ActivityMemset4.
struct SetRecord : Record {
  uint32_t value;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation;
  uint16_t flags, memoryKind;
  uint32_t padding;
  void *reserved;
  uint64_t graphNode;
};
/// CUpti_ActivityExternalCorrelation.
struct ExternalRecord : Record {
  int32_t externalKind;
  uint64_t id;
  uint32_t correlation, reserved;
};

/// CUpti_ResourceData, CUpti_GraphData as far as they are read.
struct GraphData {
  void *graph, *originalGraph, *node, *originalNode;
};
struct ResourceData {
  Context context;
  void *resource;
  const GraphData *graph;
};

using Subscriber = struct SubscriberTag *;
using Callback = void (*)(void *self, int32_t domain, uint32_t id, const void *data);
using BufferRequested = void (*)(uint8_t **buffer, size_t *size, size_t *mostRecords);
using BufferCompleted = void (*)(Context context, uint32_t stream, uint8_t *buffer, size_t size,
                                 size_t valid);
} // namespace cupti

/// One entry a function: member, symbol, parameters. All return a CUptiResult.
#define WEIR_CUPTI_FUNCTIONS(X)                                                                    \
  X(version, "cuptiGetVersion", (uint32_t *))                                                      \
  X(subscribe, "cuptiSubscribe", (cupti::Subscriber *, cupti::Callback, void *))                   \
  X(unsubscribe, "cuptiUnsubscribe", (cupti::Subscriber))                                          \
  X(enableCallback, "cuptiEnableCallback", (uint32_t, cupti::Subscriber, int32_t, uint32_t))       \
  X(registerBuffers, "cuptiActivityRegisterCallbacks",                                             \
    (cupti::BufferRequested, cupti::BufferCompleted))                                              \
  X(enable, "cuptiActivityEnable", (int32_t))                                                      \
  X(disable, "cuptiActivityDisable", (int32_t))                                                    \
  X(flushAll, "cuptiActivityFlushAll", (uint32_t))                                                 \
  X(nextRecord, "cuptiActivityGetNextRecord", (uint8_t *, size_t, cupti::Record **))               \
  X(droppedRecords, "cuptiActivityGetNumDroppedRecords", (Context, uint32_t, size_t *))            \
  X(pushId, "cuptiActivityPushExternalCorrelationId", (int32_t, uint64_t))                         \
  X(popId, "cuptiActivityPopExternalCorrelationId", (int32_t, uint64_t *))                         \
  X(graphNodeId, "cuptiGetGraphNodeId", (void *, uint64_t *))                                      \
  X(timestamp, "cuptiGetTimestamp", (uint64_t *))

/// The library's functions.
struct Cupti {
#define WEIR_CUPTI_MEMBER(member, symbol, parameters) int32_t(*member) parameters;
  WEIR_CUPTI_FUNCTIONS(WEIR_CUPTI_MEMBER)
#undef WEIR_CUPTI_MEMBER
};

/// Loads libcupti.so.13 or .12, or what $WEIR_CUPTI names, once a process; "off"
/// loads none. It watches libcuda.so.1 alone, so it is not looked for where
/// $WEIR_CUDA_DRIVER names another driver. Null: there is no such library.
const Cupti *loadCupti();

} // namespace weir::rt::cuda

#endif // WEIR_RUNTIME_CUDA_CUPTI_API_H
