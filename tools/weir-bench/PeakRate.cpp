//===- PeakRate.cpp - what one core can multiply and add ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-bench/PeakRate.h"

#include <cstdint>

namespace {

constexpr int64_t steps = 100000;
constexpr int chains = 12; ///< 4 or 5 cycles of latency, two a cycle

volatile float sink;

/// The loop on vectors of `Bytes`. Inlined into functions for a certain processor,
/// which makes its instructions those of that processor.
template <int Bytes> [[gnu::always_inline]] inline void loop() {
  typedef float Vector [[gnu::vector_size(Bytes)]];
  float start = sink;
  Vector factor, term, sums[chains];
  for (int lane = 0; lane < Bytes / 4; ++lane) {
    factor[lane] = 0.5f;
    term[lane] = start + lane;
  }
  // Each its own value: equal chains would be computed once.
  for (int chain = 0; chain < chains; ++chain)
    sums[chain] = term + static_cast<float>(chain);
  for (int64_t step = 0; step < steps; ++step)
#pragma clang loop unroll(full)
    for (int chain = 0; chain < chains; ++chain)
      sums[chain] = __builtin_elementwise_fma(sums[chain], factor, term);
  float total = 0;
  for (Vector &sum : sums)
    total += sum[0];
  sink = total;
}

#ifdef __x86_64__
[[gnu::target("avx512f")]] void loop512() { loop<64>(); }
[[gnu::target("avx2,fma")]] void loop256() { loop<32>(); }
int vectorBytes() {
  return __builtin_cpu_supports("avx512f")                                 ? 64
         : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 32
                                                                           : 16;
}
#else
int vectorBytes() { return 16; }
#endif
void loop128() { loop<16>(); }

} // namespace

double weir::tools::peakLoopFlops() { return 2.0 * steps * chains * vectorBytes() / 4; }

void weir::tools::runPeakLoop() {
#ifdef __x86_64__
  if (vectorBytes() == 64)
    return loop512();
  if (vectorBytes() == 32)
    return loop256();
#endif
  loop128();
}
