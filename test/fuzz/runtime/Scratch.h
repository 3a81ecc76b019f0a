//===- Scratch.h - an input as a file of its own ---------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file that a target writes and the runtime reads, in memory where /dev/shm is there.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_FUZZ_RUNTIME_SCRATCH_H
#define WEIR_TEST_FUZZ_RUNTIME_SCRATCH_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>

namespace weir::fuzz {

inline std::string scratchPath(const char *suffix) {
  static const std::string base = std::string(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp") +
                                  "/weir-fuzz-" + std::to_string(getpid());
  return base + suffix;
}

inline void writeScratch(const std::string &path, const uint8_t *data, size_t size) {
  std::FILE *file = std::fopen(path.c_str(), "wb");
  if (!file || std::fwrite(data, 1, size, file) != size || std::fclose(file))
    std::exit(1); // says nothing of what is tried
}

} // namespace weir::fuzz

#endif // WEIR_TEST_FUZZ_RUNTIME_SCRATCH_H
