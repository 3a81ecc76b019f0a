//===- ucx.h - messages between tasks over UCX -----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Active messages of a header and maybe bytes behind it. Large ones come by UCX's
// rendezvous protocol: the receiver says where to, and nothing is copied in
// between. Between processes that may read each other's memory (one host, one
// user) only a reference goes, and the receiver reads what it refers to: UCX,
// which knows that way, too, leaves it out where failures are to be survived.
//
// Each connection (Connection) has a UCX worker of its own. So when a task is given up
// everything that UCX holds for it goes, sends and receives that would never end
// included, and a later connection with the same process begins with nothing
// of the earlier one.
//
// UCX tells of some failures, late, and of others never; what is said here is
// only a hint. The heartbeats in task_set.cpp decide.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CLUSTER_UCX_TRANSPORT_H
#define WEIR_RUNTIME_CLUSTER_UCX_TRANSPORT_H

#include "cluster/lasting_mutex.h"
#include "weir/transport.h"

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <string>
#include <ucp/api/ucp.h>
#include <unordered_set>
#include <vector>

namespace weir::rt::cluster {

enum class Kind : uint8_t {
  heartbeat, ///< iteration: the oldest step that the sender still leads, bytes: its clock; of the
             ///< receiver's last one step.incarnation: its clock, step.number: how long ago it came
  run,       ///< index: entry, count: feeds, iteration: the session's step,
             ///< bytes: as heartbeat's iteration
  feed,      ///< index
  tensor,    ///< index: edge
  fetch,     ///< index
  done,      ///< index: code, count: fetches; bytes: text
  abort,     ///< index: code; bytes: text
  lost,      ///< index: a task that the sender had to give up
  taken,     ///< index: edge, iteration: how many of its tensors were taken
  readable,  ///< the sender can read the receiver's memory
  finished,  ///< iteration: a reference that the sender has read
  state,     ///< index: WEIR_STATE_…, count: partial, iteration: number; bytes: prefix
  answered,  ///< of a `state`; iteration: its number, index: code; bytes: text
  /// iteration: how many steps of its own the sender has done, -1: it leads none; where index is
  /// earlierProcess, step.number: how many an earlier process of the receiver has
  pace,
  last = pace
};

/// See Kind::pace.
enum : int32_t { earlierProcess = 1 };

/// Names a step among all tasks.
struct StepKey {
  uint64_t incarnation; ///< of the leader's process
  int64_t number;       ///< counted by the leader
  int32_t leader;       ///< its task

  bool operator==(const StepKey &other) const {
    return incarnation == other.incarnation && number == other.number && leader == other.leader;
  }
};

/// What stands before the bytes of a message. Hosts are little-endian.
/// With one dimension and 8 bytes it fits UCX's shortest way through shared memory
/// (93 bytes).
struct Header {
  uint64_t nonce; ///< of the connection, drawn by the receiver
  Kind kind;
  uint8_t dtype, rank;
  uint8_t refers; ///< not 0: the bytes that follow are a Reference
  int32_t index;
  StepKey step;
  int64_t iteration;
  int64_t bytes; ///< of the elements; more may follow them
  int32_t count;
  int32_t task;                ///< the sender
  int64_t dims[WEIR_MAX_RANK]; ///< `rank` of them are sent

  static constexpr size_t fixedBytes() { return offsetof(Header, dims); }
  static constexpr int usualRank = 4;
  static constexpr size_t usualBytes() { return offsetof(Header, dims[usualRank]); }
  size_t sentBytes() const { return fixedBytes() + size_t(rank) * sizeof(int64_t); }
  /// Zeroed but for dims that most tensors have not, which nobody reads.
  static Header of(Kind kind) {
    Header made;
    memset(static_cast<void *>(&made), 0, usualBytes());
    made.kind = kind;
    return made;
  }
  void copyTo(Header &to) const {
    memcpy(static_cast<void *>(&to), this, usualBytes());
    if (rank > usualRank)
      memcpy(static_cast<void *>(&to), this, sentBytes());
  }
};

/// What stands before the elements of a small tensor instead, where all of it
/// can be said so, and the step is led by one of the two tasks, which know each
/// other's process. With UCX's own 36 bytes and 8 of elements it is one cache
/// line of the queue between two processes.
struct ShortHeader {
  uint32_t nonce;  ///< its lower half
  uint32_t number; ///< of the step
  uint32_t iteration;
  uint16_t edge;
  uint8_t dtype;
  uint8_t rank : 7;
  uint8_t isLed : 1; ///< by the sender
  static constexpr int mostDims = 4;
  uint8_t dims[mostDims];
};
static_assert(sizeof(ShortHeader) == 20);

/// Says in a header what tensor follows.
void describe(Header &header, const weir_tensor &tensor);

static_assert(sizeof(Header) <= 256, "see UcxTransport::open");

/// What stands for bytes that the receiver reads in the sender's memory.
struct Reference {
  uint64_t number; ///< what Kind::finished names
  uint64_t address;
  int64_t bytes;
};

/// Where a task's memory is found by tasks that can read it.
struct Reach {
  uint64_t process = 0;
  uint64_t probe = 0; ///< address of the task's incarnation
};
/// Reads another process's memory. False, with errno: it could not.
bool readMemory(uint64_t process, uint64_t address, void *to, int64_t bytes);
/// Whether this process can, and may by the environment (UCX_TLS), read that one's
/// memory: where `reach` says, `incarnation` must be found.
bool canRead(const Reach &reach, uint64_t incarnation);

/// A message that has come.
struct Incoming {
  Header header;
  void *block; ///< null: no bytes, no memory for them, or they are `inside`
  int64_t bytes;
  bool noMemory;
  bool isFew;                   ///< a tensor whose bytes are `inside`
  class Connection *connection; ///< while it comes
  Reference reference;          ///< header.refers: what is being read
  alignas(64) unsigned char inside[WEIR_FEW_BYTES];
};

/// The tensor that has come, in its block.
weir_tensor tensorOf(const Incoming &incoming);
/// The text that has come.
std::string textOf(const Incoming &incoming);

/// Whose bytes a message has.
struct Payload {
  const void *data;
  int64_t bytes;
  /// How long `data` stays: to the end of the call, until it is released, or
  /// until `step` is told.
  enum Lifetime { borrowed, owned, kept } lifetime;
  struct Step *step; ///< whose `pending` counts it, when kept
};

/// What sending came to.
enum class Sent {
  closed,  ///< there is no connection
  already, ///< the bytes are read no more
  later    ///< progress tells of kept ones
};

/// A kept message whose bytes are read no more. Its step still counts it.
struct Released {
  struct Step *step;
  Kind kind;
  int32_t index;
};

struct Failure {
  int32_t task;
  uint64_t nonce; ///< of the connection that failed
  std::string reason;
};

/// What progress was made.
struct Progress {
  ~Progress();
  std::vector<Incoming *> ready; ///< come whole; the caller's from here on
  std::vector<Released> released;
  std::vector<Failure> failed;
  std::vector<Incoming *> unused; ///< for messages to come

  Incoming *take();
  /// Of no use any more, its block gone.
  void recycle(Incoming *incoming);
};

/// Where the bytes of messages lie.
class Memory {
public:
  virtual void *allocate(const Header &header, int64_t bytes) = 0;
  virtual void release(void *block) = 0;
  /// A kept message will not be told of: its connection is closed.
  virtual void forget(const Released &released) = 0;

protected:
  ~Memory() = default;
};

/// One connection. Thread-safe, but for progress, arm and close, which one
/// thread calls.
class Connection {
public:
  /// Null, with the reason. `mine` is the nonce that its messages must have.
  static std::shared_ptr<Connection> create(Memory &memory, ucp_context_h context, int32_t ownTask,
                                            uint64_t ownIncarnation, uint64_t mine,
                                            int64_t atOnceBytes, std::string &error);
  ~Connection() { close(); }
  const std::string &address() const { return workerAddress; }
  uint64_t nonce() const { return mine; }

  /// Makes a way to the other task's end, which takes messages with `theirs`.
  bool connect(int32_t task, uint64_t incarnation, const std::string &address, uint64_t theirs,
               std::string &error);
  /// What canRead said of the other task, for progress to read its references.
  void reads(uint64_t process) { peerProcess = process; }
  /// Sends a small tensor of a step by the short way, its bytes read at once.
  /// False: nothing was done, since it is not one that goes there, or not now.
  bool sendShort(const StepKey &step, int32_t edge, int64_t iteration, const weir_tensor &tensor);
  /// See UcxTransport::send.
  Sent send(const Header &header, const Payload &payload = {});
  /// Looks `looks` times for something at most.
  bool progress(Progress &made, int looks);
  /// False: something has come meanwhile.
  bool arm();
  void wake();
  /// Ends what is in progress, releases all. Idempotent.
  void close();

  int eventFd = -1;
  std::atomic<int64_t> heard{0};
  std::atomic<bool> hasHeard{false}; ///< since `heard`
  std::atomic<int64_t> sending{0};   ///< messages that are not sent yet
  std::atomic<int64_t> sentBytes{0}; ///< changes under the mutex

private:
  friend class WireFuzzer; // test/fuzz/runtime/WireTarget.cpp
  struct Outgoing;
  class Guard;
  void countSent(int64_t bytes) {
    sentBytes.store(sentBytes.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  }
  Connection(Memory &memory, int32_t own, uint64_t ownIncarnation, uint64_t mine,
             int64_t atOnceBytes)
      : memory(memory), own(own), ownIncarnation(ownIncarnation), mine(mine),
        atOnceBytes(atOnceBytes) {}
  Outgoing *prepare(const Header &header, const Payload &payload);
  void keep(Outgoing *outgoing);
  void recycle(Outgoing *outgoing);
  bool accept(const Header &header);
  bool readSome();
  bool handOver(Progress &made);
  static ucs_status_t onShort(void *connection, const void *header, size_t headerBytes, void *data,
                              size_t bytes, const ucp_am_recv_param_t *param);
  static ucs_status_t onMessage(void *connection, const void *header, size_t headerBytes,
                                void *data, size_t bytes, const ucp_am_recv_param_t *param);
  static void onReceived(void *request, ucs_status_t status, size_t bytes, void *incoming);
  static void onSent(void *request, ucs_status_t status, void *outgoing);
  static void onError(void *connection, ucp_ep_h endpoint, ucs_status_t status);
  void finishSend(Outgoing *outgoing, bool tell);
  void received(Incoming *incoming, ucs_status_t status);

  Memory &memory;
  const int32_t own;
  const uint64_t ownIncarnation;
  const uint64_t mine;
  const int64_t atOnceBytes; ///< no more go without asking the receiver first
  uint64_t theirs = 0;
  int32_t task = -1;
  uint64_t incarnation = 0; ///< of the other task's process
  std::string workerAddress;

  LastingMutex mutex;          ///< guards UCX and what follows
  std::atomic<int> wanting{0}; ///< threads other than progress's that want it
  ucp_worker_h worker = nullptr;
  ucp_ep_h endpoint = nullptr;
  bool beating = false;  ///< a heartbeat is being sent
  bool readable = false; ///< the other task can read this one's memory
  std::vector<Incoming *> ready;
  std::vector<Released> released;
  std::vector<Failure> failures;
  std::unordered_set<Incoming *> receiving;
  Progress *making = nullptr;    ///< what progress is being made
  Outgoing *outgoings = nullptr; ///< those that are not sent yet
  Outgoing *unused = nullptr;    ///< for messages to come, with few bytes
  int32_t unusedCount = 0;
  int64_t posted = 0;             ///< of these, those that UCX has
  std::deque<Incoming *> reading; ///< whose references are to be read

  /// Held while another process's memory is read, without `mutex`, and by who
  /// closes; taken before `mutex`.
  Mutex readMutex;
  uint64_t peerProcess = 0;
  int64_t readBytes = 0; ///< of the first of `reading`
};

/// All connections. Thread-safe, but for progress, arm and forgive, which one
/// thread at a time calls.
class UcxTransport {
public:
  explicit UcxTransport(Memory &memory) : memory(memory) {}
  ~UcxTransport() { close(); }
  /// False, with the reason.
  bool open(int32_t ownTask, uint64_t incarnation, int32_t taskCount, std::string &error);
  /// Ends all connections. Blocks of messages that were still to come are
  /// released. Idempotent.
  void close();

  /// One end of a connection, for `connect`; null with the reason.
  std::shared_ptr<Connection> prepare(uint64_t mine, std::string &error);
  /// Makes `connection` the way to the task, whose process is `incarnation` and whose
  /// end has `address`.
  bool connect(int32_t task, uint64_t incarnation, std::shared_ptr<Connection> connection,
               const std::string &address, uint64_t theirs, std::string &error);
  /// Ends the connection that takes messages with `mine`, unless the task has
  /// another one by now: who gives one up may be overtaken by the next
  /// handshake.
  void disconnect(int32_t task, uint64_t mine);
  /// The connection with the task, for who sends more than one message; null:
  /// none. What is closed meanwhile says so.
  std::shared_ptr<Connection> connectionOf(int32_t task);

  /// Sends a message. What is owned is released in any case. What is kept is
  /// still counted by its step when this returns `closed` or `already`.
  Sent send(int32_t task, const Header &header, const Payload &payload = {});
  /// Messages that are not sent yet.
  int64_t outstanding();
  /// All bytes that were sent to a task, but for headers.
  int64_t sentBytes(int32_t task);

  /// Moves what there is to move, and appends to `made`. Returns whether anything
  /// happened.
  bool progress(Progress &made);
  /// Prepares a sleep that messages end. False: something has come meanwhile.
  bool arm();
  /// Sleeps until something may have come, if armed, or someone calls wake. No
  /// lock needs to be held; by one thread.
  void sleep(int64_t nanoseconds, bool armed);
  void wake();

  /// Nanoseconds, on the monotonic clock, when the task was last heard of: the
  /// first `note` after its message.
  int64_t heard(int32_t task);
  /// It is `now`: messages look at no clock of their own. By who makes
  /// progress.
  void note(int64_t now);
  /// Forgives silence up to now.
  void forgive();

private:
  Memory &memory;
  int32_t own = 0;
  uint64_t ownIncarnation = 0;
  int64_t atOnceBytes = 0; ///< as a Connection's
  ucp_context_h context = nullptr;
  int wakeFd = -1;
  std::vector<pollfd> waited;                      ///< the sleeper's
  std::vector<std::shared_ptr<Connection>> moving; ///< progress's copy of `connections`
  std::atomic<bool> changed{false};                ///< it is older than they are

  Mutex mutex; ///< guards what follows
  std::vector<std::shared_ptr<Connection>> connections;
  std::vector<int64_t> past; ///< bytes of connections that are gone, by task
  void retire(const Connection *connection, int32_t task);
};

inline int64_t nowNs() { return now(); }

} // namespace weir::rt::cluster

#endif // WEIR_RUNTIME_CLUSTER_UCX_TRANSPORT_H
