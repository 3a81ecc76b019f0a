//===- cpu_features.cpp - what this processor can do ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/cpu_features.h"

#include "weir/abi.h"

#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace weir::rt {

namespace {

enum Leaf : uint8_t { Leaf1, Leaf7, Leaf7Sub1, LeafExtended, leafCount };
enum Register : uint8_t { Eax, Ebx, Ecx, Edx };
/// State that the system must save for the feature to be usable.
enum State : uint8_t { None, Ymm, Zmm, Tile };

struct Feature {
  char name[20];
  uint8_t leaf, reg, bit, state;
};

} // namespace

/// By bit of WEIR_CPU_…; where each is reported is in Intel's and AMD's manuals
/// under CPUID.
static const Feature features[] = {
    {"sse4.2", Leaf1, Ecx, 20, None},
    {"avx", Leaf1, Ecx, 28, Ymm},
    {"avx2", Leaf7, Ebx, 5, Ymm},
    {"fma", Leaf1, Ecx, 12, Ymm},
    {"f16c", Leaf1, Ecx, 29, Ymm},
    {"bmi2", Leaf7, Ebx, 8, None},
    {"avx512", Leaf7, Ebx, 16, Zmm},
    {"avx512vnni", Leaf7, Ecx, 11, Zmm},
    {"avx512bf16", Leaf7Sub1, Eax, 5, Zmm},
    {"avx512fp16", Leaf7, Edx, 23, Zmm},
    {"amx-bf16", Leaf7, Edx, 22, Tile},
    {"amx-int8", Leaf7, Edx, 25, Tile},
    {"other", Leaf1, Eax, 31, None},
    {"popcnt", Leaf1, Ecx, 23, None},
    {"lzcnt", LeafExtended, Ecx, 5, None},
    {"bmi", Leaf7, Ebx, 3, None},
    {"movbe", Leaf1, Ecx, 22, None},
    {"adx", Leaf7, Ebx, 19, None},
    {"aes", Leaf1, Ecx, 25, None},
    {"pclmul", Leaf1, Ecx, 1, None},
    {"sha", Leaf7, Ebx, 29, None},
    {"rdrnd", Leaf1, Ecx, 30, None},
    {"rdseed", Leaf7, Ebx, 18, None},
    {"cx16", Leaf1, Ecx, 13, None},
    {"xsave", Leaf1, Ecx, 27, None},
    {"avx512ifma", Leaf7, Ebx, 21, Zmm},
    {"avx512vbmi", Leaf7, Ecx, 1, Zmm},
    {"avx512vbmi2", Leaf7, Ecx, 6, Zmm},
    {"avx512bitalg", Leaf7, Ecx, 12, Zmm},
    {"avx512vpopcntdq", Leaf7, Ecx, 14, Zmm},
    {"avx512vp2intersect", Leaf7, Edx, 8, Zmm},
    {"gfni", Leaf7, Ecx, 8, None},
    {"vaes", Leaf7, Ecx, 9, Ymm},
    {"vpclmulqdq", Leaf7, Ecx, 10, Ymm},
    {"avxvnni", Leaf7Sub1, Eax, 4, Ymm},
    {"avxifma", Leaf7Sub1, Eax, 23, Ymm},
    {"avxvnniint8", Leaf7Sub1, Edx, 4, Ymm},
    {"avxneconvert", Leaf7Sub1, Edx, 5, Ymm},
    {"amx-tile", Leaf7, Edx, 24, Tile},
    {"amx-fp16", Leaf7Sub1, Eax, 21, Tile},
    {"prfchw", LeafExtended, Ecx, 8, None},
    {"fsgsbase", Leaf7, Ebx, 0, None},
};

const char *cpuFeatureName(int bit) {
  bool known = size_t(bit) < sizeof(features) / sizeof(features[0]);
  return known ? features[bit].name : "a feature unknown to this runtime";
}

#if defined(__x86_64__)

static uint64_t enabledState() {
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

/// Linux gives a process the large tile registers only on request; threads that
/// start later inherit the permission.
static bool requestTiles() {
  constexpr long requestPermission = 0x1023, tileData = 18;
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}

uint64_t usableCpuFeatures(uint64_t wanted) {
  uint32_t leaves[leafCount][4] = {};
  auto query = [&](Leaf leaf, uint32_t number, uint32_t sub) {
    uint32_t *r = leaves[leaf];
    if (!__get_cpuid_count(number, sub, &r[0], &r[1], &r[2], &r[3]))
      r[0] = r[1] = r[2] = r[3] = 0;
  };
  query(Leaf1, 1, 0);
  query(Leaf7, 7, 0);
  if (leaves[Leaf7][Eax] >= 1)
    query(Leaf7Sub1, 7, 1);
  query(LeafExtended, 0x80000001, 0);

  // XCR0 says which registers the system saves; OSXSAVE that it may be asked.
  uint64_t state = leaves[Leaf1][Ecx] >> 27 & 1 ? enabledState() : 0;
  bool hasState[4] = {true, (state & 0x6) == 0x6, (state & 0xe6) == 0xe6,
                      (state & 0x60000) == 0x60000};
  constexpr uint64_t amx =
      WEIR_CPU_AMX_TILE | WEIR_CPU_AMX_BF16 | WEIR_CPU_AMX_INT8 | WEIR_CPU_AMX_FP16;
  if (hasState[Tile] && (wanted & amx))
    hasState[Tile] = requestTiles();

  uint64_t usable = WEIR_CPU_OTHER;
  for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); ++i) {
    const Feature &feature = features[i];
    if (leaves[feature.leaf][feature.reg] >> feature.bit & 1 && hasState[feature.state])
      usable |= UINT64_C(1) << i;
  }
  // F, DQ, CD, BW and VL, as one.
  constexpr uint32_t avx512 = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;
  if ((leaves[Leaf7][Ebx] & avx512) != avx512)
    usable &= ~WEIR_CPU_AVX512;
  return usable;
}

#else

uint64_t usableCpuFeatures(uint64_t) { return WEIR_CPU_OTHER; }

#endif

} // namespace weir::rt
