//===- handshake.cpp - how tasks find and know each other ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cluster/handshake.h"

#include "cluster/proof.h"
#include "cluster/task_set.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

namespace weir::rt::cluster {

namespace {

constexpr char handshakeMagic[8] = {'W', 'E', 'I', 'R', 'T', 'A', 'S', 'K'};
/// What is said after handshakes: that messages are taken, and the end.
constexpr char readiness = '!', goodbye = '.';
/// Or, instead of the end: a length of two bytes, a roster, a proof.
constexpr char moving = '~';
/// Of handshakes and messages.
constexpr uint32_t protocolVersion = 7;
constexpr size_t longestAddress = 1 << 16;

/// Fixed part; the worker's address, or the text of a refusal, follows, and then the roster.
struct Handshake {
  char magic[8];
  uint32_t version, followed; ///< bytes behind this
  int32_t task, taskCount;
  int32_t code; ///< a weir_code: not OK refuses
  uint32_t abiVersion;
  uint32_t rosterSize; ///< of what follows, the last
  uint32_t isInitial;  ///< see SessionOf
  uint64_t program[2]; ///< hash of model and flags
  uint64_t nonce, incarnation;
  Reach reach;
  uint64_t namesHash;   ///< of all tasks' names
  uint64_t addressHash; ///< of what follows
  Digest proof;         ///< that the secret is known; zeros without one
};

/// What a task with a secret says first to who has called.
struct Challenge {
  char magic[8];
  uint8_t random[24];
};
constexpr char challengeMagic[8] = {'W', 'E', 'I', 'R', 'C', 'H', 'A', 'L'};

std::string bytesOf(const void *data, size_t size) {
  return std::string(static_cast<const char *>(data), size);
}

uint64_t hashOf(const std::string &bytes) {
  uint64_t hash = 0xcbf29ce484222325; // FNV-1a
  for (char c : bytes)
    hash = (hash ^ uint8_t(c)) * 0x100000001b3;
  return hash;
}

uint64_t randomNumber() {
  uint64_t number = 0;
  if (getrandom(&number, sizeof(number), 0) != ssize_t(sizeof(number)))
    number = uint64_t(nowNs()) * 0x9e3779b97f4a7c15 ^ uint64_t(getpid());
  return number;
}

/// A connection, from its first byte to its end.
struct TcpPeer {
  int socket = -1;
  int32_t task = -1;    ///< known when we connect, or have been greeted
  bool calling = false; ///< we connect
  enum { connecting, challenge, handshake, ready, watched } wait = connecting;
  int64_t deadline = 0; ///< for what it waits for
  std::string in, out;
  uint64_t nonce = 0;
  std::string said; ///< with a secret: the challenge, and the caller's handshake
  std::shared_ptr<Connection> connection; ///< our end, until it is the tasks'
};

/// Whether a call has reached itself: where nobody listens at a port of this
/// host, the system may choose this port for the calling side, and TCP connects
/// the two (simultaneous open, RFC 9293 3.5).
bool metItself(int socket) {
  sockaddr_storage own = {}, theirs = {};
  socklen_t ownSize = sizeof(own), theirSize = sizeof(theirs);
  return getsockname(socket, reinterpret_cast<sockaddr *>(&own), &ownSize) == 0 &&
         getpeername(socket, reinterpret_cast<sockaddr *>(&theirs), &theirSize) == 0 &&
         ownSize == theirSize && memcmp(&own, &theirs, ownSize) == 0;
}

void setOptions(int socket) {
  int one = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  // The system may give a call the very port that a task of this host listens
  // at when it comes back: it is to get it all the same.
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
  fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
  fcntl(socket, F_SETFD, FD_CLOEXEC);
}

class Greeter {
public:
  Greeter(TaskSet &tasks, const std::atomic<bool> &stop) : tasks(tasks), stop(stop) {
    for (const Peer &peer : tasks.allPeers())
      names += peer.name + "\n";
    nextCall.assign(tasks.allPeers().size(), 0);
  }
  ~Greeter() {
    std::string roster = tasks.farewell();
    for (TcpPeer &peer : peers) {
      // Before the end, on the same way: a task that leaves is not one that
      // died.
      std::string last(1, goodbye);
      if (!roster.empty()) {
        Digest proof = proofOfRoster(peer, roster);
        last = std::string(1, moving) + char(roster.size() & 0xff) + char(roster.size() >> 8) +
               roster + bytesOf(&proof, sizeof(proof));
      }
      if (peer.wait == TcpPeer::watched)
        ::send(peer.socket, last.data(), last.size(), MSG_NOSIGNAL);
      ::close(peer.socket);
    }
  }

  void run() {
    while (!stop.load()) {
      callOthers();
      step();
    }
  }

private:
  static constexpr int64_t patience = 2000000000; ///< for one handshake
  static constexpr size_t mostStrangers = 64;

  void callOthers() {
    int64_t now = nowNs();
    for (int32_t task = 0; task < tasks.ownTask(); ++task) {
      if (now < nextCall[size_t(task)] || tasks.stateOf(task) != Peer::away ||
          tasks.currentRoster().owners[size_t(task)] != task)
        continue;
      bool busy = false;
      for (const TcpPeer &peer : peers)
        busy |= peer.calling && peer.task == task;
      if (!busy)
        call(task);
      nextCall[size_t(task)] = now + 50000000;
    }
  }

  void call(int32_t task) {
    std::string host, port;
    const std::string &address = tasks.allPeers()[size_t(task)].address;
    if (!splitAddress(address, host, port))
      return;
    addrinfo hints = {}, *list = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    if (int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &list)) {
      tasks.noteAbsence(task, std::string("its address is not known: ") + gai_strerror(error));
      return;
    }
    int socket = ::socket(list->ai_family, list->ai_socktype | SOCK_CLOEXEC, list->ai_protocol);
    if (socket >= 0) {
      setOptions(socket);
      if (::connect(socket, list->ai_addr, list->ai_addrlen) == 0 || errno == EINPROGRESS) {
        TcpPeer peer;
        peer.socket = socket;
        peer.task = task;
        peer.calling = true;
        peer.deadline = nowNs() + patience;
        peer.nonce = randomNumber();
        peers.push_back(peer);
      } else {
        tasks.noteAbsence(task, strerror(errno));
        ::close(socket);
      }
    }
    freeaddrinfo(list);
  }

  void accept() {
    int socket = ::accept4(tasks.listener(), nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0)
      return;
    dropStranger();
    setOptions(socket);
    TcpPeer peer;
    peer.socket = socket;
    peer.wait = TcpPeer::handshake;
    peer.deadline = nowNs() + patience;
    peer.nonce = randomNumber();
    if (!tasks.secret().empty()) {
      Challenge challenge;
      memcpy(challenge.magic, challengeMagic, sizeof(challenge.magic));
      // Without random bytes what was overheard could be said again: nobody joins.
      if (getrandom(challenge.random, sizeof(challenge.random), 0) !=
          ssize_t(sizeof(challenge.random))) {
        ::close(socket);
        return;
      }
      peer.said = peer.out = bytesOf(&challenge, sizeof(challenge));
      flush(peer);
    }
    peers.push_back(peer);
  }

  /// Where many are greeted at once, the one that has been for longest makes room: a task
  /// takes milliseconds, and others are not to keep it away.
  void dropStranger() {
    size_t strangers = 0;
    auto first = peers.end();
    for (auto peer = peers.begin(); peer != peers.end(); ++peer)
      if (peer->wait != TcpPeer::watched && !peer->calling) {
        first = strangers == 0 ? peer : first;
        ++strangers;
      }
    if (strangers < mostStrangers)
      return;
    if (first->wait == TcpPeer::ready)
      tasks.lose(first->task, first->nonce, "it does not answer");
    ::close(first->socket);
    peers.erase(first);
  }

  void step() {
    std::vector<pollfd> polled;
    if (tasks.listener() >= 0)
      polled.push_back({tasks.listener(), POLLIN, 0});
    size_t first = polled.size(), count = peers.size();
    for (const TcpPeer &peer : peers) {
      short events = POLLIN;
      if (!peer.out.empty() || peer.wait == TcpPeer::connecting)
        events |= POLLOUT;
      polled.push_back({peer.socket, events, 0});
    }
    // Short enough for new calls and for the end.
    poll(polled.data(), polled.size(), 20);
    for (size_t i = count; i-- > 0;) {
      TcpPeer &peer = peers[i];
      std::string reason;
      bool good = advance(peer, polled[first + i].revents, reason);
      // Given up by the heartbeat: that the socket closes tells the other side.
      if (good && peer.wait == TcpPeer::watched && !tasks.isConnected(peer.task, peer.nonce))
        good = false;
      if (good && peer.wait != TcpPeer::watched && nowNs() > peer.deadline) {
        reason = "it does not answer";
        good = false;
      }
      if (good)
        continue;
      if (peer.task >= 0) {
        if (peer.wait == TcpPeer::watched || peer.wait == TcpPeer::ready)
          tasks.lose(peer.task, peer.nonce, reason);
        else if (peer.calling)
          tasks.noteAbsence(peer.task, reason);
      }
      ::close(peer.socket);
      peers.erase(peers.begin() + ptrdiff_t(i));
    }
    if (first && (polled[0].revents & POLLIN))
      accept();
  }

  /// False: the connection has ended, for `reason`.
  bool advance(TcpPeer &peer, short events, std::string &reason) {
    if (peer.wait == TcpPeer::connecting) {
      if (!(events & (POLLOUT | POLLERR | POLLHUP)))
        return true;
      int error = 0;
      socklen_t size = sizeof(error);
      getsockopt(peer.socket, SOL_SOCKET, SO_ERROR, &error, &size);
      if (error) {
        reason = strerror(error);
        return false;
      }
      if (metItself(peer.socket)) {
        reason = strerror(ECONNREFUSED);
        return false;
      }
      if (tasks.secret().empty() && !greet(peer, reason))
        return false;
      if (!tasks.secret().empty())
        peer.wait = TcpPeer::challenge;
    }
    if (!peer.out.empty()) {
      ssize_t sent = ::send(peer.socket, peer.out.data(), peer.out.size(), MSG_NOSIGNAL);
      if (sent > 0)
        peer.out.erase(0, size_t(sent));
      else if (errno != EAGAIN && errno != EINTR) {
        reason = std::string("its peer failed: ") + strerror(errno);
        return false;
      }
    }
    if (!(events & (POLLIN | POLLHUP | POLLERR)))
      return true;
    char buffer[4096];
    ssize_t got = recv(peer.socket, buffer, sizeof(buffer), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
      return true;
    if (got <= 0) {
      reason = got == 0 ? "its process ended or closed the peer"
                        : std::string("its peer failed: ") + strerror(errno);
      return false;
    }
    peer.in.append(buffer, size_t(got));
    return understand(peer, reason);
  }

  /// The caller's handshake.
  bool greet(TcpPeer &peer, std::string &reason) {
    peer.connection = tasks.prepareConnection(peer.nonce, reason);
    if (!peer.connection)
      return false;
    peer.out = handshake(peer, WEIR_OK, peer.connection->address());
    if (!tasks.secret().empty())
      peer.said += peer.out;
    peer.wait = TcpPeer::handshake;
    return true;
  }

  bool understandChallenge(TcpPeer &peer, std::string &reason) {
    if (peer.in.size() < sizeof(Challenge))
      return true;
    if (memcmp(peer.in.data(), challengeMagic, sizeof(challengeMagic)) != 0) {
      reason = "it has no shared secret, or is no weir task";
      return false;
    }
    peer.said = peer.in.substr(0, sizeof(Challenge));
    peer.in.erase(0, sizeof(Challenge));
    if (!greet(peer, reason))
      return false;
    flush(peer);
    return true;
  }

  /// Over what was said before, and the handshake without it; the parts are different for
  /// the two, so that none is the other's echo.
  Digest proofOf(const TcpPeer &peer, bool ofCaller, Handshake read, const std::string &rest) {
    if (tasks.secret().empty())
      return {};
    read.proof = {};
    return hmacSha256(tasks.secret(), (ofCaller ? "calls" : "hears") + peer.said +
                                          bytesOf(&read, sizeof(read)) + rest);
  }

  /// Of what a task says at its end about devices; of this connection alone.
  Digest proofOfRoster(const TcpPeer &peer, const std::string &roster) {
    if (tasks.secret().empty())
      return {};
    return hmacSha256(tasks.secret(), "moves" + peer.said + roster);
  }

  /// What a task that was greeted says. False: it was the last.
  bool understandWatched(TcpPeer &peer, std::string &reason) {
    peer.in.erase(0, peer.in.find_first_not_of(readiness));
    if (!peer.in.starts_with(moving)) {
      if (peer.in.find(goodbye) != std::string::npos)
        tasks.part(peer.task, peer.nonce);
      peer.in.clear();
      return true;
    }
    constexpr size_t before = 3;
    if (peer.in.size() < before)
      return true;
    size_t size = size_t(uint8_t(peer.in[1])) | size_t(uint8_t(peer.in[2])) << 8;
    if (peer.in.size() < before + size + sizeof(Digest))
      return true;
    std::string text = peer.in.substr(before, size);
    Digest proof;
    memcpy(proof.data(), peer.in.data() + before + size, sizeof(proof));
    Roster heard;
    if (areEqual(proofOfRoster(peer, text), proof) && heard.parse(text, tasks.allPeers().size()) &&
        heard.leader == peer.task)
      tasks.follow(heard);
    reason = "it has divided the devices anew";
    return false;
  }

  bool understand(TcpPeer &peer, std::string &reason) {
    if (peer.wait == TcpPeer::challenge)
      return understandChallenge(peer, reason);
    if (peer.wait == TcpPeer::ready) {
      peer.wait = TcpPeer::watched;
      tasks.announce(peer.task, peer.nonce);
    }
    if (peer.wait == TcpPeer::watched)
      return understandWatched(peer, reason);
    if (peer.calling && peer.in.size() >= sizeof(challengeMagic) &&
        memcmp(peer.in.data(), challengeMagic, sizeof(challengeMagic)) == 0) {
      reason = "it asks for a shared secret, and this task has none";
      return false;
    }
    Handshake read;
    if (peer.in.size() < sizeof(read)) {
      size_t known = std::min(peer.in.size(), sizeof(handshakeMagic));
      if (memcmp(peer.in.data(), handshakeMagic, known) == 0)
        return true;
      reason = "what answers there is no weir task";
      return false;
    }
    memcpy(&read, peer.in.data(), sizeof(read));
    if (memcmp(read.magic, handshakeMagic, sizeof(read.magic)) != 0 ||
        read.followed > longestAddress || read.rosterSize > read.followed) {
      reason = "what answers there is no weir task";
      return false;
    }
    if (peer.in.size() < sizeof(read) + read.followed)
      return true;
    std::string rest = peer.in.substr(sizeof(read), read.followed);
    peer.in.clear();
    return judge(peer, read, rest, reason);
  }

  /// A whole handshake has come.
  bool judge(TcpPeer &peer, const Handshake &read, const std::string &all, std::string &reason) {
    // Before anything is believed, or made.
    if (!areEqual(proofOf(peer, !peer.calling, read, all), read.proof)) {
      reason = tasks.secret().empty() ? "it has a shared secret, and this task has none"
                                      : "it does not know the shared secret";
      peer.task = peer.calling ? peer.task : -1;
      return false;
    }
    if (!peer.calling && !tasks.secret().empty())
      peer.said += bytesOf(&read, sizeof(read)) + all;
    Roster heard;
    std::string rest = all.substr(0, all.size() - read.rosterSize);
    bool fits = heard.parse(all.substr(rest.size()), tasks.allPeers().size());
    if (fits && read.namesHash == hashOf(names))
      tasks.follow(heard);
    if (peer.calling && read.code != WEIR_OK) {
      reason = "it refuses: " + rest;
      tasks.refuse(peer.task, {read.code, reason});
      peer.task = -1; // the reason is known
      return false;
    }
    Problem problem = mismatch(peer, read, all);
    if (!problem && (!fits || heard.text() != tasks.currentRoster().text()))
      problem = otherRoster(read, heard);
    int32_t claimed = read.task;
    bool exists = claimed >= 0 && size_t(claimed) < tasks.allPeers().size();
    std::string error, address;
    if (!problem && !peer.connection)
      peer.connection = tasks.prepareConnection(peer.nonce, error);
    if (peer.connection)
      address = peer.connection->address();
    if (!problem && (!peer.connection ||
                     !tasks.admit(claimed, std::move(peer.connection), rest, read.nonce,
                                  {read.incarnation, read.isInitial != 0}, read.reach, error)))
      problem = {WEIR_UNAVAILABLE, error};
    if (problem) {
      reason = problem.text;
      if (exists && problem.code == WEIR_FAILED_PRECONDITION)
        tasks.refuse(claimed, problem);
      if (!peer.calling)
        refuse(peer, problem);
      peer.task = -1;
      return false;
    }
    peer.task = claimed;
    if (peer.calling) {
      peer.out += readiness;
      flush(peer);
      peer.wait = TcpPeer::watched;
      tasks.announce(peer.task, peer.nonce);
      return true;
    }
    peer.out = handshake(peer, WEIR_OK, address);
    peer.wait = TcpPeer::ready;
    flush(peer);
    return true;
  }

  Problem mismatch(const TcpPeer &peer, const Handshake &read, const std::string &rest) {
    const weir_program_desc *program = tasks.program();
    auto no = [](const std::string &text) { return Problem{WEIR_FAILED_PRECONDITION, text}; };
    if (read.version != protocolVersion)
      return no("it speaks version " + std::to_string(read.version) +
                " of the protocol, this task " + std::to_string(protocolVersion));
    if (read.taskCount != int32_t(tasks.allPeers().size()) || read.namesHash != hashOf(names))
      return no("it knows other tasks: the cluster files differ");
    if (peer.calling ? read.task != peer.task
                     : read.task <= tasks.ownTask() || read.task >= read.taskCount)
      return no("it says that it is task " + std::to_string(read.task) +
                ", which is not expected there");
    if (read.abiVersion != program->abi_version)
      return no("its program is of ABI " + std::to_string(read.abiVersion) + ", this task's of " +
                std::to_string(program->abi_version));
    if (read.program[0] != program->hash[0] || read.program[1] != program->hash[1])
      return no("it runs another program: model, flags or version of weirc "
                "differ from those of \"" +
                std::string(program->name) + "\" here");
    if (read.addressHash != hashOf(rest))
      return {WEIR_DATA_LOSS, "its handshake is damaged"};
    if (!peer.calling && tasks.stateOf(read.task) != Peer::away)
      return {WEIR_ALREADY_EXISTS,
              "task " + tasks.allPeers()[size_t(read.task)].name + " is there already"};
    return {};
  }

  /// Both wait until they agree: whoever is behind makes a new session.
  Problem otherRoster(const Handshake &read, const Roster &heard) {
    const Roster &mine = tasks.currentRoster();
    int32_t owner = mine.owners[size_t(read.task)];
    if (owner != read.task)
      return {WEIR_UNAVAILABLE,
              "its devices are those of task " + tasks.allPeers()[size_t(owner)].name + " by now"};
    return {WEIR_UNAVAILABLE, "it knows division " + std::to_string(heard.number) +
                                  " of the devices, and this task " + std::to_string(mine.number)};
  }

  std::string handshake(const TcpPeer &peer, int32_t code, const std::string &first) {
    const weir_program_desc *program = tasks.program();
    std::string roster = tasks.currentRoster().text(), followed = first + roster;
    Handshake made = {};
    made.rosterSize = uint32_t(roster.size());
    memcpy(made.magic, handshakeMagic, sizeof(made.magic));
    made.version = protocolVersion;
    made.followed = uint32_t(followed.size());
    made.task = tasks.ownTask();
    made.taskCount = int32_t(tasks.allPeers().size());
    made.code = code;
    made.abiVersion = program->abi_version;
    made.program[0] = program->hash[0];
    made.program[1] = program->hash[1];
    made.nonce = peer.nonce;
    made.incarnation = tasks.ownIncarnation();
    made.isInitial = tasks.isInitial();
    made.reach = tasks.ownReach();
    made.namesHash = hashOf(names);
    made.addressHash = hashOf(followed);
    made.proof = proofOf(peer, peer.calling, made, followed);
    return std::string(reinterpret_cast<const char *>(&made), sizeof(made)) + followed;
  }

  void refuse(TcpPeer &peer, const Problem &problem) {
    peer.out = handshake(peer, problem.code, problem.text);
    flush(peer);
  }

  /// As much as goes; the rest with the next turn.
  void flush(TcpPeer &peer) {
    ssize_t sent = ::send(peer.socket, peer.out.data(), peer.out.size(), MSG_NOSIGNAL);
    if (sent > 0)
      peer.out.erase(0, size_t(sent));
  }

  TaskSet &tasks;
  const std::atomic<bool> &stop;
  std::string names;
  std::vector<int64_t> nextCall; ///< by task
  std::vector<TcpPeer> peers;
};

} // namespace

bool splitAddress(const std::string &address, std::string &host, std::string &port) {
  size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0)
    return false;
  host = address.substr(0, colon);
  port = address.substr(colon + 1);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  if (port.empty() || port.size() > 5)
    return false;
  for (char c : port)
    if (c < '0' || c > '9')
      return false;
  return std::stoi(port) < 65536;
}

void shakeHands(TaskSet &tasks, const std::atomic<bool> &stop) { Greeter(tasks, stop).run(); }

} // namespace weir::rt::cluster
