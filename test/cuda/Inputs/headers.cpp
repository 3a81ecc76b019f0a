// What the runtime declares of NVIDIA's libraries, against their own headers.

#include <cublasLt.h>
#include <cuda.h>

#include "runtime/cuda/cublaslt_api.h"

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
#define ALIKE(type, member, function)                                          \
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
ALIKE(Driver, copyPeerAsync, cuMemcpyPeerAsync);
ALIKE(Driver, canAccessPeer, cuDeviceCanAccessPeer);
ALIKE(Driver, streamContext, cuStreamGetCtx);
ALIKE(Driver, enablePeer, cuCtxEnablePeerAccess);
ALIKE(Driver, captureBegin, cuStreamBeginCapture);
ALIKE(Driver, captureEnd, cuStreamEndCapture);
ALIKE(Driver, graphInstantiate, cuGraphInstantiateWithFlags);
ALIKE(Driver, graphUpdate, cuGraphExecUpdate);
ALIKE(Driver, graphLaunch, cuGraphLaunch);
ALIKE(Driver, eventElapsed, cuEventElapsedTime);
ALIKE(Driver, totalMemory, cuDeviceTotalMem);
ALIKE(Driver, memGranularity, cuMemGetAllocationGranularity);
ALIKE(Driver, addressReserve, cuMemAddressReserve);
ALIKE(Driver, addressFree, cuMemAddressFree);
ALIKE(Driver, memCreate, cuMemCreate);
ALIKE(Driver, memMap, cuMemMap);
ALIKE(Driver, memUnmap, cuMemUnmap);
ALIKE(Driver, memAccess, cuMemSetAccess);
