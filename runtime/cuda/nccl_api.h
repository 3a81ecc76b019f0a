//===- nccl_api.h - what we call of NCCL ------------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The part of NCCL 2 that the runtime calls, declared here: neither headers nor
// the library are needed to build or to link. Names, types and numbers are
// those of NVIDIA's documentation of NCCL 2.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CUDA_NCCL_API_H
#define WEIR_RUNTIME_CUDA_NCCL_API_H

#include "cuda/driver_api.h"

namespace weir::rt::cuda {

using Communicator = struct CommunicatorTag *; ///< ncclComm_t

namespace nccl {
/// ncclDataType_t.
inline constexpr int int8 = 0, uint8 = 1, int32 = 2, uint32 = 3, int64 = 4, uint64 = 5, float16 = 6,
                     float32 = 7, float64 = 8, bfloat16 = 9;
/// ncclRedOp_t.
inline constexpr int sum = 0, prod = 1, max = 2, min = 3;
} // namespace nccl

/// One entry a function: member, symbol, parameters. All return an
/// ncclResult_t.
#define WEIR_NCCL_FUNCTIONS(X)                                                                     \
  X(initAll, "ncclCommInitAll", (Communicator *, int, const int *))                                \
  X(destroy, "ncclCommDestroy", (Communicator))                                                    \
  X(abort, "ncclCommAbort", (Communicator))                                                        \
  X(groupStart, "ncclGroupStart", ())                                                              \
  X(groupEnd, "ncclGroupEnd", ())                                                                  \
  X(allReduce, "ncclAllReduce", (const void *, void *, size_t, int, int, Communicator, Stream))    \
  X(reduce, "ncclReduce", (const void *, void *, size_t, int, int, int, Communicator, Stream))

/// The library's functions.
struct Nccl {
#define WEIR_NCCL_MEMBER(member, symbol, parameters) int32_t(*member) parameters;
  WEIR_NCCL_FUNCTIONS(WEIR_NCCL_MEMBER)
#undef WEIR_NCCL_MEMBER
  const char *(*errorString)(int32_t error);
};

/// Loads libnccl.so.2, or what $WEIR_NCCL names, once a process; "off" loads
/// none. Null: there is no such library.
const Nccl *loadNccl();

} // namespace weir::rt::cuda

#endif // WEIR_RUNTIME_CUDA_NCCL_API_H
