//===- cupti_api.cpp - what we call of CUPTI ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/cupti_api.h"
#include "cuda/library.h"

#include <dlfcn.h>
#include <stdlib.h>

namespace weir::rt::cuda {

static LoadedLibrary<Cupti> loaded;

static bool load(Cupti &cupti) {
  static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", nullptr};
  static const char *const none[] = {nullptr};
  const char *driver = getenv("WEIR_CUDA_DRIVER");
  const char *const *known = driverKnows(13000) ? names : names + 1;
  void *library = openLibrary("WEIR_CUPTI", driver && *driver ? none : known);
  if (!library)
    return false;
#define WEIR_CUPTI_LOOKUP(member, symbol, parameters)                                              \
  cupti.member = reinterpret_cast<int32_t(*) parameters>(dlsym(library, symbol));                  \
  if (!cupti.member)                                                                               \
    return false;
  WEIR_CUPTI_FUNCTIONS(WEIR_CUPTI_LOOKUP)
#undef WEIR_CUPTI_LOOKUP
  return true;
}

const Cupti *loadCupti() { return loaded.get(load); }

} // namespace weir::rt::cuda
