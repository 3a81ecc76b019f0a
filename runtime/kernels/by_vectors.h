//===- by_vectors.h - loops in the widest vectors there are -----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The runtime is compiled for the oldest processor that it runs on. Where a loop
// gains by vectors, it is compiled for newer ones, too, and the processor asked.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_KERNELS_BY_VECTORS_H
#define WEIR_RUNTIME_KERNELS_BY_VECTORS_H

#include "weir/abi.h"

#include <stdint.h>

namespace weir::rt {

#if defined(__x86_64__)
template <typename Body> __attribute__((target("avx2"))) void byAvx2(Body body) { body(); }
// Has the less and the more of 64 bits as one instruction each.
template <typename Body> __attribute__((target("avx512f"))) void byAvx512(Body body) { body(); }

/// Which of WEIR_CPU_AVX2 and WEIR_CPU_AVX512 the processor has. Any thread may call it.
uint64_t vectorFeatures();
#endif

/// Runs `body`, a lambda that is marked always_inline, in the widest vectors of the processor.
template <typename Body> void byVectors(Body body) {
#if defined(__x86_64__)
  if (vectorFeatures() & WEIR_CPU_AVX512)
    return byAvx512(body);
  if (vectorFeatures() & WEIR_CPU_AVX2)
    return byAvx2(body);
#endif
  body();
}

} // namespace weir::rt

#endif // WEIR_RUNTIME_KERNELS_BY_VECTORS_H
