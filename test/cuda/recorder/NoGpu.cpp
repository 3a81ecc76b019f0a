//===- NoGpu.cpp - a CUDA driver that finds no GPU ----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NVIDIA's cuDNN wants a libcuda.so.1 for ways that it compiles when it plans, but
// none of its functions to work: they have to be there, and to say that there is no
// GPU.
//
//===----------------------------------------------------------------------===//

extern "C" {

// CUresult
constexpr int noDevice = 100, notFound = 500;

int cuInit(unsigned) { return noDevice; }
int cuDriverGetVersion(int *version) {
  *version = 13000;
  return 0;
}
int cuDeviceGetCount(int *count) {
  *count = 0;
  return 0;
}
int cuGetProcAddress_v2(const char *, void **function, int, unsigned long long, int *) {
  *function = nullptr;
  return notFound;
}

#define WEIR_NO_GPU(name)                                                                          \
  int name() { return noDevice; }
WEIR_NO_GPU(cuCtxGetCurrent)
WEIR_NO_GPU(cuCtxGetLimit)
WEIR_NO_GPU(cuCtxPopCurrent)
WEIR_NO_GPU(cuCtxPushCurrent)
WEIR_NO_GPU(cuDeviceGet)
WEIR_NO_GPU(cuGetErrorName)
WEIR_NO_GPU(cuGetErrorString)
WEIR_NO_GPU(cuKernelGetAttribute)
WEIR_NO_GPU(cuKernelSetAttribute)
WEIR_NO_GPU(cuLaunchCooperativeKernel)
WEIR_NO_GPU(cuLaunchKernel)
WEIR_NO_GPU(cuLaunchKernelEx)
WEIR_NO_GPU(cuLibraryGetKernel)
WEIR_NO_GPU(cuLibraryLoadData)
WEIR_NO_GPU(cuLibraryLoadFromFile)
WEIR_NO_GPU(cuLibraryUnload)
WEIR_NO_GPU(cuLinkAddData)
WEIR_NO_GPU(cuLinkComplete)
WEIR_NO_GPU(cuLinkCreate)
WEIR_NO_GPU(cuLinkDestroy)
WEIR_NO_GPU(cuOccupancyMaxPotentialClusterSize)
WEIR_NO_GPU(cuStreamGetCtx)

} // extern "C"
