//===- Crc32c.h - the checksum of tables and bundles ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_CRC32C_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_CRC32C_H

#include <cstdint>
#include <string_view>

namespace weir::tf {

/// CRC-32C (Castagnoli) of `bytes`, continuing from `seed`, the checksum of
/// what came before. Thread-safe.
uint32_t crc32c(std::string_view bytes, uint32_t seed = 0);

/// How TensorFlow stores a checksum beside the data it covers: a checksum of
/// data that holds checksums would be weak.
inline uint32_t maskCrc(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_CRC32C_H
