//===- task_set.cpp - the tasks of a cluster ------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cluster/task_set.h"

#include "cluster/handshake.h"

#include <deque>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace weir::rt::cluster {

int32_t giveStatus(weir_status *status, int32_t code, const std::string &text) {
  if (!status)
    return code;
  status->code = code;
  constexpr size_t before = offsetof(weir_status, message);
  if (status->size <= before)
    return code;
  size_t length = std::min(text.size(), status->size - before - 1);
  // Not in the middle of a character.
  while (length < text.size() && length > 0 && (text[length] & 0xc0) == 0x80)
    --length;
  memcpy(status->message, text.data(), length);
  status->message[length] = 0;
  return code;
}

//===----------------------------------------------------------------------===//
// Names and addresses
//===----------------------------------------------------------------------===//

static bool isNumber(const std::string &text) {
  return !text.empty() && text.size() < 10 &&
         text.find_first_not_of("0123456789") == std::string::npos;
}

/// "/job:J/replica:R/task:T", or "J:T"; empty when it is neither.
static std::string completeName(const std::string &given) {
  std::string job, replica = "0", task;
  if (given.empty() || given[0] != '/') {
    size_t colon = given.find(':');
    if (colon == std::string::npos)
      return "";
    job = given.substr(0, colon);
    task = given.substr(colon + 1);
  }
  for (size_t at = 0; at < given.size() && given[0] == '/';) {
    size_t end = given.find('/', at + 1);
    end = end == std::string::npos ? given.size() : end;
    std::string part = given.substr(at + 1, end - at - 1);
    size_t colon = part.find(':');
    std::string key = part.substr(0, colon);
    if (colon == std::string::npos)
      return "";
    (key == "job" ? job : key == "replica" ? replica : task) = part.substr(colon + 1);
    if (key != "job" && key != "replica" && key != "task")
      return "";
    at = end;
  }
  if (job.empty() || job.find('/') != std::string::npos || !isNumber(replica) || !isNumber(task))
    return "";
  return "/job:" + job + "/replica:" + replica + "/task:" + task;
}

bool TaskSet::listenAt(const std::string &address, Problem &problem) {
  std::string host, port;
  splitAddress(address, host, port);
  addrinfo hints = {}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &list);
  const char *reason = error ? gai_strerror(error) : nullptr;
  if (!error) {
    listenSocket = ::socket(list->ai_family, list->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                            list->ai_protocol);
    int one = 1;
    if (listenSocket >= 0)
      setsockopt(listenSocket, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (listenSocket < 0 || ::bind(listenSocket, list->ai_addr, list->ai_addrlen) != 0 ||
        ::listen(listenSocket, 64) != 0)
      reason = strerror(errno);
    freeaddrinfo(list);
  }
  if (!reason)
    return true;
  problem = {WEIR_UNAVAILABLE, "cannot listen at " + address + ": " + std::string(reason)};
  return false;
}

bool TaskSet::askLauncher(Problem &problem) {
  problem.code = WEIR_UNAVAILABLE;
  if (!launcher.start(problem.text))
    return false;
  if (launcher.size() != int32_t(peers.size()) || (own >= 0 && own != launcher.rank())) {
    problem = {WEIR_FAILED_PRECONDITION, "the launcher started " + std::to_string(launcher.size()) +
                                             " processes, of which this is number " +
                                             std::to_string(launcher.rank()) + ", for " +
                                             std::to_string(peers.size()) + " tasks"};
    return false;
  }
  own = launcher.rank();
  if (!listenAt("0.0.0.0:0", problem))
    return false;
  sockaddr_in address = {};
  socklen_t size = sizeof(address);
  getsockname(listenSocket, reinterpret_cast<sockaddr *>(&address), &size);
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  std::vector<std::string> all;
  if (!launcher.exchange(std::string(host) + ":" + std::to_string(ntohs(address.sin_port)), all,
                         problem.text))
    return false;
  for (size_t i = 0; i < peers.size(); ++i)
    peers[i].address = all[i];
  problem = {};
  return true;
}

/// Whether there is a processor for each task of this host: they wait for each
/// other.
static bool maySpin(const std::vector<Peer> &peers, int32_t own) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0)
    return false;
  std::string here, host, port;
  splitAddress(peers[size_t(own)].address, here, port);
  int32_t count = 0;
  for (const Peer &peer : peers)
    count += splitAddress(peer.address, host, port) && host == here;
  return CPU_COUNT(&set) >= std::max(count, 2);
}

//===----------------------------------------------------------------------===//
// Making and ending
//===----------------------------------------------------------------------===//

/// What a session calls: functions of this task set.
void TaskSet::fillTable() {
  table.size = sizeof(table);
  table.self = this;
  table.attach = [](void *self, weir_session *session, const weir_transport_host *host,
                    const weir_program_desc *program, int32_t *tasks, weir_status *status) {
    return static_cast<TaskSet *>(self)->attach(session, host, program, tasks, status);
  };
  table.place = [](void *self, const weir_program_desc *program, int32_t *tasks,
                   weir_status *status) {
    return static_cast<const TaskSet *>(self)->place(program, tasks, status);
  };
  table.detach = [](void *self) { static_cast<TaskSet *>(self)->detach(); };
  table.begin = [](void *self, weir_run *run, void *part, int32_t entry, int64_t step,
                   const weir_tensor *feeds, int32_t count, int32_t *parts, void **handle,
                   weir_status *status) {
    return static_cast<TaskSet *>(self)->begin(run, static_cast<Step *>(part), entry, step, feeds,
                                               count, parts, reinterpret_cast<Step **>(handle),
                                               status);
  };
  table.send = [](void *self, void *handle, int32_t edge, int64_t iteration,
                  const weir_tensor *tensor, void *data, int64_t bytes, int32_t lifetime,
                  weir_status *status) {
    Payload::Lifetime given = lifetime == WEIR_SENT_OWNED  ? Payload::owned
                              : lifetime == WEIR_SENT_KEPT ? Payload::kept
                                                           : Payload::borrowed;
    return static_cast<TaskSet *>(self)->send(static_cast<Step *>(handle), edge, iteration, tensor,
                                              data, bytes, given, status);
  };
  table.taken = [](void *self, void *handle, int32_t edge, int64_t count) {
    static_cast<TaskSet *>(self)->tellTaken(*static_cast<Step *>(handle), edge, count);
  };
  table.help = [](void *self, int32_t (*changed)(void *), void *argument) {
    auto &tasks = *static_cast<TaskSet *>(self);
    tasks.help(changed, argument, tasks.inSteps);
  };
  table.state = [](void *self, const weir_state_request *request, weir_run_done done, void *user,
                   int32_t *own, weir_status *status) {
    return static_cast<TaskSet *>(self)->askForState(*request, done, user, own, status);
  };
  table.end = [](void *self, void *handle, int32_t code, const char *text) {
    static_cast<TaskSet *>(self)->end(static_cast<Step *>(handle), code, text);
  };
}

bool TaskSet::takeOptions(const weir_cluster_options &options, Problem &problem) {
  auto invalid = [&](const std::string &text) {
    problem = {WEIR_INVALID_ARGUMENT, text};
    return false;
  };
  own = options.task;
  roster.leader = options.leader;
  table.times = options.times;
  constexpr int64_t millisecond = 1000000;
  auto orElse = [](int64_t given, int64_t usual) {
    return (given > 0 ? given : usual) * millisecond;
  };
  if (options.secret && options.secret_bytes < 16)
    return invalid("the secret has " + std::to_string(options.secret_bytes) +
                   " bytes; possible: 16 or more");
  if (options.secret)
    theSecret.assign(options.secret, size_t(options.secret_bytes));
  heartbeatNs = orElse(options.heartbeat_ms, 500);
  timeoutNs = orElse(options.timeout_ms, 5000);
  connectNs = orElse(options.connect_ms, 30000);
  if (timeoutNs < 2 * heartbeatNs)
    return invalid("weir_cluster_join: the timeout must be two heartbeats at "
                   "least");
  return true;
}

bool TaskSet::takePeers(const weir_cluster_options &options, bool launched, Problem &problem) {
  auto invalid = [&](const std::string &text) {
    problem = {WEIR_INVALID_ARGUMENT, text};
    return false;
  };
  for (int32_t i = 0; i < options.task_count; ++i) {
    Peer peer;
    const weir_cluster_task &task = options.tasks[i];
    peer.name = completeName(task.name ? task.name : "");
    peer.address = task.address ? task.address : "";
    if (peer.name.empty())
      return invalid("\"" + std::string(task.name ? task.name : "") +
                     "\" is no name of a task; possible: /job:worker/task:0, "
                     "worker:0");
    for (const Peer &other : peers)
      if (other.name == peer.name)
        return invalid("task " + peer.name + " is there twice");
    std::string host, port;
    if (launched != !task.address)
      return invalid("either all tasks have addresses, or none");
    if (!launched && !splitAddress(peer.address, host, port))
      return invalid("\"" + peer.address + "\" of task " + peer.name +
                     " is no address; possible: host:port");
    peers.push_back(peer);
    roster.owners.push_back(i);
  }
  return true;
}

std::unique_ptr<TaskSet> TaskSet::create(const weir_cluster_options &options, Problem &problem) {
  auto invalid = [&](const std::string &text) {
    problem = {WEIR_INVALID_ARGUMENT, text};
    return nullptr;
  };
  bool launched = options.task_count > 0 && options.tasks && !options.tasks[0].address;
  if (options.task_count < 1 || !options.tasks || options.task < (launched ? -1 : 0) ||
      options.task >= options.task_count || options.leader < 0 ||
      options.leader >= options.task_count)
    return invalid("weir_cluster_join: task and leader must be indices of "
                   "tasks, of which there is one at least");
  std::unique_ptr<TaskSet> made(new TaskSet());
  if (!made->takeOptions(options, problem) || !made->takePeers(options, launched, problem))
    return nullptr;
  // The last task is called by nobody.
  if (launched ? !made->askLauncher(problem)
               : options.task + 1 < options.task_count &&
                     !made->listenAt(made->peers[size_t(options.task)].address, problem))
    return nullptr;
  made->spins = maySpin(made->peers, made->own);
  made->fillTable();
  return made;
}

TaskSet::~TaskSet() {
  if (session)
    detach();
  if (listenSocket >= 0)
    ::close(listenSocket);
}

int32_t TaskSet::place(const weir_program_desc *program, int32_t *tasks,
                       weir_status *status) const {
  for (int32_t i = 0; i < program->device_count; ++i) {
    std::string name = program->devices[i].name;
    int32_t found = -1;
    for (size_t t = 0; t < peers.size(); ++t)
      if (name.rfind(peers[t].name + "/", 0) == 0)
        found = int32_t(t);
    if (found < 0)
      return giveStatus(status, WEIR_FAILED_PRECONDITION,
                        "device " + name + " of program \"" + program->name +
                            "\" is of none of the tasks");
    int32_t owner = roster.owners[size_t(found)];
    tasks[i] = owner == own ? -1 : owner;
  }
  return giveStatus(status, WEIR_OK, "");
}

int32_t TaskSet::attach(weir_session *newSession, const weir_transport_host *newHost,
                        const weir_program_desc *program, int32_t *tasks, weir_status *status) {
  if (session)
    return giveStatus(status, WEIR_FAILED_PRECONDITION, "the cluster has a session already");
  constexpr size_t needed = offsetof(weir_transport_host, began_restored);
  if (newHost->size < needed)
    return giveStatus(status, WEIR_FAILED_PRECONDITION,
                      "the program's runtime is of an older version than "
                      "libweir_cluster");
  if (int32_t code = place(program, tasks, status))
    return code;
  taskOfDevice.assign(tasks, tasks + program->device_count);
  // A session begins with initial values, as a process does: others must be told both.
  if (getrandom(&incarnation, sizeof(incarnation), 0) < 0)
    incarnation = uint64_t(nowNs());
  for (Peer &peer : peers)
    peer.known = 0;
  std::string error;
  if (!ucx.open(own, incarnation, int32_t(peers.size()), error))
    return giveStatus(status, WEIR_UNAVAILABLE, error);
  session = newSession;
  host = newHost;
  theProgram = program;
  stopping = serversStop = false;
  bool says = host->size > needed && host->began_restored;
  initial = !says || !host->began_restored(session);
  serverWanted = false;
  mover = std::thread([this] { movingThread(); });
  greeter = std::thread([this] { shakeHands(*this, stopping); });
  return giveStatus(status, WEIR_OK, "");
}

void TaskSet::detach() {
  // Parts in progress are of no use to anyone.
  std::vector<Step *> ended;
  {
    Lock lock(mutex);
    serversStop = true;
    serverWanted = true;
    for (Step &step : steps)
      if (enter(step))
        ended.push_back(&step);
    changed.notifyAll();
  }
  for (Step *step : ended) {
    host->abort(step->run, WEIR_UNAVAILABLE, "the session of this task ends");
    leave(*step);
  }
  for (int32_t task = 0; task < int32_t(peers.size()); ++task)
    settleState(task, -1, {WEIR_UNAVAILABLE, "the session of this task ends"});
  stopThreads();
  ucx.close();
  for (Step &step : steps)
    releaseHeld(step);
  steps.clear();
  queue.clear();
  for (Peer &peer : peers) {
    peer.state = Peer::away;
    peer.left = peer.refused = false;
    peer.pace = -1;
  }
  if (!next.owners.empty())
    roster = std::move(next);
  next = {};
  announces = false;
  session = nullptr;
}

void TaskSet::stopThreads() {
  // The servers first: what they run may still need messages to end.
  std::vector<std::thread> joined;
  {
    Lock lock(mutex);
    joined.swap(servers);
  }
  for (std::thread &server : joined)
    server.join();
  // What they have sent is on its way, if it goes at all.
  int64_t give = nowNs() + 1000000000;
  while (ucx.outstanding() > 0 && nowNs() < give)
    usleep(200);
  stopping = true;
  ucx.wake();
  if (mover.joinable())
    mover.join();
  if (greeter.joinable())
    greeter.join();
}

//===----------------------------------------------------------------------===//
// Who is there
//===----------------------------------------------------------------------===//

Peer::State TaskSet::stateOf(int32_t task) {
  Lock lock(mutex);
  return peers[size_t(task)].state;
}

bool TaskSet::isConnected(int32_t task, uint64_t nonce) {
  Lock lock(mutex);
  const Peer &peer = peers[size_t(task)];
  return peer.state != Peer::away && peer.nonce == nonce;
}

bool TaskSet::admit(int32_t task, std::shared_ptr<Connection> connection,
                    const std::string &address, uint64_t theirs, const SessionOf &session,
                    const Reach &reach, std::string &error) {
  uint64_t theirIncarnation = session.incarnation;
  bool isReadable = canRead(reach, theirIncarnation);
  if (isReadable)
    connection->reads(reach.process);
  Lock lock(mutex);
  Peer &peer = peers[size_t(task)];
  uint64_t mine = connection->nonce();
  if (!ucx.connect(task, theirIncarnation, std::move(connection), address, theirs, error))
    return false;
  if (peer.incarnation != theirIncarnation) {
    peer.oldest = peer.lastBeat = 0;
    peer.earlierPace = std::max(peer.earlierPace, std::exchange(peer.pace, -1));
    peer.clockError = -1;
  }
  peer.incarnation = theirIncarnation;
  peer.isInitial = session.isInitial && hasVariables(task);
  peer.nonce = mine;
  peer.isReadable = isReadable;
  peer.state = Peer::greeted;
  peer.left = peer.refused = false;
  return true;
}

void TaskSet::announce(int32_t task, uint64_t nonce) {
  bool readable;
  {
    Lock lock(mutex);
    Peer &peer = peers[size_t(task)];
    if (peer.state != Peer::greeted || peer.nonce != nonce)
      return;
    peer.state = Peer::here;
    ++peer.visits;
    peer.problem = {};
    readable = peer.isReadable;
    changed.notifyAll();
  }
  Header header = {};
  header.kind = Kind::readable;
  if (readable)
    ucx.send(task, header);
  tellPace(task);
}

void TaskSet::refuse(int32_t task, const Problem &problem) {
  Lock lock(mutex);
  Peer &peer = peers[size_t(task)];
  if (peer.state != Peer::away)
    return;
  peer.problem = problem;
  peer.refused = problem.code == WEIR_FAILED_PRECONDITION;
  changed.notifyAll();
}

void TaskSet::noteAbsence(int32_t task, const std::string &reason) {
  Lock lock(mutex);
  Peer &peer = peers[size_t(task)];
  if (peer.state != Peer::away)
    return;
  peer.refused = false;
  peer.problem = {WEIR_UNAVAILABLE, reason};
}

std::string TaskSet::describeAbsence(const Peer &peer) const {
  std::string text = "task " + peer.name + " (" + peer.address + ") ";
  if (peer.refused)
    return text + "does not fit: " + peer.problem.text;
  return text + "is not there" + (peer.problem ? ": " + peer.problem.text : std::string());
}

void TaskSet::part(int32_t task, uint64_t nonce) {
  {
    Lock lock(mutex);
    Peer &peer = peers[size_t(task)];
    if (peer.nonce == nonce)
      peer.left = true;
  }
  lose(task, nonce, "it has left");
}

/// What was under way between this task and the lost one is gone, also of steps
/// that only one of them knew yet: who leads one that both have a part in must
/// end it, even when the two are soon connected again.
void TaskSet::tellOthers(int32_t lost) {
  Header header = {};
  header.kind = Kind::lost;
  header.index = lost;
  for (int32_t task = 0; task < int32_t(peers.size()); ++task)
    if (task != own && task != lost && stateOf(task) == Peer::here)
      ucx.send(task, header);
}

void TaskSet::lose(int32_t task, uint64_t nonce, const std::string &reason) {
  std::vector<Step *> concerned;
  {
    Lock lock(mutex);
    Peer &peer = peers[size_t(task)];
    if (peer.state == Peer::away || peer.nonce != nonce)
      return;
    peer.state = Peer::away;
    peer.problem = {WEIR_UNAVAILABLE, reason};
    for (Step &step : steps) {
      if (step.dead || !involves(step, task))
        continue;
      if (enter(step)) {
        concerned.push_back(&step);
        continue;
      }
      // Not begun. Of a leader that is gone nobody will hear more.
      step.problem = {WEIR_UNAVAILABLE, "task " + peer.name + ": " + reason};
      if (step.key.leader == task && !step.started)
        step.dead = true;
    }
    changed.notifyAll();
  }
  ucx.disconnect(task, nonce);
  tellOthers(task);
  settleState(task, -1, {WEIR_UNAVAILABLE, reason});
  std::string text = "task " + peers[size_t(task)].name + ": " + reason;
  for (Step *step : concerned) {
    host->lost(step->run, task, text.c_str());
    leave(*step);
  }
}

static constexpr const char *newRosterText =
    "the devices of a task that is gone are another's: a new session is wanted";

Problem TaskSet::waitFor(const std::vector<int32_t> &tasks) {
  std::unique_lock<LastingMutex> lock(mutex);
  int64_t give = nowNs() + connectNs;
  for (int32_t task : tasks) {
    const Peer &peer = peers[size_t(task)];
    changed.waitUntil(mutex, give, [&] {
      return peer.state == Peer::here || peer.refused || peer.left || serversStop ||
             !next.owners.empty();
    });
    if (!next.owners.empty())
      return {WEIR_ABORTED, newRosterText};
    if (peer.state != Peer::here)
      return {peer.refused ? WEIR_FAILED_PRECONDITION : WEIR_UNAVAILABLE, describeAbsence(peer)};
  }
  return {};
}

bool TaskSet::hasVariables(int32_t task) const {
  for (int32_t i = 0; i < theProgram->slot_count; ++i) {
    int32_t device = (theProgram->slots[i].flags >> WEIR_SLOT_DEVICE_SHIFT) - 1;
    if (device >= 0 && taskOfDevice[size_t(device)] == task)
      return true;
  }
  return false;
}

Problem TaskSet::checkVariables(const std::vector<int32_t> &tasks) const {
  for (int32_t task : tasks) {
    const Peer &peer = peers[size_t(task)];
    if (peer.known != 0 && peer.known != peer.incarnation && hasVariables(task))
      return {WEIR_UNAVAILABLE,
              "task " + peer.name +
                  ": it has begun anew since the step before, and what its "
                  "variables had been assigned" +
                  (peer.isInitial ? " is lost" : " since the checkpoint is lost")};
  }
  return {};
}

void TaskSet::takeAsKnown(const std::vector<int32_t> &tasks) {
  for (int32_t task : tasks)
    peers[size_t(task)].known = peers[size_t(task)].incarnation;
}

Problem TaskSet::serve() {
  if (own == roster.leader)
    return {WEIR_INVALID_ARGUMENT, "the leading task does not serve"};
  if (Problem problem = waitFor({roster.leader}))
    return problem;
  std::unique_lock<LastingMutex> lock(mutex);
  const Peer &peer = peers[size_t(roster.leader)];
  changed.wait(mutex, [&] { return peer.state != Peer::here || !next.owners.empty(); });
  if (!next.owners.empty())
    return {WEIR_ABORTED, newRosterText};
  if (peer.left)
    return {};
  return {WEIR_UNAVAILABLE, "task " + peer.name + ": " + peer.problem.text};
}

} // namespace weir::rt::cluster
