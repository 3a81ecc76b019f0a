//===- driver_api.cpp - what we call of libcuda ------------ -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/driver_api.h"

#include "support/sync.h"

#include <dlfcn.h>
#include <stdlib.h>

namespace weir::rt::cuda {

namespace {
struct Loaded {
  Mutex mutex;
  bool tried = false;
  const char *why = nullptr;
  Driver driver;
};
} // namespace

// Plain data, without a constructor: the library stays loaded, as libcuda wants.
static Loaded loaded;

static const char *load(Driver &driver) {
  const char *name = getenv("WEIR_CUDA_DRIVER");
  void *library = dlopen(name && *name ? name : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return "the CUDA driver (libcuda.so.1) is not installed";
#define WEIR_CUDA_LOOKUP(member, symbol, parameters)                                               \
  driver.member = reinterpret_cast<Result(*) parameters>(dlsym(library, symbol));                  \
  if (!driver.member)                                                                              \
    return "the CUDA driver is too old: it has no " symbol;
  WEIR_CUDA_FUNCTIONS(WEIR_CUDA_LOOKUP)
#undef WEIR_CUDA_LOOKUP
#define WEIR_CUDA_LOOKUP(member, symbol, parameters)                                               \
  driver.member = reinterpret_cast<Result(*) parameters>(dlsym(library, symbol));
  WEIR_CUDA_LATER_FUNCTIONS(WEIR_CUDA_LOOKUP)
#undef WEIR_CUDA_LOOKUP
  if (driver.init(0) != 0)
    return "the CUDA driver finds no GPU that it can use";
  int count = 0;
  if (driver.deviceCount(&count) != 0 || count == 0)
    return "the machine has no GPU";
  return nullptr;
}

const Driver *loadDriver(const char **why) {
  Lock lock(loaded.mutex);
  if (!loaded.tried)
    loaded.why = load(loaded.driver);
  loaded.tried = true;
  *why = loaded.why;
  return loaded.why ? nullptr : &loaded.driver;
}

} // namespace weir::rt::cuda
