//===- by_vectors.cpp - loops in the widest vectors there are -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/by_vectors.h"
#include "session/cpu_features.h"

#include <atomic>

namespace weir::rt {

#if defined(__x86_64__)
uint64_t vectorFeatures() {
  // CPUID takes long where a hypervisor answers it: once.
  constexpr uint64_t asked = 1; // no bit of the answer
  static std::atomic<uint64_t> known{0};
  uint64_t answer = known.load(std::memory_order_relaxed);
  if (!answer) {
    uint64_t wanted = WEIR_CPU_AVX2 | WEIR_CPU_AVX512;
    answer = (usableCpuFeatures(wanted) & wanted) | asked;
    known.store(answer, std::memory_order_relaxed);
  }
  return answer;
}
#endif

} // namespace weir::rt
