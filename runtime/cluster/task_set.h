//===- task_set.h - the tasks of a cluster, and steps among them -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Three kinds of thread. One moves messages (ucx_transport.h), gives signs of life and
// notices their lack. One listens and connects (handshake.h). And as many as
// there are steps in progress run the parts of steps that other tasks lead.
//
// Threads that wait for messages move them, too, for a moment, before they sleep
// (moving.cpp): one at a time, whose turn it is. So a message that comes soon goes
// by no other thread.
//
// A step is known by its leader, the leader's process, and a number. Messages of
// a step may come before the step's own: they wait in the table. Steps that have
// ended stay there as long as messages of them may still come: until the
// leader's oldest step is a later one.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CLUSTER_TASK_SET_H
#define WEIR_RUNTIME_CLUSTER_TASK_SET_H

#include "cluster/launcher.h"
#include "cluster/ucx_transport.h"
#include "weir/abi.h"
#include "weir/cluster.h"

#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace weir::rt::cluster {

/// Why something cannot go on.
struct Problem {
  int32_t code = WEIR_OK;
  std::string text;
  explicit operator bool() const { return code != WEIR_OK; }
};

/// Sets a status that may be null. Returns the code.
int32_t giveStatus(weir_status *status, int32_t code, const std::string &text);

/// Whose process has the devices of each task. It changes where a job goes on without a task that
/// was lost: the one that leads decides, and the others follow the highest number that they hear
/// of.
struct Roster {
  uint64_t number = 0;
  int32_t leader = 0;
  std::vector<int32_t> owners; ///< by task; its own number where nothing has changed

  /// As it travels: decimal numbers with spaces between.
  std::string text() const;
  /// False: it is none of `taskCount` tasks.
  bool parse(const std::string &text, size_t taskCount);
};

/// Another task, or this one.
struct Peer {
  std::string name;    ///< /job:worker/replica:0/task:1
  std::string address; ///< host:port
  enum State { away, greeted, here } state = away;
  bool left = false;    ///< it has said goodbye
  Problem problem;      ///< why it is away
  bool refused = false; ///< it, or we, will not have the other
  int32_t visits = 0;   ///< how often it has come

  // Of its parts of steps that are led here, and of what it says of its clock, nanoseconds.
  int64_t steps = 0, stepTime = 0, waitTime = 0;
  int64_t clockOffset = 0, clockError = -1, clockRead = 0;
  int64_t lastBeat = 0, lastBeatCame = 0; ///< its time and ours
  uint64_t incarnation = 0, nonce = 0;
  /// Of its session whose variables the steps led here have had; 0: of none, or who led the last
  /// one knows that they are gone.
  uint64_t known = 0;
  bool isInitial = false;  ///< it has variables, and so it said when it came; see SessionOf
  bool isReadable = false; ///< this process can read its memory
  int64_t oldest = 0;      ///< of the steps it leads
  int64_t pace = -1;       ///< steps of its own that it says it has done; -1: it has told none
  /// The same of its processes before this one. Of this task: what others say of them.
  int64_t earlierPace = -1;
};

/// What a task says of its session.
struct SessionOf {
  uint64_t incarnation; ///< drawn at random
  bool isInitial;       ///< it began without a checkpoint, and has taken part in none
};

/// What another task does in a step that this one leads.
struct RemotePart {
  int32_t task = -1;
  int32_t fetches = 0;   ///< that have come
  int32_t expected = -1; ///< -1: it is not done
  Problem problem;
  bool done = false;
};

struct Step {
  StepKey key;
  int32_t entry = -1;
  weir_run *run = nullptr; ///< between begin and end
  /// The connections with the tasks that have parts in it, as the run began: if
  /// one is lost the run ends. By task; changes only where nobody sends.
  std::vector<std::shared_ptr<Connection>> ways;
  int32_t users = 0;                       ///< threads that call the host with `run`
  int64_t began = 0, took = 0, waited = 0; ///< nanoseconds; took 0: it is not measured
  bool ending = false;                     ///< no more users
  bool dead = false;                       ///< nothing more is wanted of it
  Problem problem;                         ///< what ends it, if it has not begun

  // Led here.
  std::vector<RemotePart> parts;
  std::atomic<int64_t> pending{0}; ///< messages that read the run's memory

  // Led elsewhere.
  bool described = false, started = false;
  int64_t number = 0; ///< of the session's
  std::vector<weir_tensor> feeds;
  int32_t feedsCome = 0;
  std::vector<Incoming *> early; ///< tensors
};

/// What all others were asked to do with their variables.
struct StateRequest {
  int64_t number;
  bool restores;                ///< else it saves
  std::vector<int32_t> waiting; ///< tasks that have not answered
  Problem problem;              ///< the first one
  weir_run_done done;
  void *user;
};

class TaskSet final : public Memory {
public:
  static std::unique_ptr<TaskSet> create(const weir_cluster_options &options, Problem &problem);
  ~TaskSet();

  const weir_transport *transport() const { return &table; }
  Problem serve();

  // roster.cpp: devices of tasks that are gone.
  Problem reassign(const int32_t *owners, int32_t count, int32_t newLeader);
  void tellPresence(int32_t *visits, int32_t count);
  // pace.cpp
  /// Tells that this task has done `step` steps of its own, and waits until each of `tasks` is at
  /// most `bound` behind.
  Problem keepPace(const std::vector<int32_t> &tasks, int64_t step, int64_t bound);
  // figures.cpp
  bool tellFigures(int32_t task, weir_task_figures *figures);
  uint64_t leaderProcess();
  int32_t leadingTask();
  bool isRosterNew(); ///< a roster waits for the next session

  // For the handshake.

  int32_t ownTask() const { return own; }
  const std::vector<Peer> &allPeers() const { return peers; }
  const weir_program_desc *program() const { return theProgram; }
  uint64_t ownIncarnation() const { return incarnation; }
  bool isInitial() const { return initial.load(); }
  Reach ownReach() const { return {uint64_t(getpid()), uint64_t(uintptr_t(&incarnation))}; }
  int listener() const { return listenSocket; }
  const std::string &secret() const { return theSecret; } ///< empty: none
  std::shared_ptr<Connection> prepareConnection(uint64_t nonce, std::string &error) {
    return ucx.prepare(nonce, error);
  }
  Peer::State stateOf(int32_t task);
  bool isConnected(int32_t task, uint64_t nonce);
  /// A task has been greeted: its messages are taken from here on.
  bool admit(int32_t task, std::shared_ptr<Connection> connection, const std::string &address,
             uint64_t theirs, const SessionOf &session, const Reach &reach, std::string &error);
  /// It knows us, too: messages may be sent.
  void announce(int32_t task, uint64_t nonce);
  void refuse(int32_t task, const Problem &problem);
  /// It has said goodbye.
  void part(int32_t task, uint64_t nonce);
  /// Its connection with that nonce is gone.
  void lose(int32_t task, uint64_t nonce, const std::string &reason);
  /// Why a task that cannot be reached is not there.
  void noteAbsence(int32_t task, const std::string &reason);
  /// That of this session; does not change while there is one.
  const Roster &currentRoster() const { return roster; }
  /// Another task has said this one: it is the next session's if it is newer, and fits.
  void follow(const Roster &heard);
  /// What is said at the end to all tasks instead of a goodbye; empty: a goodbye.
  std::string farewell();

private:
  friend class WireFuzzer; // test/fuzz/runtime/WireTarget.cpp
  TaskSet() : ucx(*this) {}
  void *allocate(const Header &header, int64_t bytes) override;
  void release(void *block) override { host->release(block); }
  void forget(const Released &released) override;

  // transport.cpp: what the session calls.
  int32_t place(const weir_program_desc *program, int32_t *tasks, weir_status *status) const;
  int32_t attach(weir_session *session, const weir_transport_host *host,
                 const weir_program_desc *program, int32_t *tasks, weir_status *status);
  void detach();
  int32_t begin(weir_run *run, Step *part, int32_t entry, int64_t number, const weir_tensor *feeds,
                int32_t feedCount, int32_t *parts, Step **handle, weir_status *status);
  int32_t lead(weir_run *run, const std::vector<int32_t> &tasks, int32_t entry, int64_t number,
               const weir_tensor *feeds, int32_t feedCount, Step **handle, weir_status *status);
  void findWays(Step &step, const std::vector<int32_t> &tasks);
  Sent sendFrom(Step &step, int32_t task, const Header &header, const Payload &payload);
  bool sendFeed(Step &step, int32_t task, int32_t index, const weir_tensor &feed);
  int32_t send(Step *step, int32_t edge, int64_t iteration, const weir_tensor *tensor, void *data,
               int64_t bytes, Payload::Lifetime lifetime, weir_status *status);
  void tellTaken(const Step &step, int32_t edge, int64_t count);
  void end(Step *step, int32_t code, const char *text);
  std::vector<int32_t> tasksOf(int32_t entry) const;
  bool involves(const Step &step, int32_t task) const;
  /// Waits until they are connected, or says which is not.
  Problem waitFor(const std::vector<int32_t> &tasks);
  /// UNAVAILABLE where one of `tasks` has variables and another session than the steps before: what
  /// it has assigned is lost. Needs the mutex.
  Problem checkVariables(const std::vector<int32_t> &tasks) const;
  /// Whoever leads steps goes on with the sessions that they have now. Needs the mutex.
  void takeAsKnown(const std::vector<int32_t> &tasks);
  bool hasVariables(int32_t task) const;
  std::string describeAbsence(const Peer &peer) const;

  // steps.cpp: what messages do.
  void handle(Incoming *incoming);
  void handleTensor(Incoming *incoming);
  bool deliverFew(const Incoming &incoming);
  void giveBlock(Incoming *incoming);
  void handleFetch(Incoming *incoming);
  void handleFeed(Incoming *incoming);
  void handleRun(const Incoming &incoming);
  void handleDone(const Incoming &incoming);
  void handleAbort(const Incoming &incoming);
  void handleLost(const Incoming &incoming);
  void handleTaken(const Incoming &incoming);
  /// A kept message is read no more.
  void handleReleased(const Released &released);
  void finishPart(Step &step, RemotePart &part, std::unique_lock<LastingMutex> &lock);
  void startWhenWhole(Step &step);
  void drop(Incoming *incoming);
  /// Null: the step has ended. A new one when it is led elsewhere and unknown.
  Step *findStep(const StepKey &key);
  Step *findKnownStep(const StepKey &key);
  void forgetEnded();
  void removeStep(Step *step);
  void releaseHeld(Step &step);
  bool enter(Step &step); ///< the lock is held; false: there is no run
  void leave(Step &step); ///< the lock is not held
  void runPart(Step &step);
  void servingThread();

  // state.cpp: checkpoints that all tasks write and read.
  int32_t askForState(const weir_state_request &request, weir_run_done done, void *user,
                      int32_t *own, weir_status *status);
  void handleState(const Incoming &incoming);
  void handleAnswered(const Incoming &incoming);
  /// What was asked with that number, -1: anything, is waited for no more at the task.
  void settleState(int32_t task, int64_t number, const Problem &problem);

  // progress.cpp
  void movingThread();
  /// How long one kind of wait has lasted of late.
  struct Patience {
    int64_t usual = 0;
    uint32_t waits = 0;
  };
  void help(int32_t (*changed)(void *argument), void *argument, Patience &patience);
  bool progressOnce(); ///< it is this thread's turn
  /// What is due by the clock; it is this thread's turn.
  void lookAfter(int64_t now);
  void checkLife(int64_t now);
  int64_t oldestLed() const;

  // pace.cpp
  void handlePace(const Header &header);
  void tellPace(int32_t task);

  // figures.cpp
  void handleHeartbeat(const Header &header);
  /// `oldest`: oldestLed(). The lock is held.
  Header heartbeatFor(const Peer &peer, int64_t now, int64_t oldest);
  void noteTimes(int32_t task, int64_t took, int64_t waited);

  // task_set.cpp
  /// What `create` is given: false with a `problem` where it cannot be.
  bool takeOptions(const weir_cluster_options &options, Problem &problem);
  bool takePeers(const weir_cluster_options &options, bool launched, Problem &problem);
  void fillTable();
  void tellOthers(int32_t lost);
  bool listenAt(const std::string &address, Problem &problem);
  bool askLauncher(Problem &problem);
  void stopThreads();

  Launcher launcher;
  UcxTransport ucx;
  int32_t own = 0;
  Roster roster; ///< changes between sessions alone
  int64_t heartbeatNs = 0, timeoutNs = 0, connectNs = 0;
  std::string theSecret;
  uint64_t incarnation = 0; ///< of the session; drawn at random
  int listenSocket = -1;
  weir_transport table = {};

  // From attach to detach.
  weir_session *session = nullptr;
  const weir_transport_host *host = nullptr;
  const weir_program_desc *theProgram = nullptr;
  std::vector<int32_t> taskOfDevice; ///< -1: this one
  std::thread mover, greeter;
  std::atomic<bool> stopping{false};
  std::atomic<bool> initial{true}; ///< see SessionOf

  /// Whose turn it is to move messages; nothing is taken before it. One locked
  /// instruction for each: nobody sleeps for it.
  class Turn {
  public:
    bool tryTake() {
      return !taken.load(std::memory_order_relaxed) &&
             !taken.exchange(true, std::memory_order_acquire);
    }
    void give() { taken.store(false, std::memory_order_release); }

  private:
    std::atomic<bool> taken{false};
  };
  Turn turn;
  bool takeTurn(); ///< for who waits; false: it is another's for long
  Progress made;
  /// Failures that UCX told of, by when they count.
  std::deque<std::pair<int64_t, Failure>> suspected;
  int64_t nextBeat = 0, lastMove = 0;
  std::atomic<bool> helping{false}; ///< who waits for messages has the turn,
                                    ///< or is about to take it
  std::atomic<uint32_t> helps{0};
  std::atomic<int64_t> crowdedUntil{0}; ///< nobody spins before that; 0: at any time
  std::atomic<int32_t> runs{0};         ///< between begin and end
  bool spins = false;                   ///< there is a processor for who waits
  Patience inSteps, betweenSteps;
  uint32_t atOnce = 0; ///< waits that ended before a look at the clock

  LastingMutex mutex; ///< guards what follows; the transport's and runs' are taken after it
  Condition changed;
  std::vector<Peer> peers;
  std::list<Step> steps;
  int64_t nextNumber = 1;
  std::list<StateRequest> requests; ///< not answered by all
  Roster next;                      ///< without owners: as it is
  bool announces = false;           ///< `next` was made here
  std::deque<Step *> queue;         ///< parts to run
  int32_t idleServers = 0;
  std::atomic<bool> serverWanted{false}; ///< `queue` is not empty, or they stop
  bool serversStop = false;
  std::vector<std::thread> servers;
};

} // namespace weir::rt::cluster

#endif // WEIR_RUNTIME_CLUSTER_TASK_SET_H
