//===- cublaslt_api.cpp - what we call of cuBLASLt ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/cublaslt_api.h"
#include "cuda/library.h"

#include <dlfcn.h>

namespace weir::rt::cuda {

static LoadedLibrary<Blas> loaded;

static bool load(Blas &blas) {
  static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12", nullptr};
  void *library = openLibrary("WEIR_CUBLASLT", driverKnows(13000) ? names : names + 1);
  if (!library)
    return false;
#define WEIR_CUBLASLT_LOOKUP(member, symbol, parameters)                                           \
  blas.member = reinterpret_cast<int32_t(*) parameters>(dlsym(library, symbol));                   \
  if (!blas.member)                                                                                \
    return false;
  WEIR_CUBLASLT_FUNCTIONS(WEIR_CUBLASLT_LOOKUP)
#undef WEIR_CUBLASLT_LOOKUP
  blas.version = reinterpret_cast<size_t (*)()>(dlsym(library, "cublasLtGetVersion"));
  return blas.version;
}

const Blas *loadBlas() { return loaded.get(load); }

} // namespace weir::rt::cuda
