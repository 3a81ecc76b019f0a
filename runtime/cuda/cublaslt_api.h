//===- cublaslt_api.h - what we call of cuBLASLt ----------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The part of cuBLASLt that the runtime calls, declared here as driver_api.h
// declares the driver's. Names, types and numbers are those of NVIDIA's
// reference; test/cuda/headers.cpp compares them with the toolkit's headers.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CUDA_CUBLASLT_API_H
#define WEIR_RUNTIME_CUDA_CUBLASLT_API_H

#include "cuda/driver_api.h"

namespace weir::rt::cuda {

using BlasHandle = struct BlasHandleTag *;
using BlasMatmul = struct BlasMatmulTag *;         ///< cublasLtMatmulDesc_t
using BlasLayout = struct BlasLayoutTag *;         ///< cublasLtMatrixLayout_t
using BlasPreference = struct BlasPreferenceTag *; ///< cublasLtMatmulPreference_t

/// cublasLtMatmulAlgo_t: may be stored, and used again by the same version.
struct BlasAlgorithm {
  uint64_t data[8];
};

/// cublasLtMatmulHeuristicResult_t.
struct BlasChoice {
  BlasAlgorithm algorithm;
  size_t workspace;
  int32_t state; ///< 0: it works
  float waves;
  int32_t reserved[4];
};

namespace blas {
// cudaDataType_t
inline constexpr int r32f = 0, r64f = 1, r16f = 2, r16bf = 14;
// cublasComputeType_t
inline constexpr int compute32f = 68, compute64f = 70, computeTf32 = 77;
// cublasOperation_t
inline constexpr int32_t plain = 0, transposed = 1;
// cublasLtMatmulDescAttributes_t
inline constexpr int transA = 3, transB = 4, epilogue = 7, biasPointer = 8;
// cublasLtMatrixLayoutAttribute_t
inline constexpr int batchCount = 5, batchOffset = 6;
// cublasLtMatmulPreferenceAttributes_t
inline constexpr int maxWorkspace = 1, reductionSchemes = 3, alignmentA = 5, alignmentB = 6,
                     alignmentC = 7, alignmentD = 8;
// cublasLtReductionScheme_t: a bit each
inline constexpr uint32_t reduceInComputeType = 2;
// cublasLtEpilogue_t
inline constexpr uint32_t epilogueNone = 1, epilogueRelu = 2, epilogueBias = 4, epilogueGelu = 32;
} // namespace blas

/// One entry a function: member, symbol, parameters. All return a
/// cublasStatus_t.
#define WEIR_CUBLASLT_FUNCTIONS(X)                                                                 \
  X(create, "cublasLtCreate", (BlasHandle *))                                                      \
  X(destroy, "cublasLtDestroy", (BlasHandle))                                                      \
  X(matmulCreate, "cublasLtMatmulDescCreate", (BlasMatmul *, int, int))                            \
  X(matmulDestroy, "cublasLtMatmulDescDestroy", (BlasMatmul))                                      \
  X(matmulSet, "cublasLtMatmulDescSetAttribute", (BlasMatmul, int, const void *, size_t))          \
  X(layoutCreate, "cublasLtMatrixLayoutCreate", (BlasLayout *, int, uint64_t, uint64_t, int64_t))  \
  X(layoutDestroy, "cublasLtMatrixLayoutDestroy", (BlasLayout))                                    \
  X(layoutSet, "cublasLtMatrixLayoutSetAttribute", (BlasLayout, int, const void *, size_t))        \
  X(preferenceCreate, "cublasLtMatmulPreferenceCreate", (BlasPreference *))                        \
  X(preferenceDestroy, "cublasLtMatmulPreferenceDestroy", (BlasPreference))                        \
  X(preferenceSet, "cublasLtMatmulPreferenceSetAttribute",                                         \
    (BlasPreference, int, const void *, size_t))                                                   \
  X(choose, "cublasLtMatmulAlgoGetHeuristic",                                                      \
    (BlasHandle, BlasMatmul, BlasLayout, BlasLayout, BlasLayout, BlasLayout, BlasPreference, int,  \
     BlasChoice *, int *))                                                                         \
  X(check, "cublasLtMatmulAlgoCheck",                                                              \
    (BlasHandle, BlasMatmul, BlasLayout, BlasLayout, BlasLayout, BlasLayout,                       \
     const BlasAlgorithm *, BlasChoice *))                                                         \
  X(matmul, "cublasLtMatmul",                                                                      \
    (BlasHandle, BlasMatmul, const void *, const void *, BlasLayout, const void *, BlasLayout,     \
     const void *, const void *, BlasLayout, void *, BlasLayout, const BlasAlgorithm *, void *,    \
     size_t, Stream))

/// The library's functions.
struct Blas {
#define WEIR_CUBLASLT_MEMBER(member, symbol, parameters) int32_t(*member) parameters;
  WEIR_CUBLASLT_FUNCTIONS(WEIR_CUBLASLT_MEMBER)
#undef WEIR_CUBLASLT_MEMBER
  size_t (*version)();
};

/// Loads libcublasLt (versions 13 and 12), or what $WEIR_CUBLASLT names, once a
/// process; "off" loads none. Null: there is no such library.
const Blas *loadBlas();

} // namespace weir::rt::cuda

#endif // WEIR_RUNTIME_CUDA_CUBLASLT_API_H
