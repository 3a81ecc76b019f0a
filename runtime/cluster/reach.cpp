//===- reach.cpp - memory of other processes ------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cluster/ucx_transport.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

namespace weir::rt::cluster {

bool readMemory(uint64_t process, uint64_t address, void *to, int64_t bytes) {
  while (bytes > 0) {
    iovec here = {to, size_t(bytes)};
    iovec there = {reinterpret_cast<void *>(uintptr_t(address)), size_t(bytes)};
    ssize_t count = process_vm_readv(pid_t(process), &here, 1, &there, 1, 0);
    if (count <= 0) {
      if (count < 0 && errno == EINTR)
        continue;
      return false;
    }
    to = static_cast<char *>(to) + count;
    address += uint64_t(count);
    bytes -= count;
  }
  return true;
}

/// Who keeps UCX from shared memory does not want this either.
static bool isAllowed() {
  const char *transports = getenv("UCX_TLS");
  if (!transports)
    return true;
  for (const char *name : {"all", "shm", "sm", "cma"}) {
    size_t length = strlen(name);
    for (const char *at = transports; (at = strstr(at, name)); at += length) {
      char before = at == transports ? ',' : at[-1], after = at[length];
      if (before == ',' && (after == ',' || after == 0))
        return true;
    }
  }
  return false;
}

bool canRead(const Reach &reach, uint64_t incarnation) {
  // A process of that number may be another one, of this host or this container.
  uint64_t found = 0;
  return reach.process && isAllowed() &&
         readMemory(reach.process, reach.probe, &found, sizeof(found)) && found == incarnation;
}

} // namespace weir::rt::cluster
