//===- proof.h - that a task knows the shared secret ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SHA-256 (FIPS 180-4) and HMAC (RFC 2104), of texts that handshakes have: short, and no
// secret but the key.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CLUSTER_PROOF_H
#define WEIR_RUNTIME_CLUSTER_PROOF_H

#include <array>
#include <stdint.h>
#include <string>

namespace weir::rt::cluster {

using Digest = std::array<uint8_t, 32>;

Digest sha256(const std::string &bytes);
Digest hmacSha256(const std::string &key, const std::string &bytes);
/// Takes as long wherever they differ.
bool areEqual(const Digest &a, const Digest &b);

} // namespace weir::rt::cluster

#endif // WEIR_RUNTIME_CLUSTER_PROOF_H
