//===- cpu_features_test.cpp - CPUID against the kernel's reading of it ---===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/cpu_features.h"
#include "weir/abi.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

using namespace weir::rt;

namespace {

/// The `flags` line of the first processor; empty when there is none.
std::set<std::string> kernelFlags() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  std::set<std::string> flags;
  while (std::getline(file, line))
    if (line.rfind("flags", 0) == 0) {
      std::istringstream words(line.substr(line.find(':') + 1));
      for (std::string word; words >> word;)
        flags.insert(word);
      break;
    }
  return flags;
}

struct Name {
  uint64_t bit;
  const char *flag;
};

const Name names[] = {
    {WEIR_CPU_SSE42, "sse4_2"},
    {WEIR_CPU_AVX, "avx"},
    {WEIR_CPU_AVX2, "avx2"},
    {WEIR_CPU_FMA, "fma"},
    {WEIR_CPU_F16C, "f16c"},
    {WEIR_CPU_BMI2, "bmi2"},
    {WEIR_CPU_AVX512, "avx512vl"}, // no processor has VL without the others
    {WEIR_CPU_AVX512_VNNI, "avx512_vnni"},
    {WEIR_CPU_AVX512_BF16, "avx512_bf16"},
    {WEIR_CPU_AVX512_FP16, "avx512_fp16"},
    {WEIR_CPU_AMX_BF16, "amx_bf16"},
    {WEIR_CPU_AMX_INT8, "amx_int8"},
    {WEIR_CPU_POPCNT, "popcnt"},
    {WEIR_CPU_LZCNT, "abm"},
    {WEIR_CPU_BMI1, "bmi1"},
    {WEIR_CPU_MOVBE, "movbe"},
    {WEIR_CPU_ADX, "adx"},
    {WEIR_CPU_AES, "aes"},
    {WEIR_CPU_PCLMUL, "pclmulqdq"},
    {WEIR_CPU_SHA, "sha_ni"},
    {WEIR_CPU_RDRND, "rdrand"},
    {WEIR_CPU_RDSEED, "rdseed"},
    {WEIR_CPU_CX16, "cx16"},
    {WEIR_CPU_XSAVE, "xsave"},
    {WEIR_CPU_AVX512_IFMA, "avx512ifma"},
    {WEIR_CPU_AVX512_VBMI, "avx512vbmi"},
    {WEIR_CPU_AVX512_VBMI2, "avx512_vbmi2"},
    {WEIR_CPU_AVX512_BITALG, "avx512_bitalg"},
    {WEIR_CPU_AVX512_VPOPCNTDQ, "avx512_vpopcntdq"},
    {WEIR_CPU_AVX512_VP2INTERSECT, "avx512_vp2intersect"},
    {WEIR_CPU_GFNI, "gfni"},
    {WEIR_CPU_VAES, "vaes"},
    {WEIR_CPU_VPCLMULQDQ, "vpclmulqdq"},
    {WEIR_CPU_AVX_VNNI, "avx_vnni"},
    {WEIR_CPU_AMX_TILE, "amx_tile"},
    {WEIR_CPU_PREFETCHW, "3dnowprefetch"},
    {WEIR_CPU_FSGSBASE, "fsgsbase"},
};

TEST(CpuFeatures, AreWhatTheKernelSees) {
  std::set<std::string> flags = kernelFlags();
  if (flags.empty())
    GTEST_SKIP() << "/proc/cpuinfo lists no flags here";
  uint64_t all = 0;
  for (const Name &name : names)
    all |= name.bit;
  uint64_t usable = usableCpuFeatures(all);
  constexpr uint64_t amx = WEIR_CPU_AMX_TILE | WEIR_CPU_AMX_BF16 | WEIR_CPU_AMX_INT8;
  for (const Name &name : names) {
    // A sandbox may show a feature and refuse the permission to use it.
    if ((name.bit & amx) && !(usable & name.bit))
      continue;
    // Kernels take back random numbers that a processor makes badly (RDSEED of Zen 5, RDRAND of
    // Zen 1). The instructions stay and CPUID names them, which LLVM compiles by; no kernel of
    // ours has a use for them.
    if (usable & name.bit && !flags.count(name.flag) &&
        !(name.bit & (WEIR_CPU_RDSEED | WEIR_CPU_RDRND)))
      ADD_FAILURE() << name.flag << " is usable, and the kernel lacks it";
    if (flags.count(name.flag) && !(usable & name.bit))
      ADD_FAILURE() << "the kernel has " << name.flag << ", and we do not";
  }
  EXPECT_TRUE(usable & WEIR_CPU_OTHER) << "checks nothing, so always there";
}

TEST(CpuFeatures, HaveNames) {
  EXPECT_STREQ(cpuFeatureName(0), "sse4.2");
  EXPECT_STREQ(cpuFeatureName(__builtin_ctzll(WEIR_CPU_FSGSBASE)), "fsgsbase");
  EXPECT_STREQ(cpuFeatureName(__builtin_ctzll(WEIR_CPU_AMX_TILE)), "amx-tile");
  EXPECT_STREQ(cpuFeatureName(63), "a feature unknown to this runtime");
}

} // namespace
