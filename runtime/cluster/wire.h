//===- wire.h - messages between tasks over UCX -----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Active messages of a header and maybe bytes behind it. Large ones come by UCX's
// rendezvous protocol: the receiver says where to, and nothing is copied in
// between.
//
// Each connection (Link) has a UCX worker of its own. So when a task is given up
// everything that UCX holds for it goes, sends and receives that would never end
// included, and a later connection with the same process begins with nothing
// of the earlier one.
//
// UCX tells of some failures, late, and of others never; what is said here is
// only a hint. The heartbeats in task_set.cpp decide.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CLUSTER_WIRE_H
#define WEIR_RUNTIME_CLUSTER_WIRE_H

#include "weir/weir.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <stddef.h>
#include <string>
#include <ucp/api/ucp.h>
#include <unordered_set>
#include <vector>

namespace weir::rt::cluster {

enum class Kind : uint32_t {
  heartbeat, ///< iteration: the oldest step that the sender still leads
  run,       ///< index: entry, count: feeds, iteration: the session's step,
             ///< bytes: as heartbeat's iteration
  feed,      ///< index
  tensor,    ///< index: edge
  fetch,     ///< index
  done,      ///< index: code, count: fetches; bytes: text
  abort,     ///< index: code; bytes: text
  lost,      ///< index: a task that the sender had to give up
  last = lost
};

/// Names a step among all tasks.
struct StepKey {
  uint64_t incarnation; ///< of the leader's process
  int64_t number;       ///< counted by the leader
  int32_t leader;       ///< its task

  bool operator==(const StepKey &other) const {
    return incarnation == other.incarnation && number == other.number &&
           leader == other.leader;
  }
};

/// What stands before the bytes of a message. Hosts are little-endian.
struct Header {
  uint64_t nonce; ///< of the connection, drawn by the receiver
  Kind kind;
  int32_t task; ///< the sender
  StepKey step;
  int32_t index;
  int64_t iteration;
  int64_t bytes; ///< of the elements; more may follow them
  int32_t count;
  int32_t dtype, rank;
  int64_t dims[WEIR_MAX_RANK]; ///< `rank` of them are sent

  static constexpr size_t fixedBytes() { return offsetof(Header, dims); }
  size_t sentBytes() const {
    return fixedBytes() + size_t(rank) * sizeof(int64_t);
  }
};

/// A message that has come.
struct Incoming {
  Header header;
  void *block; ///< null: no bytes, or no memory for them
  int64_t bytes;
  bool noMemory;
  class Link *link; ///< while it comes
};

/// Where the bytes of messages lie.
class Memory {
public:
  virtual void *allocate(const Header &header, int64_t bytes) = 0;
  virtual void release(void *block) = 0;

protected:
  ~Memory() = default;
};

struct Failure {
  int32_t task;
  uint64_t nonce; ///< of the connection that failed
  std::string reason;
};

/// One connection. Thread-safe, but for progress, arm and close, which one
/// thread calls.
class Link {
public:
  /// Null, with the reason. `mine` is the nonce that its messages must have.
  static std::shared_ptr<Link> create(Memory &memory, ucp_context_h context,
                                      int32_t ownTask, uint64_t mine,
                                      std::string &error);
  ~Link() { close(); }
  const std::string &address() const { return workerAddress; }
  uint64_t nonce() const { return mine; }

  /// Makes a way to the other task's end, which takes messages with `theirs`.
  bool connect(int32_t task, const std::string &address, uint64_t theirs,
               std::string &error);
  /// See Wire::send. False: this is closed.
  bool send(Header header, const void *data, int64_t bytes, void *owned,
            std::atomic<int64_t> *pending);
  bool progress(std::vector<Incoming *> &ready, std::vector<Failure> &failed);
  /// False: something has come meanwhile.
  bool arm();
  void wake();
  /// Ends what is in progress, releases all. Idempotent.
  void close();

  int eventFd = -1;
  std::atomic<int64_t> heard{0};
  std::atomic<int64_t> sending{0}; ///< messages that are not sent yet

private:
  struct Outgoing;
  class Guard;
  Link(Memory &memory, int32_t own, uint64_t mine)
      : memory(memory), own(own), mine(mine) {}
  static ucs_status_t onMessage(void *link, const void *header,
                                size_t headerBytes, void *data, size_t bytes,
                                const ucp_am_recv_param_t *param);
  static void onReceived(void *request, ucs_status_t status, size_t bytes,
                         void *incoming);
  static void onSent(void *request, ucs_status_t status, void *outgoing);
  static void onError(void *link, ucp_ep_h endpoint, ucs_status_t status);
  void finishSend(Outgoing *outgoing);
  void received(Incoming *incoming, ucs_status_t status);

  Memory &memory;
  const int32_t own;
  const uint64_t mine;
  uint64_t theirs = 0;
  int32_t task = -1;
  std::string workerAddress;

  std::mutex mutex;            ///< guards UCX and what follows
  std::atomic<int> wanting{0}; ///< threads other than progress's that want it
  ucp_worker_h worker = nullptr;
  ucp_ep_h endpoint = nullptr;
  bool beating = false; ///< a heartbeat is being sent
  std::vector<Incoming *> ready;
  std::vector<Failure> failures;
  std::unordered_set<Incoming *> receiving;
  std::unordered_set<Outgoing *> outgoings;
};

/// All connections. Thread-safe, but for progress and wait, which one thread
/// calls.
class Wire {
public:
  explicit Wire(Memory &memory) : memory(memory) {}
  ~Wire() { close(); }
  /// False, with the reason.
  bool open(int32_t ownTask, int32_t taskCount, std::string &error);
  /// Ends all connections. Blocks of messages that were still to come are
  /// released. Idempotent.
  void close();

  /// One end of a connection, for `connect`; null with the reason.
  std::shared_ptr<Link> prepare(uint64_t mine, std::string &error);
  /// Makes `link` the way to the task, whose end has `address`.
  bool connect(int32_t task, std::shared_ptr<Link> link,
               const std::string &address, uint64_t theirs, std::string &error);
  void disconnect(int32_t task);

  /// Sends a message. `data` stays until it is sent; then `owned`, unless null,
  /// is released and `*pending`, unless null, counted down. False: there is no
  /// connection; both have been done then, too.
  bool send(int32_t task, const Header &header, const void *data, int64_t bytes,
            void *owned, std::atomic<int64_t> *pending);
  /// Messages that are not sent yet.
  int64_t outstanding();

  /// Moves what there is to move. Messages that have come whole are appended to
  /// `ready`, the caller's from then on. Returns whether anything happened.
  bool progress(std::vector<Incoming *> &ready, std::vector<Failure> &failed);
  /// Sleeps until something may have come, or someone calls wake.
  void wait(int milliseconds);
  void wake();

  /// Nanoseconds, on the monotonic clock, when the task was last heard of.
  int64_t heard(int32_t task);
  /// Forgives silence up to now.
  void forgive();

private:
  std::shared_ptr<Link> linkOf(int32_t task);

  Memory &memory;
  int32_t own = 0;
  ucp_context_h context = nullptr;
  int wakeFd = -1;
  std::vector<std::shared_ptr<Link>> moving; ///< progress's copy of `links`

  std::mutex mutex; ///< guards what follows
  std::vector<std::shared_ptr<Link>> links;
  bool changed = false;
};

int64_t nowNs();

} // namespace weir::rt::cluster

#endif // WEIR_RUNTIME_CLUSTER_WIRE_H
