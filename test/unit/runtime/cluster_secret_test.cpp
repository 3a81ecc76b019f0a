//===- cluster_secret_test.cpp - tasks that share a secret ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Whoever does not know the secret neither joins a job nor disturbs it: other secrets,
// handshakes that were overheard, noise, huge lengths, connections that say nothing.

#include "cluster/proof.h"
#include "cluster_ring.h"
#include "tools/common/Sanitized.h"

#include <atomic>
#include <netinet/in.h>
#include <poll.h>
#include <random>
#include <sys/resource.h>
#include <sys/socket.h>

using namespace weir::rt::cluster;
using namespace weir::rt::test;

namespace {

std::string hex(const Digest &digest) {
  std::string text;
  for (uint8_t byte : digest) {
    char two[3];
    snprintf(two, sizeof(two), "%02x", byte);
    text += two;
  }
  return text;
}

TEST(Proof, Sha256OfTheStandardsExamples) {
  EXPECT_EQ(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(sha256(std::string(1000000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Proof, HmacOfTheStandardsExamples) {
  EXPECT_EQ(hex(hmacSha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(hmacSha256(std::string(20, 0x0b), "Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex(hmacSha256(std::string(131, char(0xaa)),
                           "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

int callPort(int port) {
  int s = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(uint16_t(port));
  if (connect(s, reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0)
    return s;
  close(s);
  return -1;
}

/// Hands everything on between who calls it and a task, and keeps what callers said.
class Eavesdropper {
public:
  Eavesdropper(int port, int target) : target(target) {
    listening = socket(AF_INET, SOCK_STREAM, 0);
    int one = 1;
    setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(uint16_t(port));
    EXPECT_EQ(bind(listening, reinterpret_cast<sockaddr *>(&address), sizeof(address)), 0);
    listen(listening, 8);
    thread = std::thread([this] { run(); });
  }
  ~Eavesdropper() {
    stop = true;
    thread.join();
    for (auto &[a, b] : pairs) {
      close(a);
      close(b);
    }
    close(listening);
  }
  std::string heard; ///< once nobody hands on

private:
  void run() {
    while (!stop) {
      std::vector<pollfd> polled = {{listening, POLLIN, 0}};
      for (auto &[a, b] : pairs) {
        polled.push_back({a, POLLIN, 0});
        polled.push_back({b, POLLIN, 0});
      }
      poll(polled.data(), polled.size(), 20);
      for (size_t i = 1; i < polled.size(); ++i) {
        auto &pair = pairs[(i - 1) / 2];
        char bytes[4096];
        if (!(polled[i].revents & (POLLIN | POLLHUP)))
          continue;
        bool isCaller = i % 2 == 1;
        ssize_t got = recv(isCaller ? pair.first : pair.second, bytes, sizeof(bytes), 0);
        if (got <= 0) {
          shutdown(isCaller ? pair.second : pair.first, SHUT_RDWR);
          continue;
        }
        if (isCaller)
          heard.append(bytes, size_t(got));
        send(isCaller ? pair.second : pair.first, bytes, size_t(got), MSG_NOSIGNAL);
      }
      if (polled[0].revents & POLLIN) {
        int caller = accept(listening, nullptr, nullptr), there = callPort(target);
        if (there < 0)
          close(caller);
        else
          pairs.emplace_back(caller, there);
      }
    }
  }

  int listening, target;
  std::vector<std::pair<int, int>> pairs;
  std::atomic<bool> stop{false};
  std::thread thread;
};

constexpr const char *secret = "known to two tasks and nobody else";

TEST(ClusterSecret, WhoKnowsItJoins) {
  Ring ring(3);
  Tasks tasks(3);
  tasks.secret = secret;
  Worker first(tasks, 1, ring.program.get()), second(tasks, 2, ring.program.get());
  Member leader(tasks, 0, ring.program.get());
  ASSERT_EQ(leader.code, WEIR_OK) << leader.status.message;
  checkRing(leader, 3, 1000);
}

TEST(ClusterSecret, WhoDoesNotIsTurnedAway) {
  for (const char *other : {"something else of that length", ""}) {
    for (bool leaderHasIt : {true, false}) {
      Ring ring(2);
      Tasks tasks(2), others = tasks;
      tasks.connectMs = others.connectMs = 600;
      for (size_t i = 0; i < others.tasks.size(); ++i)
        others.tasks[i] = {others.names[i].c_str(), others.addresses[i].c_str()};
      tasks.secret = leaderHasIt ? secret : other;
      others.secret = leaderHasIt ? other : secret;
      Worker worker(others, 1, ring.program.get());
      Member leader(tasks, 0, ring.program.get());
      ASSERT_EQ(leader.code, WEIR_OK) << leader.status.message;
      std::vector<float> x(10, 1.0f);
      std::vector<weir_tensor> fetches(2);
      EXPECT_EQ(leader.run({floats(x, {10})}, fetches), WEIR_UNAVAILABLE) << leader.status.message;
    }
  }
}

TEST(ClusterSecret, ShortOnesAreRefused) {
  Tasks tasks(2);
  tasks.secret = "too short";
  weir_cluster_options options = tasks.options(0);
  weir_cluster *cluster = nullptr;
  weir_status status = WEIR_STATUS_INIT;
  EXPECT_EQ(weir_cluster_join(&options, &cluster, &status), WEIR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(status.message).find("possible: 16 or more"), std::string::npos);
}

int64_t residentKilobytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

/// Noise, what begins like a handshake or a challenge and has a huge length, what a task
/// has said before, and silence, while the job runs; of each as many as
/// WEIR_HOSTILE_CALLS says.
TEST(ClusterSecret, HostilePeersChangeNothing) {
  const char *asked = getenv("WEIR_HOSTILE_CALLS");
  int calls = asked ? atoi(asked) : 500;
  Ring ring(2);
  std::vector<int> ports = weir::tools::freePorts(3);
  Tasks tasks({ports[0], ports[1]}), seen({ports[2], ports[1]});
  tasks.secret = seen.secret = secret;
  Worker worker(seen, 1, ring.program.get());
  auto spy = std::make_unique<Eavesdropper>(ports[2], ports[0]);
  Member leader(tasks, 0, ring.program.get());
  ASSERT_EQ(leader.code, WEIR_OK) << leader.status.message;
  checkRing(leader, 2, 1000);
  std::string heard = spy->heard;
  ASSERT_GT(heard.size(), 100u);
  int64_t before = residentKilobytes();
  std::atomic<bool> done{false};
  std::thread enemy([&] {
    std::mt19937 random(5);
    std::vector<int> silent;
    for (int i = 0; i < 4 * calls; ++i) {
      int s = callPort(ports[0]);
      if (s < 0)
        continue;
      std::string bytes(random() % 300, 0);
      for (char &c : bytes)
        c = char(random());
      if (i % 4 == 1)
        bytes = "WEIRTASK" + std::string("\4\0\0\0\377\377\377\377", 8) + bytes;
      if (i % 4 == 2)
        bytes = heard;
      if (i % 4 != 3)
        send(s, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (i % 4 == 3)
        silent.push_back(s);
      else
        close(s);
      if (silent.size() > 200) {
        close(silent.front());
        silent.erase(silent.begin());
      }
    }
    for (int s : silent)
      close(s);
    done = true;
  });
  int runs = 0;
  do {
    checkRing(leader, 2, 1000 + size_t(runs % 3) * 50000);
    ++runs;
  } while (!done && !HasFatalFailure());
  enemy.join();
  EXPECT_GT(runs, 0);
  if (!weir::tools::isSanitized)
    EXPECT_LT(residentKilobytes() - before, 64 << 10);
  // The worker is who it was: nobody took its place.
  checkRing(leader, 2, 10);
  spy.reset();
}

} // namespace
