//===- Crc32c.cpp - the checksum of tables and bundles --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Crc32c.h"

#include <array>
#include <cstring>

using namespace weir::tf;

// The polynomial 0x1EDC6F41, its bits reversed.
static constexpr uint32_t kPolynomial = 0x82f63b78u;

using Tables = std::array<std::array<uint32_t, 256>, 8>;

/// tables[k][b]: the effect of byte b when k more bytes follow it.
static constexpr Tables makeTables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc >> 1) ^ ((crc & 1) ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (size_t k = 1; k < 8; ++k)
    for (uint32_t byte = 0; byte < 256; ++byte)
      tables[k][byte] = (tables[k - 1][byte] >> 8) ^ tables[0][tables[k - 1][byte] & 0xff];
  return tables;
}

static constexpr Tables kTables = makeTables();

static uint32_t bySlices(std::string_view bytes, uint32_t crc) {
  const char *at = bytes.data(), *end = at + bytes.size();
  for (; end - at >= 8; at += 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    word ^= crc;
    crc = 0;
    for (int i = 0; i < 8; ++i)
      crc ^= kTables[7 - i][(word >> (8 * i)) & 0xff];
  }
  for (; at != end; ++at)
    crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<uint8_t>(*at)) & 0xff];
  return crc;
}

#if defined(__x86_64__)
// Weights are gigabytes: the instruction reads about 8 GB/s, tables 1.5.
__attribute__((target("sse4.2"))) static uint32_t byInstruction(std::string_view bytes,
                                                                uint32_t crc) {
  const char *at = bytes.data(), *end = at + bytes.size();
  uint64_t wide = crc;
  for (; end - at >= 8; at += 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    wide = __builtin_ia32_crc32di(wide, word);
  }
  crc = static_cast<uint32_t>(wide);
  for (; at != end; ++at)
    crc = __builtin_ia32_crc32qi(crc, static_cast<unsigned char>(*at));
  return crc;
}
#endif

uint32_t weir::tf::crc32c(std::string_view bytes, uint32_t seed) {
#if defined(__x86_64__)
  static const bool hasInstruction = __builtin_cpu_supports("sse4.2");
  if (hasInstruction)
    return ~byInstruction(bytes, ~seed);
#endif
  return ~bySlices(bytes, ~seed);
}
