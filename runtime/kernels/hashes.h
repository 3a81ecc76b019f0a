//===- hashes.h - hash functions that models rely on --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_KERNELS_HASHES_H
#define WEIR_RUNTIME_KERNELS_HASHES_H

#include <stdint.h>

namespace weir::rt {

/// FarmHash's Fingerprint64 (Pike and others, 2014): the same on every machine.
uint64_t farmFingerprint64(const void *data, int64_t size);
/// MurmurHash64A (Appleby), little-endian.
uint64_t murmur64(const void *data, int64_t size, uint64_t seed);
/// MurmurHash3_x86_32 (Appleby), little-endian.
uint32_t murmur3(const void *data, int64_t size, uint32_t seed);
/// SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input PRF").
uint64_t sipHash24(const void *data, int64_t size, uint64_t key0, uint64_t key1);

} // namespace weir::rt

#endif // WEIR_RUNTIME_KERNELS_HASHES_H
