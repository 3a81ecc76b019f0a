//===- crc32c.h - the checksum of tables and bundles ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CHECKPOINT_CRC32C_H
#define WEIR_RUNTIME_CHECKPOINT_CRC32C_H

#include <stdint.h>

namespace weir::rt {

/// CRC-32C (Castagnoli) of `bytes` bytes, continuing from `seed`, the checksum of
/// what came before. Thread-safe.
uint32_t crc32c(const void *data, int64_t bytes, uint32_t seed = 0);

/// How TensorFlow stores a checksum beside the data it covers: a checksum of
/// data that holds checksums would be weak.
inline uint32_t maskCrc(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

} // namespace weir::rt

#endif // WEIR_RUNTIME_CHECKPOINT_CRC32C_H
