//===- processors.cpp - how many threads may run at once ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pool/executor.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

namespace weir::rt {

/// Reads a small file whole; returns its length, 0 when it cannot be read.
static int64_t readSmallFile(const char *path, char *buffer, size_t capacity) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return 0;
  ssize_t count = read(file, buffer, capacity - 1);
  close(file);
  buffer[count > 0 ? count : 0] = 0;
  return count > 0 ? count : 0;
}

/// Processors that the control group may use, rounded up; 0: no quota. Seen
/// from inside a container its own group is the root of what is mounted.
static int32_t quota() {
  char text[64];
  if (readSmallFile("/sys/fs/cgroup/cpu.max", text, sizeof(text))) {
    char *rest = nullptr;
    long long limit = strtoll(text, &rest, 10);
    long long period = rest == text ? 0 : strtoll(rest, nullptr, 10);
    return limit > 0 && period > 0 ? int32_t((limit + period - 1) / period) : 0;
  }
  char periodText[64];
  if (readSmallFile("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", text, sizeof(text)) &&
      readSmallFile("/sys/fs/cgroup/cpu/cpu.cfs_period_us", periodText, sizeof(periodText))) {
    long long limit = atoll(text), period = atoll(periodText);
    return limit > 0 && period > 0 ? int32_t((limit + period - 1) / period) : 0;
  }
  return 0;
}

int32_t usableProcessors() {
  int32_t count = 1;
  // Large enough for any machine of today; the fixed cpu_set_t has 1024 bits.
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    count = CPU_COUNT(&set);
  int32_t limit = quota();
  if (limit > 0 && limit < count)
    count = limit;
  return count < 1 ? 1 : count > maxThreads ? maxThreads : count;
}

} // namespace weir::rt
