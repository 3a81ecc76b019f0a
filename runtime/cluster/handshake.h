//===- handshake.h - how tasks find and know each other ----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A TCP connection between every two tasks, made by the one with the higher
// number. Over it each says once who it is, what program it runs and where its
// UCX worker is; whoever does not fit is refused, with the reason. Then only
// its end matters: a process that dies closes it.
//
//     connecting task                       listening task
//       handshake ─────────────────────────▶
//                ◀───────────────────────── handshake, or refusal
//       ready    ─────────────────────────▶ both send messages from here on
//       goodbye  ◀────────────────────────▶ who leaves of its own will
//
// Tasks with a shared secret prove that they know it. The listening one speaks first, a
// challenge of random bytes; each handshake then has an HMAC over all that was said
// before it and itself, so that what was overheard proves nothing another time. Nothing
// is made for who has not proved it.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CLUSTER_HANDSHAKE_H
#define WEIR_RUNTIME_CLUSTER_HANDSHAKE_H

#include <atomic>
#include <string>

namespace weir::rt::cluster {

class TaskSet;

/// Splits "host:port" ("[::1]:port"); false when it is none.
bool splitAddress(const std::string &address, std::string &host, std::string &port);

/// Listens, connects and watches until `stop`. Errors of single connections are
/// the tasks' problems.
void shakeHands(TaskSet &tasks, const std::atomic<bool> &stop);

} // namespace weir::rt::cluster

#endif // WEIR_RUNTIME_CLUSTER_HANDSHAKE_H
