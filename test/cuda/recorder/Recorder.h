//===- Recorder.h - a CUDA driver that checks -------------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Streams, memory and graphs of the driver that stands in for libcuda.so.1, for
// its entry points and for stand-ins of libraries that put work into streams.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_CUDA_RECORDER_RECORDER_H
#define WEIR_TEST_CUDA_RECORDER_RECORDER_H

#include "runtime/cuda/driver_api.h"
#include "test/cuda/recorder/Ptx.h"

#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace weir::rt::cuda {
/// How far each stream had come.
using Clock = std::map<StreamTag *, uint64_t>;

struct CapturedNode;

struct Operation {
  const char *what;
  std::function<void(Operation &)> work;
  std::function<void(Result)> always; ///< carried out after errors, too
  EventTag *awaited = nullptr;
  Clock target;        ///< of a wait
  Clock host;          ///< what the host knew to be done when it put this
  uint64_t serial = 0; ///< unlike all others, from 1
  uint64_t number = 0;
  StreamTag *stream = nullptr;
  Clock clock;              ///< what happened before it
  uint32_t correlation = 0; ///< of the call that put it
  uint64_t node = 0;        ///< of a graph, 0: none
  /// A conditional node, null: none. What its body does has number `within`.
  std::shared_ptr<const CapturedNode> conditional;
  uint64_t within = 0;
  uint64_t turns = 0; ///< of a loop, so far
};

struct StreamTag {
  int device = 0;
  std::deque<Operation> queue;
  uint64_t put = 0, done = 0;
  Clock clock; ///< after what was done last
  GraphTag *capturing = nullptr;
};
/// Something that was captured. Nodes of equal name and code fit each other.
struct CapturedNode {
  const char *what;
  const void *code;
  std::function<void(Operation &)> work;
  uint64_t id = 0;
  bool mayBegin = false; ///< before what is in front of it has ended
  bool together = false; ///< a launch whose blocks run at the same time
  // Of a conditional node.
  uint64_t handle = 0; ///< 0: it is none
  bool isLoop = false;
  std::shared_ptr<GraphTag> bodyGraph = nullptr;
  std::vector<CapturedNode> body = {}; ///< of an executable graph
};
struct GraphTag {
  std::vector<CapturedNode> nodes;
  GraphNode last = nullptr; ///< as the driver names it: its number, from 1
  GraphTag *bodies[1] = {}; ///< as the driver tells of a conditional node's
  bool isBody = false;      ///< of a conditional node, whose it is
  /// The node that was added by hand, which the capture is to go on behind.
  bool isBehind = true;
};
struct GraphExecTag {
  std::vector<CapturedNode> nodes;
  const GraphTag *source = nullptr; ///< that it was made of
};
struct EventTag {
  int device = 0;
  std::chrono::steady_clock::time_point time;
  Clock recorded;
  /// The record that was put last: its stream and number.
  StreamTag *stream = nullptr;
  uint64_t number = 0;
};
struct ContextTag {
  int device = 0;
};
} // namespace weir::rt::cuda

namespace recorder {

using namespace weir::rt::cuda;

constexpr uint64_t lineBytes = 32;

/// Who touched a line last.
struct Line {
  StreamTag *writer = nullptr;
  uint64_t written = 0;
  std::vector<std::pair<StreamTag *, uint64_t>> readers; ///< the last of each stream
  uint64_t last = 0;                                     ///< who touched it last: Operation::serial
  bool lastWrote = false;
};

/// Of an allocation, most of which nothing touches: made where they are asked for.
class Lines {
public:
  explicit Lines(uint64_t bytes) : pages(bytes / lineBytes / linesOfPage + 1) {}
  Line &operator[](uint64_t number) {
    std::unique_ptr<Page> &page = pages[number / linesOfPage];
    if (!page)
      page = std::make_unique<Page>();
    return (*page)[number % linesOfPage];
  }

private:
  static constexpr uint64_t linesOfPage = 256;
  using Page = std::array<Line, linesOfPage>;
  std::vector<std::unique_ptr<Page>> pages;
};

struct Allocation {
  uint64_t begin, bytes;
  Lines lines;
  int device = -1;          ///< of a GPU's memory
  std::set<int> accessible; ///< to copies of these GPUs
  bool holds(uint64_t address, uint64_t count) const {
    return address >= begin && address + count <= begin + bytes;
  }
};

/// What a kernel sets, and a conditional node reads.
struct Condition {
  const GraphTag *graph; ///< that it was made for
  bool isSet = false;    ///< since it was read last
  uint32_t value = 0;
};

/// Physical memory of a GPU.
struct Physical {
  uint64_t bytes;
  int device;
};

/// The GPU whose context is the thread's; -1: none.
int currentDevice();
/// The GPUs' architecture: 90.
int capability();

/// Is told what happens; the mutex is held.
class Tracer {
public:
  virtual ~Tracer() = default;
  /// The thread has made a call that puts work.
  virtual void called(uint32_t correlation) = 0;
  virtual void did(const Operation &operation, uint64_t begin, uint64_t end) = 0;
  virtual void nodeCreated(const CapturedNode &node) = 0;
  virtual void nodeCloned(const CapturedNode &node, const CapturedNode &original) = 0;
};

class Recorder : public ptx::Watcher {
public:
  std::mutex mutex;
  std::condition_variable changed;
  using Memory = std::map<uint64_t, Allocation>; ///< by begin
  Memory memory;
  Memory pinned; ///< of the host; what the host itself does there is not seen
  std::set<StreamTag *> streams;
  std::set<EventTag *> events;
  std::map<int, ContextTag> contexts; ///< by device
  /// GPUs that may access each other's memory: from, to.
  std::set<std::pair<int, int>> peers;
  int retained = 0, modules = 0, modulesLoaded = 0;
  std::map<int, uint64_t> used;          ///< by device
  uint64_t limit = UINT64_MAX;           ///< of each
  std::map<uint64_t, Physical> physical; ///< by handle
  std::map<uint64_t, uint64_t> ranges;   ///< addresses that were set aside
  uint64_t random = 1;
  std::map<std::string, int> calls;
  std::string failing, leftOut;
  int failingCall = 0, leftOutCall = 0;
  std::map<std::string, int> leaving; ///< calls that might have been left out
  int launches = 0, copiesIn = 0, copiesOut = 0, copies = 0, callbacks = 0, waits = 0;
  int peerCopies = 0;
  int graphs = 0, instances = 0; ///< that were not destroyed
  int captured = 0, updated = 0, adjusted = 0, graphLaunches = 0;
  std::map<uint64_t, Condition> conditions;
  int decided = 0, turns = 0; ///< conditional nodes that were come to, bodies that were carried out
  std::set<const GraphTag *> sources; ///< graphs that are there
  /// What libraries were asked for.
  std::map<std::string, int> libraryCalls;
  std::map<std::string, int> launched; ///< by kernel
  int mayBegin = 0;                    ///< launches that need not wait for those before
  int together = 0;                    ///< launches whose blocks run at the same time
  std::vector<std::string> problems;
  Result sticky = 0;
  std::thread worker;
  bool stopping = false;
  StreamTag *running = nullptr;
  Operation *current = nullptr;
  uint64_t carriedOut = 0;
  /// What callbacks and synchronisations have told the host. One for all of its
  /// threads, which is more order than there is.
  Clock host;
  Tracer *tracer = nullptr;
  uint32_t correlations = 0;
  uint64_t nodes = 0; ///< ids of graphs' nodes

  Recorder();
  /// Nanoseconds on the GPU's clock.
  static uint64_t ticks();

  /// Counts a call; true: it is to fail.
  bool fails(const char *name) { return ++calls[name] == failingCall && failing == name; }

  /// True: the call is to do nothing, and say that it did.
  bool leavesOut(const std::string &name) {
    return name == leftOut && ++leaving[name] == leftOutCall;
  }

  /// Counts a call of a library; true: it is to fail. Takes the mutex.
  bool failsLibrary(const char *name) {
    std::lock_guard<std::mutex> lock(mutex);
    ++libraryCalls[name];
    return fails(name);
  }

  void problem(const std::string &text) {
    if (problems.size() < 20)
      problems.push_back(text);
  }

  /// Whether a call comes from a callback, which must not call the driver.
  bool isInCallback() const { return current && worker.get_id() == std::this_thread::get_id(); }

  /// Starts the thread that empties streams. The mutex is held, as below.
  void start();
  /// Puts an operation into a stream, or into the graph that it captures.
  void put(StreamTag *stream, const char *what, std::function<void(Operation &)> work,
           const void *code = nullptr, bool mayBegin = false, bool together = false);
  /// Puts a graph's.
  void putNodes(StreamTag *stream, const std::vector<CapturedNode> &nodes);
  void putCallback(StreamTag *stream, std::function<void(Result)> callback);
  /// The host learns of what a clock says.
  void tellHost(const Clock &clock);
  /// Waits until the stream has done what it has now.
  void drain(std::unique_lock<std::mutex> &lock, StreamTag *stream);
  /// The memory that holds the byte at `address`, or null.
  Allocation *find(uint64_t address);
  /// Whether there is memory at all of them.
  bool holds(uint64_t address, uint64_t bytes);
  bool isPinned(uint64_t address) { return find(pinned, address); }
  /// Whether a driver's mapping put it there.
  bool isMapped(uint64_t address) {
    auto range = ranges.upper_bound(address);
    return range != ranges.begin() && (--range, address < range->first + range->second);
  }
  /// Makes memory known.
  void addMemory(uint64_t begin, uint64_t bytes, int device);

  void access(uint64_t address, int bytes, bool writes) override;
  void setCondition(uint64_t handle, uint32_t value) override;
  /// An operation that is carried out touches memory; throws where it may not.
  /// The mutex is not held.
  /// `device`: whose memory it must be; -1: the stream's.
  void touch(uint64_t address, uint64_t bytes, bool writes, int device = -1);
  /// Writes to memory of a GPU that has given the stream's access to it.
  void touchPeer(uint64_t address, uint64_t bytes, int device);
  /// The same for a copy's other end in the host's memory, where that is pinned.
  void touchHost(const void *address, uint64_t bytes, bool writes);
  void report();

private:
  void putOperation(StreamTag *stream, Operation operation);
  static Operation operationOf(const CapturedNode &node);
  /// Reads the condition of what is next in a stream. True: its body goes first.
  bool decide(StreamTag *stream, Operation &operation);
  bool isReady(const StreamTag *stream) const;
  static Allocation *find(Memory &in, uint64_t address);
  void touchLines(Allocation &in, uint64_t address, uint64_t bytes, bool writes);
  void work();
};

/// Never destroyed: the driver outlives what unloads it.
__attribute__((visibility("default"))) Recorder &recorder();

/// What a launch does, with the parameters that it has now. False: it cannot be.
bool kernelWork(Function function, unsigned blocks, unsigned threads, unsigned shared,
                void **values, bool mayBegin, bool together,
                std::function<void(Operation &)> &work);
/// Blocks of a launch that run at the same time: one on each multiprocessor.
unsigned mostTogether();

/// What a copy within a GPU's memory does, and a fill by `count` values of `width` bytes.
std::function<void(Operation &)> copyWork(Pointer to, Pointer from, size_t bytes);
std::function<void(Operation &)> fillWork(Pointer to, uint64_t value, size_t width, size_t count);

} // namespace recorder

/// Begins a function of the driver that may be made to fail.
#define ENTER(name)                                                                                \
  Recorder &r = recorder::recorder();                                                              \
  std::unique_lock<std::mutex> lock(r.mutex);                                                      \
  if (r.fails(name))                                                                               \
    return 719;                                                                                    \
  if (r.sticky)                                                                                    \
  return r.sticky

/// Calls that need a context on the thread.
#define NEEDS_CONTEXT()                                                                            \
  if (currentDevice() < 0) {                                                                       \
    r.problem("a call without a context");                                                         \
    return 201;                                                                                    \
  }                                                                                                \
  if (r.isInCallback()) {                                                                          \
    r.problem("a callback calls the driver");                                                      \
    return 800;                                                                                    \
  }

/// Calls that our captures never make, and that a real one would not keep.
#define NOT_CAPTURED(stream)                                                                       \
  if (stream->capturing) {                                                                         \
    r.problem("a call that cannot be captured");                                                   \
    return 900;                                                                                    \
  }

#endif // WEIR_TEST_CUDA_RECORDER_RECORDER_H
