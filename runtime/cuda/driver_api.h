//===- driver_api.h - what we call of libcuda -------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The part of the CUDA driver API that the runtime calls, declared here: neither
// headers nor libraries of CUDA are needed to build or to link. Names, types and
// numbers are those of NVIDIA's reference of the driver API.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CUDA_DRIVER_API_H
#define WEIR_RUNTIME_CUDA_DRIVER_API_H

#include <stddef.h>
#include <stdint.h>

namespace weir::rt::cuda {

using Result = int32_t; ///< CUresult, 0: success
using Device = int32_t;
using Pointer = uint64_t; ///< CUdeviceptr
using Context = struct ContextTag *;
using Module = struct ModuleTag *;
using Function = struct FunctionTag *;
using Stream = struct StreamTag *;
using Event = struct EventTag *;
using Graph = struct GraphTag *;
using GraphExec = struct GraphExecTag *;
using GraphNode = struct GraphNodeTag *;
using StreamCallback = void (*)(Stream stream, Result status, void *data);

inline constexpr Result outOfMemory = 2, noBinaryForGpu = 209, peerAccessIsThere = 704;
inline constexpr unsigned streamNonBlocking = 1, eventDisableTiming = 2;
inline constexpr int capabilityMajor = 75, capabilityMinor = 76, multiprocessors = 16,
                     secondLevelCache = 38, cooperativeLaunch = 95, virtualMemory = 102;
/// CUfunction_attribute.
inline constexpr int functionMostShared = 8;
/// CUtensorMapDataType, CUtensorMapSwizzle, CUtensorMapL2promotion.
inline constexpr int engineBytes = 0, engineF16 = 6, engineBF16 = 9;
inline constexpr int engineTurn128 = 3, engineFetch256 = 3;
inline constexpr int pointerMemoryType = 2; ///< CUpointer_attribute
/// Calls of other threads, and of libraries that load code, are not the
/// capture's.
inline constexpr int captureRelaxed = 2;

/// CUmemLocation, CUmemAllocationProp, CUmemAccessDesc.
struct MemoryLocation {
  int32_t type, id;
};
struct MemoryProperties {
  int32_t type, handleTypes;
  MemoryLocation location;
  void *attributes;
  uint8_t flags[8];
};
struct MemoryAccess {
  MemoryLocation location;
  int32_t flags;
};
inline constexpr int32_t memoryPinned = 1, locationDevice = 1, accessReadWrite = 3;

/// CUgraphExecUpdateResultInfo: why a graph does not fit.
struct GraphUpdate {
  int32_t result;
  void *node, *from;
};

/// CUDA_KERNEL_NODE_PARAMS_v2.
struct KernelNode {
  Function function;
  unsigned blocks[3], threads[3], shared;
  void **parameters, **extra;
  void *kernel;
  Context context;
};

/// CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS.
struct CopyEnd {
  size_t x, y, z, level;
  int32_t type;
  const void *host;
  Pointer device;
  void *array, *reserved;
  size_t pitch, height;
};
struct CopyNode {
  CopyEnd from, to;
  size_t width, height, depth; ///< in bytes, lines, slices
};
struct SetNode {
  Pointer to;
  size_t pitch;
  unsigned value, elementBytes;
  size_t width, height; ///< in elements, lines
};
inline constexpr int32_t memoryTypeDevice = 2; ///< CUmemorytype

/// CUlaunchAttribute, CUlaunchConfig.
struct LaunchAttribute {
  int32_t id;
  char pad[4];
  union {
    int32_t number;
    char bytes[64];
  };
};
struct LaunchConfig {
  unsigned blocks[3], threads[3], shared;
  Stream stream;
  LaunchAttribute *attributes;
  unsigned count;
};
/// The kernel may begin before the one that was put before it has ended, which it waits for
/// itself (griddepcontrol.wait).
inline constexpr int32_t launchMayBegin = 6;
/// All blocks run at the same time.
inline constexpr int32_t launchTogether = 2;
/// From this version on captures keep that.
inline constexpr int mayBeginVersion = 12030;

/// CUgraphNodeParams of a conditional node.
struct ConditionalParameters {
  uint64_t handle;
  int32_t type;
  unsigned count; ///< of bodies
  Graph *bodies;  ///< the driver's, in which they lie
  Context context;
};
struct NodeParameters {
  int32_t type;
  int32_t reserved[3];
  union {
    int64_t words[29];
    ConditionalParameters conditional;
  };
  int64_t reservedBehind;
};
/// CUgraphNodeType, CUgraphConditionalNodeType, CUstreamUpdateCaptureDependencies_flags.
inline constexpr int32_t conditionalNode = 13, ifNonzero = 0, whileNonzero = 1;
inline constexpr unsigned dependenciesReplace = 1;
/// From this version on graphs have conditional nodes of both kinds.
inline constexpr int conditionalVersion = 12040;

/// One entry a function: member, symbol, parameters.
#define WEIR_CUDA_FUNCTIONS(X)                                                                     \
  X(init, "cuInit", (unsigned))                                                                    \
  X(errorName, "cuGetErrorName", (Result, const char **))                                          \
  X(errorString, "cuGetErrorString", (Result, const char **))                                      \
  X(deviceCount, "cuDeviceGetCount", (int *))                                                      \
  X(deviceGet, "cuDeviceGet", (Device *, int))                                                     \
  X(deviceName, "cuDeviceGetName", (char *, int, Device))                                          \
  X(deviceAttribute, "cuDeviceGetAttribute", (int *, int, Device))                                 \
  X(contextRetain, "cuDevicePrimaryCtxRetain", (Context *, Device))                                \
  X(contextRelease, "cuDevicePrimaryCtxRelease_v2", (Device))                                      \
  X(contextPush, "cuCtxPushCurrent_v2", (Context))                                                 \
  X(contextPop, "cuCtxPopCurrent_v2", (Context *))                                                 \
  X(moduleLoad, "cuModuleLoadData", (Module *, const void *))                                      \
  X(moduleUnload, "cuModuleUnload", (Module))                                                      \
  X(moduleFunction, "cuModuleGetFunction", (Function *, Module, const char *))                     \
  X(functionSet, "cuFuncSetAttribute", (Function, int, int))                                       \
  X(tensorMap, "cuTensorMapEncodeTiled",                                                           \
    (void *, int, uint32_t, Pointer, const uint64_t *, const uint64_t *, const uint32_t *,         \
     const uint32_t *, int, int, int, int))                                                        \
  X(windowMap, "cuTensorMapEncodeIm2col",                                                          \
    (void *, int, uint32_t, Pointer, const uint64_t *, const uint64_t *, const int *, const int *, \
     uint32_t, uint32_t, const uint32_t *, int, int, int, int))                                    \
  X(memAlloc, "cuMemAlloc_v2", (Pointer *, size_t))                                                \
  X(memFree, "cuMemFree_v2", (Pointer))                                                            \
  X(totalMemory, "cuDeviceTotalMem_v2", (size_t *, Device))                                        \
  X(memoryInfo, "cuMemGetInfo_v2", (size_t *, size_t *))                                           \
  X(pointerAttribute, "cuPointerGetAttribute", (void *, int, Pointer))                             \
  X(memGranularity, "cuMemGetAllocationGranularity", (size_t *, const MemoryProperties *, int))    \
  X(addressReserve, "cuMemAddressReserve",                                                         \
    (Pointer *, size_t, size_t, Pointer, unsigned long long))                                      \
  X(addressFree, "cuMemAddressFree", (Pointer, size_t))                                            \
  X(memCreate, "cuMemCreate", (uint64_t *, size_t, const MemoryProperties *, unsigned long long))  \
  X(memRelease, "cuMemRelease", (uint64_t))                                                        \
  X(memMap, "cuMemMap", (Pointer, size_t, size_t, uint64_t, unsigned long long))                   \
  X(memUnmap, "cuMemUnmap", (Pointer, size_t))                                                     \
  X(memAccess, "cuMemSetAccess", (Pointer, size_t, const MemoryAccess *, size_t))                  \
  X(hostAlloc, "cuMemHostAlloc", (void **, size_t, unsigned))                                      \
  X(hostFree, "cuMemFreeHost", (void *))                                                           \
  X(copyIn, "cuMemcpyHtoD_v2", (Pointer, const void *, size_t))                                    \
  X(copyInAsync, "cuMemcpyHtoDAsync_v2", (Pointer, const void *, size_t, Stream))                  \
  X(copyOutAsync, "cuMemcpyDtoHAsync_v2", (void *, Pointer, size_t, Stream))                       \
  X(copyAsync, "cuMemcpyDtoDAsync_v2", (Pointer, Pointer, size_t, Stream))                         \
  X(copyPeerAsync, "cuMemcpyPeerAsync", (Pointer, Context, Pointer, Context, size_t, Stream))      \
  X(canAccessPeer, "cuDeviceCanAccessPeer", (int *, Device, Device))                               \
  X(enablePeer, "cuCtxEnablePeerAccess", (Context, unsigned))                                      \
  X(set8Async, "cuMemsetD8Async", (Pointer, unsigned char, size_t, Stream))                        \
  X(set16Async, "cuMemsetD16Async", (Pointer, unsigned short, size_t, Stream))                     \
  X(set32Async, "cuMemsetD32Async", (Pointer, unsigned, size_t, Stream))                           \
  X(streamCreate, "cuStreamCreate", (Stream *, unsigned))                                          \
  X(streamContext, "cuStreamGetCtx", (Stream, Context *))                                          \
  X(streamDestroy, "cuStreamDestroy_v2", (Stream))                                                 \
  X(streamSynchronize, "cuStreamSynchronize", (Stream))                                            \
  X(streamWait, "cuStreamWaitEvent", (Stream, Event, unsigned))                                    \
  X(streamCallback, "cuStreamAddCallback", (Stream, StreamCallback, void *, unsigned))             \
  X(eventCreate, "cuEventCreate", (Event *, unsigned))                                             \
  X(eventDestroy, "cuEventDestroy_v2", (Event))                                                    \
  X(eventRecord, "cuEventRecord", (Event, Stream))                                                 \
  X(eventElapsed, "cuEventElapsedTime", (float *, Event, Event))                                   \
  X(driverVersion, "cuDriverGetVersion", (int *))                                                  \
  X(captureBegin, "cuStreamBeginCapture_v2", (Stream, int))                                        \
  X(captureInfo, "cuStreamGetCaptureInfo_v2",                                                      \
    (Stream, int *, uint64_t *, Graph *, const GraphNode **, size_t *))                            \
  X(captureEnd, "cuStreamEndCapture", (Stream, Graph *))                                           \
  X(graphDestroy, "cuGraphDestroy", (Graph))                                                       \
  X(graphInstantiate, "cuGraphInstantiateWithFlags", (GraphExec *, Graph, unsigned long long))     \
  X(graphUpdate, "cuGraphExecUpdate_v2", (GraphExec, Graph, GraphUpdate *))                        \
  X(graphSetKernel, "cuGraphExecKernelNodeSetParams_v2",                                           \
    (GraphExec, GraphNode, const KernelNode *))                                                    \
  X(graphSetCopy, "cuGraphExecMemcpyNodeSetParams",                                                \
    (GraphExec, GraphNode, const CopyNode *, Context))                                             \
  X(graphSetFill, "cuGraphExecMemsetNodeSetParams",                                                \
    (GraphExec, GraphNode, const SetNode *, Context))                                              \
  X(graphLaunch, "cuGraphLaunch", (GraphExec, Stream))                                             \
  X(graphExecDestroy, "cuGraphExecDestroy", (GraphExec))                                           \
  X(launch, "cuLaunchKernel",                                                                      \
    (Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream,       \
     void **, void **))                                                                            \
  X(launchWith, "cuLaunchKernelEx", (const LaunchConfig *, Function, void **, void **))

/// The same of functions that came with later versions: null where there is none.
#define WEIR_CUDA_LATER_FUNCTIONS(X)                                                               \
  X(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor", (int *, Function, int, size_t))      \
  X(conditionCreate, "cuGraphConditionalHandleCreate",                                             \
    (uint64_t *, Graph, Context, unsigned, unsigned))                                              \
  X(graphAddNode, "cuGraphAddNode",                                                                \
    (GraphNode *, Graph, const GraphNode *, size_t, NodeParameters *))                             \
  X(captureToGraph, "cuStreamBeginCaptureToGraph",                                                 \
    (Stream, Graph, const GraphNode *, const void *, size_t, int))                                 \
  X(captureDependencies, "cuStreamUpdateCaptureDependencies",                                      \
    (Stream, GraphNode *, size_t, unsigned))

/// The driver's functions.
struct Driver {
#define WEIR_CUDA_MEMBER(member, symbol, parameters) Result(*member) parameters;
  WEIR_CUDA_FUNCTIONS(WEIR_CUDA_MEMBER)
  WEIR_CUDA_LATER_FUNCTIONS(WEIR_CUDA_MEMBER)
#undef WEIR_CUDA_MEMBER
};

/// Loads libcuda.so.1, or what $WEIR_CUDA_DRIVER names, and initialises it once
/// a process. Null: `why` (static storage, or of the loader) says what is
/// missing.
const Driver *loadDriver(const char **why);

} // namespace weir::rt::cuda

#endif // WEIR_RUNTIME_CUDA_DRIVER_API_H
