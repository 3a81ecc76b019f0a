//===- library.cpp - libraries that are loaded at run time ----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/library.h"
#include "cuda/cuda_device.h"
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

bool driverKnows(int version) {
  const char *why;
  const Driver *driver = loadDriver(&why);
  int known = 0;
  return !driver || driver->driverVersion(&known) != 0 || known >= version;
}

ChoiceFile *openChoices(const CudaDevice &device, const char *library, int64_t version) {
  const Driver &driver = *device.driver;
  char name[128] = "";
  int installed = 0, major = 0, minor = 0, processors = 0;
  driver.deviceName(name, sizeof(name), device.device);
  driver.driverVersion(&installed);
  driver.deviceAttribute(&major, capabilityMajor, device.device);
  driver.deviceAttribute(&minor, capabilityMinor, device.device);
  driver.deviceAttribute(&processors, multiprocessors, device.device);
  char key[256];
  Text text(key, sizeof(key));
  text << "weir choices 2, " << name << " sm_" << major << minor << " of " << processors
       << ", driver " << installed << ", " << library << ' ' << version;
  return ChoiceFile::open(library, key);
}

} // namespace weir::rt::cuda
