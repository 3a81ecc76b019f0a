//===- nccl_api.cpp - what we call of NCCL --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/nccl_api.h"
#include "cuda/library.h"

#include <dlfcn.h>

namespace weir::rt::cuda {

static LoadedLibrary<Nccl> loaded;

static bool load(Nccl &nccl) {
  static const char *const names[] = {"libnccl.so.2", nullptr};
  void *library = openLibrary("WEIR_NCCL", names);
  if (!library)
    return false;
#define WEIR_NCCL_LOOKUP(member, symbol, parameters)                                               \
  nccl.member = reinterpret_cast<int32_t(*) parameters>(dlsym(library, symbol));                   \
  if (!nccl.member)                                                                                \
    return false;
  WEIR_NCCL_FUNCTIONS(WEIR_NCCL_LOOKUP)
#undef WEIR_NCCL_LOOKUP
  nccl.errorString =
      reinterpret_cast<const char *(*)(int32_t)>(dlsym(library, "ncclGetErrorString"));
  return nccl.errorString;
}

const Nccl *loadNccl() { return loaded.get(load); }

} // namespace weir::rt::cuda
