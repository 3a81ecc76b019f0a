//===- crc32c.cpp - the checksum of tables and bundles --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkpoint/crc32c.h"

#include <atomic>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace weir::rt {

namespace {

// The polynomial 0x1EDC6F41, its bits reversed.
constexpr uint32_t polynomial = 0x82f63b78u;

/// effects[k][b]: that of byte b when k more bytes follow it.
struct Tables {
  uint32_t effects[8][256];
};

constexpr Tables makeTables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc >> 1) ^ ((crc & 1) ? polynomial : 0);
    tables.effects[0][byte] = crc;
  }
  for (int k = 1; k < 8; ++k)
    for (uint32_t byte = 0; byte < 256; ++byte) {
      uint32_t before = tables.effects[k - 1][byte];
      tables.effects[k][byte] = (before >> 8) ^ tables.effects[0][before & 0xff];
    }
  return tables;
}

constexpr Tables tables = makeTables();

uint32_t bySlices(const unsigned char *at, const unsigned char *end, uint32_t crc) {
  for (; end - at >= 8; at += 8) {
    uint64_t word;
    memcpy(&word, at, 8);
    word ^= crc;
    crc = 0;
    for (int i = 0; i < 8; ++i)
      crc ^= tables.effects[7 - i][(word >> (8 * i)) & 0xff];
  }
  for (; at != end; ++at)
    crc = (crc >> 8) ^ tables.effects[0][(crc ^ *at) & 0xff];
  return crc;
}

#if defined(__x86_64__)
// Weights are gigabytes: the instruction reads about 8 GB/s, tables 1.5.
__attribute__((target("sse4.2"))) uint32_t byInstruction(const unsigned char *at,
                                                         const unsigned char *end, uint32_t crc) {
  uint64_t wide = crc;
  for (; end - at >= 8; at += 8) {
    uint64_t word;
    memcpy(&word, at, 8);
    wide = __builtin_ia32_crc32di(wide, word);
  }
  crc = uint32_t(wide);
  for (; at != end; ++at)
    crc = __builtin_ia32_crc32qi(crc, *at);
  return crc;
}

bool hasInstruction() {
  // CPUID takes long where a hypervisor answers it: once.
  static std::atomic<int> known{0};
  int answer = known.load(std::memory_order_relaxed);
  if (!answer) {
    unsigned a, b, c = 0, d;
    bool isThere = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSE4_2);
    known.store(answer = isThere ? 1 : -1, std::memory_order_relaxed);
  }
  return answer > 0;
}
#endif

} // namespace

uint32_t crc32c(const void *data, int64_t bytes, uint32_t seed) {
  auto *begin = static_cast<const unsigned char *>(data), *end = begin + bytes;
#if defined(__x86_64__)
  if (hasInstruction())
    return ~byInstruction(begin, end, ~seed);
#endif
  return ~bySlices(begin, end, ~seed);
}

} // namespace weir::rt
