//===- cudnn_api.cpp - what we call of cuDNN ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/cudnn_api.h"
#include "cuda/library.h"

#include <dlfcn.h>

namespace weir::rt::cuda {

static LoadedLibrary<Dnn> loaded;

static bool load(Dnn &dnn) {
  static const char *const names[] = {"libcudnn.so.9", nullptr};
  void *library = openLibrary("WEIR_CUDNN", names);
  if (!library)
    return false;
#define WEIR_CUDNN_LOOKUP(member, symbol, parameters)                                              \
  dnn.member = reinterpret_cast<int32_t(*) parameters>(dlsym(library, symbol));                    \
  if (!dnn.member)                                                                                 \
    return false;
  WEIR_CUDNN_FUNCTIONS(WEIR_CUDNN_LOOKUP)
#undef WEIR_CUDNN_LOOKUP
  dnn.version = reinterpret_cast<size_t (*)()>(dlsym(library, "cudnnGetVersion"));
  return dnn.version;
}

const Dnn *loadDnn() { return loaded.get(load); }

} // namespace weir::rt::cuda
