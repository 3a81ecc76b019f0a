// What the runtime declares of NVIDIA's libraries, against their own headers.

#include <cublasLt.h>
#include <cuda.h>
#if __has_include(<cudnn.h>)
#include <cudnn.h>
#define HAS_CUDNN 1
#endif

#if __has_include(<cupti.h>)
#include <cupti.h>
#define HAS_CUPTI 1
#endif

#if __has_include(<nccl.h>)
#include <nccl.h>
#define HAS_NCCL 1
#endif

#include "runtime/cuda/cublaslt_api.h"
#include "runtime/cuda/cudnn_api.h"
#include "runtime/cuda/cupti_api.h"
#include "runtime/cuda/nccl_api.h"
#include "runtime/include/weir/cuda.h"

#include <type_traits>

using namespace weir::rt::cuda;

#define SAME(ours, theirs) static_assert(int64_t(ours) == int64_t(theirs))
SAME(outOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
SAME(noBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME(peerAccessIsThere, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
SAME(streamNonBlocking, CU_STREAM_NON_BLOCKING);
SAME(eventDisableTiming, CU_EVENT_DISABLE_TIMING);
SAME(capabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(capabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(secondLevelCache, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
SAME(functionMostShared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(launchMayBegin, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
SAME(sizeof(LaunchAttribute), sizeof(CUlaunchAttribute));
SAME(offsetof(LaunchAttribute, number), offsetof(CUlaunchAttribute, value));
SAME(sizeof(LaunchConfig), sizeof(CUlaunchConfig));
SAME(offsetof(LaunchConfig, threads), offsetof(CUlaunchConfig, blockDimX));
SAME(offsetof(LaunchConfig, shared), offsetof(CUlaunchConfig, sharedMemBytes));
SAME(offsetof(LaunchConfig, stream), offsetof(CUlaunchConfig, hStream));
SAME(offsetof(LaunchConfig, attributes), offsetof(CUlaunchConfig, attrs));
SAME(offsetof(LaunchConfig, count), offsetof(CUlaunchConfig, numAttrs));
SAME(engineBytes, CU_TENSOR_MAP_DATA_TYPE_UINT8);
SAME(engineF16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
SAME(engineBF16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
SAME(engineTurn128, CU_TENSOR_MAP_SWIZZLE_128B);
SAME(engineFetch256, CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
SAME(WEIR_CUDA_MAP_BYTES, sizeof(CUtensorMap));
SAME(pointerMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME(cooperativeLaunch, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
SAME(launchTogether, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
SAME(virtualMemory, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
SAME(captureRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME(memoryPinned, CU_MEM_ALLOCATION_TYPE_PINNED);
SAME(locationDevice, CU_MEM_LOCATION_TYPE_DEVICE);
SAME(accessReadWrite, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
SAME(sizeof(MemoryProperties), sizeof(CUmemAllocationProp));
SAME(offsetof(MemoryProperties, location), offsetof(CUmemAllocationProp, location));
SAME(sizeof(MemoryAccess), sizeof(CUmemAccessDesc));
SAME(offsetof(MemoryAccess, flags), offsetof(CUmemAccessDesc, flags));
SAME(sizeof(GraphUpdate), sizeof(CUgraphExecUpdateResultInfo));
SAME(sizeof(Pointer), sizeof(CUdeviceptr));
SAME(sizeof(KernelNode), sizeof(CUDA_KERNEL_NODE_PARAMS));
SAME(offsetof(KernelNode, threads), offsetof(CUDA_KERNEL_NODE_PARAMS, blockDimX));
SAME(offsetof(KernelNode, shared), offsetof(CUDA_KERNEL_NODE_PARAMS, sharedMemBytes));
SAME(offsetof(KernelNode, parameters), offsetof(CUDA_KERNEL_NODE_PARAMS, kernelParams));
SAME(offsetof(KernelNode, context), offsetof(CUDA_KERNEL_NODE_PARAMS, ctx));
SAME(sizeof(CopyNode), sizeof(CUDA_MEMCPY3D));
SAME(offsetof(CopyNode, from.device), offsetof(CUDA_MEMCPY3D, srcDevice));
SAME(offsetof(CopyNode, from.type), offsetof(CUDA_MEMCPY3D, srcMemoryType));
SAME(offsetof(CopyNode, to.device), offsetof(CUDA_MEMCPY3D, dstDevice));
SAME(offsetof(CopyNode, to.type), offsetof(CUDA_MEMCPY3D, dstMemoryType));
SAME(offsetof(CopyNode, width), offsetof(CUDA_MEMCPY3D, WidthInBytes));
SAME(memoryTypeDevice, CU_MEMORYTYPE_DEVICE);
SAME(sizeof(SetNode), sizeof(CUDA_MEMSET_NODE_PARAMS));
SAME(offsetof(SetNode, value), offsetof(CUDA_MEMSET_NODE_PARAMS, value));
SAME(offsetof(SetNode, elementBytes), offsetof(CUDA_MEMSET_NODE_PARAMS, elementSize));
SAME(offsetof(SetNode, width), offsetof(CUDA_MEMSET_NODE_PARAMS, width));
SAME(sizeof(NodeParameters), sizeof(CUgraphNodeParams));
SAME(offsetof(NodeParameters, conditional), offsetof(CUgraphNodeParams, conditional));
SAME(sizeof(ConditionalParameters), sizeof(CUDA_CONDITIONAL_NODE_PARAMS));
SAME(offsetof(ConditionalParameters, type), offsetof(CUDA_CONDITIONAL_NODE_PARAMS, type));
SAME(offsetof(ConditionalParameters, count), offsetof(CUDA_CONDITIONAL_NODE_PARAMS, size));
SAME(offsetof(ConditionalParameters, bodies), offsetof(CUDA_CONDITIONAL_NODE_PARAMS, phGraph_out));
SAME(offsetof(ConditionalParameters, context), offsetof(CUDA_CONDITIONAL_NODE_PARAMS, ctx));
SAME(conditionalNode, CU_GRAPH_NODE_TYPE_CONDITIONAL);
SAME(ifNonzero, CU_GRAPH_COND_TYPE_IF);
SAME(whileNonzero, CU_GRAPH_COND_TYPE_WHILE);
SAME(dependenciesReplace, CU_STREAM_SET_CAPTURE_DEPENDENCIES);

SAME(blas::r32f, CUDA_R_32F);
SAME(blas::r64f, CUDA_R_64F);
SAME(blas::r16f, CUDA_R_16F);
SAME(blas::r16bf, CUDA_R_16BF);
SAME(blas::compute32f, CUBLAS_COMPUTE_32F);
SAME(blas::compute64f, CUBLAS_COMPUTE_64F);
SAME(blas::computeTf32, CUBLAS_COMPUTE_32F_FAST_TF32);
SAME(blas::plain, CUBLAS_OP_N);
SAME(blas::transposed, CUBLAS_OP_T);
SAME(blas::transA, CUBLASLT_MATMUL_DESC_TRANSA);
SAME(blas::transB, CUBLASLT_MATMUL_DESC_TRANSB);
SAME(blas::epilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
SAME(blas::biasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
SAME(blas::batchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
SAME(blas::batchOffset, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
SAME(blas::reductionSchemes, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
SAME(blas::reduceInComputeType, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
SAME(blas::maxWorkspace, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME(blas::alignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
SAME(blas::alignmentB, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
SAME(blas::alignmentC, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
SAME(blas::alignmentD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
SAME(blas::epilogueNone, CUBLASLT_EPILOGUE_DEFAULT);
SAME(blas::epilogueRelu, CUBLASLT_EPILOGUE_RELU);
SAME(blas::epilogueBias, CUBLASLT_EPILOGUE_BIAS);
SAME(blas::epilogueRelu | blas::epilogueBias, CUBLASLT_EPILOGUE_RELU_BIAS);
SAME(blas::epilogueGelu, CUBLASLT_EPILOGUE_GELU);
SAME(blas::epilogueGelu | blas::epilogueBias, CUBLASLT_EPILOGUE_GELU_BIAS);
SAME(sizeof(BlasAlgorithm), sizeof(cublasLtMatmulAlgo_t));
SAME(sizeof(BlasChoice), sizeof(cublasLtMatmulHeuristicResult_t));
SAME(offsetof(BlasChoice, workspace), offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
SAME(offsetof(BlasChoice, state), offsetof(cublasLtMatmulHeuristicResult_t, state));

#ifdef HAS_CUDNN
SAME(dnn::f32, CUDNN_DATA_FLOAT);
SAME(dnn::f16, CUDNN_DATA_HALF);
SAME(dnn::i32, CUDNN_DATA_INT32);
SAME(dnn::bf16, CUDNN_DATA_BFLOAT16);
SAME(dnn::boolean, CUDNN_DATA_BOOLEAN);
SAME(dnn::crossCorrelation, CUDNN_CROSS_CORRELATION);
SAME(dnn::pointwiseAdd, CUDNN_POINTWISE_ADD);
SAME(dnn::pointwiseMul, CUDNN_POINTWISE_MUL);
SAME(dnn::pointwiseDiv, CUDNN_POINTWISE_DIV);
SAME(dnn::pointwiseSub, CUDNN_POINTWISE_SUB);
SAME(dnn::pointwiseExp, CUDNN_POINTWISE_EXP);
SAME(dnn::pointwiseLog, CUDNN_POINTWISE_LOG);
SAME(dnn::pointwiseRelu, CUDNN_POINTWISE_RELU_FWD);
SAME(dnn::pointwiseGreaterEqual, CUDNN_POINTWISE_CMP_GE);
SAME(dnn::pointwiseIndex, CUDNN_POINTWISE_GEN_INDEX);
SAME(dnn::pointwiseSelect, CUDNN_POINTWISE_BINARY_SELECT);
SAME(dnn::reduceAdd, CUDNN_REDUCE_TENSOR_ADD);
SAME(dnn::reduceMax, CUDNN_REDUCE_TENSOR_MAX);
SAME(dnn::resampleAveragePadded, CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING);
SAME(dnn::resampleMax, CUDNN_RESAMPLE_MAXPOOL);
SAME(dnn::resampleAverageInside, CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING);
SAME(dnn::paddingZero, CUDNN_ZERO_PAD);
SAME(dnn::paddingLowest, CUDNN_NEG_INF_PAD);
SAME(dnn::propagateNan, CUDNN_PROPAGATE_NAN);
SAME(dnn::heuristicsFallback, CUDNN_HEUR_MODE_FALLBACK);
SAME(dnn::heuristicsA, CUDNN_HEUR_MODE_A);
SAME(dnn::noteTensorCore, CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
SAME(dnn::noteDownConvert, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
SAME(dnn::noteReducedReduction, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION);
SAME(dnn::noteFft, CUDNN_NUMERICAL_NOTE_FFT);
SAME(dnn::noteNondeterministic, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
SAME(dnn::noteWinograd, CUDNN_NUMERICAL_NOTE_WINOGRAD);
SAME(dnn::noteStrictNan, CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP);
SAME(dnn::noteCount, CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
SAME(dnn::convolution, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
SAME(dnn::engine, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
SAME(dnn::engineConfig, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
SAME(dnn::engineHeuristics, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
SAME(dnn::executionPlan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
SAME(dnn::operationConvolution, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
SAME(dnn::operationPointwise, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
SAME(dnn::pointwise, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
SAME(dnn::operationGraph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
SAME(dnn::variantPack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
SAME(dnn::tensor, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
SAME(dnn::matmul, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
SAME(dnn::operationMatmul, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
SAME(dnn::reduction, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
SAME(dnn::operationReduction, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
SAME(dnn::resample, CUDNN_BACKEND_RESAMPLE_DESCRIPTOR);
SAME(dnn::operationResample, CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR);
SAME(dnn::deviceProperties, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
SAME(dnn::typeHandle, CUDNN_TYPE_HANDLE);
SAME(dnn::typeData, CUDNN_TYPE_DATA_TYPE);
SAME(dnn::typeBoolean, CUDNN_TYPE_BOOLEAN);
SAME(dnn::typeInt64, CUDNN_TYPE_INT64);
SAME(dnn::typeFloat, CUDNN_TYPE_FLOAT);
SAME(dnn::typePointer, CUDNN_TYPE_VOID_PTR);
SAME(dnn::typeConvolutionMode, CUDNN_TYPE_CONVOLUTION_MODE);
SAME(dnn::typeHeuristicsMode, CUDNN_TYPE_HEUR_MODE);
SAME(dnn::typeNan, CUDNN_TYPE_NAN_PROPOGATION);
SAME(dnn::typeReduction, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE);
SAME(dnn::typeResampleMode, CUDNN_TYPE_RESAMPLE_MODE);
SAME(dnn::typePadding, CUDNN_TYPE_PADDING_MODE);
SAME(dnn::typeNote, CUDNN_TYPE_NUMERICAL_NOTE);
SAME(dnn::typePointwiseMode, CUDNN_TYPE_POINTWISE_MODE);
SAME(dnn::typeDescriptor, CUDNN_TYPE_BACKEND_DESCRIPTOR);
SAME(dnn::typeChar, CUDNN_TYPE_CHAR);
SAME(dnn::pointwiseMode, CUDNN_ATTR_POINTWISE_MODE);
SAME(dnn::pointwisePrecision, CUDNN_ATTR_POINTWISE_MATH_PREC);
SAME(dnn::pointwiseAxis, CUDNN_ATTR_POINTWISE_AXIS);
SAME(dnn::convolutionType, CUDNN_ATTR_CONVOLUTION_COMP_TYPE);
SAME(dnn::convolutionMode, CUDNN_ATTR_CONVOLUTION_CONV_MODE);
SAME(dnn::convolutionDilations, CUDNN_ATTR_CONVOLUTION_DILATIONS);
SAME(dnn::convolutionStrides, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
SAME(dnn::convolutionAfter, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
SAME(dnn::convolutionBefore, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
SAME(dnn::convolutionSpatial, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
SAME(dnn::heuristicsMode, CUDNN_ATTR_ENGINEHEUR_MODE);
SAME(dnn::heuristicsGraph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
SAME(dnn::heuristicsResults, CUDNN_ATTR_ENGINEHEUR_RESULTS);
SAME(dnn::heuristicsDevice, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
SAME(dnn::configEngine, CUDNN_ATTR_ENGINECFG_ENGINE);
SAME(dnn::planHandle, CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
SAME(dnn::planConfig, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
SAME(dnn::planWorkspace, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
SAME(dnn::planJson, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
SAME(dnn::planDevice, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
SAME(dnn::forwardAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA);
SAME(dnn::forwardBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA);
SAME(dnn::forwardConvolution, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
SAME(dnn::forwardFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
SAME(dnn::forwardInput, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
SAME(dnn::forwardResult, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
SAME(dnn::applyPointwise, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
SAME(dnn::applyInput, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
SAME(dnn::applyOther, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
SAME(dnn::applyResult, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
SAME(dnn::applyCondition, CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
SAME(dnn::graphHandle, CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
SAME(dnn::graphOperations, CUDNN_ATTR_OPERATIONGRAPH_OPS);
SAME(dnn::tensorAlignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
SAME(dnn::tensorType, CUDNN_ATTR_TENSOR_DATA_TYPE);
SAME(dnn::tensorSizes, CUDNN_ATTR_TENSOR_DIMENSIONS);
SAME(dnn::tensorStrides, CUDNN_ATTR_TENSOR_STRIDES);
SAME(dnn::tensorId, CUDNN_ATTR_TENSOR_UNIQUE_ID);
SAME(dnn::tensorIsVirtual, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
SAME(dnn::tensorIsByValue, CUDNN_ATTR_TENSOR_IS_BY_VALUE);
SAME(dnn::packIds, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
SAME(dnn::packPointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
SAME(dnn::packWorkspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
SAME(dnn::engineNotes, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);
SAME(dnn::matmulType, CUDNN_ATTR_MATMUL_COMP_TYPE);
SAME(dnn::matmulLeft, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
SAME(dnn::matmulRight, CUDNN_ATTR_OPERATION_MATMUL_BDESC);
SAME(dnn::matmulResult, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
SAME(dnn::matmulOf, CUDNN_ATTR_OPERATION_MATMUL_DESC);
SAME(dnn::reductionOperator, CUDNN_ATTR_REDUCTION_OPERATOR);
SAME(dnn::reductionType, CUDNN_ATTR_REDUCTION_COMP_TYPE);
SAME(dnn::reductionInput, CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
SAME(dnn::reductionResult, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
SAME(dnn::reductionOf, CUDNN_ATTR_OPERATION_REDUCTION_DESC);
SAME(dnn::resampleMode, CUDNN_ATTR_RESAMPLE_MODE);
SAME(dnn::resampleType, CUDNN_ATTR_RESAMPLE_COMP_TYPE);
SAME(dnn::resampleSpatial, CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS);
SAME(dnn::resampleAfter, CUDNN_ATTR_RESAMPLE_POST_PADDINGS);
SAME(dnn::resampleBefore, CUDNN_ATTR_RESAMPLE_PRE_PADDINGS);
SAME(dnn::resampleStrides, CUDNN_ATTR_RESAMPLE_STRIDES);
SAME(dnn::resampleWindow, CUDNN_ATTR_RESAMPLE_WINDOW_DIMS);
SAME(dnn::resampleNan, CUDNN_ATTR_RESAMPLE_NAN_PROPAGATION);
SAME(dnn::resamplePadding, CUDNN_ATTR_RESAMPLE_PADDING_MODE);
SAME(dnn::resampleInput, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC);
SAME(dnn::resampleResult, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC);
SAME(dnn::resampleOf, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC);
SAME(dnn::deviceHandle, CUDNN_ATTR_DEVICEPROP_HANDLE);
SAME(dnn::deviceJson, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
#endif

#ifdef HAS_NCCL
SAME(nccl::int8, ncclInt8);
SAME(nccl::uint8, ncclUint8);
SAME(nccl::int32, ncclInt32);
SAME(nccl::uint32, ncclUint32);
SAME(nccl::int64, ncclInt64);
SAME(nccl::uint64, ncclUint64);
SAME(nccl::float16, ncclFloat16);
SAME(nccl::float32, ncclFloat32);
SAME(nccl::float64, ncclFloat64);
SAME(nccl::bfloat16, ncclBfloat16);
SAME(nccl::sum, ncclSum);
SAME(nccl::prod, ncclProd);
SAME(nccl::max, ncclMax);
SAME(nccl::min, ncclMin);
#endif

// Functions: as many parameters, each of the same size.
template <typename Ours, typename Theirs> struct Alike : std::false_type {};
template <typename R, typename... A, typename S, typename... B>
struct Alike<R (*)(A...), S (*)(B...)> {
  static constexpr bool check() {
    if constexpr (sizeof...(A) != sizeof...(B))
      return false;
    else
      return sizeof(R) == sizeof(S) && ((sizeof(A) == sizeof(B)) && ...);
  }
  static constexpr bool value = check();
};
#define ALIKE(type, member, function)                                                              \
  static_assert(Alike<decltype(type::member), decltype(&function)>::value)
ALIKE(Blas, create, cublasLtCreate);
ALIKE(Blas, matmulCreate, cublasLtMatmulDescCreate);
ALIKE(Blas, matmulSet, cublasLtMatmulDescSetAttribute);
ALIKE(Blas, layoutCreate, cublasLtMatrixLayoutCreate);
ALIKE(Blas, layoutSet, cublasLtMatrixLayoutSetAttribute);
ALIKE(Blas, preferenceSet, cublasLtMatmulPreferenceSetAttribute);
ALIKE(Blas, choose, cublasLtMatmulAlgoGetHeuristic);
ALIKE(Blas, check, cublasLtMatmulAlgoCheck);
ALIKE(Blas, matmul, cublasLtMatmul);
ALIKE(Driver, launch, cuLaunchKernel);
ALIKE(Driver, launchWith, cuLaunchKernelEx);
ALIKE(Driver, functionSet, cuFuncSetAttribute);
ALIKE(Driver, tensorMap, cuTensorMapEncodeTiled);
ALIKE(Driver, windowMap, cuTensorMapEncodeIm2col);
ALIKE(Driver, copyPeerAsync, cuMemcpyPeerAsync);
ALIKE(Driver, canAccessPeer, cuDeviceCanAccessPeer);
ALIKE(Driver, streamContext, cuStreamGetCtx);
ALIKE(Driver, enablePeer, cuCtxEnablePeerAccess);
ALIKE(Driver, captureBegin, cuStreamBeginCapture);
ALIKE(Driver, captureEnd, cuStreamEndCapture);
ALIKE(Driver, graphInstantiate, cuGraphInstantiateWithFlags);
ALIKE(Driver, graphUpdate, cuGraphExecUpdate);
ALIKE(Driver, graphLaunch, cuGraphLaunch);
ALIKE(Driver, graphSetKernel, cuGraphExecKernelNodeSetParams);
ALIKE(Driver, graphSetCopy, cuGraphExecMemcpyNodeSetParams);
ALIKE(Driver, graphSetFill, cuGraphExecMemsetNodeSetParams);
ALIKE(Driver, conditionCreate, cuGraphConditionalHandleCreate);
ALIKE(Driver, captureToGraph, cuStreamBeginCaptureToGraph);
ALIKE(Driver, eventElapsed, cuEventElapsedTime);
ALIKE(Driver, totalMemory, cuDeviceTotalMem);
ALIKE(Driver, memGranularity, cuMemGetAllocationGranularity);
ALIKE(Driver, addressReserve, cuMemAddressReserve);
ALIKE(Driver, addressFree, cuMemAddressFree);
ALIKE(Driver, memCreate, cuMemCreate);
ALIKE(Driver, memMap, cuMemMap);
ALIKE(Driver, memUnmap, cuMemUnmap);
ALIKE(Driver, memAccess, cuMemSetAccess);
#ifdef HAS_CUDNN
ALIKE(Dnn, create, cudnnCreate);
ALIKE(Dnn, destroy, cudnnDestroy);
ALIKE(Dnn, setStream, cudnnSetStream);
ALIKE(Dnn, describe, cudnnBackendCreateDescriptor);
ALIKE(Dnn, forget, cudnnBackendDestroyDescriptor);
ALIKE(Dnn, set, cudnnBackendSetAttribute);
ALIKE(Dnn, get, cudnnBackendGetAttribute);
ALIKE(Dnn, finalize, cudnnBackendFinalize);
ALIKE(Dnn, execute, cudnnBackendExecute);
ALIKE(Dnn, version, cudnnGetVersion);
#endif
#ifdef HAS_NCCL
ALIKE(Nccl, initAll, ncclCommInitAll);
ALIKE(Nccl, destroy, ncclCommDestroy);
ALIKE(Nccl, abort, ncclCommAbort);
ALIKE(Nccl, groupStart, ncclGroupStart);
ALIKE(Nccl, groupEnd, ncclGroupEnd);
ALIKE(Nccl, allReduce, ncclAllReduce);
ALIKE(Nccl, reduce, ncclReduce);
#endif

#ifdef HAS_CUPTI
SAME(cupti::multipleSubscribers, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
SAME(cupti::memcpyKind, CUPTI_ACTIVITY_KIND_MEMCPY);
SAME(cupti::memsetKind, CUPTI_ACTIVITY_KIND_MEMSET);
SAME(cupti::driverKind, CUPTI_ACTIVITY_KIND_DRIVER);
SAME(cupti::runtimeKind, CUPTI_ACTIVITY_KIND_RUNTIME);
SAME(cupti::kernelKind, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
SAME(cupti::peerCopyKind, CUPTI_ACTIVITY_KIND_MEMCPY2);
SAME(cupti::externalKind, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
SAME(cupti::ownIds, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2);
SAME(cupti::flushForced, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
SAME(cupti::resourceDomain, CUPTI_CB_DOMAIN_RESOURCE);
SAME(cupti::nodeCreated, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
SAME(cupti::nodeCloned, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
static_assert(CUPTI_API_VERSION >= cupti::firstVersion && CUPTI_API_VERSION < cupti::endVersion);

#define SAME_TIMES(ours, theirs)                                                                   \
  SAME(offsetof(ours, start), offsetof(theirs, start));                                            \
  SAME(offsetof(ours, end), offsetof(theirs, end));                                                \
  SAME(offsetof(ours, correlation), offsetof(theirs, correlationId));                              \
  SAME(offsetof(ours, graphNode), offsetof(theirs, graphNodeId))
SAME_TIMES(cupti::KernelRecord, CUpti_ActivityKernel8);
SAME_TIMES(cupti::KernelRecord, CUpti_ActivityKernel9);
SAME_TIMES(cupti::KernelRecord, CUpti_ActivityKernel10);
SAME_TIMES(cupti::CopyRecord, CUpti_ActivityMemcpy5);
SAME_TIMES(cupti::CopyRecord, CUpti_ActivityMemcpy6);
SAME_TIMES(cupti::PeerCopyRecord, CUpti_ActivityMemcpyPtoP4);
SAME_TIMES(cupti::SetRecord, CUpti_ActivityMemset4);
SAME(offsetof(cupti::ExternalRecord, externalKind),
     offsetof(CUpti_ActivityExternalCorrelation, externalKind));
SAME(offsetof(cupti::ExternalRecord, id), offsetof(CUpti_ActivityExternalCorrelation, externalId));
SAME(offsetof(cupti::ExternalRecord, correlation),
     offsetof(CUpti_ActivityExternalCorrelation, correlationId));
SAME(sizeof(cupti::ExternalRecord), sizeof(CUpti_ActivityExternalCorrelation));
SAME(offsetof(cupti::ResourceData, graph), offsetof(CUpti_ResourceData, resourceDescriptor));
SAME(offsetof(cupti::GraphData, node), offsetof(CUpti_GraphData, node));
SAME(offsetof(cupti::GraphData, originalNode), offsetof(CUpti_GraphData, originalNode));
ALIKE(Cupti, version, cuptiGetVersion);
ALIKE(Cupti, subscribe, cuptiSubscribe);
ALIKE(Cupti, unsubscribe, cuptiUnsubscribe);
ALIKE(Cupti, enableCallback, cuptiEnableCallback);
ALIKE(Cupti, enable, cuptiActivityEnable);
ALIKE(Cupti, disable, cuptiActivityDisable);
ALIKE(Cupti, flushAll, cuptiActivityFlushAll);
ALIKE(Cupti, registerBuffers, cuptiActivityRegisterCallbacks);
ALIKE(Cupti, nextRecord, cuptiActivityGetNextRecord);
ALIKE(Cupti, droppedRecords, cuptiActivityGetNumDroppedRecords);
ALIKE(Cupti, pushId, cuptiActivityPushExternalCorrelationId);
ALIKE(Cupti, popId, cuptiActivityPopExternalCorrelationId);
ALIKE(Cupti, graphNodeId, cuptiGetGraphNodeId);
ALIKE(Cupti, timestamp, cuptiGetTimestamp);
#endif
