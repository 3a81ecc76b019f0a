//===- library.cpp - libraries that are loaded at run time ----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/library.h"
#include "support/text.h"

#include <dlfcn.h>
#include <stdlib.h>

namespace weir::rt::cuda {

void *openLibrary(const char *variable, const char *const *names) {
  constexpr int flags = RTLD_NOW | RTLD_LOCAL;
  const char *chosen = getenv(variable);
  if (chosen && *chosen)
    return strcmp(chosen, "off") == 0 ? nullptr : dlopen(chosen, flags);
  for (const char *const *name = names; *name; ++name) {
    if (void *library = dlopen(*name, flags))
      return library;
    const char *home = getenv("CUDA_HOME");
    const char *folders[] = {home && *home ? home : "/usr/local/cuda", "/usr/local/cuda"};
    for (const char *folder : folders) {
      char path[1024];
      Text text(path, sizeof(path));
      text << folder << "/lib64/" << *name;
      if (text.size() < int64_t(sizeof(path)))
        if (void *library = dlopen(path, flags))
          return library;
    }
  }
  return nullptr;
}

} // namespace weir::rt::cuda
