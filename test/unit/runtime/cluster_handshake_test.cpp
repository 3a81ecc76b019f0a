//===- cluster_handshake_test.cpp - who may join a cluster ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Processes of other programs and versions, strangers, and calls that meet
// themselves: none of them disturbs a job.

#include "cluster_ring.h"

#include <chrono>
#include <cstring>
#include <net/if.h>
#include <netinet/in.h>
#include <random>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace weir::rt::test;

namespace {

TEST(Cluster, OtherProgramsAreRefused) {
  Ring ring(2), other(2);
  other.program.desc.hash[0] ^= 1;
  Tasks tasks(2);
  Worker worker(tasks, 1, other.program.get());
  Member leader(tasks, 0, ring.program.get());
  ASSERT_EQ(leader.code, WEIR_OK) << leader.status.message;
  std::vector<float> x(10, 1.0f);
  std::vector<weir_tensor> fetches(2);
  EXPECT_EQ(leader.run({floats(x, {10})}, fetches), WEIR_FAILED_PRECONDITION);
  EXPECT_NE(std::string(leader.status.message).find("runs another program"), std::string::npos)
      << leader.status.message;
  EXPECT_EQ(worker.wait(), WEIR_FAILED_PRECONDITION);
}

/// A process of another version of the protocol, with the same program and tasks.
TEST(Cluster, OtherVersionsAreRefused) {
  Ring ring(2);
  Tasks tasks(2);
  Member leader(tasks, 0, ring.program.get());
  ASSERT_EQ(leader.code, WEIR_OK) << leader.status.message;
  // The begin of a handshake (handshake.cpp), which every version has.
  struct {
    char magic[8];
    uint32_t version, followed;
    int32_t task, taskCount, code;
    uint32_t abiVersion;
    uint64_t rest[64];
  } handshake = {{'W', 'E', 'I', 'R', 'T', 'A', 'S', 'K'}, 4711, 0, 1, 2, 0, WEIR_ABI_VERSION, {}};
  int s = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(uint16_t(portOf(tasks.addresses[0])));
  ASSERT_EQ(connect(s, reinterpret_cast<sockaddr *>(&address), sizeof(address)), 0);
  ASSERT_EQ(send(s, &handshake, sizeof(handshake), MSG_NOSIGNAL), ssize_t(sizeof(handshake)));
  std::string answer;
  char bytes[512];
  for (ssize_t count; (count = recv(s, bytes, sizeof(bytes), 0)) > 0;)
    answer.append(bytes, size_t(count));
  close(s);
  EXPECT_NE(answer.find("speaks version 4711 of the protocol"), std::string::npos) << answer;
  std::vector<float> x(10, 1.0f);
  std::vector<weir_tensor> fetches(2);
  EXPECT_EQ(leader.run({floats(x, {10})}, fetches), WEIR_FAILED_PRECONDITION);
  EXPECT_NE(std::string(leader.status.message).find("speaks version 4711"), std::string::npos)
      << leader.status.message;
}

/// Whoever else finds the port, and whatever they say.
TEST(Cluster, StrangersDisturbNobody) {
  Ring ring(2);
  Tasks tasks(2);
  Worker worker(tasks, 1, ring.program.get());
  Member leader(tasks, 0, ring.program.get());
  ASSERT_EQ(leader.code, WEIR_OK) << leader.status.message;
  std::mt19937 random(3);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(uint16_t(portOf(tasks.addresses[0])));
  std::vector<int> sockets;
  for (int i = 0; i < 40; ++i) {
    int s = socket(AF_INET, SOCK_STREAM, 0);
    ASSERT_EQ(connect(s, reinterpret_cast<sockaddr *>(&address), sizeof(address)), 0);
    // Nothing, noise, or what begins like a handshake and goes on as noise: any
    // task, any length.
    std::string bytes(random() % 300, 0);
    for (char &c : bytes)
      c = char(random());
    if (i % 3 == 0)
      bytes.clear();
    if (i % 3 == 1)
      bytes = "WEIRTASK" + std::string("\1\0\0\0", 4) + bytes;
    if (!bytes.empty())
      send(s, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (i % 2)
      close(s);
    else
      sockets.push_back(s);
  }
  for (size_t size : {1, 1000, 100000})
    checkRing(leader, 2, size);
  for (int s : sockets)
    close(s);
}

/// Where a task is away, a call to its port may be given this port on its own
/// side, and then meets itself. In a network of its own, where it is one of two
/// ports for calls, and the one that Linux takes first, every call does.
TEST(Cluster, ACallThatMeetsItselfKeepsNobodyAway) {
  enum { good, noNetwork = 100 };
  pid_t child = forkAlone();
  if (!child) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
      _exit(noNetwork);
    ifreq loopback = {};
    strcpy(loopback.ifr_name, "lo");
    loopback.ifr_flags = IFF_UP | IFF_RUNNING;
    int s = socket(AF_INET, SOCK_DGRAM, 0);
    FILE *range = fopen("/proc/sys/net/ipv4/ip_local_port_range", "w");
    if (ioctl(s, SIOCSIFFLAGS, &loopback) != 0 || !range || fprintf(range, "30000 30001") < 0 ||
        fclose(range) != 0)
      _exit(noNetwork);
    close(s);
    // Else UCX listens at these ports.
    setenv("UCX_TLS", "shm,self", 1);
    Ring ring(2);
    Tasks tasks({30000, 20000});
    Worker worker(tasks, 1, ring.program.get());
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    {
      Member leader(tasks, 0, ring.program.get());
      EXPECT_EQ(leader.code, WEIR_OK) << leader.status.message;
      if (leader.code == WEIR_OK)
        checkRing(leader, 2, 1000);
    }
    worker.end();
    _exit(testing::Test::HasFailure() ? 1 : good);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == noNetwork)
    GTEST_SKIP() << "no network of one's own can be made here";
  EXPECT_EQ(WEXITSTATUS(status), good);
}

} // namespace
