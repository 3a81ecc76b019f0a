//===- cudnn_api.h - what we call of cuDNN ----------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The part of cuDNN 9's backend API that the runtime calls, declared here as
// driver_api.h declares the driver's. Names, types and numbers are those of
// NVIDIA's reference; test/cuda/headers.test compares them with its headers.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CUDA_CUDNN_API_H
#define WEIR_RUNTIME_CUDA_CUDNN_API_H

#include "cuda/driver_api.h"

namespace weir::rt::cuda {

using DnnHandle = struct DnnHandleTag *;
using DnnDescriptor = void *; ///< cudnnBackendDescriptor_t

namespace dnn {
// cudnnDataType_t
inline constexpr int32_t f32 = 0, f16 = 2, i32 = 4, bf16 = 9, boolean = 11;
// cudnnConvolutionMode_t
inline constexpr int32_t crossCorrelation = 1;
// cudnnPointwiseMode_t
inline constexpr int32_t pointwiseAdd = 0, pointwiseMul = 1, pointwiseDiv = 6, pointwiseSub = 9,
                         pointwiseExp = 13, pointwiseLog = 15, pointwiseRelu = 100,
                         pointwiseGreaterEqual = 303, pointwiseIndex = 501, pointwiseSelect = 601;
// cudnnReduceTensorOp_t
inline constexpr int32_t reduceAdd = 0, reduceMax = 3;
// cudnnResampleMode_t
inline constexpr int32_t resampleAveragePadded = 2, resampleMax = 3, resampleAverageInside = 4;
// cudnnPaddingMode_t
inline constexpr int32_t paddingZero = 0, paddingLowest = 1;
// cudnnNanPropagation_t
inline constexpr int32_t propagateNan = 1;
// cudnnBackendHeurMode_t
inline constexpr int32_t heuristicsFallback = 2, heuristicsA = 3;
// cudnnBackendNumericalNote_t
inline constexpr int32_t noteTensorCore = 0, noteDownConvert = 1, noteReducedReduction = 2,
                         noteFft = 3, noteNondeterministic = 4, noteWinograd = 5, noteStrictNan = 9,
                         noteCount = 10;
// cudnnBackendDescriptorType_t
inline constexpr int convolution = 1, engine = 2, engineConfig = 3, engineHeuristics = 4,
                     executionPlan = 5, operationConvolution = 10, operationPointwise = 13,
                     pointwise = 0, operationGraph = 15, variantPack = 16, tensor = 17, matmul = 18,
                     operationMatmul = 19, reduction = 21, operationReduction = 22, resample = 24,
                     operationResample = 25, deviceProperties = 38;
// cudnnBackendAttributeType_t
inline constexpr int typeHandle = 0, typeData = 1, typeBoolean = 2, typeInt64 = 3, typeFloat = 4,
                     typePointer = 6, typeConvolutionMode = 7, typeHeuristicsMode = 8, typeNan = 10,
                     typeNote = 11, typePointwiseMode = 14, typeDescriptor = 15, typeReduction = 18,
                     typeResampleMode = 21, typePadding = 22, typeChar = 24;
// cudnnBackendAttributeName_t
inline constexpr int pointwiseMode = 0, pointwisePrecision = 1, pointwiseAxis = 9;
inline constexpr int convolutionType = 100, convolutionMode = 101, convolutionDilations = 102,
                     convolutionStrides = 103, convolutionAfter = 104, convolutionBefore = 105,
                     convolutionSpatial = 106;
inline constexpr int heuristicsMode = 200, heuristicsGraph = 201, heuristicsResults = 202,
                     heuristicsDevice = 204;
inline constexpr int configEngine = 300;
inline constexpr int planHandle = 400, planConfig = 401, planWorkspace = 402, planJson = 405,
                     planDevice = 407;
inline constexpr int forwardAlpha = 700, forwardBeta = 701, forwardConvolution = 702,
                     forwardFilter = 703, forwardInput = 704, forwardResult = 705;
inline constexpr int applyPointwise = 750, applyInput = 751, applyOther = 752, applyResult = 753,
                     applyCondition = 758;
inline constexpr int graphHandle = 800, graphOperations = 801;
inline constexpr int tensorAlignment = 900, tensorType = 901, tensorSizes = 902,
                     tensorStrides = 903, tensorId = 906, tensorIsVirtual = 907,
                     tensorIsByValue = 908;
inline constexpr int packIds = 1000, packPointers = 1001, packWorkspace = 1003;
inline constexpr int engineNotes = 1303;
inline constexpr int matmulType = 1500, matmulLeft = 1520, matmulRight = 1521, matmulResult = 1522,
                     matmulOf = 1523;
inline constexpr int reductionOperator = 1600, reductionType = 1601, reductionInput = 1610,
                     reductionResult = 1611, reductionOf = 1612;
inline constexpr int resampleMode = 1700, resampleType = 1701, resampleSpatial = 1702,
                     resampleAfter = 1703, resampleBefore = 1704, resampleStrides = 1705,
                     resampleWindow = 1706, resampleNan = 1707, resamplePadding = 1708,
                     resampleInput = 1710, resampleResult = 1711, resampleOf = 1716;
inline constexpr int deviceHandle = 2701, deviceJson = 2702;
} // namespace dnn

/// One entry a function: member, symbol, parameters. All return a
/// cudnnStatus_t.
#define WEIR_CUDNN_FUNCTIONS(X)                                                                    \
  X(create, "cudnnCreate", (DnnHandle *))                                                          \
  X(destroy, "cudnnDestroy", (DnnHandle))                                                          \
  X(setStream, "cudnnSetStream", (DnnHandle, Stream))                                              \
  X(describe, "cudnnBackendCreateDescriptor", (int, DnnDescriptor *))                              \
  X(forget, "cudnnBackendDestroyDescriptor", (DnnDescriptor))                                      \
  X(set, "cudnnBackendSetAttribute", (DnnDescriptor, int, int, int64_t, const void *))             \
  X(get, "cudnnBackendGetAttribute", (DnnDescriptor, int, int, int64_t, int64_t *, void *))        \
  X(finalize, "cudnnBackendFinalize", (DnnDescriptor))                                             \
  X(execute, "cudnnBackendExecute", (DnnHandle, DnnDescriptor, DnnDescriptor))

/// The library's functions.
struct Dnn {
#define WEIR_CUDNN_MEMBER(member, symbol, parameters) int32_t(*member) parameters;
  WEIR_CUDNN_FUNCTIONS(WEIR_CUDNN_MEMBER)
#undef WEIR_CUDNN_MEMBER
  size_t (*version)();
};

/// Loads libcudnn.so.9, or what $WEIR_CUDNN names, once a process; "off" loads
/// none. Null: there is no such library.
const Dnn *loadDnn();

} // namespace weir::rt::cuda

#endif // WEIR_RUNTIME_CUDA_CUDNN_API_H
