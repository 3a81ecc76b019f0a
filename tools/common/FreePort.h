//===- FreePort.h - ports for tasks of this host ----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_COMMON_FREEPORT_H
#define WEIR_TOOLS_COMMON_FREEPORT_H

#include <cstdint>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace weir::tools {

/// `count` ports of 127.0.0.1 that nobody listens at now; fewer: there are no
/// more. They lie below those that the system gives to connections that go out
/// (from 32,768, ip(7)): such a connection could else take the port of a task
/// that is down for a moment.
inline std::vector<int> freePorts(int count) {
  constexpr uint32_t first = 20000, end = 32000;
  uint32_t at = 0;
  if (getrandom(&at, sizeof(at), 0) < 0)
    at = uint32_t(getpid());
  std::vector<int> ports, sockets;
  for (uint32_t tried = 0; tried < end - first && int(ports.size()) < count; ++tried) {
    int port = int(first + (at + tried) % (end - first));
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s < 0)
      break;
    sockets.push_back(s);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(uint16_t(port));
    if (bind(s, reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0)
      ports.push_back(port);
  }
  for (int s : sockets)
    close(s);
  return ports;
}

/// One such port; 0: there is none.
inline int freePort() {
  std::vector<int> ports = freePorts(1);
  return ports.empty() ? 0 : ports.front();
}

} // namespace weir::tools

#endif // WEIR_TOOLS_COMMON_FREEPORT_H
